"""From the location to the mean: the mean of the residuals, and how it varies over the space.

The location GP follows the mode of the noise. The mean payoff is

    f(x) = k(g(x)) + k'(g(x)) c(x),    c(x) = E[r | x],    r_i = (t_i - k(g_i)) / k'(g_i),

k the inverse of the warp and g_i the leave-one-out location (Duan, 1983, for a constant c: the
smearing estimate). Residuals are truncated at a bound that grows with the number of payoffs
(adaptive truncation, Wang et al., 2021), so that no single payoff decides and the target remains
the mean. The frequency of outliers may vary over the space: c(x) is then that of the other payoffs
plus the outliers' mean size times their frequency at x (`outlier_rate`).

A residual says nothing about the noise where the location is uncertain: it counts with the share
of the noise in its variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tailproof.means.pareto_tail import mean_beyond
from tailproof.search.model.constants import OUTLIER, TAIL
from tailproof.search.model.correlation import KernelLayout
from tailproof.search.model.outlier_rate import RatePosterior, condition_rate, learn_rate
from tailproof.search.model.parameters import Correction

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Residuals:
    """Relative leave-one-out residuals of payoffs, with the weights they count with."""

    points: Array  # (n, p)
    values: Array  # (n,)
    variances: Array  # of the location that they are residuals from, (n,)
    slopes: Array  # k'(g) of the locations g: what a residual of 1 is in standardized payoffs, (n,)
    noise_var: float  # variance of the noise's core

    def weights(self, scale: float) -> Array:
        """Return the noise's share in the variances of the correction's residuals."""
        return scale**2 / (scale**2 + self.variances)

    def weights_of_outliers(self) -> Array:
        """Return the weights with which residuals tell the correction of outliers, (n,).

        An outlier is known as such where the location is uncertain by less than its size.
        """
        return self.weights(TAIL.outlier * math.sqrt(self.noise_var))


@dataclass(frozen=True)
class CorrectionPosterior:
    """The correction: a constant, and with some probability a rate of outliers that varies."""

    mean: float = 0.0  # of the constant
    variance: float = 0.0  # of the constant, the same everywhere
    hidden: tuple[float, float] = (0.0, 0.0)  # estimated means beyond the bound, below and above
    rate: RatePosterior | None = None  # of outliers; None if it does not vary
    rest: float = 0.0  # the correction without outliers
    size: float = 0.0  # mean of the outliers in standardized payoffs, with what truncation hides
    probability: float = 0.0  # that the rate varies


def learn_correction(
    residuals: Residuals, layout: KernelLayout, lengthscales: tuple[Array, ...]
) -> Correction:
    """Return bound and constant of the correction, and whether and how it varies.

    `lengthscales` are those that the rate of outliers may vary with; none if it may not.
    """
    if not len(residuals.values):
        return Correction()
    values, weights = residuals.values, residuals.weights(math.sqrt(residuals.noise_var))
    total = float(weights.sum())
    center = float(np.median(values))
    x = values - center
    deviation = 1.4826 * float(np.median(np.abs(x)))
    # With few residuals, a single one may move the mean by about two standard errors.
    bound = tuning_free_bound(x, TAIL.exceedances, 2.0 * math.sqrt(len(x)) * deviation)
    if bound == 0.0 or total <= 0.0:
        return Correction(center=center, mean=center)
    clipped = np.clip(x, -bound, bound)
    below, above = hidden_means(x, weights, bound)
    mean = center + float(weights @ clipped) / total + above - below
    found = Correction(bound, center, mean)
    outlier = TAIL.outlier * deviation
    if outlier == 0.0 or not lengthscales:
        return found
    # Outliers of one side, the one that moves the mean more.
    outlier = math.copysign(outlier, float(weights @ np.where(np.abs(x) > outlier, clipped, 0.0)))
    found = replace(found, outlier=outlier)
    outliers, weights = is_outlier(x, outlier), residuals.weights_of_outliers()
    if float(weights @ outliers) < TAIL.least_events:
        return found
    rate = learn_rate(residuals.points, outliers, weights, layout, lengthscales)
    if rate.probability < TAIL.least_probability:
        return found
    nothing = residuals.points[:0]
    _, log_odds = condition_rate(
        residuals.points, outliers, weights, rate, layout, nothing, None, OUTLIER.newton_steps
    )
    return replace(found, rate=replace(rate, log_odds=log_odds))


def is_outlier(x: Array, outlier: float) -> Array:
    """Return 1 for the correction's centered residuals x (n,) beyond `outlier`, 0 for others."""
    return (x * math.copysign(1.0, outlier) > abs(outlier)).astype(np.float64)


def condition_correction(
    residuals: Residuals,
    correction: Correction,
    layout: KernelLayout,
    pending: Array,
    inducing_points: Array | None,
) -> CorrectionPosterior:
    """Return the posterior of the correction given all residuals."""
    if correction.bound == 0.0 or not len(residuals.values):
        return CorrectionPosterior(correction.mean)
    x = residuals.values - correction.center
    weights = residuals.weights(math.sqrt(residuals.noise_var))
    total = float(weights.sum())
    clipped = np.clip(x, -correction.bound, correction.bound)
    mean = float(weights @ clipped) / total
    variance = float((weights**2) @ (clipped - mean) ** 2) / total**2
    hidden = hidden_means(x, weights, correction.bound)
    mean += correction.center + hidden[1] - hidden[0]
    outliers, known = is_outlier(x, correction.outlier), residuals.weights_of_outliers()
    events = float(weights @ outliers)
    if correction.rate is None or float(known @ outliers) < TAIL.least_events:
        return CorrectionPosterior(mean, variance, hidden)
    points, steps = residuals.points, OUTLIER.steps_between
    rate, log_odds = condition_rate(
        points, outliers, known, correction.rate, layout, pending, inducing_points, steps
    )
    # What truncation hides on the outliers' side is theirs.
    side = hidden[1] if correction.outlier > 0.0 else -hidden[0]
    size = (float((weights * outliers) @ clipped) + total * side) / events
    # The mean relative residual over the payoffs is the constant's.
    rest = mean - size * float(weights @ expit(log_odds)) / total
    size = _size_in_payoffs(clipped, weights, residuals.slopes, outliers > 0.0)
    size += total * side * float(np.median(residuals.slopes[outliers > 0.0])) / events
    return CorrectionPosterior(
        mean, variance, hidden, rate, rest, size, correction.rate.probability
    )


def _size_in_payoffs(x: Array, weights: Array, slopes: Array, outliers: NDArray[np.bool_]) -> float:
    """Return for the correction the mean size of outliers x (n,), truncated in payoffs' units.

    Where the usual payoff is large a relative residual of the same outlier is small, so that it is
    not the mean relative size times a mean slope.
    """
    sizes, w = (x * slopes)[outliers], weights[outliers]
    bound = tuning_free_bound(sizes, TAIL.exceedances)
    return float(w @ np.clip(sizes, -bound, bound)) / float(w.sum())


def hidden_means(x: Array, weights: Array, bound: float) -> tuple[float, float]:
    """Return E[(-x - bound)+] and E[(x - bound)+], which truncation hides from the correction.

    They follow a Pareto law fitted to the largest tenth of either side (`mean_beyond`).

    Examples
    --------
    >>> x = np.append(-np.ones(50), np.arange(1.0, 51.0) ** 2)
    >>> light, heavy = hidden_means(x, np.ones(100), 2500.0)
    >>> light == 0.0 and 0.0 < heavy < 100.0
    True
    """
    below, above = (_hidden_above(side * x, weights, bound) for side in (-1.0, 1.0))
    return below, above


def _hidden_above(x: Array, weights: Array, bound: float) -> float:
    """Return what the correction misses above, E[(x - bound)+], from values x, weights (n,)."""
    order = np.argsort(x, kind="stable")[-max(math.ceil(len(x) / 10), 4) :]
    largest = x[order]
    if not 0.0 < largest[0] < bound:
        return 0.0
    share = float(weights[order].sum() / weights.sum())
    return mean_beyond(largest, share, bound, TAIL.least_index, TAIL.prior_values, TAIL.index)


def tuning_free_bound(values: Array, exceedances: float, largest: float = math.inf) -> float:
    """Return the correction's bound b > 0, sum_i min(x_i^2, b^2) / b^2 = exceedances; or 0.

    The equation of adaptive truncation: about `exceedances` values reach b, whatever their scale,
    so b grows with the number of values as their tail does. It has no solution unless more than
    `exceedances` values differ from zero, and few say nothing of a tail: up to twice as many of
    them, half their number takes its place, and the bound is at most `largest`.

    Examples
    --------
    >>> tuning_free_bound(np.array([1.0, 1.0, 1.0, 1.0]), 2.0)
    1.4142135623730951
    """
    a = np.sort(np.abs(values))
    a = a[a > 0.0]
    n = len(a)
    if n == 0:
        return 0.0
    if n <= 2.0 * exceedances:
        exceedances = 0.5 * n
    else:
        largest = math.inf
    top = a[-1]
    squares = (a / top) ** 2
    # With the k smallest below b: b^2 = (sum of their squares) / (exceedances - (n - k)).
    divisor = exceedances - (n - np.arange(1, n + 1))
    usable = divisor > 0.0
    b2 = np.where(usable, np.cumsum(squares) / np.where(usable, divisor, 1.0), np.inf)
    after = np.append(squares[1:], np.inf)
    solves = usable & (b2 >= squares) & (b2 <= after)
    if not solves.any():
        return min(float(top), largest)
    return min(float(top * math.sqrt(b2[np.argmax(solves)])), largest)
