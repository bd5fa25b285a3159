"""Input checks, used once at the edge: each error names the argument, what must hold, what came."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Sums of a million payoffs of this size, times features of size 1e20, are still finite.
LARGEST_PAYOFF = 1e280


def fields(instance: Any, **field_checks: Callable[[str, Any], Any]) -> None:
    """Replace fields of a frozen dataclass by what their checks, called as f(name, value), return.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> noise = SimpleNamespace(scale=2)
    >>> fields(noise, scale=positive)
    >>> noise.scale
    2.0
    """
    for name, check in field_checks.items():
        object.__setattr__(instance, name, check(name, getattr(instance, name)))


def number(name: str, value: Any) -> float:
    """Return `value` as a finite float; text, booleans and complex numbers are none."""
    plain = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if isinstance(plain, _NO_NUMBERS) or np.iscomplexobj(plain):
        raise ValueError(_no_number_message(name, value))
    try:
        result = float(plain)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(_no_number_message(name, value)) from error
    if not math.isfinite(result):
        raise ValueError(f"`{name}` must be finite, but got {name}={value!r}.")
    return result


# float() would read a number from some of them.
_NO_NUMBERS = (str, bytes, bytearray, memoryview, bool, np.bool_)


def _no_number_message(name: str, value: Any) -> str:
    """Return the message of a check that refuses what is no finite number."""
    return f"`{name}` must be a finite number, but got {name}={_shown_argument(value)}."


def _shown_argument(value: Any) -> str:
    """Return the value that a check refuses as its error shows it, at most 80 characters."""
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        text = f"a {type(value).__name__} too long to show"
    return text if len(text) <= 80 else text[:77] + "..."


def positive(name: str, value: Any) -> float:
    """Return `value` as a finite float above zero."""
    result = number(name, value)
    if result <= 0.0:
        raise ValueError(f"`{name} > 0` must hold, but got {name}={value!r}.")
    return result


def non_negative(name: str, value: Any) -> float:
    """Return `value` as a finite float of at least zero."""
    result = number(name, value)
    if result < 0.0:
        raise ValueError(f"`{name} >= 0` must hold, but got {name}={value!r}.")
    return result


def in_unit_interval(name: str, value: Any, *, closed_above: bool) -> float:
    """Return `value` as a float in (0, 1] or, if not `closed_above`, in (0, 1)."""
    result = number(name, value)
    if not (0.0 < result < 1.0 or (closed_above and result == 1.0)):
        sign = "<=" if closed_above else "<"
        raise ValueError(f"`0 < {name} {sign} 1` must hold, but got {name}={value!r}.")
    return result


def share(name: str, value: Any) -> float:
    """Return `value` as a float in [0, 1)."""
    result = number(name, value)
    if not 0.0 <= result < 1.0:
        raise ValueError(f"`0 <= {name} < 1` must hold, but got {name}={value!r}.")
    return result


def integer(name: str, value: Any, *, low: int) -> int:
    """Return `value` as an int of at least `low`."""
    wrong = f"`{name}` must be an integer, but got {name}={_shown_argument(value)}."
    if isinstance(value, (bool, np.bool_)):
        raise ValueError(wrong)
    try:
        result = operator.index(value)
    except TypeError as error:
        raise ValueError(wrong) from error
    if result < low:
        raise ValueError(f"`{name} >= {low}` must hold, but got {name}={value!r}.")
    return result


def flag(name: str, value: Any) -> bool:
    """Return `value` as a bool; nothing but True and False is one."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"`{name}` must be True or False, but got {name}={value!r}.")
    return bool(value)


def choice(name: str, value: Any, options: tuple[str, ...]) -> str:
    """Return `value` if it is one of `options`."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"`{name}` must be one of {list(options)}, but got {name}={value!r}.")
    return value


def instance(name: str, value: Any, kind: type, example: str) -> None:
    """Raise unless `value` has what the protocol `kind` asks for, and is an object, not a class."""
    if isinstance(value, type) or not isinstance(value, kind):
        raise ValueError(f"`{name}` must be {example}, but got {name}={_shown_argument(value)}.")


def index(name: str, value: Any, count: int) -> int:
    """Return `value` as an int in 0 .. count - 1."""
    result = integer(name, value, low=0)
    if result >= count:
        raise ValueError(f"`0 <= {name} < {count}` must hold, but got {name}={value!r}.")
    return result


def finite_array(name: str, value: ArrayLike, *, ndim: int) -> NDArray[np.float64]:
    """Return `value` as a new C-contiguous float64 array of `ndim` axes, every entry finite."""
    array = _float_array(name, value)
    if array.ndim != ndim:
        raise ValueError(
            f"`{name}` must have {ndim} dimension(s), but got an array of shape {array.shape}."
        )
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"`{name}` must be finite, but got {array[where]} at position {where} "
            f"({int(bad.sum())} such entries)."
        )
    return array


def _float_array(name: str, value: Any) -> NDArray[np.float64]:
    """Return `value` as a new float64 array; entries that are no numbers are refused."""
    if np.ma.isMaskedArray(value) and np.ma.getmaskarray(value).any():
        raise ValueError(f"`{name}` must have no masked entries, but got {_shown_argument(value)}.")
    try:
        raw = np.asarray(value)
    except (TypeError, ValueError, OverflowError) as error:  # ragged, mostly
        raise ValueError(_no_numbers_message(name, value)) from error
    if raw.dtype.kind == "O":  # integers beyond 64 bits, None, dates, text among numbers
        entries = [number(name, one) for one in raw.ravel()]
        return np.array(entries, dtype=np.float64).reshape(raw.shape)
    if raw.dtype.kind not in "iuf":
        raise ValueError(_no_numbers_message(name, value))
    return np.array(raw, dtype=np.float64, order="C")


def _no_numbers_message(name: str, value: Any) -> str:
    """Return the message of a check, made when needed: showing an array takes a millisecond."""
    return f"`{name}` must be an array of numbers, but got {_shown_argument(value)}."


def payoffs(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return payoffs as a 1-D float64 array, each finite and of at most 1e280."""
    array = _float_array(name, value)
    array = finite_array(name, array.reshape(1) if array.ndim == 0 else array, ndim=1)
    if array.size and float(np.abs(array).max()) > LARGEST_PAYOFF:
        raise ValueError(
            f"`|{name}| <= {LARGEST_PAYOFF:g}` must hold, but got {array[np.abs(array).argmax()]}."
        )
    return array


def generator(seed: Any) -> np.random.Generator:
    """Return the random generator of a seed: an int, a SeedSequence, a Generator or None."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "`seed` must be an integer of at least 0, a SeedSequence or a Generator, but got "
            f"seed={seed!r}."
        ) from error
