"""Nystrom dictionaries: drawing one, and the features it spans (Algorithm 3)."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def drawn_arms(variance, counts, uniforms, q, each_round):  # type: ignore[no-untyped-def]
    """Return the arms that enter a dictionary, in order, by draws with p = min(q variance, 1).

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


SMALL = 32  # up to this rank `_condition_bound` is quicker than eigenvalues


@njit(cache=True)
def _condition_bound(gram):  # type: ignore[no-untyped-def]
    """Return trace(G) |L^(-1)|_F^2, at least the condition of a dictionary's Gram matrix G = L L^T.

    It is infinite if the factorization fails.
    """
    r = gram.shape[0]
    factor = np.zeros((r, r))
    inverse = np.zeros((r, r))
    total = 0.0
    for i in range(r):
        for j in range(i + 1):
            left = gram[i, j]
            for k in range(j):
                left -= factor[i, k] * factor[j, k]
            if i > j:
                factor[i, j] = left / factor[j, j]
            elif left > 0.0:
                factor[i, i] = np.sqrt(left)
            else:
                return np.inf
        inverse[i, i] = 1.0 / factor[i, i]
        for j in range(i):
            value = 0.0
            for k in range(j, i):
                value -= factor[i, k] * inverse[k, j]
            inverse[i, j] = value / factor[i, i]
        for j in range(i + 1):
            total += inverse[i, j] * inverse[i, j]
    return total * np.trace(gram)


@njit(cache=True)
def spans_all(psi, arms, share):  # type: ignore[no-untyped-def]
    """Whether a dictionary of more than r arms surely spans all: `spanned` leaves nothing out."""
    rows = psi[arms]
    gram = np.dot(rows.T, rows)
    if gram.shape[0] <= SMALL and 2.0 * share * _condition_bound(gram) < 1.0:
        return True
    values = np.linalg.eigvalsh(gram)
    return values[0] > 2.0 * max(share * values[-1], 0.0)


@njit(cache=True)
def _deviation_from_identity(gram):  # type: ignore[no-untyped-def]
    """Compiled: the largest absolute entry of a dictionary's Gram matrix less the identity."""
    largest = 0.0
    for i in range(gram.shape[0]):
        for j in range(gram.shape[1]):
            largest = max(largest, abs(gram[i, j] - (1.0 if i == j else 0.0)))
    return largest


@njit(cache=True)
def spanned(psi, arms, share):  # type: ignore[no-untyped-def]
    """Singular value decomposition E S F^T of a dictionary's rows of psi (n, r), by a small Gram.

    Return S (k,), E (m, k), F (r, k); squared values up to `share` of the largest are left out,
    which may leave none.
    """
    rows = psi[arms]
    few = arms.size <= psi.shape[1]
    values, vectors = np.linalg.eigh(np.dot(rows, rows.T) if few else np.dot(rows.T, rows))
    first = np.searchsorted(values, max(share * values[-1], 0.0), side="right")
    lengths = np.sqrt(values[first:])
    small_side = np.ascontiguousarray(vectors[:, first:])
    large_side = np.dot(rows.T, small_side) if few else np.dot(rows, small_side)
    large_side /= lengths
    # The Gram matrix squares the condition: up to two Newton steps to the nearest orthonormal
    # columns, each of which squares the error.
    for _ in range(2):
        gram = np.dot(large_side.T, large_side)
        error = _deviation_from_identity(gram)
        large_side = 1.5 * large_side - 0.5 * np.dot(large_side, gram)
        if error < 1e-8:
            break
    if few:
        return lengths, small_side, large_side
    return lengths, large_side, small_side
