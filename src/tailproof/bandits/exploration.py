"""Which arm `Bandit` plays next: upper confidence bounds, or draws where arms have coordinates.

Labels: the arm with the largest upper confidence bound

    m_i + 0.75 explore s_i sqrt( 2 ln+ (t / n_i) ),    n_i = payoffs of i + e_i / tau^2,

is played, where m_i is the posterior mean, tau^2 the variance of the prior that arms share, e_i the
variance of a payoff and t the number of all payoffs (`_compiled.arm_statistics.best_bound`). The
logarithm of t / n_i rather than t is that of KL-UCB+ (Garivier & Cappe 2011) and of Kaufmann's
"On Bayesian index policies for sequential resource allocation", 2018. Payoffs that were asked for
and are still to come count in s_i and n_i, so that several arms are asked at once.

In s_i and n_i, e_i is the mean of the arm's own variance and of the larger of this and that of the
pooled payoffs, truncated to the same share: an arm whose few payoffs happen to be small looks
certain under laws whose deviation grows with the mean, and would not be tried again. What speaks
against an arm is partly judged by how it would vary if it were as good as the others.

Coordinates and given similarities: Thompson sampling, a joint draw mean + factor std z of all arms.
The factor is `explore` while at most CROWD arms compete. With k > CROWD competitors and t payoffs
it is

    explore min( 1, max( (CROWD / k)^CROWD_POWER, (t / (PATIENCE k))^PATIENCE_POWER ) ):

while there are few payoffs for each competitor, finding a good arm soon is worth more than finding
the best one; with many, arms that were dropped too early would cost more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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


def draw_width(competitors: float, payoffs: int) -> float:
    """Return the factor of the standard deviation in draws of exploration, for `explore` = 1.

    Examples
    --------
    >>> draw_width(4, 100), round(draw_width(64, 1_000), 2), draw_width(64, 64_000)
    (1.0, 0.35, 1.0)
    """
    k = max(competitors, 1.0)
    crowded = (CROWD / k) ** CROWD_POWER
    return min(1.0, max(crowded, (payoffs / (PATIENCE * k)) ** PATIENCE_POWER))


def count_competitors(statistics: ArmStatistics, prior: KernelPrior, active: Flags) -> float:
    """Return how many different active arms to explore have mean + 2 std above the best mean."""
    mean, std = prior.posterior(statistics)
    return float(compiled.count_competitors(mean, std, active, 2.0)) * prior.distinct_share


def best_bound(
    statistics: ArmStatistics, active: Flags, pending: NDArray[np.int64], explore: float
) -> int:
    """Return the arm to explore: the active one with the largest upper confidence bound."""
    s = statistics
    return int(compiled.best_bound(explore, pending, active, s.stats, s.shared, s.mean))


def draw_arm(
    statistics: ArmStatistics,
    prior: KernelPrior,
    active: Flags,
    factor: float,
    rng: np.random.Generator,
) -> int:
    """Return the arm to explore: the best active one of a joint draw, its spread times `factor`."""
    scores = prior.draw(statistics, rng, factor)
    scores[~active] = -np.inf
    return int(scores.argmax())
