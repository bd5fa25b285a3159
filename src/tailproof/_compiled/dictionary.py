"""Nystrom dictionaries: drawing one, and the features it spans (Algorithm 3)."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def drawn_arms(variance, counts, uniforms, q, each_round):  # type: ignore[no-untyped-def]
    """Return the arms that enter, in order: each draw succeeds with p = min(q variance, 1).

    With `each_round` an arm played N times has N draws and enters if one succeeds, which has
    probability 1 - (1 - p)^N; else it has one. Arms never played have none.
    """
    arms = np.empty(variance.size, np.int64)
    size = 0
    for j in range(variance.size):
        if counts[j] == 0.0:
            continue
        p = q * variance[j]
        if p < 1.0 and each_round:
            p = -np.expm1(counts[j] * np.log1p(-p))
        if uniforms[j] < p:
            arms[size] = j
            size += 1
    return arms[:size].copy()


@njit(cache=True)
def spanned(psi, arms, share):  # type: ignore[no-untyped-def]
    """Singular value decomposition E S F^T of the rows `arms` of psi (n, r), by the smaller Gram.

    Return S (k,), E (m, k), F (r, k); squared values up to `share` of the largest are left out,
    which may leave none.
    """
    m = arms.size
    r = psi.shape[1]
    rows = np.empty((m, r))
    for i in range(m):
        rows[i] = psi[arms[i]]
    few = m <= r
    values, vectors = np.linalg.eigh(np.dot(rows, rows.T) if few else np.dot(rows.T, rows))
    first = 0
    least = max(share * values[-1], 0.0)
    while first < values.size and values[first] <= least:
        first += 1
    lengths = np.sqrt(values[first:])
    some = np.ascontiguousarray(vectors[:, first:])
    other = np.dot(rows.T, some) if few else np.dot(rows, some)
    for i in range(other.shape[0]):
        for k in range(lengths.size):
            other[i, k] /= lengths[k]
    # The Gram matrix blurs short directions: two steps towards the nearest orthonormal columns.
    for _ in range(2):
        other = 1.5 * other - 0.5 * np.dot(other, np.dot(other.T, other))
    if few:
        return lengths, some, other
    return lengths, other, some
