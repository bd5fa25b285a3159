"""Processes that a run started and that left its process group, for instance by `setsid`.

Linux makes this process the parent of descendants whose own parent has ended (a "child subreaper"),
so that they can be found. On other systems they cannot.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterator

from tailproof._util.optional import require

_PR_SET_CHILD_SUBREAPER = 36  # of linux/prctl.h
_KILL_TIMEOUT = 5.0  # seconds: a process that waits for a dead disk cannot be killed

_adopted: set[int] = set()  # left by earlier runs, to be reaped once they have ended


@contextlib.contextmanager
def adopted() -> Iterator[Callable[[], None]]:
    """Adopt the descendants a run leaves behind; yield a function that kills all of them."""
    if sys.platform != "linux":
        yield lambda: None
        return
    before = _adopted_children()
    _set_subreaper(True)
    try:
        yield lambda: _kill_descendants(before)
    finally:
        _set_subreaper(False)
        _adopted.update(_adopted_children() - before)
        for pid in list(_adopted):
            _reap_child(pid)


def _set_subreaper(on: bool) -> None:
    """Let this process adopt orphans of its descendants, or no longer (Linux)."""
    with contextlib.suppress(OSError, AttributeError):  # refused, or no such function
        arguments = (ctypes.c_ulong(value) for value in (on, 0, 0, 0))
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, *arguments)


def _adopted_children() -> set[int]:
    """Return the adopted descendants: children of other sessions than this process's.

    Runs begin a session of their own, and no process can come back from one. What this process
    starts for other purposes is thereby left out.
    """
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return set()  # the usual case, and far cheaper than to look at all processes
    found = set()
    for child in require("psutil", "tune").Process().children():
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(child.pid) != os.getsid(0):
                found.add(child.pid)
    return found


def _kill_descendants(before: set[int]) -> None:
    """Kill all children that were not there before, with their descendants."""
    psutil = require("psutil", "tune")
    until = time.monotonic() + _KILL_TIMEOUT
    while (left := _adopted_children() - before) and time.monotonic() < until:
        for pid in left:
            with contextlib.suppress(psutil.Error):
                child = psutil.Process(pid)
                for process in (child, *child.children(recursive=True)):
                    with contextlib.suppress(psutil.Error):
                        process.kill()
            _reap_child(pid)
        time.sleep(0.01)


def _reap_child(pid: int) -> None:
    """Remove a descendant from the table of processes if it has ended."""
    try:
        ended, _ = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        ended = pid  # removed before
    if ended:
        _adopted.discard(pid)
