"""Which arm `Bandit` plays next: the one with the largest upper confidence bound.

Labels:

    m_i + 0.75 explore s_i sqrt( 2 h ln+ (t / n_i) ),    n_i = payoffs of i + e_i / tau^2,

where m_i is the posterior mean, tau^2 the variance of the prior that arms share, e_i the variance
of a payoff and t the number of all payoffs (`_compiled.arm_choice.best_bound`). The logarithm of
t / n_i rather than t is that of KL-UCB+ (Garivier & Cappe 2011) and of Kaufmann's "On Bayesian
index policies for sequential resource allocation", 2018. Payoffs that were asked for and are still
to come count in s_i and n_i, so that several arms are asked at once.

In s_i and n_i, e_i is the mean of the arm's own variance and of the larger of this and that of the
pooled payoffs, truncated to the same share: an arm whose few payoffs happen to be small looks
certain under laws whose deviation grows with the mean, and would not be tried again. What speaks
against an arm is partly judged by how it would vary if it were as good as the others.

The factor h is 1 for up to 6 arms. For k > 6 arms it is

    h = min( 1, max( 6 / k, t / (10 k n_0) )^(1/4) ),    n_0 = payoffs that the prior is worth

(`_compiled.arm_choice.patience`): while there are few payoffs for each of many arms, to find a good
arm soon is worth more than to find the best one; with many payoffs, arms that were dropped too
early would cost more.

Coordinates and given similarities: the same with the posterior of the kernel prior, h = 1, and
ln(1 + t / n_i) with n_i = e / s_i^2, the payoffs that an arm alone would need to be known as well;
these may exceed t.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailproof._compiled import arm_choice as choice
from tailproof._compiled import arm_statistics as compiled
from tailproof.bandits.arm_statistics import ArmStatistics
from tailproof.bandits.kernel_prior import KernelPrior

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

DESIGN_ARMS, DESIGN_PAYOFFS = 12, 2  # arms played first, and how often
KERNEL_DESIGN_ARMS = 6  # fewer where arms tell of each other
REACH = 6.0  # standard deviations beyond which no draw is made


def best_bound(
    statistics: ArmStatistics, active: Flags, pending: NDArray[np.int64], explore: float
) -> int:
    """Return the arm to explore: the active one with the largest upper confidence bound."""
    s = statistics
    return int(choice.best_bound(explore, pending, active, s.stats, s.shared, s.mean))


def best_bound_of_curve(
    statistics: ArmStatistics,
    prior: KernelPrior,
    active: Flags,
    pending: NDArray[np.int64],
    explore: float,
) -> int:
    """Return the active arm with the largest upper confidence bound under a kernel prior."""
    mean, std = prior.posterior(statistics, pending)
    noise = statistics.shared[compiled.TYPICAL_NOISE]
    told = statistics.effective.sum() + pending.sum() + 1.0
    log = np.log1p(told * std**2 / max(noise, 1e-300))
    scores = mean + explore * choice.EXPLORE * std * np.sqrt(2.0 * log)
    scores[~active] = -np.inf
    return int(scores.argmax())
