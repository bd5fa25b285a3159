"""Which kernels are stationary, and how far apart their features are."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tailproof.kernels import (
    Columns,
    Kernel,
    Matern,
    Precomputed,
    Product,
    Scaled,
    SquaredExponential,
    Sum,
)

Array = NDArray[np.float64]


def contains_precomputed(kernel: Kernel) -> bool:
    """Whether a kernel is, or is made from, a matrix over labeled arms: it is not stationary."""
    if isinstance(kernel, Sum | Product):
        return contains_precomputed(kernel.left) or contains_precomputed(kernel.right)
    if isinstance(kernel, Scaled | Columns):
        return contains_precomputed(kernel.base)
    return isinstance(kernel, Precomputed)


def is_stationary(kernel: Kernel) -> bool:
    """Whether k(x, x') is known to fall with |x - x'| in every coordinate and depend on no more."""
    if type(kernel) is Sum or type(kernel) is Product:
        return is_stationary(kernel.left) and is_stationary(kernel.right)
    if type(kernel) is Scaled or type(kernel) is Columns:
        return is_stationary(kernel.base)
    return type(kernel) in (SquaredExponential, Matern)


def stationary_distance(kernel: Kernel, offset: Array) -> float | None:
    """Return sqrt(k(x, x) + k(z, z) - 2 k(x, z)) of a stationary kernel, z = x + offset (d,).

    None for a kernel that is not stationary. For smaller offsets it is not larger.

    Examples
    --------
    >>> round(stationary_distance(SquaredExponential(1.0), np.array([1e-3])), 6)
    0.001
    """
    if not is_stationary(kernel):
        return None
    origin = np.zeros((1, len(offset)))
    near = float(kernel.matrix(origin, origin + offset)[0, 0])
    # 1 - k loses digits for tiny offsets; the slack covers its rounding.
    top = float(kernel.diagonal(origin)[0])
    return math.sqrt(max(2.0 * (top - near), 0.0) + 4e-16 * top)
