"""Trials that look everywhere, whatever is believed: even designs, and when they are due."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tailproof.search.acquisition.optimize import SearchSpace, sobol

Array = NDArray[np.float64]

# Points of an even design beyond this number are random: Sobol points are made all at once.
_EVEN = 4096


def even(space: SearchSpace, index: int, stream: list[int]) -> Array:
    """Return point `index` of an even design that goes on for ever, (d,); each stream has its own.

    Examples
    --------
    >>> import tailproof as tp
    >>> space = tp.Space(x=tp.Float(0, 1))
    >>> sorted(int(4 * even(space, index, [0])[0]) for index in range(4))
    [0, 1, 2, 3]
    """
    if index >= _EVEN:
        return scattered(space, index, stream)
    shared = np.random.default_rng(stream)
    points = sobol(space.dimension, 1 << max(index, 1).bit_length(), shared)
    return space.snap(points[index][None])[0]


def scattered(space: SearchSpace, index: int, stream: list[int]) -> Array:
    """Return point `index` of a random design, (d,): where parts of an even one would not be even.

    Trials in one context are such a part: contexts that come in turns keep step with any rule.
    """
    rng = np.random.default_rng([*stream, index, 2])
    return space.snap(rng.random((1, space.dimension)))[0]


def surveys(rate: float, number: int, ahead: float = 0.0) -> int:
    """Return how many trials up to `number` look everywhere: rate sqrt(number) + ahead, whole.

    Examples
    --------
    >>> [surveys(1.0, number) for number in (8, 9, 15, 16)]
    [2, 3, 3, 4]
    """
    return math.floor(min(float(number), rate * math.sqrt(number) + ahead)) if rate else 0


def survey_chance(rate: float, number: int) -> float:
    """Return the probability with which trial `number` looks everywhere, to the same rate.

    Examples
    --------
    >>> round(sum(survey_chance(1.0, number) for number in range(1, 101)), 9)
    10.0
    """
    return min(rate * (math.sqrt(number) - math.sqrt(number - 1)), 1.0) if number else 0.0
