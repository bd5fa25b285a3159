r"""A robust mean without constants to choose: Huber's M-estimator with an adaptive truncation.

With n payoffs y, the center c and the truncation tau solve

    sum_i clip(y_i - c, -tau, tau) = 0,
    sum_i min( (y_i - c)^2 / tau^2, 1 ) = z,        z = 0.4 ln n.

The second equation is the tuning-free principle of Wang, Zheng, Zhou & Zhou ("A new principle for
tuning-free Huber regression", Statistica Sinica 31, 2021; they use z = ln n). It says that a payoff
is truncated if and only if its share of the (truncated) sum of squared deviations would exceed
1 / z: at most ceil(z) - 1 payoffs, none of Gaussian ones, none at all for n <= 12. As n grows, tau
grows like sqrt(n / z), so that the target remains the mean. The factor 0.4 was chosen by measuring
coverage and width of intervals of differences (benchmarks/mean_estimators.py): larger ones bias the
means of skewed laws, smaller ones save little.

Given the deviations, the second equation has a solution in closed form for each number k of
truncated payoffs, tau_k^2 = sum of the squares of the n - k smallest / (z - k), and exactly one k
agrees with its own tau. Everything is equivariant: a y + b has the mean a c + b and |a| tau.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks
from tailproof.means.intervals import Interval, Statistic

Array = NDArray[np.float64]

_LIMIT = 0.4
_ITERATIONS = 100
_TOLERANCE = 1e-10  # of the step of the center, in units of tau
_FARTHEST = 1e100  # in units of the body of the payoffs; farther ones are truncated in any case


@dataclass(frozen=True)
class MeanEstimate:
    """The robust mean of one sample, in units of the payoffs.

    Attributes
    ----------
    mean, standard_error
        Huber's M-estimate and the standard error of its influence function.
    count
        Number of payoffs n.
    truncation
        tau: payoffs farther than this from `mean` count as if they were at this distance.
        Infinity if no payoff can be truncated.
    truncated
        Number of payoffs beyond `truncation`.
    skewness
        Third cumulant of the estimate over standard_error^3; near (skewness of y) / sqrt(n).
    hidden_below, hidden_above
        Mean amounts by which payoffs were moved up from below, and down from above.
    plain_mean
        The average, mean - hidden_below + hidden_above up to rounding.
    largest_share
        Largest share of one payoff in the sum of squared deviations from the plain mean, in
        [0, 1]; above 1/2, one payoff decides on the plain mean.
    """

    mean: float
    standard_error: float
    count: int
    truncation: float
    truncated: int
    skewness: float
    hidden_below: float
    hidden_above: float
    plain_mean: float
    largest_share: float

    @property
    def statistic(self) -> Statistic:
        """The robust mean as what intervals are made of."""
        return Statistic(
            self.mean,
            self.standard_error,
            self.skewness,
            max(self.count - 1.0, 1.0),
            self.hidden_below,
            self.hidden_above,
        )

    def interval(self, level: float = 0.95) -> Interval:
        """Return the practical interval of the robust mean (see `tailproof.means.intervals`)."""
        return self.statistic.interval(level)


def truncation_limit(count: int) -> float:
    """Return z = 0.4 ln n, at least 1, the limit of a robust mean's truncation."""
    return max(_LIMIT * math.log(count), 1.0)


def truncation_radius(deviations: Array, limit: float) -> Array:
    """Return a robust mean's truncation tau (...) for |deviations| d (..., n).

    It has sum_i min(d_i^2 / tau^2, 1) = limit.
    """
    n = deviations.shape[-1]
    most = math.ceil(limit) - 1
    parts = np.partition(deviations, n - 1 - most, axis=-1)
    top = -np.sort(-parts[..., n - most :], axis=-1)  # the largest first
    body = np.square(parts[..., : n - most]).sum(axis=-1)
    radius = np.sqrt(body / (limit - most))
    tail = np.zeros_like(body)
    for k in range(most - 1, -1, -1):
        tail = tail + np.square(top[..., k])
        candidate = np.sqrt((body + tail) / (limit - k))
        radius = np.where(candidate >= top[..., k], candidate, radius)
    return radius


def huber_center(y: Array, limit: float) -> tuple[Array, Array]:
    """Return center and truncation (R,) of samples y (R, n) of moderate size (squares are finite).

    A sample whose payoffs are equal but for a few that may all be truncated has its plain mean and
    an infinite truncation.
    """
    center, active = y.mean(axis=-1), np.arange(len(y))
    radius = truncation_radius(np.abs(y - center[:, None]), limit)
    # Where nothing is truncated around the plain mean, both equations hold already.
    plain, plain_radius = center.copy(), radius.copy()
    active = active[np.abs(y - center[:, None]).max(axis=-1) > radius]
    center[active] = np.median(y[active], axis=-1)
    for _ in range(_ITERATIONS):
        if not active.size:
            break
        deviation = y[active] - center[active, None]
        size = np.abs(deviation)
        tau = truncation_radius(size, limit)
        moved = np.clip(deviation, -tau[:, None], tau[:, None]).mean(axis=-1)
        step = moved / (size <= tau[:, None]).mean(axis=-1)
        center[active] += step
        radius[active] = tau
        active = active[np.abs(step) > _TOLERANCE * tau]
    collapsed = radius == 0.0
    plain_radius[np.abs(y - plain[:, None]).max(axis=-1) > plain_radius] = np.inf
    return np.where(collapsed, plain, center), np.where(collapsed, plain_radius, radius)


def influence(y: Array, center: Array, radius: Array) -> Array:
    """Return Huber's influence function at the payoffs (R, n), of mean zero, in units of y."""
    deviation = y - center[:, None]
    clipped = np.clip(deviation, -radius[:, None], radius[:, None])
    kept = (np.abs(deviation) <= radius[:, None]).mean(axis=-1)
    return np.asarray(clipped / kept[:, None])


def robust_mean(y: ArrayLike) -> MeanEstimate:
    """Return the robust mean of payoffs y (n,), n >= 1, each of at most 1e280.

    One payoff has an infinite standard error, equal payoffs have a zero one.

    Examples
    --------
    >>> y = np.concatenate([np.linspace(0.0, 2.0, 50), [1000.0]])
    >>> estimate = robust_mean(y)
    >>> print(f"{estimate.mean:.3f} +- {estimate.standard_error:.3f}, plain {y.mean():.1f}")
    1.112 +- 0.142, plain 20.6
    >>> print(estimate.truncated, estimate.interval(0.9).upper > y.mean())
    1 True
    """
    return fit_mean(y)[0]


def fit_mean(y: ArrayLike) -> tuple[MeanEstimate, Array]:
    """Return the robust mean of payoffs y (n,), and its influence function at each of them."""
    values = checks.payoffs("y", y)
    n = values.size
    if n == 0:
        raise ValueError("`y` must hold at least one payoff, but got none.")
    limit = truncation_limit(n)
    median = float(np.median(values))
    scale = _body_scale(values - median, limit)
    scaled = np.clip((values - median) / scale, -_FARTHEST, _FARTHEST)[None, :]
    center, radius = huber_center(scaled, limit)
    values_of_influence = influence(scaled, center, radius)[0]
    mean = median + scale * float(center[0])
    tau = scale * float(radius[0])
    excess = (values - mean) - np.clip(values - mean, -tau, tau)
    variance = float(np.square(values_of_influence).sum()) / max(n - 1, 1) / n
    estimate = MeanEstimate(
        mean=mean,
        standard_error=scale * math.sqrt(variance) if n > 1 else math.inf,
        count=n,
        truncation=tau,
        truncated=int(np.count_nonzero(excess)),
        skewness=_skewness(values_of_influence, variance),
        hidden_below=float(np.maximum(-excess, 0.0).mean()),
        hidden_above=float(np.maximum(excess, 0.0).mean()),
        plain_mean=median + float((values - median).mean()),
        largest_share=_largest_share(values),
    )
    return estimate, scale * values_of_influence


def _body_scale(deviation: Array, limit: float) -> float:
    """Return the largest deviation that a robust mean does not truncate, a positive unit."""
    size = np.abs(deviation)
    most = min(math.ceil(limit) - 1, size.size - 1)
    body = float(np.partition(size, size.size - 1 - most)[size.size - 1 - most])
    return body or float(size.max()) or 1.0


def _skewness(psi: Array, variance: float) -> float:
    """Return the skewness of a robust mean with influence `psi` (n,).

    It is the third cumulant of the mean of `psi` over the cube of its standard error.
    """
    if variance <= 0.0:
        return 0.0
    return float((psi**3).mean()) / psi.size**2 / variance**1.5


def _largest_share(values: Array) -> float:
    """Return the share of the largest squared deviation in the sum of them, for robust means."""
    size = np.abs(values - values.mean())
    largest = float(size.max())
    if largest == 0.0:
        return 0.0
    return 1.0 / float(np.square(size / largest).sum())
