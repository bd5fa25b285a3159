"""What is told of a trial: a payoff, several payoffs, or a mean with its standard error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tailproof._util import checks
from tailproof.search.model.parameters import Observations
from tailproof.search.trials import CompletedTrial, Trial


def payoff(name: str, value: Any) -> float:
    """Return a payoff as a float, or raise an error that names it."""
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
        if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str | bytes):
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


def observations(completed: Sequence[CompletedTrial], points: Any, sign: float) -> Observations:
    """Return the observations of completed trials at encoded points (k, p), one row a payoff.

    `sign` is -1 for costs. A standard error estimated from n payoffs is itself uncertain: as the
    scale of a Student-t law it has the variance of that law, (n - 1) / (n - 3) for n > 3.
    """
    counts = [len(done.payoffs) for done in completed]
    payoffs = np.array([sign * y for done in completed for y in done.payoffs])
    sem = np.array([_inflated_error(done) for done in completed for _ in done.payoffs])
    return Observations(np.repeat(points, counts, axis=0), payoffs, sem)


def _inflated_error(done: CompletedTrial) -> float:
    if done.sem is None:
        return math.nan
    return done.sem if done.n < 5 else done.sem * math.sqrt((done.n - 1) / (done.n - 3))


def by_trial(completed: Sequence[CompletedTrial], flags: Any) -> Any:
    """Return for each completed trial whether any of its payoffs is flagged, (k,)."""
    starts = np.cumsum([0] + [len(done.payoffs) for done in completed])[:-1]
    return np.logical_or.reduceat(flags, starts)
