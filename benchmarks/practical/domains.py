"""Domains over search spaces of tailproof, with the interface of `rivals.domains`.

A point is the model's encoding of a configuration: a number in [0, 1] for a float or an integer, on
its logarithmic scale where it has one, and a corner of a simplex for a choice. So every method
searches the same coordinates; Optuna gets the parameters themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import tailproof as tp
from rivals.domains import Arms, Array, Box, distinct, sobol_points

FINITE = 1000  # a space with at most so many configurations is a list of arms for BoTorch
Params = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Encoded:
    """A space of parameters, none of them fixed.

    Examples
    --------
    >>> space = tp.Space(n=tp.Int(1, 100, log=True), c=tp.Choice("a", "b"))
    >>> domain = Encoded(space)
    >>> domain.point({"n": 10, "c": "b"}).round(2), domain.params([0.52, 0.1, 0.6])
    (array([0.5 , 0.  , 0.71]), {'n': 11, 'c': 'b'})
    """

    space: tp.Space

    integers = ()  # a point between two integers is mapped to the nearest when it is evaluated

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.space.names

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""
        return self.space.encoded_dimension

    @property
    def bounds(self) -> Array:
        """Lower and upper bounds of the coordinates, (2, d)."""
        return np.array([np.zeros(self.dimension), np.ones(self.dimension)])

    def point(self, params: Mapping[str, Any]) -> Array:
        """Return parameters as a point, (d,)."""
        return self.space.encode(self.space.position(params)[None, :])[0]

    def params(self, point: ArrayLike) -> Params:
        """Return the configuration nearest to a point."""
        coordinates = np.clip(np.asarray(point, dtype=np.float64), 0.0, 1.0)
        u = np.empty(self.space.dimension)
        for k, grid in enumerate(self._grids):
            own = coordinates[self.space.parameter_of_column == k]
            if grid is None:
                u[k] = own[0]
            else:
                positions, encoded = grid
                u[k] = positions[int(np.square(encoded - own).sum(axis=1).argmin())]
        return self.space.params(u)

    @cached_property
    def _grids(self) -> list[tuple[Array, Array] | None]:
        """Positions and encodings of each parameter's values; None for a continuum."""
        encodings = [p.encoding for p in self.space.parameters.values()]
        return [
            None if e.count is None else (e.positions(), e.encode(e.positions())) for e in encodings
        ]

    def draw(self, number: int, rng: np.random.Generator) -> Array:
        """Return points drawn uniformly, (number, d)."""
        return self.space.encode(rng.random((number, self.space.dimension)))

    def cover(self, number: int, rng: np.random.Generator) -> Array:
        """Return distinct points of a scrambled Sobol sequence, at most (number, d)."""
        return distinct(self.space.encode(sobol_points(self.space.dimension, number, rng)))


@dataclass(frozen=True, eq=False)
class Enumerated(Arms):
    """All configurations of a finite space; `points` are their encodings, (n, d).

    Examples
    --------
    >>> domain = Enumerated.of(tp.Space(c=tp.Choice("a", "b", "c")))
    >>> domain.params(domain.point({"c": "b"}))
    {'c': 'b'}
    """

    parameters: tp.Space

    @classmethod
    def of(cls, space: tp.Space) -> Enumerated:
        """Return the domain of a space with at most `FINITE` configurations."""
        return cls(space.encode(space.enumerate(FINITE)), space)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.parameters.names

    @property
    def space(self) -> tp.Space:  # type: ignore[override]
        """The space itself."""
        return self.parameters

    @cached_property
    def configurations(self) -> list[Params]:
        """All configurations, in the order of the points."""
        return [self.parameters.params(u) for u in self.parameters.enumerate(FINITE)]

    def point(self, params: Mapping[str, Any]) -> Array:
        """Return parameters as a point, (d,)."""
        return self.parameters.encode(self.parameters.position(params)[None, :])[0]

    def params(self, point: ArrayLike) -> Params:
        """Return the configuration nearest to a point."""
        return dict(self.configurations[self.index(point)])


Domain = Encoded | Enumerated | Box | Arms


def domain_of(space: tp.Space) -> Encoded | Enumerated:
    """Return the domain of a space: enumerated where it has few configurations."""
    few = space.count is not None and space.count <= FINITE
    return Enumerated.of(space) if few else Encoded(space)
