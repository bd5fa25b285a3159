"""Regret bounds of GP-UCB and Theorems 1, 3 and 4 with their proofs' constants, not only O(.).

R_T = sum_t f(x*) - f(x_t), in units of payoff. All hold with probability at least 1 - delta, given
E|y|^(1+alpha) <= v, |f| <= B in the RKHS norm and k(x, x) <= 1, for the policy run with the
theorem's schedule (`tailproof.bandits.schedules` defines b_t, beta_t and q). All proofs go

    R_T <= sum_t 2 beta_t sigma_{t-1}(x_t)                    the band holds, x_t has the top score
        <= 2 beta_T sqrt(T sum_t sigma_{t-1}^2(x_t))          beta_t grows; Cauchy-Schwarz
        <= 2 beta_T sqrt(2 (1 + lambda) gamma_T T)            Lemma 5 (predictive variances)

where beta_T is the value after T - 1 payoffs. Lemma 5 rests on A^-1 . (A - B) <= ln|A|/|B|, which
the paper prints with "="; only "<=" is true, and "<=" is what the lemma needs.

Parameters of all bounds::

    setting         what the theorems take as known; its horizon H is the T the policy was told,
                    which is in the logarithms of Theorems 3 and 4, where rounds may not exceed it
    rounds          T, integers of any shape; the bound has this shape
    gain            an upper bound on gamma_T, one number or one for each round, such as
                    `gain_upper_bound` on finite arms or `linear_gain_bound`
    directions      m, the number of features that payoffs are truncated in
    kernel_error    eps in [0, 1) with |k - k~| <= eps for the features' kernel k~, such as
                    `QuadratureFourier(nodes).error_bound(kernel, X)`
    accuracy        the paper's epsilon of the Nystrom dictionaries, in (0, 1)
    most, most_directions    the number of arms, if finite, or their numerical rank where the
                    dictionaries are reduced

Two steps are taken from the paper as they are. Theorem 1 uses a self-normalized inequality for
a fixed sub-Gaussian constant with the growing 2 b_t in its place. Theorems 3 and 4 (effect of
data-adaptive truncation, Appendix D.1) condition the payoff of round tau on arms played after
it, as if these did not depend on it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tailproof._util import checks
from tailproof.bandits.schedules import (
    Setting,
    SubGaussian,
    Theorem1,
    Theorem3,
    Theorem4,
    theorem4_oversampling,
)
from tailproof.theory.rates import linear_gain_bound
from tailproof.theory.rounds import Array, at_each_round, largest_betas, round_numbers


def _variance_sum(setting: Setting, gain: Array) -> Array:
    """Lemma 5 for regret bounds: sum_t sigma_{t-1}^2(x_t) <= 2 (1 + lambda) gamma_T."""
    return 2.0 * (1.0 + setting.ridge) * gain


def trivial_regret_bound(setting: Setting, rounds: ArrayLike) -> Array:
    """Return 2 min(B, v^(1/(1+alpha))) T, what holds for any policy at all.

    |f(x)| <= B k(x, x)^(1/2) <= B, and |f(x)| <= E|y| <= v^(1/(1+alpha)) by Jensen. A regret
    bound above this one promises nothing.

    Examples
    --------
    >>> from tailproof.bandits.schedules import MomentBound, Setting
    >>> trivial_regret_bound(Setting(MomentBound(1.0, 4.0), 5.0, 1.0, 0.1, 100), [1, 100])
    array([  4., 400.])
    """
    size = min(setting.norm_bound, setting.moment.scale)
    return 2.0 * size * round_numbers(rounds).astype(np.float64)


def gp_ucb_regret_bound(schedule: SubGaussian, rounds: ArrayLike, gain: ArrayLike) -> Array:
    """Return the bound on R_T of GP-UCB under R-sub-Gaussian noise.

    2 (B + R/sqrt(lambda) sqrt(2 gamma_T + 2 ln(1/delta))) sqrt(2 (1 + lambda) gamma_T T)

    From the self-normalized inequality that appendix B begins with (Abbasi-Yadkori et al. 2011,
    Chowdhury and Gopalan 2017), in the three steps above. It holds at all rounds at once and needs
    no moment bound; heavy-tailed noise has no R. `gain` bounds gamma_T.

    Examples
    --------
    >>> schedule = SubGaussian(noise_bound=1.0, norm_bound=1.0, ridge=1.0, failure_probability=0.1)
    >>> gp_ucb_regret_bound(schedule, [100, 10_000], gain=[7.9, 26.0]).round(0)
    array([  620., 17385.])
    """
    checks.instance("schedule", schedule, SubGaussian, "a SubGaussian(noise_bound, ...)")
    t = round_numbers(rounds)
    gains = at_each_round("gain", gain, t)
    beta = largest_betas(schedule, t, gains)
    return 2.0 * beta * np.sqrt(2.0 * (1.0 + schedule.ridge) * gains * t)


def theorem1_regret_bound(setting: Setting, rounds: ArrayLike, gain: ArrayLike) -> Array:
    """Return Theorem 1's bound on R_T of TGP-UCB (Algorithm 1).

    2 (B + 3/sqrt(lambda) b_{T-1} sqrt(2 gamma_T + 2 ln(1/delta))) sqrt(2 (1 + lambda) gamma_T T)

    Appendix B: beta_T of `Theorem1` comes from 1 + 2 s <= 3 s with
    s^2 = ln|I + K_t/lambda| / 2 + ln(1/delta), which is sure only for delta <= 1/e; a larger
    delta is refused. No horizon enters: the bound holds at all rounds at once.

    Examples
    --------
    >>> from tailproof.bandits.schedules import MomentBound, Setting
    >>> setting = Setting(MomentBound(1.0, 1.0), 1.0, 1.0, 0.1, 10_000)
    >>> theorem1_regret_bound(setting, [100, 10_000], gain=[7.9, 26.0]).round(0)
    array([  4918., 462386.])
    """
    if setting.failure_probability > math.exp(-1.0):
        raise ValueError(
            "`failure_probability <= 1/e` must hold for Theorem 1, whose proof uses 1 + 2 s <= "
            f"3 s, but got failure_probability={setting.failure_probability!r}."
        )
    t = round_numbers(rounds)
    gains = at_each_round("gain", gain, t)
    beta = largest_betas(Theorem1(setting), t, gains)
    return 2.0 * beta * np.sqrt(_variance_sum(setting, gains) * t)


def approximation_regret(setting: Setting, rounds: ArrayLike, kernel_error: float) -> Array:
    """Return the regret that Theorem 3 adds for the kernel's error, O(B eps^(1/2) T^3).

    Appendix D.2 (error in posterior mean and variance approximations), after s payoffs:
    |alpha - alpha~| <= B eps (s/lambda + s^2/lambda^2), and |sigma^2 - sigma~^2| <=
    eps (1 + s/lambda)^2 + eps^2 s/lambda, so |sigma - sigma~| <= sqrt(eps) (1 + s/lambda) +
    eps sqrt(s/lambda). The band misses f by at most
    e_s = B [sqrt(eps) (1 + s/lambda) + eps (sqrt(s/lambda) + s/lambda + s^2/lambda^2)]
    more than beta sigma~, at x* and at x_t, so the sum of 2 e_s over s = 0 .. T-1 is added; sums
    of powers are closed, sum sqrt(s) <= 2/3 T^(3/2).

    Examples
    --------
    >>> from tailproof.bandits.schedules import MomentBound, Setting
    >>> setting = Setting(MomentBound(1.0, 1.0), 1.0, 1.0, 0.1, 10_000)
    >>> approximation_regret(setting, [100, 10_000], kernel_error=1e-18).round(5)
    array([1.0000e-05, 1.0001e-01])
    """
    error = checks.number("kernel_error", kernel_error)
    if not 0.0 <= error < 1.0:
        raise ValueError(f"`0 <= kernel_error < 1` must hold, but got kernel_error={error!r}.")
    T, ridge = round_numbers(rounds).astype(np.float64), setting.ridge
    first = T * (T - 1.0) / (2.0 * ridge)  # sum of s / lambda
    second = T * (T - 1.0) * (2.0 * T - 1.0) / (6.0 * ridge**2)  # sum of s^2 / lambda^2
    root = 2.0 / 3.0 * T**1.5 / math.sqrt(ridge)
    total = math.sqrt(error) * (T + first) + error * (root + first + second)
    return 2.0 * setting.norm_bound * total


def theorem3_regret_bound(
    setting: Setting,
    rounds: ArrayLike,
    *,
    directions: int,
    kernel_error: float,
    gain: ArrayLike | None = None,
) -> Array:
    """Return Theorem 3's bound on R_T of ATA-GP-UCB with quadrature Fourier features.

    2 beta_T sqrt(2 (1 + lambda) gamma~_T T) + approximation_regret(eps),
    beta_T = B + 4 sqrt(m/lambda) v^(1/(1+a)) ln(2 m H/delta)^(a/(1+a)) (T-1)^((1-a)/(2(1+a)))

    Appendix D.2: gamma~ is the information gain of the m features, whose length is 1, so
    gamma~_T <= m/2 ln(1 + T/(lambda m)). If `gain` bounds gamma_T of the kernel (not of the
    features), gamma~_T <= gamma_T + eps T^2/(2 lambda) too (ln det is concave, and
    |K~ - K| <= eps T) and the smaller counts. m is 2 nodes^d in the paper's form (which prints
    nodes^d in its formulas), nodes^d where mirrored nodes are folded into one. The bound holds for
    any number of nodes with eps < 1; the theorem's nodes >= 2 log_{4/e}(T^3) only makes the last
    term O(1).

    Examples
    --------
    >>> from tailproof.bandits.schedules import MomentBound, Setting
    >>> setting = Setting(MomentBound(1.0, 1.0), 1.0, 1.0, 0.1, 10_000)
    >>> theorem3_regret_bound(setting, [100, 10_000], directions=32, kernel_error=1e-20).round(-2)
    array([ 17300., 347400.])
    """
    t, m = round_numbers(rounds, setting.horizon), checks.integer("directions", directions, low=1)
    extra = approximation_regret(setting, t, kernel_error)
    gains = linear_gain_bound(t, m, setting.ridge)
    if gain is not None:
        T = t.astype(np.float64)
        drift = kernel_error * T * T / (2.0 * setting.ridge)
        gains = np.minimum(gains, at_each_round("gain", gain, t) + drift)
    beta = largest_betas(Theorem3(setting), t, gains, m)
    return 2.0 * beta * np.sqrt(_variance_sum(setting, gains) * t) + extra


def dictionary_size_bound(
    setting: Setting,
    rounds: ArrayLike,
    gain: ArrayLike,
    *,
    accuracy: float,
    most: int | None = None,
) -> Array:
    """Return an upper bound on the size m_t of Theorem 4's Nystrom dictionaries.

    6 rho (1 + lambda) q gamma_t with rho = (1 + eps)/(1 - eps) and q of `theorem4_oversampling`;
    at most t, and at most `most`, since a point drawn twice counts once.

    The paper prints 1 + 1/lambda (Appendix D.3, properties of the dictionary), which is right for
    draws with q times the leverage sigma^2/lambda. Algorithm 3 draws with q sigma^2, so the
    expected size is at most q rho sum_i sigma_{t-1}^2(x_i), and that sum is at most
    (1 + 1/lambda) lambda 2 gamma_t: the same at lambda = 1, larger above. Below lambda = 1 these
    draws are too few for the lemma to apply, and the bound is refused.

    Examples
    --------
    >>> from tailproof.bandits.schedules import MomentBound, Setting
    >>> setting = Setting(MomentBound(1.0, 1.0), 1.0, 1.0, 0.1, 1_000)
    >>> dictionary_size_bound(setting, [10, 1_000], gain=[3.0, 20.0], accuracy=0.5, most=100)
    array([ 10., 100.])
    """
    t = round_numbers(rounds, setting.horizon)
    eps = checks.in_unit_interval("accuracy", accuracy, closed_above=False)
    if setting.ridge < 1.0:
        raise ValueError(
            "`ridge >= 1` must hold for the dictionaries of Algorithm 3, which draws with "
            f"q sigma^2 instead of q sigma^2 / ridge, but got ridge={setting.ridge!r}."
        )
    rho = (1.0 + eps) / (1.0 - eps)
    q = theorem4_oversampling(setting, eps)
    size = 6.0 * rho * (1.0 + setting.ridge) * q * at_each_round("gain", gain, t)
    size = np.minimum(size, t)
    return size if most is None else np.minimum(size, checks.integer("most", most, low=1))


def theorem4_regret_bound(
    setting: Setting,
    rounds: ArrayLike,
    gain: ArrayLike,
    *,
    accuracy: float,
    most_directions: int | None = None,
) -> Array:
    """Return Theorem 4's bound on R_T of ATA-GP-UCB with Nystrom embeddings.

    2 beta_T sqrt(rho) sqrt(2 (1 + lambda) gamma_T T),
    beta_T = B (1 + 1/sqrt(1-eps)) + 4 sqrt(m/lambda) v^(1/(1+a)) ln(4 m H/delta)^(a/(1+a))
    (T-1)^((1-a)/(2(1+a))), m = `dictionary_size_bound`.

    Appendix D.3: sigma~^2 <= rho sigma^2 (accuracy of approximate posterior variance) gives
    sum sigma~ <= sqrt(rho) sum sigma; the paper writes rho, which is larger. Band and dictionary
    fail with probability at most delta/2 each. The ridge must be at least 1.

    Examples
    --------
    >>> from tailproof.bandits.schedules import MomentBound, Setting
    >>> setting = Setting(MomentBound(1.0, 1.0), 1.0, 1.0, 0.1, 10_000)
    >>> theorem4_regret_bound(setting, 10_000, 26.0, accuracy=0.1, most_directions=100).round(-2)
    np.float64(382000.0)
    """
    t = round_numbers(rounds, setting.horizon)
    gains = at_each_round("gain", gain, t)
    m = dictionary_size_bound(setting, t, gains, accuracy=accuracy, most=most_directions)
    beta = largest_betas(Theorem4(setting, accuracy), t, gains, m)
    rho = (1.0 + accuracy) / (1.0 - accuracy)
    return 2.0 * beta * np.sqrt(rho * _variance_sum(setting, gains) * t)


def exact_features_regret_bound(
    setting: Setting, rounds: ArrayLike, gain: ArrayLike, *, directions: int, residual: float = 0.0
) -> Array:
    """Return the bound on R_T of ATA-GP-UCB with the arms' own features: Theorem 4 at eps = 0.

    2 beta_T sqrt(T (2 (1 + lambda) gamma_T + c T)),
    beta_T = 2 B + 4 sqrt(m/lambda) v^(1/(1+a)) ln(4 m H/delta)^(a/(1+a)) (T-1)^((1-a)/(2(1+a)))

    with m the numerical rank of the arms' kernel matrix and c >= 0, the `residual`, the part of
    k(x, x) the features leave out, which stays in the variance. The features kept are a projection,
    K~ <= K, so Lemma 5 holds for them with gamma_T. beta_T covers the bias while c H <= lambda
    (Appendix D.3: |Phi (I - P)|^2 <= c H); more is refused.

    Examples
    --------
    >>> from tailproof.bandits.schedules import MomentBound, Setting
    >>> setting = Setting(MomentBound(1.0, 1.0), 1.0, 20.0, 0.1, 20_000)
    >>> exact_features_regret_bound(setting, 20_000, 6.0, directions=2).round(-2)
    np.float64(30400.0)
    """
    t, m = round_numbers(rounds, setting.horizon), checks.integer("directions", directions, low=1)
    left_out = checks.number("residual", residual)
    if not 0.0 <= left_out * setting.horizon <= setting.ridge:
        raise ValueError(
            "`0 <= residual * horizon <= ridge` must hold, but got "
            f"residual={residual!r}, horizon={setting.horizon}, ridge={setting.ridge!r}."
        )
    gains = at_each_round("gain", gain, t)
    beta = largest_betas(Theorem4(setting, 0.0), t, gains, m)
    return 2.0 * beta * np.sqrt((_variance_sum(setting, gains) + left_out * t) * t)


def linear_bandit_regret_bound(setting: Setting, rounds: ArrayLike, dim: int) -> Array:
    """Return the bound for linear bandits with |x| <= 1 in R^d (Remark 7).

    The features are x itself: `exact_features_regret_bound` with m = d and
    gamma_T <= d/2 ln(1 + T/(lambda d)), in all O~(d T^(1/(1+alpha))). B bounds the length of the
    weight vector.

    Examples
    --------
    >>> from tailproof.bandits.schedules import MomentBound, Setting
    >>> setting = Setting(MomentBound(1.0, 1.0), 1.0, 1.0, 0.1, 10_000)
    >>> linear_bandit_regret_bound(setting, [100, 10_000], dim=2).round(-1)
    array([ 1810., 26680.])
    """
    gains = linear_gain_bound(rounds, dim, setting.ridge)
    return exact_features_regret_bound(setting, rounds, gains, directions=dim)
