"""One run: a method on a problem with one seed, and the record that is kept of it."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from practical.catalog import ENTRIES
from practical.domains import Params
from practical.methods import METHODS, Solver, Statement
from practical.problem import Problem
from rivals import seeds
from rivals.run import describe_error
from tailproof._util.threads import single_thread

PROMISE = 0.3  # a promise is broken if the true mean is worse than stated by this share of it


@dataclass(frozen=True)
class RunSpec:
    """What defines a run besides the version of the method."""

    family: str
    problem: str
    method: str
    seed: int

    def make(self) -> Problem:
        """Return the problem to solve."""
        return ENTRIES[self.family, self.problem].make(self.seed)

    def noise(self, evaluation: int) -> np.random.Generator:
        """Return the generator of one evaluation's noise: the same for every method."""
        words = (self.family, self.problem, self.seed, "noise", evaluation)
        return seeds.generator("practical", *words)

    def solver_seed(self) -> int:
        """Return the seed of the method's own randomness."""
        words = (self.family, self.problem, self.seed, "method", self.method)
        return int(seeds.sequence("practical", *words).generate_state(1)[0])


class _Clock:
    """Processor time within its `with` blocks."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._began = time.process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.process_time() - self._began


def execute(spec: RunSpec) -> dict[str, Any]:
    """Execute a run on one thread and return its record, ready for JSON.

    Keys
    ----
    simple_regret, cumulative_regret
        Of the recommendation, and the mean over the evaluations, both in units of the median
        configuration minus the best; cumulative_regret is None for assigned payoffs.
    recommended, mean, lower, upper, truth
        The recommendation, what is stated of its mean, and the true mean; None where not stated.
    covered, broken
        Whether the interval contains the true mean; whether the true mean is worse than the stated
        mean by 30 % of it or more.
    hill
        In the trap, the hill of the recommendation.
    ratios, worst
        For assigned payoffs: estimated over true mean of every configuration, and whether the worst
        one is recommended.
    seconds
        Processor time of asking, telling, recommending and estimating.
    error
        The error if the method failed. Its regret is then that of the median configuration: 1.
    """
    problem, clock = spec.make(), _Clock()
    with single_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the rivals' fits
        try:
            with clock:
                solver = METHODS[spec.method].start(problem, spec.solver_seed())
            cumulative = _evaluate(spec, problem, solver, clock)
            with clock:
                stated = solver.state()
                configurations = list(problem.assigned)
                estimates = solver.estimates(configurations) if configurations else None
        except Exception as failure:  # any error of a method belongs into the tables
            return {
                "simple_regret": 1.0,
                "cumulative_regret": None if problem.assigned else 1.0,
                "error": describe_error(failure),
                "seconds": clock.seconds,
            }
    return {
        "simple_regret": problem.regret(stated.params),
        "cumulative_regret": cumulative,
        **_promise(problem, stated),
        "hill": None if problem.hill is None else problem.hill(stated.params),
        **_estimates(problem, stated.params, estimates),
        "seconds": clock.seconds,
        "error": None,
    }


def _evaluate(spec: RunSpec, problem: Problem, solver: Solver, clock: _Clock) -> float | None:
    """Make all evaluations and return the mean regret; None if the payoffs are assigned."""
    if problem.assigned:
        for evaluation in range(problem.evaluations):
            params = problem.assigned[evaluation % len(problem.assigned)]
            value = problem.payoff(params, spec.noise(evaluation))
            with clock:
                solver.add(params, value)
        return None
    regrets = []
    for evaluation in range(problem.evaluations):
        with clock:
            params = solver.ask()
        regrets.append(problem.regret(params))
        value = problem.payoff(params, spec.noise(evaluation))
        with clock:
            solver.tell(params, value)
    return float(np.mean(regrets))


def _promise(problem: Problem, stated: Statement) -> dict[str, Any]:
    truth = problem.mean(stated.params)
    covered = broken = None
    if stated.lower is not None and stated.upper is not None:
        covered = bool(stated.lower <= truth <= stated.upper)
    if stated.mean is not None:
        broken = problem.shortfall(stated.params, stated.mean) >= PROMISE
    return {
        "recommended": stated.params,
        "mean": stated.mean,
        "lower": stated.lower,
        "upper": stated.upper,
        "truth": truth,
        "covered": covered,
        "broken": broken,
    }


def _estimates(
    problem: Problem, recommended: Params, estimates: list[float] | None
) -> dict[str, Any]:
    if not problem.assigned:
        return {}
    truths = [problem.mean(params) for params in problem.assigned]
    worst = min(range(len(truths)), key=lambda i: problem.sign * truths[i])
    return {
        "ratios": None
        if estimates is None
        else [estimate / truth for estimate, truth in zip(estimates, truths, strict=True)],
        "worst": problem.assigned[worst] == recommended,
    }
