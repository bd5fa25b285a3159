"""Designs that do not depend on the model: the initial trials."""

from __future__ import annotations

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
