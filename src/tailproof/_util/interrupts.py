"""Ctrl-C while a command starts: no traceback, neither of it nor of the processes it starts."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterable, Iterator

INTERRUPTED = 130  # the exit code that a shell expects after Ctrl-C


@contextlib.contextmanager
def exit_on_interrupt(command: str) -> Iterator[None]:
    """End the process at once on Ctrl-C, with one line, as long as it has nothing to finish.

    A KeyboardInterrupt would not do: modules are imported meanwhile, and where the interpreter
    calls back (destructors, weak references) it prints the exception and goes on.
    """

    def end(*_: object) -> None:
        os.write(2, f"{command}: interrupted.\n".encode())
        os._exit(INTERRUPTED)

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # ignored, or somebody else's
        return
    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def blocked(numbers: Iterable[signal.Signals]) -> Iterator[None]:
    """Block Ctrl-C or other signals; a process started meanwhile inherits the mask.

    A terminal sends Ctrl-C to all processes. A worker that has not installed its own handlers yet
    would die of it with a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
