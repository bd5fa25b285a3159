"""The data of the model, what it is configured with, and the parameters that a fit learns.

    y = h^-1(g(x) + e),    g ~ GP,    e ~ a two-piece Student-t law,    f(x) = E[y | x],

with a learnt monotone warp h. The mean f is that of the location g, corrected by the mean of the
residuals, which may vary over the space (`mean_correction`): so the target is the mean, not the
median or the mode.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tailproof.search.model.constants import STANDARDIZE
from tailproof.search.model.correlation import KernelLayout, KernelParameters
from tailproof.search.model.hyperparameters import Prior
from tailproof.search.model.noise import NoiseLaw
from tailproof.search.model.outlier_rate import OutlierRate
from tailproof.search.model.warp import Warp

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Observations:
    """Payoffs and where they were observed; or means of payoffs with their standard errors."""

    points: Array  # encoded configurations, (n, p)
    payoffs: Array  # (n,), in the user's units, larger is better
    sem: Array  # known standard error of a mean; NaN for single payoffs, (n,)

    def __len__(self) -> int:
        """Return the number of observations."""
        return len(self.payoffs)

    @property
    def single(self) -> NDArray[np.bool_]:
        """Which observations are single payoffs, (n,)."""
        return np.isnan(self.sem)

    def take(self, rows: slice | NDArray[np.int64]) -> Observations:
        """Return some of the observations."""
        return Observations(self.points[rows], self.payoffs[rows], self.sem[rows])


@dataclass(frozen=True)
class ModelConfig:
    """How the model is fitted: choices of the practical optimizer, none from a theorem."""

    layout: KernelLayout  # of the encoded configurations
    warp: str = "learnt"  # or "identity"; "logarithms", "minus logarithms" of sizes told as such
    noise: str = "learnt"  # or "gaussian", "student-t"
    corrects_mean: bool = True
    truncates: bool = False  # payoffs, by adaptive truncation, before anything else
    prior: Prior = field(default_factory=Prior)

    def direct(self) -> ModelConfig:
        """Return the configuration of a Gaussian process of truncated payoffs.

        It estimates the mean without a location, as the paper's TGP-UCB does.
        """
        return replace(self, warp="identity", noise="gaussian", corrects_mean=False, truncates=True)


@dataclass(frozen=True)
class Correction:
    """The mean of the relative residuals: what the location lacks to the mean payoff."""

    bound: float = 0.0  # relative residuals are truncated at center -+ bound
    center: float = 0.0
    mean: float = 0.0  # at the fit
    outlier: float = math.inf  # center + outlier and what is beyond are outliers; it has a sign
    rate: OutlierRate | None = None  # how the frequency of outliers varies over the space


@dataclass(frozen=True)
class ModelParameters:
    """All that a fit learns."""

    count: int  # number of payoffs it was fitted to
    location: float  # their median
    scale: float  # their robust standard deviation
    warp: Warp
    kernel: KernelParameters  # of the location GP, in warped units
    law: NoiseLaw  # of the noise, in units of the root of the kernel's noise variance
    correction: Correction
    precision: Array  # relative precisions of the payoffs in the location GP, (count,)
    truncation: float = math.inf  # standardized payoffs are truncated there
    inducing_points: Array | None = None  # of the location GP at many distinct points, (m, p)

    def standardize(self, payoffs: Array) -> Array:
        """Return t = (y - location) / scale, rounded to a small fraction of the robust scale.

        The rounding hides in which digit a y + c differs from y, so that the search, which would
        amplify any difference, takes the same path for both. Payoffs beyond 200 n robust standard
        deviations count as that far away: no tail with a mean reaches there.
        """
        most = 0.5 * STANDARDIZE.largest * self.count
        # In halves, and clipped before they are divided: nothing may overflow.
        half = np.clip(0.5 * payoffs - 0.5 * self.location, -most * self.scale, most * self.scale)
        return np.round(2.0 * half / self.scale * STANDARDIZE.grains) / STANDARDIZE.grains

    def standardize_error(self, sem: Array) -> Array:
        """Return standard errors in units of `scale`, rounded relatively and limited as payoffs."""
        most = STANDARDIZE.largest * self.count * self.scale
        mantissa, exponent = np.frexp(np.minimum(sem, most) / self.scale)
        return np.ldexp(np.round(mantissa * STANDARDIZE.grains) / STANDARDIZE.grains, exponent)

    def truncate(self, t: Array) -> Array:
        """Return standardized payoffs truncated at -+ `truncation`."""
        return np.clip(t, -self.truncation, self.truncation)

    def payoff(self, t: Array) -> Array:
        """Return payoffs in the user's units from standardized ones."""
        return self.location + self.scale * t
