"""Workers of this machine: one in this process, or several in processes of their own."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from tailproof.experiments._optional import need
from tailproof.tune.process import Stop, end_group, never
from tailproof.tune.study import reason
from tailproof.tune.urls import without_secrets
from tailproof.tune.work import End, Event, Job, Worker

_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
_DEATHS = 3  # a worker's place is filled again this often


def one_thread() -> Any:
    """Keep linear algebra to one thread: the programs that are measured need the others.

    Set here and not in the environment, which the programs inherit.
    """
    return need("threadpoolctl", "tune").threadpool_limits(1)


class Interrupt:
    """Turns signals into the wish to stop: the first asks, the second insists.

    Once the programs have ended, what is known is written in spite of both; a third one gives
    that up, too.
    """

    def __init__(self) -> None:
        self._level = Stop.NO
        self._ended = False

    def __call__(self) -> Stop:
        """Return the wish."""
        return self._level

    def programs_have_ended(self) -> None:
        """Let a third signal raise KeyboardInterrupt from now on."""
        self._ended = True

    def heard(self, *_: object) -> None:
        """Take a signal."""
        if self._ended and self._level is Stop.AT_ONCE:
            raise KeyboardInterrupt
        self._level = Stop(min(self._level + 1, Stop.AT_ONCE))


@contextlib.contextmanager
def interrupts() -> Iterator[Interrupt]:
    """Catch SIGINT, SIGTERM and SIGHUP while trials run and their results are written."""
    wish = Interrupt()
    # What is ignored stays ignored: under nohup, or in the background of a script.
    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, wish.heard) for number in heard}
    try:
        yield wish
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def work(
    job: Job, workers: int, show: Callable[[Event], None], stop: Callable[[], Stop] = never
) -> End:
    """Let `workers` work on a study; return why they stopped.

    Parameters
    ----------
    job : Job
    workers : int
    show : callable
        Told what happens.
    stop : callable
        Asked about five times a second whether to stop.
    """
    if workers == 1:
        return Worker(job, show, stop).run()
    return _Crew(job, workers, show).run(stop)


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Hold signals back; a process started meanwhile holds them back, too, until it lets go.

    A terminal sends Ctrl-C to all. A worker that has not come to its own code yet would die of it
    with a traceback.
    """
    resource_tracker.ensure_running()  # else started with the first worker, and lets signals go
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass
class _Member:
    process: Any
    connection: Connection
    group: int = 0  # of the program it runs
    end: End | None = None


class _Crew:
    def __init__(self, job: Job, workers: int, show: Callable[[Event], None]) -> None:
        self._job, self._show = job, show
        self._context = multiprocessing.get_context("spawn")
        self._deaths = 0
        self._most_deaths = _DEATHS * workers
        self._members = [self._hire() for _ in range(workers)]
        self._trouble = ""

    def _hire(self) -> _Member:
        mine, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(self._job, theirs), daemon=False)
        with _signals_wait():
            process.start()
        theirs.close()
        return _Member(process, mine)

    def run(self, stop: Callable[[], Stop]) -> End:
        ends: list[End] = []
        told = Stop.NO
        while self._members:
            wish = max(stop(), Stop.YES if self._trouble else Stop.NO)
            if wish is not told:
                told = wish
                for member in self._members:
                    with contextlib.suppress(OSError):
                        member.connection.send(wish)
            for ready in wait([member.connection for member in self._members], timeout=0.2):
                member = next(one for one in self._members if one.connection is ready)
                if not self._hear(member):
                    self._members.remove(member)
                    self._bury(member, ends, told)
        if self._trouble:
            raise RuntimeError(self._trouble)
        return next((end for end in (End.BROKEN, End.INTERRUPTED) if end in ends), End.COMPLETE)

    def _hear(self, member: _Member) -> bool:
        """Take one message; return False if the worker is gone."""
        try:
            message = member.connection.recv()
        except (EOFError, OSError):
            return False
        if isinstance(message, End):
            member.end = message
        elif isinstance(message, Event):
            if message.kind != "look":
                member.group = message.group  # none after the end
            self._show(message)
        else:
            self._trouble = str(message)
        return True

    def _bury(self, member: _Member, ends: list[End], told: Stop) -> None:
        member.process.join()
        member.connection.close()
        if member.end is not None:
            ends.append(member.end)
            return
        if member.group:
            end_group(member.group)
        self._deaths += 1
        if self._trouble or told is not Stop.NO:
            ends.append(End.INTERRUPTED)  # it cannot say so itself
            return
        if self._deaths > self._most_deaths:
            self._trouble = (
                f"workers died {self._deaths} times, the last with exit code "
                f"{member.process.exitcode}; is there enough memory?"
            )
            return
        self._members.append(self._hire())


def _serve(job: Job, connection: Connection) -> None:
    """Work in a process of its own; an end of the connection is an order to stop."""
    levels = [Stop.NO]

    def ask_to_stop(*_: object) -> None:
        levels.append(max(levels[-1], Stop.YES))

    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            # A terminal sends the others to all; the crew decides. They are not ignored, which
            # the programs would inherit.
            signal.signal(number, ask_to_stop if number == signal.SIGTERM else _let_pass)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def stop() -> Stop:
        try:
            while connection.poll():
                levels.append(connection.recv())
        except (EOFError, OSError):
            ask_to_stop()
        return levels[-1]

    def send(message: object) -> None:
        with contextlib.suppress(OSError):  # the crew is gone; stop() will notice
            connection.send(message)

    try:
        with one_thread():
            send(Worker(job, send, stop).run())
    except Exception as error:  # said once, by the crew
        send(f"{type(error).__name__}: {without_secrets(reason(error), job.url)}")


def _let_pass(*_: object) -> None:
    pass
