"""What pictures show of a search, from whatever it was kept in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof.search.optimizer import Optimizer
from tailproof.search.results import Recommendation, Result
from tailproof.search.space.parameters import Choice, Fixed, Float, Int
from tailproof.search.space.space import Space

Array = NDArray[np.float64]

_CHECKPOINTS = 12  # of the recommendation's course
_FIRST_CHECKPOINT = 4  # payoffs
_GRID = 61  # points along a continuous parameter


@dataclass(frozen=True)
class SearchRecord:
    """A search as pictures show it.

    Attributes
    ----------
    optimizer
        Told all payoffs in their order; over a `Space`.
    params, values, clipped
        Of the n payoffs: configurations, payoffs (n,), whether the robust loss limits them (n,). A
        far payoff that a failed trial is given is limited, as in the model.
    recommendation
        What is recommended now.
    course
        Pairs of a number of payoffs and what was recommended then.
    failed
        Configurations of failed trials.
    seconds
        Duration of each of the n trials, (n,); empty if it is not known.
    level
        Confidence level of the intervals.
    """

    optimizer: Optimizer
    params: list[dict[str, Any]]
    values: Array
    clipped: NDArray[np.bool_]
    recommendation: Recommendation
    course: list[tuple[int, Recommendation]]
    failed: list[dict[str, Any]] = field(default_factory=list)
    seconds: Array = field(default_factory=lambda: np.zeros(0))
    level: float = 0.9

    @property
    def searched(self) -> int | None:
        """Number of payoffs before those of the confirmation; None if there is none."""
        race = self.optimizer._plan.race_trials
        runs = [i for i, done in enumerate(self.optimizer.trials) if done.trial.number in race]
        return min(runs, default=None)

    @property
    def space(self) -> Space:
        """The space of the recorded search."""
        assert isinstance(self.optimizer.space, Space)
        return self.optimizer.space

    @property
    def minimize(self) -> bool:
        """Whether the recorded payoffs are costs."""
        return self.optimizer.minimize

    @property
    def names(self) -> list[str]:
        """The parameters of the recorded search that are not fixed."""
        parameters = self.space.parameters
        return [name for name in self.space.names if not isinstance(parameters[name], Fixed)]


def record_of(search: Any, *, level: float = 0.9) -> SearchRecord:
    """Return the record of an Optimizer, a Result, an Optuna study, or a record itself."""
    if isinstance(search, SearchRecord):
        return search
    if isinstance(search, Result):
        return _record_of_optimizer(search.optimizer, level, search.seconds)
    if isinstance(search, Optimizer):
        return _record_of_optimizer(search, level, ())
    if type(search).__module__.partition(".")[0] == "optuna":
        from tailproof.integrations.optuna import optimizer_of_study

        optimizer, seconds = optimizer_of_study(search)
        return _record_of_optimizer(optimizer, level, seconds)
    raise ValueError(
        "`search` must be an Optimizer, a Result of maximize or minimize, or an Optuna study, but "
        f"got {search!r}."
    )


def _record_of_optimizer(
    optimizer: Optimizer, level: float, seconds: Sequence[float]
) -> SearchRecord:
    """Return the record of an optimizer over a Space, all that pictures show of it."""
    if not isinstance(optimizer.space, Space):
        raise ValueError(
            f"`search` must be over a Space of parameters, but got {optimizer.space!r}."
        )
    recommendation = optimizer.recommend(level=level)
    trials = optimizer.trials
    return SearchRecord(
        optimizer=optimizer,
        params=[done.trial.params for done in trials],
        values=optimizer._model.limited_values(),
        clipped=optimizer.clipped,
        recommendation=recommendation,
        course=course_of(optimizer, level, recommendation),
        failed=[failure.trial.params for failure in optimizer.failures],
        seconds=np.array(seconds, dtype=np.float64),
        level=level,
    )


def checkpoints(count: int) -> list[int]:
    """Return after how many of `count` payoffs the record of a search looks at it, ascending.

    Examples
    --------
    >>> checkpoints(3), checkpoints(100)[:4]
    ([3], [4, 5, 7, 10])
    """
    first = min(_FIRST_CHECKPOINT, count)
    return sorted({round(n) for n in np.geomspace(first, count, _CHECKPOINTS)} | {count})


def course_of(
    optimizer: Optimizer, level: float, final: Recommendation
) -> list[tuple[int, Recommendation]]:
    """Record what was recommended after some numbers of payoffs, by telling them again."""
    again = Optimizer(
        optimizer.space,
        seed=optimizer.seed,
        minimize=optimizer.minimize,
        options=optimizer.options,
        baseline=optimizer._plan.baseline_params or None,
    )
    failed = {failure.trial.number for failure in optimizer.failures}
    wanted, course = set(checkpoints(len(optimizer))), []
    for count, done in enumerate(optimizer.trials, start=1):
        if done.trial.number in failed:
            again.add_failure(done.trial.params, value=done.value)
        else:
            again.add(done.trial.params, **done.told)
        if count == len(optimizer):
            course.append((count, final))
        elif count in wanted:
            course.append((count, again.recommend(level=level)))
    return course


def grid(space: Space, name: str) -> list[Any]:
    """Return values of a parameter to predict the recorded search at: all, or some spread evenly.

    Examples
    --------
    >>> grid(Space(n=Int(1, 5)), "n")
    [1, 2, 3, 4, 5]
    """
    parameter = space.parameters[name]
    if isinstance(parameter, Choice):
        return list(parameter.options)
    assert isinstance(parameter, Float | Int)
    if parameter.count is None or parameter.count > _GRID:
        positions = np.linspace(0.0, 1.0, _GRID)
    elif parameter.log:
        return list(range(int(parameter.low), int(parameter.high) + 1))
    else:
        positions = (np.arange(parameter.count) + 0.5) / parameter.count
    return list(dict.fromkeys(parameter.value(float(u)) for u in positions))
