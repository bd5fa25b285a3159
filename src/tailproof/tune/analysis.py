"""Analysis of a study: the recommendation, its course, slices of the model, and the tails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailproof.plot.pictures import slice_of
from tailproof.plot.record import SearchRecord, checkpoints
from tailproof.search.importance import Importance, importance
from tailproof.search.optimizer import Optimizer
from tailproof.search.results import Prediction, Recommendation
from tailproof.search.space.space import Space
from tailproof.tails import Diagnosis, diagnose
from tailproof.tune.study import constants, distributions, planned_params
from tailproof.tune.trial_queue import counts_toward_budget, has_fail_value, outcome_of

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from tailproof.integrations._optuna_decisions import StudyRace

Array = NDArray[np.float64]
TrueMean = Callable[[Mapping[str, Any]], float]  # of a setting, where it is known

_MIN_FOR_TAILS = 20  # payoffs before their tails are diagnosed


@dataclass(frozen=True)
class Slice:
    """The robust mean along one parameter, through the recommended setting."""

    name: str
    values: list[Any]  # of the parameter
    prediction: Prediction


@dataclass(frozen=True)
class Analysis:
    """Everything that the summary, the exports and the report show.

    `params`, `values`, `clipped` and `numbers` are of the n complete trials that the model uses, in
    their order of completion.
    """

    space: Space
    minimize: bool
    trials: list[FrozenTrial]  # those that count, by number
    params: list[dict[str, Any]]  # constants included
    values: Array  # (n,), the payoffs
    clipped: NDArray[np.bool_]  # (n,), whether the robust loss limits the residual of the payoff
    numbers: NDArray[np.int64]  # (n,), of the trials
    failed: list[FrozenTrial]  # without a payoff
    failed_params: list[dict[str, Any]]  # of the failed trials that lie in the space
    left_out: int  # complete trials that the model does not use
    recommendation: Recommendation
    best_observed: Prediction  # robust mean of the setting with the best observed payoff
    course: list[tuple[int, Recommendation]]  # what was recommended after n payoffs
    confirmed: list[dict[str, Any]]  # settings of the race, the baseline last; empty without one
    stopped_by: str  # the rule that ended the search early; "" if none did
    slices: list[Slice]
    importance: list[Importance]
    record: SearchRecord  # what the pictures show
    tails: Diagnosis | None  # of payoffs less robust means; None for fewer than 20

    @property
    def clipped_by_number(self) -> dict[int, bool]:
        """Whether the payoff of each analyzed trial was clipped, by its number."""
        return dict(zip(self.numbers.tolist(), self.clipped.tolist(), strict=True))


def analyze(
    trials: Sequence[FrozenTrial],
    space: Space,
    *,
    minimize: bool,
    level: float,
    seed: int | None,
    race: StudyRace | None = None,
    stopped_by: str = "",
) -> Analysis | None:
    """Return the analysis of a study's trials; None if there is no payoff."""
    from tailproof.integrations._optuna_decisions import is_baseline
    from tailproof.integrations._optuna_history import by_completion, is_failure, model_params
    from tailproof.integrations._optuna_space import SpaceAdapter

    adapter = SpaceAdapter(distributions(space))
    counted = [trial for trial in trials if counts_toward_budget(trial)]
    failed = [t for t in counted if t.state.name in ("FAIL", "PRUNED") or has_fail_value(t)]
    complete = by_completion(trial for trial in counted if trial.state.name == "COMPLETE")
    modeled = [trial for trial in complete if model_params(trial, adapter) is not None]
    if not modeled:
        return None
    fixed = constants(space)
    params = [{name: (fixed | t.params)[name] for name in space.names} for t in modeled]
    values = np.array([trial.values[0] for trial in modeled])
    optimizer = Optimizer(space, seed=seed or 0, minimize=minimize)
    marked = [trial for trial in trials if is_baseline(trial)]
    if marked and adapter.from_optuna(planned_params(marked[-1])) is not None:
        optimizer.baseline(fixed | planned_params(marked[-1]))
    n, course = len(modeled), []
    looks = set(checkpoints(n))
    for i, (trial, setting) in enumerate(zip(modeled, params, strict=True), start=1):
        if has_fail_value(trial):
            optimizer.add_failure(setting, value=trial.values[0])
        else:
            optimizer.add(setting, trial.values[0])
        if i in looks:
            course.append((i, optimizer.recommend(level=level)))
    inside = [t.params for t in failed if adapter.from_optuna(t.params) is not None]
    failed_params = [{name: (fixed | p)[name] for name in space.names} for p in inside]
    for trial in failed:
        told = has_fail_value(trial) or not is_failure(trial)
        if not told and adapter.from_optuna(trial.params) is not None:
            optimizer.add_failure(fixed | trial.params)
    confirmed: list[dict[str, Any]] = []
    if race is not None:
        unpacked = [adapter.unpack(candidate) for candidate in race.candidates]
        confirmed = [fixed | c for c in unpacked if adapter.from_optuna(c) is not None]
    if confirmed and race is not None:
        runs = [i for i, trial in enumerate(modeled) if trial.number >= race.start]
        optimizer.resume_confirmation(confirmed, runs)
    best = optimizer.recommend(level=level)
    course[-1] = (n, best)
    ran = np.array([not has_fail_value(trial) for trial in modeled])
    durations = [outcome_of(trial).get("seconds") for trial in modeled]
    known = all(duration is not None for duration in durations)
    record = SearchRecord(
        optimizer=optimizer,
        params=params,
        values=optimizer._model.limited_values(),
        clipped=optimizer.clipped,
        recommendation=best,
        course=course,
        failed=failed_params,
        seconds=np.array(durations if known else [], dtype=np.float64),
        level=level,
    )
    return Analysis(
        space=space,
        minimize=minimize,
        trials=counted,
        params=params,
        values=values,
        clipped=record.clipped,
        numbers=np.array([trial.number for trial in modeled]),
        failed=failed,
        failed_params=failed_params,
        left_out=len(complete) - n,
        recommendation=best,
        best_observed=optimizer.predict([best.best_observed_params], level=level),
        course=course,
        confirmed=confirmed,
        stopped_by=stopped_by,
        slices=[Slice(name, *slice_of(record, name)) for name in record.names],
        importance=importance(optimizer, level=level),
        record=record,
        tails=_residual_tails((values - optimizer.predict(params, level=level).mean)[ran]),
    )


def _residual_tails(residuals: Array) -> Diagnosis | None:
    """Return the tail diagnosis of the residuals of a study."""
    if residuals.size < _MIN_FOR_TAILS or np.ptp(residuals) == 0.0:
        return None
    try:
        return diagnose(residuals)
    except ValueError:  # nothing to say about such numbers
        return None
