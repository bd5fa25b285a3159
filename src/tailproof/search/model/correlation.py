"""Correlation functions between points of a search space, with the derivatives that a fit needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailproof._compiled import correlation

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

KERNELS = ("matern", "se")
_CODES = {"matern": correlation.MATERN, "se": correlation.SQUARED_EXPONENTIAL}


@dataclass(frozen=True)
class KernelLayout:
    """Which lengthscale and which additive group each column of the encoded points has.

    Attributes
    ----------
    parameter_of_column
        The parameter of each column, (p,): the columns of a Choice share a lengthscale.
    group_of_column
        The additive group of each column, (p,).
    kernel
        "matern" (smoothness 5/2) or "se" (squared exponential).
    """

    parameter_of_column: Indices
    group_of_column: Indices
    kernel: str = "matern"

    @property
    def n_lengthscales(self) -> int:
        """Number of lengthscales, one for each parameter."""
        return int(self.parameter_of_column.max(initial=-1)) + 1

    @property
    def n_groups(self) -> int:
        """Number of additive groups."""
        return max(int(self.group_of_column.max(initial=-1)) + 1, 1)

    def inverse_lengthscales(self, lengthscales: Array) -> Array:
        """Return 1 / lengthscale of every column, (p,)."""
        return np.ascontiguousarray(1.0 / lengthscales[self.parameter_of_column])

    def correlations(self, X: Array, Y: Array, inverse: Array) -> Array:
        """Return R between the rows of X (n, p) and of Y (m, p), (n, m)."""
        return correlation.matrix(
            _CODES[self.kernel],
            np.ascontiguousarray(X),
            np.ascontiguousarray(Y),
            inverse,
            self.group_of_column,
            self.n_groups,
        )

    def correlations_gradient(self, x: Array, Y: Array, inverse: Array) -> tuple[Array, Array]:
        """Return R between x (p,) and the rows of Y, (m,), and its derivatives in x, (m, p)."""
        return correlation.with_gradient(
            _CODES[self.kernel], x, Y, inverse, self.group_of_column, self.n_groups
        )

    def lengthscale_gradient(self, X: Array, inverse: Array, weight: Array) -> Array:
        """Return sum_ij weight_ij dR_ij / d ln(lengthscale), (q,), of the rows of X (n, p)."""
        return correlation.lengthscale_gradient(
            _CODES[self.kernel],
            X,
            inverse,
            self.group_of_column,
            self.n_groups,
            self.parameter_of_column,
            self.n_lengthscales,
            weight,
        )

    def pivots(self, X: Array, inverse: Array, limit: int, tolerance: float) -> Indices:
        """Return the pivots of a pivoted Cholesky decomposition of R(X, X), at most `limit`."""
        return correlation.pivots(
            _CODES[self.kernel],
            np.ascontiguousarray(X),
            inverse,
            self.group_of_column,
            self.n_groups,
            limit,
            tolerance,
        )


@dataclass(frozen=True)
class KernelParameters:
    """Lengthscales (one for each parameter), signal variance and noise variance."""

    lengthscales: Array
    signal_var: float
    noise_var: float
