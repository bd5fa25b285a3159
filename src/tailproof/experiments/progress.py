"""How many runs are finished, and an estimate of the time left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Self, TextIO

from tailproof._util.console import LiveDisplay, duration
from tailproof.experiments.plan import Task


class Progress:
    """Count finished runs and show the time left.

    The time left is the work left divided by the number of workers. The work of a kind of run
    (panel and policy) is the mean of those that have finished; before the first one, it is a
    rough guess scaled by the ratio of measured to guessed times so far.

    Parameters
    ----------
    done, tasks
        How many runs were finished before, and the runs to do.
    guess
        Roughly the seconds of a run.
    workers
        How many work in parallel.
    stream, clock
        As in `LiveDisplay`.
    """

    def __init__(
        self,
        done: int,
        tasks: Sequence[Task],
        guess: Callable[[Task], float],
        workers: int,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Show the progress of the runs of a reproduction."""
        self._done, self._total, self._workers = done, done + len(tasks), max(workers, 1)
        self._display = LiveDisplay(self.line, self.line, stream=stream, clock=clock)
        self._left = Counter(task.name[:2] for task in tasks)
        self._guess = {task.name[:2]: guess(task) for task in tasks}
        self._measured: dict[tuple[str, str], list[float]] = {}

    def __enter__(self) -> Self:
        """Begin to show the progress of the runs."""
        self._display.__enter__()
        self._show_progress()
        return self

    def __exit__(self, *raised: object) -> None:
        """End the display of the progress."""
        self._display.__exit__(*raised)

    def finished(self, task: Task, seconds: float) -> None:
        """Count progress by one task that took `seconds` of a worker."""
        kind = task.name[:2]
        self._done += 1
        self._left[kind] -= 1
        self._measured.setdefault(kind, []).append(seconds)
        self._show_progress()

    def _show_progress(self) -> None:
        """Update the display of the reproduction's runs, but for the last one."""
        if self._done < self._total:  # leaving the display shows the last state
            self._display.update()

    def seconds_left(self) -> float | None:
        """Return the time left in the progress of the runs; None before anything has finished."""
        if not self._measured:
            return None
        took = sum(sum(times) for times in self._measured.values())
        guessed = sum(self._guess[kind] * len(times) for kind, times in self._measured.items())
        scale = took / guessed if guessed > 0.0 else 1.0
        expected = {kind: scale * guess for kind, guess in self._guess.items()}
        expected |= {kind: fmean(times) for kind, times in self._measured.items()}
        return sum(left * expected[kind] for kind, left in self._left.items()) / self._workers

    def line(self) -> str:
        """Return the line of progress of the reproduction."""
        share = self._done / self._total if self._total else 1.0
        text = f"{self._done} of {self._total} runs ({share:.0%})"
        if self._done == self._total:
            return text
        left = self.seconds_left()
        return text + (", time left: not known yet" if left is None else f", {duration(left)} left")
