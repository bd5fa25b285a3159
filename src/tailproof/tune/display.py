"""Progress while trials run: a bar and a table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from tailproof._util.console import LiveDisplay, duration, printable, progress_bar, rich_table
from tailproof.tune.command import text
from tailproof.tune.patience import WaitNotice
from tailproof.tune.trial_queue import TrialCounts
from tailproof.tune.worker import STOPPED, Event

if TYPE_CHECKING:
    from rich.console import Group

_ROWS = 8  # finished trials in the table, and running ones
_LOG_INTERVAL = 5.0  # seconds between plain lines
_LONGEST_REASON = 200  # characters


class TuneDisplay(LiveDisplay):
    """Show the progress of a tuning session.

    Parameters
    ----------
    evaluations : int
        The budget.
    minimize : bool
    stream : text file
        A terminal gets a table that is redrawn in place; others get lines.
    quiet : bool
        Show nothing but why a disk or a storage is waited for.
    clock : callable
        Seconds, rising.
    """

    def __init__(
        self,
        evaluations: int,
        minimize: bool,
        stream: TextIO | None = None,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Show the progress of `evaluations` trials of `tailproof tune`."""
        super().__init__(
            self.render, self.line, stream=stream, interval=_LOG_INTERVAL, quiet=quiet, clock=clock
        )
        self._evaluations, self._minimize, self._clock = evaluations, minimize, clock
        self._no_progress = quiet
        self._counts = TrialCounts()
        self._finished_at_start: int | None = None
        self._began = clock()
        self._ended: deque[Event] = deque(maxlen=_ROWS)
        self._running: dict[int, tuple[float, str]] = {}  # number: since when, the setting
        self._best: Event | None = None
        self._gain = ""  # what may still be gained, in words
        self._waited = 0.0  # seconds of waits for a disk or a storage, which are over
        self._notice = WaitNotice(self._say_line, clock)

    def event(self, event: Event) -> None:
        """Show an event on the progress display."""
        if event.counts.finished >= self._counts.finished:
            self._counts = event.counts
        if self._finished_at_start is None:
            self._finished_at_start = event.counts.finished
            self._began = self._clock()
        if event.budget:
            self._evaluations = event.budget  # a rule may have ended the search early
        if event.kind == "look":
            self._gain = event.reason
        elif event.kind == "waiting":
            self._notice.waiting(event.reason)
        elif event.kind == "resumed":
            self._waited += self._notice.resumed()
        elif event.kind == "start":
            self._running[event.number] = self._clock(), format_params(event.params)
        elif event.kind == "end":
            self._running.pop(event.number, None)
            self._ended.append(event)
            if event.value is not None and self._is_better_payoff(event.value):
                self._best = event
            if event.value is None and not self.terminal:
                what = "stopped" if event.reason == STOPPED else "failed"
                self.write(f"trial {event.number} {what}: {_failure_reason(event)}")
        self.update()

    def _say_line(self, line: str) -> None:
        """Write a line that also those see who want no progress."""
        if not self._no_progress:
            self.write(line)
            return
        with contextlib.suppress(OSError, ValueError):  # the stream has gone away
            print(f"tailproof tune: {line}", file=self._stream, flush=True)

    def _is_better_payoff(self, value: float) -> bool:
        """Whether a payoff is the best one shown so far."""
        best = None if self._best is None else self._best.value
        return best is None or (value < best if self._minimize else value > best)

    def line(self) -> str:
        """Return the progress as one line."""
        counts = self._counts
        finished = min(counts.finished, self._evaluations)
        parts = [f"{finished} of {self._evaluations} evaluations"]
        if counts.failed:
            parts.append(f"{counts.failed} failed")
        if counts.running:
            parts.append(f"{counts.running} running")
        if self._notice.since is not None:
            parts.append("waiting")
        left = self.seconds_left()
        if left is not None:
            parts.append(f"about {duration(left)} left")
        if self._gain and not self.terminal:
            parts.append(self._gain)
        return ", ".join(parts)

    def seconds_left(self) -> float | None:
        """Return the time left for the display at the session's pace, but for waits, or None."""
        if self._finished_at_start is None:
            return None
        done = self._counts.finished - self._finished_at_start
        left = self._evaluations - self._counts.finished
        if done <= 0 or left <= 0:
            return None
        now = self._clock() if self._notice.since is None else self._notice.since
        return (now - self._began - self._waited) / done * left

    def render(self) -> Group:
        """Return what a terminal shows: the bar, the latest trials, and the best payoff."""
        from rich.console import Group
        from rich.text import Text

        finished = min(self._counts.finished, self._evaluations)
        bar = progress_bar(finished, self._evaluations, self.line())
        rows = [_trial_row(event) for event in self._ended]
        for number, (since, setting) in list(self._running.items())[:_ROWS]:
            rows.append((str(number), "running", f"{self._clock() - since:.1f}", setting))
        header = ("trial", "payoff", "seconds", "setting")
        parts: list[Any] = [bar, *([rich_table(header, rows, right=(0, 1, 2))] if rows else [])]
        if self._best is not None:
            best = f"best payoff of this session: {self._best.value:g} (trial {self._best.number})"
            parts.append(Text(best))
        if self._gain:
            parts.append(Text(self._gain))
        return Group(*parts)


def _trial_row(event: Event) -> tuple[str, str, str, str]:
    """Return the row of an ended trial on the display."""
    seconds = f"{event.seconds:.3g}"
    if event.value is None:
        what = "stopped" if event.reason == STOPPED else "failed"
        return str(event.number), what, seconds, _failure_reason(event)
    return str(event.number), f"{event.value:.6g}", seconds, format_params(event.params)


def _failure_reason(event: Event) -> str:
    """Return why a trial failed, short enough for the display."""
    return printable(event.reason, _LONGEST_REASON)


def format_params(params: Mapping[str, Any]) -> str:
    """Return a setting for the display on one line, control characters made visible.

    Examples
    --------
    >>> format_params({"threads": 4, "mode": "a b"})
    'threads=4 mode="a b"'
    """
    return " ".join(f"{name}={format_value(value)}" for name, value in params.items())


def format_value(value: Any) -> str:
    """Return a value for the display on one line, quoted where it is more than a word."""
    if isinstance(value, float):
        return f"{value:.6g}"
    written = text(value)
    if written and all(c.isalnum() or c in "._-+/:,%@" for c in written):
        return written
    return '"' + printable(written.replace("\\", "\\\\").replace('"', '\\"')) + '"'
