"""The finished and running trials of one study, read incrementally."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from tailproof._util.checks import LARGEST_PAYOFF
from tailproof.integrations._optuna_decisions import is_baseline
from tailproof.integrations._optuna_internals import enqueued_params
from tailproof.integrations._optuna_space import SpaceAdapter
from tailproof.search.trials import Trial, measured

# User attributes of a trial that tell more than its value.
PAYOFFS, SEM, N = "tailproof:payoffs", "tailproof:sem", "tailproof:n"


class StudyHistory:
    """The payoffs of a study, the parameters they have in common, and the trials now running.

    Finished trials never change, so each is looked at once. Those at the head of the list, up to
    the first that is not finished, are not even passed over again.
    """

    def __init__(self) -> None:
        self.generation = 0
        self._reset_history()

    def _reset_history(self) -> None:
        """Forget all trials of the study."""
        # Complete trials of a finite value; those of one update are in order of completion.
        self.payoffs: list[FrozenTrial] = []
        # Parameters that every complete trial has, with equal distributions; sorted by name.
        self.common: dict[str, BaseDistribution] | None = None
        self.names: set[str] = set()  # of the parameters of all complete trials
        self.running: list[FrozenTrial] = []
        self.failures: list[FrozenTrial] = []  # that failed of themselves, in order of completion
        self.baseline: FrozenTrial | None = None  # the last one marked as the baseline
        self.constrained: FrozenTrial | None = None  # a complete trial with constraints
        self.generation += 1  # payoffs are appended to as long as this stays the same
        self._head = 0  # number of trials at the head of the list that are finished and read
        self._read: set[int] = set()  # numbers of finished trials read beyond the head
        # Index and time of completion of one trial, by which the study is recognized.
        self._fingerprint: tuple[int, datetime | None] | None = None

    def update(self, trials: Sequence[FrozenTrial]) -> None:
        """Read what is new in `trials`, all trials of the study in order of their number."""
        if self._fingerprint is not None:
            index, completed = self._fingerprint
            if index >= len(trials) or trials[index].datetime_complete != completed:
                self._reset_history()  # these are trials of another study of the same name
        new, self.running = [], []
        for index in range(self._head, len(trials)):
            trial = trials[index]
            if trial.state.is_finished():
                if trial.number not in self._read:
                    new.append(trial)
                    self._read.add(trial.number)
                    self._fingerprint = (index, trial.datetime_complete)
            elif trial.state == TrialState.RUNNING:
                self.running.append(trial)
        while self._head < len(trials) and trials[self._head].number in self._read:
            self._read.remove(trials[self._head].number)
            self._head += 1
        for trial in by_completion(t for t in new if t.state == TrialState.COMPLETE):
            self._add_trial_to_history(trial)
        self.failures += by_completion(trial for trial in new if is_failure(trial))
        marked = [trial for trial in (*new, *self.running) if is_baseline(trial)]
        if marked:
            latest = max(marked, key=lambda trial: trial.number)
            if self.baseline is None or self.baseline.number <= latest.number:
                self.baseline = latest

    def _add_trial_to_history(self, trial: FrozenTrial) -> None:
        """Add a complete trial: its payoff and its parameters."""
        if trial.constraints and self.constrained is None:
            self.constrained = trial
        new = trial.distributions
        self.names |= new.keys()
        if self.common is None:
            self.common = dict(sorted(new.items()))
        elif any(new.get(name) != old for name, old in self.common.items()):
            self.common = {n: old for n, old in self.common.items() if new.get(n) == old}
        if is_payoff(trial):
            self.payoffs.append(trial)


def is_failure(trial: FrozenTrial) -> bool:
    """Tell whether a trial in a study's history failed of itself.

    Trials of `tailproof tune` say whether they did: those that were interrupted did not, and one
    that failed may be complete, with the payoff that failed trials are given.
    """
    outcome = trial.user_attrs.get("outcome", {})
    default = "failed" if trial.state == TrialState.FAIL else ""
    return trial.state.is_finished() and outcome.get("kind", default) == "failed"


def is_payoff(trial: FrozenTrial) -> bool:
    """Tell whether the value of a complete trial enters the history of payoffs: not if infinite."""
    value = trial.values[0]
    return math.isfinite(value) and abs(value) <= LARGEST_PAYOFF


def told_of(trial: FrozenTrial) -> dict[str, Any]:
    """Return what a complete trial in the history tells, as arguments of `Optimizer.add`.

    Its value; or the single payoffs, if the user attribute "tailproof:payoffs" lists them; or its
    value as a mean, if "tailproof:sem" gives the standard error, "tailproof:n" the number of
    payoffs. Attributes that cannot be used are left out with a warning.
    """
    attributes = trial.user_attrs
    told: dict[str, Any] = {"value": trial.values[0]}
    if PAYOFFS in attributes:
        told = {"value": attributes[PAYOFFS]}
    elif SEM in attributes:
        told = {"mean": trial.values[0], "sem": attributes[SEM], "n": attributes.get(N)}
    try:
        measured(Trial(trial.number, {}), **dict.fromkeys(("value", "mean", "sem", "n")) | told)
    except ValueError as error:
        warnings.warn(f"Trial {trial.number}: {error} Its value is used.", stacklevel=2)
        return {"value": trial.values[0]}
    return told


def model_params(trial: FrozenTrial, adapter: SpaceAdapter) -> dict[str, Any] | None:
    """Return the params of a trial in the history in tailproof's space; None if not modeled.

    Not modeled are infinite values, and params that are incomplete or outside the space.
    """
    return adapter.from_optuna(trial.params) if is_payoff(trial) else None


def planned_params(trial: FrozenTrial) -> dict[str, Any]:
    """Return the params of a trial in the history, also those enqueued and not stored yet."""
    return {**enqueued_params(trial), **trial.params}


def by_completion(complete: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    """Return complete trials of a study's history in the order they were completed in."""

    def completion(trial: FrozenTrial) -> tuple[datetime, int]:
        # Storages differ in whether they keep the time zone; the two kinds cannot be compared.
        assert trial.datetime_complete is not None
        return trial.datetime_complete.replace(tzinfo=None), trial.number

    return sorted(complete, key=completion)
