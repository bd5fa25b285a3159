"""Signs of life of the worker that runs a trial, and the detection of trials whose worker died.

A worker stores its signature with its trial, and increases the trial's beat every few seconds. An
observer trusts no clock but its own: a trial whose beat has not changed for a while, as seen by the
observer, is lost. A worker of the same machine whose process is gone is noticed at once.
"""

from __future__ import annotations

import functools
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from tailproof._util.optional import require

INTERVAL = 10.0  # seconds between beats; shorter trials need none
GRACE = 60.0  # seconds without a beat after which a trial is lost
_SAME_START = 2.0  # seconds by which two readings of a start may differ; no pid returns so soon


@functools.cache
def _machine_id() -> str | None:
    """Return for a heartbeat's signature an identifier of this boot and table of processes.

    psutil has neither: times of boot are not unique, and containers share their host's.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def _process_start(pid: int) -> float | None:
    """Return for a heartbeat's signature when a process started, seconds after boot; or None.

    psutil gives times of day, which move when the clock is set: the difference does not.
    """
    psutil = require("psutil", "tune")
    try:
        boot = psutil.boot_time()  # first: older releases of psutil reuse it in `create_time`
        return float(psutil.Process(pid).create_time() - boot)
    except psutil.NoSuchProcess:
        return None


def signature() -> str:
    """Return the heartbeat's signature of a worker: machine, process id and start, random digits.

    The digits tell workers of one process apart.
    """
    return f"{_machine_id()} {os.getpid()} {_process_start(os.getpid())} {secrets.token_hex(4)}"


def is_surely_dead(owner: str) -> bool:
    """Return whether a heartbeat's signature is of this machine and its process is gone.

    Examples
    --------
    >>> is_surely_dead(signature()), is_surely_dead("elsewhere 1 2.0 c0ffee")
    (False, False)
    """
    machine, pid, started, _ = (" " * 3 + owner).rsplit(" ", 3)
    if machine.lstrip() != _machine_id() or not pid.isdecimal():
        return False
    start = _process_start(int(pid))
    return start is None or abs(start - float(started)) > _SAME_START


class LossDetector:
    """Find running trials whose worker has died.

    Parameters
    ----------
    grace : float
        Seconds without a beat after which a trial is lost.
    clock : callable
        Seconds, rising.
    """

    def __init__(self, grace: float = GRACE, clock: Callable[[], float] = time.monotonic) -> None:
        """Detect trials as lost that show no heartbeat for `grace` seconds."""
        self._grace, self._clock = grace, clock
        self._seen: dict[int, tuple[int, float]] = {}  # number: beat, and since when it is seen

    def lost(self, running: Iterable[tuple[int, int, str]]) -> list[int]:
        """Return which running trials lost their heartbeat, given as (number, beat, owner)."""
        now = self._clock()
        seen: dict[int, tuple[int, float]] = {}
        lost = []
        for number, beat, owner in running:
            before, since = self._seen.get(number, (beat, now))
            seen[number] = (beat, since if before == beat else now)
            if now - seen[number][1] > self._grace or is_surely_dead(owner):
                lost.append(number)
        self._seen = seen
        return lost


class Heartbeat:
    """Beat for the trial that runs, from a thread of its own.

    Parameters
    ----------
    record : callable
        Called with the trial's number and the count of the beat; an error is a missed beat.
    interval : float
        Seconds.
    """

    def __init__(self, record: Callable[[int, int], None], interval: float = INTERVAL) -> None:
        self._record, self._interval = record, interval
        self._change = threading.Condition()
        self._trial: int | None = None
        self._since = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._beat_until_closed, daemon=True)
        self._thread.start()

    def start(self, trial: int) -> None:
        """Begin the heartbeat of a trial."""
        with self._change:
            self._trial, self._since = trial, time.monotonic()

    def pause(self) -> None:
        """Pause the heartbeat until the next trial."""
        with self._change:
            self._trial = None

    def close(self) -> None:
        """End the thread of the heartbeat."""
        with self._change:
            self._closed = True
            self._change.notify()
        self._thread.join(timeout=self._interval)

    def _beat_until_closed(self) -> None:
        """Write signs of life of the running trial until the heartbeat is closed."""
        count, last = 0, None
        while True:
            with self._change:
                # Waking up now and then costs less than being woken by every short trial.
                self._change.wait(self._interval / 4)
                if self._closed:
                    return
                trial, since = self._trial, self._since
            if trial != last:
                count, last = 0, trial
            if trial is None or time.monotonic() - since < (count + 1) * self._interval:
                continue
            count += 1
            try:
                self._record(trial, count)
            except Exception:  # the storage may be away; the next beat may reach it
                continue
