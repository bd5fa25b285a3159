"""Linear algebra that scipy does not have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def symmetric_from_lower(lower: Array) -> Array:
    """Return the symmetric matrix whose lower triangle is given, with zeros above it.

    Examples
    --------
    >>> symmetric_from_lower(np.array([[1.0, 0.0], [2.0, 3.0]])).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    result: Array = lower + lower.T
    result[np.diag_indices_from(result)] *= 0.5
    return result


def pivoted_cholesky(
    diagonal: Array,
    column: Callable[[int], Array],
    tolerance: float,
    max_rank: int | None = None,
) -> tuple[Array, NDArray[np.int64]]:
    """Return L (n, r) with L L^T close to a positive semi-definite matrix, and the r pivots.

    The matrix is given by its diagonal and a function that returns one column, so that it is never
    formed: O(n r) memory, O(n r^2) time. Each step takes the row with the largest remaining
    variance; it stops when every remaining variance is at most `tolerance` times the largest
    diagonal entry, or at `max_rank` columns. At least one column is returned.

    Examples
    --------
    >>> K = np.array([[4.0, 2.0, 2.0], [2.0, 1.0, 1.0], [2.0, 1.0, 5.0]])
    >>> L, pivots = pivoted_cholesky(np.diag(K), lambda i: K[:, i], 1e-12)
    >>> pivots, bool(np.allclose(L @ L.T, K))
    (array([2, 0]), True)
    """
    n = len(diagonal)
    left = np.array(diagonal, dtype=np.float64)
    limit = tolerance * max(float(left.max(initial=0.0)), 0.0)
    most = n if max_rank is None else min(max_rank, n)
    factor = np.empty((n, min(64, max(most, 1))))
    pivots = np.empty(most, dtype=np.int64)
    rank = 0
    while rank < most:
        pivot = int(left.argmax())
        if left[pivot] <= limit and rank > 0:
            break
        if rank == factor.shape[1]:
            factor = np.concatenate([factor, np.empty_like(factor)], axis=1)
        new = column(pivot) - factor[:, :rank] @ factor[pivot, :rank]
        new /= np.sqrt(left[pivot]) if left[pivot] > 0.0 else 1.0
        factor[:, rank] = new
        pivots[rank] = pivot
        left -= new * new
        left[pivot] = 0.0
        rank += 1
    return np.ascontiguousarray(factor[:, :rank]), pivots[:rank]
