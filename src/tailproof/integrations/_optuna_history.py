"""What a sampler knows of one study, brought up to date at the price of what is new."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from tailproof._util.checks import LARGEST_PAYOFF
from tailproof.integrations._optuna_space import Translation

_ENQUEUED = "fixed_params"  # the attribute with what Optuna's `enqueue_trial` was given


class History:
    """The payoffs of a study, the parameters they have in common, and the trials now running.

    Finished trials never change, so each is looked at once. Those at the head of the list, up to
    the first that is not finished, are not even passed over again.

    Attributes
    ----------
    payoffs : list of FrozenTrial
        Complete trials of a finite value, in the order they were completed in, as far as this
        history saw them together.
    common : dict of name to distribution, or None before the first complete trial
        Parameters that every complete trial has, with equal distributions; sorted by name.
    running : list of FrozenTrial
    constrained : FrozenTrial or None
        A complete trial with constraints, if there is one.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self.payoffs: list[FrozenTrial] = []
        self.common: dict[str, BaseDistribution] | None = None
        self.running: list[FrozenTrial] = []
        self.constrained: FrozenTrial | None = None
        self.generation = object()  # payoffs are appended to as long as this stays the same
        self._head = 0  # trials at the head of the list that are finished and taken in
        self._taken: set[int] = set()  # numbers of those taken in beyond the head
        self._witness: tuple[int, datetime | None] | None = None

    def update(self, trials: Sequence[FrozenTrial]) -> None:
        """Take in what is new in `trials`, all trials of the study in order of their number."""
        if not self._is_continued_by(trials):
            self._forget()
        new, running = [], []
        for place in range(self._head, len(trials)):
            trial = trials[place]
            if trial.state.is_finished():
                if trial.number not in self._taken:
                    new.append(trial)
                    self._taken.add(trial.number)
                    self._witness = (place, trial.datetime_complete)
            elif trial.state == TrialState.RUNNING:
                running.append(trial)
        while self._head < len(trials) and trials[self._head].number in self._taken:
            self._taken.remove(trials[self._head].number)
            self._head += 1
        self.running = running
        self._take(by_completion(t for t in new if t.state == TrialState.COMPLETE))

    def _is_continued_by(self, trials: Sequence[FrozenTrial]) -> bool:
        """Whether these are later trials of the same study, not of another under its name."""
        if self._witness is None:
            return True
        place, completed = self._witness
        return place < len(trials) and trials[place].datetime_complete == completed

    def _take(self, complete: list[FrozenTrial]) -> None:
        for trial in complete:
            if trial.constraints and self.constrained is None:
                self.constrained = trial
            there = trial.distributions
            if self.common is None:
                self.common = dict(sorted(there.items()))
            elif any(there.get(name) != one for name, one in self.common.items()):
                self.common = {n: one for n, one in self.common.items() if there.get(n) == one}
            if is_payoff(trial):
                self.payoffs.append(trial)


def is_payoff(trial: FrozenTrial) -> bool:
    """Whether the value of a complete trial can enter a mean: infinite ones cannot."""
    value = trial.values[0]
    return math.isfinite(value) and abs(value) <= LARGEST_PAYOFF


def place(trial: FrozenTrial, translation: Translation) -> dict[str, Any] | None:
    """Return where the payoff of a complete trial belongs in a model of this space.

    None for what is left out: infinite values, and settings not wholly inside the space.
    """
    return translation.inward(trial.params) if is_payoff(trial) else None


def setting_of(trial: FrozenTrial) -> dict[str, Any]:
    """Return the params a trial has, or will have as it was enqueued with them."""
    return {**trial.system_attrs.get(_ENQUEUED, {}), **trial.params}


def by_completion(complete: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    """Return complete trials in the order they were completed in."""
    return sorted(complete, key=_completion)


def _completion(trial: FrozenTrial) -> tuple[datetime, int]:
    # Storages differ in whether they keep the time zone; the two kinds cannot be compared.
    assert trial.datetime_complete is not None
    return trial.datetime_complete.replace(tzinfo=None), trial.number
