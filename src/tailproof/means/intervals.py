r"""Practical intervals from a mean, its standard error, its skewness, and what truncation hid.

Let m be the estimate, s its standard error, g its skewness (third cumulant over s^3), q a quantile
of Student's t. Student's interval uses the multiple q of s on both sides. Hall's transformation
removes the skewness to second order (P. Hall, "On the removal of skewness by transformation",
JRSS B 54, 1992; used for two samples by Zhou & Dinh, Biostatistics 6, 2005):

    T -> h(T) = T + g T^2 / 3 + g^2 T^3 / 27 + g / 6,
    h^-1(x)   = (3 / g) ( (1 + g (x - g / 6))^(1/3) - 1 ),      T = (m - mu) / s.

Student's interval is too short on the long side of a skewed law. Hall's is too short on the other
side, because in heavy tails the empirical skewness has the sign of the error. We take on each side
the larger multiple of the two. The mean amounts b and a by which payoffs were moved from below and
from above are added in quadrature, twice: for themselves and for their standard error, which is as
large if they come from one payoff. So the interval always contains the plain mean:

    lower = m - sqrt( (s max(q, h^-1(q)))^2 + 2 b^2 ),
    upper = m + sqrt( (s max(q, -h^-1(-q)))^2 + 2 a^2 ).

No theorem covers the combination.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from tailproof._util import checks

Array = NDArray[np.float64]

_HIDDEN_WEIGHT = math.sqrt(2.0)
_SYMMETRIC = 1e-6  # a skewness below this leaves the multiple as it is to six digits


@dataclass(frozen=True)
class Interval:
    """Ends of an interval, in units of the payoffs (or of a ratio), and its confidence level."""

    lower: float
    upper: float
    level: float

    @property
    def width(self) -> float:
        """Upper minus lower end of an interval."""
        return self.upper - self.lower

    def __contains__(self, value: float) -> bool:
        """Whether a value lies in the interval, ends included."""
        return self.lower <= value <= self.upper


@dataclass(frozen=True)
class Statistic:
    """An estimate of a mean or of a difference of means, and what its intervals are made of.

    `skewness` is the third cumulant of the estimate over the cube of `standard_error`, `degrees`
    the degrees of freedom of the standard error, `hidden_below` and `hidden_above` the mean amounts
    by which truncation moved payoffs up from below and down from above (both at least 0).
    """

    mean: float
    standard_error: float
    skewness: float
    degrees: float
    hidden_below: float
    hidden_above: float

    def interval(self, level: float = 0.95) -> Interval:
        """Return the practical interval at a confidence `level` in (0, 1)."""
        level = checks.in_unit_interval("level", level, closed_above=False)
        return self.interval_from_quantile(float(stdtrit(self.degrees, 0.5 + 0.5 * level)), level)

    def interval_from_quantile(self, quantile: float, level: float) -> Interval:
        """Return the interval of a given multiple of the standard error, labeled with `level`."""
        if not math.isfinite(self.standard_error):
            return Interval(-math.inf, math.inf, level)
        lower, upper = ends(
            np.asarray(self.mean),
            np.asarray(self.standard_error),
            np.asarray(self.skewness),
            np.asarray(quantile),
            np.asarray(self.hidden_below),
            np.asarray(self.hidden_above),
        )
        return Interval(float(lower), float(upper), level)

    def confidence_above(self, value: float = 0.0) -> float:
        """Return the confidence that a mean exceeds `value`, in [0, 1], by its practical intervals.

        It is the p for which the lower end at level 2p - 1 equals `value` (if p > 1/2), or the
        upper end at level 1 - 2p does (if p < 1/2).

        Examples
        --------
        >>> round(Statistic(1.0, 0.5, 0.0, 1e9, 0.0, 0.0).confidence_above(), 4)
        0.9772
        """
        if not math.isfinite(self.standard_error):
            return 0.5
        above = self.mean >= value
        distance = abs(self.mean - value)
        hidden, g = (
            (self.hidden_below, self.skewness) if above else (self.hidden_above, -self.skewness)
        )
        hidden *= _HIDDEN_WEIGHT
        if distance <= hidden:
            return 0.5
        if self.standard_error == 0.0:
            return 1.0 if above else 0.0
        t = math.sqrt((distance - hidden) * (distance + hidden)) / self.standard_error
        quantile = max(min(t, float(_hall(t, g))), 0.0)
        p = float(stdtr(self.degrees, quantile))
        return p if above else 1.0 - p


def _hall(t: float, g: float) -> float:
    """Return Hall's cubic transformation of a t-statistic for the skewness g."""
    return t + g * t**2 / 3.0 + g**2 * t**3 / 27.0 + g / 6.0


def hall_inverse(x: Array, g: Array) -> Array:
    """Return h^-1(x) at skewness g, for the ends of intervals, elementwise.

    Examples
    --------
    >>> hall_inverse(np.array([1.6, 1.6, -1.6]), np.array([0.0, 0.5, 0.5])).round(3)
    array([ 1.6  ,  1.242, -2.754])
    """
    safe = np.where(np.abs(g) < _SYMMETRIC, 1.0, g)
    transformed = 3.0 / safe * (np.cbrt(1.0 + safe * (x - safe / 6.0)) - 1.0)
    return np.where(np.abs(g) < _SYMMETRIC, x, transformed)


def ends(
    mean: Array,
    standard_error: Array,
    skewness: Array,
    quantile: Array,
    hidden_below: Array,
    hidden_above: Array,
) -> tuple[Array, Array]:
    """Return lower and upper ends of intervals by the module's formula.

    Elementwise, for arrays of equal shapes.
    """
    down = np.maximum(quantile, hall_inverse(quantile, skewness))
    up = np.maximum(quantile, -hall_inverse(-quantile, skewness))
    return (
        mean - np.hypot(down * standard_error, _HIDDEN_WEIGHT * hidden_below),
        mean + np.hypot(up * standard_error, _HIDDEN_WEIGHT * hidden_above),
    )
