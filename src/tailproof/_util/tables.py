"""CSV files read in chunks into float64 columns; errors name the file, the line and the column."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

import numpy as np
from numpy.typing import NDArray

CHUNK_ROWS = 100_000  # rows held as text at a time
MISSING = ("", "na", "nan")

Array = NDArray[np.float64]
Rows = list[list[str]]


class DataFileError(ValueError):
    """A data file that cannot be read or does not have the expected form."""


class TableColumns:
    """Columns of a file, collected chunk by chunk: `columns[name]` is an array of shape (rows,).

    A text column is kept as integer codes; `labels[name]` maps its distinct cells, in the order of
    their first rows, to the codes.
    """

    def __init__(self) -> None:
        """Start without columns of the table."""
        self.rows = 0
        self.labels: dict[str, dict[str, int]] = {}
        self._row_chunks: dict[str, list[NDArray[Any]]] = {}

    def add(self, name: str, chunk: NDArray[Any]) -> None:
        """Append a chunk (n,) to a column of numbers."""
        self._row_chunks.setdefault(name, []).append(chunk)

    def add_text(self, name: str, cells: Sequence[str]) -> None:
        """Append a chunk of n cells to a text column."""
        labels = self.labels.setdefault(name, {})
        codes = (labels.setdefault(cell, len(labels)) for cell in cells)
        self.add(name, np.fromiter(codes, np.int64, len(cells)))

    def __getitem__(self, name: str) -> NDArray[Any]:
        self._row_chunks[name] = [np.concatenate(self._row_chunks[name])]  # frees the chunks
        return self._row_chunks[name][0]

    def text(self, name: str) -> list[str]:
        """Return the cells of a text column, without the spaces around them."""
        cells = [cell.strip() for cell in self.labels[name]]
        return [cells[code] for code in self[name]]


class CsvTable:
    """An open CSV file: its header and first row at once, its columns when `read` is called.

    Blank lines are skipped. In a file of one column, a blank line between rows is an empty cell.

    `header` has the names of the columns, `first` is the first row or None.
    """

    def __init__(
        self, stream: TextIO, path: Path, expects: str, *, header_optional: bool = False
    ) -> None:
        self.path, self._stream, self._expects = path, stream, expects
        rows = dropwhile(lambda row: not row, csv.reader(stream))
        names = next(rows, [])
        if not names:
            self.fail("an empty file")
        self.first = next(rows, None)
        self._rows = rows if self.first is None else chain([self.first], rows)
        self._has_header = not (header_optional and all(map(is_number, names)))
        if not self._has_header:
            self.first, self._rows = names, chain([names], self._rows)
            names = [f"column {i + 1}" for i in range(len(names))]
        self.header = tuple(name.strip() for name in names)

    def fail(self, finding: str) -> NoReturn:
        """Raise a DataFileError that says which file, what was expected and what was found."""
        raise DataFileError(f"{self.path}: expected {self._expects}, but found {finding}.")

    def fail_at(self, row: int, finding: str, column: str | None = None) -> NoReturn:
        """Raise a DataFileError about row number `row`, counted from 0."""
        where = f"in line {self._line_of_row(row)}" + (f", column {column!r}" if column else "")
        self.fail(f"{finding} {where}")

    def _line_of_row(self, row: int) -> int:
        """Return the line on which a row ends, counted from 1, by reading the file once more."""
        self._stream.seek(0)
        reader = csv.reader(self._stream)
        table = dropwhile(lambda pair: not pair[0], ((r, reader.line_num) for r in reader))
        lines = (line for r, line in table if r or len(self.header) == 1)
        return next(islice(lines, row + self._has_header, None))

    def read(
        self,
        numbers: Sequence[str],
        text: Sequence[str] = (),
        *,
        allow_missing: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> TableColumns:
        """Read the columns `numbers` as finite floats and `text` as text; once only.

        With `allow_missing`, empty cells, NA and NaN are read as NaN instead of being refused.
        `progress` is called with the number of rows read so far after every 100,000 rows.
        """
        places = {name: self._column_place(name) for name in (*numbers, *text)}
        if not numbers:
            self.fail("no column of numbers")
        columns = TableColumns()
        for rows in self._row_chunks(columns):
            for name in numbers:
                values = self._column_numbers(rows, places[name], columns.rows, allow_missing)
                columns.add(name, values)
            for name in text:
                columns.add_text(name, [row[places[name]] for row in rows])
            columns.rows += len(rows)
            if progress is not None:
                progress(columns.rows)
        if not columns.rows:
            self.fail("a header and no rows")
        return columns

    def _column_place(self, name: str) -> int:
        """Return the place of a named column in the header of the CSV file."""
        if name not in self.header:
            self.fail(f"no column {name!r} among {', '.join(map(repr, self.header))}")
        return self.header.index(name)

    def _row_chunks(self, columns: TableColumns) -> Iterator[Rows]:
        """Yield the rows of the CSV file in chunks, each row as wide as the header."""
        width = len(self.header)
        blank: Rows = []  # at the end of a chunk of one column: dropped unless a row follows
        while rows := list(islice(self._rows, CHUNK_ROWS)):
            if not all(rows):
                rows = [row or [""] for row in rows if row or width == 1]
            rows, blank = blank + rows, []
            while width == 1 and rows and rows[-1] == [""]:
                blank.append(rows.pop())
            for i, row in enumerate(rows):
                if len(row) != width:
                    finding = f"{len(row)} cells under a header of {width} columns"
                    self.fail_at(columns.rows + i, finding)
            yield rows

    def _column_numbers(self, rows: Rows, place: int, before: int, allow_missing: bool) -> Array:
        """Return a column of a chunk of rows as numbers; `before` counts earlier rows."""
        try:
            values = np.fromiter((float(row[place]) for row in rows), np.float64, len(rows))
        except ValueError:  # a cell that is missing or not a number
            values = np.full(len(rows), np.nan)
            for i, row in enumerate(rows):
                cell = row[place]
                if is_number(cell):
                    values[i] = float(cell)
                elif not (allow_missing and cell.strip().lower() in MISSING):
                    self.fail_at(before + i, f"{cell!r}, not a number,", self.header[place])
        wrong = np.isinf(values) if allow_missing else ~np.isfinite(values)
        if wrong.any():
            i = int(wrong.argmax())
            cell = rows[i][place]
            self.fail_at(before + i, f"{cell!r}, not a finite number,", self.header[place])
        return values


def is_number(text: str) -> bool:
    """Tell whether a table cell can be read as a float, as " 1e3" can and "2020-01-01" cannot."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def spreadsheet_safe(text: str) -> str:
    """Return a CSV cell that no spreadsheet takes for a formula.

    An apostrophe is put in front of text that starts, apart from white space, with one of = + - @
    (also in full width) or an apostrophe, or that starts with a tab or a line break. Numbers stay.
    Without its first apostrophe, a cell that starts with one is the text again.

    Examples
    --------
    >>> spreadsheet_safe("=1+1"), spreadsheet_safe("-1.5e3"), spreadsheet_safe("-x")
    ("'=1+1", '-1.5e3', "'-x")
    """
    risky = text.lstrip()[:1] in _FORMULA_STARTS or text[:1] in _CELL_BREAKS
    return f"'{text}" if text and risky and not is_number(text) else text


_FORMULA_STARTS = tuple("=+-@'\uff1d\uff0b\uff0d\uff20")
_CELL_BREAKS = tuple("\t\r\n")


@contextmanager
def open_csv(path: Path, expects: str, *, header_optional: bool = False) -> Iterator[CsvTable]:
    r"""Open a CSV file (UTF-8, possibly gzip-compressed under a name that ends in .gz).

    Errors say "PATH: expected `expects`, but found ...". With `header_optional`, a first line of
    numbers only is a row instead of the header; the columns are then named column 1, column 2, ...

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "payoffs.csv"
    ...     _ = path.write_text("arm,payoff\nx,1\ny,2\nx,3\n")
    ...     with open_csv(path, "columns 'arm' and 'payoff'") as table:
    ...         columns = table.read(["payoff"], ["arm"])
    >>> columns["payoff"], columns["arm"], columns.labels["arm"]
    (array([1., 2., 3.]), array([0, 1, 0]), {'x': 0, 'y': 1})
    """
    opener = gzip.open if path.suffix == ".gz" else open
    wrong = f"{path}: expected {expects}, but found"
    try:
        stream = cast("TextIO", opener(path, "rt", encoding="utf-8-sig", newline=""))
    except OSError as error:
        raise DataFileError(f"{wrong} no readable file ({error.strerror}).") from error
    with stream:
        try:
            yield CsvTable(stream, path, expects, header_optional=header_optional)
        except UnicodeDecodeError as error:
            raise DataFileError(f"{wrong} bytes that are not UTF-8 text.") from error
        except (csv.Error, EOFError, gzip.BadGzipFile) as error:
            raise DataFileError(f"{wrong}: {error}.") from error
