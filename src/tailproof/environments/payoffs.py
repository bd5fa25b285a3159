"""Payoff laws that depend on f as a whole, not as f plus noise; every moment is exact.

Same two methods as the noise laws (`tailproof.environments.noise`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tailproof._util import checks
from tailproof.environments._laws import Array, CheckedLaw, require_moment, shifts

# Means computed by quadrature may pass 2 gap by a few units of rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class ParetoPayoff(CheckedLaw):
    """Pareto payoffs with mean f > 0 (section 6, Figure b, shape 2).

    P(y > x) = (s / x)^shape for x >= s = f (shape - 1) / shape, which is f / 2 at shape 2.
    E y^p = shape s^p / (shape - p) for p < shape; at shape 2, f^(1+alpha) / (2^alpha (1 - alpha)).

    Examples
    --------
    >>> law = ParetoPayoff()
    >>> float(law.moment_bound(0.9, 1.0).round(4)), round(1 / (2**0.9 * 0.1), 4)
    (5.3589, 5.3589)
    """

    shape: float = 2.0

    def _payoff_scale(self, f: Array) -> Array:
        """Return the smallest payoff of each mean f (n,)."""
        if f.size and float(f.min()) <= 0.0:
            raise ValueError(f"`f > 0` must hold for Pareto payoffs, but got f={float(f.min())!r}.")
        return f * ((self.shape - 1.0) / self.shape)

    def _draw_payoffs(self, f: Array, rng: np.random.Generator) -> Array:
        """Return one Pareto payoff for each mean f (n,)."""
        return self._payoff_scale(f) * (1.0 + rng.pareto(self.shape, f.size))

    def _payoff_moments(self, p: float, f: Array) -> Array:
        """Return E|y|^p of Pareto payoffs, (n,)."""
        require_moment(p, "shape", self.shape)
        return self.shape * self._payoff_scale(f) ** p / (self.shape - p)


@dataclass(frozen=True)
class MultiplicativeLogNormal(CheckedLaw):
    """Payoffs y = f exp(sigma Z - sigma^2 / 2), Z standard normal: mean f, of any sign.

    E|y|^p = |f|^p exp(sigma^2 p (p - 1) / 2).

    Examples
    --------
    >>> float(MultiplicativeLogNormal(sigma=1.0).moment_bound(1.0, -2.0).round(4))
    10.8731
    """

    sigma: float

    def _draw_payoffs(self, f: Array, rng: np.random.Generator) -> Array:
        """Return f times log-normal noise of mean 1, (n,)."""
        payoffs: Array = f * np.exp(self.sigma * rng.standard_normal(f.size) - self.sigma**2 / 2.0)
        return payoffs

    def _payoff_moments(self, p: float, f: Array) -> Array:
        """Return E|y|^p of payoffs with log-normal factors, (n,)."""
        moments: Array = math.exp(self.sigma**2 * p * (p - 1.0) / 2.0) * np.abs(f) ** p
        return moments


@dataclass(frozen=True)
class TwoPoint(CheckedLaw):
    """The lower bound's payoffs (Appendix C): a rare jump of fixed size, else nothing.

    y = sign(f) (v / (2 gap))^(1/alpha) with probability (2 gap / v)^(1/alpha) |f|, else 0, for
    means |f| <= 2 gap. Then E[y] = f and E|y|^(1+alpha) = v |f| / (2 gap) <= v.

    `gap` is the paper's Delta, at most v^(1/(1+alpha)) / 2, else the probabilities pass one;
    0 < alpha <= 1.

    Examples
    --------
    >>> law = TwoPoint(alpha=1.0, v=4.0, gap=0.5)
    >>> law.jump, float(law.probability(0.5)), float(law.moment_bound(1.0, 1.0))
    (4.0, 0.125, 4.0)
    """

    alpha: float
    v: float
    gap: float

    def __post_init__(self) -> None:
        """Check the law of payoffs that are 0 or a jump."""
        alpha = checks.in_unit_interval("alpha", self.alpha, closed_above=True)
        object.__setattr__(self, "alpha", alpha)
        checks.fields(self, v=checks.positive, gap=checks.positive)
        largest = self.v ** (1.0 / (1.0 + alpha)) / 2.0
        if self.gap > largest * (1.0 + ROUNDING):
            raise ValueError(
                f"`gap <= v^(1/(1+alpha)) / 2` must hold, but got gap={self.gap:g}, "
                f"v^(1/(1+alpha)) / 2 = {largest:g}."
            )

    @property
    def jump(self) -> float:
        """The size of a payoff of the law that is not zero, (v / (2 gap))^(1/alpha)."""
        return float((self.v / (2.0 * self.gap)) ** (1.0 / self.alpha))

    def probability(self, f: ArrayLike) -> Array:
        """Return the probability that a payoff is a jump at mean `f`, |f| / jump, shaped as `f`."""
        values = shifts(f)
        size = np.abs(values)
        if size.size and float(size.max()) > 2.0 * self.gap * (1.0 + ROUNDING):
            raise ValueError(
                f"`|f| <= 2 gap` must hold, but got |f|={float(size.max()):g}, gap={self.gap:g}."
            )
        return np.minimum(size / self.jump, 1.0)

    def _draw_payoffs(self, f: Array, rng: np.random.Generator) -> Array:
        """Return payoffs that are 0 or a jump, with means f (n,)."""
        jumps = rng.random(f.size) < self.probability(f)
        return np.where(jumps, np.sign(f) * self.jump, 0.0)

    def _payoff_moments(self, p: float, f: Array) -> Array:
        """Return E|y|^p of payoffs that are 0 or a jump, (n,)."""
        return self.probability(f) * self.jump**p
