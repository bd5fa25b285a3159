"""Fourier features of squared-exponential correlations with few columns a group.

A group's correlation exp(-|d|^2 / 2), d the difference in lengthscales, is the mean of
cos(sqrt(2) t . d) over t with density pi^(-q/2) exp(-|t|^2). Gauss-Hermite nodes replace t
(quadrature Fourier features, Section 5 (a) of the paper), so that many payoffs in few dimensions
need few features, wherever they lie.

The error on the unit cube is at most 1e-6, in three parts for a group of at most two columns:

- n nodes err in one column by at most n! a^(2n) / (2n)!, a = 1 / lengthscale: the error term of
  the Gauss-Hermite rule for cos(sqrt(2) a t). Factors are at most 1, so errors of columns add up.
- The outer nodes of a column have next to no weight; they are left out before a grid is made.
- So do the corners of the grid.

What is left out is missing from |phi|^2, too: a process counts it as variance not explained.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tailproof._util.quadrature import gauss_hermite, half_grid

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

MOST_COLUMNS = 2  # of a group: beyond, grids grow faster than payoffs come
# Error of a group's correlation: of the nodes and of the outer ones left out, for each column, and
# of the corners left out. With two columns they sum to 1e-6.
_NODES, _OUTER, _CORNERS = 2.5e-7, 1.25e-7, 2.5e-7
# The smallest lengthscale that nodes are computed for; any fit's are larger.
_SHORTEST = 0.02


class FourierBasis:
    """Features phi with phi(x) . phi(y) close to the mean over groups of exp(-|d|^2 / 2).

    `inverse` is 1 / lengthscale and `group` the additive group of every column, (p,); one or two
    columns in each of the `groups`, see `suits`.

    Examples
    --------
    >>> basis = FourierBasis(np.array([1 / 0.2]), np.array([0]), 1)
    >>> phi = basis.features(np.array([[0.3], [0.5]]))
    >>> phi.shape, bool(abs(phi[0] @ phi[1] - np.exp(-0.5)) < 1e-6)
    ((2, 17), True)
    """

    def __init__(self, inverse: Array, group: Indices, groups: int) -> None:
        frequencies, weights = [], []
        for g in range(groups):
            columns = np.flatnonzero(group == g)
            grid, weight = _fourier_frequency_grid(_fourier_nodes(inverse[columns]))
            block = np.zeros((len(grid), len(inverse)))
            block[:, columns] = math.sqrt(2.0) * grid * inverse[columns]
            frequencies.append(block)
            weights.append(weight / groups)
        self._frequencies = np.vstack(frequencies)  # (f, p): angles are x @ frequencies'
        self._cosine = np.sqrt(np.concatenate(weights))
        self._pair = self._frequencies.any(axis=1)  # the frequency 0 has no sine
        self._sine = self._cosine[self._pair]

    @property
    def count(self) -> int:
        """Number of Fourier features."""
        return len(self._cosine) + len(self._sine)

    def features(self, X: Array) -> Array:
        """Return the Fourier features phi of the rows of X (n, p), shape (n, m)."""
        angle = X @ self._frequencies.T
        return np.hstack([self._cosine * np.cos(angle), self._sine * np.sin(angle[:, self._pair])])

    def features_vjp(self, x: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Return phi at x (p,), (m,), and the map from V (k, m) to V dphi / dx, (k, p)."""
        angle = self._frequencies @ x
        cosine, sine = np.cos(angle), np.sin(angle)
        phi = np.append(self._cosine * cosine, self._sine * sine[self._pair])
        slope = np.append(-self._cosine * sine, self._sine * cosine[self._pair])
        both = np.vstack([self._frequencies, self._frequencies[self._pair]])
        return phi, lambda V: (V * slope) @ both


def suits(inverse: Array, group: Indices, groups: int) -> bool:
    """Return whether a `FourierBasis` of these columns can be made: few of them in every group."""
    columns = np.bincount(group, minlength=groups)
    few = bool(((columns >= 1) & (columns <= MOST_COLUMNS)).all())
    return few and bool((inverse <= 1.0 / _SHORTEST).all())


def size(inverse: Array, group: Indices, groups: int) -> int:
    """Return how many features a `FourierBasis` of these columns has."""
    return sum(_fourier_basis_size(_fourier_nodes(inverse[group == g])) for g in range(groups))


def _fourier_nodes(inverse: Array) -> tuple[int, ...]:
    """Return nodes of the Fourier basis: per a the least n with n! a^(2n) / (2n)! <= allowed."""

    def error(n: int, a: float) -> float:
        return math.lgamma(n + 1) - math.lgamma(2 * n + 1) + 2 * n * math.log(a)

    allowed = math.log(_NODES)
    return tuple(next(n for n in itertools.count(1) if error(n, a) <= allowed) for a in inverse)


@functools.lru_cache(maxsize=256)
def _fourier_column_rule(nodes: int) -> tuple[Array, Array]:
    """Return inner Fourier nodes of one column and their weights; outer ones weigh too little."""
    roots, weights = gauss_hermite(nodes)
    outwards = np.abs(roots)
    outer = np.array([weights[outwards >= size].sum() for size in outwards])
    keep = outer > _OUTER
    return roots[keep], weights[keep]


@functools.lru_cache(maxsize=256)
def _fourier_frequency_grid(nodes: tuple[int, ...]) -> tuple[Array, Array]:
    """Return one of each pair +-t of a group's grid, (g, columns), and the pairs' weights, (g,)."""
    grid, weights = half_grid([_fourier_column_rule(n) for n in nodes])
    pairs = weights * np.where(grid.any(axis=1), 2.0, 1.0)
    order = np.argsort(pairs, kind="stable")
    kept = np.sort(order[np.cumsum(pairs[order]) > _CORNERS])
    return grid[kept], pairs[kept]


@functools.lru_cache(maxsize=4096)
def _fourier_basis_size(nodes: tuple[int, ...]) -> int:
    """Return how many features the Fourier basis of a group has."""
    _, weights = _fourier_frequency_grid(nodes)
    odd = all(n % 2 for n in nodes)  # then the frequency 0 is among them
    return 2 * len(weights) - odd
