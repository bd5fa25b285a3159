r"""Difference and ratio of two robust means, with intervals that agree on the sign.

For an alternative with mean a and a baseline with mean b, the contrast at rho is a - rho b. Its
interval is that of `tailproof.means.intervals`, with variances and third cumulants of the influence
functions added up (and Welch's degrees of freedom). The difference is the contrast at 1. The
interval of the ratio holds every rho whose contrast has 0 in its interval (Fieller, JRSS B 16,
1954): 1 is in it exactly when 0 is in the interval of the difference. It exists if the interval of
the baseline's mean lies above 0.

Payoffs in blocks: d is the robust mean of the differences within blocks, and the contrast is
d - (rho - 1) b with the covariances of the two influence functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from tailproof.means.intervals import Interval, Statistic
from tailproof.means.robust import MeanEstimate

Array = NDArray[np.float64]
IntervalOf = Callable[[Statistic], Interval]


@dataclass(frozen=True)
class Contrast:
    """x - r y of two estimates, with the mixed cumulants of their means.

    Independent samples: x is the alternative, y the baseline, r = rho. Blocks: x is the difference
    within blocks, y the baseline, r = rho - 1; `offset` is 1 there and 0 otherwise.
    """

    x: MeanEstimate
    y: MeanEstimate
    offset: float = 0.0
    covariance: float = 0.0
    third_xxy: float = 0.0
    third_xyy: float = 0.0

    @property
    def difference(self) -> Statistic:
        """The alternative's mean less the baseline's."""
        return self.at(1.0)

    @property
    def ratio(self) -> float:
        """The alternative's mean over the baseline's; NaN if the latter is 0."""
        return self.offset + self.x.mean / self.y.mean if self.y.mean else math.nan

    def at(self, rho: float) -> Statistic:
        """Return the statistic of a contrast: the mean less `rho` times the baseline's."""
        r, x, y = rho - self.offset, self.x, self.y
        # In units of one scale, so that cubes of large or small payoffs stay finite.
        scale = max(x.standard_error, abs(r) * y.standard_error) or 1.0
        sx, sy = x.standard_error / scale, r * y.standard_error / scale
        variance = max(sx**2 - 2.0 * self.covariance * sx * sy + sy**2, 0.0)
        third = (
            x.skewness * sx**3
            - 3.0 * self.third_xxy * sx**2 * sy
            + 3.0 * self.third_xyy * sx * sy**2
            - y.skewness * sy**3
        )
        below, above = (
            (y.hidden_above, y.hidden_below) if r >= 0.0 else (y.hidden_below, y.hidden_above)
        )
        blocked = self.offset > 0.0
        return Statistic(
            mean=x.mean - r * y.mean,
            standard_error=scale * math.sqrt(variance),
            skewness=third / variance**1.5 if variance > 1e-30 else 0.0,
            degrees=x.count - 1.0 if blocked else _welch_degrees(sx**2, x.count, sy**2, y.count),
            hidden_below=math.hypot(x.hidden_below, r * below),
            hidden_above=math.hypot(x.hidden_above, r * above),
        )

    def ratio_interval(self, interval_of: IntervalOf) -> Interval | None:
        """Return the interval of the ratio, None if the baseline's mean may be 0 or below."""
        base = interval_of(self.y.statistic)
        if not base.lower > 0.0:
            return None
        center = self.ratio
        step = max(interval_of(self.at(center)).width / base.lower, 1e-9 * max(abs(center), 1.0))
        return Interval(
            _outward_root(lambda rho: interval_of(self.at(rho)).lower, center, -step),
            _outward_root(lambda rho: interval_of(self.at(rho)).upper, center, step),
            base.level,
        )


def _welch_degrees(v: float, n: int, w: float, m: int) -> float:
    """Return Welch's degrees of freedom of a contrast: the sum of two variances of means."""
    below = v**2 / max(n - 1, 1) + w**2 / max(m - 1, 1)
    return (v + w) ** 2 / below if below > 0.0 else float(max(n + m - 2, 1))


def _outward_root(end: Callable[[float], float], start: float, step: float) -> float:
    """Return where an `end` of a contrast's interval changes its sign, from `start` by `step`."""
    inside = end(start)
    if inside == 0.0:
        return start
    near, far = start, start + step
    for _ in range(60):
        if end(far) * inside <= 0.0:
            low, high = sorted((near, far))
            return float(
                brentq(end, low, high, xtol=1e-10 * max(abs(start), abs(step)), rtol=1e-10)
            )
        near, step = far, 2.0 * step
        far = start + step
    return math.copysign(math.inf, step)


def blocked_contrast(
    difference: MeanEstimate, baseline: MeanEstimate, psi_difference: Array, psi_baseline: Array
) -> Contrast:
    """Return the contrast of differences within blocks; `psi` (blocks,) are influence functions."""
    n = psi_difference.size
    x, y = _standardized(psi_difference), _standardized(psi_baseline)
    return Contrast(
        difference,
        baseline,
        offset=1.0,
        covariance=float((x * y).mean()),
        third_xxy=float((x * x * y).mean()) / math.sqrt(n),
        third_xyy=float((x * y * y).mean()) / math.sqrt(n),
    )


def _standardized(psi: Array) -> Array:
    """Return influence values of a contrast with mean square 1."""
    scale = float(np.abs(psi).max()) or 1.0
    unit = psi / scale
    return np.asarray(unit / (math.sqrt(float(np.square(unit).mean())) or 1.0))
