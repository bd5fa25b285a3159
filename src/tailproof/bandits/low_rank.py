"""Coordinates of finitely many points in the space their features span.

A kernel matrix K of n points with numerical rank r is Psi Psi^T with Psi of shape (n, r): every
kernel quantity of those points can be worked out in r dimensions. For smooth kernels r is tiny
(about 30 for the squared exponential with lengthscale 0.2 on [0, 1], whatever n is). For rough
kernels r is near n; then only the span of the played points is built, as they are played.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, solve_triangular

from tailproof._util.linalg import pivoted_cholesky
from tailproof.kernels import Kernel

Array = NDArray[np.float64]

# Below this share of the largest, an eigenvalue of a computed kernel matrix is rounding.
ROUNDING = 1e-14
# Up to this many points the whole kernel matrix is decomposed; beyond, it is never formed.
DENSE_POINTS = 1024
# Above DENSE_POINTS coordinates of all points are kept up to this rank: about a second to compute
# for 10,000 points.
FIXED_RANK = 384


def kernel_coordinates(kernel: Kernel, X: Array, tolerance: float = ROUNDING) -> Array:
    """Return Psi (n, r) of low rank, Psi Psi^T = k(X, X), columns orthogonal, of falling length.

    Directions with an eigenvalue of at most `tolerance` times the largest are left out; at least
    one column is returned, of zeros where the kernel is zero.

    Examples
    --------
    >>> from tailproof.kernels import SquaredExponential
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> kernel_coordinates(SquaredExponential(0.2), X, tolerance=1e-9).shape
    (100, 15)
    """
    psi = _bounded_coordinates(kernel, X, tolerance, ROUNDING, None)
    assert psi is not None
    return psi


def fixed_coordinates(
    kernel: Kernel, X: Array, tolerance: float, rounding: float = ROUNDING
) -> Array | None:
    """Return `kernel_coordinates`, or None for many points of a higher rank than FIXED_RANK.

    Beyond DENSE_POINTS, variance of at most `rounding` times the largest k(x, x) is left out.
    """
    return _bounded_coordinates(kernel, X, tolerance, rounding, FIXED_RANK)


def _bounded_coordinates(
    kernel: Kernel, X: Array, tolerance: float, rounding: float, max_rank: int | None
) -> Array | None:
    """Return low-rank kernel coordinates of the arms, or None beyond the largest rank."""
    if len(X) <= DENSE_POINTS:
        values, vectors = eigh(kernel.matrix(X, X))
        columns = vectors * np.sqrt(np.maximum(values, 0.0))
    else:
        factor, pivots = pivoted_cholesky(
            kernel.diagonal(X), lambda i: kernel.matrix(X, X[i : i + 1])[:, 0], rounding, max_rank
        )
        if len(pivots) == max_rank:
            return None
        values, vectors = eigh(factor.T @ factor)
        columns = factor @ vectors
    keep = values > max(tolerance * values[-1], 0.0)
    keep[-1] = True
    return np.ascontiguousarray(columns[:, keep][:, ::-1])


class PlayedSpan:
    """Coordinates of n points in the span of the features of those that were played.

    The Newton basis: playing point j adds the column (k(X, x_j) - Psi psi_j) / sqrt(left_j), where
    left_j = k(x_j, x_j) - |psi_j|^2 is its variance outside the span, if that exceeds `tolerance`
    times the largest k(x, x). So Psi psi_i = k(X, x_i) for every played i, and coordinates of
    played points do not change any more. One column costs O(n r).

    Examples
    --------
    >>> from tailproof.kernels import Matern
    >>> X, k = np.linspace(0, 1, 9)[:, None], Matern(0.5, 0.2)
    >>> span = PlayedSpan(k, X, tolerance=1e-15)
    >>> span.include(4), span.include(2), span.include(4), span.values.shape
    (True, True, False, (9, 2))
    >>> bool(np.allclose(span.values @ span.values[2], k.matrix(X, X[2:3])[:, 0]))
    True
    """

    def __init__(self, kernel: Kernel, X: Array, tolerance: float) -> None:
        """Start with a span of rank 0, as no point is played."""
        self._kernel, self._X = kernel, X
        self._diagonal = kernel.diagonal(X).astype(np.float64)
        self.limit = tolerance * float(self._diagonal.max())
        self._played = np.zeros(len(X), dtype=np.bool_)
        self._pivots: list[int] = []  # the points whose playing added a column
        self.values = np.empty((len(X), 0))  # Psi, (n, r)

    def include(self, j: int) -> bool:
        """Let the low-rank span hold played point j; return whether that added a column."""
        if self._played[j]:
            return False
        row = self.values[j]
        left = float(self._diagonal[j] - row @ row)
        if left > self.limit:
            column = self._kernel.matrix(self._X, self._X[j : j + 1])[:, 0] - self.values @ row
            column /= np.sqrt(left)
            column[self._played] = 0.0
            column[j] = np.sqrt(left)
            self.values = np.concatenate([self.values, column[:, None]], axis=1)
            self._pivots.append(j)
        self._played[j] = True
        return left > self.limit

    def coordinates_of(self, points: Array) -> Array:
        """Return the low-rank coordinates of any points (k, d), shape (k, r)."""
        cross = self._kernel.matrix(self._X[self._pivots], points)
        result: Array = solve_triangular(self.values[self._pivots], cross, lower=True).T
        return result

    def left_out(self) -> Array:
        """k(x, x) - |psi(x)|^2, the variance outside the low-rank span, (n,)."""
        norms = np.einsum("ij,ij->i", self.values, self.values)
        return np.maximum(self._diagonal - norms, 0.0)
