"""`tailproof diagnose`: the arguments, and the output as text, JSON and plots."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import Any

from tailproof._util.arguments import (
    TABLE_HELP,
    add_columns,
    add_command,
    add_level,
    add_out,
    add_seed,
    epilog,
)

JSON_NAME, PLOT_NAME = "tails.json", "tails.png"
_EXAMPLES = (
    "tailproof diagnose latency.csv --by server --value ms",
    "tailproof diagnose prices.csv --transform log-returns --out tails",
)
_DESCRIPTION = """\
Estimate how heavy the tails of payoffs are, and which alpha and v the policies may be given.
A long table names its columns with --by and --value; in a wide one every numeric column is an arm.
"""


def add_parser(commands: Any) -> None:
    """Add `diagnose` to the subparsers of the command line."""
    parser = add_command(
        commands,
        "diagnose",
        summary="estimate how heavy the tails of payoffs in a file are",
        description=_DESCRIPTION,
        epilog=epilog(_EXAMPLES, "diagnose.md"),
    )
    parser.add_argument("path", type=Path, metavar="FILE", help=TABLE_HELP)
    add_columns(parser, "arm")
    parser.add_argument(
        "--transform",
        choices=("none", "log-returns", "differences"),
        default="none",
        help="diagnose changes from row to row instead of the values (default: %(default)s)",
    )
    add_level(parser)
    add_out(parser, None, f"{JSON_NAME} and {PLOT_NAME}")
    add_seed(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Diagnose a file, print the table and the sentence, write JSON and plots; return 0."""
    from tailproof._util import files
    from tailproof._util.optional import require
    from tailproof.tails.diagnosis import diagnose_file
    from tailproof.tails.plots import draw

    if arguments.out is not None:
        require("matplotlib", "plot")  # report a missing package before the work, not after it
    diagnosis = diagnose_file(
        arguments.path,
        by=arguments.by,
        value=arguments.value,
        seed=arguments.seed,
        level=arguments.level,
        transform=arguments.transform,
        progress=lambda rows: print(f"read {rows:,} rows", file=sys.stderr, flush=True),
    )
    print(diagnosis.table())
    for note in diagnosis.notes:
        print(f"note: {note}")
    print()
    print(textwrap.fill(diagnosis.sentence, width=100, break_long_words=False))
    if arguments.out is not None:
        files.write_json(arguments.out / JSON_NAME, diagnosis.to_dict())
        plot = draw(diagnosis, arguments.out / PLOT_NAME)
        print(f"wrote {arguments.out / JSON_NAME} and {plot}")
    return 0
