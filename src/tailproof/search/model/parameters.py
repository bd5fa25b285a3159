"""The data of the model, what it is configured with, and the parameters that a fit learns.

Model: at x a payoff is m(x) + s(x) e. The location m is a Gaussian process, s a noise scale that
may grow with m, and e noise whose law is learnt as far as it is needed: a psi function that limits
residuals, and a tail correction, the mean of what psi clips, which may vary over the space. The
mean payoff is

    f(x) = m(x) + s(x) (center + correction(x)),

so the target is the mean, not the median. If the law of e is the same everywhere, the correction is
a constant and does not affect which x has the best mean, whatever the tails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tailproof.search.model.correlation import KernelLayout, KernelParameters
from tailproof.search.model.hyperparameters import Prior
from tailproof.search.model.robust_loss import AdaptiveWindow, PsiFunction, RobustLoss

Array = NDArray[np.float64]

# Steps of standardized payoffs in one robust standard deviation.
_GRAINS = 2.0**20
# Standardized payoffs are at most this large, times the number of payoffs.
_LARGEST = 200.0
# The noise scale s(x) stays within this factor of 1.
_LARGEST_LOG_SCALE = math.log(10.0)


@dataclass(frozen=True)
class Observations:
    """Payoffs and where they were observed."""

    points: Array  # encoded configurations, (n, p)
    payoffs: Array  # (n,), in the user's units, larger is better

    def __len__(self) -> int:
        return len(self.payoffs)

    def first(self, count: int) -> Observations:
        """Return the first `count` observations."""
        return Observations(self.points[:count], self.payoffs[:count])


@dataclass(frozen=True)
class ModelConfig:
    """How the model is fitted: choices of the practical optimizer, none from a theorem."""

    layout: KernelLayout  # of the encoded configurations
    loss: RobustLoss = field(default_factory=AdaptiveWindow)
    prior: Prior = field(default_factory=Prior)
    # How many clipped excesses may reach the tail correction's bound: ln(1 / delta), delta = 0.1.
    exceedances: float = math.log(1.0 / 0.1)
    # Log prior odds for a tail correction that is constant over the space, where outliers below
    # and above cancel; the less they cancel (`tail_correction.balance`), the lower.
    constant_log_odds: float = 2.5


@dataclass(frozen=True)
class NoiseScale:
    """The noise scale as a function of the location: s = exp(rate (m - center)), in [1/10, 10].

    Payoffs of large mean are often noisier (durations, revenue). One parameter describes that,
    where a scale that varies freely over the space would need far more payoffs.
    """

    rate: float = 0.0
    center: float = 0.0

    def at(self, location: Array) -> Array:
        """Return the noise scale s where the location m is `location`, (n,)."""
        log = self.rate * (location - self.center)
        return np.exp(np.clip(log, -_LARGEST_LOG_SCALE, _LARGEST_LOG_SCALE))

    def with_derivative(self, location: float) -> tuple[float, float]:
        """Return the noise scale s and ds / dm at one point."""
        log = self.rate * (location - self.center)
        s = math.exp(min(max(log, -_LARGEST_LOG_SCALE), _LARGEST_LOG_SCALE))
        return s, self.rate * s if abs(log) < _LARGEST_LOG_SCALE else 0.0


@dataclass(frozen=True)
class TailCorrection:
    """The mean of what psi clips, in units of the noise scale."""

    bound: float  # single excesses are clipped at -+ bound for the mean
    scale: float  # root mean square of the excesses so clipped
    # How much of their mean the bound may hide: bound x exceedances / n, times how little what
    # lies below and above cancels (`tail_correction.one_sided`).
    bias: float
    outliers: OutlierModel | None  # how outliers vary over the space; None if they do not


@dataclass(frozen=True)
class OutlierModel:
    """Outliers, residuals outside [lower, upper], whose mean excess varies over the space."""

    lower: float
    upper: float
    bound: float  # the most that counts of one excess; it grows with the number of payoffs
    scale: float  # root mean square of what counts
    kernel: KernelParameters  # of the Gaussian process of the mean excess, in units of `scale`
    probability: float  # posterior probability that outliers vary at all

    def scaled_excess(self, residuals: Array, excess: Array) -> Array:
        """Return the excess of outliers, at most `bound`, in units of `scale`; else 0, (n,).

        All that psi clips from an outlier counts, not only what lies beyond `lower` or `upper`:
        what is left out would count as the same everywhere.
        """
        outside = (residuals < self.lower) | (residuals > self.upper)
        return np.where(outside, np.clip(excess, -self.bound, self.bound), 0.0) / self.scale


@dataclass(frozen=True)
class ModelParameters:
    """All that a fit learns, in standardized units but for location and scale."""

    count: int  # number of payoffs it was fitted to
    location: float  # their median
    scale: float  # their robust standard deviation
    kernel: KernelParameters  # of the location GP
    psi: PsiFunction  # of the residuals, in units of the noise scale
    noise_scale: NoiseScale
    tail_correction: TailCorrection | None  # None for zero
    inducing_points: Array | None = None  # of the location GP at many distinct points, (m, p)

    def standardize(self, payoffs: Array) -> Array:
        """Return (y - location) / scale, rounded to a millionth of the payoffs' robust scale.

        The rounding hides in which digit a y + c differs from y, so that the search, which would
        amplify any difference, takes the same path for both. Payoffs beyond 200 n robust standard
        deviations count as that far away: no tail with a mean reaches there.
        """
        most = 0.5 * _LARGEST * self.count
        # In halves, and clipped before they are divided: nothing may overflow.
        half = np.clip(0.5 * payoffs - 0.5 * self.location, -most * self.scale, most * self.scale)
        z = 2.0 * half / self.scale
        return np.round(z * _GRAINS) / _GRAINS
