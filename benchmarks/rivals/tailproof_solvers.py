"""Methods of this library and random search, as solvers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tailproof as tp
from rivals.domains import Array, Domain, Params
from rivals.problems import Problem

THEORY_POINTS = 400  # Sobol points that represent a box, since the policies need finitely many


class OptimizerSolver:
    """`tp.Optimizer`, which recommends the best posterior mean."""

    def __init__(
        self, domain: Domain, seed: int, options: tp.Options, *, minimize: bool = False
    ) -> None:
        self.optimizer = tp.Optimizer(domain.space, seed=seed, minimize=minimize, options=options)
        self._trial: tp.Trial | None = None

    def ask(self) -> Params:
        """Return the parameters of the next trial."""
        self._trial = self.optimizer.ask()
        return dict(self._trial.params)

    def tell(self, params: Params, value: float) -> None:
        """Tell the trial's payoff."""
        assert self._trial is not None
        self.optimizer.tell(self._trial, value)

    def recommend(self) -> Params:
        """Return the optimizer's own recommendation."""
        return dict(self.optimizer.recommend().params)


class PolicySolver:
    """A policy of the paper with its theorem's schedule, on the arms or on 400 Sobol points.

    It is told what its theorem assumes known: alpha and the true v = max E|y|^(1+alpha) of the
    law, the kernel (`Objective.kernel`), B = max |f| as the authors took it, and the horizon.
    """

    def __init__(self, problem: Problem, seed: int, evaluations: int, policy: str) -> None:
        self._domain = domain = problem.domain
        self._points: Array = domain.cover(THEORY_POINTS, np.random.default_rng(seed))
        low, high = domain.bounds
        means = problem.means(self._points)
        kernel = problem.objective.kernel
        assumptions: dict[str, Any] = {
            "moment": tp.MomentBound(problem.law.alpha, problem.law.moment(self._points, means)),
            "norm_bound": float(np.abs(means).max()),
            "horizon": evaluations,
            "seed": seed,
        }
        space = tp.Finite((self._points - low) / (high - low))
        if policy == "tgp-ucb":
            self._optimizer = tp.tgp_ucb(space, kernel, **assumptions)
        else:
            self._optimizer = tp.ata_gp_ucb(space, kernel, features=tp.Exact(), **assumptions)
        self._arm = 0

    def ask(self) -> Params:
        """Return the arm with the largest upper confidence bound."""
        self._arm = self._optimizer.ask_index()
        return self._domain.params(self._points[self._arm])

    def tell(self, params: Params, value: float) -> None:
        """Tell the arm's payoff."""
        self._optimizer.tell_index(self._arm, value)

    def recommend(self) -> Params:
        """Return the arm with the best posterior mean."""
        return self._domain.params(self._points[self._optimizer.recommend().index])


@dataclass
class RandomSolver:
    """Uniform draws; recommends the parameters with the largest single payoff."""

    domain: Domain
    rng: np.random.Generator
    best: tuple[float, Params] | None = field(default=None)

    def ask(self) -> Params:
        """Return a uniform draw."""
        return self.domain.params(self.domain.draw(1, self.rng)[0])

    def tell(self, params: Params, value: float) -> None:
        """Keep the largest payoff."""
        if self.best is None or value > self.best[0]:
            self.best = (value, params)

    def recommend(self) -> Params:
        """Return the parameters with the largest payoff."""
        assert self.best is not None
        return self.best[1]
