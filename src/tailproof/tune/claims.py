"""The budget of a study, shared by all who work on it through the storage alone.

A trial's number, which the storage gives out one at a time, is its place in the queue: a trial may
run if fewer than `budget` trials that count have smaller numbers. Trials that do not count
(`VOID`) were interrupted or lost, or failed and are tried again, or came too late. A trial that
counts may cease to, never the reverse, so no race can let more than `budget` run to their end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from tailproof.tune.alive import GRACE, Watch, signature
from tailproof.tune.study import load_optuna, setting_of

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

OUTCOME, OWNER, BEAT, BEFORE = "outcome", "owner", "beat", "before"
DONE, FAILED, LOST, RETRIED, SURPLUS = "done", "failed", "lost", "retried", "surplus"
# A failed trial said to be done was given up by others while its worker was telling its payoff.
VOID = frozenset({DONE, LOST, RETRIED, SURPLUS})
MOST_LOSSES = 3  # a setting that takes its worker down this often is a failed trial


@dataclass(frozen=True)
class Tally:
    """How many trials of a study count.

    Attributes
    ----------
    complete, failed, running, waiting : int
    """

    complete: int = 0
    failed: int = 0
    running: int = 0
    waiting: int = 0

    @property
    def finished(self) -> int:
        """Trials that ran to their end, with a payoff or without."""
        return self.complete + self.failed

    @property
    def taken(self) -> int:
        """Places of the budget that somebody has."""
        return self.finished + self.running


def counts(trial: FrozenTrial) -> bool:
    """Return whether a trial counts towards the budget."""
    return not (
        trial.state.name == "FAIL" and trial.user_attrs.get(OUTCOME, {}).get("kind") in VOID
    )


def tally(trials: Sequence[FrozenTrial]) -> Tally:
    """Count trials."""
    found = {"COMPLETE": 0, "FAIL": 0, "RUNNING": 0, "WAITING": 0, "PRUNED": 0}
    for trial in trials:
        if counts(trial):
            found[trial.state.name] += 1
    failed = found["FAIL"] + found["PRUNED"]
    return Tally(found["COMPLETE"], failed, found["RUNNING"], found["WAITING"])


@dataclass(frozen=True)
class Before:
    """What became of earlier trials of the same setting, in the same place of the budget."""

    failures: int = 0
    losses: int = 0

    @classmethod
    def of(cls, trial: FrozenTrial | optuna.Trial) -> Before:
        """Return what a trial carries."""
        return cls(**trial.user_attrs.get(BEFORE, {}))


@dataclass(frozen=True)
class Claim:
    """A trial that is ours to run.

    Attributes
    ----------
    trial : optuna.Trial
    params : dict
        Values of all parameters that are not fixed.
    before : Before
    """

    trial: optuna.Trial
    params: Mapping[str, Any]
    before: Before


class Claims:
    """Take trials from a study, give them back, and free those of dead workers.

    Parameters
    ----------
    study : optuna.Study
    space : dict
        Optuna's distributions by name.
    budget : int
        Trials that may run to their end, by everybody together.
    grace : float
        Seconds without a sign of life after which a trial is lost.
    """

    def __init__(
        self,
        study: optuna.Study,
        space: dict[str, BaseDistribution],
        budget: int,
        grace: float = GRACE,
    ) -> None:
        self._optuna = load_optuna()
        self._study, self._space, self._budget = study, space, budget
        self._watch = Watch(grace)
        self._owner = signature()

    def look(self) -> Tally:
        """Read the study, free lost trials, and count."""
        trials = self._study.get_trials(deepcopy=False)
        running = [one for one in trials if one.state.name == "RUNNING"]
        signs = [
            (one.number, one.user_attrs.get(BEAT, 0), one.user_attrs.get(OWNER, ""))
            for one in running
        ]
        lost = set(self._watch.lost(signs))
        for one in running:
            if one.number in lost:
                self._free(one)
        return tally(self._study.get_trials(deepcopy=False) if lost else trials)

    def take(self) -> Claim | None:
        """Return a trial to run; None if another one came first to the last place.

        Likewise None if the trial was enqueued with values that are none of their parameters: it
        has failed.
        """
        trial = self._study.ask()
        if trial.number >= self._budget and not self._in_budget(trial.number):
            self.finish(trial, {"kind": SURPLUS, "reason": "all places were taken"})
            return None
        try:
            for name, one in self._space.items():
                trial._suggest(name, one)  # as `ask` does, which would not say whose error it is
        except ValueError as error:
            self.finish(trial, {"kind": FAILED, "reason": f"enqueued with no setting: {error}"})
            return None
        trial.set_user_attr(OWNER, self._owner)
        return Claim(trial, trial.params, Before.of(trial))

    def _in_budget(self, number: int) -> bool:
        before = (one for one in self._study.get_trials(deepcopy=False) if one.number < number)
        return sum(counts(one) for one in before) < self._budget

    def finish(
        self, trial: optuna.Trial, outcome: Mapping[str, Any], value: float | None = None
    ) -> bool:
        """End a trial with its outcome; return False if others had given it up already."""
        try:
            trial.set_user_attr(OUTCOME, dict(outcome))
            self._end(trial._trial_id, value)
        except self._optuna.exceptions.UpdateFinishedTrialError:
            # Told before, if the answer to an earlier attempt was lost on its way.
            stored = self._study._storage.get_trial(trial._trial_id)
            return value is not None and stored.value == value
        return True

    def _end(self, trial_id: int, value: float | None) -> None:
        """Tell the storage alone: `study.tell` reads the trial twice more to check its caller."""
        state = self._optuna.trial.TrialState
        if value is None:
            self._study._storage.set_trial_state_values(trial_id, state.FAIL)
        else:
            self._study._storage.set_trial_state_values(trial_id, state.COMPLETE, [value])

    def give_back(self, claim: Claim, outcome: Mapping[str, Any]) -> bool:
        """End a trial that does not count, and put its setting back into the queue."""
        if not self.finish(claim.trial, outcome):
            return False
        failed = outcome["kind"] == RETRIED
        self._put_back(claim.params, replace(claim.before, failures=claim.before.failures + failed))
        return True

    def _put_back(self, params: Mapping[str, Any], before: Before) -> None:
        # Enqueued, not added: it may have been enqueued out of range in the first place.
        self._study.enqueue_trial(dict(params), user_attrs={BEFORE: asdict(before)})

    def _free(self, trial: FrozenTrial) -> None:
        """End a lost trial, and put its setting back unless it keeps killing its workers."""
        ran = trial.params.keys() == self._space.keys()
        before = Before.of(trial)
        before = replace(before, losses=before.losses + ran)
        deadly = ran and before.losses > MOST_LOSSES
        outcome = {"kind": FAILED if deadly else LOST, "reason": "its worker died"}
        try:
            self._study._storage.set_trial_user_attr(trial._trial_id, OUTCOME, outcome)
            self._end(trial._trial_id, None)
        except self._optuna.exceptions.UpdateFinishedTrialError:
            return
        setting = setting_of(trial)
        if not deadly and setting.keys() == self._space.keys():
            self._put_back(setting, before)
