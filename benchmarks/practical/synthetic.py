"""Synthetic problems: functions under noise laws, the trap, rare stalls, and no noise at all.

Functions, laws and the trap are those of `rivals`, where an objective has range 1. The laws of
`rivals.laws` are noise of about 1 of the range; noise of 0.3 and 0.03 is the same deviation from
the mean, times that number. There are two kinds of each: "measure" and "tune", which share no
function (see `rivals.problems`).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

import tailproof as tp
from practical.domains import Params, domain_of
from practical.problem import DRAWS, LOG, Problem
from rivals import functions
from rivals import problems as rivals_problems
from rivals.domains import Arms
from rivals.functions import Landscape
from rivals.trap import NAME as TRAP

EVALUATIONS = {1.0: 200, 0.3: 100, 0.03: 100}
NOISE_FREE_EVALUATIONS = 100
_DEGREES_OF_FREEDOM = {"gaussian": math.inf, "t3": 3.0, "t1.5": 1.5}


def function(objective: str, law: str, level: float, kind: str, seed: int) -> Problem:
    """Return an objective of the rivals' comparison under a law with noise of `level`."""
    return _scaled(rivals_problems.problem(objective, law, kind, seed), level)


def trap(kind: str) -> Problem:
    """Return the mean-median trap: its best mean and its best median are at different points."""
    return _scaled(rivals_problems.problem(TRAP, TRAP, kind), 1.0)


def _scaled(base: rivals_problems.Problem, level: float) -> Problem:
    domain = base.domain

    def mean(params: Params) -> float:
        return float(base.means(domain.point(params)[None, :])[0])

    def payoff(params: Params, rng: np.random.Generator) -> float:
        center = mean(params)
        return center + level * (base.payoff(params, rng) - center)

    points = domain.points if isinstance(domain, Arms) else domain.draw(DRAWS, _generator())
    return Problem(
        domain=domain,
        mean=mean,
        payoff=payoff,
        best=base.objective.best + base.shift,
        median=float(np.median(base.means(points))),
        evaluations=EVALUATIONS[level],
        # Multiplicative noise has the same law everywhere on a logarithmic scale.
        warp=LOG if base.law.name == "lognormal" else "identity",
        degrees_of_freedom=_DEGREES_OF_FREEDOM.get(base.law.name),
        hill=base.hill if base.law.name == TRAP else None,
    )


def _generator() -> np.random.Generator:
    return np.random.default_rng(1)


LANDSCAPES: dict[str, Landscape] = {
    "branin": functions.BRANIN,
    "hartmann6": functions.HARTMANN6,
    "ackley5": functions.ACKLEY5,
    "camel": functions.CAMEL,
    "levy6": functions.LEVY6,
    "rosenbrock4": functions.ROSENBROCK4,
}


@functools.cache
def noise_free(name: str) -> Problem:
    """Return a standard function without noise, scaled as in the rivals' comparison."""
    landscape = LANDSCAPES[name]
    box = landscape.box

    def mean(params: Params) -> float:
        return float(landscape.unit(box.point(params)[None, :])[0])

    return Problem(
        domain=box,
        mean=mean,
        payoff=lambda params, _: mean(params),
        best=1.0,
        median=float(np.median(landscape.unit(box.draw(DRAWS, _generator())))),
        evaluations=NOISE_FREE_EVALUATIONS,
        degrees_of_freedom=math.inf,
    )


@dataclass(frozen=True)
class Stalls:
    """A service whose usual latency is least where rare stalls are most frequent.

    The latency at (x, y) in the unit square is typical(x, y) exp(0.2 Z - 0.02), plus a stall with
    probability frequency(x): exponential, with mean `stall`. So the mean is typical + stall
    frequency, exactly.
    """

    calm: float
    width: float
    chance: float
    stall: float

    def typical(self, params: Params) -> float:
        """Return the mean latency without stalls."""
        x, y = params["x"] - self.calm, params["y"] - 0.5
        return float(1.0 + 8.0 * x**2 + 2.0 * y**2)

    def frequency(self, params: Params) -> float:
        """Return the probability of a stall."""
        return self.chance * math.exp(-(((params["x"] - self.calm) / self.width) ** 2))

    def mean(self, params: Params) -> float:
        """Return the mean latency."""
        return self.typical(params) + self.stall * self.frequency(params)

    def payoff(self, params: Params, rng: np.random.Generator) -> float:
        """Draw one latency."""
        usual = self.typical(params) * math.exp(0.2 * rng.standard_normal() - 0.02)
        stalls = rng.random() < self.frequency(params)
        return usual + (self.stall * rng.exponential() if stalls else 0.0)


STALLS = {
    "measure": Stalls(calm=0.72, width=0.16, chance=0.1, stall=40.0),
    "tune": Stalls(calm=0.2, width=0.2, chance=0.12, stall=30.0),
}


@functools.cache
def stalls(kind: str) -> Problem:
    """Return the problem with rare stalls."""
    law = STALLS[kind]
    ticks = np.linspace(0.0, 1.0, 401)
    values = [law.mean({"x": x, "y": y}) for x in ticks for y in ticks]
    return Problem(
        domain=domain_of(tp.Space(x=tp.Float(0.0, 1.0), y=tp.Float(0.0, 1.0))),
        mean=law.mean,
        payoff=law.payoff,
        best=float(np.min(values)),
        median=float(np.median(values)),
        evaluations=200,
        minimize=True,
    )
