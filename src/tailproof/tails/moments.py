"""Confidence limits for moments: the alpha and v that the policies may be given.

The policies need alpha in (0, 1] and v with E|y - c|^(1 + alpha) <= v at every arm, c the constant
subtracted from all payoffs. Two statements are needed.

**alpha.** The moment of order q = 1 + alpha is finite if q is below the tail index. With L the
lower confidence limit of the index, alpha = 1 if L > 2 and otherwise 0.8 (L - 1), rounded down to a
multiple of 0.05; the factor 0.8 keeps q away from the index, where the moment diverges. If alpha
would be 0, not even a finite mean can be claimed.

**v.** A mean of |y - c|^q has no useful interval, since its variance is infinite whenever the index
is below 2q. So the moment is split at a high threshold u, exceeded by k of n payoffs:

    E|y - c|^q  <=  E[|y - c|^q; z <= u]  +  P(z > u) ( (E[z^q | z > u])^(1/q) + |m - c| )^q,

z = |y - m| the deviation from the arm's own median m (Minkowski). The first term is bounded, so
that the central limit theorem holds; P(z > u) is bounded by a quantile of a Beta(k + 1, n - k)
variable; the conditional moment follows from the quantile function of the model behind the
bias-reduced Hill estimator,

    z = u exp( gamma * integral from t to 1 of exp(d s^(-rho)) / s ds ),     t uniform on (0, 1),

at the upper confidence limit of gamma. With two-sided `level` for the index, and the remaining
error probability shared by the other two, v holds with confidence `level` (Bonferroni), given
independent payoffs and a tail of that form, common to the arms up to its scale. The maximum over
arms bounds the largest moment with the same confidence, because the bound of the worst arm does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tailproof.tails.indices import RHO, IndexEstimate, Spacings
from tailproof.tails.order_statistics import OrderStatistics

_MARGIN = 0.8  # alpha over index - 1
_STEP = 0.05
_MIN_EXCEEDANCES = 5


@dataclass(frozen=True)
class MomentEstimate:
    """E|y - c|^q of one arm: estimate and upper confidence limit, in units of payoff^q."""

    estimate: float
    upper: float


def choose_alpha(index_lower: float) -> float | None:
    """Return the moments' alpha that a lower confidence limit of the tail index allows, or None.

    Examples
    --------
    >>> choose_alpha(2.3), choose_alpha(1.9), choose_alpha(1.02)
    (1.0, 0.7, None)
    """
    if index_lower > 2.0:
        return 1.0
    steps = math.floor(_MARGIN * (index_lower - 1.0) / _STEP + 1e-9)
    return round(min(steps * _STEP, 1.0), 2) if steps >= 1 else None


@dataclass(frozen=True)
class TailModel:
    """The tail beyond the k-th largest deviation, with the spacings model's gamma and drift d.

    The deviations are in any unit: only their ratios are used.
    """

    top: OrderStatistics
    k: int
    gamma: float
    drift: float

    def _beyond_k(self, q: float) -> float:
        """Return the tail's moment E[(z / z_{k+1})^q | z > z_{k+1}] by quadrature in y = -ln t."""
        if q * self.gamma >= 1.0:
            return math.inf
        end = 20.0 / -RHO  # where exp(d s^(-rho)) has become 1
        y = np.linspace(0.0, end, 6_001)
        slope = np.exp(self.drift * np.exp(RHO * y))
        step = y[1]
        log_ratio = np.concatenate([[0.0], np.cumsum(0.5 * step * (slope[1:] + slope[:-1]))])
        exponent = q * self.gamma * log_ratio - y
        if float(exponent.max()) > 600.0:
            return math.inf
        density = np.exp(exponent)
        beyond_end = float(density[-1]) / (1.0 - q * self.gamma)
        return float(step * (density.sum() - 0.5 * (density[0] + density[-1]))) + beyond_end

    def ratio(self, share: float, q: float) -> float:
        """Return the moment E[(z / u)^q | z > u] for a u that a `share` of the payoffs exceeds."""
        top, k = self.top, self.k
        beyond = self._beyond_k(q)
        m = min(round(share * top.n), top.z.size - 1)
        if m <= k:
            return beyond
        u = float(top.z[m])
        between = float(((top.z[k:m] / u) ** q).sum())
        return (between + k * (float(top.z[k]) / u) ** q * beyond) / m


def tail_models(
    top: OrderStatistics, hill: IndexEstimate, gamma_upper: float
) -> tuple[TailModel, TailModel]:
    """Return the models for moments: the tail at the estimate of gamma and at an upper limit."""
    k, spacings = hill.k, Spacings.of(top, hill.k)
    at_estimate = TailModel(top, k, hill.gamma, spacings.drift())
    return at_estimate, TailModel(top, k, gamma_upper, spacings.drift(gamma_upper))


def moment_bound(
    values: NDArray[np.float64],
    median: float,
    center: float,
    q: float,
    models: tuple[TailModel, TailModel],
    level: float,
    design_effect: float = 1.0,
) -> MomentEstimate:
    """Bound E|y - center|^q of one arm with payoffs `values` (n,), with confidence `level`.

    `center` is the constant subtracted from the payoffs of all arms, `models` are `tail_models` of
    the arm or of all arms, `design_effect` is the factor by which dependence inflates variances.
    """
    from scipy.stats import beta

    z = np.abs(values - median)
    n = z.size
    share = max(round(models[0].k / models[0].top.n * n), _MIN_EXCEEDANCES) / n
    rank = n - 1 - round(share * n)
    u = float(np.partition(z, rank)[rank])
    inside = z <= u
    k = n - int(np.count_nonzero(inside))
    body = np.where(inside, np.abs(values - center), 0.0) ** q
    mean = float(body.mean())
    standard_error = float(body.std(ddof=1)) * math.sqrt(design_effect / n)
    confidence = 1.0 - 0.25 * (1.0 - level)
    estimate, upper = mean, mean + float(ndtri(confidence)) * standard_error
    if k:
        offset = abs(median - center)
        tail, tail_upper = ((u * m.ratio(share, q) ** (1.0 / q) + offset) ** q for m in models)
        effective_k, effective_n = k / design_effect, n / design_effect
        estimate += k / n * tail
        others = max(effective_n - effective_k, 1.0)
        upper += float(beta.ppf(confidence, effective_k + 1.0, others)) * tail_upper
    return MomentEstimate(estimate, upper)


def bounded_moment(
    values: NDArray[np.float64], center: float, q: float, level: float
) -> MomentEstimate:
    """Bound E|y - center|^q of bounded payoffs, by the central limit theorem alone."""
    powers = np.abs(values - center) ** q
    mean = float(powers.mean())
    standard_error = float(powers.std(ddof=1)) / math.sqrt(powers.size)
    return MomentEstimate(mean, mean + float(ndtri(level)) * standard_error)
