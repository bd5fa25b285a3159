"""`tailproof diagnose`: the arguments, and the output as text, JSON and plots."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import Any

JSON_NAME, PLOT_NAME = "tails.json", "tails.png"
_DESCRIPTION = """\
Estimate how heavy the tails of payoffs are, and which alpha and v the policies may be given.
A long table names its columns with --by and --value; in a wide one every numeric column is an arm.
"""


def add_parser(commands: Any) -> None:
    """Add `diagnose` to the subparsers of the command line."""
    parser = commands.add_parser(
        "diagnose",
        help="estimate how heavy the tails are, and which alpha and v the policies may be given",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("path", type=Path, help="a .csv or .parquet file of payoffs")
    add("--by", metavar="COLUMN", help="the column that names the arm of a row")
    add("--value", metavar="COLUMN", help="the column of payoffs")
    add(
        "--transform",
        choices=("none", "log-returns", "differences"),
        default="none",
        help="diagnose changes from row to row instead of the values (default: %(default)s)",
    )
    add("--out", type=Path, metavar="DIR", help=f"folder for {JSON_NAME} and {PLOT_NAME}")
    add("--seed", type=int, default=0, metavar="N", help="default: %(default)s")
    add("--level", type=float, default=0.9, help="of the intervals (default: %(default)g)")
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
