"""Monotone warps of payoffs, and which of them suits the payoffs best.

Costs and revenues often span decades over a search space, and their noise grows with their mean.
On such payoffs a stationary process with one noise law is wrong; on their logarithms it is right.
A warp is the identity or a logarithm that compresses bad payoffs,

    h(t) = -log(1 + (edge - t) / unit)  for t <= edge,  (t - edge) / unit  beyond,

of standardized payoffs t (larger is better). Good payoffs are not compressed: what is far above the
rest is what a search for the best mean must not overlook. Edge and unit follow from order
statistics, which makes all of it invariant to y -> a y + c. Warped payoffs are standardized in
turn: z = (h(t) - location) / scale.

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

IDENTITY, LOG = "identity", "log"


@dataclass(frozen=True)
class Warp:
    """A warp z = (h(t) - location) / scale of standardized payoffs t.

    Examples
    --------
    >>> warp = Warp("log", edge=0.0, unit=1.0)
    >>> np.round(warp.forward(np.array([-99.0, -1.0, 1.0])), 2)
    array([-4.61, -0.69,  1.  ])
    >>> np.round(warp.inverse(warp.forward(np.array([-99.0, 0.0, 1.0]))), 9)
    array([-99.,   0.,   1.])
    """

    kind: str = IDENTITY
    edge: float = 0.0
    unit: float = 1.0
    location: float = 0.0
    scale: float = 1.0

    def forward(self, t: Array) -> Array:
        """Return z of standardized payoffs, (n,)."""
        if self.kind == IDENTITY:
            return (t - self.location) / self.scale
        d = (self.edge - t) / self.unit
        h = -np.where(d > 0.0, np.log1p(np.maximum(d, 0.0)), d)
        return (h - self.location) / self.scale

    def inverse(self, z: Array) -> Array:
        """Return the standardized payoffs t of z, (n,); finite for any z."""
        h = z * self.scale + self.location
        if self.kind == IDENTITY:
            return h
        d = np.where(h < 0.0, np.expm1(np.minimum(-h, WARP.largest_exponent)), -h)
        return self.edge - self.unit * d

    def log_slope(self, t: Array) -> Array:
        """Return ln dz / dt, (n,)."""
        if self.kind == IDENTITY:
            return np.full(np.shape(t), -math.log(self.scale))
        d = (self.edge - t) / self.unit
        return -np.log1p(np.maximum(d, 0.0)) - math.log(self.unit * self.scale)

    def relative_residual(self, residual: Array) -> Array:
        """Return (t - k(g)) / k'(g) for residuals z - g, k the inverse of the warp.

        Where the warp is a logarithm this depends on the residual alone: the payoff's ratio to
        the location, less 1.
        """
        if self.kind == IDENTITY:
            return residual
        return -np.expm1(np.minimum(-self.scale * residual, WARP.largest_exponent)) / self.scale

    def shift(self, correction: Array) -> Array:
        """Return the shift in z that multiplies as a mean relative residual does.

        The inverse of `relative_residual`: k(g + shift) = k(g) + k'(g) correction.
        """
        if self.kind == IDENTITY:
            return correction
        return -np.log(np.maximum(1.0 - self.scale * correction, WARP.least_ratio)) / self.scale

    def shift_slope(self, correction: Array) -> Array:
        """Return the derivative of `shift`."""
        if self.kind == IDENTITY:
            return np.ones_like(correction)
        ratio = 1.0 - self.scale * correction
        return np.where(ratio > WARP.least_ratio, 1.0 / np.maximum(ratio, WARP.least_ratio), 0.0)


@dataclass(frozen=True)
class LoggedPayoffs(Warp):
    """The warp of payoffs that are logarithms already: it changes nothing, a residual is a ratio.

    `scale` is minus the unit of the standardized logarithms; plus, for minus the logarithms of
    costs. With it, what a logarithm makes of residuals and corrections holds here.

    Examples
    --------
    >>> warp = LoggedPayoffs("log", scale=-1.0)
    >>> warp.forward(np.array([3.0])), warp.relative_residual(np.log(np.array([0.5, 1.0, 3.0])))
    (array([3.]), array([-0.5,  0. ,  2. ]))
    """

    def forward(self, t: Array) -> Array:
        """Return t: the warp of payoffs that are logarithms already is the identity."""
        return t

    def inverse(self, z: Array) -> Array:
        """Return z: the warp of logged payoffs is the identity."""
        return z

    def log_slope(self, t: Array) -> Array:
        """Return 0 for each of t (n,): the warp of logged payoffs is the identity."""
        return np.zeros(np.shape(t))


def location_and_spread(z: Array) -> tuple[float, float]:
    """Return median and robust deviation of payoffs to be warped, in the order they came, (n,).

    A search that has converged sees the same value again and again, and the quartiles of all its
    payoffs shrink to the noise. So the spread is the largest of several: of all payoffs, and of
    the first half, quarter and so on, down to `WARP.fewest_for_spread`. If quartiles coincide, it
    is the mean distance from the median; 1 if all payoffs are equal.

    Examples
    --------
    >>> location_and_spread(np.array([0.0, 1.0, 2.0, 3.0] + [3.0] * 60))[1] > 1.0
    True
    """
    median, count, spreads = float(np.median(z)), len(z), []
    while count >= min(WARP.fewest_for_spread, len(z)):
        low, high = np.quantile(z[:count], [0.25, 0.75])
        spreads.append(float(high - low) / 1.349)
        count //= 2
    spread = max(spreads) or float(np.mean(np.abs(z - median)))
    return median, spread if spread > 0.0 else 1.0


def standardized_warp(warp: Warp, t: Array) -> Warp:
    """Return the warp with location and scale such that the payoffs t (n,) are standardized."""
    location, spread = location_and_spread(replace(warp, location=0.0, scale=1.0).forward(t))
    return replace(warp, location=location, scale=spread)


def candidate_warps(t: Array) -> list[Warp]:
    """Return the warps to choose from: the identity and logarithms in several units, standardized.

    One payoff in twenty, and one more, may lie beyond the edge: no single payoff sets it.
    """
    found = [Warp()]
    _, ties = np.unique(t, return_counts=True)
    if len(ties) >= WARP.fewest_distinct and 2 * int(ties.max()) <= len(t):
        ordered = np.sort(t)
        beyond = len(t) // WARP.payoffs_per_extreme
        for unit in WARP.units:
            found.append(Warp(LOG, float(ordered[-1 - beyond]), unit))
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
        residuals = (vectors @ (inverse[:, None] * rotated)).T / np.sqrt(diagonal)  # (w, n)
        scales = _student_t_scales(residuals)[:, None]
        density = _student_t_log_density(residuals / scales)
        density += 0.5 * np.log(diagonal) - np.log(scales)
        total = density.sum(axis=1)
        better = total > best
        best[better], densities[better] = total[better], density[better]
    for i, warp in enumerate(warps):
        densities[i] += warp.log_slope(t)
    gain = np.clip(densities - densities[0], -WARP.largest_gain, WARP.largest_gain).sum(axis=1)
    gain[0] += WARP.identity_bonus
    return warps[int(np.argmax(gain))]


def _student_t_scales(residuals: Array) -> Array:
    """Return for the choice of a warp the likeliest scales of Student-t laws, 4 degrees, (w,).

    Each row of residuals (w, n) has a law of its own.
    """
    squares = residuals**2
    scales = np.median(squares, axis=1) / 0.549
    scales = np.where(scales > 0.0, scales, squares.mean(axis=1))
    for _ in range(8):
        scales = np.where(scales > 0.0, scales, 1e-30)
        weights = 5.0 / (4.0 + squares / scales[:, None])
        scales = (weights * squares).mean(axis=1)
    return np.sqrt(np.where(scales > 0.0, scales, 1e-30))


_LOG_CONSTANT = float(gammaln(2.5) - gammaln(2.0) - 0.5 * math.log(4.0 * math.pi))


def _student_t_log_density(x: Array) -> Array:
    """Return the log density by which warps are chosen, Student's t with 4 degrees of freedom."""
    return _LOG_CONSTANT - 2.5 * np.log1p(x * x / 4.0)
