"""Plain values of configurations, and names: checks, and a form that keeps the type.

A value is text, a boolean, a number or None. Values differ by type and value: 1, 1.0 and True are
three values, also after a way through JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Constant = str | bool | int | float | None

_TYPES = {kind.__name__: kind for kind in (str, bool, int, float, type(None))}


def constant(name: str, value: Any) -> Constant:
    """Return text, a boolean, a number or None as a plain Python object; refuse all else.

    Examples
    --------
    >>> constant("x", np.float64(0.5)), constant("x", None)
    (0.5, None)
    """
    plain = value.item() if isinstance(value, np.generic) else value
    if type(plain) not in _TYPES.values():
        raise ValueError(
            f"`{name}` must be text, a number, a boolean or None, but got {plain!r}; "
            "nested values and conditional parameters are not supported."
        )
    if plain != plain:
        raise ValueError(f"`{name}` must not be NaN, but got {name}={plain!r}.")
    return plain


def typed(value: Constant) -> tuple[str, Constant]:
    """Return a value's (type, value), by which 1, 1.0 and True differ; infinities become text.

    Examples
    --------
    >>> typed(1) == typed(True), typed(1.0), typed(math.inf)
    (False, ('float', 1.0), ('float', 'inf'))
    """
    if isinstance(value, float) and math.isinf(value):
        return "float", repr(value)
    return type(value).__name__, value


def untyped(kind: str, value: Any) -> Constant:
    """Return the constant that `typed` described, also where JSON tools turned 1.0 into 1."""
    if kind not in _TYPES:
        raise ValueError(f"`kind` must be one of {list(_TYPES)}, but got kind={kind!r}.")
    return float(value) if kind == "float" else constant("value", value)


def distinct_names(names: Sequence[Any]) -> tuple[str, ...]:
    """Return names of values; refuse what is not text, empty text, and a name that comes twice."""
    for k, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise ValueError(f"`names` must be text that is not empty, but got {name!r}.")
        if name in names[:k]:
            raise ValueError(f"`names` must be distinct, but got {name!r} twice.")
    return tuple(names)


def check_names(params: Any, names: Sequence[str], argument: str = "params") -> None:
    """Refuse what is not a mapping of values with exactly these names, called `argument`."""
    if not isinstance(params, Mapping):
        raise ValueError(f"`{argument}` must be a dict of values by name, but got {params!r}.")
    wrong = [f"no {name!r}" for name in names if name not in params]
    wrong += [f"unknown {name!r}" for name in params if name not in names]
    if wrong:
        raise ValueError(
            f"`{argument}` must have the names {list(names)}, but got {', '.join(wrong)}."
        )
