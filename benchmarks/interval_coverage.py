"""How often the practical optimizer's interval holds the mean of what it recommends.

    python benchmarks/interval_coverage.py --seeds 4 --family measure

Plays the arena's cells with the default optimizer and, at the end, asks for the recommendation with
its nominal interval. For each law: the share of runs whose interval holds the true mean payoff of
the recommended configuration, the share whose true mean lies below it (the estimate was too high),
and the median half width, in units of the function's range.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

import tailproof as tp
from rivals.laws import LAWS
from rivals.match import Match
from rivals.problems import FAMILIES, PROBLEMS, cell
from rivals.trap import NAME as TRAP
from tailproof.experiments.trial import single_threaded


@dataclass(frozen=True)
class Run:
    problem: str
    law: str
    low: float
    high: float
    truth: float


def play(match: Match, level: float) -> Run:
    one = cell(match.problem, match.law, match.family, match.seed)
    with single_threaded():
        opt = tp.Optimizer(one.problem.domain.space, seed=match.start().seed)
        for index in range(1, match.evaluations + 1):
            trial = opt.ask()
            opt.tell(trial, one.payoff(trial.params, match.noise(index)))
        found = opt.recommend(level=level)
    truth = one.problem.mean(found.params) + one.shift
    return Run(match.problem, match.law, found.lower, found.upper, truth)


def table(runs: list[Run]) -> str:
    lines = ["| law | runs | held | too high | half width |", "| --- | --- | --- | --- | --- |"]
    groups = {"all": runs} | {
        law: [run for run in runs if run.law == law]
        for law in dict.fromkeys(run.law for run in runs)
    }
    for name, some in groups.items():
        held = np.mean([run.low <= run.truth <= run.high for run in some])
        above = np.mean([run.truth < run.low for run in some])
        half = np.median([0.5 * (run.high - run.low) for run in some])
        lines.append(f"| {name} | {len(some)} | {held:.2f} | {above:.2f} | {half:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--evaluations", type=int, default=200)
    parser.add_argument("--family", choices=FAMILIES, default="measure")
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    matches = [
        Match(problem, law, "tailproof", seed, arguments.evaluations, arguments.family)
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds)
        for problem in PROBLEMS
        for law in ((TRAP,) if problem == TRAP else tuple(LAWS))
    ]
    levels = [arguments.level] * len(matches)
    with ProcessPoolExecutor(arguments.workers) as pool:
        runs = list(pool.map(play, matches, levels))
    print(f"nominal {arguments.level:.0%}, {arguments.evaluations} evaluations")
    print(table(runs))


if __name__ == "__main__":
    main()
