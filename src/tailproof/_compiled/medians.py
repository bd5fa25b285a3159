"""Medians of block means in every feature direction, each with its own number of blocks."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy")
def effective_payoffs(rows, counts):  # type: ignore[no-untyped-def]
    """(sum |u|)^2 / sum u^2 of each row of u (u, n), entry j counts_j times, for medians of means.

    That is n for n equal weights; 0 for a row of zeros.
    """
    result = np.zeros(rows.shape[0])
    for i in range(rows.shape[0]):
        absolute = 0.0
        squared = 0.0
        for j in range(rows.shape[1]):
            absolute += abs(rows[i, j]) * counts[j]
            squared += rows[i, j] * rows[i, j] * counts[j]
        if squared > 0.0:
            result[i] = absolute * absolute / squared
    return result


@njit(cache=True, error_model="numpy")
def medians_of_means(sums, weights, payoffs):  # type: ignore[no-untyped-def]
    """Return the medians over each direction's own number of blocks, shape (u,).

    `sums` and `weights` (u, K) are sums of u y and u^2 over the K finest blocks, K a power of two,
    `payoffs` (u,) the numbers of payoffs that the directions rest on. The blocks are merged, c with
    c + k / 2, until the smallest of the k holds k payoffs or more.
    """
    finest = sums.shape[1]
    result = np.empty(sums.shape[0])
    for i in range(sums.shape[0]):
        block, share = sums[i].copy(), weights[i].copy()
        total = share.sum()
        k = finest
        # The slack makes counts that are whole numbers pass, whatever the rounding.
        while k > 1 and not (
            total > 0.0 and payoffs[i] * share[:k].min() >= k * (1.0 - 1e-9) * total
        ):
            k //= 2
            for c in range(k):
                block[c] += block[c + k]
                share[c] += share[c + k]
        if k == 1:
            result[i] = block[0]
        else:
            result[i] = np.median(block[:k] * (total / share[:k]))
    return result
