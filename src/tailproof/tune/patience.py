"""Waiting for a storage that is away or a disk that is full: the cause is said at once.

A full disk is waited for without limit, since only somebody who reads the message can help; a
storage that does not answer, or cannot be written, for five minutes.
"""

from __future__ import annotations

import contextlib
import errno
import shutil
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from tailproof._util.console import duration, printable
from tailproof.tune.signals import Stop
from tailproof.tune.study import StorageAwayError, first_line, is_storage_away, load_optuna
from tailproof.tune.urls import masked, sqlite_file, without_secrets

STORAGE_TIMEOUT = 300.0  # seconds to wait for a storage that does not answer
START_TIMEOUT = 15.0  # the same before a session has begun: its URL may be wrong
NO_SPACE = "no space left on device"
REPEAT_INTERVAL = 60.0  # seconds after which a cause that lasts is said again
_FULL = (NO_SPACE, "disk is full", "disk full", "quota exceeded", "no usable temporary directory")
_FREE = 64 * 2**10  # bytes; with less, a file system is taken to be full
_FIRST_PAUSE, _LONGEST_PAUSE, _POLL = 0.1, 5.0, 0.1  # seconds
_LONGEST_CAUSE = 500  # characters

Returned = TypeVar("Returned")


class Patience:
    """Call again what failed because a storage is away or a disk is full.

    Parameters
    ----------
    url : str
        Of the storage.
    stop : callable
        Asked often whether to stop: the error is then raised.
    waiting : callable
        Called with the cause after every attempt that failed.
    resumed : callable
        Called when an attempt succeeds after others have failed.
    """

    def __init__(
        self,
        url: str,
        stop: Callable[[], Stop],
        waiting: Callable[[str], None],
        resumed: Callable[[], object],
    ) -> None:
        """Wait for a storage at `url` and for the disk, until a stop is requested."""
        self._url, self._stop, self._waiting, self._resumed = url, stop, waiting, resumed

    def __call__(self, call: Callable[[], Returned]) -> Returned:
        """Return what `call` returns, waiting while storage or disk make it impossible."""
        until, pause, waited = time.monotonic() + STORAGE_TIMEOUT, _FIRST_PAUSE, False
        while True:
            try:
                returned = call()
            except Exception as error:
                full = is_disk_full(error, self._url)
                if not (full or _is_storage_error(error)) or self._stop() is not Stop.NO:
                    raise
                if full:
                    until = time.monotonic() + STORAGE_TIMEOUT
                elif time.monotonic() > until:
                    raise
                self._waiting(cause(error, self._url))
                if not self._sleep_patiently(pause):
                    raise
            else:
                if waited:
                    self._resumed()
                return returned
            waited, pause = True, min(2.0 * pause, _LONGEST_PAUSE)

    def _sleep_patiently(self, seconds: float) -> bool:
        """Sleep between attempts; return False as soon as there is a request to stop."""
        until = time.monotonic() + seconds
        while self._stop() is Stop.NO:
            if time.monotonic() >= until:
                return True
            time.sleep(_POLL)
        return False


def _error_chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, to see whether it deserves patience."""
    while error is not None:
        yield error
        error = error.__cause__


def is_disk_full(error: BaseException, url: str) -> bool:
    """Return whether patience may help: an error says that a disk is full, or that of `url` is.

    Examples
    --------
    >>> is_disk_full(OSError(28, "No space left on device", "report.html"), "sqlite:///x.db")
    True
    """
    for raised in _error_chain(error):
        if isinstance(raised, OSError) and raised.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        # The driver's own words: those of SQLAlchemy quote what was to be stored.
        said = str(getattr(raised, "orig", None) or raised).lower().partition("\n")[0]
        if any(words in said for words in _FULL):
            return True
    path = sqlite_file(url) if _is_storage_error(error) else None  # "disk I/O error" says little
    with contextlib.suppress(OSError):
        return path is not None and shutil.disk_usage(path.parent).free < _FREE
    return False


def _is_storage_error(error: BaseException) -> bool:
    """Whether patience may help: an error comes from the storage of the study."""
    import sqlalchemy

    internal = load_optuna().exceptions.StorageInternalError
    return isinstance(error, internal | sqlalchemy.exc.SQLAlchemyError | StorageAwayError)


def start_patiently(
    call: Callable[[], Returned], url: str, waiting: Callable[[str], None]
) -> Returned:
    """Return what `call` returns, called again while a restarted storage server is away.

    Before a session has begun everything else is an error at once, and the wait is short.
    """
    until, pause = time.monotonic() + START_TIMEOUT, _FIRST_PAUSE
    while True:
        try:
            return call()
        except Exception as error:
            if not is_storage_away(error) or time.monotonic() + pause > until:
                raise
            waiting(cause(error, url))
        time.sleep(pause)
        pause = min(2.0 * pause, _LONGEST_PAUSE)


def cause(error: BaseException, url: str) -> str:
    """Return why patience is needed, with the file or the storage, on one line.

    Examples
    --------
    >>> cause(OSError(28, "No space left on device", "report.html"), "sqlite:///x.db")
    'no space left on device: report.html'
    """
    said = without_secrets(first_line(error), url)
    if isinstance(error, OSError):
        place = error.filename or f"the storage {masked(url)}"
        full = is_disk_full(error, url)
        text = f"{NO_SPACE if full else error.strerror or said}: {place}"
    elif is_disk_full(error, url):
        text = f"{NO_SPACE}: the storage {masked(url)} ({said})"
    elif isinstance(error, StorageAwayError):
        text = said
    else:
        text = f"the storage {masked(url)} cannot be used: {said}"
    return printable(text, _LONGEST_CAUSE)


class WaitNotice:
    """Say why there is a wait, once a minute and whenever the cause changes, and when it is over.

    Parameters
    ----------
    write : callable
        Called with each line.
    clock : callable
        Seconds, rising.
    """

    def __init__(
        self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Tell by `write` of waits for disk or storage."""
        self._write, self._clock = write, clock
        self._said_at = -float("inf")
        self.since: float | None = None  # of the wait, while there is one
        self.cause = ""

    def waiting(self, cause: str) -> None:
        """Note that there is a wait for disk or storage."""
        now = self._clock()
        if self.since is None:
            self.since, self._said_at = now, -float("inf")
        if cause != self.cause or now - self._said_at >= REPEAT_INTERVAL:
            self._said_at, self.cause = now, cause
            self._write(f"waiting: {cause}; going on as soon as this is over (Ctrl-C stops)")

    def resumed(self) -> float:
        """Note that the wait for disk or storage is over; return the seconds it took."""
        if self.since is None:
            return 0.0
        seconds = self._clock() - self.since
        self.since, self.cause = None, ""
        self._write(f"going on after a wait of {duration(seconds)}")
        return seconds
