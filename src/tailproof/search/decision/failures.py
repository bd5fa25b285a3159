"""The probability that a configuration fails, from trials that failed and trials that did not.

A kernel estimate with a prior of one trial: with the weights w_i = exp(-|(x - x_i) / l|^2 / 2),

    p(x) = (q + sum_{i failed} w_i) / (1 + sum_i w_i),     q = 0.1.

The inverse lengthscales, one for each parameter (0: it does not matter), are chosen by the
leave-one-out likelihood. Simple on purpose: it only has to say where most trials fail.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_PRIOR = 0.1
_INVERSE_LENGTHSCALES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)
_SWEEPS = 2
_MOST_TRIALS = 400  # the latest
TOLERATED = 0.25  # probability of failure up to which a configuration is asked


@dataclass(frozen=True)
class FailureModel:
    """A fitted estimate of the probability of failure."""

    X: Array  # of the trials, (n, p)
    failed: NDArray[np.bool_]  # (n,)
    inverse: Array  # inverse lengthscale of each column, (p,)

    def probability(self, X: Array) -> Array:
        """Return the probability of failure at the rows of X (k, p), (k,)."""
        distances = _squared_distances(X * self.inverse, self.X * self.inverse)
        weights = np.exp(-0.5 * distances)
        return (_PRIOR + weights @ self.failed) / (1.0 + weights.sum(axis=1))


def fit_failures(
    X: Array, failed: NDArray[np.bool_], parameter_of_column: NDArray[np.int64]
) -> FailureModel:
    """Return the estimate for encoded trials X (n, p), of which `failed` (n,) tells the outcome.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 21)[:, None]
    >>> model = fit_failures(x, x[:, 0] > 0.7, np.zeros(1, dtype=np.int64))
    >>> model.probability(np.array([[0.2], [0.95]])).round(1).tolist()
    [0.0, 0.8]
    """
    X, failed = X[-_MOST_TRIALS:], failed[-_MOST_TRIALS:]
    parts = [
        _squared_distances(X[:, parameter_of_column == k], X[:, parameter_of_column == k])
        for k in range(int(parameter_of_column.max(initial=-1)) + 1)
    ]
    inverse = np.zeros(len(parts))
    total = np.zeros((len(X), len(X)))
    for _ in range(_SWEEPS):
        for k, part in enumerate(parts):
            others = total - inverse[k] ** 2 * part
            tried = [others + v**2 * part for v in _INVERSE_LENGTHSCALES]
            scores = [_loo_log_likelihood(distances, failed) for distances in tried]
            inverse[k] = _INVERSE_LENGTHSCALES[int(np.argmax(scores))]
            total = others + inverse[k] ** 2 * part
    return FailureModel(X, failed, inverse[parameter_of_column])


def _loo_log_likelihood(distances: Array, failed: NDArray[np.bool_]) -> float:
    """Return the leave-one-out log likelihood of which trials failed."""
    weights = np.exp(-0.5 * distances)
    np.fill_diagonal(weights, 0.0)
    p = (_PRIOR + weights @ failed) / (1.0 + weights.sum(axis=1))
    return float(np.log(np.where(failed, p, 1.0 - p)).sum())


def _squared_distances(A: Array, B: Array) -> Array:
    """Return squared distances of trials that may fail: rows of A (n, p) and B (k, p), (n, k)."""
    difference = A[:, None, :] - B[None, :, :]
    return np.einsum("ijk,ijk->ij", difference, difference)
