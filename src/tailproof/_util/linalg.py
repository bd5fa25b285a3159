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


def asymmetry(gram: Array, tile: int = 512) -> float:
    """Return the largest |gram - gram.T|, by tiles: a large matrix's columns are not in cache.

    Examples
    --------
    >>> asymmetry(np.array([[1.0, 2.0], [2.5, 1.0]]))
    0.5
    """
    starts = range(0, len(gram), tile)
    return max(
        float(np.abs(gram[i : i + tile, j : j + tile] - gram[j : j + tile, i : i + tile].T).max())
        for i in starts
        for j in starts
        if j <= i
    )


def is_surely_definite(gram: Array, scale: float) -> bool:
    """Whether no eigenvalue of a matrix can be below -1e-13 scale, without finding the eigenvalues.

    Examples
    --------
    >>> [is_surely_definite(np.array([[1.0, r], [r, 1.0]]), 1.0) for r in (0.5, 2.0)]
    [True, False]
    """
    diagonal = np.diagonal(gram)
    # Every eigenvalue is within the sum of the other entries' sizes of a diagonal entry.
    with np.errstate(over="ignore"):
        dominant = bool(np.all(diagonal >= np.abs(gram).sum(axis=1) - diagonal))
    if dominant:
        return True
    shifted = gram.copy()
    np.fill_diagonal(shifted, diagonal + 1e-13 * scale)
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


def nearest_semidefinite(gram: Array, scale: float) -> Array:
    """Return a symmetric matrix with what rounding made negative in its eigenvalues set to zero.

    Examples
    --------
    >>> nearest_semidefinite(np.array([[1.0, 1.0], [1.0, 1.0 - 1e-12]]), 1.0).round(9).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    values, vectors = np.linalg.eigh(gram)
    if values[0] < -1e-8 * scale:
        raise ValueError(
            f"`gram` must be positive semi-definite, but got an eigenvalue of {values[0]:g}."
        )
    if values[0] < -1e-13 * scale:  # above double rounding: from the matrix's own computation
        gram = (vectors * np.maximum(values, 0.0)) @ vectors.T
        gram = (gram + gram.T) / 2.0
    return gram


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
