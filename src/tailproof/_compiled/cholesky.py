"""Rank-one changes of a Cholesky factor, and solutions with it: A = L L^T, L lower triangular."""

from __future__ import annotations

import math

from numba import njit


@njit(cache=True)
def add_rank_one(L, x, sign):  # type: ignore[no-untyped-def]
    """Turn the factor of A into that of A + sign x x^T, in place; x is overwritten.

    Returns False, with L spoilt, if the result is not safely positive definite (sign = -1 only).
    """
    n = x.size
    for k in range(n):
        diagonal = L[k, k]
        square = diagonal * diagonal + sign * x[k] * x[k]
        if square <= 1e-12 * diagonal * diagonal:
            return False
        root = math.sqrt(square)
        c = root / diagonal
        s = x[k] / diagonal
        L[k, k] = root
        for i in range(k + 1, n):
            L[i, k] = (L[i, k] + sign * s * x[i]) / c
            x[i] = c * x[i] - s * L[i, k]
    return True


@njit(cache=True)
def solve_transposed(L, b):  # type: ignore[no-untyped-def]
    """Overwrite b with L^(-T) b, L a Cholesky factor."""
    for i in range(b.size - 1, -1, -1):
        total = b[i]
        for k in range(i + 1, b.size):
            total -= L[k, i] * b[k]
        b[i] = total / L[i, i]


@njit(cache=True)
def solve_lower(L, b):  # type: ignore[no-untyped-def]
    """Overwrite b with L^(-1) b, L a Cholesky factor."""
    for i in range(b.size):
        total = b[i]
        for k in range(i):
            total -= L[i, k] * b[k]
        b[i] = total / L[i, i]
