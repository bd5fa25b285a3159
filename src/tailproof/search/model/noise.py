"""The law of the noise: a Student-t with its own scale and degrees of freedom on either side.

    p(x) = q(x / scale_lower; dof_lower) / Z  for x < 0,  q(x / scale_upper; dof_upper) / Z  else,
    q(u; nu) = (1 + u^2 / nu)^(-(nu + 1) / 2),

with mode 0 and Z = scale_lower C(dof_lower) + scale_upper C(dof_upper). Skewed laws, such as
waiting times, have a steep side: there the mode is known far better than the mean (Fernandez and
Steel, 1998, for the two-piece construction). As a scale mixture of normal laws it makes the fit of
a Gaussian process a weighted least squares problem (Lange, Little and Taylor, 1989).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.optimize
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from tailproof.search.model.constants import NOISE

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NoiseLaw:
    """A two-piece Student-t law with mode 0; infinite degrees of freedom make it normal.

    Examples
    --------
    >>> law = NoiseLaw(scale_lower=1.0, scale_upper=2.0, dof_lower=np.inf, dof_upper=4.0)
    >>> law.weights(np.array([-3.0, 3.0]), np.zeros(2)).round(3)
    array([1. , 0.2])
    """

    scale_lower: float = 1.0
    scale_upper: float = 1.0
    dof_lower: float = math.inf
    dof_upper: float = math.inf

    def sides(self, x: Array) -> tuple[Array, Array]:
        """Return scale and degrees of freedom of the noise on each residual's side, (n,) each."""
        below = x < 0.0
        return (
            np.where(below, self.scale_lower, self.scale_upper),
            np.where(below, self.dof_lower, self.dof_upper),
        )

    def weights(self, x: Array, variance: Array) -> Array:
        """Return the expected precision of residuals x whose location has this variance, (n,).

        E[u | x] of the scale mixture, (nu + 1) / (nu + (x^2 + variance) / scale^2) / scale^2.
        """
        scale, dof = self.sides(x)
        square = (x * x + variance) / scale**2
        with np.errstate(invalid="ignore"):
            finite = (dof + 1.0) / (dof + square)
        return np.where(np.isinf(dof), 1.0, finite) / scale**2

    def largest_weights(self, x: Array) -> Array:
        """Return the weight at the mode of the side that each residual lies on, (n,)."""
        scale, dof = self.sides(x)
        return (1.0 + 1.0 / dof) / scale**2

    @property
    def mean_square_scale(self) -> float:
        """Mean of the two squared scales."""
        return 0.5 * (self.scale_lower**2 + self.scale_upper**2)


def fit_noise_law(residuals: Array, weights: Array, *, split: bool = True) -> NoiseLaw:
    """Return the noise law of largest posterior density for weighted residuals, (n,) each.

    `split` False: one scale for both sides and 4 degrees of freedom.
    """
    spread = _weighted_spread(residuals, weights)
    if spread == 0.0:
        return NoiseLaw()
    x = residuals / spread
    below = x < 0.0
    if not split:
        return NoiseLaw(spread, spread, 4.0, 4.0)
    start = np.array([0.0, 0.0, NOISE.dof[0], NOISE.dof[0]])
    squares = (x[below] ** 2, x[~below] ** 2)
    counts = (weights[below], weights[~below])
    bounds = [(-4.0, 3.0)] * 2 + [(math.log(1.05), math.log(200.0))] * 2
    found = scipy.optimize.minimize(
        _negative_log_posterior,
        start,
        args=(squares, counts),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 60},
    )
    lower, upper, dof_lower, dof_upper = np.exp(found.x)
    return NoiseLaw(spread * lower, spread * upper, float(dof_lower), float(dof_upper))


def _weighted_spread(residuals: Array, weights: Array) -> float:
    """Return a weighted spread of residuals, the noise law's scale to start from."""
    order = np.argsort(np.abs(residuals), kind="stable")
    share = np.cumsum(weights[order])
    if share[-1] <= 0.0:
        return 0.0
    middle = int(np.searchsorted(share, 0.5 * share[-1]))
    size = float(np.abs(residuals)[order[middle]]) / 0.6745
    return size if size > 0.0 else float(np.average(np.abs(residuals), weights=weights))


def _negative_log_posterior(
    theta: Array, squares: tuple[Array, Array], counts: tuple[Array, Array]
) -> tuple[float, Array]:
    """Return minus the noise law's log posterior of ln (scales, degrees), and its gradient."""
    scales, dofs = np.exp(theta[:2]), np.exp(theta[2:])
    half = 0.5 * np.sqrt(dofs * np.pi) * np.exp(gammaln(dofs / 2.0) - gammaln((dofs + 1.0) / 2.0))
    share = scales * half
    total, n = float(share.sum()), float(counts[0].sum() + counts[1].sum())
    value, gradient = n * math.log(total), np.zeros(4)
    half_slope = 0.5 * (1.0 + dofs * (digamma(dofs / 2.0) - digamma((dofs + 1.0) / 2.0)))
    for side in range(2):
        nu, u = dofs[side], squares[side] / scales[side] ** 2
        log, ratio = np.log1p(u / nu), u / (nu + u)
        value += 0.5 * (nu + 1.0) * float(counts[side] @ log)
        gradient[side] = n * share[side] / total - (nu + 1.0) * float(counts[side] @ ratio)
        gradient[2 + side] = n * share[side] / total * half_slope[side] + float(
            counts[side] @ (0.5 * nu * log - 0.5 * (nu + 1.0) * ratio)
        )
    means = np.array([NOISE.scale[0]] * 2 + [NOISE.dof[0]] * 2)
    deviations = np.array([NOISE.scale[1]] * 2 + [NOISE.dof[1]] * 2)
    away = (theta - means) / deviations
    skew = (theta[1] - theta[0]) / NOISE.asymmetry
    gradient += away / deviations + np.array([-skew, skew, 0.0, 0.0]) / NOISE.asymmetry
    return value + 0.5 * float(away @ away) + 0.5 * skew * skew, gradient
