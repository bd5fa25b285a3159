"""`tailproof diagnose`: a table, a picture, JSON, and a sentence."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from tailproof._util import checks
from tailproof.tails.diagnosis import diagnose_file
from tailproof.tails.picture import draw, figure_class
from tailproof.tails.series import TRANSFORMS

if TYPE_CHECKING:
    _Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

JSON_NAME, PICTURE_NAME = "tails.json", "tails.png"
_DESCRIPTION = """\
Say how heavy the tails of payoffs are, and which alpha and v the policies may be given.
A long table names its columns with --by and --value; in a wide one every numeric column is an arm.
"""


def add_parser(subparsers: _Subparsers) -> argparse.ArgumentParser:
    """Add the command `diagnose`; the parsed arguments carry `run`, the function to call with them.

    Examples
    --------
    >>> parser = argparse.ArgumentParser(prog="tailproof")
    >>> _ = add_parser(parser.add_subparsers())
    >>> parser.parse_args(["diagnose", "payoffs.csv", "--level", "0.95"]).level
    0.95
    """
    parser = subparsers.add_parser(
        "diagnose",
        help="how heavy are my tails, and what alpha and v may I give to the policies?",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", type=Path, help="a .csv or .parquet file of payoffs")
    parser.add_argument("--by", metavar="COLUMN", help="the column that names the arm of a row")
    parser.add_argument("--value", metavar="COLUMN", help="the column of payoffs")
    parser.add_argument(
        "--transform",
        choices=TRANSFORMS,
        default="none",
        help="diagnose changes from row to row instead of the values (default: none)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help=f"write {JSON_NAME} and {PICTURE_NAME} into this directory",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument(
        "--level", type=float, default=0.9, help="confidence of the intervals (default: 0.9)"
    )
    parser.set_defaults(run=run)
    return parser


def _progress(rows: int) -> None:
    print(f"read {rows:,} rows", file=sys.stderr, flush=True)


def _diagnose(args: argparse.Namespace) -> None:
    checks.in_unit_interval("level", args.level, closed_above=False)
    if args.out is not None:
        figure_class()  # say now, not after the work, that there is nothing to draw with
        args.out.mkdir(parents=True, exist_ok=True)
    found = diagnose_file(
        args.path,
        by=args.by,
        value=args.value,
        seed=args.seed,
        level=args.level,
        transform=args.transform,
        progress=_progress,
    )
    print(found.table())
    for note in found.notes:
        print(f"note: {note}")
    print()
    print(textwrap.fill(found.sentence, width=100, break_long_words=False))
    if args.out is not None:
        record = args.out / JSON_NAME
        record.write_text(found.to_json() + "\n", encoding="utf-8")
        picture = draw(found, args.out / PICTURE_NAME)
        print(f"wrote {record} and {picture}")


def run(args: argparse.Namespace) -> int:
    """Run the command; return 0, or 2 after saying on stderr what is wrong with the input."""
    try:
        _diagnose(args)
    except (ValueError, OSError, ModuleNotFoundError) as error:
        print(f"tailproof diagnose: {error}", file=sys.stderr)
        return 2
    return 0
