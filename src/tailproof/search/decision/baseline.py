"""The baseline: when it is run, and how much better another configuration is.

The baseline is what the user has now. It is the first trial, and is run again as often as its mean
needs to be known about as well as those of the best configurations: n trials hold about sqrt(n) / 2
runs of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof.search.results import BaselineComparison, Prediction

Array = NDArray[np.float64]

COMPARISON_DRAWS = 4096


def baseline_due(runs: int, number: int) -> bool:
    """Tell whether trial `number` is to run the baseline, which has `runs` so far.

    The baseline is due until it has 1 + floor(sqrt(number) / 2) runs.

    Examples
    --------
    >>> runs = 0
    >>> numbers = []
    >>> for number in range(40):
    ...     if baseline_due(runs, number):
    ...         runs += 1
    ...         numbers.append(number)
    >>> numbers
    [0, 4, 16, 36]
    """
    return runs < 1 + math.isqrt(number) // 2


def compare_with_baseline(
    draws: Array,
    prediction: Prediction,
    *,
    minimize: bool,
    params: Mapping[str, Any],
    payoffs: int,
    level: float,
) -> BaselineComparison:
    """Return how much better a configuration is than the baseline.

    Parameters
    ----------
    draws
        Joint draws of both mean payoffs, larger is better, the configuration first, (count, 2).
    prediction
        Robust means of both, in the same order, in the user's units.
    params, payoffs
        Of the baseline, and the number of its payoffs.
    """
    sign = -1.0 if minimize else 1.0
    improvement = sign * float(prediction.mean[0] - prediction.mean[1])
    difference = draws[:, 0] - draws[:, 1]
    difference += improvement - float(difference.mean())
    tail = (1.0 - level) / 2.0
    lower, upper = np.quantile(difference, [tail, 1.0 - tail])
    return BaselineComparison(
        params=dict(params),
        mean=float(prediction.mean[1]),
        lower=float(prediction.lower[1]),
        upper=float(prediction.upper[1]),
        payoffs=payoffs,
        improvement=improvement,
        improvement_lower=min(float(lower), improvement),
        improvement_upper=max(float(upper), improvement),
        level=level,
        probability=float(np.mean(difference > 0.0)),
    )
