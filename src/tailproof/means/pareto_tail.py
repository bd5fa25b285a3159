"""The mean that a bound on the values hides, by a Pareto law fitted to the largest of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def mean_beyond(
    largest: Array,
    share: float,
    bound: float,
    least_index: float,
    prior_values: float = 0.0,
    prior_index: float = 1.0,
) -> float:
    """Return E[(x - bound)+] of a Pareto tail fitted to the `largest` values (k,), ascending.

    Beyond the threshold u = largest[0] > 0, which a share q of all values exceeds, x is supposed
    to follow a Pareto law. Its index is Hill's estimate, as if `prior_values` more values of
    index `prior_index` had been seen, and at least `least_index` > 1, so that no value moves the
    estimate without limit. For a bound b >= u,

        E[(x - b)+] = q (b / u)^-index b / (index - 1).

    The estimate is 0 where the values show no tail: fewer than two, or all the same.

    Examples
    --------
    >>> y = ((np.arange(1000) + 0.5) / 1000) ** (-1 / 1.5)  # Pareto(1.5): 2 / sqrt(50)
    >>> round(mean_beyond(np.sort(y)[-51:], 0.05, 50.0, least_index=1.2), 2)
    0.29
    """
    n_larger = len(largest) - 1
    if n_larger < 1 or largest[-1] == largest[0]:
        return 0.0
    u = float(largest[0])
    logs = float(np.log(largest[1:] / u).sum()) + prior_values / prior_index
    index = max((n_larger + prior_values) / logs, least_index)
    return share * (bound / u) ** -index * bound / (index - 1.0)
