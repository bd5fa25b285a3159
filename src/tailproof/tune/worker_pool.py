"""Workers of this machine: one in this process, or several in processes of their own."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from multiprocessing.connection import Connection, wait
from typing import Any

from tailproof._util.interrupts import blocked
from tailproof._util.threads import single_thread
from tailproof.tune import forkserver
from tailproof.tune.process import kill_group
from tailproof.tune.request import Job
from tailproof.tune.signals import HANDLED, Stop, never
from tailproof.tune.study import first_line
from tailproof.tune.urls import without_secrets
from tailproof.tune.worker import End, Event, Worker

_MAX_DEATHS = 3  # a worker that dies is replaced this often


def run_workers(
    job: Job, workers: int, show: Callable[[Event], None], stop: Callable[[], Stop] = never
) -> End:
    """Let a pool of `workers` work on a study; return why they stopped.

    Parameters
    ----------
    job : Job
    workers : int
    show : callable
        Called with every `Event`.
    stop : callable
        Asked about five times a second whether to stop.
    """
    if workers == 1:
        return Worker(job, show, stop).run()
    return WorkerPool(job, workers, show).run(stop)


class _Progress(Enum):
    """What a worker says besides events: that it is about to take its first trial."""

    READY = "ready"


@dataclass
class _Member:
    """A worker process, the process group of the program it runs, and why it ended."""

    process: Any
    connection: Connection
    ready: bool = False
    group: int = 0
    end: End | None = None


class WorkerPool:
    """Worker processes, started at once; those that die are replaced a few times."""

    def __init__(self, job: Job, workers: int, show: Callable[[Event], None]) -> None:
        self._job, self._show = job, show
        self._context = forkserver.context()
        self._deaths = 0
        self._max_deaths = _MAX_DEATHS * workers
        self._members = [self._start() for _ in range(workers)]
        self._error = ""

    def _start(self) -> _Member:
        """Start a worker process."""
        ours, theirs = self._context.Pipe()
        arguments = (self._job, theirs, dict(os.environ))
        process = self._context.Process(target=_work, args=arguments, daemon=False)
        forkserver.ensure_running()
        with blocked(HANDLED):  # the worker unblocks them when it can handle them
            process.start()
        theirs.close()
        return _Member(process, ours)

    def run(self, stop: Callable[[], Stop]) -> End:
        """Wait until all workers of the pool have ended; return why they stopped."""
        ends: list[End] = []
        sent = Stop.NO
        while self._members:
            level = max(stop(), Stop.YES if self._error else Stop.NO)
            if level is not sent:
                sent = level
                for member in self._members:
                    self._request_stop(member, level)
            for ready in wait([member.connection for member in self._members], timeout=0.2):
                member = next(m for m in self._members if m.connection is ready)
                if not self._receive(member):
                    self._members.remove(member)
                    self._remove(member, ends, sent)
        if self._error:
            raise RuntimeError(self._error)
        return next((end for end in (End.BROKEN, End.INTERRUPTED) if end in ends), End.COMPLETE)

    def _request_stop(self, member: _Member, level: Stop) -> None:
        """Tell a worker to stop; one that is still starting is killed, to save the wait for it.

        A worker says that it is ready, and then asks whether to stop before it takes a trial. So
        one that has not said it by now would find the request, and has not taken a trial.
        """
        with contextlib.suppress(OSError):
            member.connection.send(level)
        while not member.ready:
            if not member.connection.poll():
                member.process.kill()
                return
            if not self._receive(member):
                return

    def _receive(self, member: _Member) -> bool:
        """Receive one message; return False if the worker is gone."""
        try:
            message = member.connection.recv()
        except (EOFError, OSError):
            return False
        if message is _Progress.READY:
            member.ready = True
        elif isinstance(message, End):
            member.end = message
        elif isinstance(message, Event):
            if message.kind not in ("read", "look"):
                member.group = message.group  # 0 after the end
            self._show(message)
        else:
            self._error = str(message)
        return True

    def _remove(self, member: _Member, ends: list[End], sent: Stop) -> None:
        """Note how a worker ended, and replace it if it died."""
        member.process.join()
        member.connection.close()
        if member.end is not None:
            ends.append(member.end)
            return
        if member.group:
            kill_group(member.group)
        self._deaths += 1
        if self._error or sent is not Stop.NO:
            ends.append(End.INTERRUPTED)  # it could not say so itself
        elif self._deaths > self._max_deaths:
            self._error = (
                f"workers died {self._deaths} times, the last with exit code "
                f"{member.process.exitcode}; is there enough memory?"
            )
        else:
            self._members.append(self._start())


def _work(job: Job, connection: Connection, environment: dict[str, str]) -> None:
    """Work in a process of the pool; a closed connection is a request to stop.

    The environment is the pool's: that of the process it is forked from may be older.
    """
    os.environ.clear()
    os.environ.update(environment)
    levels = [Stop.NO]

    def request_stop(*_: object) -> None:
        levels.append(max(levels[-1], Stop.YES))

    for number in HANDLED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            # A terminal sends the others to all processes; the pool decides. They are not ignored,
            # which the programs would inherit.
            handler = request_stop if number == signal.SIGTERM else lambda *_: None
            signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)

    def stop() -> Stop:
        try:
            while connection.poll():
                levels.append(connection.recv())
        except (EOFError, OSError):
            request_stop()
        return levels[-1]

    def send(message: object) -> None:
        with contextlib.suppress(OSError):  # the pool is gone; stop() will notice
            connection.send(message)

    try:
        with single_thread():
            worker = Worker(job, send, stop)
            send(_Progress.READY)
            send(worker.run())
    except Exception as error:  # shown once, by the pool
        send(f"{type(error).__name__}: {without_secrets(first_line(error), job.url)}")
