"""Tables of comma-separated values, read with one clear error for whatever does not fit."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MISSING = ("", "na", "nan")


class DataFileError(ValueError):
    """A data file that is not there or does not have the promised form."""


@dataclass(frozen=True)
class Table:
    """A header and its rows of text, with what the file was expected to be.

    `lines[i]` is the line of the file row i ends on, counted from 1, the header's line being 1.
    """

    path: Path
    expects: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    def fail(self, finding: str) -> NoReturn:
        """Raise the one form of error: which file, what was expected, what was found."""
        raise DataFileError(f"{self.path}: expected {self.expects}, but found {finding}.")

    def column(self, name: str) -> tuple[str, ...]:
        """Return one column's cells as text."""
        if name not in self.header:
            self.fail(f"no column {name!r} among {', '.join(map(repr, self.header))}")
        place = self.header.index(name)
        return tuple(row[place] for row in self.rows)

    def numbers(self, names: Sequence[str], *, allow_missing: bool = False) -> Array:
        """Return columns as (rows, len(names)) floats, finite or, if allowed, NaN where missing."""
        if not names:
            self.fail("no column of numbers")
        columns = [self._numeric(name, allow_missing) for name in names]
        return np.array(columns, dtype=np.float64).T

    def _numeric(self, name: str, allow_missing: bool) -> list[float]:
        values = []
        for cell, line in zip(self.column(name), self.lines, strict=True):
            text = cell.strip()
            if allow_missing and text.lower() in MISSING:
                values.append(math.nan)
                continue
            try:
                value = float(text)
            except ValueError:
                self.fail(f"{cell!r}, not a number, in line {line}, column {name!r}")
            if not math.isfinite(value):
                self.fail(f"{cell!r}, not a finite number, in line {line}, column {name!r}")
            values.append(value)
        return values


def read_table(directory: str | os.PathLike[str], name: str, expects: str) -> Table:
    """Read `name` from `directory`; `expects` completes the sentence "expected ..."."""
    path = Path(directory) / name
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return parse_table(stream, path, expects)
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"{path}: expected {expects}, but found bytes that are not UTF-8 text."
        ) from error
    except OSError as error:
        raise DataFileError(
            f"{path}: expected {expects}, but found no readable file ({error.strerror})."
        ) from error


def parse_table(stream: Iterable[str], path: Path, expects: str) -> Table:
    """Read a table from lines of text; blank lines are skipped."""
    reader = csv.reader(stream)
    cells: list[tuple[str, ...]] = []
    lines: list[int] = []
    for cell_row in reader:
        if cell_row:
            cells.append(tuple(cell_row))
            lines.append(reader.line_num)
    header = tuple(name.strip() for name in cells[0]) if cells else ()
    table = Table(path, expects, header, tuple(cells[1:]), tuple(lines[1:]))
    if not cells:
        table.fail("an empty file")
    for name in header:
        if not name or header.count(name) > 1:
            table.fail(f"a header with the column {name!r} {header.count(name)} time(s)")
    if not table.rows:
        table.fail("a header and no rows")
    for row, line in zip(table.rows, table.lines, strict=True):
        if len(row) != len(header):
            table.fail(f"{len(row)} cells in line {line} under a header of {len(header)} columns")
    return table
