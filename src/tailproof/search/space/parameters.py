"""Parameters of a search space: how a number in [0, 1] becomes a value, and a value a number.

Notation: u in [0, 1] is a parameter's coordinate in the search cube. Every parameter has

- value(u): the value at u;
- position(v): the canonical u of a value, with value(position(v)) == v for every v that
  some u gives;
- snap(u): position(value(u)) for an array, so that equal values have equal u;
- coordinates(u): where the values lie in the model that compares them, shape (n, encoded_dimension): one
  coordinate in [0, 1] for numbers, one an option for choices, none for constants;
- count: how many values there are, None for a continuum; moves(u): the neighboring values' u.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._util import checks
from tailproof.search.space.scales import (
    ROUNDING,
    STEP_TOLERANCE,
    Continuum,
    Linear,
    Logarithmic,
    Steps,
    check_range,
    corners,
    grid_coordinates,
    grid_index,
    grid_moves,
    grid_position,
    set_fields,
    unit_point,
)
from tailproof.search.space.values import Constant, Fixed, constant, typed, untyped

__all__ = ["Choice", "Fixed", "Float", "Int", "Parameter", "parameter_from_state"]

Array = NDArray[np.float64]

_MOST_INTEGERS = 2**53 + 1  # beyond, [0.5, 1] has not a float for each
_LARGEST_LOG_INTEGER = 10**13  # further up [0, 1] has too few floats to reach every integer


@dataclass(frozen=True, repr=False)
class Float:
    """A real number in [low, high]: a continuum on a linear or logarithmic scale, or steps.

    Parameters
    ----------
    low, high
        The ends, both included; high - low at least 1e-10 of the larger one's size.
    log
        Whether equal ratios, not equal differences, are equally far apart; low > 0.
    step
        Distance of neighboring values, counted from low; the last value is the last step that
        does not pass high. Steps are counted in decimals: 3 steps of 0.1 make 0.3.

    Examples
    --------
    >>> Float(1e-5, 1e-1, log=True).value(0.5)
    0.001
    >>> tenths = Float(0, 1, step=0.1)
    >>> tenths, tenths.count, tenths.value(0.3), tenths.value(1.0)
    (Float(0.0, 1.0, step=0.1), 11, 0.3, 1.0)
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None
    count: int | None = field(init=False, compare=False)
    _values: Continuum | Steps = field(init=False, compare=False)

    def __post_init__(self) -> None:
        low = checks.number("low", self.low) + 0.0  # -0.0 becomes 0.0
        high = checks.number("high", self.high) + 0.0
        log = _flag("log", self.log)
        check_range(low, high, log)
        step = None if self.step is None else checks.positive("step", self.step)
        if log and step is not None:
            raise ValueError(f"`step` must be None for a log scale, but got step={step!r}.")
        if step is None:
            continuum = Continuum(Logarithmic(low, high) if log else Linear(low, high))
            set_fields(self, count=None, _values=continuum)
        else:
            steps = Steps(low, high, step)
            set_fields(self, count=steps.count, _values=steps)
        set_fields(self, low=low, high=high, log=log, step=step)

    def __repr__(self) -> str:
        more = f", step={self.step!r}" if self.step is not None else ""
        return f"Float({self.low!r}, {self.high!r}{', log=True' if self.log else ''}{more})"

    @property
    def encoded_dimension(self) -> int:
        """One model coordinate."""
        return 1

    def value(self, u: float) -> float:
        """Return the value at u in [0, 1]."""
        return self._values.value(unit_point(u))

    def position(self, value: Any, name: str = "value") -> float:
        """Return the canonical u of a value; one between two decimals counts as the nearer."""
        number = checks.number(name, value)
        low, high = (self.low, self.high) if self.log else (self._size, self._size)
        if not self.low - ROUNDING * low <= number <= self.high + ROUNDING * high:
            raise ValueError(
                f"`{self.low!r} <= {name} <= {self.high!r}` must hold, but got {name}={value!r}."
            )
        if isinstance(self._values, Steps):
            return self._values.position(number, name)
        return float(self._values.position(np.clip([number], self.low, self.high))[0])

    def snap(self, u: Array) -> Array:
        """Return the canonical positions of the values at u, shape (n,)."""
        return self._values.snap(u)

    def encode(self, u: Array) -> Array:
        """Return where the values lie between low and high, (n, 1): u itself for a continuum."""
        return u[:, None].copy() if self.count is None else grid_coordinates(u, self.count)

    def moves(self, u: float) -> Array:
        """Return the positions one step away; none for a continuum."""
        return np.empty(0) if self.count is None else grid_moves(u, self.count)

    def positions(self) -> Array:
        """Return the positions of all steps in order; refused for a continuum."""
        if self.count is None:
            raise ValueError(f"`count` must be finite, but got the continuum {self!r}.")
        return grid_position(np.arange(self.count), self.count)

    def state(self) -> dict[str, Any]:
        """Return a JSON-able description."""
        ends = {"low": self.low, "high": self.high}
        return {"kind": "float", **ends, "log": self.log, "step": self.step}

    @property
    def _size(self) -> float:
        return max(abs(self.low), abs(self.high))


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"`{name}` must be True or False, but got {name}={value!r}.")
    return bool(value)


@dataclass(frozen=True, repr=False)
class Int:
    """An integer from low to high, both included: each, in steps, or on a logarithmic scale.

    Parameters
    ----------
    low, high
        The ends, of size at most 2^53 (so that storages that keep floats keep them exactly).
    log
        Whether equal ratios are equally far apart; 1 <= low and high <= 10^13.
    step
        Distance of neighboring values, counted from low; 1 on a log scale.

    Examples
    --------
    >>> Int(1, 8).value(0.0), Int(1, 8).value(1.0), Int(2, 10, step=4).value(0.5)
    (1, 8, 6)
    >>> Int(1, 1000, log=True).value(0.5)
    22
    """

    low: int
    high: int
    log: bool = False
    step: int = 1
    _scale: Logarithmic | None = field(init=False, compare=False)

    def __post_init__(self) -> None:
        low, high = _whole("low", self.low), _whole("high", self.high)
        step = checks.integer("step", self.step, low=1)
        log = _flag("log", self.log)
        _check_integers(low, high, log, step)
        scale = Logarithmic(low - 0.5, high + 0.5) if log else None
        set_fields(self, low=low, high=high, log=log, step=step, _scale=scale)

    def __repr__(self) -> str:
        more = f", step={self.step}" if self.step != 1 else ""
        return f"Int({self.low}, {self.high}{', log=True' if self.log else ''}{more})"

    @property
    def count(self) -> int:
        """Number of integers."""
        return (self.high - self.low) // self.step + 1

    @property
    def encoded_dimension(self) -> int:
        """One model coordinate."""
        return 1

    def value(self, u: float) -> int:
        """Return the integer at u: each has an equal share of [0, 1], or of the log scale."""
        return self.low + self.step * int(self._index(unit_point(u))[0])

    def position(self, value: Any, name: str = "value") -> float:
        """Return the canonical u of an integer, which may come as 3.0."""
        number = _whole(name, value, slack=STEP_TOLERANCE * self.step)
        if not self.low <= number <= self.high or (number - self.low) % self.step:
            steps = f" in steps of {self.step}" if self.step != 1 else ""
            raise ValueError(
                f"`{name}` must be an integer from {self.low} to {self.high}{steps}, "
                f"but got {name}={value!r}."
            )
        return float(self._place(np.array([(number - self.low) // self.step]))[0])

    def snap(self, u: Array) -> Array:
        """Return the canonical positions of the integers at u, shape (n,)."""
        return self._place(self._index(u))

    def encode(self, u: Array) -> Array:
        """Return where the integers lie between low and high, (n, 1), in logarithms if log."""
        if self._scale is None:
            return grid_coordinates(u, self.count)
        ratio = (self.low + self._index(u)) / self.low
        return (np.log(ratio) / math.log(self.high / self.low))[:, None]

    def moves(self, u: float) -> Array:
        """Return the positions of the next smaller and the next larger integer."""
        index = int(self._index(np.array([u]))[0])
        near = [k for k in (index - 1, index + 1) if 0 <= k < self.count]
        return self._place(np.array(near, dtype=np.int64))

    def positions(self) -> Array:
        """Return the positions of all integers in order."""
        return self._place(np.arange(self.count))

    def state(self) -> dict[str, Any]:
        """Return a JSON-able description."""
        ends = {"low": self.low, "high": self.high}
        return {"kind": "int", **ends, "log": self.log, "step": self.step}

    def _index(self, u: Array) -> NDArray[np.int64]:
        if self._scale is None:
            return grid_index(u, self.count)
        values = np.rint(self._scale.forward(u))
        return np.clip(values, self.low, self.high).astype(np.int64) - self.low

    def _place(self, index: NDArray[np.int64]) -> Array:
        if self._scale is None:
            return grid_position(index, self.count)
        return self._scale.inverse((index + self.low).astype(np.float64))


def _whole(name: str, value: Any, slack: float = 0.0) -> int:
    """Return an integer; with `slack` also from a float at most that far from one."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and math.isfinite(plain) and abs(plain - round(plain)) <= slack:
        return round(plain)
    return checks.integer(name, plain, low=-(10**400))  # no bound of its own


def _check_integers(low: int, high: int, log: bool, step: int) -> None:
    came = f"but got low={low!r}, high={high!r}"
    if not low < high:
        raise ValueError(f"`low < high` must hold, {came}; use Fixed(value) for a constant.")
    if max(abs(low), abs(high)) > 2**53:
        raise ValueError(f"`-2**53 <= low` and `high <= 2**53` must hold, {came}.")
    if step > high - low:
        raise ValueError(f"`step <= high - low` must hold, {came}, step={step!r}.")
    if (high - low) // step + 1 > _MOST_INTEGERS:
        raise ValueError(f"`(high - low) / step <= 2**53` must hold, {came}, step={step!r}.")
    if log and step != 1:
        raise ValueError(f"`step` must be 1 for a log scale, but got step={step!r}.")
    if log and not (low >= 1 and high <= _LARGEST_LOG_INTEGER):
        raise ValueError(f"`1 <= low` and `high <= 10**13` must hold for a log scale, {came}.")


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Choice:
    """One of several options without an order: text, booleans, numbers, None.

    Options are told apart by type and value: 1, 1.0 and True are three options.

    Examples
    --------
    >>> act = Choice("relu", "gelu", None)
    >>> act.value(0.5), act.position("relu") < act.position(None), act
    ('gelu', True, Choice('relu', 'gelu', None))
    """

    options: tuple[Constant, ...]
    _index: dict[tuple[str, Constant], int]

    def __init__(self, *options: Any) -> None:
        if len(options) == 1 and isinstance(options[0], list | tuple):
            options = tuple(options[0])
        plain = tuple(constant("options", one) for one in options)
        if len(plain) < 2:
            raise ValueError(
                f"`options` must hold at least two, but got {list(plain)}; "
                "use Fixed(value) for a constant."
            )
        index = {typed(one): k for k, one in enumerate(plain)}
        if len(index) < len(plain):
            raise ValueError(f"`options` must be distinct, but got {list(plain)}.")
        set_fields(self, options=plain, _index=index)

    def __repr__(self) -> str:
        return f"Choice({', '.join(map(repr, self.options))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and list(self._index) == list(other._index)

    def __hash__(self) -> int:
        return hash(tuple(self._index))

    @property
    def count(self) -> int:
        """Number of options."""
        return len(self.options)

    @property
    def encoded_dimension(self) -> int:
        """One model coordinate an option."""
        return len(self.options)

    def value(self, u: float) -> Constant:
        """Return the option at u: each has an equal share of [0, 1]."""
        return self.options[int(grid_index(unit_point(u), self.count)[0])]

    def position(self, value: Any, name: str = "value") -> float:
        """Return the canonical u of an option."""
        index = self._index.get(typed(constant(name, value)))
        if index is None:
            raise ValueError(
                f"`{name}` must be one of {list(self.options)}, but got {name}={value!r}."
            )
        return float(grid_position(np.array([index]), self.count)[0])

    def snap(self, u: Array) -> Array:
        """Return the canonical positions of the options at u, shape (n,)."""
        return grid_position(grid_index(u, self.count), self.count)

    def encode(self, u: Array) -> Array:
        """Return corners of a simplex, all at distance 1 from each other, (n, options)."""
        return corners(grid_index(u, self.count), self.count)

    def moves(self, u: float) -> Array:
        """Return the positions of all other options."""
        return np.delete(self.positions(), grid_index(np.array([u]), self.count))

    def positions(self) -> Array:
        """Return the positions of all options in order."""
        return grid_position(np.arange(self.count), self.count)

    def state(self) -> dict[str, Any]:
        """Return a JSON-able description."""
        return {"kind": "choice", "options": [list(typed(one)) for one in self.options]}


Parameter = Float | Int | Choice | Fixed


def parameter_from_state(state: Mapping[str, Any]) -> Parameter:
    """Return the parameter that a `state()` describes.

    Examples
    --------
    >>> parameter_from_state(Int(1, 8).state())
    Int(1, 8)
    """
    kind = state.get("kind")
    if kind == "float":
        return Float(state["low"], state["high"], state["log"], state["step"])
    if kind == "int":
        return Int(state["low"], state["high"], state["log"], state["step"])
    if kind == "choice":
        return Choice(*(untyped(*one) for one in state["options"]))
    if kind == "fixed":
        return Fixed(untyped(*state["constant"]))
    raise ValueError(f"`kind` must be float, int, choice or fixed, but got kind={kind!r}.")
