"""How heavy the tails of an alternative are, and reasons why its intervals may not hold."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tailproof.comparison.results import Effect
from tailproof.means.robust import MeanEstimate
from tailproof.tails.dependence import dependence
from tailproof.tails.indices import reduced_hill
from tailproof.tails.order_statistics import largest

Array = NDArray[np.float64]

_TAIL_LEVEL = 0.9
_FEW = 15  # payoffs that differ from the median
# Share of one payoff in the sum of squared deviations, or skewness of the mean. Chosen so that few
# samples are named of laws whose intervals hold, and most of those whose intervals do not.
_CONCENTRATED = 0.4
_MIN_SERIAL = 20
_INFINITE_VARIANCE = 2.0  # tail indices up to this
_DESIGN_EFFECT = 1.3
# Error of excluding Student's t(2) by the largest deviation, and payoffs from which its law holds.
_BORDER_ERROR, _FEWEST_AT_BORDER = 0.05, 20


def tail_index(values: Array) -> Effect | None:
    """Return the tail index that cautions rest on, with its 90 % interval, None if unknown."""
    size = np.abs(values - np.median(values))
    unit = float(size.max())
    if unit == 0.0:
        return None
    found = reduced_hill(largest(size / unit), _TAIL_LEVEL)
    if found is None:
        return None
    return Effect(found.index, found.index_lower, found.index_upper, _TAIL_LEVEL)


def finite_variance(values: Array, tail: Effect | None) -> bool:
    """Tell whether payoffs (n,) show that their variance is finite, so that no caution is due.

    Either the interval of the tail index lies above 2, or the largest deviation from the median is
    too small for a law on the border: in units of the median deviation, that of n payoffs of a
    Student-t(2) law stays below b with probability F(b)^n, F(b) = x / sqrt(2 + x^2), x = b times
    the median of |t|, sqrt(2 / 3). Where F(b)^n <= 5 %, such a law is excluded; a law whose tail
    begins where the sample has no payoff never is.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> finite_variance(rng.random(30), None), finite_variance(rng.pareto(1.7, 30), None)
    (True, False)
    >>> finite_variance(np.arange(3.0), None)  # too few payoffs
    False
    """
    if tail is not None and tail.lower > _INFINITE_VARIANCE:
        return True
    size = np.abs(values - np.median(values))
    unit, largest_size = float(np.median(size)), float(size.max())
    if values.size < _FEWEST_AT_BORDER or unit == 0.0:
        return False
    x = largest_size / unit * math.sqrt(2.0 / 3.0)
    return values.size * math.log(x / math.hypot(x, math.sqrt(2.0))) <= math.log(_BORDER_ERROR)


def cautions(values: Array, estimate: MeanEstimate, tail: Effect | None) -> tuple[str, ...]:
    """Return why intervals may cover less often than stated, one text a reason."""
    found = []
    median = float(np.median(values))
    different = int(np.count_nonzero(values != median))
    if different < _FEW:
        reason = f"{different} of {values.size} payoffs differ from {median:g}"
        found.append(f"few payoffs ({reason})" if different < values.size - 1 else "few payoffs")
    if max(estimate.largest_share, abs(estimate.skewness)) > _CONCENTRATED:
        share = 100.0 * estimate.largest_share
        found.append(
            "the mean rests on a few payoffs (the largest one makes up "
            f"{share:.0f} % of the squared deviations)"
        )
    if tail is not None and tail.estimate < _INFINITE_VARIANCE:
        found.append(
            f"the variance may be infinite (tail index {tail.estimate:.1f}, "
            f"{tail.lower:.1f} to {tail.upper:.1f})"
        )
    if values.size >= _MIN_SERIAL:
        serial = dependence(values, median)
        if serial.significant and serial.design_effect > _DESIGN_EFFECT:
            found.append(
                "payoffs depend on their predecessors (intervals may be too short by a factor of "
                f"{serial.design_effect**0.5:.1f})"
            )
    return tuple(found)
