"""Coordinates of finitely many points in the space their features span.

A kernel matrix K of n points with numerical rank r is Psi Psi^T with Psi of shape (n, r): every
kernel quantity of those points can be worked out in r dimensions. For smooth kernels r is tiny
(about 30 for the squared exponential with lengthscale 0.2 on [0, 1], whatever n is).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

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
    >>> import numpy as np
    >>> from tailproof.kernels import SquaredExponential
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> kernel_coordinates(SquaredExponential(0.2), X, tolerance=1e-9).shape
    (100, 15)
    """
    if len(X) <= DENSE_POINTS:
        values, vectors = eigh(kernel.matrix(X, X))
        columns = vectors * np.sqrt(np.maximum(values, 0.0))
    else:
        factor = pivoted_cholesky(kernel, X, ROUNDING)
        values, vectors = eigh(factor.T @ factor)
        columns = factor @ vectors
    keep = values > max(tolerance * values[-1], 0.0)
    keep[-1] = True
    return np.ascontiguousarray(columns[:, keep][:, ::-1])


def pivoted_cholesky(kernel: Kernel, X: Array, tolerance: float) -> Array:
    """Return L (n, r) with L L^T = k(X, X) up to `tolerance` times the largest k(x, x).

    Works column by column on the point with the largest remaining variance, so that k(X, X) is
    never formed: O(n r) memory, O(n r^2) time.
    """
    left = kernel.diagonal(X).astype(np.float64)
    limit = tolerance * max(float(left.max()), 0.0)
    columns = np.empty((len(X), 64))
    rank = 0
    while rank < len(X):
        pivot = int(left.argmax())
        if left[pivot] <= limit and rank > 0:
            break
        if rank == columns.shape[1]:
            columns = np.concatenate([columns, np.empty_like(columns)], axis=1)
        column = kernel.matrix(X, X[pivot : pivot + 1])[:, 0]
        column -= columns[:, :rank] @ columns[pivot, :rank]
        column /= np.sqrt(left[pivot]) if left[pivot] > 0.0 else 1.0
        columns[:, rank] = column
        left -= column * column
        left[pivot] = 0.0
        rank += 1
    return np.ascontiguousarray(columns[:, :rank])
