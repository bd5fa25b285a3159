"""What an optimizer may choose from: a space of parameters, or a list of configurations.

Both answer the same questions. A configuration is a dict of values by name; u in [0, 1]^dimension
is its place in the search cube; its model coordinates, `encoded_dimension` of them, are what a kernel compares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof.search.space.configurations import Configurations, configurations_from_state
from tailproof.search.space.parameters import Fixed, Parameter, parameter_from_state
from tailproof.search.space.scales import cube_point, cube_points
from tailproof.search.space.values import check_names, checked_name, is_nested

__all__ = ["Configurations", "Space", "space_from_state"]

Array = NDArray[np.float64]


class Space:
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
    encoded_columns : (dimension,) int array, read-only
        The model coordinate that equals u, for continuous parameters; -1 for discrete ones.
    parameter_of_column : (encoded_dimension,) int array, read-only
        Which of the parameters that are not Fixed each model coordinate belongs to.

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
        self._parameters = _checked_parameters(parameters, named)
        self.names = tuple(self._parameters)
        self._free = {k: p for k, p in self._parameters.items() if not isinstance(p, Fixed)}
        self.dimension = len(self._free)
        self.discrete = np.array([p.count is not None for p in self._free.values()], dtype=bool)
        widths = np.array([p.encoded_dimension for p in self._free.values()], dtype=np.int64)
        self.encoded_dimension = int(widths.sum())
        self.encoded_columns = np.where(self.discrete, -1, np.cumsum(widths) - widths)
        self.parameter_of_column = np.repeat(np.arange(self.dimension), widths)
        counts = [p.count for p in self._free.values()]
        self.count = None if None in counts else math.prod(k for k in counts if k is not None)
        for array in (self.discrete, self.encoded_columns, self.parameter_of_column):
            array.flags.writeable = False

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
        at = iter(cube_point(u, self.dimension))
        return {
            name: p.constant if isinstance(p, Fixed) else p.value(float(next(at)))
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

    def snap(self, U: ArrayLike) -> Array:
        """Return canonical places (n, dimension): rows are equal where configurations are."""
        points = cube_points(U, self.dimension)
        for column, p in enumerate(self._free.values()):
            points[:, column] = p.snap(points[:, column].copy())
        return points

    def encode(self, U: ArrayLike) -> Array:
        """Return where configurations lie in the model, (n, encoded_dimension)."""
        points = cube_points(U, self.dimension)
        parts = [p.encode(points[:, k].copy()) for k, p in enumerate(self._free.values())]
        return np.hstack(parts) if parts else np.empty((len(points), 0))

    def neighbors(self, u: ArrayLike) -> Array:
        """Return all configurations one discrete move away, (k, dimension).

        A move is one step of a number up or down, or any other option of a Choice.
        """
        start = self.snap(cube_point(u, self.dimension)[None, :])[0]
        moves = [p.moves(float(start[k])) for k, p in enumerate(self._free.values())]
        result = np.tile(start, (sum(map(len, moves)), 1))
        row = 0
        for column, places in enumerate(moves):
            result[row : row + len(places), column] = places
            row += len(places)
        return result

    def enumerate(self, limit: int) -> Array:
        """Return the places of all configurations, (count, dimension), the last fastest."""
        if self.count is None or self.count > limit:
            raise ValueError(f"`count <= {limit}` must hold, but got count={self.count}.")
        if not self._free:
            return np.empty((1, 0))
        grids = np.meshgrid(*(p.positions() for p in self._free.values()), indexing="ij")
        return np.stack([grid.ravel() for grid in grids], axis=1)

    def state(self) -> dict[str, Any]:
        """Return a JSON-able description, for `space_from_state`."""
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
            return Space({one["name"]: parameter_from_state(one) for one in state["parameters"]})
        if state["kind"] == "configurations":
            return configurations_from_state(state)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"`state` must come from a space's state(), but got {state!r}.") from error
    raise ValueError(f"`kind` must be space or configurations, but got kind={state['kind']!r}.")


def _checked_parameters(
    parameters: Mapping[str, Parameter] | None, named: Mapping[str, Parameter]
) -> dict[str, Parameter]:
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ValueError(f"`parameters` must map names to parameters, but got {parameters!r}.")
    result: dict[str, Parameter] = {}
    for name, p in [*(parameters or {}).items(), *named.items()]:
        if checked_name(name) in result:
            raise ValueError(f"`names` must be distinct, but got {name!r} twice.")
        if not isinstance(p, Parameter):
            hint = (
                "; conditional parameters (a space inside a space) are not supported"
                if is_nested(p)
                else "; use Fixed(value) for a constant"
            )
            raise ValueError(
                f"`{name}` must be a Float, Int, Choice or Fixed, but got {name}={p!r}{hint}."
            )
        result[name] = p
    if not result:
        raise ValueError("`parameters` must hold at least one parameter, but got none.")
    return result
