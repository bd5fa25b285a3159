"""A finite list of configurations to choose from, such as the rows of a table.

It answers the same questions as a space of parameters: where a configuration lies in the search
cube, here a line shared out equally among the rows, and what a kernel compares.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks
from tailproof.search.space.parameters import Choice, Parameter
from tailproof.search.space.scales import (
    corners,
    cube_point,
    cube_points,
    grid_index,
    grid_position,
)
from tailproof.search.space.values import (
    Constant,
    Fixed,
    check_names,
    checked_name,
    constant,
    typed,
    untyped,
)

Array = NDArray[np.float64]

_NEIGHBOURS = 32  # of a configuration in a list
_SAME = 1e-9  # relative: numbers this close are one number that a storage has changed


class Configurations:
    """A finite list of configurations, such as the rows of a table.

    Of configurations that are equal the first stands for all. Numbers are equal by value (3 and
    3.0), everything else by type and value.

    In the model a column of numbers is one coordinate, scaled to [0, 1] over the list; a column
    with anything else in it (text, booleans, None) has one coordinate a distinct value, at
    distance 1 from each other; constant columns have none.

    Parameters
    ----------
    configurations
        Dicts with the same names; values are text, numbers, booleans or None.

    Attributes
    ----------
    names, dimension, encoded_dimension, count, discrete, encoded_columns, parameter_of_column
        As in `tailproof.Space`. The cube has one dimension: row k of n lies at ((k + 0.5) / n,).

    Examples
    --------
    >>> space = Configurations([{"nodes": 1, "cpu": "arm"}, {"nodes": 5, "cpu": "x86"}])
    >>> space.params([0.2])
    {'nodes': 1, 'cpu': 'arm'}
    >>> space.encode(space.enumerate(10)).round(2)
    array([[0. , 0.71, 0. ], [1. , 0. , 0.71]])
    """

    def __init__(self, configurations: Iterable[Mapping[str, Any]]) -> None:
        if isinstance(configurations, Mapping) or not isinstance(configurations, Iterable):
            raise ValueError(
                f"`configurations` must be a list of dicts, but got {configurations!r}."
            )
        rows = list(configurations)
        if not rows:
            raise ValueError("`configurations` must hold at least one, but got none.")
        names = tuple(rows[0]) if isinstance(rows[0], Mapping) else ()
        for k, row in enumerate(rows):
            check_names(row, names, f"configurations[{k}]")
        self._fill({name: [row[name] for row in rows] for name in names})

    @classmethod
    def from_table(cls, columns: Mapping[str, Sequence[Any]]) -> Configurations:
        """Return the configurations in the rows of a table, given as columns of equal length.

        Examples
        --------
        >>> Configurations.from_table({"x": [0.1, 0.2, 0.1], "y": [1, 2, 1]})
        Configurations(2 of x, y)
        """
        if not hasattr(columns, "keys"):
            raise ValueError(f"`columns` must map names to columns, but got {columns!r}.")
        table = {name: _listed(name, columns[name]) for name in columns.keys()}  # noqa: SIM118
        lengths = {name: len(column) for name, column in table.items()}
        if len(set(lengths.values())) != 1 or 0 in lengths.values():
            raise ValueError(
                f"`columns` must have one length of at least 1, but got lengths {lengths}."
            )
        self = cls.__new__(cls)
        self._fill(table)
        return self

    def _fill(self, table: Mapping[str, list[Any]]) -> None:
        if not table:
            raise ValueError("`configurations` must have at least one name, but got none.")
        columns = {checked_name(k): [constant(k, v) for v in column] for k, column in table.items()}
        self.names = tuple(columns)
        self._is_number = tuple(
            all(type(v) in (int, float) for v in column) for column in columns.values()
        )
        pairs = zip(columns.values(), self._is_number, strict=True)
        keys = zip(*(c if number else map(typed, c) for c, number in pairs), strict=True)
        self._index: dict[tuple[Any, ...], int] = {}
        self._rows: list[tuple[Constant, ...]] = []
        for key, row in zip(keys, zip(*columns.values(), strict=True), strict=True):
            if self._index.setdefault(key, len(self._rows)) == len(self._rows):
                self._rows.append(row)
        kept = dict(zip(self.names, zip(*self._rows, strict=True), strict=True))
        number = dict(zip(self.names, self._is_number, strict=True))
        self._numbers = _numbers({k: c for k, c in kept.items() if number[k]}, len(self._rows))
        self._scaled = _scaled(self._numbers)
        self._codes = _codes([c for k, c in kept.items() if not number[k]], len(self._rows))
        self._sizes = [int(size) for size in self._codes.max(axis=0) + 1]
        self.dimension = 1
        self.count = len(self._rows)
        self.encoded_dimension = self._scaled.shape[1] + sum(self._sizes)
        self.discrete, self.encoded_columns = np.array([True]), np.array([-1])
        one_each = [1] * self._scaled.shape[1]
        self.parameter_of_column = np.repeat(
            np.arange(len(one_each + self._sizes)), one_each + self._sizes
        )
        for array in (self.discrete, self.encoded_columns, self.parameter_of_column):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Configurations({len(self)} of {', '.join(self.names)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configurations):
            return NotImplemented
        return self.state() == other.state()

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """What each name takes in the list: a Choice of its values, or Fixed if there is one."""
        found: dict[str, Parameter] = {}
        for name, column in zip(self.names, zip(*self._rows, strict=True), strict=True):
            distinct = list({typed(value): value for value in column}.values())
            found[name] = Choice(*distinct) if len(distinct) > 1 else Fixed(distinct[0])
        return found

    def params(self, u: ArrayLike) -> dict[str, Any]:
        """Return the configuration at u (1,), as a new dict."""
        row = self._rows[int(grid_index(cube_point(u, 1), len(self))[0])]
        return dict(zip(self.names, row, strict=True))

    def index(self, params: Mapping[str, Any]) -> int:
        """Return the row of a configuration; numbers may differ by 1e-9 of their size."""
        check_names(params, self.names)
        row = [constant(name, params[name]) for name in self.names]
        told = [value for value, number in zip(row, self._is_number, strict=True) if number]
        found = None
        if all(type(value) in (int, float) for value in told):
            pairs = zip(row, self._is_number, strict=True)
            key = tuple(value if number else typed(value) for value, number in pairs)
            found = self._index.get(key)
            found = self._close(key, told) if found is None else found
        if found is None:
            raise ValueError(
                f"`params` must be one of the {len(self)} configurations, but got {dict(params)!r}."
            )
        return found

    def position(self, params: Mapping[str, Any]) -> Array:
        """Return the canonical place (1,) of a configuration of the list."""
        return grid_position(np.array([self.index(params)]), len(self))

    def snap(self, U: ArrayLike) -> Array:
        """Return canonical places (n, 1): rows are equal where configurations are."""
        return grid_position(grid_index(cube_points(U, 1), len(self)), len(self))

    def encode(self, U: ArrayLike) -> Array:
        """Return where configurations lie in the model, (n, encoded_dimension): numbers first."""
        index = grid_index(cube_points(U, 1)[:, 0], len(self))
        codes = self._codes[index]
        parts = [corners(codes[:, j], size) for j, size in enumerate(self._sizes)]
        return np.hstack([self._scaled[index], *parts])

    def neighbors(self, u: ArrayLike) -> Array:
        """Return up to 32 other configurations, the nearest in the model first, (k, 1).

        Of those equally far the earlier in the list comes first.
        """
        index = int(grid_index(cube_point(u, 1), len(self))[0])
        squares = np.square(self._scaled - self._scaled[index]).sum(axis=1)
        squares += (self._codes != self._codes[index]).sum(axis=1)  # corners lie 1 apart
        squares[index] = np.inf
        wanted = min(_NEIGHBOURS, len(self) - 1)
        if wanted == 0:
            return np.empty((0, 1))
        # Everything as near as the last one wanted, then sorted stably: ties keep their order.
        near = np.flatnonzero(squares <= np.partition(squares, wanted - 1)[wanted - 1])
        near = near[np.argsort(squares[near], kind="stable")][:wanted]
        return grid_position(near, len(self))[:, None]

    def enumerate(self, limit: int) -> Array:
        """Return the places of all configurations in order, (count, 1)."""
        if len(self) > limit:
            raise ValueError(f"`count <= {limit}` must hold, but got count={len(self)}.")
        return grid_position(np.arange(len(self)), len(self))[:, None]

    def state(self) -> dict[str, Any]:
        """Return a JSON-able description, for `space_from_state`."""
        columns = []
        for name, column in zip(self.names, zip(*self._rows, strict=True), strict=True):
            kinds, values = zip(*map(typed, column), strict=True)
            shared = len(set(kinds)) == 1
            columns.append(
                {"name": name, "kinds": kinds[0] if shared else list(kinds), "values": list(values)}
            )
        return {"kind": "configurations", "columns": columns}

    def _close(self, key: Sequence[Any], told: Sequence[Any]) -> int | None:
        """Return the nearest row whose numbers are those told up to rounding, if there is one."""
        try:
            gaps = np.abs(0.5 * self._numbers - 0.5 * np.array(told, dtype=np.float64))
        except OverflowError:  # an integer beyond all floats
            return None
        near = np.flatnonzero((gaps <= 0.5 * _SAME * np.abs(self._numbers)).all(axis=1))
        for index in near[np.argsort(gaps[near].sum(axis=1), kind="stable")]:
            rest = zip(key, self._rows[index], self._is_number, strict=True)
            if all(number or one == typed(value) for one, value, number in rest):
                return int(index)
        return None


def configurations_from_state(state: Mapping[str, Any]) -> Configurations:
    """Return the list that a `state()` describes.

    Examples
    --------
    >>> space = Configurations([{"x": 1, "tag": "a"}, {"x": 2.0, "tag": None}])
    >>> configurations_from_state(space.state()) == space
    True
    """
    return Configurations.from_table({c["name"]: _untyped(c) for c in state["columns"]})


# ---- helpers ------------------------------------------------------------------------------------


def _untyped(column: Mapping[str, Any]) -> list[Constant]:
    kinds, values = column["kinds"], column["values"]
    each = itertools.repeat(kinds, len(values)) if isinstance(kinds, str) else kinds
    return [untyped(kind, value) for kind, value in zip(each, values, strict=True)]


def _listed(name: Any, column: Any) -> list[Any]:
    """Return a column as a list; of plain objects if it is a numpy array or a data frame's."""
    plain = column.tolist() if hasattr(column, "tolist") else column
    if isinstance(plain, str | bytes | Mapping) or not isinstance(plain, Iterable):
        raise ValueError(f"`columns` must map names to columns, but {name!r} is {column!r}.")
    return list(plain)


def _numbers(columns: Mapping[str, Sequence[Any]], count: int) -> Array:
    """Return columns of numbers as floats, (count, columns)."""
    result = np.empty((count, len(columns)))
    for j, (name, column) in enumerate(columns.items()):
        result[:, j] = checks.finite_array(name, column, ndim=1)
    return result


def _scaled(numbers: Array) -> Array:
    """Return the columns that vary, each scaled to [0, 1]; halved, so that no range overflows."""
    low, high = 0.5 * numbers.min(axis=0), 0.5 * numbers.max(axis=0)
    varies = high > low
    return (0.5 * numbers - low)[:, varies] / (high - low)[varies]


def _codes(columns: Sequence[Sequence[Constant]], count: int) -> NDArray[np.int64]:
    """Return which of its distinct values each row has, (count, columns that vary)."""
    result = []
    for column in columns:
        distinct: dict[tuple[str, Constant], int] = {}
        codes = [distinct.setdefault(typed(value), len(distinct)) for value in column]
        if len(distinct) > 1:
            result.append(codes)
    return np.array(result, dtype=np.int64).reshape(len(result), count).T.copy()
