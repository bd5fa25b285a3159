"""Parameters of a search space: Float, Int, Choice and Fixed.

A parameter knows its values; its `encoding` says where they lie in [0, 1] and in the model.
value(u) is the value at u in [0, 1]; position(v) is the canonical u of a value, with
value(position(v)) == v for every v that some u gives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

import numpy as np

from tailproof._util import checks
from tailproof.search.space.encodings import EPS, Array, Categories, Continuum, Grid, LogIntegers
from tailproof.search.space.values import Constant, constant, typed, untyped

_SMALLEST, _LARGEST = 1e-290, 1e300  # sizes whose decimals neither lose digits nor overflow
_LARGEST_INTEGER = 2**50  # further up a share of [0, 1] has too few floats
_LARGEST_LOG_INTEGER = 10**13  # the same for the shares of a log scale
_ROUNDING = 8 * EPS  # relative: storages change the last bits
_STEP_TOLERANCE = 1e-9  # of a step


class _Number:
    """What Float and Int share."""

    low: float
    high: float
    log: bool
    step: float | None
    encoding: Continuum | Grid

    def __repr__(self) -> str:
        """Return the parameter as it is written in code, without defaults."""
        log = ", log=True" if self.log else ""
        step = "" if self.step == type(self).step else f", step={self.step!r}"
        return f"{type(self).__name__}({self.low!r}, {self.high!r}{log}{step})"

    @property
    def count(self) -> int | None:
        """Number of values of the parameter, None for a continuum."""
        return self.encoding.count

    def state(self) -> dict[str, Any]:
        """Return a JSON-able description of the parameter."""
        ends = {"low": self.low, "high": self.high}
        return {"kind": type(self).__name__.lower(), **ends, "log": self.log, "step": self.step}


@dataclass(frozen=True, repr=False)
class Float(_Number):
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
    encoding: Continuum | Grid = field(init=False, compare=False)

    def __post_init__(self) -> None:
        low = checks.number("low", self.low) + 0.0  # -0.0 becomes 0.0
        high = checks.number("high", self.high) + 0.0
        log = checks.flag("log", self.log)
        step = None if self.step is None else checks.positive("step", self.step)
        _set_parameter_fields(self, low=low, high=high, log=log, step=step)
        _check_bounds_order(low, high)
        if log and low < _SMALLEST:
            _refuse_value(f"`low >= {_SMALLEST}` must hold for a log scale", low=low)
        if not _SMALLEST <= self._bound_size <= _LARGEST:
            rule = f"`{_SMALLEST} <= max(|low|, |high|) <= {_LARGEST}` must hold"
            _refuse_value(rule, low=low, high=high)
        if high - low < 1e-10 * self._bound_size:
            rule = "`high - low` must be at least 1e-10 of the larger end's size"
            _refuse_value(rule, low=low, high=high)
        if step is None:
            _set_parameter_fields(self, encoding=Continuum(low, high, log=log))
            return
        if log:
            _refuse_value("`step` must be None for a log scale", step=step)
        steps = math.floor((_exact(high) - _exact(low)) / _exact(step) + _exact(_STEP_TOLERANCE))
        if steps < 1 or step < 1e-12 * self._bound_size:
            rule = "`step` must be at most high - low and at least 1e-12 of the larger end's size"
            _refuse_value(rule, step=step, low=low, high=high)
        _set_parameter_fields(self, encoding=Grid(steps + 1))

    def value(self, u: float) -> float:
        """Return the value of a float parameter at u in [0, 1]."""
        if isinstance(self.encoding, Continuum):
            return self.encoding.value(_unit_point(u))
        return self._step_value(int(self.encoding.index(_unit_point(u))[0]))

    def position(self, value: Any, name: str = "value") -> float:
        """Return the canonical u of a value; one between two decimals counts as the nearer."""
        number = checks.number(name, value)
        below, above = (self.low, self.high) if self.log else (self._bound_size, self._bound_size)
        if not self.low - _ROUNDING * below <= number <= self.high + _ROUNDING * above:
            _refuse_value(f"`{self.low!r} <= {name} <= {self.high!r}` must hold", **{name: value})
        if isinstance(self.encoding, Continuum):
            return float(self.encoding.position(np.clip([number], self.low, self.high))[0])
        assert self.step is not None
        index = round((number - self.low) / self.step)
        index = min(max(index, 0), self.encoding.count - 1)
        allowed = max(_STEP_TOLERANCE * self.step, _ROUNDING * self._bound_size)
        if abs(number - self._step_value(index)) > allowed:
            steps = f"{self.count} steps of {self.step!r} from {self.low!r}"
            _refuse_value(f"`{name}` must be one of {steps}", **{name: value})
        return float(self.encoding.position(np.array([index]))[0])

    @property
    def _bound_size(self) -> float:
        """Return the larger absolute bound of a float parameter."""
        return max(abs(self.low), abs(self.high))

    def _step_value(self, index: int) -> float:
        """Return the float parameter `index` steps from low, exact but for rounding to a float."""
        step = _exact(self.step)
        exact = _exact(self.low) + index * step
        # A last step of 0.9999999999999999 (three of 1/3) or 1.0000000000000001 is high.
        at_high = _exact(self.high) - exact <= step * _exact(_STEP_TOLERANCE)
        return self.high if at_high else float(exact)


@dataclass(frozen=True, repr=False)
class Int(_Number):
    """An integer from low to high, both included: each, in steps, or on a logarithmic scale.

    Parameters
    ----------
    low, high
        The ends, of size at most 2^50.
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
    encoding: Grid = field(init=False, compare=False)

    def __post_init__(self) -> None:
        low, high = _int_bound("low", self.low), _int_bound("high", self.high)
        step = checks.integer("step", self.step, low=1)
        log = checks.flag("log", self.log)
        _check_bounds_order(low, high)
        if max(-low, high) > _LARGEST_INTEGER:
            _refuse_value("`-2**50 <= low` and `high <= 2**50` must hold", low=low, high=high)
        if step > high - low:
            _refuse_value("`step <= high - low` must hold", low=low, high=high, step=step)
        if log and not (low >= 1 and high <= _LARGEST_LOG_INTEGER and step == 1):
            rule = "`1 <= low`, `high <= 10**13` and `step == 1` must hold for a log scale"
            _refuse_value(rule, low=low, high=high, step=step)
        encoding = LogIntegers(low, high) if log else Grid((high - low) // step + 1)
        _set_parameter_fields(self, low=low, high=high, log=log, step=step, encoding=encoding)

    def value(self, u: float) -> int:
        """Return the integer at u: each has an equal share of [0, 1], or of the log scale."""
        return self.low + self.step * int(self.encoding.index(_unit_point(u))[0])

    def position(self, value: Any, name: str = "value") -> float:
        """Return the canonical u of an integer, which may come as 3.0."""
        number = checks.number(name, value)
        nearest = round(number)
        index, beyond = divmod(nearest - self.low, self.step)
        off = abs(number - nearest) > _STEP_TOLERANCE * self.step
        if off or beyond or not 0 <= index < self.encoding.count:
            steps = f" in steps of {self.step}" if self.step != 1 else ""
            integers = f"an integer from {self.low} to {self.high}{steps}"
            _refuse_value(f"`{name}` must be {integers}", **{name: value})
        return float(self.encoding.position(np.array([index]))[0])


@dataclass(frozen=True, init=False, repr=False)
class Choice:
    """One of several options without an order: text, booleans, numbers, None.

    Options differ by type and value: 1, 1.0 and True are three options.

    Examples
    --------
    >>> act = Choice("relu", "gelu", None)
    >>> act.value(0.5), act.position("relu") < act.position(None), act
    ('gelu', True, Choice('relu', 'gelu', None))
    """

    options: tuple[Constant, ...] = field(compare=False)
    encoding: Categories = field(compare=False)
    _typed: tuple[tuple[str, Constant], ...]

    def __init__(self, *options: Any) -> None:
        if len(options) == 1 and isinstance(options[0], list | tuple):
            options = tuple(options[0])
        plain = tuple(constant("options", option) for option in options)
        if len(plain) < 2:
            raise ValueError(
                f"`options` must hold at least two, but got {list(plain)}; "
                "use Fixed(value) for a constant."
            )
        keys = tuple(map(typed, plain))
        if len(set(keys)) < len(keys):
            raise ValueError(f"`options` must be distinct, but got {list(plain)}.")
        _set_parameter_fields(self, options=plain, encoding=Categories(len(plain)), _typed=keys)

    def __repr__(self) -> str:
        return f"Choice({', '.join(map(repr, self.options))})"

    @property
    def count(self) -> int:
        """Number of options of the parameter."""
        return len(self.options)

    def value(self, u: float) -> Constant:
        """Return the option of a parameter at u: each has an equal share of [0, 1]."""
        return self.options[int(self.encoding.index(_unit_point(u))[0])]

    def position(self, value: Any, name: str = "value") -> float:
        """Return the canonical u of a parameter's option."""
        key = typed(constant(name, value))
        if key not in self._typed:
            _refuse_value(f"`{name}` must be one of {list(self.options)}", **{name: value})
        return float(self.encoding.position(np.array([self._typed.index(key)]))[0])

    def state(self) -> dict[str, Any]:
        """Return a JSON-able description of the parameter."""
        return {"kind": "choice", "options": [list(key) for key in self._typed]}


@dataclass(frozen=True, repr=False)
class Fixed:
    """A constant: handed to the function, with no coordinate in the cube or the model.

    Examples
    --------
    >>> Fixed(3), Fixed(3).constant, Fixed(1) == Fixed(True)
    (Fixed(3), 3, False)
    """

    constant: Constant = field(compare=False)
    _typed: tuple[str, Constant] = field(init=False)
    count: ClassVar[int] = 1

    def __post_init__(self) -> None:
        plain = constant("constant", self.constant)
        _set_parameter_fields(self, constant=plain, _typed=typed(plain))

    def __repr__(self) -> str:
        return f"Fixed({self.constant!r})"

    def check(self, value: Any, name: str = "value") -> None:
        """Refuse a value that is not the parameter's constant; 3.0 is taken for 3."""
        plain = constant(name, value)
        kinds = {type(plain), type(self.constant)}
        if plain != self.constant or (len(kinds) > 1 and kinds != {int, float}):
            _refuse_value(f"`{name}` must be {self.constant!r}", **{name: value})

    def state(self) -> dict[str, Any]:
        """Return a JSON-able description of the parameter."""
        return {"kind": "fixed", "constant": list(self._typed)}


Parameter = Float | Int | Choice | Fixed


def parameter_from_state(state: Mapping[str, Any]) -> Parameter:
    """Return the parameter that a `state()` describes."""
    kind = state.get("kind")
    if kind in ("float", "int"):
        number = Float if kind == "float" else Int
        return number(state["low"], state["high"], state["log"], state["step"])
    if kind == "choice":
        return Choice(*(untyped(*key) for key in state["options"]))
    if kind != "fixed":
        _refuse_value("`kind` must be float, int, choice or fixed", kind=kind)
    return Fixed(untyped(*state["constant"]))


def _refuse_value(rule: str, /, **given: Any) -> NoReturn:
    """Raise an error that names a rule for parameters and the arguments that break it."""
    shown = ", ".join(f"{name}={value!r}" for name, value in given.items())
    raise ValueError(f"{rule}, but got {shown}.")


def _set_parameter_fields(target: Any, **values: Any) -> None:
    """Set fields of a frozen parameter that is being made."""
    for name, value in values.items():
        object.__setattr__(target, name, value)


def _exact(number: float | None) -> Fraction:
    """Return the decimal that a parameter's bound or step is written as: 1/10 for 0.1."""
    return Fraction(repr(number))


def _unit_point(u: Any) -> Array:
    """Return one position of a parameter as an array of one: the encodings take arrays."""
    number = checks.number("u", u)
    if not 0.0 <= number <= 1.0:
        _refuse_value("`0 <= u <= 1` must hold", u=u)
    return np.array([number])


def _int_bound(name: str, value: Any) -> int:
    """Return a bound of an integer parameter, or raise an error."""
    number = checks.number(name, value)
    if not number.is_integer():
        _refuse_value(f"`{name}` must be an integer", **{name: value})
    return int(number)


def _check_bounds_order(low: float, high: float) -> None:
    """Raise an error unless the bounds of a parameter are low < high."""
    if not low < high:
        raise ValueError(
            f"`low < high` must hold, but got {low=}, {high=}; use Fixed(value) for a constant."
        )
