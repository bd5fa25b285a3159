"""Do the tasks of a plan in parallel, in local processes or on a Dask cluster.

Results depend on nothing but the plan: every task carries its own seeds and runs on one thread.
Where the arithmetic of two kinds of machines differs in the last digit, so may their results.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from tailproof._util.interrupts import blocked
from tailproof._util.optional import require
from tailproof.experiments import run_files
from tailproof.experiments.plan import Plan, Task
from tailproof.experiments.policies import POLICIES
from tailproof.experiments.problems import Synthetic
from tailproof.experiments.progress import Progress
from tailproof.experiments.repetition import run_repetition
from tailproof.kernels import Matern

# Rough microseconds per round: only for the order of work and the first estimate of the time left.
_GUESS = {"tgp": 16.0, "gp": 12.0, "gp-truncated": 12.0, "qff": 45.0, "exact": 35.0}
_GUESS |= {"nystrom": 150.0}
_FULL_RANK = 6.0  # times as long, with features, where the kernel matrix has full rank

Record = dict[str, Any]
# Yields tasks and their records as they finish.
Pool = Callable[[Sequence[Task]], Iterable[tuple[Task, Record]]]


def guess_seconds(task: Task) -> float:
    """Return roughly how long the runner needs for a task of the plan on one core."""
    family, source = POLICIES[task.policy].family, task.panel.source
    full_rank = isinstance(source, Synthetic) and isinstance(source.kernel, Matern)
    factor = _FULL_RANK if full_rank and family in ("nystrom", "exact") else 1.0
    return factor * _GUESS[family] * 1e-6 * task.panel.rounds


def run_plan(plan: Plan, out: Path, pool: Pool, workers: int) -> dict[tuple[str, str, int], Record]:
    """Do the runs whose files `out` does not hold yet, and return the records of all runs.

    `run_files.open_folder` has opened `out` for this plan; each record is written to it as soon
    as the run has finished. `workers` is how many tasks the pool does at the same time, for the
    estimate of the time left.
    """
    records, todo = run_files.read_finished(out, plan.tasks())
    todo.sort(key=guess_seconds, reverse=True)  # the long ones first, so that no core waits
    session, started = time.time(), time.perf_counter()
    with Progress(len(records), todo, guess_seconds, workers) as progress:
        for task, record in pool(todo) if todo else ():
            record["session"] = {"started": session, "at": time.perf_counter() - started}
            run_files.write_run(out, task, record)
            records[task.name] = record
            progress.finished(task, record["seconds"])
    return records


def local_pool(workers: int) -> Pool:
    """Return a pool of `workers` processes on this machine; with one, tasks run in this process."""

    def pool(tasks: Sequence[Task]) -> Iterator[tuple[Task, Record]]:
        joblib = require("joblib", "experiments")
        if workers > 1:
            compile_first(tasks)
            if os.name == "posix":
                _start_resource_trackers()
        parallel = joblib.Parallel(
            n_jobs=workers,
            backend="loky",
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=2 * workers,
            max_nbytes=None,  # tasks are small: nothing is worth a shared file
        )
        # Workers leave Ctrl-C to this process, from their first moment: see `_follow_parent`.
        with blocked((signal.SIGINT,)):
            finished = parallel(joblib.delayed(_run_pool_task)(task) for task in tasks)
        try:
            yield from finished
        finally:
            finished.close()

    return pool


def _start_resource_trackers() -> None:
    """Start the processes that remove what workers leave behind, without their warnings.

    After Ctrl-C the workers are killed, so there may be something to remove; the trackers would say
    so after the last message of the command. Started later, amid the workers, they would unblock
    the signals.
    """
    loky = importlib.import_module("joblib.externals.loky.backend.resource_tracker")
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        loky.ensure_running()
        resource_tracker.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


def compile_first(tasks: Sequence[Task]) -> None:
    """Play a few rounds of every kind of task, so that pool workers find the code compiled.

    Compiling takes longer than many a run, and every new process would do it at the same time.
    """
    kinds = {(POLICIES[task.policy].family, task.panel.letter): task for task in tasks}
    for task in kinds.values():
        run_repetition(dataclasses.replace(task, panel=dataclasses.replace(task.panel, rounds=3)))


def cluster_pool(address: str, *, patience: float = 10.0) -> tuple[Pool, int]:
    """Return a pool on the Dask cluster whose scheduler listens at `address`, and its threads.

    The workers need tailproof installed, no data files and no common disk. `patience` is how
    many seconds the scheduler may take to answer.
    """
    with _cluster_client(address, patience) as client:
        threads = sum(client.nthreads().values())
    if threads == 0:
        raise OSError(f"the Dask scheduler at {address!r} has no workers.")

    def pool(tasks: Sequence[Task]) -> Iterator[tuple[Task, Record]]:
        with _cluster_client(address, patience) as client:
            # Not pure: no result may come from what another run left on the cluster.
            futures = client.map(run_repetition, tasks, pure=False)
            task_of = {future.key: task for future, task in zip(futures, tasks, strict=True)}
            as_completed = require("distributed", "cluster").as_completed
            try:
                for future, record in as_completed(futures, loop=client.loop, with_results=True):
                    yield task_of[future.key], record
            finally:
                client.cancel(futures)

    return pool, threads


def _cluster_client(address: str, patience: float) -> Any:
    """Return a client of the Dask scheduler at an address."""
    distributed = require("distributed", "cluster")
    try:
        return distributed.Client(address, timeout=patience, set_as_default=False)
    except (OSError, ValueError) as error:
        raise OSError(f"no Dask scheduler answers at {address!r}: {error}") from error


def _run_pool_task(task: Task) -> tuple[Task, Record]:
    """Run a task of the plan in a process of the local pool; with one worker, in this process."""
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid is not None:
        _follow_parent(parent.pid)
    return task, run_repetition(task)


@functools.cache
def _follow_parent(parent: int) -> None:
    """Leave Ctrl-C to the runner's process, and end when it has ended, even if it was killed."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    if os.name == "posix":
        threading.Thread(target=watch, daemon=True).start()


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn SIGTERM into KeyboardInterrupt, so that both stop the runner in the same orderly way."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
