"""One run: a method on a problem with one seed, and the record that is kept of it."""

from __future__ import annotations

import time
import traceback
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rivals import seeds
from rivals.domains import Params
from rivals.methods import METHODS, Solver
from rivals.problems import Problem, problem
from tailproof._util.threads import single_thread

CHECKPOINTS = (25, 50, 100, 150, 200)


@dataclass(frozen=True)
class RunSpec:
    """What defines a run besides the version of the method."""

    objective: str
    law: str
    method: str
    seed: int
    evaluations: int
    family: str = "measure"

    @property
    def checkpoints(self) -> tuple[int, ...]:
        """Numbers of evaluations after which a recommendation is asked for, ascending."""
        return checkpoints(self.evaluations)

    def problem(self) -> Problem:
        """Return the problem to solve."""
        return problem(self.objective, self.law, self.family, self.seed)

    def noise(self, evaluation: int) -> np.random.Generator:
        """Return the generator of one evaluation's noise: the same for every method."""
        words = (self.family, self.objective, self.law, self.seed, "round", evaluation)
        return seeds.generator("noise", *words)

    def solver_seed(self) -> int:
        """Return the seed of the method's own randomness."""
        # These words are the seeds of all published runs.
        problem = f"{self.objective}.{self.law}"
        words = ("contestant", self.family, problem, self.method, self.seed)
        return int(seeds.sequence(*words).generate_state(1)[0])


def checkpoints(evaluations: int) -> tuple[int, ...]:
    """Return the numbers of evaluations after which recommendations are asked for.

    Examples
    --------
    >>> checkpoints(200), checkpoints(60)
    ((25, 50, 100, 150, 200), (25, 50, 60))
    """
    return (*(number for number in CHECKPOINTS if number < evaluations), evaluations)


@dataclass
class _Progress:
    """What a run has come to so far."""

    regrets: list[float] = field(default_factory=list)
    simple_regret: list[float] = field(default_factory=list)
    alternatives: dict[str, list[float]] = field(default_factory=dict)
    recommended: Params | None = None
    seconds: float = 0.0
    recommend_seconds: float = 0.0


def execute(spec: RunSpec) -> dict[str, Any]:
    """Execute a run on one thread and return its record, ready for JSON.

    Keys
    ----
    simple_regret, cumulative_regret
        At the checkpoints: best mean minus the mean of the recommended parameters; the sum of best
        mean minus the mean of the evaluated parameters. A method that fails is charged the largest
        possible regret for what it did not evaluate or recommend.
    recommended, hill
        The last recommendation, and in the trap the hill on which it lies.
    alternatives
        Simple regret at the checkpoints of other recommendations the method could have given.
    error, evaluations
        The error if the method failed, and the number of evaluations it made.
    seconds, recommend_seconds
        Of asking and telling together; of recommending.
    failed_fits
        Number of model fits that failed without ending the run.
    """
    target = spec.problem()
    progress, error, solver = _Progress(), None, None
    with single_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the rivals' fits, and of the theory's assumptions
        try:
            start = METHODS[spec.method].start
            solver = start(target, spec.solver_seed(), spec.evaluations)
            _evaluate(spec, target, solver, progress)
        except Exception as failure:  # any error of a method belongs into the tables
            error = describe_error(failure)
    failed_fits = int(getattr(solver, "failed_fits", 0))
    return _record(spec, target, progress, error) | {"failed_fits": failed_fits}


def _evaluate(spec: RunSpec, target: Problem, solver: Solver, progress: _Progress) -> None:
    for evaluation in range(1, spec.evaluations + 1):
        began = time.perf_counter()
        params = solver.ask()
        progress.seconds += time.perf_counter() - began
        regret, value = target.regret(params), target.payoff(params, spec.noise(evaluation))
        began = time.perf_counter()
        solver.tell(params, value)
        progress.seconds += time.perf_counter() - began
        progress.regrets.append(regret)
        if evaluation in spec.checkpoints:
            _recommend(target, solver, progress)


def _recommend(target: Problem, solver: Solver, progress: _Progress) -> None:
    began = time.perf_counter()
    progress.recommended = solver.recommend()
    progress.recommend_seconds += time.perf_counter() - began
    progress.simple_regret.append(target.regret(progress.recommended))
    alternatives: dict[str, Params] = getattr(solver, "alternatives", dict)()
    for name, params in alternatives.items():
        progress.alternatives.setdefault(name, []).append(target.regret(params))


def _record(
    spec: RunSpec, target: Problem, progress: _Progress, error: str | None
) -> dict[str, Any]:
    made, stops, worst = len(progress.regrets), spec.checkpoints, target.largest_regret
    regrets = progress.regrets + [worst] * (spec.evaluations - made)
    recommended = None if error else progress.recommended
    return {
        "simple_regret": progress.simple_regret
        + [worst] * (len(stops) - len(progress.simple_regret)),
        "cumulative_regret": [sum(regrets[:stop]) for stop in stops],
        "recommended": recommended,
        "hill": None if recommended is None else target.hill(recommended),
        "alternatives": {
            name: values
            for name, values in progress.alternatives.items()
            if len(values) == len(stops)
        },
        "error": error,
        "evaluations": made,
        "seconds": progress.seconds,
        "recommend_seconds": progress.recommend_seconds,
    }


def describe_error(error: Exception) -> str:
    """Return an error and where it was raised, without the paths of a machine."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return f"{type(error).__name__}: {error}"
    last = frames[-1]
    file = last.filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{type(error).__name__}: {error} (in {last.name}, line {last.lineno} of {file})"
