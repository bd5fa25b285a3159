"""`tailproof bandit simulate`: the arguments, and the output as text, JSON and a picture."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tailproof._util.arguments import (
    TABLE_HELP,
    add_columns,
    add_command,
    add_out,
    add_seed,
    epilog,
)

JSON_NAME, PLOT_NAME = "bandit.json", "bandit.png"
MOST_DEFAULT_ROUNDS = 20_000
_SUMMARY = "replay a file of payoffs as a bandit problem"
_EXAMPLES = (
    "tailproof bandit simulate latency.csv --by server --value ms --minimize",
    "tailproof bandit simulate revenue.csv --rounds 50000 --out replay",
)
_DESCRIPTION = """\
Replay a file of payoffs as a bandit problem: in each round a policy chooses an arm, and its payoff
is drawn from those recorded for the arm. Shows regret, choices over time and the recommendation of
tailproof.Bandit beside Thompson sampling on sample means and uniform allocation.
A long table names its columns with --by and --value; in a wide one every numeric column is an arm.
"""


def add_parser(commands: Any) -> None:
    """Add `bandit` to the subparsers of the command line."""
    end = epilog(_EXAMPLES, "bandit.md")
    bandit = add_command(
        commands, "bandit", summary=_SUMMARY, description="Work on bandit problems.", epilog=end
    )
    actions = bandit.add_subparsers(dest="action", required=True, metavar="ACTION")
    parser = add_command(
        actions, "simulate", summary=_SUMMARY, description=_DESCRIPTION, epilog=end
    )
    add = parser.add_argument
    add("path", type=Path, metavar="FILE", help=TABLE_HELP)
    add_columns(parser, "arm")
    add("--minimize", action="store_true", help="seek the lowest mean payoff")
    what = f"rounds of a run (default: as many as payoffs, at most {MOST_DEFAULT_ROUNDS})"
    add("--rounds", type=int, metavar="N", help=what)
    what = "runs a policy (default: %(default)s)"
    add("--repetitions", type=int, default=10, metavar="N", help=what)
    what = "leave out arms with fewer recorded payoffs (default: %(default)s)"
    add("--at-least", type=int, default=20, metavar="N", help=what)
    what = "payoffs after which a payoff counts half (default: none)"
    add("--half-life", type=float, metavar="N", help=what)
    what = "factor on the width of Bandit's bounds; 0 explores nothing (default: %(default)g)"
    add("--explore", type=float, default=1.0, metavar="X", help=what)
    add_out(parser, None, f"{JSON_NAME} and {PLOT_NAME}")
    add_seed(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Replay a file, print the tables, write JSON and the picture; return 0."""
    from tailproof._util import files
    from tailproof._util.optional import require
    from tailproof.bandits import simulation, simulation_report
    from tailproof.tails.files import read_table

    if arguments.out is not None:
        require("matplotlib", "plot")  # report a missing package before the work, not after it
    table = read_table(arguments.path, by=arguments.by, value=arguments.value)
    arms = [series for series in table.arms if len(series.values) >= arguments.at_least]
    if len(arms) < 2:
        raise ValueError(
            f"`path` must hold 2 arms with {arguments.at_least} payoffs or more (--at-least), but "
            f"holds {len(arms)} of {len(table.arms)}."
        )
    total = sum(len(series.values) for series in arms)
    result = simulation.simulate(
        [series.values for series in arms],
        [series.name for series in arms],
        rounds=arguments.rounds or min(total, MOST_DEFAULT_ROUNDS),
        seeds=arguments.repetitions,
        minimize=arguments.minimize,
        half_life=arguments.half_life,
        explore=arguments.explore,
        seed=arguments.seed,
    )
    print(simulation_report.arm_table(result))
    print()
    print(simulation_report.policy_table(result))
    few = len(table.arms) - len(arms)
    left_out = [f"{few} arms with fewer than {arguments.at_least} payoffs are left out"] * bool(few)
    for note in (*table.notes, *left_out):
        print(f"note: {note}")
    if arguments.out is not None:
        files.write_json(arguments.out / JSON_NAME, simulation_report.to_dict(result))
        plot = simulation_report.draw(result, arguments.out / PLOT_NAME)
        print(f"wrote {arguments.out / JSON_NAME} and {plot}")
    return 0
