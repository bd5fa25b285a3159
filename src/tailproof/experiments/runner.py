"""Run the tasks of a plan in parallel, here or on a cluster, and keep each as it finishes.

Results depend on nothing but the plan: every task carries its own seeds and runs on one thread.
Where two machines' arithmetic differs in the last digit, so may their results; on the machines of
one kind they do not.
"""

from __future__ import annotations

import dataclasses
import functools
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tailproof.experiments import store
from tailproof.experiments._optional import need
from tailproof.experiments.columns import COLUMNS
from tailproof.experiments.plan import Plan, Task
from tailproof.experiments.problems import Synthetic
from tailproof.experiments.progress import Progress
from tailproof.experiments.trial import run_trial
from tailproof.kernels import Matern

# Rough microseconds a round: only for the order of work and the first guess of the time left.
_GUESS = {"tgp": 16.0, "gp": 12.0, "gp-truncated": 12.0, "qff": 45.0, "exact": 35.0}
_GUESS |= {"nystrom": 150.0}
_FULL_RANK = 6.0  # times as long, in feature directions, where the kernel matrix has full rank

T = TypeVar("T")
Pair = tuple[Task, dict[str, Any]]
Pool = Callable[[Sequence[Task]], Iterator[Pair]]


def guess_seconds(task: Task) -> float:
    """Return roughly how long a task takes on one core."""
    family, source = COLUMNS[task.column].family, task.source
    rough = isinstance(source, Synthetic) and isinstance(source.kernel, Matern)
    factor = _FULL_RANK if rough and family in ("nystrom", "exact") else 1.0
    return factor * _GUESS[family] * 1e-6 * task.rounds


def run(
    plan: Plan, out: Path, pool: Pool, progress: Callable[[int, int], Progress]
) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Run what `out` does not hold yet, keep each trial at once, and return all of them.

    Parameters
    ----------
    plan
        What to run.
    out
        A directory that `store.opened` has taken for this plan.
    pool
        Makes finished trials out of tasks: `local_pool(...)` or `cluster_pool(...)`.
    progress
        Called with the numbers of finished and of all trials; returns what shows progress.
    """
    records, todo = store.split(out, plan.tasks())
    todo.sort(key=guess_seconds, reverse=True)  # the long ones first, so that no core waits
    session, started = time.time(), time.perf_counter()
    with progress(len(records), len(records) + len(todo)) as shown:
        shown.expect(todo, guess_seconds)
        for task, record in pool(todo) if todo else ():
            record["session"] = {"started": session, "at": time.perf_counter() - started}
            store.write_trial(out, task, record)
            records[task.name] = record
            shown.finished(task, record["seconds"])
    return records


def local_pool(workers: int) -> Pool:
    """Return a pool of `workers` processes on this machine."""
    return process_pool(workers, run_trial_pair, compile_first)


def process_pool(
    workers: int,
    play: Callable[[T], tuple[T, dict[str, Any]]],
    prepare: Callable[[Sequence[T]], None],
) -> Callable[[Sequence[T]], Iterator[tuple[T, dict[str, Any]]]]:
    """Return a pool of `workers` processes for any kind of task.

    Parameters
    ----------
    workers
        With one, tasks run in this very process.
    play
        Makes a task's record and returns both; a function of a module, so that it can be sent.
    prepare
        Called with all tasks, here, before several processes start.
    """

    def results(tasks: Sequence[T]) -> Iterator[tuple[T, dict[str, Any]]]:
        joblib = need("joblib", "experiments")
        if workers > 1:
            prepare(tasks)
        parallel = joblib.Parallel(
            n_jobs=workers,
            backend="loky",
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=2 * workers,
            max_nbytes=None,  # tasks are small: nothing is worth a shared file
        )
        finished = parallel(joblib.delayed(_worker)(play, task) for task in tasks)
        try:
            yield from finished
        finally:
            finished.close()

    return results


def compile_first(tasks: Sequence[Task]) -> None:
    """Play a few rounds of every kind of task here, so that the workers find the code compiled.

    Compiling takes longer than many a trial, and every new process would do it at the same time.
    """
    kinds = {(COLUMNS[task.column].family, task.letter): task for task in tasks}
    for task in kinds.values():
        run_trial(dataclasses.replace(task, rounds=3, marks=np.array([3])))


def cluster_pool(address: str, *, patience: float = 10.0) -> tuple[Pool, int]:
    """Return a pool on the Dask cluster whose scheduler listens at `address`, and its threads.

    The workers need tailproof installed, no data files and no common disk. `patience` is how
    many seconds the scheduler may take to answer.
    """
    with _client(address, patience) as client:
        threads = sum(client.nthreads().values())
    if threads == 0:
        raise OSError(f"the Dask scheduler at {address!r} has no workers.")

    def results(tasks: Sequence[Task]) -> Iterator[Pair]:
        with _client(address, patience) as client:
            # Not pure: nothing may be answered from what another run left on the cluster.
            futures = client.map(run_trial_pair, tasks, pure=False)
            as_completed = need("distributed", "cluster").as_completed
            try:
                for _, pair in as_completed(futures, loop=client.loop, with_results=True):
                    yield pair
            finally:
                client.cancel(futures)

    return results, threads


def _client(address: str, patience: float) -> Any:
    distributed = need("distributed", "cluster")
    try:
        return distributed.Client(address, timeout=patience, set_as_default=False)
    except (OSError, ValueError) as error:
        raise OSError(f"no Dask scheduler answers at {address!r}: {error}") from error


def run_trial_pair(task: Task) -> Pair:
    """Run a task and return it with its record."""
    return task, run_trial(task)


def _worker(play: Callable[[T], tuple[T, dict[str, Any]]], task: T) -> tuple[T, dict[str, Any]]:
    """Run a task in a process of the local pool (with one worker: in this very process)."""
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid is not None:
        _serve(parent.pid)
    return play(task)


@functools.cache
def _serve(parent: int) -> None:
    """Leave Ctrl-C to the parent process, and end with it even if it is killed."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    if os.name == "posix":
        threading.Thread(target=watch, daemon=True).start()


def default_workers() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn SIGTERM into KeyboardInterrupt, so that both stop a run in the same orderly way."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
