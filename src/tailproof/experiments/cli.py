"""`tailproof reproduce`: the command's arguments; `reproduce` does the work.

Everything heavy is imported when the command runs, so that `tailproof --help` stays quick.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from tailproof._util.arguments import add_command, add_out, add_seed, epilog

DESCRIPTION = """\
Run the panels of the paper's Figure 1, and panel g on its lower bound; write figures, tables and
report.html. A command that was stopped continues when it is given again.
"""
_POLICIES = """\
policies: tgp, qff, nystrom (the paper's, panels a to e and g); tgp-theory, qff-theory,
nystrom-theory, qff-folded, exact (variants); gp, gp-truncated, gp-redrawn (panel f; the first two
also in g)
"""
_EXAMPLES = (
    "tailproof reproduce a b c f --quick",
    "tailproof reproduce all --data DIR --out out/",
    "tailproof reproduce d --rounds 10000 --repetitions 10 --data DIR --out out/",
)


def add_parser(commands: Any) -> None:
    """Register the command `reproduce` with the subparsers `commands` of the command line."""
    parser = add_command(
        commands,
        "reproduce",
        summary="run the paper's experiments again and write a report",
        description=DESCRIPTION,
        epilog=epilog(_EXAMPLES, "reproducing.md", _POLICIES),
    )
    add = parser.add_argument
    add("panels", nargs="+", metavar="PANEL", help="a, b, c, d, e, f, g, or all")
    what = "folder with the data files of panels d and e (default: none)"
    add("--data", type=Path, metavar="DIR", help=what)
    add("--rounds", type=int, metavar="N", help="rounds of a run (default: the paper's)")
    add("--repetitions", type=int, metavar="N", help="runs a policy (default: the paper's)")
    add("--quick", action="store_true", help="a small size, for a first look")
    add("--policies", nargs="+", metavar="POLICY", help="policies to run (default: all)")
    add("--workers", type=int, metavar="N", help="processes (default: one per core)")
    add("--scheduler", metavar="ADDRESS", help="a Dask scheduler to run on (default: none)")
    add_out(parser, "out/reproduce", "results and report")
    add_seed(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command `reproduce` and return its exit code."""
    from tailproof._util.interrupts import INTERRUPTED, exit_on_interrupt

    with exit_on_interrupt("tailproof reproduce"):
        from tailproof.experiments.reproduce import Request, reproduce

    names = [field.name for field in dataclasses.fields(Request)]
    try:
        reproduce(Request(**{name: getattr(arguments, name) for name in names}))
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0
