"""Monotone warps of payoffs, and which of them suits the payoffs best.

Costs and revenues often span decades over a search space, and their noise grows with their mean.
On such payoffs a stationary process with one noise law is wrong; on their logarithms it is right.
A warp is the identity or a logarithm on one side,

    lower:  h(t) = -log(1 + (edge - t) / unit)  for t <= edge,  (t - edge) / unit  beyond,
    upper:  h(t) =  log(1 + (t - edge) / unit)  for t >= edge,  (t - edge) / unit  beyond,

of standardized payoffs t (larger is better), so "lower" compresses bad payoffs. Edge and unit
follow from order statistics, which makes all of it invariant to y -> a y + c. Warped payoffs are
standardized in turn: z = (h(t) - location) / scale.

The warp is chosen by the leave-one-out predictive density of a Gaussian process (Snelson et al.,
2004, learn a warp by marginal likelihood), see `choose_warp`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import gammaln

from tailproof.search.model.constants import CONSTANT_VAR, WARP

Array = NDArray[np.float64]

IDENTITY, LOWER, UPPER = "identity", "lower", "upper"


@dataclass(frozen=True)
class Warp:
    """A warp z = (h(t) - location) / scale of standardized payoffs t.

    Examples
    --------
    >>> warp = Warp("lower", edge=0.0, unit=1.0)
    >>> np.round(warp.forward(np.array([-99.0, 0.0, 1.0])), 2)
    array([-4.61, -0.  ,  1.  ])
    >>> np.round(warp.inverse(warp.forward(np.array([-99.0, 0.0, 1.0]))), 9)
    array([-99.,   0.,   1.])
    """

    kind: str = IDENTITY
    edge: float = 0.0
    unit: float = 1.0
    location: float = 0.0
    scale: float = 1.0

    @property
    def _sign(self) -> float:
        """-1 if bad payoffs are compressed, else 1."""
        return -1.0 if self.kind == LOWER else 1.0

    def forward(self, t: Array) -> Array:
        """Return z of standardized payoffs, (n,)."""
        if self.kind == IDENTITY:
            return (t - self.location) / self.scale
        d = self._sign * (t - self.edge) / self.unit
        h = self._sign * np.where(d > 0.0, np.log1p(np.maximum(d, 0.0)), d)
        return (h - self.location) / self.scale

    def inverse(self, z: Array) -> Array:
        """Return the standardized payoffs t of z, (n,); finite for any z."""
        h = z * self.scale + self.location
        if self.kind == IDENTITY:
            return h
        d = self._sign * h
        d = np.where(d > 0.0, np.expm1(np.minimum(d, WARP.largest_exponent)), d)
        return self.edge + self._sign * self.unit * d

    def log_slope(self, t: Array) -> Array:
        """Return ln dz / dt, (n,)."""
        if self.kind == IDENTITY:
            return np.full(len(t), -math.log(self.scale))
        d = self._sign * (t - self.edge) / self.unit
        return -np.log1p(np.maximum(d, 0.0)) - math.log(self.unit * self.scale)

    def relative_residual(self, residual: Array) -> Array:
        """Return (t - k(g)) / k'(g) for residuals z - g, k the inverse of the warp.

        Where the warp is a logarithm this depends on the residual alone: the payoff's ratio to
        the location, less 1.
        """
        if self.kind == IDENTITY:
            return residual
        s = self._sign * self.scale
        return np.expm1(np.minimum(s * residual, WARP.largest_exponent)) / s

    def shift(self, correction: Array) -> Array:
        """Return the shift in z that multiplies as a mean relative residual does.

        The inverse of `relative_residual`: k(g + shift) = k(g) + k'(g) correction.
        """
        if self.kind == IDENTITY:
            return correction
        s = self._sign * self.scale
        return np.log(np.maximum(1.0 + s * correction, WARP.least_ratio)) / s

    def shift_slope(self, correction: Array) -> Array:
        """Return the derivative of `shift`."""
        if self.kind == IDENTITY:
            return np.ones_like(correction)
        ratio = 1.0 + self._sign * self.scale * correction
        return np.where(ratio > WARP.least_ratio, 1.0 / np.maximum(ratio, WARP.least_ratio), 0.0)

    @property
    def shift_curvature(self) -> float:
        """Return the second derivative of `shift` over its first, squared."""
        return 0.0 if self.kind == IDENTITY else -self._sign * self.scale


def location_and_spread(z: Array) -> tuple[float, float]:
    """Return the median and a robust standard deviation; 1 for the latter if all are equal."""
    low, median, high = np.quantile(z, [0.25, 0.5, 0.75])
    spread = (high - low) / 1.349
    if spread <= 0.0:
        spread = float(np.mean(np.abs(z - median)))
    return float(median), float(spread) if spread > 0.0 else 1.0


def standardized_warp(warp: Warp, t: Array) -> Warp:
    """Return the warp with location and scale such that the payoffs t (n,) are standardized."""
    location, spread = location_and_spread(replace(warp, location=0.0, scale=1.0).forward(t))
    return replace(warp, location=location, scale=spread)


def candidate_warps(t: Array) -> list[Warp]:
    """Return the identity and logarithms on either side, in several units, all standardized.

    One payoff in twenty, and one more, may lie beyond the edge: no single payoff sets it.
    """
    found = [Warp()]
    _, ties = np.unique(t, return_counts=True)
    if len(ties) >= WARP.fewest_distinct and 2 * int(ties.max()) <= len(t):
        ordered = np.sort(t)
        beyond = len(t) // WARP.payoffs_per_extreme
        for unit in WARP.units:
            found.append(Warp(LOWER, float(ordered[-1 - beyond]), unit))
            found.append(Warp(UPPER, float(ordered[beyond]), unit))
    return [standardized_warp(warp, t) for warp in found]


def choose_warp(t: Array, R: Array) -> Warp:
    """Return the warp under which a Gaussian process predicts left-out payoffs best.

    `t` (n,) are standardized payoffs, R (n, n) their correlations. With K = R + c 1 1' + tau I the
    leave-one-out residuals are r_i = [K^-1 z]_i / [K^-1]_ii with variances proportional to
    v_i = 1 / [K^-1]_ii, and the score of a warp is the largest one over tau of

        sum_i ln p(r_i / (s sqrt(v_i))) - ln(s sqrt(v_i)) + ln h'(t_i),

    p the Student-t density with 4 degrees of freedom, s its fitted scale. No payoff counts for more
    than a bounded difference of logarithms, and the identity has a bonus.
    """
    warps = candidate_warps(t)
    if len(warps) == 1:
        return warps[0]
    values, vectors = scipy.linalg.eigh(R + CONSTANT_VAR, check_finite=False)
    values = np.maximum(values, 0.0)
    Z = np.array([warp.forward(t) for warp in warps]).T  # (n, w)
    rotated = vectors.T @ Z
    squares = vectors * vectors
    best = np.full(len(warps), -np.inf)
    densities = np.zeros((len(warps), len(t)))
    for ratio in WARP.noise_ratios:
        inverse = 1.0 / (values + ratio)
        diagonal = squares @ inverse
        residuals = (vectors @ (inverse[:, None] * rotated)) / np.sqrt(diagonal)[:, None]
        for i in range(len(warps)):
            scale = _student_t_scale(residuals[:, i])
            density = _student_t_log_density(residuals[:, i] / scale)
            density += 0.5 * np.log(diagonal) - math.log(scale)
            if density.sum() > best[i]:
                best[i], densities[i] = density.sum(), density
    for i, warp in enumerate(warps):
        densities[i] += warp.log_slope(t)
    gain = np.clip(densities - densities[0], -WARP.largest_gain, WARP.largest_gain).sum(axis=1)
    gain[0] += WARP.identity_bonus
    return warps[int(np.argmax(gain))]


def _student_t_scale(residuals: Array) -> float:
    """Return the most likely scale of a Student-t law with 4 degrees of freedom."""
    square = float(np.median(residuals**2)) / 0.549 or float(np.mean(residuals**2)) or 1e-30
    for _ in range(8):
        weights = 5.0 / (4.0 + residuals**2 / square)
        square = float(np.mean(weights * residuals**2)) or 1e-30
    return math.sqrt(square)


_LOG_CONSTANT = float(gammaln(2.5) - gammaln(2.0) - 0.5 * math.log(4.0 * math.pi))


def _student_t_log_density(x: Array) -> Array:
    return _LOG_CONSTANT - 2.5 * np.log1p(x * x / 4.0)
