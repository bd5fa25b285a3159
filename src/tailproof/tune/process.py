"""One run of a command: its own process group, a time limit, output of limited size.

Output goes straight into files, so a program can neither fill a pipe nor hold one open after its
end. When the program ends, or must end, everything left in its process group is ended with it. When
it must end, its descendants that left the group are killed, too.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tailproof.tune.descendants import adopted
from tailproof.tune.signals import Stop, never

MAX_OUTPUT = 64 * 2**20  # bytes of one stream; a program that prints more has failed
INTERRUPTED = "interrupted"
TOO_MUCH = "too much output"
NO_SPACE = "no space left on device for its output"
_RESERVE = 64 * 2**10  # bytes that must be free for each stream before and after a run
KILL_DELAY = 5.0  # seconds from SIGTERM to SIGKILL
_POLL = 0.2  # seconds between checks of the clock, the output and the stop requests


@dataclass(frozen=True)
class Result:
    """How a run ended.

    Attributes
    ----------
    code : int or None
        Exit code, negative for a signal; None if the program could not be started.
    seconds : float
        From the start to the end of the program.
    reason : str
        Why it was stopped: "timeout", "interrupted", "too much output", the error if it could not
        be started; or that its output filled the disk; empty if it ended by itself.
    stdout, stderr : bytes
    """

    code: int | None
    seconds: float
    reason: str
    stdout: bytes
    stderr: bytes


def run(
    arguments: Sequence[str],
    *,
    timeout: float | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    stop: Callable[[], Stop] = never,
    started: Callable[[int], None] | None = None,
) -> Result:
    """Run a command as a process to its end.

    Parameters
    ----------
    arguments : sequence of str
        The program and its arguments, passed on as they are.
    timeout : float, optional
        Seconds after which the process group is sent SIGTERM, and SIGKILL 5 s later.
    environment : mapping, optional
        Added to the environment.
    folder : Path, optional
        Where to keep the complete output as `stdout` and `stderr`; otherwise it is dropped.
    stop : callable
        Asked about five times a second.
    started : callable, optional
        Told the id of the process group.

    Returns
    -------
    Result

    Raises
    ------
    OSError
        If the output cannot be written; the disk may have become full during the run.
    """
    with (
        _process_output_file(folder, "stdout") as out,
        _process_output_file(folder, "stderr") as err,
        adopted() as kill_descendants,
    ):
        place = tempfile.gettempdir() if folder is None else str(folder)
        _check_disk_space(out, place)
        reason = INTERRUPTED  # unless `_watch_process` returns
        begin = time.perf_counter()
        try:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                env={**os.environ, **(environment or {})},
            )
        except OSError as error:
            return Result(None, 0.0, f"could not start: {error}", b"", b"")
        try:
            if started is not None:
                started(process.pid)
            reason, seconds = _watch_process(process.pid, begin, timeout, (out, err), stop)
        finally:
            # Until it is waited for, the ended program keeps the group's number from being reused.
            _signal_process_group(process.pid, signal.SIGKILL)
            code = process.wait()
            if reason:
                kill_descendants()
        said, errors = _output_content(out), _output_content(err)
        if not reason and max(len(said), len(errors)) > MAX_OUTPUT:
            reason = TOO_MUCH  # it ended between two checks: a cut output holds no payoff
        if reason != INTERRUPTED and not (_has_disk_space(out) and _has_disk_space(err)):
            # The output may be cut. Was it the program itself that filled the disk?
            out.truncate(0)
            err.truncate(0)
            _check_disk_space(out, place)
            reason = NO_SPACE
        return Result(code, seconds, reason, said[:MAX_OUTPUT], errors[:MAX_OUTPUT])


def _watch_process(
    pid: int,
    begin: float,
    timeout: float | None,
    outputs: tuple[IO[bytes], ...],
    stop: Callable[[], Stop],
) -> tuple[str, float]:
    """Wait for the end of a process; return why it was forced, and the seconds it took."""
    deadline = float("inf") if timeout is None else begin + timeout
    with _end_of_process(pid) as ended:
        while True:
            left = deadline - time.perf_counter()
            if ended(max(min(_POLL, left), 0.0)):
                return "", time.perf_counter() - begin
            if stop() is not Stop.NO:
                reason = INTERRUPTED
            elif time.perf_counter() >= deadline:
                reason = "timeout"
            elif any(os.fstat(output.fileno()).st_size > MAX_OUTPUT for output in outputs):
                reason = TOO_MUCH
            else:
                continue
            _end_process_group(pid, ended, stop)
            return reason, time.perf_counter() - begin


def _end_process_group(pid: int, ended: Callable[[float], bool], stop: Callable[[], Stop]) -> None:
    """Send SIGTERM to the group, and wait up to `KILL_DELAY` for its leader to end."""
    _signal_process_group(pid, signal.SIGTERM)
    until = time.perf_counter() + KILL_DELAY
    while stop() is not Stop.AT_ONCE and time.perf_counter() < until:
        if ended(_POLL / 4):
            return


@contextlib.contextmanager
def _end_of_process(pid: int) -> Iterator[Callable[[float], bool]]:
    """Yield a function that waits up to some seconds and returns whether the process has ended.

    The process is left to be waited for.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):  # not on this system
        yield lambda seconds: _process_ended_by_polling(pid, seconds)
        return
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        yield lambda seconds: bool(poll.poll(seconds * 1e3))
    finally:
        os.close(descriptor)


def _process_ended_by_polling(pid: int, seconds: float) -> bool:
    """Wait up to some seconds for a process to end, without pidfd."""
    until = time.perf_counter() + seconds
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.perf_counter() >= until:
            return False
        time.sleep(0.001)
    return True


def _signal_process_group(group: int, number: signal.Signals) -> None:
    """Send a signal to a process group, if it is still there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def kill_group(group: int) -> None:
    """Kill the process group of a run whose worker has died."""
    _signal_process_group(group, signal.SIGKILL)


def _process_output_file(folder: Path | None, name: str) -> IO[bytes]:
    """Open the file that a process's output goes to."""
    if folder is None:
        return tempfile.TemporaryFile(buffering=0)
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / name).open("w+b", buffering=0)


def _has_disk_space(output: IO[bytes]) -> bool:
    """Return whether the output of a process could grow."""
    end = os.fstat(output.fileno()).st_size
    try:
        return os.pwrite(output.fileno(), bytes(_RESERVE), end) == _RESERVE
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        return False
    finally:
        os.ftruncate(output.fileno(), end)


def _check_disk_space(output: IO[bytes], place: str) -> None:
    """Raise OSError if the output of a process could not be written."""
    if not _has_disk_space(output):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), place)


def _output_content(output: IO[bytes]) -> bytes:
    """Return what a process wrote, up to the limit and one byte."""
    output.seek(0)
    return output.read(MAX_OUTPUT + 1)  # one more says that there is more


def excerpt(output: bytes, limit: int) -> str:
    """Return a process's output as text of about `limit` characters in JSON: head and tail.

    Examples
    --------
    >>> excerpt(b"x" * 1000, 100).count("x") <= 100
    True
    >>> excerpt(b"short", 100)
    'short'
    """
    half = limit // 2
    while True:
        if len(output) <= 2 * half:
            shown = output.decode("utf-8", "replace")
        else:
            left_out = len(output) - 2 * half
            head = output[:half].decode("utf-8", "replace")
            tail = output[len(output) - half :].decode("utf-8", "replace")
            shown = f"{head}\n[... {left_out:,} bytes left out ...]\n{tail}"
        if len(json.dumps(shown)) <= limit + 64 or half <= 16:  # escapes make text longer
            return shown
        half //= 2
