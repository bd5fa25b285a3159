"""Deviations from a robust center, and the largest of them in decreasing order.

Every tail estimator here reads the same input: the largest deviations of one side, sorted, and the
number of all payoffs. Notation: n payoffs, c their median, z = |x - c| for both sides, x - c for
the right and c - x for the left one; z_1 >= z_2 >= .. the deviations above zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_ORDER_STATISTICS = 8  # with fewer, no interval is reported

# k grows like n^(2/3): the rate at which the squared bias that is left after a correction of second
# order (relative size of order k/n or below) stays under the variance 1/k.
_GROWTH = 2.0 / 3.0


@dataclass(frozen=True)
class OrderStatistics:
    """The m largest deviations of one side, `z` (m,), all above zero and in decreasing order.

    `n` is the number of payoffs of both sides, `positive` that of the deviations above zero.
    """

    z: NDArray[np.float64]
    n: int
    positive: int

    def strict(self, k: int) -> int:
        """Return how many of the `k` largest deviations exceed the next one: `k` but for ties."""
        return int(np.count_nonzero(self.z[:k] > self.z[k]))

    def usable(self, k: int) -> int:
        """Return the largest count <= `k` that leaves half of the deviations below, ties apart."""
        k = min(k, self.positive // 2, self.z.size - 1)
        return self.strict(k) if k > 0 else 0

    def varied(self, k: int) -> bool:
        """Tell whether the `k` largest deviations have at least five values above the next one."""
        return k >= 5 and int(np.unique(self.z[: k + 1]).size) > 5

    def sufficient(self, k: int) -> bool:
        """Tell whether the `k` largest deviations are many and varied enough for an interval."""
        return k >= MIN_ORDER_STATISTICS and self.varied(k)


def standard_k(n: int, share: float) -> int:
    """Return `share` times n^(2/3), rounded: a count of order statistics to start from."""
    return round(share * n**_GROWTH)


def deviations(values: NDArray[np.float64], center: float, side: str) -> NDArray[np.float64]:
    """Return the deviations of one `side` to be ordered; those of the other side are negative."""
    if side == "both":
        return np.abs(values - center)
    return values - center if side == "right" else center - values


def largest(z: NDArray[np.float64], *, keep: int | None = None) -> OrderStatistics:
    """Return the `keep` largest positive order statistics of `z`, in decreasing order.

    The default keeps four times n^(2/3) + 200 of them, more than any estimator here asks for, so
    that ten million payoffs are partitioned rather than sorted.
    """
    n = z.size
    m = min(n, keep if keep is not None else 4 * math.ceil(n**_GROWTH) + 200)
    head = np.partition(z, n - m)[n - m :] if m < n else z.copy()
    head = np.sort(head)[::-1]
    positive = int(np.count_nonzero(z > 0.0))
    return OrderStatistics(np.ascontiguousarray(head[head > 0.0]), n, positive)


def robust_scale(z: NDArray[np.float64]) -> float:
    """Return an order statistic of deviations `z`: their 0.9-quantile, or a higher one, not zero.

    Dividing by a high quantile, unlike by the median absolute deviation, does not create heavy
    tails when it is estimated from few payoffs: it is close to the largest deviations of a short
    series itself. It is zero only if nine in ten payoffs equal the center.
    """
    for q in (0.9, 0.99, 1.0):
        scale = float(np.quantile(z, q))
        if scale > 0.0:
            return scale
    return 0.0
