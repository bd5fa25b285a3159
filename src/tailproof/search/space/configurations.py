"""A finite list of configurations to choose from, such as the rows of a table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tailproof._util import checks
from tailproof.search.space.encodings import Array, EncodedSpace, Grid, simplex_corners
from tailproof.search.space.values import Constant, check_names, constant, distinct_names, typed

_NEIGHBORS = 32  # of a configuration in a list
_TOLERANCE = 1e-9  # relative: numbers this close are one number that a storage has changed


class Configurations(EncodedSpace):
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
    names, dimension, encoded_dimension, count, discrete, has_middle, encoded_columns
        As in `tailproof.Space`. The cube has one dimension, without an order: row k of n lies at
        ((k + 0.5) / n,).
    parameter_of_column
        As in `tailproof.Space`, but it counts the columns that vary, numbers first.

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
        given = list(configurations)
        if not given:
            raise ValueError("`configurations` must hold at least one, but got none.")
        self.names = distinct_names(list(given[0])) if isinstance(given[0], Mapping) else ()
        for k, row in enumerate(given):
            check_names(row, self.names, f"configurations[{k}]")
        if not self.names:
            raise ValueError("`configurations` must have at least one name, but got none.")
        rows = [tuple(constant(name, row[name]) for name in self.names) for row in given]
        self._numeric = [all(map(_is_plain_number, column)) for column in zip(*rows, strict=True)]
        unique: dict[tuple[Any, ...], tuple[Constant, ...]] = {}
        for values in rows:
            unique.setdefault(self._row_key(values), values)
        self._rows = list(unique.values())
        self._index = {key: k for k, key in enumerate(unique)}
        columns = list(zip(self.names, self._numeric, zip(*self._rows, strict=True), strict=True))
        numbers = [checks.finite_array(k, c, ndim=1) for k, numeric, c in columns if numeric]
        self._numbers = np.array(numbers).reshape(len(numbers), len(self._rows)).T.copy()
        self._grid = _Rows(self._numbers, [c for _, numeric, c in columns if not numeric])
        super().__init__([self._grid])
        self.parameter_of_column = self._grid.parameter_of_column

    @classmethod
    def from_table(cls, columns: Mapping[str, Sequence[Any]]) -> Configurations:
        """Return the configurations in the rows of a table, given as columns of equal length.

        Examples
        --------
        >>> Configurations.from_table({"x": [0.1, 0.2, 0.1], "y": [1, 2, 1]})
        Configurations(2 of x, y)
        """
        # A data frame is no Mapping, but dict() takes it, as everything with keys.
        if not hasattr(columns, "keys") or not all(map(_is_table_column, dict(columns).values())):
            raise ValueError(f"`columns` must map names to columns, but got {columns!r}.")
        table = dict(columns)
        lengths = {name: len(column) for name, column in table.items()}
        if len(set(lengths.values())) != 1 or 0 in lengths.values():
            raise ValueError(
                f"`columns` must have one length of at least 1, but got lengths {lengths}."
            )
        rows = zip(*table.values(), strict=True)
        return cls(dict(zip(table, row, strict=True)) for row in rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Configurations({len(self)} of {', '.join(self.names)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configurations):
            return NotImplemented
        return self.state() == other.state()

    def params(self, u: ArrayLike) -> dict[str, Any]:
        """Return the configuration at u (1,), as a new dict."""
        index = self._grid.index(self._cube_point(u))
        return dict(zip(self.names, self._rows[int(index[0])], strict=True))

    def position(self, params: Mapping[str, Any]) -> Array:
        """Return the canonical place (1,) of a configuration of the list."""
        return self._grid.position(np.array([self.index(params)]))

    def index(self, params: Mapping[str, Any]) -> int:
        """Return the row of a configuration; numbers may differ by 1e-9 of their size."""
        check_names(params, self.names)
        key = self._row_key([constant(name, params[name]) for name in self.names])
        found = self._index[key] if key in self._index else self._closest_row(key)
        if found is None:
            raise ValueError(
                f"`params` must be one of the {len(self)} configurations, but got {dict(params)!r}."
            )
        return found

    def state(self) -> dict[str, Any]:
        """Return a JSON-able description of the rows, for `space_from_state`."""
        columns = zip(self.names, zip(*self._rows, strict=True), strict=True)
        listed = [{"name": name, "values": [list(typed(v)) for v in c]} for name, c in columns]
        return {"kind": "configurations", "columns": listed}

    def _row_key(self, row: Sequence[Constant]) -> tuple[Any, ...]:
        """Return what equal rows share: in columns of numbers the number, else (type, value)."""
        pairs = zip(row, self._numeric, strict=True)
        return tuple(v if numeric and _is_plain_number(v) else typed(v) for v, numeric in pairs)

    def _closest_row(self, key: tuple[Any, ...]) -> int | None:
        """Return the nearest row whose numbers are those of `key` up to rounding, if any."""
        try:
            numbers = np.array([float(part) for part in itertools.compress(key, self._numeric)])
        except (TypeError, OverflowError):  # no number, or an integer beyond all floats
            return None
        gaps = np.abs(0.5 * self._numbers - 0.5 * numbers)  # halves do not overflow
        near = np.flatnonzero((gaps <= 0.5 * _TOLERANCE * np.abs(self._numbers)).all(axis=1))
        keys = list(self._index)
        for index in near[np.argsort(gaps[near].sum(axis=1), kind="stable")]:
            parts = zip(key, keys[index], self._numeric, strict=True)
            if all(numeric or part == kept for part, kept, numeric in parts):
                return int(index)
        return None


class _Rows(Grid):
    """The rows of a table: numbers (n, k) scaled to [0, 1], corners of simplices for categories."""

    has_middle = False

    def __init__(self, numbers: Array, categories: Sequence[Sequence[Constant]]) -> None:
        """Encode the rows of a list of configurations."""
        super().__init__(len(numbers))
        low, high = 0.5 * numbers.min(axis=0), 0.5 * numbers.max(axis=0)  # halves: no overflow
        varies = high > low
        self._scaled = (0.5 * numbers - low)[:, varies] / (high - low)[varies]
        self._codes, self._sizes = [], []  # which of its distinct values each row has
        for column in categories:
            distinct: dict[tuple[str, Constant], int] = {}
            codes = [distinct.setdefault(typed(value), len(distinct)) for value in column]
            if len(distinct) > 1:
                self._codes.append(np.array(codes))
                self._sizes.append(len(distinct))
        sizes = [1] * self._scaled.shape[1] + self._sizes
        self.encoded_dimension = sum(sizes)
        self.parameter_of_column = np.repeat(np.arange(len(sizes)), sizes)
        self.parameter_of_column.flags.writeable = False

    def encode(self, u: Array) -> Array:
        """Return the coordinates of rows of the list, (n, encoded_dimension): numbers first."""
        index = self.index(u)
        pairs = zip(self._codes, self._sizes, strict=True)
        corners = [simplex_corners(codes[index], size) for codes, size in pairs]
        return np.hstack([self._scaled[index], *corners])

    def neighbors(self, u: float) -> Array:
        """Return up to 32 other rows of the list, the nearest in the model first."""
        index = int(self.index(np.array([u]))[0])
        squares = np.square(self._scaled - self._scaled[index]).sum(axis=1)
        squares += np.sum([c != c[index] for c in self._codes], axis=0)  # corners lie 1 apart
        squares[index] = np.inf
        wanted = min(_NEIGHBORS, self.count - 1)
        near = np.flatnonzero(squares <= np.partition(squares, wanted)[wanted])  # ties included
        return self.position(near[np.argsort(squares[near], kind="stable")][:wanted])


def _is_plain_number(value: Any) -> bool:
    """Whether a value of a configuration is an int or a float."""
    return type(value) in (int, float)


def _is_table_column(values: Any) -> bool:
    """Whether values of a table of configurations are a column of it."""
    return hasattr(values, "__len__") and not isinstance(values, str | Mapping)
