"""Text for terminals and logs: durations, tables, and a display that changes while work is done.

rich draws on terminals. Text from outside is passed to it as plain text, never as markup.
"""

from __future__ import annotations

import io
import os
import sys
import textwrap
import time
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self, TextIO

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.table import Table

REDRAW_INTERVAL = 0.1  # seconds between two drawings on a terminal
_BAR_WIDTH = 24
_WIDEST = 10_000  # columns of a table that is not cut to a terminal


def duration(seconds: float) -> str:
    """Return a time in words.

    Examples
    --------
    >>> duration(4.2), duration(75), duration(7500)
    ('4 s', '1 min 15 s', '2 h 5 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def printable(text: str, limit: int | None = None) -> str:
    r"""Return text on one line, everything that could move a terminal's cursor escaped.

    Text that is longer than `limit` characters in this form is cut and ends in an ellipsis.

    Examples
    --------
    >>> printable("a\nb"), printable("abcdef", 4)
    ('a\\nb', 'abc…')
    """
    shown = "".join(
        c
        if unicodedata.category(c)[0] != "C" and c not in "\u2028\u2029"
        else c.encode("unicode_escape").decode()
        for c in (text if limit is None else text[: limit + 1])
    )
    return shown if limit is None or len(shown) <= limit else shown[: limit - 1] + "…"


def rich_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()
) -> Table:
    """Return a rich table without lines; the columns in `right` are aligned to the right.

    On a terminal that is too narrow the last column is cut.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=None)
    for i, name in enumerate(header):
        # Only columns that may wrap are made narrower; the cells themselves do not wrap.
        fixed = i < len(header) - 1
        table.add_column(Text(name), justify="right" if i in right else "left", no_wrap=fixed)
    for row in rows:
        table.add_row(*(Text(printable(cell), no_wrap=True, overflow="ellipsis") for cell in row))
    return table


def text_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()
) -> str:
    """Return a table as plain text, columns aligned, without trailing spaces.

    Examples
    --------
    >>> print(text_table(("arm", "mean"), [("ash", "1.5"), ("birch", "10")], right=[1]))
    arm    mean
    ash     1.5
    birch    10
    """
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, width=_WIDEST, color_system=None).print(rich_table(header, rows, right))
    return "\n".join(line.rstrip() for line in stream.getvalue().rstrip("\n").split("\n"))


def table_for_width(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None) -> str:
    """Return a table as plain text, all but the first column aligned to the right.

    If that is wider than `width`, rows and columns change places; None for any width.

    Examples
    --------
    >>> header = ("", "mean", "interval")
    >>> rows = [("ash", "1.5", "1 to 2"), ("birch", "10", "9 to 11")]
    >>> print(table_for_width(header, rows, 25))
           mean  interval
    ash     1.5    1 to 2
    birch    10   9 to 11
    >>> print(table_for_width(header, rows, 20))
                 ash    birch
    mean         1.5       10
    interval  1 to 2  9 to 11
    """
    from rich.cells import cell_len

    table = text_table(header, rows, right=range(1, len(header)))
    if width is None or max(map(cell_len, table.split("\n"))) <= width:
        return table
    head, *others = zip(header, *rows, strict=True)
    return text_table(head, others, right=range(1, len(head)))


def wrapped(text: str, width: int | None) -> str:
    """Return text whose lines are broken between words at `width` columns; None for any width."""
    if width is None:
        return text
    return "\n".join(
        textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


def progress_bar(done: int, total: int, text: str) -> Table:
    """Return a bar with text beside it, as something rich can print."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    line = Table.grid(padding=(0, 1))
    line.add_row(ProgressBar(total, done, width=_BAR_WIDTH), text)
    return line


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a person watches `stream` on a terminal that can redraw lines."""
    if stream is None or stream.closed or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def terminal_width(stream: TextIO | None) -> int | None:
    """Return the number of columns of the terminal that `stream` writes to; None if it is none."""
    if stream is None or not is_terminal(stream):
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None


class LiveDisplay:
    """Show how far some work is: redrawn in place on a terminal, plain lines elsewhere.

    Parameters
    ----------
    render, line
        Return what a terminal shows, anything rich can print, and one line of text for logs; with
        `line` None nothing is written where there is no terminal.
    stream
        Where to write; standard error if None.
    interval
        Seconds between two plain lines, by `clock`.
    quiet
        Show nothing at all.
    """

    def __init__(
        self,
        render: Callable[[], RenderableType],
        line: Callable[[], str] | None = None,
        *,
        stream: TextIO | None = None,
        interval: float = 15.0,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._render, self._line = render, line
        self._stream = sys.stderr if stream is None else stream
        self._interval, self._clock = interval, clock
        self.terminal = is_terminal(self._stream) and not quiet
        self._quiet = quiet or (line is None and not self.terminal)
        self._shown_at = -float("inf")
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self.terminal:
            from rich.console import Console
            from rich.live import Live

            console = Console(file=self._stream)
            self._live = Live(console=console, auto_refresh=False, redirect_stdout=False)
            self._live.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.update(force=True)
        if self._live is not None:
            self._write_safely(self._live.stop)

    def update(self, *, force: bool = False) -> None:
        """Show the present state, unless it was shown a moment ago and `force` is False."""
        now = self._clock()
        interval = REDRAW_INTERVAL if self.terminal else self._interval
        if self._quiet or (not force and now - self._shown_at < interval):
            return
        self._shown_at = now
        if self._live is not None:
            live = self._live
            self._write_safely(lambda: live.update(self._render(), refresh=True))
        elif self._line is not None:
            self.write(self._line())

    def write(self, line: str) -> None:
        """Write one line of text above the display, or to the log."""
        if self._quiet:
            return
        if self._live is not None:
            from rich.text import Text

            console = self._live.console
            self._write_safely(lambda: console.print(Text(line)))
        else:
            self._write_safely(lambda: print(line, file=self._stream, flush=True))

    def _write_safely(self, action: Callable[[], Any]) -> None:
        """Write; if the stream has gone away, stay quiet from now on and let the work go on."""
        try:
            action()
        except (OSError, ValueError):
            self._quiet, self._live = True, None
