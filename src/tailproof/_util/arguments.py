"""What the commands have in common: the layout of their help, and options worded once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TABLE_HELP = "a .csv or .parquet file of payoffs"


def epilog(examples: Sequence[str], page: str, before: str = "") -> str:
    """Return the end of a help text: examples, and the page of the documentation."""
    lines = "\n".join(f"  {example}" for example in examples)
    start = f"{before.rstrip()}\n\n" if before else ""
    return f"{start}examples:\n{lines}\n\nDocumentation: docs/{page}\n"


def add_command(
    commands: Any, name: str, *, summary: str, description: str, epilog: str
) -> argparse.ArgumentParser:
    """Add a command to the subparsers of the command line and return its parser."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    assert isinstance(parser, argparse.ArgumentParser)
    return parser


def add_columns(parser: argparse.ArgumentParser, row: str) -> None:
    """Add --by and --value, the columns of a long table; `row` is what a row belongs to."""
    parser.add_argument("--by", metavar="COLUMN", help=f"the column that names the {row} of a row")
    parser.add_argument("--value", metavar="COLUMN", help="the column of payoffs")


def add_level(
    parser: argparse.ArgumentParser, default: float = 0.9, of: str = "the intervals"
) -> None:
    """Add --level."""
    what = f"confidence of {of} (default: %(default)g)"
    parser.add_argument("--level", type=float, default=default, metavar="LEVEL", help=what)


def add_out(parser: argparse.ArgumentParser, default: str | None, what: str) -> None:
    """Add --out, a folder; `what` is written to it, and nothing is without a default."""
    said = "none" if default is None else "%(default)s"
    parser.add_argument(
        "--out",
        type=Path,
        default=None if default is None else Path(default),
        metavar="DIR",
        help=f"folder for {what} (default: {said})",
    )


def add_seed(parser: argparse.ArgumentParser, default: int | None = 0) -> None:
    """Add --seed; without a default every run draws new randomness."""
    said = "a new one each time" if default is None else "%(default)s"
    what = f"seed of all random numbers (default: {said})"
    parser.add_argument("--seed", type=int, default=default, metavar="N", help=what)
