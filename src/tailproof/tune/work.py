"""A worker: takes a trial, runs the command, tells the payoff, until the budget is used up."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from tailproof.search.space.space import Space, space_from_state
from tailproof.tune import process
from tailproof.tune.alive import Heart
from tailproof.tune.claims import BEAT, DONE, FAILED, LOST, RETRIED, Claim, Claims, Tally
from tailproof.tune.payoff import UnreadableError, Value
from tailproof.tune.process import Stop, excerpt
from tailproof.tune.study import (
    Identity,
    constants,
    distributions,
    load_optuna,
    open_storage,
    open_study,
)
from tailproof.tune.template import Template

KEPT_OUTPUT = 24_000  # characters a stream of a failed trial's output in the storage
_STORAGE_AWAY = 300.0  # seconds to wait for a storage that does not answer
_IDLE = 1.0  # seconds between looks when others run the last trials
_UNSEEN = 0.5  # seconds of work between looks while there are places enough
_PLACES_ENOUGH = 32

Returned = TypeVar("Returned")


@dataclass(frozen=True)
class Job:
    """Everything a worker needs to know; can be sent to another process.

    Attributes
    ----------
    url, study_name, identity
        The storage and the study in it.
    command, value, stream
        What is run, and where the payoff is found.
    timeout : float or None
        Seconds a run.
    trials : int
        The budget of the study.
    retry : int
        How often a failed setting is tried again.
    most_failures : int
        Failures in a row, without a single payoff in the study, after which the command is
        taken to be broken; 0 for any number.
    failed_before : int
        Failures in the study when the session began.
    seed : int or None
    output : Path or None
        Where to keep complete output.
    """

    url: str
    study_name: str
    identity: Identity
    command: Template
    value: Value
    stream: str
    timeout: float | None
    trials: int
    retry: int
    most_failures: int
    failed_before: int
    seed: int | None
    output: Path | None


class End(Enum):
    """Why a worker stopped working."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    BROKEN = "broken"


@dataclass(frozen=True)
class Event:
    """Something to show.

    Attributes
    ----------
    kind : {"look", "start", "end"}
    tally : Tally
        The study as last read.
    number, params, value, seconds, reason
        Of the trial, where there is one; a reason without a value is that of a failure.
    group : int
        Process group of the run that starts.
    """

    kind: str
    tally: Tally
    number: int = -1
    params: Mapping[str, Any] = field(default_factory=dict)
    value: float | None = None
    seconds: float = 0.0
    reason: str = ""
    group: int = 0


class Worker:
    """Work on a study.

    Parameters
    ----------
    job : Job
    emit : callable
        Told what happens.
    stop : callable
        Asked often whether to stop.
    """

    def __init__(self, job: Job, emit: Callable[[Event], None], stop: Callable[[], Stop]) -> None:
        self._job, self._emit, self._stop = job, emit, stop
        self._storage = open_storage(job.url)
        study = open_study(self._storage, job.study_name, job.identity, job.seed)
        space = space_from_state(job.identity.space)
        assert isinstance(space, Space)  # as it was built
        self._constants = constants(space)
        self._claims = Claims(study, distributions(space), job.trials)
        self._tally = Tally()
        self._looked = -float("inf")
        optuna = load_optuna()
        import sqlalchemy

        self._away = (optuna.exceptions.StorageInternalError, sqlalchemy.exc.SQLAlchemyError)

    def run(self) -> End:
        """Work until the budget is used up, or told to stop."""
        heart = Heart(self._beat)
        try:
            return self._loop(heart)
        finally:
            heart.close()
            self._storage.remove_session()
            self._storage.engine.dispose()

    def _loop(self, heart: Heart) -> End:
        latest = -1
        while True:
            if self._stop() is not Stop.NO:
                return End.INTERRUPTED
            now = self._look(latest)
            if now.finished >= self._job.trials:
                return End.COMPLETE
            failed = now.failed - self._job.failed_before
            if not now.complete and 0 < self._job.most_failures <= failed:
                return End.BROKEN
            claim = None
            if now.taken < self._job.trials:
                claim = self._patiently(self._claims.take)
            if claim is None:
                self._idle()
                continue
            latest = claim.trial.number
            heart.start(claim.trial._trial_id)
            try:
                self._try(claim)
            finally:
                heart.rest()

    def _look(self, latest: int) -> Tally:
        """Read the study, or trust an earlier look if there must be places left.

        The budget is kept by the trials' numbers; looking early saves asking in vain.
        """
        due = time.monotonic() - self._looked > _UNSEEN
        if due or not self._tally.complete or latest + _PLACES_ENOUGH >= self._job.trials:
            self._tally = self._patiently(self._claims.look)
            self._looked = time.monotonic()
            self._emit(Event("look", self._tally))
        return self._tally

    def _idle(self) -> None:
        until = time.monotonic() + _IDLE
        while self._stop() is Stop.NO and time.monotonic() < until:
            time.sleep(0.05)

    def _try(self, claim: Claim) -> None:
        job, number = self._job, claim.trial.number
        result = process.run(
            job.command.fill({**self._constants, **claim.params}),
            timeout=job.timeout,
            environment={"TAILPROOF_STUDY": job.study_name, "TAILPROOF_TRIAL": str(number)},
            folder=None if job.output is None else job.output / f"{number:06d}",
            stop=self._stop,
            started=lambda group: self._emit(
                Event("start", self._tally, number, claim.params, group=group)
            ),
        )
        value, reason = judge(result, job.value, job.stream, job.timeout)
        outcome: dict[str, Any] = {
            "kind": DONE,
            "seconds": round(result.seconds, 6),
            "code": result.code,
        }
        if value is not None:
            kept = self._patiently(lambda: self._claims.finish(claim.trial, outcome, value))
        else:
            outcome |= {
                "kind": FAILED,
                "reason": reason,
                "stdout": excerpt(result.stdout, KEPT_OUTPUT),
                "stderr": excerpt(result.stderr, KEPT_OUTPUT),
            }
            kept = self._patiently(lambda: self._fail(claim, outcome, result.reason))
        if not kept:
            value, reason = None, "it was given up before it ended, for want of a sign of life"
        self._emit(Event("end", self._tally, number, claim.params, value, result.seconds, reason))

    def _fail(self, claim: Claim, outcome: dict[str, Any], stopped: str) -> bool:
        if stopped == "interrupted":
            return self._claims.give_back(claim, {"kind": LOST, "reason": stopped})
        if claim.before.failures < self._job.retry:
            return self._claims.give_back(claim, outcome | {"kind": RETRIED})
        return self._claims.finish(claim.trial, outcome)

    def _beat(self, trial_id: int, count: int) -> None:
        try:
            self._storage.set_trial_user_attr(trial_id, BEAT, count)
        finally:
            self._storage.remove_session()  # connections belong to their threads

    def _patiently(self, call: Callable[[], Returned]) -> Returned:
        """Call again while the storage is away: a database may be restarted under a study."""
        until = time.monotonic() + _STORAGE_AWAY
        pause = 0.1
        while True:
            try:
                return call()
            except self._away:
                if self._stop() is not Stop.NO or time.monotonic() > until:
                    raise
            time.sleep(pause)
            pause = min(2.0 * pause, 5.0)


def judge(
    result: process.Result, value: Value, stream: str, timeout: float | None
) -> tuple[float | None, str]:
    """Return the payoff of a run, or None and why there is none."""
    if result.reason == "timeout":
        return None, f"no end within {timeout:g} s"
    if result.reason or result.code is None:
        return None, result.reason
    if result.code < 0:
        return None, f"ended by signal {-result.code}"
    if result.code > 0 and not value.accepts_failure:
        return None, f"exit code {result.code}"
    output = result.stdout if stream == "stdout" else result.stderr
    try:
        payoff = value.read(
            output.decode("utf-8", "replace"), seconds=result.seconds, code=result.code
        )
    except UnreadableError as error:
        return None, str(error)
    return payoff, ""
