"""Problems: arms with known means, and payoffs whose law is one of fifteen.

The payoff of round t at an arm of mean m is m + z_t, m z_t, 1{u_t < m}, or exp(s(m) z_t - 1) with
s(m)^2 = 2 (1 + ln m), so that the arms have one median and differ in their tails alone; z and u are
drawn once a seed, so that all policies meet the same z in the same round.

Constants of `Bandit` are chosen on the laws of CHOOSING; published results are those of REPORTING.
"""

from __future__ import annotations

import functools
import math
import zlib
from dataclasses import dataclass

import numpy as np
from scipy import stats

ADD, MULTIPLY, BERNOULLI, TAIL = range(4)
FIRST_SEED = 2_000_000  # earlier versions of `Bandit` were revised after looks at lower seeds


def payoffs_at(kind: int, mean: float, z: np.ndarray) -> np.ndarray:
    """Return the payoffs (n,) of an arm at z (n,)."""
    if kind == ADD:
        return mean + z
    if kind == MULTIPLY:
        return mean * z
    if kind == BERNOULLI:
        return np.asarray(z < mean, dtype=float)
    return np.exp(z * math.sqrt(2.0 * (1.0 + math.log(mean))) - 1.0)


@dataclass(frozen=True)
class Law:
    """How payoffs vary: `kind`, mean of an arm = low + span u, and an order with a finite moment.

    `quantile` maps q in (0, 1) to z; `order` is 1 + alpha of the policies that must be told.
    """

    kind: int
    low: float
    span: float
    order: float
    quantile: object = None

    def means(self, arms: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the means of the arms; with at most 60 arms the extremes are fixed."""
        u = rng.random(arms)
        if arms <= 60:
            u[u.argmax()], u[u.argmin()] = 1.0, 0.0
        return self.low + self.span * u

    def noise(self, rounds: int, rng: np.random.Generator) -> np.ndarray:
        """Draw z (or u for Bernoulli payoffs) of every round."""
        q = rng.random(rounds)
        return q if self.quantile is None else self.quantile(np.maximum(q, 1e-300))

    def moment(self, mean: float, center: float = 0.0) -> float:
        """Return E|payoff - center|^order of an arm, by quadrature over ln q."""
        if self.kind == BERNOULLI:
            return mean * abs(1 - center) ** self.order + (1 - mean) * abs(center) ** self.order
        x = np.linspace(-250.0, np.log(0.5), 20_001)
        tail = np.exp(x)
        total = 0.0
        for z in (self.quantile(tail), _UPPER[self.quantile](tail)):
            payoff = payoffs_at(self.kind, mean, z)
            total += float(np.trapezoid(np.abs(payoff - center) ** self.order * tail, x))
        return total


# Laws that are published.


def _normal(q):
    return stats.norm.ppf(q)


def _lognormal(q):
    return np.exp(1.5 * stats.norm.ppf(q) - 1.125)


def _student(q):
    return stats.t.ppf(q, 1.5)


def _pareto(q):  # mean 0
    return (1.0 - q) ** (-1 / 1.5) - 3.0


def _two_sided(q):  # a fair sign
    return np.where(
        q < 0.5, -((2 * q) ** (-1 / 1.5)), (2 * np.maximum(1 - q, 1e-300)) ** (-1 / 1.5)
    )


def _zeros(q):  # 95 % zeros, Pareto(1.8) otherwise, mean 1
    tail = np.maximum(1.0 - q, 1e-300)
    return np.where(tail < 0.05, 20 * (0.8 / 1.8) * (tail / 0.05) ** (-1 / 1.8), 0.0)


# Laws on which constants are chosen.


def _wide_normal(q):
    return 2.0 * stats.norm.ppf(q)


def _weibull(q):  # mean 1, shape 0.6
    return (-np.log1p(-q)) ** (1 / 0.6) / math.gamma(1 + 1 / 0.6)


def _student2(q):
    return 0.7 * stats.t.ppf(q, 2.0)


def _frechet(q):  # mean 0
    return (-np.log(q)) ** (-1 / 1.6) - math.gamma(1 - 1 / 1.6)


def _unequal_tails(q):  # Pareto(1.7) on both sides, 70 % of it on the right, mean 0
    left = -((np.minimum(q, 0.3) / 0.3) ** (-1 / 1.7))
    right = (np.minimum(1 - q, 0.7) / 0.7) ** (-1 / 1.7)
    return np.where(q < 0.3, left, right) - 0.4 * 1.7 / 0.7


def _pareto_product(q):  # Pareto(1.7), mean 1
    return 0.7 / 1.7 * (1.0 - q) ** (-1 / 1.7)


def _rare_lognormal(q):  # 90 % zeros, log-normal(1) otherwise, mean 1
    return _rare_lognormal_upper(np.maximum(1.0 - q, 1e-300))


def _rare_lognormal_upper(p):
    return np.where(p < 0.1, 10 * np.exp(stats.norm.isf(np.minimum(p / 0.1, 1.0)) - 0.5), 0.0)


_UPPER = {
    _normal: stats.norm.isf,
    _lognormal: lambda p: np.exp(1.5 * stats.norm.isf(p) - 1.125),
    _student: lambda p: stats.t.isf(p, 1.5),
    _pareto: lambda p: p ** (-1 / 1.5) - 3.0,
    _two_sided: lambda p: (2 * p) ** (-1 / 1.5),
    _zeros: lambda p: np.where(p < 0.05, 20 * (0.8 / 1.8) * (p / 0.05) ** (-1 / 1.8), 0.0),
    _wide_normal: lambda p: 2.0 * stats.norm.isf(p),
    _weibull: lambda p: (-np.log(p)) ** (1 / 0.6) / math.gamma(1 + 1 / 0.6),
    _student2: lambda p: 0.7 * stats.t.isf(p, 2.0),
    _frechet: lambda p: (-np.log1p(-p)) ** (-1 / 1.6) - math.gamma(1 - 1 / 1.6),
    _unequal_tails: lambda p: (p / 0.7) ** (-1 / 1.7) - 0.4 * 1.7 / 0.7,
    _pareto_product: lambda p: 0.7 / 1.7 * p ** (-1 / 1.7),
    _rare_lognormal: _rare_lognormal_upper,
}

REPORTING = {
    "gaussian": Law(ADD, 0.0, 1.0, 2.0, _normal),
    "bernoulli": Law(BERNOULLI, 0.1, 0.3, 2.0),
    "lognormal": Law(MULTIPLY, 1.0, 2.0, 2.0, _lognormal),
    "t1.5": Law(ADD, 0.0, 2.0, 1.4, _student),
    "pareto": Law(ADD, 0.0, 2.0, 1.4, _pareto),
    "pareto-two-sided": Law(ADD, 0.0, 2.0, 1.4, _two_sided),
    "zeros": Law(MULTIPLY, 1.0, 3.0, 1.7, _zeros),
}
CHOOSING = {
    "wide-gaussian": Law(ADD, 0.0, 1.0, 2.0, _wide_normal),
    "rare-bernoulli": Law(BERNOULLI, 0.02, 0.1, 2.0),
    "weibull": Law(MULTIPLY, 1.0, 1.5, 2.0, _weibull),
    "t2": Law(ADD, 0.0, 1.5, 1.8, _student2),
    "frechet": Law(ADD, 0.0, 2.0, 1.5, _frechet),
    "unequal-tails": Law(ADD, 0.0, 2.0, 1.6, _unequal_tails),
    "pareto-product": Law(MULTIPLY, 1.0, 2.0, 1.6, _pareto_product),
    "rare-lognormal": Law(MULTIPLY, 1.0, 2.0, 2.0, _rare_lognormal),
    "tails-differ": Law(TAIL, 1.0, 2.0, 2.0, _normal),
}
LAWS = REPORTING | CHOOSING


@functools.cache
def moment_at(law: str, mean: float, center: float) -> float:
    """Return E|payoff - center|^order of an arm under a law of this name."""
    return LAWS[law].moment(mean, center)


@dataclass(frozen=True)
class Problem:
    """Means of the arms, noise of the rounds, and what told policies are told."""

    law: str
    kind: int
    means: np.ndarray  # (arms,)
    noise: np.ndarray  # (rounds,)
    order: float
    moment: float  # largest raw E|payoff|^order of an arm

    def payoff(self, arm: int, t: int) -> float:
        """Return the payoff of an arm in round t."""
        return float(payoffs_at(self.kind, float(self.means[arm]), self.noise[t]))


def problem(law: str, arms: int, rounds: int, seed: int) -> Problem:
    """Return the problem of a seed; more rounds continue the same noise.

    Examples
    --------
    >>> p = problem("zeros", 6, 1000, 0)
    >>> p.means.max(), p.payoff(0, 0) >= 0.0
    (np.float64(4.0), True)
    """
    seeds = np.random.SeedSequence([zlib.crc32(law.encode()), arms, FIRST_SEED + seed])
    means_rng, noise_rng = (np.random.default_rng(s) for s in seeds.spawn(2))
    chosen = LAWS[law]
    means = chosen.means(arms, means_rng)
    extremes = (chosen.low, chosen.low + chosen.span)
    return Problem(
        law,
        chosen.kind,
        means,
        chosen.noise(rounds, noise_rng),
        chosen.order,
        max(moment_at(law, m, 0.0) for m in extremes),
    )
