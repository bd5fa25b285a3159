"""A run of `Bandit` in compiled loops, fifteen times as quick as asking and telling round by round.

Between two estimates of what the arms share, a round is a choice and an update of one arm. These
rounds are played by the library's own compiled functions in one loop, so that the arms chosen are
the same bit for bit (tests/benchmarks/bandit/test_play.py).
It holds for labels, without drift.

numba caches `_rounds` with the library's functions inside and does not notice when they change:
delete benchmarks/bandit/__pycache__ after a change of `_compiled/arm_statistics.py`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

import tailproof as tp
from bandit.problems import Problem
from bandit.rivals import _payoff
from tailproof._compiled import arm_choice as choice
from tailproof._compiled import arm_statistics as compiled

FIRST_ROUNDS = 60  # with arms that were not played, asked and told one by one


@njit(cache=True)
def _rounds(first, end, kind, means, noise, pending, active, explore, told, columns, last, state):
    """Play rounds first .. end - 1, all of them before the next estimate of what arms share."""
    previous, payoffs, stamps = columns
    stats, law, shared, mean, std = state
    one = np.empty(1, dtype=np.int64)
    for t in range(first, end):
        arm = choice.best_bound(explore, pending, active, stats, shared, mean)
        payoff = _payoff(kind, means[arm], noise[t])
        told[t], payoffs[t], stamps[t] = arm, payoff, t + 1.0
        shared[compiled.CLOCK] = t + 1.0
        compiled.add_payoff(arm, t, last, previous, payoffs, stamps, stats, law, shared)
        one[0] = arm
        if t + 1 < end:
            choice.posterior(one, stats, shared, mean, std)


def play(problem: Problem, seed: int) -> tp.Bandit:
    """Return the `Bandit` with this seed after all rounds of a problem."""
    rounds, arms = len(problem.noise), len(problem.means)
    bandit = tp.Bandit(list(range(arms)), seed=seed)
    s, log = bandit._statistics, bandit._statistics.log
    for t in range(min(rounds, max(FIRST_ROUNDS, 4 * arms))):
        arm = bandit.ask_index()
        bandit.tell_index(arm, problem.payoff(arm, t))
    log._reserve(rounds)
    while log.count < rounds:
        t, end = log.count, min(rounds, s.next_refresh)
        _rounds(
            *(t, end, problem.kind, problem.means, problem.noise, bandit._pending),
            *(bandit._active, bandit.explore, log._arms, log.columns, s.last),
            (s.stats, s.law, s.shared, s.mean, s.std),
        )
        log._sources[t:end] = log._own
        log.count, log.clock = end, float(end)
        if end >= s.next_refresh:
            s.refresh()
    return bandit


def arms_played(problem: Problem, seed: int) -> np.ndarray:
    """Return the arms that `Bandit` with this seed plays on a problem, (rounds,)."""
    return play(problem, seed)._statistics.log.arms.copy()
