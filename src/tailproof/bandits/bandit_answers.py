"""Means, intervals and probabilities of being best that `Bandit` answers with.

`statistics` holds payoffs of which the larger ones are better; `sign` is -1 where the user's
payoffs are minimized, so that sign times a mean is in the user's units.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tailproof._compiled import arm_statistics as compiled
from tailproof.bandits.arm_statistics import ArmStatistics
from tailproof.bandits.exploration import REACH
from tailproof.bandits.kernel_prior import KernelPrior
from tailproof.means.one_sample import sample_interval

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

LEAST_OWN_PAYOFFS = 10  # from here on an arm's mean and interval are made of its own payoffs
_DRAWS_AT_ONCE = 2_000_000


def posterior(statistics: ArmStatistics, prior: KernelPrior | None) -> tuple[Array, Array]:
    """Answer with posterior mean and standard deviation of all arms, (n,), larger is better."""
    if prior is not None:
        return prior.posterior(statistics)
    if statistics.half_life is not None:  # older arms have become less certain since their update
        return statistics.posterior_now()
    return statistics.mean, statistics.std


def best_probabilities(
    statistics: ArmStatistics, prior: KernelPrior | None, active: Flags, draws: int
) -> Array:
    """Answer with the share of `draws` posterior draws in which each arm is best, (n,)."""
    rng = np.random.default_rng(0)
    wins = np.zeros(len(active))
    if not active.any() or not statistics.log.count:
        return np.asarray(active / max(int(active.sum()), 1))
    if prior is not None:
        for _ in range(draws):
            scores = prior.draw(statistics, rng, 1.0)
            scores[~active] = -np.inf
            wins[scores.argmax()] += 1.0
        return wins / draws
    mean, std = posterior(statistics, prior)
    arms = compiled.contenders(mean, std, active, REACH)
    rows = max(1, _DRAWS_AT_ONCE // arms.size)
    for start in range(0, draws, rows):
        size = (min(rows, draws - start), arms.size)
        scores = mean[arms] + std[arms] * rng.standard_normal(size)
        np.add.at(wins, arms[scores.argmax(axis=1)], 1.0)
    return wins / draws


def estimates(
    statistics: ArmStatistics, prior: KernelPrior | None, sign: float, level: float
) -> tuple[Array, Array, Array]:
    """Answer with mean, lower and upper end of every arm, (n,) each, in the user's units."""
    mean, lower, upper = _posterior_interval(statistics, prior, sign, level)
    for arm, payoffs in _payoffs_by_arm(statistics):
        mean[arm], lower[arm], upper[arm] = _own_interval(
            statistics, sign * payoffs, sign, level, (mean[arm], lower[arm], upper[arm])
        )
    return mean, lower, upper


def estimate(
    statistics: ArmStatistics, prior: KernelPrior | None, sign: float, level: float, arm: int
) -> tuple[float, float, float]:
    """Answer with mean, lower and upper end of one arm, those of `estimates`."""
    mean, lower, upper = _posterior_interval(statistics, prior, sign, level)
    ends = float(mean[arm]), float(lower[arm]), float(upper[arm])
    if statistics.counts[arm] < LEAST_OWN_PAYOFFS:
        return ends
    return _own_interval(statistics, sign * statistics.arm_payoffs(arm), sign, level, ends)


def _posterior_interval(
    statistics: ArmStatistics, prior: KernelPrior | None, sign: float, level: float
) -> tuple[Array, Array, Array]:
    """Answer by the posterior alone: mean, lower and upper end of every arm, the user's units."""
    mean, std = posterior(statistics, prior)
    mean, half = sign * mean, float(ndtri(0.5 + 0.5 * level)) * std
    return mean, mean - half, mean + half


def _payoffs_by_arm(statistics: ArmStatistics) -> Iterator[tuple[int, Array]]:
    """Yield the arms whose answers rest on their own payoffs, and these."""
    log, counts = statistics.log, statistics.counts.astype(np.int64)
    order = np.argsort(log.arms, kind="stable")
    ends = np.cumsum(counts)
    for arm in np.flatnonzero(counts >= LEAST_OWN_PAYOFFS).tolist():
        yield arm, log.payoffs[order[ends[arm] - counts[arm] : ends[arm]]]


def _own_interval(
    statistics: ArmStatistics,
    payoffs: Array,
    sign: float,
    level: float,
    posterior_ends: tuple[float, float, float],
) -> tuple[float, float, float]:
    """Answer from an arm's payoffs, given the posterior's ends: mean, lower and upper end."""
    if statistics.half_life is not None:
        return posterior_ends
    own, interval = sample_interval(payoffs, level)
    apart = (sign * payoffs != statistics.shared[compiled.ATOM]).sum()
    if apart >= LEAST_OWN_PAYOFFS:
        return own, interval.lower, interval.upper
    mean, lower, upper = posterior_ends
    return mean, min(lower, interval.lower), max(upper, interval.upper)
