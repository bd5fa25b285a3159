"""Who runs a trial, and whether it still lives.

A worker signs its trial, and adds one to the trial's beat every few seconds. Whoever looks on
trusts no clock but its own: a trial whose beat has not changed for a while, as seen from here, is
lost. A worker of this machine whose process is gone is known to be lost at once.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

INTERVAL = 10.0  # seconds between beats; shorter trials need none
GRACE = 60.0  # seconds without a beat after which a trial is lost


@functools.cache
def _machine() -> str | None:
    """Return what names this boot and this table of processes; None where nothing does."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def _start(pid: int) -> str | None:
    """Return when a process started, in the kernel's ticks; None if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    return stat.rpartition(b")")[2].split()[19].decode()


def signature() -> str:
    """Return what this process signs its trials with."""
    return f"{_machine()} {os.getpid()} {_start(os.getpid())}"


def surely_dead(owner: str) -> bool:
    """Return whether a signature is of this machine and its process is gone.

    Examples
    --------
    >>> surely_dead(signature()), surely_dead("elsewhere 1 2")
    (False, False)
    """
    machine, pid, started = (" " * 2 + owner).rsplit(" ", 2)
    if machine.lstrip() != _machine() or not pid.isdecimal():
        return False
    return _start(int(pid)) != started


class Watch:
    """Find trials that nobody runs any more.

    Parameters
    ----------
    grace : float
        Seconds without a change.
    clock : callable
        Seconds, rising.
    """

    def __init__(self, grace: float = GRACE, clock: Callable[[], float] = time.monotonic) -> None:
        self._grace, self._clock = grace, clock
        self._seen: dict[int, tuple[int, float]] = {}

    def lost(self, running: Iterable[tuple[int, int, str]]) -> list[int]:
        """Return the numbers of the lost among running trials, given as (number, beat, owner)."""
        now = self._clock()
        seen: dict[int, tuple[int, float]] = {}
        lost = []
        for number, beat, owner in running:
            before, since = self._seen.get(number, (beat, now))
            seen[number] = (beat, since if before == beat else now)
            if now - seen[number][1] > self._grace or surely_dead(owner):
                lost.append(number)
        self._seen = seen
        return lost


class Heart:
    """Beat for the trial at hand, from a thread of its own, as long as it runs.

    Parameters
    ----------
    beat : callable
        Told the trial and the number of the beat; its errors are taken as a missed beat.
    interval : float
        Seconds.
    """

    def __init__(self, beat: Callable[[int, int], None], interval: float = INTERVAL) -> None:
        self._beat, self._interval = beat, interval
        self._change = threading.Condition()
        self._trial: int | None = None
        self._since = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def start(self, trial: int) -> None:
        """Begin to beat for a trial."""
        with self._change:
            self._trial, self._since = trial, time.monotonic()

    def rest(self) -> None:
        """Stop beating."""
        with self._change:
            self._trial = None

    def close(self) -> None:
        """End the thread."""
        with self._change:
            self._closed = True
            self._change.notify()
        self._thread.join(timeout=self._interval)

    def _run(self) -> None:
        count, last = 0, None
        while True:
            with self._change:
                # Looking now and then costs less than being woken by every short trial.
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
                self._beat(trial, count)
            except Exception:  # the storage may be away; the next beat may reach it
                continue
