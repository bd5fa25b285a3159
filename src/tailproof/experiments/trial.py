"""One trial: a policy plays a problem, and what is kept of it."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof.bandits.optimizer import ArmOptimizer
from tailproof.environments import ArmEnvironment
from tailproof.experiments._optional import need
from tailproof.experiments.columns import COLUMNS, build
from tailproof.experiments.plan import Task
from tailproof.experiments.problems import Spiked

Array = NDArray[np.float64]


class CommonPayoffs:
    """Payoffs by arm and round, from one stream of noise: round t draws the same for every arm.

    So policies that face the same trial face the same noise, whatever they choose. An arm's
    payoffs are drawn, all rounds at once, when it is first played.
    """

    def __init__(
        self, environment: ArmEnvironment, rounds: int, sequence: np.random.SeedSequence
    ) -> None:
        self._environment, self._rounds, self._sequence = environment, rounds, sequence
        self._drawn: dict[int, list[float]] = {}

    def of(self, arm: int) -> list[float]:
        """Return the arm's payoff in every round."""
        payoffs = self._drawn.get(arm)
        if payoffs is None:
            rng = np.random.default_rng(self._sequence)
            arms = np.full(self._rounds, arm)
            payoffs = self._drawn[arm] = self._environment.sample(arms, rng).tolist()
        return payoffs


def play(
    optimizer: ArmOptimizer, payoffs: CommonPayoffs, rounds: int, *, first: int | None = None
) -> NDArray[np.int64]:
    """Ask and tell for `rounds` rounds; return the arms played, (rounds,).

    `first` is the first arm where the policy would not choose it at random by itself.
    """
    played = np.empty(rounds, dtype=np.int64)
    for t in range(rounds):
        arm = optimizer.ask_index() if t > 0 or first is None else first
        optimizer.tell_index(arm, payoffs.of(arm)[t])
        played[t] = arm
    return played


def run_trial(task: Task) -> dict[str, Any]:
    """Play one task on one thread and return what is kept, ready for JSON.

    Regret per round at the marks, the width of the last round, the time taken by the rounds (as
    it passed, and as this thread used it) and, in panel f, the final mean and standard deviation
    of every arm.
    """
    column = COLUMNS[task.column]
    source = task.source
    if isinstance(source, Spiked):
        source = dataclasses.replace(source, redrawn=column.redrawn)
    with single_threaded():
        problem = source.problem(task.generator)
        optimizer = build(
            column,
            problem,
            nodes=task.nodes,
            horizon=task.rounds,
            seed=task.sequence("policy"),
        )
        first = None
        if column.schedule == "ln t":
            first = int(task.generator("first arm").integers(len(problem.space)))
        payoffs = CommonPayoffs(problem.environment, task.rounds, task.sequence("noise"))
        wall, cpu = time.perf_counter(), time.thread_time()
        played = play(optimizer, payoffs, task.rounds, first=first)
        wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
        prediction = optimizer.predict()
    regret = np.cumsum(problem.gap[played])[task.marks - 1] / task.marks
    record: dict[str, Any] = {
        "regret_per_round": regret.tolist(),
        "width": prediction.beta,
        "seconds": wall,
        "cpu_seconds": cpu,
    }
    if isinstance(source, Spiked):
        record |= {
            "mean": prediction.mean.tolist(),
            "std": prediction.std.tolist(),
            "f": np.asarray(problem.environment.means).tolist(),
        }
    return record


_lock = threading.Lock()
_inside = 0
_limits: Any = None


@contextmanager
def single_threaded() -> Iterator[None]:
    """Hold the process's linear algebra to one thread.

    The matrices are small, trials run side by side, and sums in another order would change the
    last digits. Several threads of a process may be inside: the last one out restores.
    """
    global _inside, _limits
    with _lock:
        if _inside == 0:
            _limits = need("threadpoolctl", "experiments").threadpool_limits(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limits.restore_original_limits()
