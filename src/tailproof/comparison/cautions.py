"""How heavy the tails of an alternative are, and reasons why its intervals may not hold."""

from __future__ import annotations

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


def tail_index(values: Array) -> Effect | None:
    """Return the index of the tails around the median with its 90 % interval, None if unknown."""
    size = np.abs(values - np.median(values))
    unit = float(size.max())
    if unit == 0.0:
        return None
    found = reduced_hill(largest(size / unit), _TAIL_LEVEL)
    if found is None:
        return None
    return Effect(found.index, found.index_lower, found.index_upper, _TAIL_LEVEL)


def finite_variance(tail: Effect | None) -> bool:
    """Tell whether the tail index is above 2 with confidence, so that the variance is finite.

    Examples
    --------
    >>> finite_variance(Effect(4.0, 2.6, 5.9, 0.9)), finite_variance(Effect(2.4, 1.6, 3.5, 0.9))
    (True, False)
    >>> finite_variance(None)  # too few payoffs for a tail index
    False
    """
    return tail is not None and tail.lower > _INFINITE_VARIANCE


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
