"""Sums of shifted inverses of a tridiagonal matrix, all shifts at once."""

from __future__ import annotations

import numpy as np
from numba import njit


# The loops over the shifts have no order of their own: they run on vector units.
@njit(cache=True, error_model="numpy", fastmath={"contract"})
def shifted_inverse_sum(diagonal, below, shifts, weights, columns):  # type: ignore[no-untyped-def]
    """Return sum_p weights_p (T + shifts_p)^(-1) B for the columns B (m, c), shape (m, c).

    T is symmetric and positive definite with `diagonal` (m,) and `below` (m - 1,); shifts are not
    negative. Each T + shift is factored as L D L^T.
    """
    m, c = columns.shape
    count = shifts.size
    pivots = np.empty((m, count))  # D
    ratios = np.empty((m, count))  # L, row i to column i - 1
    for p in range(count):
        pivots[0, p] = diagonal[0] + shifts[p]
    for i in range(1, m):
        e = below[i - 1]
        for p in range(count):
            ratios[i, p] = e / pivots[i - 1, p]
            pivots[i, p] = diagonal[i] + shifts[p] - e * ratios[i, p]
    result = np.empty((m, c))
    solved = np.empty((m, count))
    for k in range(c):
        for p in range(count):
            solved[0, p] = columns[0, k]
        for i in range(1, m):
            b = columns[i, k]
            for p in range(count):
                solved[i, p] = b - ratios[i, p] * solved[i - 1, p]
        for p in range(count):
            solved[m - 1, p] /= pivots[m - 1, p]
        for i in range(m - 2, -1, -1):
            for p in range(count):
                solved[i, p] = solved[i, p] / pivots[i, p] - ratios[i + 1, p] * solved[i + 1, p]
        for i in range(m):
            total = 0.0
            for p in range(count):
                total += weights[p] * solved[i, p]
            result[i, k] = total
    return result
