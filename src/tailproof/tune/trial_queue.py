"""The budget of a study, shared by all workers through the storage alone.

A trial's number, which the storage gives out one at a time, is its place in the queue: a trial may
run if fewer than `budget` trials that count have smaller numbers. Trials that do not count
(`VOID`) were interrupted or lost, or failed and are tried again, or came too late. A trial that
counts may cease to, never the reverse, so no race can let more than `budget` run to their end.

A trial starts to run and gets its owner in one transaction. So a trial whose worker died is
recognized by its owner, even if the worker died before it had chosen the parameters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from tailproof.tune.heartbeat import GRACE, LossDetector, signature
from tailproof.tune.study import load_optuna, planned_params

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.storages import RDBStorage
    from optuna.trial import FrozenTrial

# Keys of a trial's user attributes.
OUTCOME, OWNER, BEAT, ATTEMPTS = "outcome", "owner", "beat", "attempts"
# Kinds of outcomes.
DONE, FAILED, LOST, RETRIED, SURPLUS = "done", "failed", "lost", "retried", "surplus"
# A failed trial said to be done was given up by others while its worker was telling its payoff.
VOID = frozenset({DONE, LOST, RETRIED, SURPLUS})
MAX_LOSSES = 3  # a setting whose worker dies more often is a failed trial


@dataclass(frozen=True)
class TrialCounts:
    """How many trials of a study count, by state.

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
        """Trials of the queue that ran to their end, with a payoff or without."""
        return self.complete + self.failed

    @property
    def taken(self) -> int:
        """Places of the queue's budget that are used or in use."""
        return self.finished + self.running


def outcome_of(trial: FrozenTrial) -> dict[str, Any]:
    """Return what the queue stored at the end of a trial."""
    return dict(trial.user_attrs.get(OUTCOME, {}))


def counts_toward_budget(trial: FrozenTrial) -> bool:
    """Return whether a trial of the queue counts toward the budget."""
    return not (
        trial.state.name == "FAIL" and trial.user_attrs.get(OUTCOME, {}).get("kind") in VOID
    )


def has_fail_value(trial: FrozenTrial) -> bool:
    """Return whether the queue ended a trial as failed with the payoff given to failed ones."""
    failed = trial.user_attrs.get(OUTCOME, {}).get("kind") == FAILED
    return failed and trial.state.name == "COMPLETE"


def count_trials(trials: Sequence[FrozenTrial]) -> TrialCounts:
    """Count the trials of the queue that count toward the budget."""
    found = {"COMPLETE": 0, "FAIL": 0, "RUNNING": 0, "WAITING": 0, "PRUNED": 0}
    for trial in trials:
        if counts_toward_budget(trial):
            found["FAIL" if has_fail_value(trial) else trial.state.name] += 1
    failed = found["FAIL"] + found["PRUNED"]
    return TrialCounts(found["COMPLETE"], failed, found["RUNNING"], found["WAITING"])


@dataclass(frozen=True)
class Attempts:
    """How many earlier trials of the same setting, in the same place of the budget, ended how.

    Attributes
    ----------
    failures, losses : int
    """

    failures: int = 0
    losses: int = 0

    @classmethod
    def of(cls, trial: FrozenTrial | optuna.Trial) -> Attempts:
        """Return what a trial of the queue carries of its earlier attempts."""
        return cls(**trial.user_attrs.get(ATTEMPTS, {}))


@dataclass(frozen=True)
class ClaimedTrial:
    """A trial that this process is to run.

    Attributes
    ----------
    trial : optuna.Trial
    params : dict
        Values of all parameters that are not fixed.
    attempts : Attempts
    """

    trial: optuna.Trial
    params: Mapping[str, Any]
    attempts: Attempts


class TrialQueue:
    """Claim trials of a study, finish or requeue them, and requeue those of dead workers.

    Parameters
    ----------
    storage : optuna.storages.RDBStorage
    study : optuna.Study
        A study in this storage.
    space : dict
        Optuna's distributions by name.
    budget : int
        Trials that may run to their end, of all workers together.
    grace : float
        Seconds without a sign of life after which a trial is lost.
    clock : callable
        Seconds, rising.
    """

    def __init__(
        self,
        storage: RDBStorage,
        study: optuna.Study,
        space: dict[str, BaseDistribution],
        budget: int,
        grace: float = GRACE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._optuna = load_optuna()
        self._storage, self._study, self._space, self.budget = storage, study, space, budget
        self._study_id = storage.get_study_id_from_name(study.study_name)
        self._losses = LossDetector(grace, clock)
        self._owner = signature()
        self._mine: set[int] = set()  # numbers of the trials that this worker runs

    def refresh(self) -> TrialCounts:
        """Read the study, requeue lost trials, and count."""
        trials = self._study.get_trials(deepcopy=False)
        running = [trial for trial in trials if trial.state.name == "RUNNING"]
        signs = [
            (trial.number, trial.user_attrs.get(BEAT, 0), trial.user_attrs.get(OWNER, ""))
            for trial in running
        ]
        # A trial of its own that a worker does not run: it was started while the storage failed.
        lost = {n for n, _, owner in signs if owner == self._owner and n not in self._mine}
        lost |= set(self._losses.lost(signs))
        for trial in running:
            if trial.number in lost:
                self._give_up(trial)
        return count_trials(self._study.get_trials(deepcopy=False) if lost else trials)

    def claim(self) -> ClaimedTrial | None:
        """Return a trial to run; None if another worker took the last place.

        Likewise None if the trial was enqueued with values that are none of their parameters: it
        has failed.
        """
        trial = self._start_trial()
        if trial.number >= self.budget and not self._in_budget(trial.number):
            self.finish(trial, {"kind": SURPLUS, "reason": "all places were taken"})
            return None
        try:
            # `ask(space)` does the same, and does not say whose error it was.
            for name, dist in self._space.items():
                self._suggest(trial, name, dist)
        except ValueError as error:
            self.finish(trial, {"kind": FAILED, "reason": f"enqueued with no setting: {error}"})
            return None
        self._mine.add(trial.number)
        return ClaimedTrial(trial, trial.params, Attempts.of(trial))

    def _start_trial(self) -> optuna.Trial:
        """Start a waiting or a new trial, as `Study.ask` does, and store its owner with it."""
        from tailproof.integrations._optuna_internals import start_waiting_trial

        states, owner = self._optuna.trial.TrialState, {OWNER: self._owner}
        for waiting in self._study.get_trials(deepcopy=False, states=(states.WAITING,)):
            trial_id = self._trial_id(waiting.number)
            if start_waiting_trial(self._storage, trial_id, owner):
                break
        else:
            new = self._optuna.trial.create_trial(state=states.RUNNING, user_attrs=owner)
            trial_id = self._storage.create_new_trial(self._study_id, new)
        return self._optuna.Trial(self._study, trial_id)

    def _suggest(self, trial: optuna.Trial, name: str, dist: Any) -> None:
        """Let Optuna suggest the value of one parameter of a claimed trial."""
        kinds = self._optuna.distributions
        if isinstance(dist, kinds.CategoricalDistribution):
            trial.suggest_categorical(name, dist.choices)
        elif isinstance(dist, kinds.IntDistribution):
            trial.suggest_int(name, dist.low, dist.high, log=dist.log, step=dist.step)
        else:
            trial.suggest_float(name, dist.low, dist.high, log=dist.log, step=dist.step)

    def _in_budget(self, number: int) -> bool:
        """Whether fewer trials than the budget come before the trial of this number."""
        trials = self._study.get_trials(deepcopy=False)
        before = [trial for trial in trials if trial.number < number]
        return sum(map(counts_toward_budget, before)) < self.budget

    def finish(
        self, trial: optuna.Trial, outcome: Mapping[str, Any], value: float | None = None
    ) -> bool:
        """End a trial with its outcome; return False if others had given it up already."""
        self._mine.discard(trial.number)
        if self._end(trial.number, outcome, value):
            return True
        # Stored before, if the storage's answer to an earlier attempt was lost.
        trials = self._study.get_trials(deepcopy=False)
        stored = next(other for other in trials if other.number == trial.number)
        return value is not None and stored.value == value

    def requeue(self, claim: ClaimedTrial, outcome: Mapping[str, Any]) -> bool:
        """End a trial that does not count, and put its setting back into the queue."""
        if not self.finish(claim.trial, outcome):
            return False
        failures = claim.attempts.failures + (outcome["kind"] == RETRIED)
        self._enqueue(claim.params, replace(claim.attempts, failures=failures))
        return True

    def beat(self, number: int, count: int) -> None:
        """Store the count of a trial's heartbeat."""
        try:
            self._storage.set_trial_user_attr(self._trial_id(number), BEAT, count)
        finally:
            self._storage.remove_session()  # connections belong to their threads

    def _enqueue(self, params: Mapping[str, Any], attempts: Attempts) -> None:
        """Add a waiting trial with given parameters and the attempts so far."""
        # Enqueued, not added: it may have been enqueued out of range in the first place.
        self._study.enqueue_trial(dict(params), user_attrs={ATTEMPTS: asdict(attempts)})

    def _give_up(self, trial: FrozenTrial) -> None:
        """End a lost trial, and requeue its setting unless its workers keep dying."""
        ran = trial.params.keys() == self._space.keys()
        attempts = Attempts.of(trial)
        attempts = replace(attempts, losses=attempts.losses + ran)
        deadly = ran and attempts.losses > MAX_LOSSES
        outcome = {"kind": FAILED if deadly else LOST, "reason": "its worker died"}
        if not self._end(trial.number, outcome, None):
            return
        params = planned_params(trial)
        if not deadly and params.keys() == self._space.keys():
            self._enqueue(params, attempts)

    def _end(self, number: int, outcome: Mapping[str, Any], value: float | None) -> bool:
        """Store the end of a trial; return False if it had ended already.

        Told to the storage: `Study.tell` reads the trial twice more to check its caller, and other
        processes cannot set the outcome of a trial in any other way.
        """
        state, trial_id = self._optuna.trial.TrialState, self._trial_id(number)
        try:
            self._storage.set_trial_user_attr(trial_id, OUTCOME, dict(outcome))
            if value is None:
                self._storage.set_trial_state_values(trial_id, state.FAIL)
            else:
                self._storage.set_trial_state_values(trial_id, state.COMPLETE, [value])
        except self._optuna.exceptions.UpdateFinishedTrialError:
            return False
        return True

    def _trial_id(self, number: int) -> int:
        """Return the storage's id of a trial."""
        return self._storage.get_trial_id_from_study_id_trial_number(self._study_id, number)
