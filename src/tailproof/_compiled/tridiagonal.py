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
    inverses = np.empty((m, count))  # 1 / D
    ratios = np.empty((m, count))  # L, row i to column i - 1
    for p in range(count):
        inverses[0, p] = 1.0 / (diagonal[0] + shifts[p])
    for i in range(1, m):
        e = below[i - 1]
        for p in range(count):
            ratios[i, p] = e * inverses[i - 1, p]
            inverses[i, p] = 1.0 / (diagonal[i] + shifts[p] - e * ratios[i, p])
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
            solved[m - 1, p] *= inverses[m - 1, p]
        for i in range(m - 2, -1, -1):
            for p in range(count):
                solved[i, p] = solved[i, p] * inverses[i, p] - ratios[i + 1, p] * solved[i + 1, p]
        for i in range(m):
            total = 0.0
            for p in range(count):
                total += weights[p] * solved[i, p]
            result[i, k] = total
    return result
