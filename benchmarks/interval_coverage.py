"""How often the optimizer's interval contains the mean payoff of its recommendation.

    python benchmarks/interval_coverage.py --seeds 4 --family measure

Runs the default optimizer on all problems of the comparison with rivals and asks for the
recommendation with its nominal interval at the end. Prints for each noise law: the share of runs
whose interval contains the true mean payoff of the recommended configuration, the share whose
interval lies above it (the estimate is too high), and the median half width, in units of the
function's range.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

import tailproof as tp
from reporting import markdown_table
from rivals.methods import OURS
from rivals.problems import FAMILIES, problem_names
from rivals.run import RunSpec
from tailproof._util.threads import single_thread


@dataclass(frozen=True)
class Interval:
    """The interval of one run's recommendation, and the true mean."""

    law: str
    lower: float
    upper: float
    truth: float


def measure(spec: RunSpec, level: float) -> Interval:
    """Run the default optimizer and return the interval of its recommendation."""
    problem = spec.problem()
    with single_thread():
        optimizer = tp.Optimizer(problem.domain.space, seed=spec.solver_seed())
        for evaluation in range(1, spec.evaluations + 1):
            trial = optimizer.ask()
            optimizer.tell(trial, problem.payoff(trial.params, spec.noise(evaluation)))
        found = optimizer.recommend(level=level)
    truth = problem.objective.value(found.params) + problem.shift
    return Interval(spec.law, found.lower, found.upper, truth)


def table(intervals: list[Interval]) -> list[str]:
    """Return the lines of the table, all laws together first."""
    groups = {"all": intervals} | {
        law: [interval for interval in intervals if interval.law == law]
        for law in dict.fromkeys(interval.law for interval in intervals)
    }
    rows = [
        (
            name,
            len(chosen),
            f"{np.mean([i.lower <= i.truth <= i.upper for i in chosen]):.2f}",
            f"{np.mean([i.truth < i.lower for i in chosen]):.2f}",
            f"{np.median([0.5 * (i.upper - i.lower) for i in chosen]):.2f}",
        )
        for name, chosen in groups.items()
    ]
    return markdown_table(["law", "runs", "covered", "too high", "half width"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--evaluations", type=int, default=200)
    parser.add_argument("--family", choices=FAMILIES, default="measure")
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    specs = [
        RunSpec(objective, law, OURS, seed, arguments.evaluations, arguments.family)
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds)
        for objective, law in problem_names()
    ]
    levels = [arguments.level] * len(specs)
    with ProcessPoolExecutor(arguments.workers) as pool:
        intervals = list(pool.map(measure, specs, levels))
    print(f"nominal {arguments.level:.0%}, {arguments.evaluations} evaluations")
    print("\n".join(table(intervals)))


if __name__ == "__main__":
    main()
