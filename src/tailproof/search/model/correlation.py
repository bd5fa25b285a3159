"""Correlation functions between points of a search space, with the derivatives that a fit needs.

A correlation is the mean over additive groups of columns of k(r), r the distance within the group
in units of the lengthscales: k(r) = (1 + a + a^2 / 3) exp(-a), a = sqrt(5) r, for the Matern kernel
of smoothness 5/2, and k(r) = exp(-r^2 / 2) for the squared exponential.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tailproof._util.linalg import pivoted_cholesky

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

KERNELS = ("matern", "se")
_BLOCK = 1 << 14  # numbers in a block of rows
_FEW = 512  # points whose correlations take less time at once than column by column


@dataclass(frozen=True)
class KernelLayout:
    """The kernel, and which lengthscale and additive group each column of the points has.

    In its methods `inverse` is 1 / lengthscale of every column, (p,).

    Examples
    --------
    >>> layout = KernelLayout(np.array([0, 1]), np.array([0, 0]), "se")
    >>> inverse = layout.inverse_lengthscales(np.array([1.0, 2.0]))
    >>> layout.correlations(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 2.0]]), inverse)
    array([[1.        , 0.36787944]])
    """

    parameter_of_column: Indices  # (p,): the columns of a Choice share a lengthscale
    group_of_column: Indices  # the additive group of each column, (p,)
    kernel: str = "matern"  # or "se"

    @property
    def n_lengthscales(self) -> int:
        """Number of lengthscales of the correlations, one for each parameter."""
        return int(self.parameter_of_column.max(initial=-1)) + 1

    @property
    def n_groups(self) -> int:
        """Number of additive groups of the correlations."""
        return len(self._columns_of_groups)

    @functools.cached_property
    def _columns_of_groups(self) -> list[slice | Indices]:
        """The columns of each additive group of the correlations."""
        count = int(self.group_of_column.max(initial=0)) + 1
        if count == 1:
            return [slice(None)]
        return [np.flatnonzero(self.group_of_column == group) for group in range(count)]

    def inverse_lengthscales(self, lengthscales: Array) -> Array:
        """Return 1 / lengthscale of every column in the correlations, (p,)."""
        return np.asarray(1.0 / lengthscales[self.parameter_of_column])

    def correlations(self, X: Array, Y: Array, inverse: Array) -> Array:
        """Return R between the rows of X (n, p) and of Y (m, p), (n, m)."""
        groups = []
        for columns in self._columns_of_groups:
            squared = _scaled_squared_distances(X[:, columns], Y[:, columns], inverse[columns])
            for rows in _correlation_row_blocks(squared):
                _radial_correlation(self.kernel, squared[rows])
            groups.append(squared)
        return _mean_correlation_over_groups(groups)

    def correlations_gradient(self, X: Array, Y: Array, inverse: Array) -> tuple[Array, Array]:
        """Return R between few rows of X (n, p) and those of Y (m, p), and dR_ij / dX_i, (n, m, p).

        R is (n, m).
        """
        scaled = (X[:, None, :] - Y) * inverse
        values, gradient = [], scaled * (-inverse / self.n_groups)
        for columns in self._columns_of_groups:
            d = scaled[:, :, columns]
            value, slope = _radial_correlation(self.kernel, np.einsum("ijk,ijk->ij", d, d))
            gradient[:, :, columns] *= slope[:, :, None]
            values.append(value)
        return _mean_correlation_over_groups(values), gradient

    def correlations_vjp(self, X: Array, inverse: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Return R between the rows of X (n, p), (n, n), and its products with lengthscale slopes.

        The second takes weight (n, n), symmetric, to sum_ij weight_ij dR_ij / d ln(lengthscale),
        (q,). Since dR_ij / d ln(l_k) = s_ij d_ijk^2 with d_ijk the scaled difference in column k,
        the sum over pairs is 2 (sum_i m_i z_ik^2 - z_k' M z_k) with M = weight s, its row sums m,
        and z the scaled columns.
        """
        groups, slopes = [], []
        for columns in self._columns_of_groups:
            x = X[:, columns]
            squared = _scaled_squared_distances(x, x, inverse[columns])
            slope = np.empty_like(squared)
            for rows in _correlation_row_blocks(squared):
                slope[rows] = _radial_correlation(self.kernel, squared[rows])[1]
            np.fill_diagonal(slope, 0.0)  # the diagonal of R is constant
            groups.append(squared)
            slopes.append(slope)

        def vjp(weight: Array) -> Array:
            by_column = np.zeros(X.shape[1])
            for columns, slope in zip(self._columns_of_groups, slopes, strict=True):
                z = X[:, columns] * inverse[columns]
                z -= z.mean(axis=0)  # so that less cancels
                M = weight * slope
                by_column[columns] = M.sum(axis=1) @ (z * z) - np.einsum("ik,ik->k", z, M @ z)
            by_column *= 2.0 / self.n_groups
            result = np.zeros(self.n_lengthscales)
            np.add.at(result, self.parameter_of_column, by_column)
            return result

        return _mean_correlation_over_groups(groups), vjp

    def pivots(self, X: Array, inverse: Array, limit: int, tolerance: float = 1e-6) -> Indices:
        """Return up to `limit` rows of X, each of the largest variance given the correlated others.

        The pivots of a pivoted Cholesky decomposition, while a variance is above `tolerance`.
        """
        R = self.correlations(X, X, inverse) if len(X) <= _FEW else None

        def column(i: int) -> Array:
            return self.correlations(X, X[i : i + 1], inverse)[:, 0] if R is None else R[i]

        return pivoted_cholesky(np.ones(len(X)), column, tolerance, limit)[1]


@dataclass(frozen=True)
class KernelParameters:
    """Lengthscales (one for each parameter), signal variance and noise variance.

    The nugget is the share of the signal variance that each point has for itself: it is shared by
    repeated payoffs of one point, unlike noise, and not by other points, however near.
    """

    lengthscales: Array
    signal_var: float
    noise_var: float
    nugget: float = 0.0

    def with_nugget(self, R: Array) -> Array:
        """Return correlations R (n, m), overwritten: (1 - nugget) R, and 1 between equal points."""
        if self.nugget:
            equal = R == 1.0
            R *= 1.0 - self.nugget
            R[equal] = 1.0
        return R


def _scaled_squared_distances(X: Array, Y: Array, inverse: Array) -> Array:
    """Return squared distances, of which correlations are functions, in lengthscales, (n, m)."""
    if not len(inverse):  # all parameters are fixed
        return np.zeros((len(X), len(Y)))
    return np.asarray(cdist(X * inverse, Y * inverse, "sqeuclidean"))


def _mean_correlation_over_groups(groups: list[Array]) -> Array:
    """Return the mean of the groups' correlations."""
    return groups[0] if len(groups) == 1 else sum(groups[1:], start=groups[0]) / len(groups)


def _correlation_row_blocks(matrix: Array) -> Iterator[slice]:
    """Yield blocks of rows of correlations that fit, with temporary arrays, into a cache.

    Larger temporary arrays take longer to allocate than to compute.
    """
    count = max(_BLOCK // max(matrix.shape[1], 1), 1)
    for first in range(0, len(matrix), count):
        yield slice(first, min(first + count, len(matrix)))


def _radial_correlation(kernel: str, squared: Array) -> tuple[Array, Array]:
    """Return k(r), written over r^2 = `squared`, and -2 dk / d(r^2)."""
    if kernel == "se":
        squared *= -0.5
        np.exp(squared, out=squared)
        return squared, squared
    squared *= 5.0
    a = np.sqrt(squared)
    slope = a + 1.0
    np.negative(a, out=a)
    decay = np.exp(a, out=a)
    slope *= decay
    squared /= 3.0
    squared *= decay
    squared += slope
    slope *= 5.0 / 3.0
    return squared, slope
