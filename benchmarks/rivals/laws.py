"""Noise laws of the comparison. Objectives have range 1, and the noise is of the same size.

| name         | payoff at mean f                                             | moments |
| ------------ | ------------------------------------------------------------ | ------- |
| gaussian     | f + 0.5 Z                                                    | all     |
| t3           | f + 0.5 t(3)                                                 | < 3     |
| t1.5         | f + 0.5 t(1.5)                                               | < 1.5   |
| pareto       | f +- X, P(X > x) = (1 + x)^-1.5, either sign equally likely  | < 1.5   |
| pareto-right | f + X - 2, the same X, whose mean is 2                       | < 1.5   |
| lognormal    | f exp(1.2 Z - 0.72), f shifted to be at least 0.5            | all     |
| contaminated | f + 0.3 Z, with probability 5 % f + 15 Z                     | all     |

Every law has mean f exactly; the law of the trap is in `trap`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gamma

from tailproof.environments import (
    CenteredPareto,
    Gaussian,
    MultiplicativeLogNormal,
    PayoffLaw,
    StudentT,
)
from tailproof.environments._laws import (
    Array,
    law_generator,
    mean_values,
    moment_order,
    require_moment,
    shifted_moment_bound,
    shifts,
)

LEAST_MEAN = 0.5  # of payoffs with multiplicative noise


class Law(Protocol):
    """Interface of a noise law: draws payoffs, and bounds moments for the theory's policies."""

    @property
    def name(self) -> str:
        """The law's name."""
        ...

    @property
    def title(self) -> str:
        """The law's name in tables."""
        ...

    @property
    def heavy(self) -> bool:
        """Whether it counts among the heavy-tailed ones."""
        ...

    @property
    def alpha(self) -> float:
        """An order 1 + alpha at which the moment is finite."""
        ...

    def shift(self, lowest: float) -> float:
        """Return what is added to an objective that nowhere falls below `lowest`."""
        ...

    def payoff(self, point: Array, mean: float, rng: np.random.Generator) -> float:
        """Draw one payoff at a point (d,) whose mean is known."""
        ...

    def moment(self, points: Array, means: Array) -> float:
        """Bound E|y|^(1+alpha) over points (n, d) with these means (n,)."""
        ...


@dataclass(frozen=True)
class SymmetricLomax:
    """Pareto noise from zero on, with a fair sign: P(|eta| > x) = (1 + x / scale)^-shape.

    `environments.SymmetricPareto` starts at its scale instead and leaves a hole around f.
    E|eta|^p = scale^p G(1+p) G(shape-p) / G(shape), G the gamma function, for p < shape.
    """

    shape: float
    scale: float = 1.0

    def sample(self, f_values: ArrayLike, rng: np.random.Generator) -> Array:
        """Draw one payoff for each mean in `f_values` (n,); returns (n,)."""
        f, rng = mean_values(f_values), law_generator(rng)
        sizes = self.scale * rng.pareto(self.shape, f.size)
        return f + np.where(rng.random(f.size) < 0.5, sizes, -sizes)

    def moment_bound(self, alpha: float, f: ArrayLike) -> Array:
        """Bound E|y|^(1+alpha); exact at alpha = 1 and at f = 0. Needs 1 + alpha < shape."""
        p, a = moment_order(alpha), self.shape
        require_moment(p, "shape", a)
        moment = self.scale**p * float(gamma(1.0 + p) * gamma(a - p) / gamma(a))
        return shifted_moment_bound(p, shifts(f), moment, symmetric=True)


@dataclass(frozen=True)
class ContaminatedNormal:
    """Normal noise whose standard deviation is `factor` times as large with probability `share`.

    `environments.Contamination` puts its outliers at two fixed values instead, which a model
    could learn.
    """

    scale: float
    share: float
    factor: float

    def sample(self, f_values: ArrayLike, rng: np.random.Generator) -> Array:
        """Draw one payoff for each mean in `f_values` (n,); returns (n,)."""
        f, rng = mean_values(f_values), law_generator(rng)
        outlier = rng.random(f.size) < self.share
        return f + self.scale * np.where(outlier, self.factor, 1.0) * rng.standard_normal(f.size)

    def moment_bound(self, alpha: float, f: ArrayLike) -> Array:
        """Return E|y|^(1+alpha), exact: the mixture of two Gaussian moments."""
        outliers = Gaussian(self.scale * self.factor).moment_bound(alpha, f)
        usual = Gaussian(self.scale).moment_bound(alpha, f)
        return (1.0 - self.share) * usual + self.share * outliers


@dataclass(frozen=True)
class MeanLaw:
    """A law that depends on the point through its mean alone."""

    name: str
    title: str
    law: PayoffLaw
    alpha: float
    heavy: bool = True
    positive: bool = False

    def shift(self, lowest: float) -> float:
        """Return what makes the objective at least 0.5 if the law needs positive means, else 0."""
        return LEAST_MEAN - lowest if self.positive else 0.0

    def payoff(self, point: Array, mean: float, rng: np.random.Generator) -> float:
        """Draw one payoff."""
        return float(self.law.sample([mean], rng)[0])

    def moment(self, points: Array, means: Array) -> float:
        """Bound E|y|^(1+alpha) over the means."""
        return float(np.max(self.law.moment_bound(self.alpha, means)))


# Of order 1.4 where the moment of order 1.5 is infinite: near the end, yet not enormous.
_NEAR = 0.4
LAWS: dict[str, MeanLaw] = {
    law.name: law
    for law in (
        MeanLaw("gaussian", "Gaussian", Gaussian(0.5), 1.0, heavy=False),
        MeanLaw("t3", "Student-t 3", StudentT(3.0, 0.5), 1.0),
        MeanLaw("t1.5", "Student-t 1.5", StudentT(1.5, 0.5), _NEAR),
        MeanLaw("pareto", "symmetric Pareto 1.5", SymmetricLomax(1.5), _NEAR),
        MeanLaw("pareto-right", "one-sided Pareto 1.5", CenteredPareto(1.5), _NEAR),
        MeanLaw("lognormal", "log-normal factor", MultiplicativeLogNormal(1.2), 1.0, positive=True),
        MeanLaw("contaminated", "5 % at 50 sigma", ContaminatedNormal(0.3, 0.05, 50.0), 1.0),
    )
}
