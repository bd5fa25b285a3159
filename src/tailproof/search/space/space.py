"""Spaces of named parameters.

A configuration is a dict of values by name; u in [0, 1]^dimension is its place in the search cube.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tailproof.search.space.configurations import Configurations
from tailproof.search.space.encodings import Array, EncodedSpace
from tailproof.search.space.parameters import Fixed, Float, Parameter, parameter_from_state
from tailproof.search.space.values import check_names, distinct_names, untyped

__all__ = [
    "Configurations",
    "Space",
    "params_at",
    "place_of",
    "places_of",
    "space_from_state",
    "with_fixed",
]


class Space(EncodedSpace):
    """Named parameters, each with its own range.

    Parameters
    ----------
    parameters
        A mapping from names to parameters, for names that are no identifiers.
    **named
        Parameters by name: Float, Int, Choice or Fixed.

    Attributes
    ----------
    names : tuple of str
        In the order of definition.
    dimension, encoded_dimension : int
        Number of coordinates in the search cube (one for each parameter that is not Fixed), and
        in the model.
    count : int or None
        Number of configurations, None for a continuum.
    discrete : (dimension,) bool array, read-only
        Which coordinates of the cube take finitely many values.
    has_middle : (dimension,) bool array, read-only
        Which coordinates of the cube are numbers with more than a few values.
    encoded_columns : (dimension,) int array, read-only
        The model's coordinate that equals u, for continuous parameters; -1 for discrete ones.
    parameter_of_column : (encoded_dimension,) int array, read-only
        Which of the parameters that are not Fixed each coordinate of the model belongs to.

    Examples
    --------
    >>> from tailproof.search.space.parameters import Choice, Fixed, Float
    >>> space = Space(lr=Float(1e-5, 1e-1, log=True), act=Choice("relu", "gelu"), seed=Fixed(3))
    >>> space.params([0.5, 0.9])
    {'lr': 0.001, 'act': 'gelu', 'seed': 3}
    >>> space.position({"lr": 0.001, "act": "gelu", "seed": 3})
    array([0.5 , 0.75])
    >>> space.encode([[0.5, 0.75]]).round(2)
    array([[0.5 , 0.  , 0.71]])
    """

    def __init__(
        self, parameters: Mapping[str, Parameter] | None = None, /, **named: Parameter
    ) -> None:
        if parameters is not None and not isinstance(parameters, Mapping):
            raise ValueError(f"`parameters` must map names to parameters, but got {parameters!r}.")
        pairs = [*(parameters or {}).items(), *named.items()]
        self.names = distinct_names([name for name, _ in pairs])
        if not pairs:
            raise ValueError("`parameters` must hold at least one parameter, but got none.")
        for name, p in pairs:
            if not isinstance(p, Parameter):
                raise ValueError(
                    f"`{name}` must be a Float, Int, Choice or Fixed, but got {name}={p!r}; "
                    "use Fixed(value) for a constant; conditional parameters (a space inside a "
                    "space) are not supported."
                )
        self._parameters = dict(pairs)
        super().__init__([p.encoding for _, p in pairs if not isinstance(p, Fixed)])

    def __repr__(self) -> str:
        if all(name.isidentifier() for name in self.names):
            return f"Space({', '.join(f'{k}={p!r}' for k, p in self._parameters.items())})"
        return f"Space({self._parameters!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        return list(self._parameters.items()) == list(other._parameters.items())

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters by name, in the order of definition; read-only."""
        return MappingProxyType(self._parameters)

    def params(self, u: ArrayLike) -> dict[str, Any]:
        """Return the configuration at u (dimension,)."""
        coordinate = iter(self._cube_point(u))
        return {
            name: p.constant if isinstance(p, Fixed) else p.value(float(next(coordinate)))
            for name, p in self._parameters.items()
        }

    def position(self, params: Mapping[str, Any]) -> Array:
        """Return the canonical place (dimension,) of a configuration, every name given."""
        check_names(params, self.names)
        result = []
        for name, p in self._parameters.items():
            if isinstance(p, Fixed):
                p.check(params[name], name)
            else:
                result.append(p.position(params[name], name))
        return np.array(result, dtype=np.float64)

    def state(self) -> dict[str, Any]:
        """Return a JSON-able description of the space, for `space_from_state`."""
        listed = [{"name": name, **p.state()} for name, p in self._parameters.items()]
        return {"kind": "space", "parameters": listed}


def space_from_state(state: Mapping[str, Any]) -> Space | Configurations:
    """Return the space that a `state()` describes, also after a way through JSON.

    Examples
    --------
    >>> from tailproof.search.space.parameters import Choice, Float
    >>> space = Space(x=Float(0, 1), mode=Choice(1, 1.0, True))
    >>> space_from_state(space.state()) == space
    True
    """
    try:
        if state["kind"] == "space":
            return Space({p["name"]: parameter_from_state(p) for p in state["parameters"]})
        if state["kind"] == "configurations":
            columns = {c["name"]: [untyped(*v) for v in c["values"]] for c in state["columns"]}
            return Configurations.from_table(columns)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"`state` must come from a space's state(), but got {state!r}.") from error
    raise ValueError(f"`kind` must be space or configurations, but got kind={state['kind']!r}.")


def place_of(space: Space | Configurations, params: Mapping[str, Any]) -> Array:
    """Return the canonical place (dimension,) of a configuration."""
    return space.snap(space.position(params)[None])[0]


def places_of(space: Space | Configurations, name: str, configurations: Any) -> list[Array]:
    """Return the places of a list of configurations; `name` is what errors call it."""
    if isinstance(configurations, Mapping) or not isinstance(configurations, Iterable):
        raise ValueError(f"`{name}` must be a list of dicts, but got {configurations!r}.")
    return [place_of(space, params) for params in configurations]


def params_at(
    space: Space | Configurations, u: Array, given: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the configuration of a space at u; continuous values given keep all their digits.

    The cube has fewer.
    """
    params = space.params(u)
    if given is None or not isinstance(space, Space):
        return params
    for name, p in space.parameters.items():
        if name in given and isinstance(p, Float) and p.count is None:
            params[name] = float(given[name])
    return params


def with_fixed(space: Space | Configurations, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with the values of a space's Fixed parameters that it leaves out."""
    fixed = {}
    if isinstance(space, Space):
        fixed = {n: p.constant for n, p in space.parameters.items() if isinstance(p, Fixed)}
    return fixed | dict(params)
