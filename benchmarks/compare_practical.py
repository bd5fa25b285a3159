"""Measure the practical optimizer and its rivals on practical problems.

    python benchmarks/compare_practical.py --quick
    python benchmarks/compare_practical.py --split choosing --families tables programs --seeds 4

Executes the runs that are missing in the output folder and writes report.md there. A comparison
that was stopped continues when the same command is given again; further seeds, problems or methods
are added to what the folder holds. Problems and seeds are split into those to choose on and those
to report, see benchmarks/practical/catalog.py.
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

from practical.catalog import FAMILIES, REPORTING, SPLITS
from practical.comparison import Plan, compare
from practical.methods import METHODS

EPILOG = f"""\
families: {", ".join(FAMILIES)}
methods:  {", ".join(METHODS)}
"""
QUICK: dict[str, Any] = {
    "methods": ("tailproof", "tailproof-kappa-1", "random", "tpe", "tpe-5", "sample-mean"),
    "seeds": 3,
}
# Of the quick form; of the other families it has all problems.
QUICK_LAWS = ("gaussian", "t1.5", "pareto-right", "lognormal")
QUICK_FUNCTIONS = ("branin", "arms")
QUICK_NOISES = ("none", "lognormal-0.5", "pareto-1.6")


def in_quick(family: str, name: str) -> bool:
    """Tell whether a problem belongs to the quick form.

    Examples
    --------
    >>> in_quick("noise-1", "branin-t1.5"), in_quick("noise-1", "hartmann6-t1.5")
    (True, False)
    """
    function, _, law = name.removesuffix("-tune").partition("-")
    if family.startswith("noise-") and family != "noise-free":
        return function in QUICK_FUNCTIONS and law in QUICK_LAWS
    return family != "programs" or law in QUICK_NOISES


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--split", choices=SPLITS, default=REPORTING, help="default: reporting")
    parser.add_argument("--families", nargs="+", metavar="NAME", help="which (default: all)")
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="which (default: all)")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="which (default: all)")
    parser.add_argument("--seeds", type=int, help="how many (default: 20, or 10)")
    parser.add_argument("--workers", type=int, help="processes (default: one a core)")
    parser.add_argument("--quick", action="store_true", help="few problems, methods and seeds")
    parser.add_argument("--out", type=Path, default=Path("out/practical"), help="results folder")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="fill this page's tables, too")
    return parser


def make_plan(arguments: argparse.Namespace) -> Plan:
    """Return what the command line asks for."""
    chosen: dict[str, Any] = dict(QUICK) if arguments.quick else {}
    for name in ("families", "problems", "methods", "seeds"):
        given = getattr(arguments, name)
        if given is not None:
            chosen[name] = tuple(given) if isinstance(given, list) else given
    plan = Plan(split=arguments.split, **chosen)
    if not arguments.quick or plan.problems is not None:
        return plan
    names = [entry.name for entry in plan.entries() if in_quick(entry.family, entry.name)]
    return Plan(split=arguments.split, **chosen | {"problems": tuple(dict.fromkeys(names))})


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = make_parser()
    arguments = parser.parse_args(words)
    try:
        plan = make_plan(arguments)
        return compare(plan, arguments.out, arguments.workers, arguments.write)
    except (ValueError, ImportError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    # Stop in the same orderly way on SIGTERM as on Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
