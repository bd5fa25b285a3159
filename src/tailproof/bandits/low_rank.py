"""Coordinates of finitely many points in the space their features span.

A kernel matrix K of n points with numerical rank r is Psi Psi^T with Psi of shape (n, r): every
kernel quantity of those points can be worked out in r dimensions. For smooth kernels r is tiny
(about 30 for the squared exponential with lengthscale 0.2 on [0, 1], whatever n is).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from tailproof._util.linalg import pivoted_cholesky
from tailproof.kernels import Kernel

Array = NDArray[np.float64]

# Below this share of the largest, an eigenvalue of a computed kernel matrix is rounding.
ROUNDING = 1e-14
# Up to this many points the whole kernel matrix is decomposed; beyond, it is never formed.
DENSE_POINTS = 1024


def kernel_coordinates(kernel: Kernel, X: Array, tolerance: float = ROUNDING) -> Array:
    """Return Psi (n, r) with Psi Psi^T = k(X, X), columns orthogonal and of falling length.

    Directions with an eigenvalue of at most `tolerance` times the largest are left out; at least
    one column is returned, of zeros where the kernel is zero.

    Examples
    --------
    >>> from tailproof.kernels import SquaredExponential
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> kernel_coordinates(SquaredExponential(0.2), X, tolerance=1e-9).shape
    (100, 15)
    """
    if len(X) <= DENSE_POINTS:
        values, vectors = eigh(kernel.matrix(X, X))
        columns = vectors * np.sqrt(np.maximum(values, 0.0))
    else:
        factor, _ = pivoted_cholesky(
            kernel.diagonal(X), lambda i: kernel.matrix(X, X[i : i + 1])[:, 0], ROUNDING
        )
        values, vectors = eigh(factor.T @ factor)
        columns = factor @ vectors
    keep = values > max(tolerance * values[-1], 0.0)
    keep[-1] = True
    return np.ascontiguousarray(columns[:, keep][:, ::-1])
