"""What is shown while trials run: a bar and a table in a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TextIO

from tailproof.tune.claims import Tally
from tailproof.tune.template import text
from tailproof.tune.work import Event

_ROWS = 8  # finished trials in the table
_PLAIN_INTERVAL = 5.0  # seconds between plain lines of progress
_REDRAW_INTERVAL = 0.1
_BAR = 24


class Live:
    """Show progress.

    Parameters
    ----------
    trials : int
        The budget.
    minimize : bool
    stream : text file
        A terminal gets a table that is rewritten in place; others get lines.
    quiet : bool
        Show nothing.
    clock : callable
        Seconds, rising.
    """

    def __init__(
        self,
        trials: int,
        minimize: bool,
        stream: TextIO | None = None,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._trials, self._minimize = trials, minimize
        self._stream = sys.stderr if stream is None else stream
        self._quiet, self._clock = quiet, clock
        self._terminal = self._stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._tally = Tally()
        self._done_at_start: int | None = None
        self._began = self._shown_at = clock()
        self._height = 0
        self._rows: deque[Event] = deque(maxlen=_ROWS)
        self._running: dict[int, float] = {}
        self._best: Event | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._show(force=True)

    def event(self, event: Event) -> None:
        """Take note of something that happened."""
        if event.tally.finished >= self._tally.finished:
            self._tally = event.tally
        if self._done_at_start is None:
            self._done_at_start = event.tally.finished
            self._began = self._clock()
        if event.kind == "start":
            self._running[event.number] = self._clock()
        elif event.kind == "end":
            self._running.pop(event.number, None)
            self._rows.append(event)
            if event.value is not None and self._better(event.value):
                self._best = event
            if event.value is None and not self._terminal and not self._quiet:
                self._write(f"trial {event.number} failed: {one_line(event.reason)}\n")
        self._show(force=False)

    def tick(self) -> None:
        """Bring times up to date."""
        self._show(force=False)

    def _better(self, value: float) -> bool:
        best = None if self._best is None else self._best.value
        return best is None or (value < best if self._minimize else value > best)

    def _show(self, *, force: bool) -> None:
        now = self._clock()
        interval = _REDRAW_INTERVAL if self._terminal else _PLAIN_INTERVAL
        if self._quiet or (not force and now - self._shown_at < interval):
            return
        self._shown_at = now
        if self._terminal:
            self._redraw()
        else:
            self._write(self.line() + "\n")

    def line(self) -> str:
        """Return how far it is."""
        tally = self._tally
        parts = [f"{min(tally.finished, self._trials)} of {self._trials} trials"]
        if tally.failed:
            parts.append(f"{tally.failed} failed")
        if tally.running:
            parts.append(f"{tally.running} running")
        left = self.seconds_left()
        if left is not None:
            parts.append(f"about {_duration(left)} left")
        return ", ".join(parts)

    def seconds_left(self) -> float | None:
        """Return the time left at the pace of this session; None before there is one."""
        if self._done_at_start is None:
            return None
        done = self._tally.finished - self._done_at_start
        left = self._trials - self._tally.finished
        if done <= 0 or left <= 0:
            return None
        return (self._clock() - self._began) / done * left

    def _redraw(self) -> None:
        width = max(shutil.get_terminal_size().columns - 1, 20)
        share = min(self._tally.finished / self._trials, 1.0)
        filled = round(share * _BAR)
        bar = "#" * filled + "." * (_BAR - filled)
        lines = [f"[{bar}] {self.line()}"]
        if self._rows:
            lines.append(f"{'trial':>7} {'payoff':>14} {'seconds':>9}  setting")
            lines += [_row(one) for one in self._rows]
        for number, since in list(self._running.items())[:_ROWS]:
            lines.append(f"{number:>7} {'running':>14} {self._clock() - since:>9.1f}")
        if self._best is not None:
            lines.append(
                f"luckiest payoff of this session: {self._best.value:g} (trial {self._best.number})"
            )
        up = f"\x1b[{self._height}F" if self._height else ""
        drawn = "".join(f"\x1b[2K{_fit(one, width)}\n" for one in lines)
        extra = self._height - len(lines)
        rest = "\x1b[2K\n" * extra + f"\x1b[{extra}F" if extra > 0 else ""
        self._height = len(lines)
        self._write(up + drawn + rest)

    def _write(self, lines: str) -> None:
        try:
            self._stream.write(lines)
            self._stream.flush()
        except (OSError, ValueError):
            self._quiet = True  # nobody looks any more; the work goes on


def _row(event: Event) -> str:
    payoff = "failed" if event.value is None else f"{event.value:.6g}"
    tail = setting(event.params) if event.value is not None else one_line(event.reason)
    return f"{event.number:>7} {payoff:>14} {event.seconds:>9.3g}  {tail}"


def setting(params: Mapping[str, Any]) -> str:
    """Return a setting on one line, control characters made visible.

    Examples
    --------
    >>> setting({"threads": 4, "mode": "a b"})
    'threads=4 mode="a b"'
    """
    return " ".join(f"{name}={shown(value)}" for name, value in params.items())


def shown(value: Any) -> str:
    """Return a value as text on one line, quoted where it is more than a word."""
    if isinstance(value, float):
        return f"{value:.6g}"
    written = text(value)
    if written and all(c.isalnum() or c in "._-+/:,%@" for c in written):
        return written
    return '"' + one_line(written.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def one_line(said: str) -> str:
    """Return text with everything that could move a terminal's cursor escaped."""
    return "".join(
        c
        if unicodedata.category(c)[0] != "C" and c not in "\u2028\u2029"
        else c.encode("unicode_escape").decode()
        for c in said
    )


def _fit(line: str, width: int) -> str:
    """Cut a line to a terminal's width; wide characters take two columns."""
    used = 0
    for i, c in enumerate(line):
        used += 2 if unicodedata.east_asian_width(c) in "WF" else 1
        if used > width:
            return line[:i]
    return line


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
