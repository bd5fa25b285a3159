r"""Confidence sequences: intervals of a mean that may be looked at after every payoff.

`catoni_sequence` (Wang & Ramdas, "Catoni-style confidence sequences for heavy-tailed mean
estimation", Stochastic Processes and their Applications 163, 2023; arXiv 2202.01250) has a
guarantee. Assumption: every payoff has, given the earlier ones, the mean mu, and

    E|y_t - mu|^p <= v        with p in (1, 2] and v given by the user (p = 2: a variance bound).

With phi(x) = sign(x) ln(1 + |x| + |x|^p / p) and predictable lambda_t > 0, the processes
exp( +-sum phi(lambda_t (y_t - mu)) - v sum lambda_t^p / p ) are nonnegative supermartingales, so by
Ville's inequality, with probability `level` = 1 - a at all times n at once, mu lies in

    { m : | sum_{t<=n} phi(lambda_t (y_t - m)) | <= v sum_{t<=n} lambda_t^p / p + ln(2 / a) }.

`asymptotic_sequence` needs no constant and has an asymptotic guarantee only (Waudby-Smith, Arbour,
Sinha, Kennedy & Ramdas, "Time-uniform central limit theory and asymptotic confidence sequences",
Annals of Statistics 52, 2024): more than two moments, and looks that start late enough. It is
called practical here, and its error over all looks is measured in docs/compare.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, stdtrit

from tailproof._util import checks
from tailproof.means.intervals import Interval, Statistic

Array = NDArray[np.float64]

# Number of payoffs at which the asymptotic sequence is the narrowest. Fixed in advance: a choice
# that depends on the number of payoffs at hand would not be valid at all looks.
TUNED_AT = 100
_LARGE = 1e100  # beyond it |x|^p / p is all of phi, and its square might overflow


def catoni_rates(count: int, moment_bound: float, order: float, level: float) -> Array:
    """Return Catoni's lambda_t = (p ln(2/a) / (2 v t ln(t + e)))^(1/p), t = 1 .. count.

    They are predictable, as his confidence sequence needs.
    """
    t = np.arange(1.0, count + 1.0)
    budget = 0.5 * order * math.log(2.0 / (1.0 - level))
    return np.asarray((budget / (moment_bound * t * np.log(t + math.e))) ** (1.0 / order))


def catoni_sequence(
    y: ArrayLike, moment_bound: float, *, order: float = 2.0, level: float = 0.95
) -> Interval:
    """Return Catoni's confidence sequence at the time of the last payoff of y (n,), n >= 1.

    Parameters
    ----------
    y
        Payoffs in the order of their arrival.
    moment_bound
        v, an upper bound of E|y - mu|^p in units of payoff^p, known without looking at y.
    order
        p in (1, 2].
    level
        Probability with which the mean lies in the intervals of all times at once.

    Examples
    --------
    >>> y = np.random.default_rng(0).normal(3.0, 1.0, 1000)
    >>> found = catoni_sequence(y, moment_bound=1.0)
    >>> print(f"{found.lower:.2f} .. {found.upper:.2f}")
    2.82 .. 3.15
    """
    values = checks.payoffs("y", y)
    if values.size == 0:
        raise ValueError("`y` must hold at least one payoff, but got none.")
    moment_bound = checks.positive("moment_bound", moment_bound)
    level = checks.in_unit_interval("level", level, closed_above=False)
    order = checks.number("order", order)
    if not 1.0 < order <= 2.0:
        raise ValueError(f"`1 < order <= 2` must hold, but got order={order!r}.")
    rates = catoni_rates(values.size, moment_bound, order, level)
    bound = moment_bound * float((rates**order).sum()) / order + math.log(2.0 / (1.0 - level))

    def total(m: float) -> float:
        return float(catoni_phi(rates * (values - m), order).sum())

    reach = bound / float(rates.min())
    return Interval(
        _decreasing_root(lambda m: total(m) - bound, float(values.min()) - reach, values, reach),
        _decreasing_root(lambda m: total(m) + bound, float(values.min()) - reach, values, reach),
        level,
    )


def _decreasing_root(f: Callable[[float], float], low: float, values: Array, reach: float) -> float:
    """Return the root of a decreasing f, an end of a sequence's interval.

    The bracket is widened until it holds the root.
    """
    high = float(values.max()) + reach
    step = max(reach, high - low)
    while f(low) < 0.0:
        low -= step
        step *= 4.0
    while f(high) > 0.0:
        high += step
        step *= 4.0
    return float(brentq(f, low, high, xtol=1e-12 * (high - low), rtol=1e-14))


def catoni_phi(x: Array, order: float) -> Array:
    """Return sign(x) ln(1 + |x| + |x|^p / p) of Catoni's sequence, elementwise."""
    size = np.abs(x)
    near = np.minimum(size, _LARGE)
    far = order * np.log(np.maximum(size, _LARGE)) - math.log(order)
    return np.asarray(
        np.sign(x) * np.where(size < _LARGE, np.log1p(near + near**order / order), far)
    )


def sequence_quantile(count: float, level: float) -> float:
    r"""Return a sequence's multiple of the standard error after `count` payoffs, a look after each.

    The normal mixture boundary of Robbins, with r = count rho^2 and a = 1 - level:

        sqrt( 2 (r + 1) / r ln( sqrt(r + 1) / a ) ),

    where rho^2 makes the multiple smallest near `TUNED_AT` payoffs.

    Examples
    --------
    >>> print(f"{sequence_quantile(100, 0.95):.2f}, {sequence_quantile(10_000, 0.95):.2f}")
    3.04, 3.58
    """
    a = 1.0 - checks.in_unit_interval("level", level, closed_above=False)
    budget = -2.0 * math.log(a)
    rho2 = (budget + math.log(budget) + 1.0) / TUNED_AT if budget > 1.0 else 1.0 / TUNED_AT
    r = count * rho2
    return math.sqrt(2.0 * (r + 1.0) / r * (0.5 * math.log1p(r) - math.log(a)))


def asymptotic_sequence(statistic: Statistic, count: float, level: float = 0.95) -> Interval:
    """Return a statistic's practical confidence sequence now: it is looked at after every payoff.

    `count` is the number of payoffs behind the statistic (the smaller one of two samples). The
    normal multiple is replaced by Student's of the same tail probability, and the interval keeps
    the corrections for skewness and truncation.

    Examples
    --------
    >>> from tailproof.means.robust import robust_mean
    >>> estimate = robust_mean(np.random.default_rng(0).normal(3.0, 1.0, 1000))
    >>> found = asymptotic_sequence(estimate.statistic, estimate.count)
    >>> print(f"{found.lower:.2f} .. {found.upper:.2f}")
    2.85 .. 3.05
    """
    quantile = sequence_quantile(count, level)
    return statistic.interval_from_quantile(_student_multiple(quantile, statistic.degrees), level)


def _student_multiple(quantile: float, degrees: float) -> float:
    """Return a sequence's Student quantile with a normal one's tail probability.

    It is at least as large as the normal one.
    """
    tail = math.exp(float(log_ndtr(-quantile)))
    return max(-float(stdtrit(degrees, tail)), quantile) if tail > 0.0 else quantile
