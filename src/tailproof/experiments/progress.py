"""How far a run is and how long it will take: one rewritten line, or plain lines in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol, Self, TextIO, TypeVar

PLAIN_INTERVAL = 15.0  # seconds between lines where there is no terminal
TERMINAL_INTERVAL = 0.2


class Named(Protocol):
    """A task: the first two parts of its name say of what kind it is."""

    @property
    def name(self) -> tuple[str, str, int]:
        """Two words and a number."""
        ...


T = TypeVar("T", bound=Named)


class Progress:
    """Count finished trials and show the time left.

    The time left is the work left over the workers. A column's work is known from its own
    finished trials; before its first, a rough guess is scaled by how guesses have fared so far.

    Parameters
    ----------
    done, total
        Trials finished before this session, and all.
    workers
        How many run side by side.
    stream
        Where to write; a terminal gets one line that is rewritten.
    clock
        Seconds, rising.
    """

    def __init__(
        self,
        done: int,
        total: int,
        workers: int,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._done, self._total, self._workers = done, total, max(workers, 1)
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._clock = clock
        self._shown_at = -float("inf")
        self._length = 0
        self._left: dict[tuple[str, str], int] = {}
        self._guess: dict[tuple[str, str], float] = {}
        self._seen: dict[tuple[str, str], list[float]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._terminal and self._length:
            self._stream.write("\n")
            self._stream.flush()

    def expect(self, tasks: Sequence[T], guess: Callable[[T], float]) -> None:
        """Learn what is to be done, and a rough guess of the seconds of each task."""
        for task in tasks:
            key = task.name[:2]
            self._left[key] = self._left.get(key, 0) + 1
            self._guess[key] = guess(task)
        self._show(force=True)

    def finished(self, task: Named, seconds: float) -> None:
        """Count one task that took `seconds` of a worker."""
        key = task.name[:2]
        self._done += 1
        self._left[key] -= 1
        self._seen.setdefault(key, []).append(seconds)
        self._show(force=self._done == self._total)

    def seconds_left(self) -> float | None:
        """Return the time left in seconds; None before anything has finished."""
        if not self._seen:
            return None
        took = sum(sum(times) for times in self._seen.values())
        guessed = sum(self._guess[key] * len(times) for key, times in self._seen.items())
        scale = took / guessed if guessed > 0.0 else 1.0
        work = 0.0
        for key, left in self._left.items():
            times = self._seen.get(key)
            each = sum(times) / len(times) if times else scale * self._guess[key]
            work += left * each
        return work / self._workers

    def line(self) -> str:
        """Return the line to show."""
        left = self.seconds_left()
        share = self._done / self._total if self._total else 1.0
        text = f"{self._done} of {self._total} trials ({share:.0%})"
        if self._done == self._total:
            return text
        return text + (", time left: not known yet" if left is None else f", {duration(left)} left")

    def _show(self, *, force: bool) -> None:
        now = self._clock()
        interval = TERMINAL_INTERVAL if self._terminal else PLAIN_INTERVAL
        if not force and now - self._shown_at < interval:
            return
        self._shown_at = now
        text = self.line()
        if self._terminal:
            self._stream.write("\r" + text.ljust(self._length))
            self._length = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()


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
