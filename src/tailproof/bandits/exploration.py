"""Which arm `Bandit` plays next: a draw from the posterior of the arms' means, and its width.

Thompson sampling draws a value for every arm, mean + factor std z with z standard normal, and plays
the arm with the largest one. The factor is `explore` while at most CROWD arms compete. With
k > CROWD competitors and t payoffs it is

    explore min( 1, max( (CROWD / k)^CROWD_POWER, (t / (PATIENCE k))^PATIENCE_POWER ) ):

while there are few payoffs for each competitor, finding a good arm soon is worth more than finding
the best one; with many, arms that were dropped too early would cost more.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tailproof._compiled import arm_statistics as compiled
from tailproof.bandits.arm_statistics import ArmStatistics
from tailproof.bandits.kernel_prior import KernelPrior

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

DESIGN_ARMS, DESIGN_PAYOFFS = 12, 2  # arms played first, and how often
KERNEL_DESIGN_ARMS = 6  # fewer where arms tell of each other
CROWD, CROWD_POWER = 4.0, 0.4
PATIENCE, PATIENCE_POWER = 1_000.0, 0.25
REACH = 6.0  # standard deviations beyond which no draw is made
_SINGLE_PRECISION_FROM = 4096  # draws; they cost half in single precision
_FEW_UNPLAYED = 64


def draw_width(competitors: float, payoffs: int) -> float:
    """Return the factor of the posterior standard deviation in draws, for `explore` = 1.

    Examples
    --------
    >>> draw_width(4, 100), round(draw_width(64, 1_000), 2), draw_width(64, 64_000)
    (1.0, 0.35, 1.0)
    """
    k = max(competitors, 1.0)
    crowded = (CROWD / k) ** CROWD_POWER
    return min(1.0, max(crowded, (payoffs / (PATIENCE * k)) ** PATIENCE_POWER))


def count_competitors(statistics: ArmStatistics, prior: KernelPrior | None, active: Flags) -> float:
    """Return how many different active arms have mean + 2 std above the best mean."""
    if prior is None:
        return float(compiled.count_competitors(statistics.mean, statistics.std, active, 2.0))
    mean, std = prior.posterior(statistics)
    return float(compiled.count_competitors(mean, std, active, 2.0)) * prior.distinct_share


def draw_arm(
    statistics: ArmStatistics,
    prior: KernelPrior | None,
    active: Flags,
    factor: float,
    rng: np.random.Generator,
) -> int:
    """Return the best active arm of one draw from the posterior, its spread times `factor`."""
    if prior is not None:
        scores = prior.draw(statistics, rng, factor)
        scores[~active] = -np.inf
        return int(scores.argmax())
    s = statistics
    unplayed = _unplayed_arms(s, active)
    reach = factor * REACH
    if len(unplayed) <= _FEW_UNPLAYED:
        arms = compiled.contenders(s.mean, s.std, active, reach)
        return int(compiled.best_draw(arms, s.mean, s.std, factor, _normal(rng, arms.size)))
    # Arms without payoffs have the same prior: the largest of k draws is one draw.
    played = active.copy()
    played[unplayed] = False
    largest = float(ndtri(rng.random() ** (1.0 / len(unplayed))))
    best = int(unplayed[rng.integers(len(unplayed))])
    score = s.prior_mean + factor * math.sqrt(s.prior_variance) * min(largest, REACH)
    if not played.any():
        return best
    arms = compiled.contenders(s.mean, s.std, played, reach)
    draws = _normal(rng, arms.size)
    arm = int(compiled.best_draw(arms, s.mean, s.std, factor, draws))
    drawn = s.mean[arm] + factor * s.std[arm] * draws[np.searchsorted(arms, arm)]
    return arm if drawn >= score else best


def _unplayed_arms(s: ArmStatistics, active: Flags) -> NDArray[np.int64]:
    if s.log.count >= 4 * len(active):
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(active & (s.counts == 0.0))


def _normal(rng: np.random.Generator, count: int) -> Array:
    dtype = np.float32 if count >= _SINGLE_PRECISION_FROM else np.float64
    return np.asarray(rng.standard_normal(count, dtype=dtype), dtype=np.float64)
