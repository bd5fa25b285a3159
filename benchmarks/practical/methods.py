"""Methods of the yardstick. All but ours and random search are solvers of `rivals`.

A solver of the yardstick is asked and told like one of `rivals`, in the units of the problem, and
states what it recommends with the mean it promises, if it promises one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

import tailproof as tp
from practical.domains import Domain, Params
from practical.problem import LOG, Problem
from rivals.botorch_solver import BotorchSolver
from rivals.methods import METHODS as RIVALS
from rivals.methods import STUDENT_T
from rivals.methods import Solver as RivalSolver
from rivals.optuna_solver import OptunaSolver
from rivals.tailproof_solvers import OptimizerSolver, RandomSolver
from tailproof.search.decision.race import candidates_for, confirmation_runs, search_runs
from tailproof.tune.study import distributions

OURS, ORACLE, SAMPLE_MEAN = "tailproof", "oracle", "sample-mean"
CONFIRMED = "tailproof-confirmed"
CONFIRM = 0.2  # share of the evaluations, the default of `tp.minimize`
REPEATS = 5  # runs whose mean is told as one payoff


@dataclass(frozen=True)
class Statement:
    """A recommendation, its promised mean, and the 90 % interval of the mean where there is one."""

    params: Params
    mean: float | None = None
    lower: float | None = None
    upper: float | None = None


class Solver(Protocol):
    """One method at work on one problem."""

    def ask(self) -> Params:
        """Return the parameters to evaluate next."""
        ...

    def tell(self, params: Params, value: float) -> None:
        """Take a payoff of the parameters asked last."""
        ...

    def add(self, params: Params, value: float) -> None:
        """Take a payoff of parameters that were assigned."""
        ...

    def state(self) -> Statement:
        """Return the recommendation."""
        ...

    def estimates(self, configurations: list[Params]) -> list[float] | None:
        """Return estimated means of configurations; None if the method has none."""
        ...


class OurSolver(OptimizerSolver):
    """`tp.Optimizer` with the interval of its recommendation."""

    def __init__(self, problem: Problem, seed: int, options: tp.Options) -> None:
        super().__init__(problem.domain, seed, options, minimize=problem.minimize)

    def add(self, params: Params, value: float) -> None:
        """Add a payoff of assigned parameters."""
        self.optimizer.add(params, value)

    def state(self) -> Statement:
        """Return the optimizer's recommendation."""
        found = self.optimizer.recommend()
        return Statement(dict(found.params), found.mean, found.lower, found.upper)

    def estimates(self, configurations: list[Params]) -> list[float] | None:
        """Return robust means."""
        return self.optimizer.predict(configurations).mean.tolist()


class ConfirmedSolver(OurSolver):
    """`tp.Optimizer` whose last evaluations confirm, as `tp.minimize` does by default."""

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed, tp.Options())
        self._search = search_runs(CONFIRM, problem.evaluations)
        self._rest = confirmation_runs(self._search, CONFIRM, problem.evaluations)

    def ask(self) -> Params:
        """Return the parameters of the next trial; after the search, those of the race."""
        if len(self.optimizer) == self._search and self._rest:
            self.optimizer.confirm(candidates_for(self._rest))
        return super().ask()


class OracleSolver(OurSolver):
    """`tp.Optimizer` told what can be told today: the warp, and the shape of the noise law.

    On problems with `warp` "log" it is told log(y), and the law is its loss: Gaussian for normal
    noise on that scale, Student-t with the true degrees of freedom (at least 2, which its scale
    estimate needs), the default for other laws. It makes no exploratory evaluations. Its
    recommendation has no promised mean: under a warp its estimate is not the mean of y.

    It is not told the lengthscales, the variance of f and the noise variance, which the optimizer
    has no way to take. An optimizer that can take them gets them here, in `__init__`.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        degrees = problem.degrees_of_freedom
        noise = "learnt"
        if degrees is not None:
            noise = "gaussian" if math.isinf(degrees) else "student-t"
        options = tp.Options(warp="identity", noise=noise, corrects_mean=noise == "learnt")
        super().__init__(problem, seed, options)
        self._log = problem.warp == LOG

    def tell(self, params: Params, value: float) -> None:
        """Tell the payoff on the scale of the warp."""
        super().tell(params, math.log(value) if self._log else value)

    def state(self) -> Statement:
        """Return the recommendation alone."""
        return Statement(super().state().params)


class Adapted:
    """A solver of `rivals`, which maximizes, told the mean of `repeats` payoffs as one.

    `promise` reads the best payoff off the solver: what its user takes for the mean.
    """

    def __init__(
        self,
        solver: Any,
        problem: Problem,
        repeats: int = 1,
        promise: Callable[[Any], float] | None = None,
    ) -> None:
        self.solver: RivalSolver = solver
        self._sign, self._repeats, self._promise = problem.sign, repeats, promise
        self._params: Params = {}
        self._told: list[float] = []

    @property
    def failed_fits(self) -> int:
        """Number of model fits that failed."""
        return int(getattr(self.solver, "failed_fits", 0))

    def ask(self) -> Params:
        """Return new parameters, or those whose payoffs are not complete."""
        if not self._told:
            self._params = self.solver.ask()
        return dict(self._params)

    def tell(self, params: Params, value: float) -> None:
        """Tell the mean when all repetitions are there."""
        self._told.append(self._sign * value)
        if len(self._told) == self._repeats:
            self.solver.tell(params, float(np.mean(self._told)))
            self._told = []

    add = tell

    def state(self) -> Statement:
        """Return the recommendation with the best payoff as its promise."""
        promised = None if self._promise is None else self._sign * self._promise(self.solver)
        return Statement(self.solver.recommend(), promised)

    def estimates(self, configurations: list[Params]) -> list[float] | None:
        """Return None."""
        return None


class SampleMeanSolver:
    """The largest sample mean, for payoffs that are assigned."""

    def __init__(self, problem: Problem) -> None:
        self._sign = problem.sign
        self._payoffs: dict[tuple[Any, ...], list[float]] = {}
        self._params: dict[tuple[Any, ...], Params] = {}

    def ask(self) -> Params:
        """Raise an error: it chooses nothing."""
        raise NotImplementedError("the sample mean is for payoffs that are assigned")

    def tell(self, params: Params, value: float) -> None:
        """Keep a payoff."""
        key = tuple(params.values())
        self._params[key] = params
        self._payoffs.setdefault(key, []).append(value)

    add = tell

    def _mean(self, params: Params) -> float:
        return float(np.mean(self._payoffs[tuple(params.values())]))

    def state(self) -> Statement:
        """Return the configuration with the best sample mean."""
        best = max(self._params.values(), key=lambda params: self._sign * self._mean(params))
        return Statement(best, self._mean(best))

    def estimates(self, configurations: list[Params]) -> list[float] | None:
        """Return sample means."""
        return [self._mean(params) for params in configurations]


@dataclass(frozen=True)
class Method:
    """A method and how its solver starts, given a problem and a seed.

    Attributes
    ----------
    key, title, description
        On the command line, in tables, and a sentence.
    start
        Makes a solver.
    package, needs
        The distribution whose release is the version, and modules beyond tailproof's own.
    chooses, assigned
        Whether it runs on problems whose parameters it chooses, and on assigned payoffs.
    rival
        Whether ours is measured against it: neither a variant of ours nor the oracle.
    """

    key: str
    title: str
    description: str
    start: Callable[[Problem, int], Solver]
    package: str = "tailproof"
    needs: tuple[str, ...] = ()
    chooses: bool = True
    assigned: bool = False
    rival: bool = True


def _ours(options: tp.Options) -> Callable[[Problem, int], Solver]:
    return lambda problem, seed: OurSolver(problem, seed, options)


def _random(problem: Problem, seed: int) -> Solver:
    solver = RandomSolver(problem.domain, np.random.default_rng(seed))
    return Adapted(solver, problem, promise=lambda s: s.best[0])


def _optuna(sampler: str, repeats: int = 1) -> Callable[[Problem, int], Solver]:
    def start(problem: Problem, seed: int) -> Solver:
        domain: Domain = problem.domain
        chosen = distributions(domain.space) if isinstance(domain.space, tp.Space) else None
        solver = OptunaSolver(domain, seed, sampler, chosen)
        return Adapted(solver, problem, repeats, lambda s: s.study.best_value)

    return start


def _lognei(problem: Problem, seed: int) -> Solver:
    domain = problem.domain
    # 2 (d + 1) with d parameters, not the columns that encode them; among arms, coordinates.
    parameters = len(domain.names)
    return Adapted(BotorchSolver(domain, seed, "lognei", 2 * (parameters + 1)), problem)


_BEST = "recommends the best payoff it was told"
METHODS: dict[str, Method] = {
    method.key: method
    for method in (
        Method(
            OURS,
            "tailproof",
            "tp.Optimizer with its defaults",
            _ours(tp.Options()),
            assigned=True,
            rival=False,
        ),
        Method(
            CONFIRMED,
            "tailproof, confirmed",
            "tp.Optimizer that spends the last fifth of the evaluations on a race of its best "
            "configurations, as tp.minimize does",
            ConfirmedSolver,
            rival=False,
        ),
        Method(
            "tailproof-kappa-1",
            "tailproof, kappa 1",
            "tp.Optimizer with kappa=1",
            _ours(tp.Options(kappa=1.0)),
            rival=False,
        ),
        Method(
            "student-t-gp",
            "Student-t GP",
            "tp.Optimizer with a Student-t likelihood of 4 degrees of freedom, no warp and no "
            "correction of the mean",
            _ours(STUDENT_T),
            assigned=True,
        ),
        Method(
            ORACLE,
            "oracle",
            "tp.Optimizer told the warp (log y where the noise is multiplicative or the metric is "
            "a time or a loss) and the shape of the noise law; not told kernel parameters",
            OracleSolver,
            rival=False,
        ),
        Method(
            "random",
            "random search",
            f"uniform draws; {_BEST}",
            _random,
            "numpy",
            assigned=True,
        ),
        Method(
            "tpe", "TPE", f"Optuna's TPESampler; {_BEST}", _optuna("tpe"), "optuna", ("optuna",)
        ),
        Method(
            "tpe-5",
            "TPE, mean of 5",
            f"TPESampler told the mean of {REPEATS} evaluations as one; {_BEST}",
            _optuna("tpe", REPEATS),
            "optuna",
            ("optuna",),
        ),
        Method(
            "gp",
            "GPSampler",
            f"Optuna's GPSampler; {_BEST}",
            _optuna("gp"),
            "optuna",
            ("optuna", "torch"),
        ),
        Method(
            "gp-5",
            "GPSampler, mean of 5",
            f"GPSampler told the mean of {REPEATS} evaluations as one; {_BEST}",
            _optuna("gp", REPEATS),
            "optuna",
            ("optuna", "torch"),
        ),
        Method(
            "lognei",
            "BoTorch LogNEI",
            RIVALS["botorch-lognei"].description,
            _lognei,
            "botorch",
            ("botorch",),
        ),
        Method(
            SAMPLE_MEAN,
            "sample mean",
            "the best sample mean, for payoffs that are assigned",
            lambda problem, seed: SampleMeanSolver(problem),
            "numpy",
            chooses=False,
            assigned=True,
        ),
    )
}


def suits(method: str, problem_is_assigned: bool) -> bool:
    """Tell whether a method runs on a problem whose payoffs are assigned, or are not."""
    found = METHODS[method]
    return found.assigned if problem_is_assigned else found.chooses
