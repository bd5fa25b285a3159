"""Gauss-Hermite quadrature on symmetric tensor grids, for Fourier features."""

from __future__ import annotations

import functools
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


def tensor_grid(rules: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return all combinations of the nodes of d rules, (g, d), and products of weights, (g,)."""
    axes = np.meshgrid(*(nodes for nodes, _ in rules), indexing="ij")
    grid = np.stack(axes, axis=-1).reshape(-1, len(rules))
    weight = functools.reduce(np.multiply.outer, (weights for _, weights in rules)).ravel()
    return grid, weight
