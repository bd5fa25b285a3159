"""Encodings: where the values of a parameter lie in the search cube, and what a kernel compares.

Notation: u in [0, 1] is a coordinate of the search cube, (n,) of them in an array. An encoding has

- count: number of values, None for a continuum;
- snap(u): the canonical positions of the values at u, so that equal values have equal u;
- encode(u): the model's coordinates of these values, shape (n, encoded_dimension);
- neighbors(u): the positions of the values one discrete step away from a single u.

`EncodedSpace` puts encodings side by side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

EPS = float(np.finfo(np.float64).eps)
_FEWEST_WITH_MIDDLE = 8

_POWERS_OF_TEN = np.array([float(f"1e{k}") for k in range(-308, 309)])  # 10.0**k is less exact


class Continuum:
    """The numbers from low to high on a linear or logarithmic scale.

    To find values again bit for bit, a continuum has the ends and the decimals of 13 or 14 digits
    between them: decimals lie further apart than the rounding errors of the scale. A value then
    reads 0.001, not 0.0010000000000000002.

    Examples
    --------
    >>> scale = Continuum(1e-4, 1.0, log=True)
    >>> scale.value(np.array([0.25])), scale.position(np.array([0.01]))
    (0.001, array([0.5]))
    """

    count = None
    encoded_dimension = 1
    has_middle = True

    def __init__(self, low: float, high: float, *, log: bool) -> None:
        """Encode decimals from `low` to `high`, linearly or by the logarithm."""
        self.low, self.high, self.log = low, high, log
        if log:
            # Counted from the geometric middle, so that no ratio overflows.
            self._middle = math.sqrt(low) * math.sqrt(high)
            self._start = math.log(low / self._middle)
            self._length = math.log(high / self._middle) - self._start
            # to_unit and back has a relative error below eps (length + 4); neighboring decimals
            # lie at least ten times as far apart.
            self._digits = math.floor(-math.log10(10.0 * EPS * (self._length + 4.0)))
        else:
            self._power = math.ceil(math.log10(max(abs(low), abs(high)))) - 14

    def from_unit(self, u: Array) -> Array:
        """Return the numbers that u encodes before rounding, (n,)."""
        if self.log:
            return self._middle * np.exp(self._start + u * self._length)
        return self.low * (1.0 - u) + self.high * u

    def to_unit(self, numbers: Array) -> Array:
        """Return the u that encodes numbers, (n,); the inverse of `from_unit`."""
        if self.log:
            return (np.log(numbers / self._middle) - self._start) / self._length
        return (numbers - self.low) / (self.high - self.low)

    def value(self, u: Array) -> float:
        """Return the value that the only u, (1,), encodes."""
        whole, power, at_low, at_high = (x[0] for x in self._round(self.from_unit(u)))
        if at_low or at_high:
            return self.low if at_low else self.high
        return float(f"{int(whole)}e{int(power)}")

    def position(self, numbers: Array) -> Array:
        """Return the canonical u that encodes the values nearest to numbers, (n,)."""
        whole, power, at_low, at_high = self._round(numbers)
        u = self.to_unit(whole * _POWERS_OF_TEN[power + 308])
        return np.where(at_low, 0.0, np.where(at_high, 1.0, u))

    def snap(self, u: Array) -> Array:
        """Return the canonical cube positions of the values that u encodes, (n,)."""
        return self.position(self.from_unit(u))

    def encode(self, u: Array) -> Array:
        """Return u itself as the encoding, (n, 1)."""
        return u[:, None]

    def neighbors(self, u: float) -> Array:
        """Return no positions: a continuum is encoded without discrete steps."""
        return np.empty(0)

    def _round(self, numbers: Array) -> tuple[Array, Indices, NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the nearest decimals to encode, whole x 10^power, and which are low or high.

        An end takes what is nearer to it than 0.6 units of the last digit: not 0.5, for the decimal
        nearest to an end must be the end in spite of rounding.
        """
        if self.log:
            power = np.floor(np.log10(numbers)).astype(np.int64) - (self._digits - 1)
        else:
            power = np.full(len(numbers), self._power)
        whole = np.rint(numbers / _POWERS_OF_TEN[power + 308])
        if self.log:
            carried = whole >= 10.0**self._digits  # 9.99.. that became 10.0
            whole, power = np.where(carried, whole / 10.0, whole), power + carried
        unit = _POWERS_OF_TEN[power + 308]
        at_low = whole * unit <= self.low + 0.6 * unit
        return whole, power, at_low, ~at_low & (whole * unit >= self.high - 0.6 * unit)


class Grid:
    """Finitely many values in order: equal shares of [0, 1], equal distances in the model."""

    encoded_dimension = 1

    def __init__(self, count: int) -> None:
        """Encode `count` values in equal shares of [0, 1]."""
        self.count = count

    @property
    def has_middle(self) -> bool:
        """Whether an encoded grid has more than a few values, so that some are not at its ends."""
        return self.count >= _FEWEST_WITH_MIDDLE

    def index(self, u: Array) -> Indices:
        """Return which value each u encodes, (n,)."""
        return np.minimum((u * float(self.count)).astype(np.int64), self.count - 1)

    def position(self, index: Indices) -> Array:
        """Return the canonical u that encodes values by index, (n,): the middle of their share."""
        return np.asarray((index + 0.5) / float(self.count), dtype=np.float64)

    def positions(self) -> Array:
        """Return the canonical u that encode all values in order, (count,)."""
        return self.position(np.arange(self.count))

    def snap(self, u: Array) -> Array:
        """Return the canonical cube positions of the values that u encodes, (n,)."""
        return self.position(self.index(u))

    def encode(self, u: Array) -> Array:
        """Return where the values lie between the first and the last, (n, 1)."""
        return (self.index(u) / float(self.count - 1))[:, None]

    def neighbors(self, u: float) -> Array:
        """Return the positions that encode the next smaller and the next larger value."""
        index = int(self.index(np.array([u]))[0])
        near = [k for k in (index - 1, index + 1) if 0 <= k < self.count]
        return self.position(np.array(near, dtype=np.int64))


class LogIntegers(Grid):
    """The integers from low to high, each with its share of a logarithmic scale."""

    def __init__(self, low: int, high: int) -> None:
        """Encode integers by the logarithm, from `low` to `high`."""
        super().__init__(high - low + 1)
        self.low, self.high = low, high
        self._scale = Continuum(low - 0.5, high + 0.5, log=True)

    def index(self, u: Array) -> Indices:
        """Return which integer each u encodes, counted from low, (n,)."""
        numbers = np.rint(self._scale.from_unit(u))
        return np.minimum(np.maximum(numbers, self.low), self.high).astype(np.int64) - self.low

    def position(self, index: Indices) -> Array:
        """Return the canonical u that encodes integers given by index, (n,)."""
        return self._scale.to_unit((index + self.low).astype(np.float64))

    def encode(self, u: Array) -> Array:
        """Return where the logarithms lie between those of low and high, (n, 1)."""
        ratio = (self.low + self.index(u)) / self.low
        return (np.log(ratio) / math.log(self.high / self.low))[:, None]


class Categories(Grid):
    """Options without an order: corners of a simplex, each a neighbor of every other."""

    has_middle = False

    def __init__(self, count: int) -> None:
        """Encode `count` options in equal shares of [0, 1]."""
        super().__init__(count)
        self.encoded_dimension = count

    def encode(self, u: Array) -> Array:
        """Return corners of a simplex, all at distance 1 from each other, (n, count)."""
        return simplex_corners(self.index(u), self.count)

    def neighbors(self, u: float) -> Array:
        """Return the positions that encode all other options."""
        index = np.arange(self.count)
        return self.position(index[index != self.index(np.array([u]))])


Encoding = Continuum | Grid


def simplex_corners(index: Indices, count: int) -> Array:
    """Encode each index (n,) as one of `count` points at mutual distance 1, shape (n, count)."""
    return (index[:, None] == np.arange(count)) * math.sqrt(0.5)


class EncodedSpace:
    """A search cube with one encoding for each coordinate; `Space` describes the attributes."""

    def __init__(self, encodings: Sequence[Encoding]) -> None:
        self._encodings = tuple(encodings)
        self.dimension = len(self._encodings)
        counts = [encoding.count for encoding in self._encodings]
        self.count = None if None in counts else math.prod(k for k in counts if k is not None)
        self.discrete = np.array([count is not None for count in counts], dtype=bool)
        self.has_middle = np.array([e.has_middle for e in self._encodings], dtype=bool)
        sizes = np.array([e.encoded_dimension for e in self._encodings], dtype=np.int64)
        self.encoded_dimension = int(sizes.sum())
        ends = np.cumsum(sizes)
        self._columns = [slice(*pair) for pair in zip(ends - sizes, ends, strict=True)]
        self.encoded_columns = np.where(self.discrete, -1, ends - sizes)
        self.parameter_of_column = np.repeat(np.arange(self.dimension), sizes)
        for array in (
            self.discrete,
            self.has_middle,
            self.encoded_columns,
            self.parameter_of_column,
        ):
            array.flags.writeable = False

    def snap(self, U: ArrayLike) -> Array:
        """Return canonical places (n, dimension): rows are equal where configurations are."""
        points = self._cube_points(U)
        for column, encoding in enumerate(self._encodings):
            points[:, column] = encoding.snap(points[:, column])
        return points

    def encode(self, U: ArrayLike) -> Array:
        """Return the model's coordinates of configurations, (n, encoded_dimension)."""
        points = self._cube_points(U)
        result = np.empty((len(points), self.encoded_dimension))
        for column, (encoding, columns) in enumerate(
            zip(self._encodings, self._columns, strict=True)
        ):
            result[:, columns] = encoding.encode(points[:, column])
        return result

    def neighbors(self, u: ArrayLike) -> Array:
        """Return all configurations one discrete step away, (k, dimension).

        A step is the next number up or down, or any other option of a Choice.
        """
        start = self.snap(self._cube_point(u)[None, :])[0]
        steps = [e.neighbors(float(start[k])) for k, e in enumerate(self._encodings)]
        ends = np.cumsum([0, *map(len, steps)])
        result = np.tile(start, (int(ends[-1]), 1))
        for column, places in enumerate(steps):
            result[ends[column] : ends[column + 1], column] = places
        return result

    def stack(self, places: Sequence[Array]) -> Array:
        """Return places as the rows of an array, (k, dimension); there may be none."""
        return np.array(places).reshape(len(places), self.dimension)

    def enumerate(self, limit: int) -> Array:
        """Return the places of all configurations, (count, dimension), the last fastest."""
        if self.count is None or self.count > limit:
            raise ValueError(f"`count <= {limit}` must hold, but got count={self.count}.")
        places = [e.positions() for e in self._encodings if isinstance(e, Grid)]
        grids = np.meshgrid(*places, indexing="ij")
        return np.stack([g.ravel() for g in grids], axis=1) if grids else np.empty((1, 0))

    def _cube_points(self, U: ArrayLike) -> Array:
        """Return a new (n, dimension) array of places in the cube."""
        points = checks.finite_array("U", U, ndim=2)
        if points.shape[1] != self.dimension:
            raise ValueError(f"`U` must have shape (n, {self.dimension}), but got {points.shape}.")
        if points.size and not 0.0 <= points.min() <= points.max() <= 1.0:
            outside = points[(points < 0.0) | (points > 1.0)]
            raise ValueError(f"`0 <= U <= 1` must hold, but got {outside[0]!r}.")
        return points

    def _cube_point(self, u: ArrayLike) -> Array:
        """Return one place in the cube, (dimension,)."""
        return self._cube_points(checks.finite_array("u", u, ndim=1)[None, :])[0]
