r"""The practical interval of one sample's mean: that of `robust_mean`, longer on the heavier side.

Beyond the truncation tau a law with a Pareto tail of index a above a threshold u has the mean

    E (y - c - tau)_+  =  P(y - c > u) (u / tau)^a  tau / (a - 1),

most of which a sample seldom shows: under infinite variance the interval of the sample alone is too
short on the side of the longer tail. We estimate this on both sides from the largest deviations
(Hill's estimator, a at least 1.35) and move the end of the heavier side out by 3/4 of the
difference. The tail is 5 % of the payoffs that differ from the most common one: of payoffs that are
mostly zero, 5 % of all would be most of the others, which are no tail. Under light or symmetric
tails the difference is next to nothing. No theorem covers it; the coverage is measured by
benchmarks/bandit_coverage.py. At level 0.9 and with 200 payoffs it held the mean in 89 % of 600
samples of a Gaussian, 90 % of a t(2.1), 87 % of a log-normal (sigma 2), 91 % of a Pareto(2.5) and
85 % of a Pareto(1.5) law, and, of exponential payoffs that are seldom not zero, in 94 % (5 in 100)
and 81 % (1 in 100: two payoffs in a sample).

Differences between two samples do without it: between laws of similar shape both tails cancel.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tailproof.means.intervals import Interval
from tailproof.means.pareto_tail import mean_beyond
from tailproof.means.robust import robust_mean

Array = NDArray[np.float64]

TAIL_SHARE, LEAST_TAIL = 0.05, 5  # payoffs from which a tail index is estimated
LEAST_INDEX = 1.35
NET_SHARE = 0.75


def hidden_mean(deviations: Array, truncation: float, varied: int | None = None) -> float:
    """Return the estimate of E[(deviation - truncation)_+] on one side of a sample, at least 0.

    Where nothing was truncated, what lies beyond the largest deviation is estimated.
    `varied` is the number of payoffs that differ from the most common one; None: all.

    Examples
    --------
    >>> y = (np.arange(1000) + 0.5) / 1000
    >>> round(hidden_mean(y ** (-1 / 1.5), 50.0), 2)  # Pareto(1.5): 2 / sqrt(50)
    0.29
    """
    n = deviations.size
    k = max(LEAST_TAIL, int(TAIL_SHARE * (n if varied is None else varied)))
    top = np.sort(deviations[deviations > 0.0])[-(k + 1) :]
    if top.size < LEAST_TAIL:
        return 0.0
    bound = truncation if math.isfinite(truncation) else float(top[-1])
    return mean_beyond(top, (top.size - 1) / n, max(bound, float(top[0])), LEAST_INDEX)


def sample_interval(y: Array, level: float) -> tuple[float, Interval]:
    """Return the robust mean of one sample y (n,), n >= 2, and its practical interval.

    Examples
    --------
    >>> y = np.random.default_rng(0).pareto(1.7, 1000)  # mean 1 / 0.7 = 1.43
    >>> mean, interval = sample_interval(y, 0.9)
    >>> print(f"{mean:.2f}, {interval.lower:.2f} to {interval.upper:.2f}")
    1.50, 1.20 to 2.11
    """
    estimate = robust_mean(y)
    interval = estimate.interval(level)
    deviations = y - estimate.mean
    repeats = int(np.unique(y, return_counts=True)[1].max())
    varied = y.size - (repeats if repeats > 1 else 0)
    tau = estimate.truncation
    net = hidden_mean(deviations, tau, varied) - hidden_mean(-deviations, tau, varied)
    return estimate.mean, Interval(
        interval.lower + NET_SHARE * min(net, 0.0),
        interval.upper + NET_SHARE * max(net, 0.0),
        level,
    )
