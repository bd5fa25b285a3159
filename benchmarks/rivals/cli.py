"""`tailproof arena`: the arguments; everything heavy is imported when the command runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

DESCRIPTION = """\
Let ours and the rivals play the same problems under the same noise, and write every run, tables
and report.html. A run that was stopped goes on when the same command is given again; further
seeds, problems or contestants given for the same folder are added to what it holds.
"""
EPILOG = """\
problems:    rkhs, branin, hartmann6, ackley4, arms, trap (with a law of its own)
laws:        gaussian, t3, t1.5, pareto, pareto-right, lognormal, contaminated
contestants: tailproof, gp-ucb, clipped-gp-ucb, student-t-gp, tgp-ucb, ata-gp-ucb, random
peers:       optuna-tpe, optuna-gp, botorch-lognei, botorch-ucb, botorch-rrp

examples:
  tailproof arena --quick
  tailproof arena --out out/arena
  tailproof arena --contestants botorch-lognei botorch-rrp --seeds 5 --out out/arena
  tailproof arena --peers --out out/arena
"""
QUICK_EVALUATIONS, QUICK_SEEDS = 40, 2
QUICK_PROBLEMS, QUICK_LAWS = ("rkhs", "branin", "trap"), ("gaussian", "t1.5")


def add_parser(commands: Any) -> None:
    """Register the command with the subparsers `commands` of the command line."""
    parser = commands.add_parser(
        "arena",
        help="play against the rivals under heavy-tailed noise and write a report",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="which (default: all)")
    parser.add_argument("--laws", nargs="+", metavar="NAME", help="which (default: all)")
    parser.add_argument(
        "--contestants", nargs="+", metavar="NAME", help="which (default: all but the peers)"
    )
    parser.add_argument("--peers", action="store_true", help="the peers as well")
    parser.add_argument(
        "--seeds", type=int, help="0 to SEEDS - 1 (default: 20; with fewer every claim stays open)"
    )
    parser.add_argument("--evaluations", type=int, help="a match (default: 200)")
    parser.add_argument(
        "--family",
        choices=("measure", "tune"),
        default="measure",
        help="the problems to measure on (default), or those to choose constants on",
    )
    parser.add_argument("--workers", type=int, help="processes (default: one a core)")
    parser.add_argument("--quick", action="store_true", help="a small run, for a first look")
    parser.add_argument("--out", type=Path, default=Path("out/arena"), help="results folder")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from rivals.contestants import OWN, PEERS
    from rivals.plan import Plan
    from rivals.session import Request
    from rivals.session import run as play

    quick = arguments.quick
    chosen: dict[str, Any] = {"family": arguments.family}
    contestants = OWN if arguments.contestants is None else tuple(arguments.contestants)
    chosen["contestants"] = contestants + (PEERS if arguments.peers else ())
    small = {
        "problems": QUICK_PROBLEMS,
        "laws": QUICK_LAWS,
        "seeds": QUICK_SEEDS,
        "evaluations": QUICK_EVALUATIONS,
    }
    for name, value in small.items():
        given = getattr(arguments, name)
        if given is not None:
            chosen[name] = tuple(given) if isinstance(given, list) else given
        elif quick:
            chosen[name] = value
    return play(Request(Plan(**chosen), arguments.out, arguments.workers))
