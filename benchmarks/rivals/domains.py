"""Domains of objectives: a box of floats and integers, or a finite set of arms.

A point is a row of raw coordinates, (d,); parameters are the same by name, which is what methods
see. Both kinds of domain have the same interface.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import qmc

import tailproof as tp

Array = NDArray[np.float64]
Params = dict[str, float | int]


@dataclass(frozen=True)
class Axis:
    """One coordinate: from `low` to `high`, both included; whole numbers only if `integer`."""

    name: str
    low: float
    high: float
    integer: bool = False


@dataclass(frozen=True)
class Box:
    """The product of some axes.

    Examples
    --------
    >>> box = Box((Axis("x", -5.0, 10.0), Axis("k", 0, 3, integer=True)))
    >>> box.params([2.5, 2.2]), box.point({"x": 2.5, "k": 2})
    ({'x': 2.5, 'k': 2}, array([2.5, 2. ]))
    """

    axes: tuple[Axis, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return tuple(axis.name for axis in self.axes)

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.axes)

    @property
    def integers(self) -> tuple[int, ...]:
        """Indices of the integer coordinates."""
        return tuple(i for i, axis in enumerate(self.axes) if axis.integer)

    @property
    def bounds(self) -> Array:
        """Lower and upper bounds of the coordinates, (2, d)."""
        return np.array([[axis.low for axis in self.axes], [axis.high for axis in self.axes]])

    @cached_property
    def space(self) -> tp.Space:
        """The domain as a search space of tailproof."""
        return tp.Space(
            {
                axis.name: tp.Int(int(axis.low), int(axis.high))
                if axis.integer
                else tp.Float(axis.low, axis.high)
                for axis in self.axes
            }
        )

    def point(self, params: Mapping[str, float | int]) -> Array:
        """Return parameters as a point, (d,)."""
        return np.array([params[axis.name] for axis in self.axes], dtype=np.float64)

    def params(self, point: ArrayLike) -> Params:
        """Return the nearest point of the box as parameters; integers are of type int."""
        low, high = self.bounds
        clipped = np.clip(np.asarray(point, dtype=np.float64), low, high)
        return {
            axis.name: round(float(value)) if axis.integer else float(value)
            for axis, value in zip(self.axes, clipped, strict=True)
        }

    def from_cube(self, u: Array) -> Array:
        """Map (n, d) positions of the unit cube to points; an integer's values get equal shares."""
        low, high = self.bounds
        points = low + u * (high - low)
        for i in self.integers:
            steps = high[i] - low[i] + 1.0
            points[:, i] = np.minimum(low[i] + np.floor(u[:, i] * steps), high[i])
        return points

    def draw(self, number: int, rng: np.random.Generator) -> Array:
        """Return points drawn uniformly, (number, d)."""
        return self.from_cube(rng.random((number, self.dimension)))

    def cover(self, number: int, rng: np.random.Generator) -> Array:
        """Return distinct points of a scrambled Sobol sequence, at most (number, d)."""
        return distinct(self.from_cube(sobol_points(self.dimension, number, rng)))


def sobol_points(dimension: int, number: int, rng: np.random.Generator) -> Array:
    """Return the first points of a scrambled Sobol sequence, (number, dimension)."""
    powers = int(np.ceil(np.log2(max(number, 2))))
    points: Array = qmc.Sobol(dimension, rng=rng).random_base2(powers)[:number]
    return points


def distinct(points: Array) -> Array:
    """Return the rows of points (n, d) without repetitions, in their order."""
    _, first = np.unique(points, axis=0, return_index=True)
    return points[np.sort(first)]


@dataclass(frozen=True, eq=False)
class Arms:
    """A finite set of points of the unit cube, (n, d); any point is mapped to the nearest arm."""

    points: Array

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return tuple(f"x{i}" for i in range(self.dimension))

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return int(self.points.shape[1])

    @property
    def integers(self) -> tuple[int, ...]:
        """Arms have no integer coordinates."""
        return ()

    @property
    def bounds(self) -> Array:
        """Lower and upper bounds of the unit cube, (2, d)."""
        return np.array([np.zeros(self.dimension), np.ones(self.dimension)])

    @cached_property
    def space(self) -> tp.Configurations:
        """The domain as a search space of tailproof."""
        return tp.Configurations([self.params(point) for point in self.points])

    def point(self, params: Mapping[str, float | int]) -> Array:
        """Return parameters as a point, (d,)."""
        return np.array([params[name] for name in self.names], dtype=np.float64)

    def index(self, point: ArrayLike) -> int:
        """Return the index of the nearest arm."""
        gaps = self.points - np.asarray(point, dtype=np.float64)
        return int(np.argmin(np.einsum("ij,ij->i", gaps, gaps)))

    def params(self, point: ArrayLike) -> Params:
        """Return the nearest arm as parameters."""
        arm = self.points[self.index(point)]
        return {name: float(value) for name, value in zip(self.names, arm, strict=True)}

    def draw(self, number: int, rng: np.random.Generator) -> Array:
        """Return arms drawn uniformly, (number, d)."""
        return self.points[rng.integers(len(self.points), size=number)]

    def cover(self, number: int, rng: np.random.Generator) -> Array:
        """Return all arms, whatever the number asked for."""
        return self.points


Domain = Box | Arms
