"""Theorem 2: how fast the regret of ANY policy must grow on [0, 1]^d, as rates.

The theorem states Omega(.): E[R_T] >= c times the rate for some function of norm at most B and
some payoffs with E|y|^(1+alpha) <= v, with an absolute constant c > 0 that the paper leaves open
(it hides zeta, the C of equation "total-reward", and Theta's throughout). So a value of a
`..._lower_rate` function is no lower bound by itself: compare slopes, not heights.

In both rates `moment` is `MomentBound(alpha, v)`, `norm_bound` B, `rounds` T (integers of any
shape), `dim` d and `nu` the kernel's smoothness; a stands for alpha.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tailproof._util import checks
from tailproof.bandits.schedules import MomentBound
from tailproof.theory._rounds import Array, round_numbers

OPEN_CONSTANT = "no bound but a rate, since Theorem 2 leaves its absolute constant open"


def squared_exponential_lower_rate(
    moment: MomentBound, norm_bound: float, rounds: ArrayLike, *, dim: int
) -> Array:
    """Return the rate of Theorem 2 (1), squared exponential kernel; its constant is open.

    v^(1/(1+a)) (ln(v^(-1/a) B^((1+a)/a) T))^(d a/(1+a)) T^(1/(1+a)), in units of payoff.

    The result is nan where v^(-1/a) B^((1+a)/a) T <= 1: there the theorem says nothing, its proof
    asks for v^(1/(1+a)) <= C' B T^(a/(1+a)) with a small C'.

    Examples
    --------
    >>> from tailproof.bandits.schedules import MomentBound
    >>> rate = squared_exponential_lower_rate(MomentBound(1.0, 1.0), 1.0, [1, 10_000], dim=2)
    >>> rate.round(2)
    array([   nan, 921.03])
    """
    T, d = _horizons(rounds), checks.integer("dim", dim, low=1)
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
    >>> from tailproof.bandits.schedules import MomentBound
    >>> matern_lower_rate(MomentBound(1.0, 1.0), 1.0, 10_000, dim=1, nu=2.0).round(2)
    np.float64(251.19)
    """
    T, d = _horizons(rounds), checks.integer("dim", dim, low=1)
    a, nu = moment.alpha, checks.positive("nu", nu)
    below = nu * (1.0 + a) + d * a
    constants = moment.v ** (nu / below) * checks.positive("norm_bound", norm_bound) ** (
        d * a / below
    )
    return constants * T ** ((nu + d * a) / below)


def _horizons(rounds: ArrayLike) -> Array:
    return round_numbers(rounds).astype(np.float64)
