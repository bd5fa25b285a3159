"""Kernel ridge regression over the arms, one payoff at a time: rank-one steps, nothing allocated.

The state is either the posterior covariance of the arms divided by the ridge (`..covariance`), or
the inverse of V = A^T N A + ridge in the r coordinates A (n, r) of the arms (`..span`). Either way
a payoff at arm j of weight w (noise variance ridge / w) costs one pass over the state:

    c = cov(., x_j) / ridge,  s = c_j
    mean     += c (y - mean_j) w / (1 + w s)
    leverage -= c^2 w / (1 + w s)         leverage = variance / ridge
    log_det  += ln(1 + w s)               ln |I + K_t / ridge|
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def add_to_covariance(cov, mean, leverage, j, y, weight):  # type: ignore[no-untyped-def]
    """Add payoff y of a weight at arm j to the arms' covariance, in place; return ln(1 + w s)."""
    n = mean.size
    s = leverage[j]
    gain = weight / (1.0 + weight * s)
    innovation = (y - mean[j]) * gain
    column = cov[j].copy()
    for i in range(n):
        factor = column[i] * gain
        row = cov[i]
        for k in range(n):
            row[k] -= factor * column[k]
        mean[i] += column[i] * innovation
        leverage[i] = row[i]
    return np.log1p(weight * s)


@njit(cache=True)
def add_to_span(inverse, features, mean, leverage, j, y, weight):  # type: ignore[no-untyped-def]
    """Add payoff y of a weight at arm j to a span's inverse, in place; return ln(1 + w s)."""
    w = np.dot(inverse, features[j])
    column = np.dot(features, w)
    s = column[j]
    gain = weight / (1.0 + weight * s)
    innovation = (y - mean[j]) * gain
    for i in range(w.size):
        factor = w[i] * gain
        for k in range(w.size):
            inverse[i, k] -= factor * w[k]
    for i in range(mean.size):
        mean[i] += column[i] * innovation
        leverage[i] -= column[i] * column[i] * gain
    return np.log1p(weight * s)


@njit(cache=True)
def variances(leverage, ridge, residual):  # type: ignore[no-untyped-def]
    """Return ridge leverage + residual, where a leverage below zero is rounding."""
    result = np.empty(leverage.size)
    for i in range(leverage.size):
        result[i] = ridge * max(leverage[i], 0.0) + residual[i]
    return result


@njit(cache=True)
def ucb_argmax(mean, variance, beta, tolerance):  # type: ignore[no-untyped-def]
    """Index of the largest mean + beta sqrt(variance); of those within tolerance, the first.

    Scores closer than `tolerance` times their scale differ by rounding only. Taking the first of
    them makes the choice the same on every machine and for every way of computing it.
    """
    n = mean.size
    scores = np.empty(n)
    best = -np.inf
    scale = 0.0
    largest = 0.0
    for i in range(n):
        scores[i] = mean[i] + beta * np.sqrt(max(variance[i], 0.0))
        best = max(best, scores[i])
        scale = max(scale, abs(mean[i]))
        largest = max(largest, variance[i])
    slack = tolerance * (scale + beta * np.sqrt(largest))
    for i in range(n):
        if scores[i] >= best - slack:
            return i
    return 0
