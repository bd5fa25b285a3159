"""Trials of the practical optimizer: what is asked, what is told of it, and the log of all trials.

What is told of a trial is a payoff, several payoffs, or a mean with its standard error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._util import checks
from tailproof.search.model.parameters import Observations

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Trial:
    """A configuration to measure: its number, and its parameters by name."""

    number: int
    params: dict[str, Any]

    def _copy(self) -> Trial:
        """Return a copy of a trial that the caller may change."""
        return Trial(self.number, dict(self.params))


@dataclass(frozen=True)
class CompletedTrial:
    """A trial that was told, in the user's units.

    Attributes
    ----------
    trial
        The trial.
    value
        Its payoff, or the mean of its payoffs.
    values
        The single payoffs, if several were told; else empty.
    sem
        Standard error of `value`, if it was told as a mean; else None.
    n
        Number of payoffs that `value` is the mean of.
    """

    trial: Trial
    value: float
    values: tuple[float, ...] = ()
    sem: float | None = None
    n: int = 1

    @property
    def told(self) -> dict[str, Any]:
        """What was told of a trial, as arguments of `Optimizer.tell` or `add`."""
        if self.sem is not None:
            return {"mean": self.value, "sem": self.sem, "n": self.n}
        return {"value": self.values or self.value}

    @property
    def payoffs(self) -> tuple[float, ...]:
        """The single payoffs of a completed trial, or the mean that stands for them."""
        return self.values or (self.value,)


@dataclass(frozen=True)
class FailedTrial:
    """A trial that gave no payoff, and why."""

    trial: Trial
    reason: str


class TrialLog:
    """All trials of an optimizer by number, each with its place (d,) in the search cube.

    Attributes
    ----------
    started
        Trials that were asked or added, with their places.
    pending
        Numbers of the trials asked, neither told nor withdrawn.
    completed
        Trials that were told, in the order of telling, and their `places`.
    failed
        Why trials failed.
    """

    def __init__(self) -> None:
        self.started: dict[int, tuple[Trial, Array]] = {}
        self.pending: dict[int, None] = {}
        self.completed: dict[int, CompletedTrial] = {}
        self.places: list[Array] = []
        self.failed: dict[int, str] = {}

    def number_of(self, trial: Trial | int) -> int:
        """Return the number of a trial that is in the log."""
        number = trial.number if isinstance(trial, Trial) else trial
        integer = isinstance(number, int | np.integer) and not isinstance(number, bool)
        asked = self.started[int(number)][0] if integer and int(number) in self.started else None
        if asked is None or (isinstance(trial, Trial) and trial != asked):
            raise ValueError(f"`trial` must be one that was asked here, but got {trial!r}.")
        return int(number)

    def start(self, trial: Trial, u: Array, *, pending: bool) -> None:
        """Take a new trial at place u (d,) into the log."""
        self.started[trial.number] = (trial, u)
        if pending:
            self.pending[trial.number] = None

    def complete(self, completed: CompletedTrial) -> None:
        """Take into the log what was told of a trial."""
        number = completed.trial.number
        self.pending.pop(number, None)
        self.failed.pop(number, None)  # it ended after all; `fail` comes after a fail value
        self.completed[number] = completed
        self.places.append(self.started[number][1])

    def fail(self, number: int, reason: str) -> None:
        """Take into the log that a trial gave no payoff, and why."""
        self.pending.pop(number, None)
        self.failed[number] = str(reason)

    def withdraw(self, number: int) -> None:
        """Take a pending trial of the log off the pending ones."""
        if number not in self.pending:
            raise ValueError(f"`trial` must be pending, but trial {number} is not.")
        del self.pending[number]

    def refuse_told(self, number: int, *, failed: bool) -> None:
        """Raise an error if a trial has a payoff, or, if `failed` is set, has failed."""
        if number in self.completed or (failed and number in self.failed):
            raise ValueError(f"`trial` must not be told before, but trial {number} was.")

    def failures(self) -> list[FailedTrial]:
        """Return the failed trials of the log, in the order they were told."""
        failed = self.failed.items()
        return [FailedTrial(self.started[number][0]._copy(), reason) for number, reason in failed]

    def pending_places(self) -> list[Array]:
        """Return the places of the pending trials of the log."""
        return [self.started[number][1] for number in self.pending]

    def failed_places(self) -> list[Array]:
        """Return the places of failed trials of the log that have no payoff."""
        return [self.started[n][1] for n in self.failed if n not in self.completed]

    def require_payoffs(self) -> None:
        """Raise an error if the log holds no payoff."""
        if not self.completed:
            raise ValueError("`tell` must have been called before, but no payoff is known.")


def payoff(name: str, value: Any) -> float:
    """Return a payoff told of a trial as a float, or raise an error that names it."""
    result = checks.number(name, value)
    if abs(result) > checks.LARGEST_PAYOFF:
        raise ValueError(
            f"`|{name}| <= {checks.LARGEST_PAYOFF:g}` must hold, but got {name}={value!r}."
        )
    return result


def measured(
    trial: Trial, value: Any, mean: float | None, sem: float | None, n: int | None
) -> CompletedTrial:
    """Return the completed trial of a payoff, of several payoffs, or of a mean with its error.

    Examples
    --------
    >>> trial = Trial(0, {"x": 1})
    >>> measured(trial, [1.0, 3.0], None, None, None).value
    2.0
    >>> measured(trial, None, 2.0, 0.1, 10).sem
    0.1
    """
    if mean is None:
        if sem is not None or n is not None:
            raise ValueError("`mean` must be given with `sem` and `n`, but got none.")
        if value is None:
            raise ValueError("`value` or `mean` must be given, but got neither.")
        if not _is_several(value):
            return CompletedTrial(trial, payoff("value", value))
        values = tuple(payoff(f"value[{i}]", single) for i, single in enumerate(value))
        if not values:
            raise ValueError(f"`value` must hold a payoff, but got {value!r}.")
        if len(values) == 1:
            return CompletedTrial(trial, values[0])
        average = math.fsum(single / len(values) for single in values)
        return CompletedTrial(trial, average, values, None, len(values))
    if value is not None:
        raise ValueError(f"`value` must not be given with `mean`, but got value={value!r}.")
    if sem is None:
        raise ValueError("`sem` must be given with `mean`, but got none.")
    error = checks.non_negative("sem", sem)
    if error > checks.LARGEST_PAYOFF:
        raise ValueError(f"`sem <= {checks.LARGEST_PAYOFF:g}` must hold, but got sem={sem!r}.")
    count = 1 if n is None else checks.integer("n", n, low=1)
    return CompletedTrial(trial, payoff("mean", mean), (), error, count)


def _is_several(value: Any) -> bool:
    """Tell whether a trial's value holds several payoffs; arrays without axes and text do not."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    text = isinstance(value, str | bytes | bytearray | memoryview)
    return isinstance(value, Sequence) and not text


def observations(completed: Sequence[CompletedTrial], points: Any, sign: float) -> Observations:
    """Return the observations in completed trials at encoded points (k, p), one row a payoff.

    `sign` is -1 for costs. A standard error estimated from n payoffs is itself uncertain: as the
    scale of a Student-t law it has the variance of that law, (n - 1) / (n - 3) for n > 3.
    """
    counts = [len(done.payoffs) for done in completed]
    payoffs = np.array([sign * y for done in completed for y in done.payoffs])
    sem = np.array([_inflated_error(done) for done in completed for _ in done.payoffs])
    return Observations(np.repeat(points, counts, axis=0), payoffs, sem)


def _inflated_error(done: CompletedTrial) -> float:
    """Return the standard error of a trial's mean as an observation has it; NaN for payoffs."""
    if done.sem is None:
        return math.nan
    return done.sem if done.n < 5 else done.sem * math.sqrt((done.n - 1) / (done.n - 3))


def any_by_trial(
    completed: Sequence[CompletedTrial], flags: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return for each completed trial whether any of its payoffs is flagged, (k,)."""
    starts = np.cumsum([0] + [len(done.payoffs) for done in completed])[:-1]
    return np.logical_or.reduceat(flags, starts)
