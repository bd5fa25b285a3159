"""Orders of growth in the paper: information gain (Lemma 4), regret, lower bounds (Theorem 2).

A value of a `..._rate` function is no bound: the paper states O(.) and Omega(.) and leaves the
constants open, so compare slopes, not heights. `linear_gain_bound` alone is an explicit bound.
Exponents leave logarithms out, as in the paper's O~(.); below 1 they mean R_T / T -> 0:

    Theorem 1   TGP-UCB, upper               (2 + a) / (2 (1 + a)) + g
    Theorem 2   any policy, lower            SE 1 / (1 + a);  Matern (nu + d a) / (nu (1 + a) + d a)
    Theorem 3   ATA-GP-UCB with QFF, upper   1 / (1 + a), SE kernel only
    Theorem 4   ATA-GP-UCB Nystrom, upper    1 / (1 + a) + g

with a = alpha and g the power of T in gamma_T: 0 for linear and SE; for Matern
d(d+1) / (2 nu + d(d+1)) in the paper, which takes it from Srinivas et al. (2010), and
d / (2 nu + d) by Vakili, Khezeli and Picheny (AISTATS 2021), whose smaller rate is chosen with
source="vakili2021". Both upper bounds carry gamma_T once: sqrt(gamma (gamma + ln(1/delta))) in
Theorem 1, gamma_T in Theorem 4.

Parameters of all functions::

    rounds        t or T, integers of any shape
    dim, nu       d >= 1 and the Matern kernel's smoothness nu > 0; alpha in (0, 1]. Exponents take
                  numbers or arrays that broadcast
    moment        `MomentBound(alpha, v)`
    norm_bound    B > 0
    source        "srinivas2010" (default) or "vakili2021", the information gain of Matern kernels
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks
from tailproof.bandits.schedules import MomentBound
from tailproof.theory.rounds import Array, round_numbers

KERNELS = ("linear", "se", "matern")
SOURCES = ("srinivas2010", "vakili2021")
OPEN_CONSTANT = "no bound but a rate, since Theorem 2 leaves its absolute constant open"


def linear_gain_rate(rounds: ArrayLike, dim: int) -> Array:
    """Return d ln t, the order of gamma_t for the linear kernel (Lemma 4; no constant).

    Examples
    --------
    >>> linear_gain_rate([1, 100], dim=2).round(2)
    array([0.  , 9.21])
    """
    return checks.integer("dim", dim, low=1) * np.log(round_numbers(rounds))


def squared_exponential_gain_rate(rounds: ArrayLike, dim: int) -> Array:
    """Return (ln t)^(d+1), the order of gamma_t for the SE kernel (Lemma 4; no constant).

    Examples
    --------
    >>> squared_exponential_gain_rate([1, 100], dim=1).round(2)
    array([ 0.  , 21.21])
    """
    d = checks.integer("dim", dim, low=1)
    return np.asarray(np.log(round_numbers(rounds)) ** (d + 1))


def matern_gain_rate(rounds: ArrayLike, dim: int, nu: float, source: str = "srinivas2010") -> Array:
    """Return the order of gamma_t for Matern kernels, without a constant.

    t^(d(d+1) / (2 nu + d(d+1))) ln t (Lemma 4, Srinivas et al. 2010), or
    t^(d / (2 nu + d)) (ln t)^(2 nu / (2 nu + d)) (Vakili et al. 2021, for nu > 1/2).

    Examples
    --------
    >>> matern_gain_rate([1, 100], dim=1, nu=2.5).round(2)
    array([ 0.  , 17.17])
    >>> matern_gain_rate([1, 100], dim=1, nu=2.5, source="vakili2021").round(2)
    array([0.  , 7.69])
    """
    t = round_numbers(rounds)
    power = float(matern_gain_exponent(dim, nu, source))
    log_power = 1.0 if source == "srinivas2010" else 1.0 - power
    return np.asarray(t.astype(np.float64) ** power * np.log(t) ** log_power)


def matern_gain_exponent(dim: ArrayLike, nu: ArrayLike, source: str = "srinivas2010") -> Array:
    """Return the rate's power of t in gamma_t for Matern: c / (2 nu + c).

    c is d(d+1) or d by `source`.

    Examples
    --------
    >>> matern_gain_exponent(dim=[1, 2], nu=2.5).round(4)
    array([0.2857, 0.5455])
    >>> matern_gain_exponent(dim=[1, 2], nu=2.5, source="vakili2021").round(4)
    array([0.1667, 0.2857])
    """
    complexity = _gain_complexity(dim, source)
    smoothness = _rate_input("nu", nu, "nu > 0", lambda x: x > 0.0)
    return np.asarray(complexity / (2.0 * smoothness + complexity))


def linear_gain_bound(rounds: ArrayLike, dim: int, ridge: float) -> Array:
    """Return d/2 ln(1 + t / (lambda d)), the rate of gamma_t for linear kernels with a constant.

    It is at least gamma_t for d features of length at most 1.

    ln|I + K_t/lambda| = ln|I_d + sum x x^T / lambda|, and by the inequality of arithmetic and
    geometric means the determinant is at most (trace / d)^d with trace <= d + t/lambda.

    Examples
    --------
    >>> linear_gain_bound([1, 100_000], dim=2, ridge=1.0).round(3)
    array([ 0.405, 10.82 ])
    """
    t, d = round_numbers(rounds), checks.integer("dim", dim, low=1)
    return np.asarray(d / 2.0 * np.log1p(t / (checks.positive("ridge", ridge) * d)))


def gain_exponent(
    kernel: str,
    dim: ArrayLike = 1,
    nu: ArrayLike | None = None,
    source: str = "srinivas2010",
) -> Array:
    """Return the rate's power of T in gamma_T (Lemma 4): 0 for "linear" and "se", else positive.

    Examples
    --------
    >>> float(gain_exponent("se")), float(gain_exponent("matern", dim=1, nu=1.0))
    (0.0, 0.5)
    """
    if checks.choice("kernel", kernel, KERNELS) != "matern":
        return np.zeros(np.shape(dim))
    if nu is None:
        raise ValueError('`nu` must be given for kernel="matern", but got None.')
    return matern_gain_exponent(dim, nu, source)


def regret_exponent(
    theorem: int,
    alpha: ArrayLike,
    kernel: str,
    dim: ArrayLike = 1,
    nu: ArrayLike | None = None,
    source: str = "srinivas2010",
) -> Array:
    """Return the rate's power of T in the regret bound of Theorem 1, 2 (lower), 3 or 4.

    `kernel` is "linear", "se" or "matern"; Theorem 2 knows the last two, Theorem 3 "se" alone.

    Examples
    --------
    Remark 1, TGP-UCB under finite variance; Remark 6, ATA-GP-UCB under finite variance:

    >>> float(regret_exponent(1, alpha=1.0, kernel="se")), float(regret_exponent(3, 1.0, "se"))
    (0.75, 0.5)
    """
    a = _rate_alpha(alpha)
    kernels = {1: KERNELS, 2: ("se", "matern"), 3: ("se",), 4: KERNELS}
    if theorem not in kernels:
        raise ValueError(f"`theorem` must be 1, 2, 3 or 4, but got theorem={theorem!r}.")
    if checks.choice("kernel", kernel, KERNELS) not in kernels[theorem]:
        raise ValueError(
            f"`kernel` must be one of {list(kernels[theorem])} for Theorem {theorem}, but got "
            f"kernel={kernel!r}."
        )
    gain = gain_exponent(kernel, dim, nu, source)
    if theorem == 1:
        return (2.0 + a) / (2.0 * (1.0 + a)) + gain
    if theorem == 2 and kernel == "matern":
        d, smoothness = np.asarray(dim), np.asarray(nu)
        return np.asarray((smoothness + d * a) / (smoothness * (1.0 + a) + d * a))
    return 1.0 / (1.0 + a) + gain


def matern_is_sublinear(
    alpha: ArrayLike, nu: ArrayLike, dim: ArrayLike, source: str = "srinivas2010"
) -> NDArray[np.bool_]:
    """Tell for which alpha, nu, d the rate of Theorem 4 for the Matern kernel is sublinear.

    Remark 7: d(d+1) / (2 nu + d(d+1)) < alpha / (1 + alpha), that is nu > d(d+1) / (2 alpha); with
    source="vakili2021", nu > d / (2 alpha).

    Examples
    --------
    >>> matern_is_sublinear(alpha=1.0, nu=2.5, dim=[1, 2])
    array([ True, False])
    """
    a = _rate_alpha(alpha)
    return np.asarray(matern_gain_exponent(dim, nu, source) < a / (1.0 + a))


def matern_least_smoothness(
    alpha: ArrayLike, dim: ArrayLike, source: str = "srinivas2010"
) -> Array:
    """Return d(d+1) / (2 alpha), the nu above which Theorem 4's Matern rate is sublinear.

    With source="vakili2021" it is d / (2 alpha).

    Examples
    --------
    >>> matern_least_smoothness(alpha=[0.5, 1.0], dim=1)
    array([2., 1.])
    """
    return np.asarray(_gain_complexity(dim, source) / (2.0 * _rate_alpha(alpha)))


def squared_exponential_lower_rate(
    moment: MomentBound, norm_bound: float, rounds: ArrayLike, *, dim: int
) -> Array:
    """Return the rate of Theorem 2 (1), squared exponential kernel; its constant is open.

    v^(1/(1+a)) (ln(v^(-1/a) B^((1+a)/a) T))^(d a/(1+a)) T^(1/(1+a)), in units of payoff.

    The result is nan where v^(-1/a) B^((1+a)/a) T <= 1: there the theorem says nothing, its proof
    asks for v^(1/(1+a)) <= C' B T^(a/(1+a)) with a small C'.

    Examples
    --------
    >>> rate = squared_exponential_lower_rate(MomentBound(1.0, 1.0), 1.0, [1, 10_000], dim=2)
    >>> rate.round(2)
    array([   nan, 921.03])
    """
    T, d = round_numbers(rounds).astype(np.float64), checks.integer("dim", dim, low=1)
    a, v, B = moment.alpha, moment.v, checks.positive("norm_bound", norm_bound)
    log = np.log(T) - np.log(v) / a + (1.0 + a) / a * np.log(B)
    power = np.where(log > 0.0, np.maximum(log, 1e-300) ** (d * a / (1.0 + a)), np.nan)
    return moment.scale * power * T ** (1.0 / (1.0 + a))


def matern_lower_rate(
    moment: MomentBound, norm_bound: float, rounds: ArrayLike, *, dim: int, nu: float
) -> Array:
    """Return the rate of Theorem 2 (2), Matern kernel; its constant is open.

    v^(nu/D) B^(d a/D) T^((nu + d a)/D) with D = nu (1 + a) + d a, in units of payoff.

    Examples
    --------
    >>> matern_lower_rate(MomentBound(1.0, 1.0), 1.0, 10_000, dim=1, nu=2.0).round(2)
    np.float64(251.19)
    """
    T, d = round_numbers(rounds).astype(np.float64), checks.integer("dim", dim, low=1)
    a, nu, B = moment.alpha, checks.positive("nu", nu), checks.positive("norm_bound", norm_bound)
    below = nu * (1.0 + a) + d * a
    return moment.v ** (nu / below) * B ** (d * a / below) * T ** ((nu + d * a) / below)


def _rate_input(
    name: str, value: ArrayLike, rule: str, holds: Callable[[Array], NDArray[np.bool_]]
) -> Array:
    """Return an argument of a rate as an array, or raise an error with the rule."""
    array = np.asarray(value, dtype=np.float64)
    if not np.all(holds(array) & np.isfinite(array)):
        raise ValueError(f"`{rule}` must hold, but got {name}={value!r}.")
    return array


def _rate_alpha(alpha: ArrayLike) -> Array:
    """Return moment orders alpha of a rate, in (0, 1], or raise an error."""
    return _rate_input("alpha", alpha, "0 < alpha <= 1", lambda x: (x > 0.0) & (x <= 1.0))


def _gain_complexity(dim: ArrayLike, source: str) -> Array:
    """Return the d(d+1) (Srinivas et al. 2010) or d (Vakili et al. 2021) of a gain's rate."""
    d = _rate_input("dim", dim, "dim >= 1", lambda x: x >= 1.0)
    older = checks.choice("source", source, SOURCES) == "srinivas2010"
    return np.asarray(d * (d + 1.0) if older else d)
