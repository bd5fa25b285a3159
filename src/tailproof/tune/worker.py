"""A worker: claims a trial, runs the command, stores the payoff, until the budget is used up."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tailproof._util.files import file_name
from tailproof.tune import process
from tailproof.tune.heartbeat import Heartbeat
from tailproof.tune.patience import Patience
from tailproof.tune.payoff import PayoffReader, UnreadableError
from tailproof.tune.phases import Phases
from tailproof.tune.process import excerpt
from tailproof.tune.request import Job
from tailproof.tune.signals import Stop
from tailproof.tune.study import (
    close_storage,
    constants,
    distributions,
    open_storage,
    open_study,
)
from tailproof.tune.trial_queue import (
    DONE,
    FAILED,
    LOST,
    RETRIED,
    ClaimedTrial,
    TrialCounts,
    TrialQueue,
)

OUTPUT_FOLDER = "output"
KEPT_OUTPUT = 24_000  # characters a stream of a failed trial's output in the storage
_IDLE = 1.0  # seconds between reads when other workers run the last trials
_READ_INTERVAL = 0.5  # seconds of work between reads while there are places enough
_PLACES_ENOUGH = 32
STOPPED = "the session ends; the setting goes back into the queue"
_CONFIRMING = "confirming: the few best settings{} run in turns"


class End(Enum):
    """Why a worker stopped working."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    BROKEN = "broken"


@dataclass(frozen=True)
class Event:
    """Progress to show.

    Attributes
    ----------
    kind : {"read", "start", "end", "look", "waiting", "resumed"}
        The study was read, a run started, a run ended, the stopping rules were looked at (and the
        reason says what may still be gained), a disk or storage is waited for (and the reason says
        why), the wait is over.
    counts : TrialCounts
        The study as last read.
    number, params, value, seconds, reason
        Of the trial, where there is one; a reason without a value is that of a failure.
    group : int
        Process group of the run that starts.
    budget : int
        Trials in all, where the study was read; 0 elsewhere.
    """

    kind: str
    counts: TrialCounts
    number: int = -1
    params: Mapping[str, Any] = field(default_factory=dict)
    value: float | None = None
    seconds: float = 0.0
    reason: str = ""
    group: int = 0
    budget: int = 0


class Worker:
    """Work on a study.

    Parameters
    ----------
    job : Job
    emit : callable
        Called with every `Event`.
    stop : callable
        Asked often whether to stop.
    """

    def __init__(self, job: Job, emit: Callable[[Event], None], stop: Callable[[], Stop]) -> None:
        self._job, self._request, self._emit, self._stop = job, job.request, emit, stop
        self._counts = TrialCounts()
        self._patiently = Patience(
            job.url,
            stop,
            waiting=lambda cause: emit(Event("waiting", self._counts, reason=cause)),
            resumed=lambda: emit(Event("resumed", self._counts)),
        )
        self._storage = self._patiently(lambda: open_storage(job.url, checked=True))
        request, space = job.request, job.request.space
        avoid = request.avoid_failures or request.fail_value is not None
        study = self._patiently(
            lambda: open_study(
                self._storage, job.study_name, job.identity, request.seed, avoid_failures=avoid
            )
        )
        self._constants = constants(space)
        self._phases = self._patiently(lambda: Phases(study, request))
        budget = self._phases.budget.trials
        self._queue = TrialQueue(self._storage, study, distributions(space), budget)
        self._read_at = -float("inf")

    def run(self) -> End:
        """Let this worker work until the budget is used up, or told to stop."""
        heartbeat = Heartbeat(self._queue.beat)
        try:
            return self._loop(heartbeat)
        finally:
            heartbeat.close()
            close_storage(self._storage)

    def _loop(self, heartbeat: Heartbeat) -> End:
        """Claim and run trials until the budget is used up, or told to stop."""
        request, latest = self._request, -1
        while True:
            if self._stop() is not Stop.NO:
                return End.INTERRUPTED
            counts = self._read_counts(latest)
            if counts.finished >= self._queue.budget:
                return End.COMPLETE
            failed = counts.failed - self._job.failed_before
            if not counts.complete and 0 < request.max_failures <= failed:
                return End.BROKEN
            claim = None
            if counts.taken < self._queue.budget:
                if self._patiently(functools.partial(self._phases.before_trial, counts)):
                    those = "" if request.baseline is None else " and the baseline"
                    self._emit(Event("look", counts, reason=_CONFIRMING.format(those)))
                claim = self._patiently(self._queue.claim)
            if claim is None:
                self._idle()
                continue
            latest = claim.trial.number
            heartbeat.start(latest)
            try:
                self._run_trial(claim)
            finally:
                heartbeat.pause()
            self._look()

    def _look(self) -> None:
        """Look whether a rule ends the search, and show what may still be gained."""
        if not self._phases.rule.active:
            return
        counts = self._patiently(self._queue.refresh)
        found = self._patiently(lambda: self._phases.after_trial(counts))
        if found is not None:
            self._emit(Event("look", counts, reason=found.text))

    def _read_counts(self, latest: int) -> TrialCounts:
        """Read the study, or trust the last read if there must be places left.

        The budget is kept by the trials' numbers; reading early saves asking in vain.
        """
        budget = self._patiently(self._phases.refresh)
        self._queue.budget = budget.trials
        few_left = latest + _PLACES_ENOUGH >= budget.search
        due = time.monotonic() - self._read_at > _READ_INTERVAL
        if due or few_left or not self._counts.complete:
            self._counts = self._patiently(self._queue.refresh)
            self._read_at = time.monotonic()
            self._emit(Event("read", self._counts, budget=budget.trials))
        return self._counts

    def _idle(self) -> None:
        """Wait a moment while other workers run the last trials."""
        until = time.monotonic() + _IDLE
        while self._stop() is Stop.NO and time.monotonic() < until:
            time.sleep(0.05)

    def _run_trial(self, claim: ClaimedTrial) -> None:
        """Run the program of a claimed trial, and store its payoff or its failure."""
        job, request, number = self._job, self._request, claim.trial.number
        output = request.out / OUTPUT_FOLDER / file_name(job.study_name) / f"{number:06d}"
        # A run whose output a full disk has cut is run again.
        result = self._patiently(
            lambda: process.run(
                job.command.fill({**self._constants, **claim.params}),
                timeout=request.timeout,
                environment={"TAILPROOF_STUDY": job.study_name, "TAILPROOF_TRIAL": str(number)},
                folder=output if request.keep_output else None,
                stop=self._stop,
                started=lambda group: self._emit(
                    Event("start", self._counts, number, claim.params, group=group)
                ),
            )
        )
        value, reason = read_payoff(result, job.reader, request.stream, request.timeout)
        outcome: dict[str, Any] = {
            "kind": DONE,
            "seconds": round(result.seconds, 6),
            "code": result.code,
        }
        if value is not None:
            stored = self._patiently(lambda: self._queue.finish(claim.trial, outcome, value))
        else:
            outcome |= {
                "kind": FAILED,
                "reason": reason,
                "stdout": excerpt(result.stdout, KEPT_OUTPUT),
                "stderr": excerpt(result.stderr, KEPT_OUTPUT),
            }
            stored = self._patiently(lambda: self._fail(claim, outcome, result.reason))
            reason = STOPPED if result.reason == process.INTERRUPTED else reason
        if not stored:
            value, reason = None, "it was given up before it ended, for want of a sign of life"
        self._emit(Event("end", self._counts, number, claim.params, value, result.seconds, reason))

    def _fail(self, claim: ClaimedTrial, outcome: dict[str, Any], stopped: str) -> bool:
        """Store that a trial failed, or enqueue it again; return whether it was stored."""
        if stopped == process.INTERRUPTED:
            return self._queue.requeue(claim, {"kind": LOST, "reason": stopped})
        if claim.attempts.failures < self._request.retry:
            return self._queue.requeue(claim, outcome | {"kind": RETRIED})
        return self._queue.finish(claim.trial, outcome, self._request.fail_value)


def read_payoff(
    result: process.Result, reader: PayoffReader, stream: str, timeout: float | None
) -> tuple[float | None, str]:
    """Return the payoff that a worker finds in a run and "", or None and why there is none."""
    if result.reason == "timeout":
        return None, f"no end within {timeout:g} s"
    if result.reason or result.code is None:
        return None, result.reason
    if result.code < 0:
        return None, f"ended by signal {-result.code}"
    if result.code > 0 and not reader.accepts_failure:
        return None, f"exit code {result.code}"
    output = result.stdout if stream == "stdout" else result.stderr
    try:
        said, seconds = output.decode("utf-8", "replace"), result.seconds
        payoff = reader.read(said, seconds=seconds, code=result.code, timeout=timeout)
    except UnreadableError as error:
        return None, str(error)
    return payoff, ""
