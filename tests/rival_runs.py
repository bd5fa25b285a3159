"""Runs of the comparison with rivals made by hand, for the tests of what is computed from them."""

import numpy as np

from rivals.analysis import POOLS
from rivals.plan import SEEDS
from rivals.problems import problem_names
from rivals.records import RunResult

HEAVY = ("branin", "t1.5")
LIGHT = ("branin", "gaussian")
TRAP = ("trap", "trap")
PROBLEMS = problem_names()  # a claim about a pool needs all of its problems
ALL_HEAVY = tuple(problem for problem in PROBLEMS if POOLS["heavy"](problem))
ALL_LIGHT = tuple(problem for problem in PROBLEMS if POOLS["gaussian"](problem))


def run(method, seed, regret, problem=HEAVY, **more):
    return RunResult(
        *problem, method, "1.0", seed, (regret + 0.5, regret), (1.0, 10.0 * regret), **more
    )


def runs_of(regrets, problem=HEAVY):
    return [
        run(method, seed, regret, problem)
        for method, row in regrets.items()
        for seed, regret in enumerate(row)
        if regret is not None
    ]


def runs_on(regrets, problems):
    return [run for problem in problems for run in runs_of(regrets, problem)]


def all_runs(better=0.2, gaussian=1.1, ours="mean", robust="median", seeds=SEEDS):
    """Runs of two methods on all problems: under heavy tails ours is better by `better`.

    Our regret under Gaussian noise is `gaussian` times the other's.
    """
    noise = np.linspace(0.0, 0.05, seeds)
    heavy = {"tailproof": 0.3 + noise, "student-t-gp": 0.3 + better + noise[::-1]}
    light = {"tailproof": [0.1 * gaussian] * seeds, "student-t-gp": [0.1] * seeds}
    runs = runs_on(heavy, [problem for problem in ALL_HEAVY if problem != TRAP])
    runs += runs_on(light, ALL_LIGHT)
    for seed in range(seeds):
        runs.append(run("tailproof", seed, 0.1, TRAP, hill=ours))
        runs.append(run("student-t-gp", seed, 0.5, TRAP, hill=robust))
    return runs


def runs_of_method(method, seeds, problems, regret, **more):
    return [
        run(method, seed, regret, problem, **more) for problem in problems for seed in range(seeds)
    ]
