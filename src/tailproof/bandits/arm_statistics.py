r"""Robust means of many arms with a prior that the arms share, for `Bandit`.

Let arm i have n_i payoffs (weights, if older payoffs count less). Its mean m_i is Huber's estimate
with a truncation level b_i that grows with n_i, as in the tuning-free principle of Wang, Zheng,
Zhou & Zhou (Statistica Sinica 31, 2021):

    sum_t min((y_t - c_i)^2 / b_i^2, 1) + k E[min(r^2 / b_i^2, 1)] = g ln(1 + n'_i),   k = 8,

where r are the pooled residuals of all arms, so that an arm with few payoffs is not judged from
nothing, and n'_i counts payoffs that differ from the most common one (for payoffs with 95 % zeros
the others alone tell how far the tail reaches). The factor g is learnt: of
FACTORS, 1/4 to 64, we take the one with the least estimated error of the differences between arms
(`_compiled.arm_statistics.choose_factor`); at most a fifth of the payoffs is truncated. The large
factors pay where the arms' laws have heavy tails of one shape. The noise variance v_i of one payoff
joins the arm's own clipped residuals with 18 pooled ones.

Truncation biases the means of skewed laws, and the more, the fewer payoffs an arm has. The pooled
residuals tell by how much: h(b) = E[clip(r, -b', b') - clip(r, -b, b)], b' the level of all
residuals together. Half of h(b_i) is added to m_i, and (h(b_i) / 2)^2 to its squared standard
error v_i / n_i.

The arms' means are taken to be normal around mu_0 with variance tau^2. tau^2 is its posterior mean
under a half-Cauchy prior (`_compiled.arm_statistics.variance_between`), which gives the posterior
N(mean_i, std_i^2) of each arm.

Where at least half of all payoffs are equal (most visitors buy nothing) and the others are not, an
arm's payoffs are split: its mean is a + p_i (m_i - a), with a the tied value, p_i the share of
payoffs that differ from it, and m_i the mean of these, to which all of the above then applies. The
rates p_i have a beta prior that is learnt (`_compiled.arm_choice.rate_prior`). Where arms differ in
one of the two factors alone, the payoffs of all arms tell the other one: of 95 % zeros that differ
in size, most of the variance of an arm's own mean is that of how many payoffs are not zero.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tailproof._compiled import announce_compilation
from tailproof._compiled import arm_choice as choice
from tailproof._compiled import arm_statistics as compiled
from tailproof.bandits.payoff_log import PayoffLog

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

FACTORS = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 16.0, 64.0])
GRID, COARSE = 64, 16  # truncation levels, and how many of them are for rare sizes
MOST_RESIDUALS = 4096  # of the pooled law
MOST_ARMS_COMPARED, MOST_PAYOFFS_COMPARED = 256, 2048  # where the factor is chosen
EVERY_PAYOFF = 24  # up to here the shared quantities are estimated after every payoff
HALF_LIVES_TO_RESTART = 4.0  # without a half-life there are few refreshes to do again
ROUNDING = 1e-9  # of a typical difference between payoffs: smaller residuals are none
PRIOR_FLOOR = 0.1  # in units of the typical squared standard error


class ArmStatistics:
    """Posterior means and standard deviations of n arms, updated by payoffs.

    Attributes
    ----------
    log
        The payoffs.
    splits
        Whether payoffs may be split into a tied value and others.
    mean, std : (n,) arrays
        Posterior mean and standard deviation of the arms' mean payoffs, not to be changed.
    stats : (n, COLUMNS) array
        What is kept of each arm, see `_compiled.arm_statistics`.
    """

    def __init__(self, count: int, half_life: float | None, *, splits: bool = True) -> None:
        announce_compilation(compiled.fit_arms, choice.best_bound, compiled.choose_factor)
        self.log = PayoffLog()
        self.half_life = half_life
        self.splits = splits
        self.stats = np.zeros((0, compiled.COLUMNS))
        self.last = np.zeros(0, dtype=np.int64)
        self.mean = np.zeros(0)
        self.std = np.zeros(0)
        self.shared = np.zeros(compiled.SHARED)
        self.shared[compiled.DECAY] = 0.0 if half_life is None else math.log(2.0) / half_life
        self._forget_estimates()
        self.prior_mean, self.prior_variance = 0.0, 1.0
        self.next_refresh = 1
        self.add_arms(count)

    def _forget_estimates(self) -> None:
        """Set everything but the payoffs to what it is before the first one."""
        self.stats[:] = 0.0
        self.law = compiled.pooled_law(np.zeros(0), np.ones(GRID), 1.0)
        self.shared[compiled.ATOM_FREE] = 1.0
        self.shared[compiled.TIE] = math.nan
        self.shared[compiled.RATE], self.shared[compiled.RATE_WORTH] = 1.0, 1.0
        self.shared[compiled.PRIOR_WORTH] = 1.0
        self.shared[compiled.FACTOR] = FACTORS[0]
        self.shared[compiled.NOISE_FLOOR] = 0.0
        # Set by a prior with a kernel: what residuals are taken from, and its share of variance.
        self.residual_center: Array | None = None
        self.residual_leverage: Array | None = None

    def add_arms(self, count: int) -> None:
        """Add arms without payoffs: their means are drawn from the shared prior."""
        new = np.zeros((count, compiled.COLUMNS))
        new[:, compiled.PRIOR_MEAN] = self.prior_mean
        new[:, compiled.PRIOR_VARIANCE] = self.prior_variance
        self.stats = np.concatenate([self.stats, new])
        self.last = np.concatenate([self.last, np.full(count, -1)])
        self.mean = np.concatenate([self.mean, np.full(count, self.prior_mean)])
        self.std = np.concatenate([self.std, np.full(count, math.sqrt(self.prior_variance))])
        added = np.arange(len(self.stats) - count, len(self.stats))
        choice.posterior(added, self.stats, self.shared, self.mean, self.std)

    @property
    def counts(self) -> Array:
        """Number of payoffs in the statistics of each arm, (n,)."""
        return self.stats[:, compiled.COUNT]

    @property
    def effective(self) -> Array:
        """Total weight of each arm's payoffs now, (n,): the counts, if there is no half-life."""
        ages = self.log.clock - self.stats[:, compiled.TOLD_AT]
        return np.asarray(
            self.stats[:, compiled.WEIGHT] * np.exp(-self.shared[compiled.DECAY] * ages)
        )

    def add(self, arm: int, payoff: float) -> bool:
        """Add one payoff; return whether the shared quantities were estimated anew."""
        t = self.log.append(arm, payoff)
        self.shared[compiled.CLOCK] = self.log.clock
        compiled.add_payoff(arm, t, self.last, *self.log.columns, self.stats, self.law, self.shared)
        if self.log.count >= self.next_refresh:
            self._refresh_or_start_again()
            return True
        choice.posterior(np.array([arm]), self.stats, self.shared, self.mean, self.std)
        return False

    def extend(self, arms: Indices, payoffs: Array) -> None:
        """Add many payoffs and estimate all arm statistics once."""
        first = self.log.extend(arms, payoffs)
        compiled.link_payoffs(
            first, self.log.count, self.log.arms, self.last, self.log.columns[0], self.stats
        )
        self.stats[arms, compiled.NEXT_FIT] = 0.0
        self._refresh_or_start_again()

    def _refresh_or_start_again(self) -> None:
        """Refresh; with a half-life, start again now and then, so that loading stays quick."""
        since = self.log.count - self.log.restarted
        if self.half_life is not None and since >= HALF_LIVES_TO_RESTART * self.half_life:
            self.start_again()
        else:
            self.refresh()

    def unite(self, other: ArmStatistics, arm_numbers: Indices) -> int:
        """Add the other's payoffs that are not here (see `PayoffLog.unite`); return how many."""
        added = self.log.unite(other.log, arm_numbers)
        if added:
            self.start_again()
        return added

    def start_again(self) -> None:
        """Estimate everything from the log alone, so that what was before it leaves no trace.

        The order of merging then does not matter, and a saved bandit can be read from here on.
        """
        self.log.restarted, self.log.events = self.log.count, []
        self._forget_estimates()
        self.prior_mean, self.prior_variance = 0.0, 1.0
        self.log.link(self.last, self.stats)
        self.refresh()
        self.stats[:, compiled.NEXT_FIT] = 0.0
        self.refresh()  # with the prior of the first time

    def arm_payoffs(self, arm: int) -> Array:
        """Return an arm's payoffs in the order of telling."""
        return self.log.payoffs[self.log.arms == arm]

    # -- what the arms share

    def refresh(self) -> None:
        """Estimate what the arms share anew, and every arm with it.

        It happens when the payoffs have grown by a fifth (with a half-life: also whenever a
        sixteenth of it has passed), so that its share in the cost of a payoff stays constant.
        """
        self.shared[compiled.CLOCK] = self.log.clock
        if self.log.count:
            played = np.flatnonzero(self.counts > 0)
            if self._find_tie() or self.stats[played, compiled.WEIGHT].max() == 0.0:
                self._fit(played)  # the first payoffs, or other ones than before
                self.stats[played, compiled.NEXT_FIT] = 0.0  # with the pooled law once more
            self._pool_residuals()
            self._choose_factor(played)
            self._fit(played)  # all: means of different factors are not comparable
            self._estimate_prior(played)
        self.update_posterior()
        self.next_refresh = self._next_refresh()

    def _next_refresh(self) -> int:
        """Return the number of payoffs at which the shared quantities are estimated again."""
        n = self.log.count
        if n < EVERY_PAYOFF:
            return n + 1
        step = math.ceil((compiled.GROWTH - 1.0) * n)
        if self.half_life is not None:
            step = min(step, math.ceil(self.half_life / 16.0))
        return n + step

    def _fit(self, arms: Indices) -> None:
        """Compute the robust means of some arms from their payoffs."""
        compiled.fit_arms(arms, self.last, *self.log.columns, self.stats, self.law, self.shared)

    def _first(self) -> int:
        """Return the place of the first payoff that what arms share is estimated from."""
        if self.half_life is None:
            return 0
        return max(0, self.log.count - math.ceil(8.0 * self.half_life))

    def _find_tie(self) -> bool:
        """Find the most common payoff; return whether the payoffs are now split otherwise."""
        payoffs = self.log.payoffs[self._first() :]
        sample = payoffs[:: max(1, len(payoffs) // MOST_RESIDUALS)]
        atom = float(np.partition(sample, len(sample) // 2)[len(sample) // 2])
        self.shared[compiled.ATOM] = atom
        self.shared[compiled.ATOM_FREE] = float(np.mean(sample != atom))
        tie = math.nan
        others = payoffs[payoffs != atom]
        tied = len(payoffs) - len(others)
        if self.splits and tied >= len(others) > 1 and others.min() < others.max():
            tie, self.shared[compiled.ATOM_FREE] = atom, 1.0  # of the payoffs that are fitted
        before = self.shared[compiled.TIE]
        self.shared[compiled.TIE] = tie
        return not (before == tie or (math.isnan(before) and math.isnan(tie)))

    def _pool_residuals(self) -> None:
        """Pool the residuals of all arms into the shared noise law."""
        log, count, first = self.log, self.log.count, self._first()
        chosen = first + np.flatnonzero(log.payoffs[first:] != self.shared[compiled.TIE])
        chosen = chosen[:: max(1, len(chosen) // MOST_RESIDUALS)]
        sample, atom = log.payoffs[chosen], self.shared[compiled.ATOM]
        center, leverage = self.residual_center, self.residual_leverage
        if center is None or leverage is None or len(center) != len(self.stats):
            weight = self.stats[:, compiled.WEIGHT]
            center = self.stats[:, compiled.MEAN]
            leverage = np.where(weight > 1.5, 1.0 / np.maximum(weight, 1.5), 1.0)
        residuals = compiled.pooled_residuals(log.arms, log.payoffs, chosen, center, leverage)
        size = np.abs(residuals)
        far = max(float(size.max(initial=0.0)), float(np.abs(sample - atom).max())) or 1.0
        apart = np.abs(sample - atom)
        typical = float(np.median(apart[apart > 0.0])) if apart.any() else 1.0
        positive = size[size > ROUNDING * typical]
        target = max(
            self.shared[compiled.FACTOR] * math.log1p(len(residuals)), compiled.LEAST_TARGET
        )
        self.law = compiled.pooled_law(residuals, _levels(positive, far, count), target)
        self.shared[compiled.NOISE_FLOOR] = max((ROUNDING * typical) ** 2, 1e-300)

    def _choose_factor(self, played: Indices) -> None:
        """Choose the factor of the truncation levels by the arms with enough payoffs."""
        enough = played[self.stats[played, compiled.WEIGHT] >= 4.0]
        if len(enough) < 2:
            return
        enough = enough[:: math.ceil(len(enough) / MOST_ARMS_COMPARED)]
        self.shared[compiled.FACTOR] = compiled.choose_factor(
            enough,
            self.last,
            *self.log.columns,
            self.stats,
            self.law,
            self.shared,
            FACTORS,
            MOST_PAYOFFS_COMPARED,
        )

    def _estimate_prior(self, played: Indices) -> None:
        """Estimate mean and variance of the prior that the arms share, and their typical noise."""
        rows = self.stats[played]
        kept = np.exp(-self.shared[compiled.DECAY] * (self.log.clock - rows[:, compiled.TOLD_AT]))
        weight, trials = kept * rows[:, compiled.WEIGHT], kept * rows[:, compiled.TRIALS]
        heard = weight > 0.0
        noise = rows[heard, compiled.NOISE]
        if not noise.size:
            return
        self.prior_mean, self.prior_variance = _prior(
            rows[heard, compiled.MEAN], noise / weight[heard] + rows[heard, compiled.SYSTEMATIC]
        )
        self.stats[:, compiled.PRIOR_MEAN] = self.prior_mean
        self.stats[:, compiled.PRIOR_VARIANCE] = self.prior_variance
        typical = float(np.mean(noise))
        self.shared[compiled.TYPICAL_NOISE] = typical
        self.shared[compiled.PRIOR_WORTH] = max(typical / self.prior_variance, 1.0)
        tie = self.shared[compiled.TIE]
        if not math.isnan(tie):
            told = np.flatnonzero(trials > 0.0)
            told = told[:: math.ceil(len(told) / MOST_ARMS_COMPARED)]
            p, worth = choice.rate_prior(weight[told], trials[told])
            self.shared[compiled.RATE], self.shared[compiled.RATE_WORTH] = p, worth
            size = self.prior_mean - tie
            noise = p * typical + size**2 * p * (1.0 - p)
            variance = p**2 * self.prior_variance + size**2 * p * (1.0 - p) / (worth + 1.0)
            self.shared[compiled.PRIOR_WORTH] = max(noise / variance, 1.0)

    def update_posterior(self) -> None:
        """Compute posterior mean and standard deviation of all arms at the present clock."""
        self.shared[compiled.CLOCK] = self.log.clock
        choice.posterior(np.arange(len(self.stats)), self.stats, self.shared, self.mean, self.std)

    def posterior_now(self) -> tuple[Array, Array]:
        """Return posterior mean and standard deviation of all arms at the present clock, (n,)."""
        mean, std = np.empty_like(self.mean), np.empty_like(self.std)
        choice.posterior(np.arange(len(self.stats)), self.stats, self.shared, mean, std)
        return mean, std


def _prior(means: Array, variances: Array) -> tuple[float, float]:
    """Return mean and variance of the prior of arms with these means up to errors."""
    mu, tau2 = compiled.variance_between(means, variances)
    typical = 1.0 / float(np.mean(1.0 / variances))
    return float(mu), max(float(tau2), PRIOR_FLOOR * typical, 1e-300)


def _levels(size: Array, far: float, count: int) -> Array:
    """Return the grid of truncation levels (GRID,) of the arms' residuals of positive `size`.

    It is fine in the range of most residuals and reaches, in coarse steps, so far that nothing is
    truncated.
    """
    typical, large = (float(q) for q in np.quantile(size, (0.5, 0.99))) if size.size else (far, far)
    lowest, middle = 0.05 * typical, 100.0 * large
    highest = max(4.0 * math.sqrt(count) * far, 2.0 * middle)
    fine = np.geomspace(lowest, middle, GRID - COARSE, endpoint=False)
    return np.concatenate([fine, np.geomspace(middle, highest, COARSE)])
