"""Correlation functions between points of a search space, with the derivatives a fit needs.

A correlation is a mean over groups of coordinates of one radial function of the scaled distance
within the group. `inverse` holds 1 / lengthscale of every column, `group` the group of every
column. Functions that call each other stay in one module: the compiler's cache looks no further.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

MATERN, SQUARED_EXPONENTIAL = 0, 1
_FIVE_THIRDS = 5.0 / 3.0


@njit(cache=True, fastmath=False)
def _radial(kind: int, squared: float) -> tuple[float, float]:
    """Return k and s at squared scaled distance r^2, where s = -2 dk / d(r^2)."""
    if kind == MATERN:
        a = math.sqrt(5.0 * squared)
        decay = math.exp(-a)
        return (1.0 + a + a * a / 3.0) * decay, _FIVE_THIRDS * (1.0 + a) * decay
    value = math.exp(-0.5 * squared)
    return value, value


@njit(cache=True)
def _radial_row(
    kind: int, x: Array, columns: Array, inverse: Array, squared: Array, result: Array
) -> None:
    """Write k of x (p,) and each of m points, given as `columns` (p, m), to `result` (m,).

    Short loops over neighboring numbers, all but the exponentials' without a call: these the
    compiler does several at a time, to the last bit the same. `squared` (m,) is scratch.
    """
    squared[:] = 0.0
    for k in range(len(x)):
        for j in range(len(result)):
            d = (x[k] - columns[k, j]) * inverse[k]
            squared[j] += d * d
    if kind == MATERN:
        for j in range(len(result)):
            squared[j] = math.sqrt(5.0 * squared[j])
        for j in range(len(result)):
            result[j] = math.exp(-squared[j])
        for j in range(len(result)):
            a = squared[j]
            result[j] = (1.0 + a + a * a / 3.0) * result[j]
    else:
        for j in range(len(result)):
            result[j] = math.exp(-0.5 * squared[j])


@njit(cache=True)
def matrix(kind: int, X: Array, Y: Array, inverse: Array, group: Indices, groups: int) -> Array:
    """Return the correlations of the rows of X (n, p) and Y (m, p), (n, m)."""
    n, m, p = X.shape[0], Y.shape[0], X.shape[1]
    result = np.empty((n, m))
    if groups == 1:  # the usual case
        columns, row = np.ascontiguousarray(Y.T), np.empty(m)
        for i in range(n):
            _radial_row(kind, X[i], columns, inverse, row, result[i])
        return result
    squared = np.empty(groups)
    for i in range(n):
        for j in range(m):
            squared[:] = 0.0
            for k in range(p):
                d = (X[i, k] - Y[j, k]) * inverse[k]
                squared[group[k]] += d * d
            total = 0.0
            for g in range(groups):
                total += _radial(kind, squared[g])[0]
            result[i, j] = total / groups
    return result


@njit(cache=True)
def with_gradient(
    kind: int, x: Array, Z: Array, inverse: Array, group: Indices, groups: int
) -> tuple[Array, Array]:
    """Return the correlations of x (p,) with Z (m, p) and their derivatives in x, (m,), (m, p)."""
    m, p = Z.shape
    value = np.empty(m)
    slope = np.empty((m, p))
    squared = np.empty(groups)
    steep = np.empty(groups)
    for j in range(m):
        squared[:] = 0.0
        for k in range(p):
            d = (x[k] - Z[j, k]) * inverse[k]
            squared[group[k]] += d * d
        total = 0.0
        for g in range(groups):
            one, steep[g] = _radial(kind, squared[g])
            total += one
        value[j] = total / groups
        for k in range(p):
            slope[j, k] = -steep[group[k]] * (x[k] - Z[j, k]) * inverse[k] * inverse[k] / groups
    return value, slope


@njit(cache=True)
def lengthscale_gradient(
    kind: int,
    X: Array,
    inverse: Array,
    group: Indices,
    groups: int,
    owner: Indices,
    owners: int,
    weight: Array,
) -> Array:
    """Return sum_ij weight_ij d R_ij / d ln(lengthscale), one entry an owner of columns.

    `weight` is symmetric, (n, n); the diagonal of R does not depend on the lengthscales.
    """
    n, p = X.shape
    result = np.zeros(owners)
    squared = np.empty(groups)
    steep = np.empty(groups)
    for i in range(n):
        for j in range(i):
            squared[:] = 0.0
            for k in range(p):
                d = (X[i, k] - X[j, k]) * inverse[k]
                squared[group[k]] += d * d
            for g in range(groups):
                steep[g] = _radial(kind, squared[g])[1]
            for k in range(p):
                d = (X[i, k] - X[j, k]) * inverse[k]
                result[owner[k]] += 2.0 * weight[i, j] * steep[group[k]] * d * d / groups
    return result


@njit(cache=True)
def pivots(
    kind: int,
    X: Array,
    inverse: Array,
    group: Indices,
    groups: int,
    limit: int,
    tolerance: float,
) -> Indices:
    """Return up to `limit` rows of X that together say most about the rest.

    A pivoted Cholesky decomposition: each next row is the one whose correlation with the rows
    taken leaves the largest variance; it stops when every variance left is below `tolerance`.
    """
    n, p = X.shape
    left = np.ones(n)
    factor = np.empty((min(limit, n), n))
    chosen = np.empty(min(limit, n), dtype=np.int64)
    squared = np.empty(groups)
    for step in range(min(limit, n)):
        best = int(np.argmax(left))
        if left[best] <= tolerance:
            return chosen[:step]
        chosen[step] = best
        root = math.sqrt(left[best])
        row = np.zeros(n)
        for before in range(step):
            row -= factor[before, best] * factor[before]
        for i in range(n):
            squared[:] = 0.0
            for k in range(p):
                d = (X[i, k] - X[best, k]) * inverse[k]
                squared[group[k]] += d * d
            total = 0.0
            for g in range(groups):
                total += _radial(kind, squared[g])[0]
            row[i] = (row[i] + total / groups) / root
        factor[step] = row
        left -= row * row
        left[best] = 0.0
    return chosen
