"""Robust statistics of many arms: Huber means whose truncation level grows with the payoffs.

The log holds payoffs in the order of telling; `previous[t]` is the payoff of the same arm before
t, -1 for none, so that an arm's payoffs are a linked list that starts at `last[arm]`. A payoff of
age a has weight w = exp(-decay a), 1 without drift.

Rows of `stats` (n, COLUMNS) are arms, and columns what is named below. `law` (5, M) describes the
pooled residuals r of all arms on a grid of levels b:

    law[LEVEL] = b,  law[SHARE] = E[min(r^2 / b^2, 1)],  law[VARIANCE] = E[min(r^2, b^2)],
    law[INSIDE] = P(|r| < b),  law[HIDDEN] = E[clip(r, -b', b') - clip(r, -b, b)]

with b' the level that all residuals together are given. Without the last one, an arm with few
payoffs, whose level is low, would be judged too low under a skewed law, and never be tried again.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# Columns of `stats`.
WEIGHT, CENTER, CUT, CLIPPED, MEAN, NOISE, NEXT_FIT, COUNT, TOLD_AT, PRIOR_MEAN, PRIOR_VARIANCE = (
    range(11)
)
SHIFT, SYSTEMATIC = 11, 12  # correction of the truncation's bias, variance of what it leaves
TYPICAL = 13  # NOISE of the pooled law at the same share of truncated payoffs
COLUMNS = 14
# Rows of `law`.
LEVEL, SHARE, VARIANCE, INSIDE, HIDDEN = range(5)
# Entries of `shared`, what all arms have in common.
ATOM, ATOM_FREE, FACTOR, NOISE_FLOOR, CLOCK, DECAY, TYPICAL_NOISE = range(7)
SHARED = 7

PSEUDO_PAYOFFS = 8.0  # an arm's own law is joined by this many payoffs of the pooled law
VARIANCE_PSEUDO_PAYOFFS = 10.0  # and by this many more where its variance is estimated
LEAST_TARGET = 1.25  # above 1, so that a single payoff of any size can be truncated
LARGEST_SHARE = 0.2  # at most this share of the payoffs (away from the atom) is given to the level
HALF = 0.5  # of the pooled bias of truncation is added to a mean, and as much is its uncertainty
GROWTH = 1.2  # an arm is fitted anew when its payoffs have grown by this factor
FORGOTTEN = 1e-9  # payoffs of less weight are not visited
ITERATIONS = 4
TAU_RANGE, TAU_STEPS = (1e-3, 3.0), 40  # of the integral in `variance_between`, in ranges of means
EXPLORE = 0.75  # width of the upper confidence bounds, where 1 would be that of a theorem


@njit(cache=True)
def gather(last, previous, payoffs, stamps, arm, clock, decay, most, x, w):  # type: ignore[no-untyped-def]
    """Compiled: copy an arm's newest payoffs, at most `most`, with weights; return how many."""
    n = 0
    t = last[arm]
    while t >= 0 and n < most:
        weight = 1.0
        if decay > 0.0:
            weight = math.exp(-decay * (clock - stamps[t]))
            if weight < FORGOTTEN:
                break
        x[n] = payoffs[t]
        w[n] = weight
        n += 1
        t = previous[t]
    return n


@njit(cache=True)
def solve_level(x, w, n, center, law, target):  # type: ignore[no-untyped-def]
    """Compiled: index of the smallest level b of the grid that meets the target.

    sum_i w_i min((x_i - center)^2 / b^2, 1) + PSEUDO_PAYOFFS law[SHARE] <= target.
    """
    low = 0
    high = law.shape[1] - 1
    while low < high:
        middle = (low + high) // 2
        inverse = 1.0 / law[LEVEL, middle]
        total = PSEUDO_PAYOFFS * law[SHARE, middle]
        for i in range(n):
            ratio = min(abs(x[i] - center) * inverse, 1.0)
            total += w[i] * ratio * ratio
        if total <= target:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True)
def level_of_share(law, share):  # type: ignore[no-untyped-def]
    """Compiled: index of the smallest level b with law[SHARE] = E[min(r^2 / b^2, 1)] <= share."""
    low = 0
    high = law.shape[1] - 1
    while low < high:
        middle = (low + high) // 2
        if law[SHARE, middle] <= share:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True)
def huber_fit(x, w, n, start, prior_mean, prior_weight, law, shared, factor):  # type: ignore[no-untyped-def]
    """Compiled: Huber mean of weighted payoffs, its level by `solve_level`, shrunk to the prior.

    The center c solves sum_i w_i clip(x_i - c, -b, b) = prior_weight (c - prior_mean). The
    target of the level is factor ln(1 + m), at least LEAST_TARGET, at most LARGEST_SHARE m; m is
    the number of payoffs that differ from the atom. Returns c, b, the sum of clipped residuals,
    the total weight, the variance of one payoff's influence, E[clip(r)^2] / P(|r| < b)^2 (Huber
    1964), law[HIDDEN] at b, and that variance of the pooled law at the level with the same share.
    """
    total = 0.0
    free = PSEUDO_PAYOFFS * shared[ATOM_FREE]
    for i in range(n):
        total += w[i]
        if x[i] != shared[ATOM]:
            free += w[i]
    target = min(max(factor * math.log1p(free), LEAST_TARGET), LARGEST_SHARE * free)
    center = start
    at = law.shape[1] - 1
    for _ in range(ITERATIONS):
        at = solve_level(x, w, n, center, law, target)
        b = law[LEVEL, at]
        clipped = 0.0
        for i in range(n):
            clipped += w[i] * min(max(x[i] - center, -b), b)
        center += (clipped - prior_weight * (center - prior_mean)) / (total + prior_weight)
    b = law[LEVEL, at]
    clipped = 0.0
    squares = 0.0
    inside = 0.0
    for i in range(n):
        r = min(max(x[i] - center, -b), b)
        clipped += w[i] * r
        squares += w[i] * r * r
        if abs(r) < b:
            inside += w[i]
    if total > 1.5:
        squares *= total / (total - 1.0)
    pooled = PSEUDO_PAYOFFS + VARIANCE_PSEUDO_PAYOFFS
    variance = (squares + pooled * law[VARIANCE, at]) / (total + pooled)
    slope = (inside + PSEUDO_PAYOFFS * law[INSIDE, at]) / (total + PSEUDO_PAYOFFS)
    noise = max(variance / (slope * slope), shared[NOISE_FLOOR])
    same = level_of_share(law, target / (total + PSEUDO_PAYOFFS))
    typical = max(law[VARIANCE, same] / max(law[INSIDE, same], 0.1) ** 2, shared[NOISE_FLOOR])
    return center, b, clipped, total, noise, law[HIDDEN, at], typical


@njit(cache=True)
def fit_arms(arms, last, previous, payoffs, stamps, stats, law, shared):  # type: ignore[no-untyped-def]
    """Compiled: fit the statistics of the given arms anew, from their payoffs in the log."""
    most = 1
    for arm in arms:
        most = max(most, int(stats[arm, COUNT]))
    x = np.empty(most)
    w = np.empty(most)
    clock = shared[CLOCK]
    for arm in arms:
        row = stats[arm]
        n = gather(last, previous, payoffs, stamps, arm, clock, shared[DECAY], most, x, w)
        row[TOLD_AT] = clock
        row[NEXT_FIT] = math.ceil(GROWTH * row[COUNT])
        if n == 0:
            row[WEIGHT] = 0.0
            continue
        prior_weight = 0.0
        if row[PRIOR_VARIANCE] > 0.0 and row[NOISE] > 0.0:
            prior_weight = row[NOISE] / row[PRIOR_VARIANCE]
            start = (row[WEIGHT] * (row[MEAN] - row[SHIFT]) + prior_weight * row[PRIOR_MEAN]) / (
                row[WEIGHT] + prior_weight
            )
        else:
            start = np.median(x[:n])
        c, b, clipped, total, noise, hidden, typical = huber_fit(
            x, w, n, start, row[PRIOR_MEAN], prior_weight, law, shared, shared[FACTOR]
        )
        row[CENTER] = c
        row[CUT] = b
        row[CLIPPED] = clipped
        row[WEIGHT] = total
        row[NOISE] = noise
        row[TYPICAL] = typical
        row[SHIFT] = HALF * hidden
        row[SYSTEMATIC] = (HALF * hidden) ** 2
        row[MEAN] = c + clipped / total + row[SHIFT]


@njit(cache=True)
def add_payoff(arm, t, last, previous, payoffs, stamps, stats, law, shared):  # type: ignore[no-untyped-def]
    """Compiled: link payoff t of the log to its arm, update the arm, and fit it if that is due."""
    previous[t] = last[arm]
    last[arm] = t
    row = stats[arm]
    row[COUNT] += 1.0
    if row[COUNT] >= row[NEXT_FIT] or row[WEIGHT] == 0.0:
        one = np.empty(1, dtype=np.int64)
        one[0] = arm
        fit_arms(one, last, previous, payoffs, stamps, stats, law, shared)
        return
    clock = shared[CLOCK]
    kept = math.exp(-shared[DECAY] * (clock - row[TOLD_AT]))
    row[TOLD_AT] = clock
    row[WEIGHT] = kept * row[WEIGHT] + 1.0
    clipped = min(max(payoffs[t] - row[CENTER], -row[CUT]), row[CUT])
    row[CLIPPED] = kept * row[CLIPPED] + clipped
    row[MEAN] = row[CENTER] + row[CLIPPED] / row[WEIGHT] + row[SHIFT]


@njit(cache=True)
def link_payoffs(first, count, told_arms, last, previous, stats):  # type: ignore[no-untyped-def]
    """Compiled: link payoffs first .. count - 1 of the log to their arms, without fits."""
    for t in range(first, count):
        arm = told_arms[t]
        previous[t] = last[arm]
        last[arm] = t
        stats[arm, COUNT] += 1.0


@njit(cache=True)
def pooled_residuals(told_arms, payoffs, first, count, stride, center, leverage):  # type: ignore[no-untyped-def]
    """Compiled: residuals of every `stride`-th payoff from `first` on, of arms of leverage below 1.

    The variance of y - center is (1 - leverage) times that of a payoff, which is made up for.
    """
    result = np.empty((count - first) // stride + 1)
    n = 0
    for t in range(first, count, stride):
        arm = told_arms[t]
        if leverage[arm] < 1.0:
            result[n] = (payoffs[t] - center[arm]) / math.sqrt(1.0 - leverage[arm])
            n += 1
    return result[:n]


@njit(cache=True)
def pooled_law(residuals, levels, target):  # type: ignore[no-untyped-def]
    """Compiled: `law` (5, M) of residuals on a grid of levels; `target` is the pooled level's."""
    law = np.zeros((5, levels.size))
    n = residuals.size
    for j in range(levels.size):
        b = levels[j]
        share = 0.0
        inside = 0
        for i in range(n):
            ratio = min(abs(residuals[i]) / b, 1.0)
            share += ratio * ratio
            if ratio < 1.0:
                inside += 1
        law[LEVEL, j] = b
        law[SHARE, j] = share / n if n else 0.0
        law[VARIANCE, j] = law[SHARE, j] * b * b
        law[INSIDE, j] = inside / n if n else 1.0
    top = levels.size - 1
    while top > 0 and n * law[SHARE, top - 1] <= target:
        top -= 1
    for j in range(top):
        hidden = 0.0
        for i in range(n):
            far = min(max(residuals[i], -levels[top]), levels[top])
            hidden += far - min(max(far, -levels[j]), levels[j])
        law[HIDDEN, j] = hidden / n
    return law


@njit(cache=True)
def choose_factor(  # type: ignore[no-untyped-def]
    arms, last, previous, payoffs, stamps, stats, law, shared, factors, most
):
    """Compiled: return the factor with the least estimated error of arm means.

    factors[0], the largest level, is the reference: its means m_0 have little bias. A factor's
    means m have error e = E[v / n] plus the variance h between arms of their bias b, estimated as
    in Hausman (1978) from d = m_0 - m as E[(d - E d)^2] - E[(v_0 - v) / n]. A bias that all arms
    share does no harm. One standard error of h is added, so that a smaller level needs evidence.
    """
    k = arms.size
    reference = np.empty(k)
    reference_noise = np.empty(k)
    means = np.empty(k)
    x = np.empty(most)
    w = np.empty(most)
    best = 1.7e308
    chosen = factors[0]
    for j in range(factors.size):
        error = 0.0
        saved = 0.0
        weights = 0.0
        shift = 0.0
        for q in range(k):
            row = stats[arms[q]]
            n = gather(
                last, previous, payoffs, stamps, arms[q], shared[CLOCK], shared[DECAY], most, x, w
            )
            c, _, clipped, total, noise, hidden, _ = huber_fit(
                x, w, n, row[MEAN] - row[SHIFT], 0.0, 0.0, law, shared, factors[j]
            )
            means[q] = c + clipped / total + HALF * hidden
            if j == 0:
                reference[q] = means[q]
                reference_noise[q] = noise
            weight = math.sqrt(total)
            weights += weight
            error += weight * noise / total
            saved += weight * max(reference_noise[q] - noise, 0.0) / total
            shift += weight * (reference[q] - means[q])
        shift /= weights
        spread = 0.0
        for q in range(k):
            spread += math.sqrt(min(stats[arms[q], WEIGHT], most)) * (
                (reference[q] - means[q] - shift) ** 2
            )
        score = (error + max(spread - saved, 0.0) + saved * math.sqrt(2.0 / k)) / weights
        if score < best * (1.0 - 1e-9):  # equal but for rounding where nothing is clipped
            best = score
            chosen = factors[j]
    return chosen


@njit(cache=True)
def variance_between(means, variances):  # type: ignore[no-untyped-def]
    """Compiled: mean and variance of the law N(mu, tau^2) of the arms' means, known up to errors.

    tau^2 is its posterior mean, mu the weighted mean at this tau^2. The prior of tau is half-Cauchy
    with the range of the means as its scale (Gelman 2006), mu is integrated over (restricted
    likelihood); the integral over ln tau is a sum over TAU_STEPS values. A point estimate is often
    0 while one arm alone is known well, and all others would then be judged to be like it.
    """
    k = means.size
    span = means.max() - means.min()
    if k < 2 or span <= 0.0:
        return means.mean(), 0.0
    first, last = math.log(TAU_RANGE[0]), math.log(TAU_RANGE[1])
    scores = np.empty(TAU_STEPS)
    squares = np.empty(TAU_STEPS)
    for j in range(TAU_STEPS):
        ratio = math.exp(first + (last - first) * j / (TAU_STEPS - 1.0))  # tau / span
        squares[j] = ratio * ratio
        weights = 0.0
        mu = 0.0
        logs = 0.0
        for i in range(k):
            total = (math.sqrt(variances[i]) / span) ** 2 + squares[j]
            weights += 1.0 / total
            mu += (means[i] - means[0]) / span / total
            logs += math.log(total)
        mu /= weights
        misfit = 0.0
        for i in range(k):
            total = (math.sqrt(variances[i]) / span) ** 2 + squares[j]
            misfit += ((means[i] - means[0]) / span - mu) ** 2 / total
        scores[j] = -0.5 * (logs + math.log(weights) + misfit)
        scores[j] += math.log(ratio / (1.0 + squares[j]))
    shares = np.exp(scores - scores.max())
    tau2 = float((shares * squares).sum() / shares.sum())
    weights = 0.0
    mu = 0.0
    for i in range(k):
        total = (math.sqrt(variances[i]) / span) ** 2 + tau2
        weights += 1.0 / total
        mu += (means[i] - means[0]) / total
    return means[0] + mu / weights, tau2 * span * span


@njit(cache=True)
def posterior(arms, stats, shared, mean, std):  # type: ignore[no-untyped-def]
    """Compiled: write posterior mean and standard deviation of arms under their normal priors."""
    for arm in arms:
        row = stats[arm]
        prior = row[PRIOR_VARIANCE]
        weight = row[WEIGHT] * math.exp(-shared[DECAY] * (shared[CLOCK] - row[TOLD_AT]))
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
    """Compiled: the active arm with the largest upper confidence bound (see `bandits.exploration`).

    mean_i + c s_i sqrt(2 ln+(t / n_i)), c = explore EXPLORE, t the total weight of all payoffs, n_i
    that of the arm with its pending ones and with the payoffs that the prior is worth, s_i its
    posterior deviation if its noise were half its own and half the larger of this and TYPICAL.
    """
    decay, clock = shared[DECAY], shared[CLOCK]
    width = 2.0 * (explore * EXPLORE) ** 2
    rounds = 1.0 + (clock if decay == 0.0 else -math.expm1(-decay * clock) / decay)
    best = -np.inf
    chosen = -1
    untold = -np.inf  # the bound of arms without payoffs, which have one prior
    # ln x <= x / near - 1 + ln near leaves out most arms without a logarithm: near is the last x.
    near, log_near = rounds, math.log(rounds)
    first = -1  # the arm with the largest mean, so that the others are compared with it
    for i in range(mean.size):
        if active[i] and (first < 0 or mean[i] > mean[first]):
            first = i
    for k in range(-1, mean.size):
        i = first if k < 0 else k
        if i < 0 or not active[i] or i == chosen:
            continue
        row = stats[i]
        weight = pending[i] + row[WEIGHT]
        if decay > 0.0:
            weight = pending[i] + row[WEIGHT] * math.exp(-decay * (clock - row[TOLD_AT]))
        variance = row[PRIOR_VARIANCE]
        count = 1.0
        if weight > 0.0:
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
    """Compiled: arms whose mean + reach std is at least the best mean - reach std."""
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


@njit(cache=True)
def count_competitors(mean, std, active, reach):  # type: ignore[no-untyped-def]
    """Compiled: count the active arms whose mean + reach std is above the best mean."""
    best = -np.inf
    for i in range(mean.size):
        if active[i]:
            best = max(best, mean[i])
    count = 0
    for i in range(mean.size):
        if active[i] and mean[i] + reach * std[i] >= best:
            count += 1
    return count
