"""Reading payoffs from CSV and Parquet, in pieces, into float64 arrays and nothing larger.

Long table: `by` names the column of arms, `value` that of payoffs. Wide table: every numeric column
is an arm; a first column of dates or text, or one without a name, is left out and said. A CSV file
whose first line holds numbers only has no header: its columns are named column 1, column 2, ..
"""

from __future__ import annotations

import csv
import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tailproof.tails.series import Series, Table, check_magnitude, split

Progress: TypeAlias = Callable[[int], None]
Cells: TypeAlias = Sequence[Sequence[str]]

PARQUET_HINT = "reading Parquet needs pyarrow: pip install tailproof[parquet]"
_PIECE = 100_000  # rows held as text at a time
_REPORT_EVERY = 1_000_000


@dataclass(frozen=True)
class _Plan:
    """Which columns are read: payoffs, the arms' labels, and what to say about the others."""

    values: list[str]
    by: str | None
    notes: list[str]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _listed(names: Sequence[str]) -> str:
    more = f", .. ({len(names)} in all)" if len(names) > 12 else ""
    return ", ".join(repr(name) for name in names[:12]) + more


def _require(role: str, name: str, header: Sequence[str]) -> None:
    if name not in header:
        raise ValueError(
            f"`{role}` must be a column of the file, but got {role}={name!r}; "
            f"there are {_listed(header)}."
        )


def _wide_plan(header: Sequence[str], numeric: Sequence[bool]) -> _Plan:
    notes, first = [], 0
    if not numeric[0] or not header[0].strip():
        first = 1
        notes.append(f"the first column, {header[0]!r}, is taken for dates or labels and left out")
    text = [name for name, good in zip(header[first:], numeric[first:], strict=True) if not good]
    if text:
        raise ValueError(
            "without `by` and `value` every column but the first must hold numbers, "
            f"but got text in {_listed(text)}; name the column of payoffs with `value`."
        )
    values = list(header[first:])
    if not values:
        raise ValueError(f"the file must hold a column of numbers, but got {_listed(header)}.")
    if len(set(values)) < len(values):
        twice = sorted({name for name in values if values.count(name) > 1})
        raise ValueError(f"columns must have names of their own, but got {_listed(twice)} twice.")
    return _Plan(values, None, notes)


def _plan(
    header: Sequence[str], numeric: Sequence[bool], by: str | None, value: str | None
) -> _Plan:
    """Choose the columns to read; `numeric` tells for each whether it holds numbers."""
    if by is not None:
        _require("by", by, header)
    if value is not None:
        _require("value", value, header)
    if by is not None and value is None:
        left = [
            name for name, good in zip(header, numeric, strict=True) if good and name and name != by
        ]
        if len(left) != 1:
            raise ValueError(
                "`value` must name the column of payoffs, but it was left out and "
                f"there are {len(left)} columns of numbers beside {by!r}: {_listed(left)}."
            )
        value = left[0]
    if value is None:
        return _wide_plan(header, numeric)
    if value == by:
        raise ValueError(f"`by` and `value` must be two columns, but both are {value!r}.")
    return _Plan([value], by, [])


@dataclass
class _Columns:
    """Payoffs and labels of a file, collected piece by piece."""

    plan: _Plan
    rows: int = 0
    pieces: dict[str, list[NDArray[np.float64]]] = field(default_factory=dict)
    codes: list[NDArray[np.int64]] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)

    def add(self, values: dict[str, NDArray[np.float64]], labels: Sequence[str] | None) -> None:
        count = 0
        for name, piece in values.items():
            bad = np.flatnonzero(~np.isfinite(piece))
            if bad.size:
                raise ValueError(
                    f"`{name}` must be finite, but got {piece[bad[0]]} "
                    f"in row {self.rows + int(bad[0]) + 1}."
                )
            self.pieces.setdefault(name, []).append(piece)
            count = piece.size
        if labels is not None:
            known = self.labels
            codes = (known.setdefault(label, len(known)) for label in labels)
            self.codes.append(np.fromiter(codes, dtype=np.int64, count=count))
        self.rows += count

    def table(self) -> Table:
        if not self.rows:
            raise ValueError("the file must hold payoffs, but it has no rows.")
        arrays = {name: np.concatenate(self.pieces.pop(name)) for name in self.plan.values}
        for name, array in arrays.items():
            check_magnitude(name, array)
        if self.plan.by is None:
            arms = [Series(name, array) for name, array in arrays.items()]
            return Table(arms, aligned=len(arms) > 1, notes=self.plan.notes)
        codes = np.concatenate(self.codes)
        self.codes.clear()
        return Table(split(list(self.labels), codes, arrays[self.plan.values[0]]))


def _numbers(rows: Cells, at: int, name: str, before: int) -> NDArray[np.float64]:
    try:
        return np.fromiter((float(row[at]) for row in rows), dtype=np.float64, count=len(rows))
    except ValueError:
        pass
    i = next(i for i, row in enumerate(rows) if not _is_number(row[at]))
    got = "an empty cell" if not rows[i][at].strip() else f"{rows[i][at]!r}"
    raise ValueError(f"`{name}` must hold numbers, but got {got} in row {before + i + 1}.")


def _complete(rows: Cells, width: int, before: int, ended: bool) -> Cells:
    """Drop empty lines at the end of the file; refuse any other row of the wrong width."""
    if all(len(row) == width for row in rows):
        return rows
    end = len(rows)
    while ended and end and not rows[end - 1]:
        end -= 1
    for i, row in enumerate(rows[:end]):
        if len(row) != width:
            raise ValueError(
                f"every row must have {width} cells, but row {before + i + 1} has {len(row)}."
            )
    return rows[:end]


def _read_csv(path: Path, by: str | None, value: str | None, tell: Progress) -> Table:
    with path.open(newline="", encoding="utf-8-sig") as stream:
        reader: Iterator[list[str]] = csv.reader(stream)
        header = next(reader, [])
        if not header:
            raise ValueError(f"`{path.name}` must hold a header and payoffs, but it is empty.")
        sample = next(reader, None)
        rest = reader if sample is None else chain([sample], reader)
        if all(_is_number(cell) for cell in header):
            rest = chain([header], rest)
            header = [f"column {i + 1}" for i in range(len(header))]
        header = [name.strip() for name in header]
        first = sample if sample is not None and len(sample) == len(header) else header
        # An empty cell is a missing number rather than text: the row it is in will be named.
        numeric = [_is_number(cell) or not cell.strip() for cell in first]
        columns = _Columns(_plan(header, numeric, by, value) if sample else _Plan([], None, []))
        where = {name: header.index(name) for name in columns.plan.values}
        label_at = None if columns.plan.by is None else header.index(columns.plan.by)
        while rows := list(islice(rest, _PIECE)):
            kept = _complete(rows, len(header), columns.rows, ended=len(rows) < _PIECE)
            columns.add(
                {name: _numbers(kept, at, name, columns.rows) for name, at in where.items()},
                None if label_at is None else [row[label_at] for row in kept],
            )
            tell(columns.rows)
    return columns.table()


def _pyarrow() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ModuleNotFoundError(PARQUET_HINT) from error


def _read_parquet(path: Path, by: str | None, value: str | None, tell: Progress) -> Table:
    arrow, parquet = _pyarrow()
    try:
        file = parquet.ParquetFile(path)
    except arrow.ArrowInvalid as error:
        raise ValueError(f"`{path.name}` must be a Parquet file, but got {error}.") from error
    with file:
        schema = file.schema_arrow
        kinds = arrow.types
        numeric = [
            kinds.is_integer(t) or kinds.is_floating(t) or kinds.is_decimal(t) for t in schema.types
        ]
        if not schema.names:
            raise ValueError(f"`{path.name}` must have columns, but it has none.")
        columns = _Columns(_plan(schema.names, numeric, by, value))
        plan = columns.plan
        for name in plan.values:
            if not numeric[schema.names.index(name)]:
                kind = schema.field(name).type
                raise ValueError(f"`{name}` must hold numbers, but got a column of type {kind}.")
        wanted = plan.values if plan.by is None else [*plan.values, plan.by]
        for batch in file.iter_batches(batch_size=_PIECE, columns=wanted):
            values = {
                name: batch.column(name).cast(arrow.float64()).to_numpy(zero_copy_only=False)
                for name in plan.values
            }
            labels = None
            if plan.by is not None:
                labels = [str(label) for label in batch.column(plan.by).to_pylist()]
            columns.add(values, labels)
            tell(columns.rows)
    return columns.table()


_READERS = {".csv": _read_csv, ".parquet": _read_parquet, ".pq": _read_parquet}


def read_table(
    path: str | Path,
    *,
    by: str | None = None,
    value: str | None = None,
    progress: Progress | None = None,
) -> Table:
    r"""Read arms from a CSV or Parquet file.

    Parameters
    ----------
    path : str or Path
    by, value : str, optional
        The columns of arms and payoffs of a long table.
    progress : callable, optional
        Called with the number of rows read so far, every million rows.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "wide.csv"
    >>> _ = path.write_text("day,a,b\n2020-01-01,1,2\n2020-01-02,3,4\n")
    >>> table = read_table(path)
    >>> [(arm.name, arm.values.tolist()) for arm in table.arms]
    [('a', [1.0, 3.0]), ('b', [2.0, 4.0])]
    >>> table.notes
    ["the first column, 'day', is taken for dates or labels and left out"]
    >>> folder.cleanup()
    """
    path = Path(path)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"`path` must end in {', '.join(_READERS)}, but got path={path.name!r}.")
    if not path.is_file():
        raise FileNotFoundError(f"`path` must be a file, but got {str(path)!r}.")
    said = 0

    def tell(rows: int) -> None:
        nonlocal said
        if progress is not None and rows // _REPORT_EVERY > said:
            said = rows // _REPORT_EVERY
            progress(rows)

    try:
        return reader(path, by, value, tell)
    except UnicodeDecodeError as error:
        raise ValueError(f"`{path.name}` must be UTF-8 text, but got {error}.") from error
    except csv.Error as error:
        raise ValueError(f"`{path.name}` must be a CSV file, but got: {error}.") from error
