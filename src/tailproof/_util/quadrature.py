"""Gauss-Hermite quadrature on symmetric tensor grids, for Fourier features."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_hermite

Array = NDArray[np.float64]


def gauss_hermite(nodes: int) -> tuple[Array, Array]:
    """Return Gauss-Hermite nodes, exactly symmetric, and weights that sum to 1, (nodes,) each."""
    roots, weights = roots_hermite(nodes)
    # The difference gives an exact 0 for odd `nodes`, too.
    return (roots - roots[::-1]) / 2.0, weights / math.sqrt(math.pi)


def half_grid(rules: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return one of each pair +-omega of a tensor grid (g, d), and its weights nu(omega) (g,).

    `rules` holds nodes, symmetric around 0, and weights for each of the d dimensions.
    """
    grid = np.stack(
        [axis.ravel() for axis in np.meshgrid(*(nodes for nodes, _ in rules), indexing="ij")],
        axis=1,
    )
    weight = np.ones(len(grid))
    for factor in np.meshgrid(*(weights for _, weights in rules), indexing="ij"):
        weight *= factor.ravel()
    first_nonzero = np.zeros(len(grid))
    for axis in range(len(rules)):
        first_nonzero = np.where(first_nonzero == 0.0, grid[:, axis], first_nonzero)
    keep = first_nonzero >= 0.0
    return np.ascontiguousarray(grid[keep]), weight[keep]
