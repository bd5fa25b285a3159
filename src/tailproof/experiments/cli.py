"""`tailproof reproduce`: the command's arguments; `reproduce` does the work.

Everything heavy is imported when the command runs, so that `tailproof --help` stays quick.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

DESCRIPTION = """\
Run the panels of the paper's Figure 1, and panel g on its lower bound; write figures, tables and
report.html. A command that was stopped continues when it is given again.
"""
EPILOG = """\
policies: tgp, qff, nystrom (the paper's, panels a to e and g); tgp-theory, qff-theory,
nystrom-theory, qff-folded, exact (variants); gp, gp-truncated, gp-redrawn (panel f; the first two
also in g)

examples:
  tailproof reproduce all --data DIR --out out/
  tailproof reproduce d --rounds 10000 --repetitions 10 --data DIR --out out/
  tailproof reproduce a b c f --quick
"""


def add_parser(commands: Any) -> None:
    """Register the command with the subparsers `commands` of the command line."""
    parser = commands.add_parser(
        "reproduce",
        help="run the paper's experiments again and write a report",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("panels", nargs="+", metavar="PANEL", help="a, b, c, d, e, f, g, or all")
    parser.add_argument("--out", type=Path, default=Path("out/reproduce"), help="results folder")
    parser.add_argument("--data", type=Path, help="folder with the data files of panels d and e")
    parser.add_argument("--rounds", type=int, help="rounds of a run (default: the paper's)")
    parser.add_argument("--repetitions", type=int, help="runs per policy (default: the paper's)")
    parser.add_argument("--quick", action="store_true", help="a small size, for a first look")
    parser.add_argument("--seed", type=int, default=0, help="not negative (default: 0)")
    parser.add_argument("--policies", nargs="+", metavar="POLICY", help="which (default: all)")
    parser.add_argument("--workers", type=int, help="processes (default: one per core)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler to run on")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command of the experiments and return its exit code."""
    from tailproof._util.interrupts import INTERRUPTED, exit_on_interrupt

    with exit_on_interrupt("tailproof reproduce"):
        from tailproof.experiments.reproduce import Request, reproduce

    names = [field.name for field in dataclasses.fields(Request)]
    try:
        reproduce(Request(**{name: getattr(arguments, name) for name in names}))
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0
