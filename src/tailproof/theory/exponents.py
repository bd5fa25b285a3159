"""Powers of T in the paper's regret bounds, and where they stay below 1.

Logarithms are left out, as in the paper's O~(.): an exponent below 1 means R_T / T -> 0.

    Theorem 1   TGP-UCB, upper               (2 + a) / (2 (1 + a)) + g
    Theorem 2   any policy, lower            SE 1 / (1 + a);  Matern (nu + d a) / (nu (1 + a) + d a)
    Theorem 3   ATA-GP-UCB with QFF, upper   1 / (1 + a), SE kernel only
    Theorem 4   ATA-GP-UCB Nystrom, upper    1 / (1 + a) + g

with a = alpha and g the power of T in gamma_T: 0 for linear and SE, d(d+1) / (2 nu + d(d+1)) for
Matern (Lemma 4). Both upper bounds carry gamma_T once: sqrt(gamma (gamma + ln(1/delta))) in
Theorem 1, gamma_T in Theorem 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks
from tailproof.theory._rounds import Array
from tailproof.theory.gain_rates import matern_gain_exponent, moment_order

KERNELS = ("linear", "se", "matern")


def gain_exponent(kernel: str, dim: ArrayLike = 1, nu: ArrayLike | None = None) -> Array:
    """Return the power of T in gamma_T (Lemma 4): 0 for "linear" and "se", positive for "matern".

    Examples
    --------
    >>> float(gain_exponent("se")), float(gain_exponent("matern", dim=1, nu=1.0))
    (0.0, 0.5)
    """
    if checks.choice("kernel", kernel, KERNELS) != "matern":
        return np.zeros(np.shape(dim))
    return matern_gain_exponent(dim, _smoothness(nu))


def _smoothness(nu: ArrayLike | None) -> ArrayLike:
    if nu is None:
        raise ValueError('`nu` must be given for kernel="matern", but got None.')
    return nu


def regret_exponent(
    theorem: int,
    alpha: ArrayLike,
    kernel: str,
    dim: ArrayLike = 1,
    nu: ArrayLike | None = None,
) -> Array:
    """Return the power of T in the regret bound of Theorem 1, 2 (lower), 3 or 4.

    Parameters
    ----------
    theorem
        1, 2, 3 or 4.
    alpha
        In (0, 1].
    kernel
        "linear", "se" or "matern"; Theorem 2 knows the last two, Theorem 3 "se" alone.
    dim, nu
        d >= 1, and nu > 0 for Matern. Numbers or arrays that broadcast with `alpha`.

    Examples
    --------
    Remark 1, TGP-UCB under finite variance; Remark 6, ATA-GP-UCB under finite variance:

    >>> float(regret_exponent(1, alpha=1.0, kernel="se")), float(regret_exponent(3, 1.0, "se"))
    (0.75, 0.5)
    """
    a = moment_order(alpha)
    kernels = {1: KERNELS, 2: ("se", "matern"), 3: ("se",), 4: KERNELS}
    if theorem not in kernels:
        raise ValueError(f"`theorem` must be 1, 2, 3 or 4, but got theorem={theorem!r}.")
    if checks.choice("kernel", kernel, KERNELS) not in kernels[theorem]:
        raise ValueError(
            f"`kernel` must be one of {list(kernels[theorem])} for Theorem {theorem}, but got "
            f"kernel={kernel!r}."
        )
    gain = gain_exponent(kernel, dim, nu)
    if theorem == 1:
        return (2.0 + a) / (2.0 * (1.0 + a)) + gain
    if theorem == 2 and kernel == "matern":
        d, smoothness = np.asarray(dim), np.asarray(_smoothness(nu))
        return np.asarray((smoothness + d * a) / (smoothness * (1.0 + a) + d * a))
    return 1.0 / (1.0 + a) + gain


def matern_is_sublinear(
    alpha: ArrayLike, nu: ArrayLike, dim: ArrayLike, *, theorem: int = 4
) -> NDArray[np.bool_]:
    """Tell for which alpha, nu, d the regret bound for the Matern kernel is sublinear.

    Theorem 4 (Remark 7): d(d+1) / (2 nu + d(d+1)) < alpha / (1 + alpha), which is the same as
    nu > d(d+1) / (2 alpha). Theorem 1 needs half that: ... < alpha / (2 (1 + alpha)).

    Parameters
    ----------
    alpha, nu, dim
        Numbers or arrays that broadcast.
    theorem
        4 (default) or 1.

    Examples
    --------
    >>> matern_is_sublinear(alpha=1.0, nu=2.5, dim=[1, 2])
    array([ True, False])
    """
    a, gain = moment_order(alpha), matern_gain_exponent(dim, nu)
    return np.asarray(gain < a / ((1.0 + a) * _halving(theorem)))


def matern_least_smoothness(alpha: ArrayLike, dim: ArrayLike, *, theorem: int = 4) -> Array:
    """Return the nu above which the Matern bound is sublinear.

    d(d+1) / (2 alpha) for Theorem 4 (Remark 7 solved for nu), and d(d+1) (2 + alpha) / (2 alpha)
    for Theorem 1.

    Examples
    --------
    >>> matern_least_smoothness(alpha=[0.5, 1.0], dim=1)
    array([2., 1.])
    """
    a, d = moment_order(alpha), np.asarray(dim, dtype=np.float64)
    matern_gain_exponent(dim, 1.0)  # checks dim
    extra = 1.0 if _halving(theorem) == 1.0 else 2.0 + a
    return np.asarray(d * (d + 1.0) / (2.0 * a) * extra)


def _halving(theorem: int) -> float:
    if theorem not in (1, 4):
        raise ValueError(f"`theorem` must be 1 or 4, but got theorem={theorem!r}.")
    return 2.0 if theorem == 1 else 1.0
