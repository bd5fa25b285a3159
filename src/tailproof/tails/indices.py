"""Tail index estimators: Hill with its bias removed, moment, Pickands.

Notation: gamma is the extreme value index, a = 1/gamma the tail index, P(z > t) ~ t^(-a); k the
number of order statistics; U_j = j (ln z_j - ln z_{j+1}) the scaled log-spacings, j = 1..k.

**Hill, bias-reduced.** For an exact power law the U_j are independent exponentials of mean gamma
and the Hill estimator is their mean. For other heavy tails their mean changes with j: Feuerverger
and Hall (1999) and Beirlant, Dierckx, Goegebeur and Matthys (1999) model

    E U_j = gamma exp(d (j / (k + 1))^(-rho)),

with rho < 0 the second-order parameter; d = 0 gives the Hill estimator back. Maximum likelihood in
(gamma, d) removes the bias of second order; the interval is the profile likelihood's. rho is fixed
at -0.6 instead of estimated: estimates of rho vary too much to help, and -0.6 is in the middle of
the usual heavy tails (Student-t -2 gamma, a Pareto centered at its median -gamma, stable and
Frechet -1), so that the bias that a wrong rho leaves stays below the standard error. The standard
error is (1 - rho) / |rho| = 2.7 times that of the Hill estimator; `benchmarks/tail_coverage.py`
measures the coverage of the intervals.

**Moment** (Dekkers, Einmahl, de Haan 1989) and **Pickands** (1975) hold for every sign of gamma;
their intervals are the asymptotic normal ones, with the variance taken at the estimate. The
small-sample bias of the moment estimate is removed: under a power law it is gamma m1 + B with
(m1, B) free of parameters, and E B = -2.9 / k by simulation for k from 20 to 300.

**Choice of k.** Start from 0.7 n^(2/3) (Hill) or 0.5 n^(2/3) (moment, Pickands, which are not bias
reduced), then, for Hill and moment, halve up to twice while the estimate contradicts those from a
half and a quarter of its order statistics (`stable_k`). There is no randomness in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri

from tailproof.tails.order_statistics import MIN_ORDER_STATISTICS, OrderStatistics, standard_k

RHO = -0.6

_HILL_SHARE, _OTHER_SHARE = 0.7, 0.5  # of n^(2/3)
_MOMENT_BIAS = 2.9  # times 1 / k
_MAX_DRIFT = 50.0  # |d| beyond which spacings are zero for all purposes

_CONTRADICTION = 3.0  # standard deviations between estimates of one number from nested samples


@dataclass(frozen=True)
class IndexEstimate:
    """An estimate of the extreme value index gamma = 1 / tail index by one `method`.

    The limits are those of a two-sided confidence interval, k is the number of order statistics
    used (for Pickands the outermost, 4 times the innermost). Unless `stable`, the estimate from the
    first k tried contradicts those from fewer order statistics: the index changes with the
    threshold, and the interval is for the threshold used.
    """

    method: str
    gamma: float
    gamma_lower: float
    gamma_upper: float
    k: int
    stable: bool = True

    @property
    def index(self) -> float:
        """The tail index 1 / gamma; infinite where gamma is not positive."""
        return 1.0 / self.gamma if self.gamma > 0.0 else math.inf

    @property
    def index_lower(self) -> float:
        """The lower confidence limit of the tail index."""
        return 1.0 / self.gamma_upper if self.gamma_upper > 0.0 else math.inf

    @property
    def index_upper(self) -> float:
        """The upper confidence limit of the tail index."""
        return 1.0 / self.gamma_lower if self.gamma_lower > 0.0 else math.inf


@dataclass(frozen=True)
class Spacings:
    """The likelihood of k scaled log-spacings: the bias-reduced Hill estimator.

    `u` are U_1 .. U_k and `w` the weights (j / (k + 1))^(-rho), both (k,).
    """

    u: NDArray[np.float64]
    w: NDArray[np.float64]

    @classmethod
    def of(cls, top: OrderStatistics, k: int) -> Spacings:
        """Return the spacings of the `k` largest deviations, for the tail index."""
        j = np.arange(1, k + 1, dtype=np.float64)
        logs = np.log(top.z[: k + 1])
        return cls(u=j * (logs[:-1] - logs[1:]), w=(j / (k + 1.0)) ** (-RHO))

    def drift(self, gamma: float | None = None) -> float:
        """Return the index model's d in [-50, 50] of the highest likelihood, at `gamma` or jointly.

        Minus the log-likelihood is k ln(sum e / k) + d sum w, respectively sum e / gamma + d sum w,
        with e_j = U_j exp(-d w_j). It is convex: Newton steps find the zero of its slope, and
        bisection replaces a step that would leave the bracket.
        """
        w, k, total = self.w, self.w.size, float(self.w.sum())
        lower, upper, d = -_MAX_DRIFT, _MAX_DRIFT, 0.0
        for _ in range(100):
            e = self.u * np.exp(-d * w)
            s0, s1, s2 = float(e.sum()), float(e @ w), float(e @ (w * w))
            if gamma is None:
                slope, curve = total - k * s1 / s0, k * (s2 / s0 - (s1 / s0) ** 2)
            else:
                slope, curve = total - s1 / gamma, s2 / gamma
            lower, upper = (lower, d) if slope > 0.0 else (d, upper)
            proposal = d - slope / curve if curve > 0.0 else math.inf
            if not lower < proposal < upper:
                proposal = 0.5 * (lower + upper)
            if abs(proposal - d) < 1e-10:
                break
            d = proposal
        return d

    def profile_nll(self, gamma: float) -> float:
        """Return minus the log-likelihood of the index gamma maximized over d."""
        d = self.drift(gamma)
        e = float((self.u * np.exp(-d * self.w)).sum())
        return self.u.size * math.log(gamma) + d * float(self.w.sum()) + e / gamma

    def estimate(self) -> float:
        """Return the maximum likelihood estimate of gamma from log-spacings."""
        d = self.drift()
        return float((self.u * np.exp(-d * self.w)).mean())

    def limit(self, gamma: float, confidence: float, upper: bool, design_effect: float) -> float:
        """Return the one-sided profile likelihood limit of gamma at this `confidence`."""
        from scipy.stats import chi2

        allowed = 0.5 * float(chi2.ppf(2.0 * confidence - 1.0, 1)) * design_effect
        minimum = self.profile_nll(gamma)

        def excess(log_gamma: float) -> float:
            return self.profile_nll(math.exp(log_gamma)) - minimum - allowed

        start = math.log(gamma)
        reach = 3.0 * math.sqrt(2.0 * allowed / self.u.size) + 1e-6
        for _ in range(12):
            end = start + reach if upper else start - reach
            if abs(end) > 300.0:
                break
            if excess(end) > 0.0:
                return math.exp(float(brentq(excess, start, end, xtol=1e-8)))
            reach *= 2.0
        return math.inf if upper else 0.0


def stable_k(
    k: int, estimate: Callable[[int], float], variance: Callable[[int, float], float]
) -> int:
    """Return the first of k, k/2, k/4 whose index agrees with those from fewer, or the last.

    As the samples are nested and the estimator efficient at its rate, the difference of two
    estimates has the difference of their variances as its variance; beyond 3 standard deviations
    they contradict each other. An estimate that ties make impossible (NaN) contradicts nothing. k/4
    is the smallest k tried: an index that changes with every threshold has no limit to find.
    """
    smallest = max(k // 4, MIN_ORDER_STATISTICS)
    while k // 2 >= smallest:
        gamma = estimate(k)
        if math.isnan(gamma):
            break
        contradicted = any(
            abs(estimate(m) - gamma)
            > _CONTRADICTION * math.sqrt(max(variance(m, gamma) - variance(k, gamma), 0.0))
            for m in (k // 2, k // 4)
            if m >= MIN_ORDER_STATISTICS
        )
        if not contradicted:
            break
        k //= 2
    return k


def hill(top: OrderStatistics, k: int) -> float:
    """Return the classical Hill estimate of the index: the mean of ln(z_j / z_{k+1}), j = 1..k."""
    return float(np.log(top.z[:k] / top.z[k]).mean())


def reduced_hill(
    top: OrderStatistics, level: float, *, design_effect: float = 1.0
) -> IndexEstimate | None:
    """Return the bias-reduced Hill estimate with its profile likelihood interval.

    `level` is the interval's two-sided confidence, `design_effect` the factor by which dependence
    inflates variances. The result is None if the largest deviations are too few or tied.

    Examples
    --------
    >>> from tailproof.tails.order_statistics import largest
    >>> z = np.random.default_rng(0).pareto(2.0, 5_000) + 1.0
    >>> estimate = reduced_hill(largest(z), 0.9)
    >>> estimate.index_lower < 2.0 < estimate.index_upper
    True
    """
    start = top.usable(standard_k(top.n, _HILL_SHARE))
    if not top.sufficient(start):
        return None

    def log_gamma(m: int) -> float:
        m = top.strict(m)
        return math.log(Spacings.of(top, m).estimate()) if top.varied(m) else math.nan

    inflation = ((1.0 - RHO) / RHO) ** 2
    k = top.strict(stable_k(start, log_gamma, lambda m, _: inflation / m))
    if not top.sufficient(k):
        return None
    spacings = Spacings.of(top, k)
    gamma, confidence = spacings.estimate(), 0.5 + 0.5 * level
    lower, upper = (spacings.limit(gamma, confidence, end, design_effect) for end in (False, True))
    return IndexEstimate("hill", gamma, lower, upper, k, stable=k == start)


def conservative_limit(
    top: OrderStatistics, estimate: IndexEstimate, level: float, *, design_effect: float = 1.0
) -> float:
    """Return an upper limit of the index gamma that holds at the first k tried and the k used.

    For a stable estimate this is its own limit. For one that changes with the threshold it is the
    largest of its own limit and those of the bias-reduced and the classical Hill estimates at the
    first k tried.
    """
    if estimate.stable:
        return estimate.gamma_upper
    k = top.usable(standard_k(top.n, _HILL_SHARE))
    confidence = 0.5 + 0.5 * level
    spacings = Spacings.of(top, k)
    reduced = spacings.limit(spacings.estimate(), confidence, True, design_effect)
    classical = hill(top, k) * (1.0 + float(ndtri(confidence)) * math.sqrt(design_effect / k))
    return max(estimate.gamma_upper, reduced, classical)


def _moment_gamma(top: OrderStatistics, k: int) -> float:
    """Return the moment estimate of the index, 1 / alpha, from k order statistics."""
    logs = np.log(top.z[:k] / top.z[k])
    first, second = float(logs.mean()), float((logs * logs).mean())
    ratio = 1.0 - first * first / second if second > 0.0 else 0.0
    return first + 1.0 - 0.5 / ratio + _MOMENT_BIAS / k if ratio > 0.0 else math.nan


def _moment_variance(g: float) -> float:
    """Return the asymptotic variance times k of the moment estimate of the index."""
    if g >= 0.0:
        return 1.0 + g * g
    g = max(g, -50.0)
    inner = 4.0 - 8.0 * (1.0 - 2.0 * g) / (1.0 - 3.0 * g)
    inner += (5.0 - 11.0 * g) * (1.0 - 2.0 * g) / ((1.0 - 3.0 * g) * (1.0 - 4.0 * g))
    return (1.0 - g) ** 2 * (1.0 - 2.0 * g) * inner


def _pickands_gamma(top: OrderStatistics, k: int) -> float:
    """Return Pickands' estimate of the index, 1 / alpha, from k order statistics."""
    q = k // 4
    inner, outer = top.z[q - 1] - top.z[2 * q - 1], top.z[2 * q - 1] - top.z[4 * q - 1]
    return math.log2(inner / outer) if inner > 0.0 and outer > 0.0 else math.nan


def _pickands_variance(g: float) -> float:
    """Return the asymptotic variance times k = 4q of Pickands' estimate of the index."""
    g = max(min(g, 50.0), -50.0)
    ln2 = math.log(2.0)
    if abs(g) < 1e-6:
        return 12.0 / ln2**4
    return 4.0 * g * g * (2.0 ** (2.0 * g + 1.0) + 1.0) / (2.0 * (2.0**g - 1.0) * ln2) ** 2


def _normal_estimate(
    method: str,
    top: OrderStatistics,
    level: float,
    gamma: Callable[[OrderStatistics, int], float],
    variance: Callable[[float], float],
    *,
    nested: bool,
) -> IndexEstimate | None:
    """Return an index estimate whose interval is normal with `variance(gamma)` / k, or None."""
    start = k = top.usable(standard_k(top.n, _OTHER_SHARE))
    if not top.sufficient(k):
        return None
    if nested:
        k = stable_k(k, lambda m: gamma(top, m), lambda m, g: variance(g) / m)
    g = gamma(top, k) if top.varied(k) else math.nan
    if not math.isfinite(g):
        return None
    half = float(ndtri(0.5 + 0.5 * level)) * math.sqrt(variance(g) / k)
    return IndexEstimate(method, g, g - half, g + half, k, stable=k == start)


def moment(top: OrderStatistics, level: float) -> IndexEstimate | None:
    """Return the moment estimate of the index (Dekkers, Einmahl, de Haan) with its interval.

    gamma = M1 + 1 - 1 / (2 (1 - M1^2 / M2)), M_i the mean of ln(z_j / z_{k+1})^i over j = 1..k.

    Examples
    --------
    >>> from tailproof.tails.order_statistics import largest
    >>> z = np.random.default_rng(0).random(5_000)
    >>> moment(largest(z), 0.9).gamma_upper < 0  # a bounded variable: gamma = -1
    True
    """
    return _normal_estimate("moment", top, level, _moment_gamma, _moment_variance, nested=True)


def pickands(top: OrderStatistics, level: float) -> IndexEstimate | None:
    """Return Pickands' estimate of the index with its asymptotic interval.

    gamma = log2((z_q - z_2q) / (z_2q - z_4q)), k = 4q. It does not change with location and scale,
    and pays for it with the widest interval of the three.

    Examples
    --------
    >>> from tailproof.tails.order_statistics import largest
    >>> z = np.random.default_rng(0).pareto(1.0, 5_000)
    >>> estimate = pickands(largest(z), 0.9)
    >>> estimate.gamma_lower < 1.0 < estimate.gamma_upper
    True
    """
    return _normal_estimate(
        "pickands", top, level, _pickands_gamma, _pickands_variance, nested=False
    )
