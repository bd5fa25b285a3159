"""Analysis of a study: the recommendation, its course, slices of the model, and the tails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailproof.search.optimizer import Optimizer
from tailproof.search.space.parameters import Fixed, Float, Int
from tailproof.search.space.space import Space
from tailproof.search.trials import Prediction, Recommendation
from tailproof.tails import Diagnosis, diagnose
from tailproof.tune.study import constants, modeled_trials, trials_in_space
from tailproof.tune.trial_queue import counts_toward_budget

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

Array = NDArray[np.float64]
TrueMean = Callable[[Mapping[str, Any]], float]  # of a setting, where it is known

_CHECKPOINTS = 12  # of the recommendation's course
_FIRST_CHECKPOINT = 4  # payoffs
_GRID = 61  # points of a slice along a continuous parameter
_MIN_FOR_TAILS = 20  # payoffs before their tails are diagnosed


@dataclass(frozen=True)
class Slice:
    """The robust mean along one parameter, through the recommended setting.

    Attributes
    ----------
    name : str
    values : list
        Values of the parameter.
    prediction : Prediction
    """

    name: str
    values: list[Any]
    prediction: Prediction


@dataclass(frozen=True)
class Analysis:
    """Everything that the summary, the exports and the report show.

    Attributes
    ----------
    space : Space
    minimize : bool
    trials : list of FrozenTrial
        Those that count, by number.
    params : list of dict
        Settings of the complete trials that the model uses, in their order of completion,
        constants included.
    values, clipped : (n,)
        Their payoffs, and which of them have a residual that the robust loss limits.
    numbers : (n,) int
        Their trial numbers.
    failed_params : list of dict
        Settings of the failed trials that lie in the space.
    left_out : int
        Complete trials that the model does not use: of infinite value, or not inside the space.
    recommendation : Recommendation
    best_observed : Prediction
        The robust mean of the setting with the best observed payoff.
    course : list of (n, Recommendation)
        What would have been recommended after n payoffs.
    slices : list of Slice
    tails : Diagnosis or None
        Of the payoffs less the robust means of their settings; None for fewer than 20.
    """

    space: Space
    minimize: bool
    trials: list[FrozenTrial]
    params: list[dict[str, Any]]
    values: Array
    clipped: NDArray[np.bool_]
    numbers: NDArray[np.int64]
    failed_params: list[dict[str, Any]]
    left_out: int
    recommendation: Recommendation
    best_observed: Prediction
    course: list[tuple[int, Recommendation]]
    slices: list[Slice]
    tails: Diagnosis | None

    @property
    def failed(self) -> list[FrozenTrial]:
        """Trials without a payoff."""
        return _failed(self.trials)


def _failed(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    return [trial for trial in trials if trial.state.name in ("FAIL", "PRUNED")]


def analyze(
    trials: Sequence[FrozenTrial],
    space: Space,
    *,
    minimize: bool,
    level: float,
    seed: int | None,
) -> Analysis | None:
    """Return the analysis of a study's trials; None if there is no payoff."""
    counted = [trial for trial in trials if counts_toward_budget(trial)]
    modeled = modeled_trials(counted, space)
    if not modeled:
        return None
    fixed = constants(space)
    params = [{name: (fixed | t.params)[name] for name in space.names} for t in modeled]
    values = np.array([trial.values[0] for trial in modeled])
    optimizer = Optimizer(space, seed=seed or 0, minimize=minimize)
    course = []
    checkpoints = _checkpoints(len(modeled))
    for n, (setting, value) in enumerate(zip(params, values.tolist(), strict=True), start=1):
        optimizer.add(setting, value)
        if n in checkpoints:
            course.append((n, optimizer.recommend(level=level)))
    best = course[-1][1]
    tuned = [name for name in space.names if name not in fixed]
    return Analysis(
        space=space,
        minimize=minimize,
        trials=counted,
        params=params,
        values=values,
        clipped=optimizer.clipped,
        numbers=np.array([trial.number for trial in modeled]),
        failed_params=[trial.params for trial in trials_in_space(_failed(counted), space)],
        left_out=sum(trial.state.name == "COMPLETE" for trial in counted) - len(modeled),
        recommendation=best,
        best_observed=optimizer.predict([best.best_observed_params], level=level),
        course=course,
        slices=[_slice(optimizer, space, name, best.params, level) for name in tuned],
        tails=_tails(values - optimizer.predict(params, level=level).mean),
    )


def _checkpoints(n: int) -> set[int]:
    """Return after how many payoffs the course of the recommendation is recorded."""
    first = min(_FIRST_CHECKPOINT, n)
    return {round(count) for count in np.geomspace(first, n, _CHECKPOINTS)} | {n}


def grid(space: Space, name: str) -> list[Any]:
    """Return values of a parameter for a slice: all of them, or some spread evenly."""
    parameter = space.parameters[name]
    assert not isinstance(parameter, Fixed)
    count = parameter.count
    if count is not None and (count <= _GRID or not isinstance(parameter, Float | Int)):
        positions = (np.arange(count) + 0.5) / count
        if isinstance(parameter, Int) and parameter.log:
            return list(range(parameter.low, parameter.high + 1))
    else:
        positions = np.linspace(0.0, 1.0, _GRID)
    return list(dict.fromkeys(parameter.value(float(u)) for u in positions))


def _slice(
    optimizer: Optimizer, space: Space, name: str, params: Mapping[str, Any], level: float
) -> Slice:
    values = grid(space, name)
    settings = [{**params, name: value} for value in values]
    return Slice(name, values, optimizer.predict(settings, level=level))


def _tails(residuals: Array) -> Diagnosis | None:
    if residuals.size < _MIN_FOR_TAILS or np.ptp(residuals) == 0.0:
        return None
    try:
        return diagnose(residuals)
    except ValueError:  # nothing to say about such numbers
        return None
