"""How gamma_t grows on a compact convex subset of R^d: rates, and an explicit linear bound.

The rates are those of Lemma 4 (maximum information gain for common kernels). They are ORDERS:
the lemma states O(.), no constant is known here, and a value of a `..._rate` function is neither
an upper nor a lower bound on gamma_t. For numbers take `gain_upper_bound` on finite arms or
`linear_gain_bound`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tailproof._util import checks
from tailproof.theory._rounds import Array, round_numbers


def linear_gain_rate(rounds: ArrayLike, dim: int) -> Array:
    """Return d ln t, the order of gamma_t for the linear kernel (Lemma 4; no constant).

    Examples
    --------
    >>> linear_gain_rate([1, 100], dim=2).round(2)
    array([0.  , 9.21])
    """
    t, d = round_numbers(rounds), checks.integer("dim", dim, low=1)
    return d * np.log(t)


def squared_exponential_gain_rate(rounds: ArrayLike, dim: int) -> Array:
    """Return (ln t)^(d+1), the order of gamma_t for the SE kernel (Lemma 4; no constant).

    Examples
    --------
    >>> squared_exponential_gain_rate([1, 100], dim=1).round(2)
    array([ 0.  , 21.21])
    """
    t, d = round_numbers(rounds), checks.integer("dim", dim, low=1)
    return np.asarray(np.log(t) ** (d + 1))


def matern_gain_rate(rounds: ArrayLike, dim: int, nu: float) -> Array:
    """Return t^(d(d+1) / (2 nu + d(d+1))) ln t, the order for Matern (Lemma 4; no constant).

    Examples
    --------
    >>> matern_gain_rate([1, 100], dim=1, nu=2.5).round(2)
    array([ 0.  , 17.17])
    """
    t = round_numbers(rounds)
    power = float(matern_gain_exponent(dim, nu))
    return np.asarray(t.astype(np.float64) ** power * np.log(t))


def matern_gain_exponent(dim: ArrayLike, nu: ArrayLike) -> Array:
    """Return d(d+1) / (2 nu + d(d+1)), the power of t in gamma_t for Matern (Lemma 4).

    Parameters
    ----------
    dim, nu
        Numbers or arrays that broadcast; d >= 1 and nu > 0.

    Examples
    --------
    >>> matern_gain_exponent(dim=[1, 2], nu=2.5).round(4)
    array([0.2857, 0.5455])
    """
    d, smoothness = _above("dim", dim, 1.0, closed=True), _above("nu", nu, 0.0, closed=False)
    pairs = d * (d + 1.0)
    return np.asarray(pairs / (2.0 * smoothness + pairs))


def linear_gain_bound(rounds: ArrayLike, dim: int, ridge: float) -> Array:
    """Return d/2 ln(1 + t / (lambda d)), at least gamma_t for linear features with |x| <= 1.

    ln|I + K_t/lambda| = ln|I_d + sum x x^T / lambda|, and by the inequality of arithmetic and
    geometric means the determinant is at most (trace / d)^d with trace <= d + t/lambda. It
    holds for any d features of length at most 1, not only for x itself.

    Examples
    --------
    >>> linear_gain_bound([1, 100_000], dim=2, ridge=1.0).round(3)
    array([ 0.405, 10.82 ])
    """
    t, d = round_numbers(rounds), checks.integer("dim", dim, low=1)
    return np.asarray(d / 2.0 * np.log1p(t / (checks.positive("ridge", ridge) * d)))


def _above(name: str, value: ArrayLike, low: float, *, closed: bool) -> Array:
    array = np.asarray(value, dtype=np.float64)
    inside = array >= low if closed else array > low
    if not np.all(inside & np.isfinite(array)):
        sign = ">=" if closed else ">"
        raise ValueError(f"`{name} {sign} {low:g}` must hold, but got {name}={value!r}.")
    return array


def moment_order(alpha: ArrayLike) -> Array:
    """Return `alpha`, numbers in (0, 1], as an array."""
    array = _above("alpha", alpha, 0.0, closed=False)
    if not np.all(array <= 1.0):
        raise ValueError(f"`0 < alpha <= 1` must hold, but got alpha={alpha!r}.")
    return array
