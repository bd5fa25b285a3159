"""Stop requests by SIGINT, SIGTERM and SIGHUP."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from enum import IntEnum

HANDLED = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Stop(IntEnum):
    """Whether runs are to be stopped: no, with time to end themselves, or at once."""

    NO = 0
    YES = 1
    AT_ONCE = 2


def never() -> Stop:
    """Return Stop.NO: no signal asks a session to stop."""
    return Stop.NO


class StopRequest:
    """The stop level asked for by signals: the first is `Stop.YES`, the second `Stop.AT_ONCE`.

    Once the programs have ended, the results are written in spite of both; a third signal then
    raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        """Start without a signal."""
        self._level = Stop.NO
        self._programs_ended = False

    def __call__(self) -> Stop:
        """Return the level of the stop that signals have asked for."""
        return self._level

    def programs_have_ended(self) -> None:
        """Let a third signal raise KeyboardInterrupt, as no program runs any more."""
        self._programs_ended = True

    def handle(self, *_: object) -> None:
        """Take note of a signal that asks a session to stop."""
        if self._programs_ended and self._level is Stop.AT_ONCE:
            raise KeyboardInterrupt
        self._level = Stop(min(self._level + 1, Stop.AT_ONCE))


@contextlib.contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Handle signals as stop requests while trials run and their results are written."""
    request = StopRequest()
    # What is ignored stays ignored: under nohup, or in the background of a script.
    handled = [number for number in HANDLED if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, request.handle) for number in handled}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
