"""Plain values and the names they go by: what a configuration, a dict by name, is made of.

Values are text, booleans, numbers and None. They are told apart by type and value, here and nowhere
else, so that 1, 1.0 and True stay three values also on their way through JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Constant = str | bool | int | float | None


def constant(name: str, value: Any) -> Constant:
    """Return text, a boolean, a number or None as a plain Python object; refuse all else.

    Examples
    --------
    >>> constant("x", np.float64(0.5)), constant("x", None)
    (0.5, None)
    """
    plain = value.item() if isinstance(value, np.generic) else value
    if type(plain) not in (str, bool, int, float, type(None)):
        hint = "; conditional parameters are not supported" if is_nested(plain) else ""
        raise ValueError(
            f"`{name}` must be text, a number, a boolean or None, but got {plain!r}{hint}."
        )
    if plain != plain:
        raise ValueError(f"`{name}` must not be NaN, but got {name}={plain!r}.")
    return plain


def is_nested(value: Any) -> bool:
    """Tell whether `value` is a space or a parameter where a plain value should stand.

    Parameters are known by what their types have in common, for they are made further up.
    """
    if isinstance(value, Mapping) or hasattr(value, "parameters"):
        return True
    return all(hasattr(type(value), part) for part in ("encoded_dimension", "state"))


def typed(value: Constant) -> tuple[str, Constant]:
    """Return (kind, value), by which 1, 1.0 and True differ; infinities become JSON-able text.

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
    if kind not in ("str", "bool", "int", "float", "NoneType"):
        raise ValueError(f"`kind` must name a plain type, but got kind={kind!r}.")
    return float(value) if kind == "float" else constant("value", value)


def checked_name(name: Any) -> str:
    """Return a name; refuse what is not text, and empty text."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"`names` must be text that is not empty, but got {name!r}.")
    return str(name)


def check_names(params: Any, names: Sequence[str], argument: str = "params") -> None:
    """Refuse what is not a mapping with exactly these names; `argument` is what to call it."""
    if not isinstance(params, Mapping):
        raise ValueError(f"`{argument}` must be a dict of values by name, but got {params!r}.")
    missing = [name for name in names if name not in params]
    unknown = [name for name in params if name not in names]
    if missing or unknown:
        wrong = [f"no {name!r}" for name in missing] + [f"unknown {name!r}" for name in unknown]
        raise ValueError(
            f"`{argument}` must have the names {list(names)}, but got {', '.join(wrong)}."
        )


@dataclass(frozen=True, repr=False, eq=False)
class Fixed:
    """A constant: handed to the function, with no coordinate in the cube or the model.

    Examples
    --------
    >>> Fixed(3), Fixed(3).constant, Fixed(1) == Fixed(True)
    (Fixed(3), 3, False)
    """

    constant: Constant

    def __post_init__(self) -> None:
        object.__setattr__(self, "constant", constant("constant", self.constant))

    def __repr__(self) -> str:
        return f"Fixed({self.constant!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fixed) and typed(self.constant) == typed(other.constant)

    def __hash__(self) -> int:
        return hash(typed(self.constant))

    @property
    def count(self) -> int:
        """One value."""
        return 1

    @property
    def encoded_dimension(self) -> int:
        """No model coordinate."""
        return 0

    def check(self, value: Any, name: str = "value") -> None:
        """Refuse a value that is not the constant; 3.0 is taken for 3."""
        plain = constant(name, value)
        both = {type(plain), type(self.constant)}
        if plain != self.constant or (len(both) > 1 and both != {int, float}):
            raise ValueError(f"`{name}` must be {self.constant!r}, but got {name}={value!r}.")

    def state(self) -> dict[str, Any]:
        """Return a JSON-able description."""
        return {"kind": "fixed", "constant": list(typed(self.constant))}
