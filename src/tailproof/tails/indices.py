"""Tail index estimators: Hill with its bias removed, moment, Pickands.

Notation: gamma is the extreme value index, a = 1/gamma the tail index, P(z > t) ~ t^(-a); k the
number of order statistics; U_j = j (ln z_j - ln z_{j+1}) the scaled log-spacings, j = 1..k.

**Hill, bias-reduced.** For an exact power law the U_j are independent exponentials of mean gamma
and the Hill estimator is their mean. For other heavy tails their mean drifts with j: Feuerverger
and Hall (1999) and Beirlant, Dierckx, Goegebeur and Matthys (1999) put

    E U_j = gamma exp(d (j / (k + 1))^(-rho)),

with rho < 0 the second-order parameter; d = 0 gives the Hill estimator back. Maximum likelihood in
(gamma, d) removes the bias of second order; the interval is the profile likelihood's. rho is fixed
at -0.6 instead of estimated: estimates of rho vary too much to help, and -0.6 lies amid what the
usual heavy tails have (Student-t -2 gamma, a Pareto seen from its median -gamma, stable and Frechet
-1), so that what a wrong rho leaves behind stays below the standard error. The price is a standard
error of (1 - rho) / |rho| = 2.7 times that of the Hill estimator; `benchmarks/tail_coverage.py`
shows what it buys.

**Moment** (Dekkers, Einmahl, de Haan 1989) and **Pickands** (1975) hold for every sign of gamma;
their intervals are the asymptotic normal ones, with the variance taken at the estimate. The moment
estimate is freed of its small-sample bias: under a power law it is gamma m1 + B with (m1, B) free
of parameters, and E B = -2.9 / k by simulation for k from 20 to 300.

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
from scipy.stats import chi2, norm

from tailproof.tails.order import Top, standard_k

RHO = -0.6
FEWEST = 8  # order statistics below which no interval is worth its name

_HILL_SHARE, _OTHER_SHARE = 0.7, 0.5  # of n^(2/3)
_MOMENT_BIAS = 2.9  # times 1 / k
_STEEPEST = 50.0  # drift d beyond which spacings are zero for all purposes

# Two estimates of the same number from nested samples differ by more than this many standard
# deviations three times in a thousand.
_CONTRADICTION = 3.0


@dataclass(frozen=True)
class IndexEstimate:
    """One estimate of the extreme value index gamma = 1 / tail index.

    Attributes
    ----------
    method : str
        "hill", "moment" or "pickands".
    gamma, gamma_low, gamma_high : float
        The estimate and its two-sided confidence limits.
    k : int
        The number of order statistics used (for Pickands the outermost, 4 times the innermost).
    stable : bool
        Whether the estimate from all order statistics tried first agrees with those from fewer. If
        not, the tail changes with the threshold and the interval covers what is left of it.
    """

    method: str
    gamma: float
    gamma_low: float
    gamma_high: float
    k: int
    stable: bool = True

    @property
    def index(self) -> float:
        """The tail index 1 / gamma; infinite where gamma is not positive."""
        return _reciprocal(self.gamma)

    @property
    def index_low(self) -> float:
        """The lower confidence limit of the tail index."""
        return _reciprocal(self.gamma_high)

    @property
    def index_high(self) -> float:
        """The upper confidence limit of the tail index."""
        return _reciprocal(self.gamma_low)


def _reciprocal(gamma: float) -> float:
    return 1.0 / gamma if gamma > 0.0 else math.inf


@dataclass(frozen=True)
class Spacings:
    """The likelihood of k scaled log-spacings: the bias-reduced Hill estimator.

    Attributes
    ----------
    u : array of shape (k,)
        Scaled log-spacings U_1 .. U_k.
    w : array of shape (k,)
        (j / (k + 1))^(-rho).
    """

    u: NDArray[np.float64]
    w: NDArray[np.float64]

    @classmethod
    def of(cls, top: Top, k: int) -> Spacings:
        """Return the spacings of the `k` largest deviations."""
        j = np.arange(1, k + 1, dtype=np.float64)
        logs = np.log(top.z[: k + 1])
        return cls(u=j * (logs[:-1] - logs[1:]), w=(j / (k + 1.0)) ** (-RHO))

    def drift(self, gamma: float | None = None) -> float:
        """Return the d in [-50, 50] of the highest likelihood, at this `gamma` or jointly with it.

        Minus the log-likelihood is k ln(sum e / k) + d sum w, respectively sum e / gamma + d sum w,
        with e_j = U_j exp(-d w_j): convex, so that its rising slope is brought to zero by Newton
        steps, or by halving the bracket where such a step would leave it.
        """
        w, k, total = self.w, self.w.size, float(self.w.sum())
        low, high, d = -_STEEPEST, _STEEPEST, 0.0
        for _ in range(100):
            e = self.u * np.exp(-d * w)
            s0, s1, s2 = float(e.sum()), float(e @ w), float(e @ (w * w))
            if gamma is None:
                slope, curve = total - k * s1 / s0, k * (s2 / s0 - (s1 / s0) ** 2)
            else:
                slope, curve = total - s1 / gamma, s2 / gamma
            low, high = (low, d) if slope > 0.0 else (d, high)
            following = d - slope / curve if curve > 0.0 else math.inf
            if not low < following < high:
                following = 0.5 * (low + high)
            if abs(following - d) < 1e-10:
                break
            d = following
        return d

    def deviance_half(self, gamma: float) -> float:
        """Return minus the log-likelihood maximized over d at this `gamma`."""
        d = self.drift(gamma)
        e = float((self.u * np.exp(-d * self.w)).sum())
        return self.u.size * math.log(gamma) + d * float(self.w.sum()) + e / gamma

    def best(self) -> float:
        """Return the maximum likelihood estimate of gamma."""
        d = self.drift()
        return float((self.u * np.exp(-d * self.w)).mean())

    def limit(self, gamma: float, confidence: float, upper: bool, design_effect: float) -> float:
        """Return the one-sided profile likelihood limit of gamma at this `confidence`."""
        allowed = 0.5 * float(chi2.ppf(2.0 * confidence - 1.0, 1)) * design_effect
        bottom = self.deviance_half(gamma)

        def excess(log_gamma: float) -> float:
            return self.deviance_half(math.exp(log_gamma)) - bottom - allowed

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
    """Return the first of k, k/2, k/4 whose estimate agrees with those from fewer, or the last.

    As the sample is nested and the estimator efficient at its rate, the difference of two estimates
    has the difference of their variances as its variance; beyond 3 standard deviations they
    contradict each other. An estimate that ties make impossible (NaN) contradicts nothing. A
    quarter of k is the least: a tail that changes all the way has no index to find, and from a
    handful of payoffs none will be.
    """
    least = k // 4
    while k // 2 >= max(least, FEWEST):
        here = estimate(k)
        if math.isnan(here):
            break
        spread = variance(k, here)
        rooms = {m: variance(m, here) - spread for m in (k // 2, k // 4) if m >= FEWEST}
        if not any(
            abs(estimate(m) - here) > _CONTRADICTION * math.sqrt(max(room, 0.0))
            for m, room in rooms.items()
        ):
            break
        k //= 2
    return k


def hill(top: Top, k: int) -> float:
    """Return the classical Hill estimate of gamma, the mean of ln(z_j / z_{k+1}), j = 1..k."""
    return float(np.log(top.z[:k] / top.z[k]).mean())


def reduced_hill(top: Top, level: float, *, design_effect: float = 1.0) -> IndexEstimate | None:
    """Return the bias-reduced Hill estimate with its profile likelihood interval.

    Parameters
    ----------
    top : Top
        The largest deviations of one side.
    level : float
        Two-sided confidence of the interval.
    design_effect : float
        By how much dependence inflates variances; 1 for independent payoffs.

    Returns
    -------
    IndexEstimate or None
        None if the largest deviations are too few or tied.

    Examples
    --------
    >>> from tailproof.tails.order import largest
    >>> z = np.random.default_rng(0).pareto(2.0, 5_000) + 1.0
    >>> estimate = reduced_hill(largest(z), 0.9)
    >>> estimate.index_low < 2.0 < estimate.index_high
    True
    """
    start = top.usable(standard_k(top.n, _HILL_SHARE))
    if not (start >= FEWEST and top.varied(start)):
        return None

    def log_gamma(m: int) -> float:
        m = top.strict(m)
        return math.log(Spacings.of(top, m).best()) if top.varied(m) else math.nan

    inflation = ((1.0 - RHO) / RHO) ** 2
    k = top.strict(stable_k(start, log_gamma, lambda m, _: inflation / m))
    if not (k >= FEWEST and top.varied(k)):
        return None
    spacings = Spacings.of(top, k)
    gamma = spacings.best()
    side = 0.5 + 0.5 * level
    low = spacings.limit(gamma, side, upper=False, design_effect=design_effect)
    high = spacings.limit(gamma, side, upper=True, design_effect=design_effect)
    return IndexEstimate("hill", gamma, low, high, k, stable=k == start)


def cautious_limit(
    top: Top, estimate: IndexEstimate, level: float, *, design_effect: float = 1.0
) -> float:
    """Return an upper limit of gamma that holds at either end of the range tried.

    For a stable estimate this is its own limit. For one that changes with the threshold it is the
    largest of its own limit and those of the bias-reduced and the classical Hill estimates from
    all order statistics tried first.
    """
    if estimate.stable:
        return estimate.gamma_high
    k = top.usable(standard_k(top.n, _HILL_SHARE))
    side = 0.5 + 0.5 * level
    spacings = Spacings.of(top, k)
    reduced = spacings.limit(spacings.best(), side, upper=True, design_effect=design_effect)
    classical = hill(top, k) * (1.0 + float(norm.ppf(side)) * math.sqrt(design_effect / k))
    return max(estimate.gamma_high, reduced, classical)


def _moment_gamma(top: Top, k: int) -> float:
    logs = np.log(top.z[:k] / top.z[k])
    first, second = float(logs.mean()), float((logs * logs).mean())
    rest = 1.0 - first * first / second if second > 0.0 else 0.0
    return first + 1.0 - 0.5 / rest + _MOMENT_BIAS / k if rest > 0.0 else math.nan


def _moment_variance(g: float) -> float:
    """Return the asymptotic variance times k of the moment estimator."""
    if g >= 0.0:
        return 1.0 + g * g
    g = max(g, -50.0)
    inner = 4.0 - 8.0 * (1.0 - 2.0 * g) / (1.0 - 3.0 * g)
    inner += (5.0 - 11.0 * g) * (1.0 - 2.0 * g) / ((1.0 - 3.0 * g) * (1.0 - 4.0 * g))
    return (1.0 - g) ** 2 * (1.0 - 2.0 * g) * inner


def _pickands_gamma(top: Top, k: int) -> float:
    q = k // 4
    inner, outer = top.z[q - 1] - top.z[2 * q - 1], top.z[2 * q - 1] - top.z[4 * q - 1]
    return math.log2(inner / outer) if inner > 0.0 and outer > 0.0 else math.nan


def _pickands_variance(g: float) -> float:
    """Return the asymptotic variance times k = 4q of Pickands' estimator."""
    g = max(min(g, 50.0), -50.0)
    ln2 = math.log(2.0)
    if abs(g) < 1e-6:
        return 12.0 / ln2**4
    return 4.0 * g * g * (2.0 ** (2.0 * g + 1.0) + 1.0) / (2.0 * (2.0**g - 1.0) * ln2) ** 2


def _normal_estimate(
    method: str,
    top: Top,
    level: float,
    gamma: Callable[[Top, int], float],
    variance: Callable[[float], float],
    *,
    nested: bool,
) -> IndexEstimate | None:
    start = k = top.usable(standard_k(top.n, _OTHER_SHARE))
    if not (k >= FEWEST and top.varied(k)):
        return None
    if nested:
        k = stable_k(k, lambda m: gamma(top, m), lambda m, g: variance(g) / m)
    if not top.varied(k):
        return None
    g = gamma(top, k)
    if not math.isfinite(g):
        return None
    half = float(norm.ppf(0.5 + 0.5 * level)) * math.sqrt(variance(g) / k)
    return IndexEstimate(method, g, g - half, g + half, k, stable=k == start)


def moment(top: Top, level: float) -> IndexEstimate | None:
    """Return the moment estimate (Dekkers, Einmahl, de Haan) with its asymptotic interval.

    gamma = M1 + 1 - 1 / (2 (1 - M1^2 / M2)), M_i the mean of ln(z_j / z_{k+1})^i over j = 1..k.

    Examples
    --------
    >>> from tailproof.tails.order import largest
    >>> z = np.random.default_rng(0).random(5_000)
    >>> moment(largest(z), 0.9).gamma_high < 0  # a bounded variable: gamma = -1
    True
    """
    return _normal_estimate("moment", top, level, _moment_gamma, _moment_variance, nested=True)


def pickands(top: Top, level: float) -> IndexEstimate | None:
    """Return Pickands' estimate with its asymptotic interval.

    gamma = log2((z_q - z_2q) / (z_2q - z_4q)), k = 4q. It does not change with location and scale,
    and pays for it with the widest interval of the three.

    Examples
    --------
    >>> from tailproof.tails.order import largest
    >>> z = np.random.default_rng(0).pareto(1.0, 5_000)
    >>> estimate = pickands(largest(z), 0.9)
    >>> estimate.gamma_low < 1.0 < estimate.gamma_high
    True
    """
    return _normal_estimate(
        "pickands", top, level, _pickands_gamma, _pickands_variance, nested=False
    )
