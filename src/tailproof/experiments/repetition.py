"""One run: a policy plays one repetition of a panel's problem for all rounds."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._util.threads import single_thread
from tailproof.bandits.arm_optimizer import ArmOptimizer
from tailproof.environments import ArmEnvironment
from tailproof.experiments.plan import Task
from tailproof.experiments.policies import POLICIES, build
from tailproof.experiments.problems import LowerBound, Spiked


class CommonPayoffs:
    """Payoffs by arm and round from common random numbers: a round draws the same for every arm.

    Policies that play the same repetition meet the same noise, whichever arms they choose. An
    arm's payoffs are drawn for all rounds when it is first played.
    """

    def __init__(
        self, environment: ArmEnvironment, rounds: int, sequence: np.random.SeedSequence
    ) -> None:
        """Prepare the payoffs that all policies have in common in a repetition."""
        self._environment, self._rounds, self._sequence = environment, rounds, sequence
        self._drawn: dict[int, memoryview] = {}

    def of(self, arm: int) -> memoryview:
        """Return the arm's payoff in every round of a repetition, common to all policies."""
        payoffs = self._drawn.get(arm)
        if payoffs is None:
            rng = np.random.default_rng(self._sequence)
            arms = np.full(self._rounds, arm)
            # The entries of a view are floats, and it takes a quarter of the memory of a list.
            payoffs = self._drawn[arm] = self._environment.sample(arms, rng).data
        return payoffs


def play(
    optimizer: ArmOptimizer, payoffs: CommonPayoffs, rounds: int, *, first: int | None = None
) -> NDArray[np.int64]:
    """Play a repetition by ask and tell for `rounds` rounds; return the arms played, (rounds,).

    `first` is played in the first round instead of what the policy asks for.
    """
    played = np.empty(rounds, dtype=np.int64)
    for t in range(rounds):
        arm = optimizer.ask_index() if t > 0 or first is None else first
        optimizer.tell_index(arm, payoffs.of(arm)[t])
        played[t] = arm
    return played


def run_repetition(task: Task) -> dict[str, Any]:
    """Do one repetition on one thread and return its record, ready for JSON.

    The record has the regret per round at the recorded rounds, beta of the last round, the wall
    and processor time of the rounds and, in panel f, the final mean and standard deviation of
    every arm. On one thread, since sums in another order would change the last digits.
    """
    panel, policy = task.panel, POLICIES[task.policy]
    if isinstance(panel.source, LowerBound):
        return _run_horizons(task, panel.source)
    source, rounds = panel.source, panel.rounds
    if isinstance(source, Spiked):
        source = dataclasses.replace(source, redrawn=policy.redrawn)
    with single_thread():
        problem = source.problem(task.generator)
        optimizer = build(policy, problem, panel.nodes, rounds, task.sequence("policy"))
        first = None
        if policy.schedule == "ln t":
            first = int(task.generator("first arm").integers(len(problem.space)))
        payoffs = CommonPayoffs(problem.environment, rounds, task.sequence("noise"))
        wall, cpu = time.perf_counter(), time.thread_time()
        played = play(optimizer, payoffs, rounds, first=first)
        wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
        prediction = optimizer.predict()
    regret = np.cumsum(problem.gap[played])[panel.recorded_rounds - 1] / panel.recorded_rounds
    record: dict[str, Any] = {
        "regret_per_round": regret.tolist(),
        "beta": prediction.beta,
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


def _run_horizons(task: Task, source: LowerBound) -> dict[str, Any]:
    """Do one repetition of panel g: a run at every horizon, on the instance made for it."""
    panel, policy = task.panel, POLICIES[task.policy]
    regret, beta = [], 0.0
    wall = cpu = 0.0
    with single_thread():
        for horizon in panel.recorded_rounds.tolist():

            def sequence(purpose: str, horizon: int = horizon) -> np.random.SeedSequence:
                return np.random.SeedSequence([*task.entropy(purpose), horizon])

            problem = source.problem_at(horizon, lambda p: np.random.default_rng(sequence(p)))
            optimizer = build(policy, problem, panel.nodes, horizon, sequence("policy"))
            payoffs = CommonPayoffs(problem.environment, horizon, sequence("noise"))
            first = None
            if policy.schedule == "ln t":
                draws = np.random.default_rng(sequence("first arm"))
                first = int(draws.integers(len(problem.space)))
            began_wall, began_cpu = time.perf_counter(), time.thread_time()
            played = play(optimizer, payoffs, horizon, first=first)
            wall += time.perf_counter() - began_wall
            cpu += time.thread_time() - began_cpu
            regret.append(float(problem.gap[played].sum()) / horizon)
            beta = optimizer.beta
    return {"regret_per_round": regret, "beta": beta, "seconds": wall, "cpu_seconds": cpu}
