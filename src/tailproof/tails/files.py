"""Payoffs from CSV and Parquet files, read in chunks into float64 arrays and nothing larger.

Long table: `by` names the column of arms, `value` that of payoffs. Wide table: every numeric column
is an arm; a first column of dates or text, or one without a name, is left out with a note. A CSV
file whose first line holds numbers only has no header: its columns are named column 1, column 2, ..
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from tailproof._util import tables
from tailproof._util.optional import require
from tailproof._util.tables import DataFileError
from tailproof.tails.series import Series, Table, check_magnitude, listed, split

Progress: TypeAlias = Callable[[int], None]

_REPORT_EVERY = 1_000_000  # rows


@dataclass(frozen=True)
class ReadingPlan:
    """Which columns are read: payoffs, the arms' labels, other labels, and notes on the others."""

    values: list[str]
    by: str | None
    notes: list[str]
    block: str | None = None

    @property
    def labels(self) -> list[str]:
        """The columns that are read as text."""
        return [name for name in (self.by, self.block) if name is not None]


PlannedColumns: TypeAlias = tuple[ReadingPlan, tables.TableColumns]


def _wide_reading_plan(header: Sequence[str], numeric: Sequence[bool]) -> ReadingPlan:
    """Return how to read a file with one column of payoffs for each arm."""
    notes, first = [], 0
    if not numeric[0] or not header[0].strip():
        first = 1
        notes.append(f"the first column, {header[0]!r}, is taken for dates or labels and left out")
    text = [name for name, good in zip(header[first:], numeric[first:], strict=True) if not good]
    if text:
        raise ValueError(
            "without `by` and `value` every column but the first must hold numbers, "
            f"but got text in {listed(text)}; name the column of payoffs with `value`."
        )
    values = list(header[first:])
    if not values:
        raise ValueError(f"the file must hold a column of numbers, but got {listed(header)}.")
    if len(set(values)) < len(values):
        twice = sorted({name for name in values if values.count(name) > 1})
        raise ValueError(f"columns must have distinct names, but got {listed(twice)} twice.")
    return ReadingPlan(values, None, notes)


def _reading_plan(
    header: Sequence[str],
    numeric: Sequence[bool],
    by: str | None,
    value: str | None,
    block: str | None = None,
) -> ReadingPlan:
    """Choose the columns of a file to read; `numeric` tells for each whether it holds numbers."""
    for role, name in (("`by`", by), ("`value`", value), ("the block", block)):
        if name is not None and name not in header:
            raise ValueError(
                f"{role} must be a column of the file, but got {name!r}; "
                f"there are {listed(header)}."
            )
    if block is not None:
        if block in (by, value):
            raise ValueError(f"the block must be a column of its own, but got {block!r} twice.")
        others = [i for i, name in enumerate(header) if name != block]
        plan = _reading_plan([header[i] for i in others], [numeric[i] for i in others], by, value)
        return replace(plan, block=block)
    if by is not None and value is None:
        candidates = [
            n for n, good in zip(header, numeric, strict=True) if good and n not in ("", by)
        ]
        if len(candidates) != 1:
            raise ValueError(
                "`value` must name the column of payoffs, but it was left out and there are "
                f"{len(candidates)} columns of numbers beside {by!r}: {listed(candidates)}."
            )
        value = candidates[0]
    if value is None:
        return _wide_reading_plan(header, numeric)
    if value == by:
        raise ValueError(f"`by` and `value` must be two columns, but both are {value!r}.")
    return ReadingPlan([value], by, [])


def _table_of_series(plan: ReadingPlan, columns: tables.TableColumns) -> Table:
    """Return the columns of a file of payoffs as series, one for each arm."""
    arrays = {name: columns[name] for name in plan.values}
    for name, array in arrays.items():
        check_magnitude(name, array)
    if plan.by is None:
        arms = [Series(name, array) for name, array in arrays.items()]
        return Table(arms, aligned=len(arms) > 1, notes=plan.notes)
    return Table(split(list(columns.labels[plan.by]), columns[plan.by], arrays[plan.values[0]]))


def _csv_columns(
    path: Path, by: str | None, value: str | None, block: str | None, progress: Progress
) -> PlannedColumns:
    """Return the columns of payoffs in a CSV file."""
    with tables.open_csv(path, "a table of payoffs", header_optional=True) as file:
        if file.first is None:
            file.fail("a header and no rows")
        sample = file.first if len(file.first) == len(file.header) else file.header
        # An empty cell is a missing number rather than text: the error will name its line.
        numeric = [tables.is_number(cell) or not cell.strip() for cell in sample]
        plan = _reading_plan(file.header, numeric, by, value, block)
        return plan, file.read(plan.values, plan.labels, progress=progress)


def _parquet_columns(
    path: Path, by: str | None, value: str | None, block: str | None, progress: Progress
) -> PlannedColumns:
    """Return the columns of payoffs in a Parquet file."""
    arrow, parquet = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    try:
        file = parquet.ParquetFile(path)
    except arrow.ArrowInvalid as error:
        raise DataFileError(f"{path}: expected a Parquet file, but found: {error}.") from error
    with file:
        schema, types = file.schema_arrow, arrow.types
        numeric = [
            types.is_integer(t) or types.is_floating(t) or types.is_decimal(t) for t in schema.types
        ]
        if not schema.names:
            raise DataFileError(f"{path}: expected columns of payoffs, but found none.")
        plan, columns = (
            _reading_plan(schema.names, numeric, by, value, block),
            tables.TableColumns(),
        )
        for name in plan.values:
            if not numeric[schema.names.index(name)]:
                kind = schema.field(name).type
                raise ValueError(f"`{name}` must hold numbers, but got a column of type {kind}.")
        wanted = [*plan.values, *plan.labels]
        for batch in file.iter_batches(batch_size=tables.CHUNK_ROWS, columns=wanted):
            for name in plan.values:
                values = batch.column(name).cast(arrow.float64()).to_numpy(zero_copy_only=False)
                wrong = np.flatnonzero(~np.isfinite(values))
                if wrong.size:
                    raise DataFileError(
                        f"{path}: expected finite numbers, but found {values[wrong[0]]} "
                        f"in row {columns.rows + wrong[0] + 1}, column {name!r}."
                    )
                columns.add(name, values)
            for name in plan.labels:
                columns.add_text(name, [str(x) for x in batch.column(name).to_pylist()])
            columns.rows += batch.num_rows
            progress(columns.rows)
    if not columns.rows:
        raise DataFileError(f"{path}: expected rows of payoffs, but found none.")
    return plan, columns


_READERS = {".csv": _csv_columns, ".parquet": _parquet_columns, ".pq": _parquet_columns}


def read_table(
    path: str | Path,
    *,
    by: str | None = None,
    value: str | None = None,
    progress: Progress | None = None,
) -> Table:
    """Read arms from a CSV or Parquet file; `diagnose_file` documents the arguments."""
    return _table_of_series(*read_columns(path, by=by, value=value, progress=progress))


def read_columns(
    path: str | Path,
    *,
    by: str | None = None,
    value: str | None = None,
    block: str | None = None,
    progress: Progress | None = None,
) -> PlannedColumns:
    """Read a file's columns of payoffs and labels, CSV or Parquet, for `diagnose` and `compare`.

    `by` and `value` choose them as in `diagnose_file`; `block` is one more column of labels.
    """
    path = Path(path)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"`path` must end in {', '.join(_READERS)}, but got path={str(path)!r}.")
    if not path.is_file():
        raise FileNotFoundError(f"`path` must be a file, but got {str(path)!r}.")
    reported = 0

    def report(rows: int) -> None:
        nonlocal reported
        if progress is not None and rows // _REPORT_EVERY > reported:
            reported = rows // _REPORT_EVERY
            progress(rows)

    return reader(path, by, value, block, report)
