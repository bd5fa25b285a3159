r"""Posterior of arms from their statistics, and which arm has the largest upper confidence bound.

The statistics are those of `_compiled.arm_statistics`; `bandits.exploration` describes the bounds.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tailproof._compiled.arm_statistics import (
    CLOCK,
    DECAY,
    MEAN,
    NOISE,
    PRIOR_MEAN,
    PRIOR_VARIANCE,
    PRIOR_WORTH,
    RATE,
    RATE_WORTH,
    SYSTEMATIC,
    TIE,
    TOLD_AT,
    TRIALS,
    TYPICAL,
    TYPICAL_NOISE,
    WEIGHT,
)

EXPLORE = 0.75  # width of the upper confidence bounds, where 1 would be that of a theorem
RATE_RANGE, RATE_STEPS = (0.02, 3.0), 48  # relative deviations of rates in `rate_prior`
RATE_SCALE = 0.5  # of the half-Cauchy prior of the relative deviation
LEAST_WORTH = 1e-3
RATE_ENDS = 1e-9  # a rate is this far from 0 and 1
CROWD, WORTHS, PATIENCE_POWER = 6.0, 10.0, 0.25  # of `patience`


@njit(cache=True)
def patience(arms, payoffs, prior_worth):  # type: ignore[no-untyped-def]
    """Factor of the squared width of bounds, below 1 while there are few payoffs for many arms."""
    by_payoffs = payoffs / (arms * prior_worth * WORTHS)
    return min(1.0, max(CROWD / arms, by_payoffs) ** PATIENCE_POWER)


@njit(cache=True)
def rate_prior(hits, trials):  # type: ignore[no-untyped-def]
    """Mean p and concentration a of the law Beta(a p, a (1 - p)) of the arms' rates.

    hits[i] of trials[i] payoffs of arm i differ from the tie (weights, not whole numbers). For each
    of RATE_STEPS concentrations p is the mean of hits / trials, at weights trials / (1 + trials/a).
    The relative deviation of the rates, sqrt((1 - p) / (p (a + 1))), has a half-Cauchy prior, and a
    is such that its square is its posterior mean: as for the means
    (`arm_statistics.variance_between`), a point estimate would often be 0. The likelihood is the
    beta-binomial one: arms with few payoffs, none of which differs, are no sign of other rates.
    """
    overall = min(max(hits.sum() / trials.sum(), RATE_ENDS), 1.0 - RATE_ENDS)
    first, last = math.log(RATE_RANGE[0]), math.log(RATE_RANGE[1])
    rates = np.empty(RATE_STEPS)
    squares = np.empty(RATE_STEPS)
    scores = np.empty(RATE_STEPS)
    for j in range(RATE_STEPS):
        ratio = math.exp(first + (last - first) * j / (RATE_STEPS - 1.0))
        a = max((1.0 - overall) / overall / ratio**2 - 1.0, LEAST_WORTH)
        p = 0.0
        weights = 0.0
        for i in range(hits.size):
            weight = 1.0 / (1.0 + trials[i] / a)
            weights += trials[i] * weight
            p += hits[i] * weight
        p = min(max(p / weights, RATE_ENDS), 1.0 - RATE_ENDS)
        score = math.log(ratio / (1.0 + (ratio / RATE_SCALE) ** 2))
        b, c = a * p, a * (1.0 - p)
        common = math.lgamma(a) - math.lgamma(b) - math.lgamma(c)
        for i in range(hits.size):
            score += common + math.lgamma(b + hits[i]) - math.lgamma(a + trials[i])
            score += math.lgamma(c + trials[i] - hits[i])
        rates[j], squares[j], scores[j] = p, ratio * ratio, score
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    square = (shares * squares).sum()
    p = (shares * rates).sum()
    return p, max((1.0 - p) / p / square - 1.0, LEAST_WORTH)


@njit(cache=True)
def split_moments(row, shared, kept, more, judged):  # type: ignore[no-untyped-def]
    """Mean and variance of an arm whose payoffs are split, noise and prior variance.

    The arm's mean is tie + p (m - tie): p, how often a payoff differs from the tie, has a beta
    posterior, and m, the mean of those which do, an independent normal one. `kept` is the share of
    its weight that an arm has kept, `more` the number of further payoffs that count as told;
    `judged` says whether variances are those by which bounds are judged.
    """
    trials, weight = kept * row[TRIALS], kept * row[WEIGHT]
    worth, rate = shared[RATE_WORTH], shared[RATE]
    p = (worth * rate + weight) / (worth + trials)
    noise_of_p = p * (1.0 - p)
    if judged:
        noise_of_p = max(noise_of_p, rate * (1.0 - rate))
    p_variance = noise_of_p / (worth + trials + more + 1.0)
    m, m_variance = row[PRIOR_MEAN], row[PRIOR_VARIANCE]
    noise_of_m = shared[TYPICAL_NOISE]
    if weight > 0.0:
        noise_of_m = row[NOISE]
        if judged:
            noise_of_m += 0.5 * max(row[TYPICAL] - row[NOISE], 0.0)
        error = noise_of_m / weight + row[SYSTEMATIC]
        m += m_variance / (m_variance + error) * (row[MEAN] - m)
        error = noise_of_m / (weight + more * p) + row[SYSTEMATIC]
        m_variance *= error / (m_variance + error)
    elif more > 0.0:
        error = noise_of_m / (more * p)
        m_variance *= error / (m_variance + error)
    size = m - shared[TIE]
    mean = shared[TIE] + p * size
    variance = p * p * m_variance + size * size * p_variance + p_variance * m_variance
    noise = p * noise_of_m + size * size * noise_of_p
    prior = p * p * row[PRIOR_VARIANCE] + size * size * rate * (1.0 - rate) / (worth + 1.0)
    return mean, variance, noise, prior


@njit(cache=True)
def posterior(arms, stats, shared, mean, std):  # type: ignore[no-untyped-def]
    """Write posterior mean and standard deviation of the given arms under their normal priors."""
    split = shared[TIE] == shared[TIE]  # not nan
    for arm in arms:
        row = stats[arm]
        kept = math.exp(-shared[DECAY] * (shared[CLOCK] - row[TOLD_AT]))
        if split:
            mean[arm], variance, _, _ = split_moments(row, shared, kept, 0.0, False)
            std[arm] = math.sqrt(variance)
            continue
        prior = row[PRIOR_VARIANCE]
        weight = row[WEIGHT] * kept
        if weight > 0.0:
            noise = row[NOISE] / weight + row[SYSTEMATIC]
            share = prior / (prior + noise)
            mean[arm] = row[PRIOR_MEAN] + share * (row[MEAN] - row[PRIOR_MEAN])
            std[arm] = math.sqrt(share * noise)
        else:
            mean[arm] = row[PRIOR_MEAN]
            std[arm] = math.sqrt(prior)


@njit(cache=True)
def best_bound(explore, pending, active, stats, shared, mean):  # type: ignore[no-untyped-def]
    """Return the active arm with the largest upper confidence bound (see `bandits.exploration`).

    mean_i + c s_i sqrt(2 ln+(t / n_i)), c = explore EXPLORE, t the total weight of all payoffs, n_i
    that of the arm with its pending ones and with the payoffs that the prior is worth, s_i its
    posterior deviation if its noise were half its own and half the larger of this and TYPICAL.
    """
    decay, clock = shared[DECAY], shared[CLOCK]
    rounds = 1.0 + (clock if decay == 0.0 else -math.expm1(-decay * clock) / decay)
    split = shared[TIE] == shared[TIE]
    best = -np.inf
    chosen = -1
    untold = -np.inf  # the bound of arms without payoffs, which have one prior
    # ln x <= x / near - 1 + ln near leaves out most arms without a logarithm: near is the last x.
    near, log_near = rounds, math.log(rounds)
    first = -1  # the arm with the largest mean, so that the others are compared with it
    k = 0
    for i in range(mean.size):
        if active[i]:
            k += 1
            if first < 0 or mean[i] > mean[first]:
                first = i
    width = 2.0 * (explore * EXPLORE) ** 2 * patience(k, rounds, shared[PRIOR_WORTH])
    for k in range(-1, mean.size):
        i = first if k < 0 else k
        if i < 0 or not active[i] or i == chosen:
            continue
        row = stats[i]
        weight = pending[i] + row[TRIALS]
        kept = 1.0
        if decay > 0.0:
            kept = math.exp(-decay * (clock - row[TOLD_AT]))
            weight = pending[i] + row[TRIALS] * kept
        variance = row[PRIOR_VARIANCE]
        count = 1.0
        if weight > 0.0:
            if split:
                _, variance, noise, prior = split_moments(row, shared, kept, pending[i], True)
                count = max(weight + noise / prior, 1.0)
            else:
                noise = row[NOISE] + 0.5 * max(row[TYPICAL] - row[NOISE], 0.0)
                if row[WEIGHT] == 0.0:
                    noise = shared[TYPICAL_NOISE]
                error = noise / weight + row[SYSTEMATIC]
                count = max(weight + noise / variance, 1.0)
                variance *= error / (variance + error)
            gap = best - mean[i]
            most = rounds / count / near - 1.0 + log_near
            if gap > 0.0 and gap * gap >= width * variance * max(most, 0.0):
                continue
        elif untold > -np.inf:
            continue
        elif split:
            _, variance, noise, prior = split_moments(row, shared, kept, 0.0, True)
            count = max(noise / prior, 1.0)
        else:
            count = max(shared[TYPICAL_NOISE] / variance, 1.0)
        near = max(rounds / count, 1.0)
        log_near = math.log(near)
        score = mean[i] + math.sqrt(width * variance * log_near)
        if weight == 0.0:
            untold = score
        if score > best:
            best = score
            chosen = i
    return chosen


@njit(cache=True)
def contenders(mean, std, active, reach):  # type: ignore[no-untyped-def]
    """Arms whose mean + reach std is at least the best mean - reach std: the others cannot win."""
    n = mean.size
    bar = -np.inf
    for i in range(n):
        if active[i]:
            bar = max(bar, mean[i] - reach * std[i])
    result = np.empty(n, dtype=np.int64)
    k = 0
    for i in range(n):
        if active[i] and mean[i] + reach * std[i] >= bar:
            result[k] = i
            k += 1
    return result[:k]
