"""A certified upper bound on gamma_t over finitely many arms, cheap and tight at any t.

Let psi_i be the arms' coordinates (K = Psi Psi^T). Over real plays w >= 0 with sum w = t

    F(w) = 0.5 ln|I + sum_i w_i psi_i psi_i^T / lambda|

is concave and its maximum is at least gamma_t, the maximum over whole plays: the D-optimal design
with a ridge. With l_i = psi_i^T (lambda I + sum w psi psi^T)^-1 psi_i, the gradient is l / 2 and,
whatever w is,

    gamma_t <= max F <= F(w) + 0.5 (t max_i l_i - sum_i w_i l_i)                (certificate)

so the bound never rests on convergence; iterating only makes it tight. The multiplicative step
w_i <- w_i l_i t / sum w l raises F and needs a few dozen rounds for 1 percent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular

from tailproof._util import checks
from tailproof.bandits.low_rank import kernel_coordinates
from tailproof.kernels import Kernel
from tailproof.theory._rounds import Array, round_numbers
from tailproof.theory.maximum_gain import checked_arms


@dataclass(frozen=True, eq=False)
class RelaxedGain:
    """The relaxed maximum of the information gain after t plays.

    Attributes
    ----------
    value
        F(w) at `weights`, in nats: a lower bound of the relaxed maximum, not of gamma_t.
    upper
        At least gamma_t, in nats, by the certificate.
    weights : (n,)
        Plays of each arm, real numbers that add up to t: an approximate D-optimal design.
    steps
        Multiplicative steps taken.
    """

    value: float
    upper: float
    weights: Array
    steps: int


@dataclass(frozen=True, eq=False)
class _Design:
    """Coordinates (n, r) of the arms, the largest k(x, x), and the most they leave out of it."""

    coordinates: Array
    residual: float
    largest: float
    ridge: float

    def evaluate(self, weights: Array) -> tuple[float, Array]:
        """F(w), and the leverages l (n,)."""
        a = self.coordinates
        inner = (a.T * (weights / self.ridge)) @ a
        inner[np.diag_indices_from(inner)] += 1.0
        factor = cholesky(inner, lower=True)
        half = solve_triangular(factor, a.T, lower=True)
        value = float(np.log(np.diagonal(factor)).sum())
        return value, np.einsum("ij,ij->j", half, half) / self.ridge


def _design(kernel: Kernel, arms: ArrayLike, ridge: float) -> _Design:
    X, ridge = checked_arms(kernel, arms), checks.positive("ridge", ridge)
    coordinates, diagonal = kernel_coordinates(kernel, X), kernel.diagonal(X)
    kept = np.einsum("ij,ij->i", coordinates, coordinates)
    residual = max(float(np.max(diagonal - kept)), 0.0)
    return _Design(coordinates, residual, float(diagonal.max()), ridge)


def relaxed_gain(
    kernel: Kernel,
    arms: ArrayLike,
    ridge: float,
    count: int,
    *,
    tolerance: float = 0.01,
    most_steps: int = 1_000,
) -> RelaxedGain:
    """Maximize the concave relaxation of the information gain of t = `count` plays.

    Parameters
    ----------
    kernel, arms, ridge, count
        As in `tailproof.theory.maximum_gain`.
    tolerance
        Stop when the certified gap is at most this share of the value.
    most_steps
        Stop after so many steps; the bound holds all the same.

    Examples
    --------
    >>> import tailproof as tp
    >>> relaxed = relaxed_gain(tp.SquaredExponential(0.2), [[0.0], [0.5], [1.0]], 1.0, 4)
    >>> relaxed.weights.round(2), round(relaxed.upper, 3)  # gamma_4 is 1.242
    (array([1.33, 1.33, 1.33]), 1.27)
    """
    design = _design(kernel, arms, ridge)
    count = checks.integer("count", count, low=1)
    tolerance = checks.positive("tolerance", tolerance)
    most_steps = checks.integer("most_steps", most_steps, low=1)
    return _maximize(design, count, tolerance, most_steps)


def _maximize(design: _Design, count: int, tolerance: float, most_steps: int) -> RelaxedGain:
    n = len(design.coordinates)
    weights, upper = np.full(n, count / n), np.inf
    for step in range(1, most_steps + 1):
        value, leverage = design.evaluate(weights)
        total = float(weights @ leverage)
        upper = min(upper, value + 0.5 * (count * float(leverage.max()) - total))
        if upper - value <= tolerance * value or step == most_steps:
            break
        weights = weights * leverage * (count / total)
    # K = Psi Psi^T + E with E >= 0: ln det grows by at most trace(E of the points) / lambda.
    upper += 0.5 * count * design.residual / design.ridge
    # Hadamard's inequality, the better bound while plays are fewer than arms.
    upper = min(upper, 0.5 * count * float(np.log1p(design.largest / design.ridge)))
    return RelaxedGain(value, upper, weights, step)


def gain_upper_bound(
    kernel: Kernel,
    arms: ArrayLike,
    ridge: float,
    rounds: ArrayLike,
    *,
    tolerance: float = 0.01,
) -> Array:
    """Return an upper bound on gamma_t over finitely many arms for every t in `rounds`.

    The certificate of `relaxed_gain`, within `tolerance` of the relaxed maximum.

    Parameters
    ----------
    kernel, arms, ridge
        As in `tailproof.theory.maximum_gain`.
    rounds
        t, integers of any shape.
    tolerance
        Relative size of the gap that is accepted.

    Returns
    -------
    array of the shape of `rounds`
        In nats, non-decreasing in t.

    Examples
    --------
    >>> import tailproof as tp
    >>> X = np.linspace(0.0, 1.0, 100)[:, None]
    >>> gain_upper_bound(tp.SquaredExponential(0.2), X, 1.0, [1, 100, 100_000]).round(1)
    array([ 0.3,  7.5, 34.1])
    """
    design, t = _design(kernel, arms, ridge), round_numbers(rounds)
    tolerance = checks.positive("tolerance", tolerance)
    distinct, where = np.unique(t, return_inverse=True)
    upper = np.array([_maximize(design, int(s), tolerance, 1_000).upper for s in distinct])
    # gamma_t never falls with t, so a smaller bound at a later round bounds the earlier ones too.
    monotone = np.minimum.accumulate(upper[::-1])[::-1]
    return monotone[where].reshape(t.shape)
