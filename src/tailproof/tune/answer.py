"""What a study has found: the setting with the best robust mean, beside the luckiest payoff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailproof.search.optimizer import Optimizer
from tailproof.search.space.parameters import Fixed, Float, Int
from tailproof.search.space.space import Space
from tailproof.search.trials import Prediction, Recommendation
from tailproof.tails import Diagnosis, diagnose
from tailproof.tune.claims import counts
from tailproof.tune.study import constants, in_space, modeled

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

Array = NDArray[np.float64]

_CHECKPOINTS = 12  # of the recommendation's course
_FEWEST = 4  # payoffs before a recommendation's course begins
_GRID = 61  # points of a slice along a continuous parameter
_DIAGNOSABLE = 20  # payoffs before their tails are looked at


@dataclass(frozen=True)
class Slice:
    """The robust mean along one parameter, through the recommended setting.

    Attributes
    ----------
    name : str
    values : list
        Values of the parameter.
    estimate : Prediction
    """

    name: str
    values: list[Any]
    estimate: Prediction


@dataclass(frozen=True)
class Answer:
    """Everything the summary, the exports and the report say.

    Attributes
    ----------
    space : Space
    minimize : bool
    trials : list of FrozenTrial
        Those that count, by number.
    params : list of dict
        Settings of the complete trials that the means are made of, in their order of completion,
        constants included.
    values, tamed : (n,)
        Their payoffs, and which of them were tamed.
    numbers : (n,) int
        Their trial numbers.
    failed_params : list of dict
        Settings of the failed trials that lie in the space.
    left_out : int
        Complete trials that are in no mean: of infinite value, or not inside the space.
    recommended : Recommendation
    lucky : Prediction
        The robust mean of the setting with the luckiest payoff.
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
    tamed: NDArray[np.bool_]
    numbers: NDArray[np.int64]
    failed_params: list[dict[str, Any]]
    left_out: int
    recommended: Recommendation
    lucky: Prediction
    course: list[tuple[int, Recommendation]]
    slices: list[Slice]
    tails: Diagnosis | None

    @property
    def failed(self) -> list[FrozenTrial]:
        """Trials without a payoff."""
        return _failed(self.trials)


def _failed(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    return [one for one in trials if one.state.name in ("FAIL", "PRUNED")]


def conclude(
    trials: Sequence[FrozenTrial],
    space: Space,
    *,
    minimize: bool,
    level: float,
    seed: int | None,
) -> Answer | None:
    """Return what the trials of a study say; None if there is no payoff."""
    kept = [one for one in trials if counts(one)]
    fixed = constants(space)
    told = []
    for one in modeled(kept, space):
        whole = {**fixed, **one.params}
        told.append((one, {name: whole[name] for name in space.names}))
    if not told:
        return None
    opt = Optimizer(space, seed=seed or 0, minimize=minimize)
    course = []
    marks = _marks(len(told))
    for n, (one, params) in enumerate(told, start=1):
        opt.add(params, one.values[0])
        if n in marks:
            course.append((n, opt.recommend(level=level)))
    recommended = course[-1][1]
    values = np.array([one.values[0] for one, _ in told])
    settings = [params for _, params in told]
    return Answer(
        space=space,
        minimize=minimize,
        trials=kept,
        params=settings,
        values=values,
        tamed=opt.clipped,
        numbers=np.array([one.number for one, _ in told]),
        failed_params=[one.params for one in in_space(_failed(kept), space)],
        left_out=sum(one.state.name == "COMPLETE" for one in kept) - len(told),
        recommended=recommended,
        lucky=opt.predict([recommended.best_observed_params], level=level),
        course=course,
        slices=[_slice(opt, space, name, recommended.params, level) for name in _tuned(space)],
        tails=_tails(values, opt.predict(settings, level=level).mean),
    )


def _marks(n: int) -> set[int]:
    """Return after how many payoffs the course of the recommendation is taken."""
    first = min(_FEWEST, n)
    return {round(one) for one in np.geomspace(first, n, _CHECKPOINTS)} | {n}


def _tuned(space: Space) -> list[str]:
    fixed = constants(space)
    return [name for name in space.names if name not in fixed]


def grid(space: Space, name: str) -> list[Any]:
    """Return values of a parameter to look at: all of them, or some spread evenly."""
    one = space.parameters[name]
    assert not isinstance(one, Fixed)
    count = one.count
    if count is not None and (count <= _GRID or not isinstance(one, Float | Int)):
        places = (np.arange(count) + 0.5) / count
        if isinstance(one, Int) and one.log:
            return list(range(one.low, one.high + 1))
    else:
        places = np.linspace(0.0, 1.0, _GRID)
    return list(dict.fromkeys(one.value(float(u)) for u in places))


def _slice(
    opt: Optimizer, space: Space, name: str, params: Mapping[str, Any], level: float
) -> Slice:
    values = grid(space, name)
    return Slice(name, values, opt.predict([{**params, name: v} for v in values], level=level))


def _tails(values: Array, means: Array) -> Diagnosis | None:
    residuals = values - means
    if residuals.size < _DIAGNOSABLE or np.ptp(residuals) == 0.0:
        return None
    try:
        return diagnose(residuals)
    except ValueError:  # nothing to say about such numbers
        return None
