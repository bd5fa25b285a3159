"""Baseline, confirmation and stopping of an Optuna study: everything is kept in the study itself.

A trial that runs the baseline is marked by a user attribute when it is enqueued. A race is a user
attribute of the study. So all workers see them, and new ones after a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from tailproof._util import checks
from tailproof.integrations._optuna_internals import whole_study
from tailproof.search.decision.race import candidates_for, confirmation_runs
from tailproof.search.decision.stopping import Look, StoppingRule

if TYPE_CHECKING:
    from tailproof.integrations.optuna import TailproofSampler

BASELINE = "tailproof:baseline"  # user attribute of trials
RACE = "tailproof:race"  # user attribute of a study


@dataclass(frozen=True)
class StudyRace:
    """A race as the study keeps it.

    Attributes
    ----------
    candidates
        Numbers that stand for the parameters' values, by name, of each configuration.
    start
        Trials from this number on belong to the race.
    runs
        After how many trials of the race the study is to stop; None if others decide.
    """

    candidates: list[dict[str, float]]
    start: int
    runs: int | None = None

    @classmethod
    def of(cls, study: Study) -> StudyRace | None:
        """Return the confirmation race of a study, if there is one."""
        stored = whole_study(study).user_attrs.get(RACE)
        return None if not stored else cls(stored["candidates"], stored["start"], stored["runs"])

    def store(self, study: Study) -> None:
        """Write the confirmation race into the study."""
        value = {"candidates": self.candidates, "start": self.start, "runs": self.runs}
        study.set_user_attr(RACE, value)


def enqueue_baseline(study: Study, params: Mapping[str, Any]) -> None:
    """Enqueue the parameters in use now as the baseline of a study.

    It is the next trial; TailproofSampler runs it again now and then, and `recommend` says how much
    better the recommended parameters are. The last baseline that was enqueued counts.

    Parameters
    ----------
    study : optuna.Study
    params : dict
        A value for each parameter.

    Examples
    --------
    >>> import optuna
    >>> from tailproof.integrations.optuna import TailproofSampler, recommend
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=TailproofSampler(seed=0))
    >>> enqueue_baseline(study, {"x": 0.9})
    >>> study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=30)
    >>> recommend(study).baseline.probability > 0.9
    True
    """
    if not isinstance(params, Mapping) or not params:
        raise ValueError(f"`params` must map names to values, but got {params!r}.")
    study.enqueue_trial(dict(params), user_attrs={BASELINE: True})


def is_baseline(trial: FrozenTrial) -> bool:
    """Tell whether a trial was enqueued as the baseline."""
    return bool(trial.user_attrs.get(BASELINE))


def confirm(study: Study, count: int = 4, *, runs: int | None = None) -> list[dict[str, Any]]:
    """Start to confirm: from now on the study runs its few best parameters and the baseline.

    TailproofSampler runs them in blocks of random order, in all workers, and drops those that are
    clearly worse. `recommend` returns the one of those that were run whose mean has the best lower
    quartile. `resume_search` ends it.

    Parameters
    ----------
    study : optuna.Study
        Its sampler is a TailproofSampler.
    count : int
        How many configurations besides the baseline, at most.
    runs : int, optional
        After how many trials a `StoppingCallback` stops the study.

    Returns
    -------
    list of dict
        The parameters to be run, the baseline last. Those that are not chosen by the model
        (conditional ones) are not among them.
    """
    count = checks.integer("count", count, low=1)
    if runs is not None:
        runs = checks.integer("runs", runs, low=1)
    study.set_user_attr(RACE, None)
    model = _sampler_of(study)._common_model(study)
    params = [model.adapter.to_optuna(p) for p in model.optimizer.confirm(count)]
    packed = [model.adapter.pack(p) for p in params]
    StudyRace(packed, len(study.get_trials(deepcopy=False)), runs).store(study)
    return params


def resume_search(study: Study) -> None:
    """End a confirmation: the sampler searches again."""
    study.set_user_attr(RACE, None)


def look(study: Study, rule: StoppingRule) -> Look | None:
    """Look whether a stopping rule holds in a study; None if it was looked at a moment ago."""
    return rule.look(_sampler_of(study)._common_model(study).optimizer)


class StoppingCallback:
    """A callback that stops a study when further trials may gain little, or the baseline is beaten.

    Give it to `study.optimize(..., callbacks=[...])` in every worker: each stops when it sees that
    a rule holds. It can be used again after a restart, since everything is in the study.

    Parameters
    ----------
    until : float or str, optional
        Stop when further trials may gain no more than this with confidence `level`: a number in
        units of the objective, or a share such as "2%" of the baseline's mean (without a baseline,
        of the recommended one's).
    until_better : bool
        Stop when some parameters are better than the baseline (`enqueue_baseline`) with confidence
        `level`.
    level : float
        In (0, 1).
    confirm : float
        Share of all trials, in [0, 1), that then confirms the best parameters before the study
        stops; 0 for none.

    Examples
    --------
    >>> import optuna
    >>> from tailproof.integrations.optuna import TailproofSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=TailproofSampler(seed=0))
    >>> callback = StoppingCallback(until=0.1)
    >>> study.optimize(lambda trial: trial.suggest_float("x", 0, 1), 200, callbacks=[callback])
    >>> len(study.trials) < 100
    True
    """

    def __init__(
        self,
        until: float | str | None = None,
        *,
        until_better: bool = False,
        level: float = 0.9,
        confirm: float = 0.2,
    ) -> None:
        """Prepare to stop a study by these rules, or to confirm before it stops."""
        self.rule = StoppingRule.parse(until, until_better, level, has_baseline=True)
        if not self.rule.active:
            raise ValueError("`until` or `until_better` must be given, but got neither.")
        self.confirm = checks.share("confirm", confirm)

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Look at the study after a trial, and stop it, or start to confirm, if a rule holds."""
        race = StudyRace.of(study)
        if race is not None:
            if race.runs is not None and _finished(study, race.start) >= race.runs:
                study.stop()
            return
        if trial.state != TrialState.COMPLETE:
            return
        found = look(study, self.rule)
        if found is None or not found.stop:
            return
        done = _finished(study, 0)
        runs = confirmation_runs(done, self.confirm, 10 * done)
        if runs == 0:
            study.stop()
        else:
            confirm(study, candidates_for(runs), runs=runs)


def _finished(study: Study, start: int) -> int:
    """Return how many trials of the race, from number `start` on, have ended."""
    trials = study.get_trials(deepcopy=False)
    return sum(trial.state.is_finished() for trial in trials[start:])


def _sampler_of(study: Study) -> TailproofSampler:
    """Return the TailproofSampler of a study that decides on stopping, or raise an error."""
    from tailproof.integrations.optuna import TailproofSampler  # it imports this module

    if not isinstance(study.sampler, TailproofSampler):
        kind = type(study.sampler).__name__
        raise ValueError(f"`study` must have a TailproofSampler, but got one with {kind}.")
    return study.sampler
