"""Compare tailproof with other optimizers on the same problems under the same noise.

    python benchmarks/compare_rivals.py --quick
    python benchmarks/compare_rivals.py --peers --out out/rivals

Executes the runs that are missing in the output folder, and writes runs.csv, summary.json,
timings.json, report.md and report.html there. A comparison that was stopped continues when the same
command is given again; further seeds, problems or methods are added to what the folder holds.
"""

from __future__ import annotations

import os

# Before numpy loads its BLAS.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rivals.comparison import compare
from rivals.laws import LAWS
from rivals.methods import OWN, PEERS
from rivals.plan import EVALUATIONS, SEEDS, Plan
from rivals.problems import FAMILIES, OBJECTIVES

EPILOG = f"""\
objectives: {", ".join(OBJECTIVES)} (with its own law)
laws:       {", ".join(LAWS)}
methods:    {", ".join(OWN)}
peers:      {", ".join(PEERS)}
"""
QUICK: dict[str, Any] = {
    "objectives": ("rkhs", "branin", "trap"),
    "laws": ("gaussian", "t1.5"),
    "seeds": 2,
    "evaluations": 40,
}


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--objectives", nargs="+", metavar="NAME", help="which (default: all)")
    parser.add_argument("--laws", nargs="+", metavar="NAME", help="which (default: all)")
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", help="which (default: all but the peers)"
    )
    parser.add_argument("--peers", action="store_true", help="add the peers")
    parser.add_argument(
        "--seeds",
        type=int,
        help=f"0 to SEEDS - 1 (default: {SEEDS}; with fewer every claim is open)",
    )
    parser.add_argument("--evaluations", type=int, help=f"of a run (default: {EVALUATIONS})")
    parser.add_argument(
        "--family",
        choices=FAMILIES,
        default="measure",
        help="the objectives to measure on (default), or those to choose constants on",
    )
    parser.add_argument("--workers", type=int, help="processes (default: one a core)")
    parser.add_argument("--quick", action="store_true", help="a small comparison, for a first look")
    parser.add_argument("--out", type=Path, default=Path("out/rivals"), help="results folder")
    return parser


def make_plan(arguments: argparse.Namespace) -> Plan:
    """Return what the command line asks for."""
    methods = OWN if arguments.methods is None else tuple(arguments.methods)
    chosen: dict[str, Any] = QUICK if arguments.quick else {}
    for name in QUICK:
        given = getattr(arguments, name)
        if given is not None:
            chosen = chosen | {name: tuple(given) if isinstance(given, list) else given}
    return Plan(
        methods=methods + (PEERS if arguments.peers else ()), family=arguments.family, **chosen
    )


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = make_parser()
    arguments = parser.parse_args(words)
    try:
        return compare(make_plan(arguments), arguments.out, arguments.workers)
    except (ValueError, ImportError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    # Stop in the same orderly way on SIGTERM as on Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
