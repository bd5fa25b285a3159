"""Grids and scales: how [0, 1] is shared out among finitely many values, or laid onto [low, high].

How a continuum is made exact: its values are the decimals of 13 or 14 digits between the ends, and
the ends themselves. Decimals lie further apart than the mapping's rounding errors, so a value is
found again bit for bit, two positions either give the same decimal or differ visibly, and
a value reads 0.001, not 0.0010000000000000002.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks

Array = NDArray[np.float64]

_EPSILON = float(np.finfo(np.float64).eps)
ROUNDING = 8 * _EPSILON  # relative: storages hand numbers back with their last bits changed
STEP_TOLERANCE = 1e-9  # of a step
_SMALLEST = 1e-290  # below it the powers of ten under a value's last digit lose their precision
_LARGEST = 1e308  # above it rounding may overflow on a log scale
_TEN = np.array([float(f"1e{k}") for k in range(-308, 309)])  # correctly rounded, unlike 10.0**k


def set_fields(target: Any, **values: Any) -> None:
    """Set fields of a frozen object that is being made."""
    for name, value in values.items():
        object.__setattr__(target, name, value)


# ---- places in [0, 1] and in the cube -----------------------------------------------------------


def unit_point(u: Any) -> Array:
    """Return one position as an array of one, so that one code serves scalars and arrays."""
    number = checks.number("u", u)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"`0 <= u <= 1` must hold, but got u={u!r}.")
    return np.array([number])


def cube_points(U: ArrayLike, dimension: int) -> Array:
    """Return a new (n, dimension) array of places in the cube."""
    points = checks.finite_array("U", U, ndim=2)
    if points.shape[1] != dimension:
        raise ValueError(f"`U` must have shape (n, {dimension}), but got {points.shape}.")
    if points.size and not (points.min() >= 0.0 and points.max() <= 1.0):
        outside = points[(points < 0.0) | (points > 1.0)][0]
        raise ValueError(f"`0 <= U <= 1` must hold, but got {outside!r}.")
    return points


def cube_point(u: ArrayLike, dimension: int) -> Array:
    """Return one place in the cube, (dimension,)."""
    return cube_points(checks.finite_array("u", u, ndim=1)[None, :], dimension)[0]


# ---- finite grids: k of count, each with an equal share of [0, 1] -----------------------------


def grid_index(u: Array, count: int) -> NDArray[np.int64]:
    """Return which of `count` equal shares of [0, 1] each u (n,) falls into."""
    return np.minimum((u * float(count)).astype(np.int64), count - 1)


def grid_position(index: NDArray[np.int64], count: int) -> Array:
    """Return the middle of each share (n,), or the float nearest to it inside the share."""
    u = np.minimum((index + 0.5) / float(count), 1.0)
    if count > 2**50:  # a share holds only a few floats, and the middle may be rounded out of it
        for _ in range(4):
            found = grid_index(u, count)
            u = np.where(found < index, np.nextafter(u, 1.0), u)
            u = np.where(found > index, np.nextafter(u, 0.0), u)
    return u


def grid_coordinates(u: Array, count: int) -> Array:
    """Return where each u (n,) lies between the first of `count` and the last, shape (n, 1)."""
    return (grid_index(u, count) / float(count - 1))[:, None]


def grid_moves(u: float, count: int) -> Array:
    """Return the positions one step down and up from u, where there are such."""
    index = int(grid_index(np.array([u]), count)[0])
    near = [k for k in (index - 1, index + 1) if 0 <= k < count]
    return grid_position(np.array(near, dtype=np.int64), count)


def corners(index: NDArray[np.int64], count: int) -> Array:
    """Return one of `count` points at mutual distance 1 for each index (n,), shape (n, count)."""
    result = np.zeros((len(index), count))
    result[np.arange(len(index)), index] = math.sqrt(0.5)
    return result


# ---- scales: [0, 1] onto [low, high] and back ---------------------------------------------------


@dataclass(frozen=True)
class Linear:
    """u -> low + u (high - low), written so that no range overflows."""

    low: float
    high: float

    def forward(self, u: Array) -> Array:
        """Return the values at u, (n,)."""
        return self.low * (1.0 - u) + self.high * u

    def inverse(self, values: Array) -> Array:
        """Return the u of values, (n,)."""
        half = 0.5 * self.low
        return (0.5 * values - half) / (0.5 * self.high - half)

    def decimals(self, values: Array) -> tuple[Array, Array]:
        """Return values as multiples of a unit 14 places below the larger end: how many, power."""
        size = max(abs(self.low), abs(self.high))
        power = np.full(len(values), math.ceil(math.log10(size)) - 14)
        return np.rint(values / _TEN[power + 308]), power


@dataclass(frozen=True)
class Logarithmic:
    """u -> low (high / low)^u, counted from the geometric middle so that no ratio overflows."""

    low: float
    high: float
    middle: float = field(init=False)
    start: float = field(init=False)
    length: float = field(init=False)
    digits: int = field(init=False)

    def __post_init__(self) -> None:
        middle = math.sqrt(self.low) * math.sqrt(self.high)
        start = math.log(self.low / middle)
        length = math.log(self.high / middle) - start
        # The relative error of forward after inverse is below eps (length + 4); neighboring
        # decimals lie at least ten times as far apart.
        digits = math.floor(-math.log10(10.0 * _EPSILON * (length + 4.0)))
        set_fields(self, middle=middle, start=start, length=length, digits=digits)

    def forward(self, u: Array) -> Array:
        """Return the values at u, (n,)."""
        return self.middle * np.exp(self.start + u * self.length)

    def inverse(self, values: Array) -> Array:
        """Return the u of values, (n,)."""
        return (np.log(values / self.middle) - self.start) / self.length

    def decimals(self, values: Array) -> tuple[Array, Array]:
        """Return values as whole numbers of `digits` digits and powers of ten."""
        power = np.floor(np.log10(values)).astype(np.int64) - (self.digits - 1)
        whole = np.rint(values / _TEN[power + 308])
        carried = whole >= 10.0**self.digits  # 9.99.. that became 10.0
        return np.where(carried, whole / 10.0, whole), power + carried


@dataclass(frozen=True)
class Continuum:
    """Low, high, and between them the decimals that the scale can tell apart."""

    scale: Linear | Logarithmic

    def position(self, values: Array) -> Array:
        """Return the canonical u of the members nearest to `values`, (n,)."""
        whole, unit, at_low, at_high = self._nearest(values)
        # At the ends the decimal may lie outside, where a logarithm or a product has no value.
        end = at_low | at_high
        u = self.scale.inverse(np.where(end, self.scale.high, np.where(end, 0.0, whole) * unit))
        return np.where(at_low, 0.0, np.where(at_high, 1.0, u))

    def snap(self, u: Array) -> Array:
        """Return the canonical positions of the members at u, (n,)."""
        return self.position(self.scale.forward(u))

    def value(self, u: Array) -> float:
        """Return the member at the first u, as the float nearest to its decimal."""
        values = self.scale.forward(u[:1])
        _, _, at_low, at_high = self._nearest(values)
        if at_low[0] or at_high[0]:
            return self.scale.low if at_low[0] else self.scale.high
        whole, power = self.scale.decimals(values)
        return float(f"{int(whole[0])}e{int(power[0])}")

    def _nearest(self, values: Array) -> tuple[Array, Array, Any, Any]:
        """Return the nearest decimals, whole times unit, and which of them give way to an end.

        An end takes what is nearer to it than 0.6 of a unit: not 0.5, for the decimal nearest to
        an end must give way in spite of rounding. Compared in halves, which do not overflow.
        """
        whole, power = self.scale.decimals(values)
        unit = _TEN[power + 308]
        half = whole * (0.5 * unit)
        at_low = half <= 0.5 * self.scale.low + 0.3 * unit
        return whole, unit, at_low, ~at_low & (half >= 0.5 * self.scale.high - 0.3 * unit)


def check_range(low: float, high: float, log: bool) -> None:
    """Refuse ends between which a scale cannot tell its values apart."""
    if not low < high:
        raise ValueError(
            f"`low < high` must hold, but got low={low!r}, high={high!r}; "
            "use Fixed(value) for a constant."
        )
    if log and not (low >= _SMALLEST and high <= _LARGEST):
        raise ValueError(
            f"`low >= {_SMALLEST}` and `high <= {_LARGEST}` must hold for a log scale, "
            f"but got low={low!r}, high={high!r}."
        )
    size = max(abs(low), abs(high))
    if size < _SMALLEST or high * 0.5 - low * 0.5 < 0.5e-10 * size:
        raise ValueError(
            "`high - low` must be at least 1e-10 of the larger end's size (and that at least "
            f"{_SMALLEST}), but got low={low!r}, high={high!r}."
        )


@dataclass(frozen=True)
class Steps:
    """Low, low + step and so on, counted in decimals; the last step does not pass high.

    Examples
    --------
    >>> tenths = Steps(0.0, 1.0, 0.1)
    >>> tenths.count, tenths.value(np.array([0.3]))
    (11, 0.3)
    """

    low: float
    high: float
    step: float
    count: int = field(init=False)

    def __post_init__(self) -> None:
        span = Fraction(repr(self.high)) - Fraction(repr(self.low))
        ratio = span / Fraction(repr(self.step)) + Fraction(repr(STEP_TOLERANCE))
        if self.step < 1e-12 * self._size or ratio < 1:
            raise ValueError(
                f"`step` must be at most high - low and at least 1e-12 of the larger end's size, "
                f"but got step={self.step!r} for low={self.low!r}, high={self.high!r}."
            )
        set_fields(self, count=math.floor(ratio) + 1)

    def value(self, u: Array) -> float:
        """Return the step at the first u."""
        return self._at(int(grid_index(u, self.count)[0]))

    def snap(self, u: Array) -> Array:
        """Return the canonical positions of the steps at u, (n,)."""
        return grid_position(grid_index(u, self.count), self.count)

    def position(self, number: float, name: str) -> float:
        """Return the canonical u of the step that `number` is, up to rounding."""
        offset = Fraction(number) - Fraction(repr(self.low))
        index = min(max(round(offset / Fraction(repr(self.step))), 0), self.count - 1)
        allowed = max(STEP_TOLERANCE * self.step, ROUNDING * self._size)
        if abs(number - self._at(index)) > allowed:
            raise ValueError(
                f"`{name}` must be one of {self.count} steps of {self.step!r} from {self.low!r}, "
                f"but got {name}={number!r}."
            )
        return float(grid_position(np.array([index]), self.count)[0])

    @property
    def _size(self) -> float:
        return max(abs(self.low), abs(self.high))

    def _at(self, index: int) -> float:
        exact = Fraction(repr(self.low)) + index * Fraction(repr(self.step))
        gap = Fraction(repr(self.high)) - exact
        # A last step of 0.9999999999999999 (three of 1/3) or 1.0000000000000001 is high.
        near = gap <= Fraction(repr(self.step)) * Fraction(repr(STEP_TOLERANCE))
        return self.high if near else float(exact) + 0.0
