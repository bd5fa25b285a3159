"""Rival policies as compiled loops: a whole run at a time, cumulative regret after every round.

UCB1, Thompson sampling and epsilon-greedy follow mabwiser 2.7 with its defaults (alpha = 1,
Beta(1, 1) on payoffs made binary, epsilon = 0.1), after one payoff of every arm;
tests/benchmarks/bandit compares them with mabwiser itself. The robust ones follow Bubeck,
Cesa-Bianchi & Lugosi, "Bandits with heavy tail", IEEE Transactions on Information Theory 59, 2013,
and are told the moment: E|payoff|^(1 + e) <= u for truncation, E|payoff - mean|^(1 + e) <= v for
the median of means.
"""

# ruff: noqa: NPY002 -- numba's own generator is the legacy one
from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True)
def _payoff(kind, mean, z):
    if kind == 0:
        return mean + z
    if kind == 1:
        return mean * z
    if kind == 3:
        return math.exp(z * math.sqrt(2.0 * (1.0 + math.log(mean))) - 1.0)
    return 1.0 if z < mean else 0.0


@njit(cache=True)
def ucb1(kind, means, noise, alpha):
    """Mean + alpha sqrt(2 ln t / n)."""
    k, best = means.size, means.max()
    sums, counts, regret = np.zeros(k), np.zeros(k), np.empty(noise.size)
    total = 0.0
    for t in range(noise.size):
        arm = t
        if t >= k:
            score, log = -np.inf, 2.0 * math.log(t)
            for i in range(k):
                s = sums[i] / counts[i] + alpha * math.sqrt(log / counts[i])
                if s > score:
                    score, arm = s, i
        sums[arm] += _payoff(kind, means[arm], noise[t])
        counts[arm] += 1.0
        total += best - means[arm]
        regret[t] = total
    return regret


@njit(cache=True)
def epsilon_greedy(kind, means, noise, epsilon, seed):
    """The best sample mean, or with probability epsilon any arm."""
    np.random.seed(seed)
    k, best = means.size, means.max()
    sums, counts, regret = np.zeros(k), np.zeros(k), np.empty(noise.size)
    total = 0.0
    for t in range(noise.size):
        arm = t
        if t >= k:
            if np.random.random() < epsilon:
                arm = np.random.randint(k)
            else:
                score = -np.inf
                for i in range(k):
                    if sums[i] / counts[i] > score:
                        score, arm = sums[i] / counts[i], i
        sums[arm] += _payoff(kind, means[arm], noise[t])
        counts[arm] += 1.0
        total += best - means[arm]
        regret[t] = total
    return regret


@njit(cache=True)
def thompson(kind, means, noise, threshold, seed):
    """Beta(1, 1) Thompson sampling on 1{payoff > threshold}."""
    np.random.seed(seed)
    k, best = means.size, means.max()
    wins, losses, regret = np.ones(k), np.ones(k), np.empty(noise.size)
    total = 0.0
    for t in range(noise.size):
        arm, score = 0, -np.inf
        for i in range(k):
            s = np.random.beta(wins[i], losses[i])
            if s > score:
                score, arm = s, i
        if _payoff(kind, means[arm], noise[t]) > threshold:
            wins[arm] += 1.0
        else:
            losses[arm] += 1.0
        total += best - means[arm]
        regret[t] = total
    return regret


@njit(cache=True)
def _truncated_mean(x, n, u, e, log):
    total = 0.0
    for i in range(n):
        if abs(x[i]) <= (u * (i + 1) / log) ** (1.0 / (1.0 + e)):
            total += x[i]
    return total / n


def truncated_ucb(kind, means, noise, u, e):
    """Robust UCB with the truncated mean: index + 4 u^(1/(1+e)) (ln t^2 / n)^(e/(1+e)).

    The means of arms that were not played are recomputed when ln t^2 has grown by 2 %, those of
    played ones also when their payoffs have grown by 1 %.
    """
    return _robust_ucb(kind, means, noise, u, e, 0)


@njit(cache=True)
def _median_of_means(x, n, blocks):
    size = n // blocks
    parts = np.empty(blocks)
    for b in range(blocks):
        parts[b] = x[b * size : (b + 1) * size].mean()
    return np.median(parts)


def median_of_means_ucb(kind, means, noise, v, e):
    """Robust UCB, median of means: index + (12 v)^(1/(1+e)) (16 ln(e^(1/8) t^2) / n)^(e/(1+e))."""
    return _robust_ucb(kind, means, noise, v, e, 1)


@njit(cache=True)
def _robust_ucb(kind, means, noise, moment, e, median):
    k, best = means.size, means.max()
    rounds = noise.size
    first, capacity = np.full(k, -1), np.zeros(k, dtype=np.int64)
    store = np.empty(4 * rounds + 64 * k)  # payoffs by arm, moved when their place is full
    used = 0
    counts, estimate = np.zeros(k, dtype=np.int64), np.zeros(k)
    due, at = np.zeros(k), np.zeros(k)
    regret = np.empty(rounds)
    total = 0.0
    for t in range(rounds):
        log = 2.0 * math.log(t + 1.0) if t > 0 else 1.0
        arm = t
        if t >= k:
            score = -np.inf
            for i in range(k):
                if log > 1.02 * at[i] and median == 0:
                    x = store[first[i] : first[i] + counts[i]]
                    estimate[i] = _truncated_mean(x, counts[i], moment, e, log)
                    at[i] = log
                if median == 1:
                    width = (12.0 * moment) ** (1.0 / (1.0 + e)) * (
                        16.0 * (0.125 + log) / counts[i]
                    ) ** (e / (1.0 + e))
                else:
                    width = 4.0 * moment ** (1.0 / (1.0 + e)) * (log / counts[i]) ** (e / (1.0 + e))
                s = estimate[i] + width
                if s > score:
                    score, arm = s, i
        n = counts[arm]
        if n == capacity[arm]:
            room = max(8, 2 * capacity[arm])
            store[used : used + n] = store[first[arm] : first[arm] + n]
            first[arm], capacity[arm] = used, room
            used += room
        store[first[arm] + n] = _payoff(kind, means[arm], noise[t])
        n += 1
        counts[arm] = n
        if n >= due[arm]:
            x = store[first[arm] : first[arm] + n]
            if median == 1:
                blocks = max(1, min(int(8.0 * (0.125 + log)), n // 2))
                estimate[arm] = _median_of_means(x, n, blocks)
            else:
                estimate[arm] = _truncated_mean(x, n, moment, e, max(log, 1.0))
                at[arm] = log
            due[arm] = 1.01 * n
        total += best - means[arm]
        regret[t] = total
    return regret
