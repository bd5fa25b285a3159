"""Designs that do not depend on the model: the initial trials, and trials that explore."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tailproof.search.acquisition.optimize import sobol
from tailproof.search.space.encodings import EncodedSpace

Array = NDArray[np.float64]

# Points of a Sobol sequence beyond this number are random: they are generated all at once.
_LONGEST = 4096


def sobol_point(space: EncodedSpace, index: int, stream: list[int]) -> Array:
    """Return point `index` of a Sobol sequence, (d,); each stream has a random shift of its own.

    Examples
    --------
    >>> import tailproof as tp
    >>> space = tp.Space(x=tp.Float(0, 1))
    >>> sorted(int(4 * sobol_point(space, index, [0])[0]) for index in range(4))
    [0, 1, 2, 3]
    """
    if index >= _LONGEST:
        return random_point(space, index, stream)
    rng = np.random.default_rng(stream)
    points = sobol(space.dimension, 1 << max(index, 1).bit_length(), rng)
    return space.snap(points[index][None])[0]


def random_point(space: EncodedSpace, index: int, stream: list[int]) -> Array:
    """Return point `index` of a random design, (d,), whose parts are random designs, too.

    Trials in one context are such a part. A regular subsequence of Sobol points is not evenly
    spread, and contexts that come in turns would make one.
    """
    rng = np.random.default_rng([*stream, index, 2])
    return space.snap(rng.random((1, space.dimension)))[0]


def exploratory_point(
    space: EncodedSpace,
    number: int,
    rate: float,
    stream: list[int],
    *,
    offset: float = 0.0,
    at_random: bool = False,
) -> Array | None:
    """Return the point of trial `number` if it is one that explores, else None.

    About rate x sqrt(n) of the first n trials explore; `offset` in [0, 1) shifts which ones. If
    `at_random`, trials and points are drawn instead of following a sequence: see `random_point`.
    """
    if at_random:
        draw = np.random.default_rng([*stream, number, 6]).random()
        due = draw < exploration_probability(rate, number)
        return random_point(space, number, stream) if due else None
    count = exploration_count(rate, number, offset)
    due = count > exploration_count(rate, number - 1, offset)
    return sobol_point(space, count, stream) if due else None


def exploration_count(rate: float, number: int, offset: float = 0.0) -> int:
    """Return how many of the first `number` trials explore: floor(rate sqrt(number) + offset).

    Examples
    --------
    >>> [exploration_count(1.0, number) for number in (8, 9, 15, 16)]
    [2, 3, 3, 4]
    """
    return math.floor(min(float(number), rate * math.sqrt(number) + offset)) if rate else 0


def exploration_probability(rate: float, number: int) -> float:
    """Return the probability with which trial `number` explores, for the same expected count.

    Examples
    --------
    >>> round(sum(exploration_probability(1.0, number) for number in range(1, 101)), 9)
    10.0
    """
    return min(rate * (math.sqrt(number) - math.sqrt(number - 1)), 1.0) if number else 0.0
