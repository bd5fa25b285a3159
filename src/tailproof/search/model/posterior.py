"""The posterior of the mean payoff, given the model's parameters and all payoffs told.

It is computed in warped units: there the mean payoff f(x) is g(x) + shift(c(x)), g the location GP
and c the mean correction. The warp is monotone, so the best f is the best in warped units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri, ndtri_exp

from tailproof.search.model.constants import FIT, INTERVAL, TAIL
from tailproof.search.model.fit import fit_location
from tailproof.search.model.gp import GPPosterior
from tailproof.search.model.mean_correction import (
    CorrectionPosterior,
    Residuals,
    condition_correction,
)
from tailproof.search.model.parameters import ModelConfig, ModelParameters, Observations

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Posterior:
    """Posterior of the mean payoff in warped units."""

    parameters: ModelParameters  # of the last fit
    location: GPPosterior  # of g
    correction: CorrectionPosterior  # of c
    residuals: Residuals  # of the single payoffs around the location
    extreme: int | None  # the payoff that was limited most: see `fit.limit_extremes`
    weights: Array  # that the noise law gives to the residuals, relative to its mode's, (n,)

    @property
    def clipped(self) -> NDArray[np.bool_]:
        """Which payoffs count for less than half of a usual one, (n,)."""
        return self.weights < 0.5

    @property
    def rests_on_tails(self) -> bool:
        """Whether the mean lies well away from the location, compared with the payoffs' spread."""
        shift = self.parameters.warp.shift(np.array(self.correction.mean))
        return abs(float(shift)) > TAIL.large_shift

    @property
    def n_residuals(self) -> int:
        """Number of single payoffs."""
        return len(self.residuals.values)

    @property
    def noise_var(self) -> float:
        """Variance of the core of the noise, in warped units."""
        return self.parameters.kernel.noise_var

    @property
    def noise_residuals(self) -> Array:
        """Relative residuals where the location is known better than single payoffs, (k,).

        Elsewhere a residual may be an effect of the parameters that the process has not learnt.
        """
        share = self.residuals.weights(math.sqrt(self.residuals.noise_var))
        return self.residuals.values[share >= 0.5]

    def _varying(self, X: Array) -> tuple[Array, Array]:
        """Return the shift of a correction that varies, less the constant's, and its variance."""
        c, warp = self.correction, self.parameters.warp
        assert c.deviation is not None
        mean, variance = c.deviation.predict(X)
        value = c.mean + c.scale * mean
        shift = warp.shift(value) - warp.shift(np.array(c.mean))
        return shift, variance * (c.scale * warp.shift_slope(value)) ** 2

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation of f at the rows of X (n, p), in warped units."""
        c, warp = self.correction, self.parameters.warp
        mean, variance = self.location.predict(X)
        constant = np.array(c.mean)
        mean = mean + warp.shift(constant)
        variance = variance + c.variance * warp.shift_slope(constant) ** 2
        if c.deviation is None:
            return mean, np.sqrt(variance)
        shift, shift_variance = self._varying(X)
        p = c.probability
        return mean + p * shift, np.sqrt(variance + p * shift_variance + p * (1 - p) * shift**2)

    def ucb(self, X: Array, kappa: float) -> Array:
        """Return the upper confidence bound that the search maximizes at the rows of X (n, p).

        Whether the correction varies is not known. The bound is the larger one of two: `kappa`
        deviations above the mean if it does not, and if it does, the fewer deviations the less
        probable that is (`_adjusted_kappa`). For `kappa` 0 it is the mean over both cases. The
        constant of the correction and its uncertainty do not affect the ranking.
        """
        c = self.correction
        mean, variance = self.location.predict(X)
        if c.deviation is None:
            return mean + kappa * np.sqrt(variance)
        shift, shift_variance = self._varying(X)
        if kappa == 0.0:
            return mean + c.probability * shift
        bound = _adjusted_kappa(kappa, c.probability)
        return np.maximum(
            mean + kappa * np.sqrt(variance),
            mean + shift + bound * np.sqrt(variance + shift_variance),
        )

    def ucb_gradient(self, x: Array, kappa: float) -> tuple[float, Array]:
        """Return `ucb` at one point x (p,), and its gradient."""
        c, warp = self.correction, self.parameters.warp
        mean, variance, mean_gradient, variance_gradient = self.location.predict_gradient(x)
        constant = _upper_confidence_bound(mean, mean_gradient, variance, variance_gradient, kappa)
        if c.deviation is None:
            return constant
        delta, delta_variance, delta_gradient, gradient = c.deviation.predict_gradient(x)
        value = np.array(c.mean + c.scale * delta)
        slope = float(warp.shift_slope(value)) * c.scale
        shift = float(warp.shift(value) - warp.shift(np.array(c.mean)))
        shift_gradient = slope * delta_gradient
        if kappa == 0.0:
            p = c.probability
            return mean + p * shift, mean_gradient + p * shift_gradient
        # d slope^2 = 2 slope d slope, and shift'' = curvature shift'^2.
        slope_gradient = 2.0 * slope**3 * warp.shift_curvature * delta_gradient
        varying = _upper_confidence_bound(
            mean + shift,
            mean_gradient + shift_gradient,
            variance + slope**2 * delta_variance,
            variance_gradient + slope**2 * gradient + delta_variance * slope_gradient,
            _adjusted_kappa(kappa, c.probability),
        )
        return max(constant, varying, key=lambda bound: bound[0])

    def payoff(self, z: Array) -> Array:
        """Return payoffs in the user's units, larger is better, from warped ones."""
        return self.parameters.payoff(self.parameters.warp.inverse(z))

    def sample_means(self, X: Array, count: int, rng: np.random.Generator) -> Array:
        """Return joint draws (count, k) of the mean payoff at the rows of X (k, p).

        In the user's units, larger is better. The deviation of intervals (`INTERVAL.safety`) is
        included.
        """
        c, warp = self.correction, self.parameters.warp
        mean, covariance = self.location.joint(X)
        g = _draw(mean, INTERVAL.safety**2 * covariance, count, rng)
        constant = c.mean + INTERVAL.safety * math.sqrt(c.variance) * rng.standard_normal(
            (count, 1)
        )
        if c.deviation is None:
            return self.payoff(g + warp.shift(constant))
        mean, covariance = c.deviation.joint(X)
        deviation = c.scale * _draw(mean, INTERVAL.safety**2 * covariance, count, rng)
        varies = rng.random((count, 1)) < c.probability
        return self.payoff(g + warp.shift(constant + np.where(varies, deviation, 0.0)))


def _draw(mean: Array, covariance: Array, count: int, rng: np.random.Generator) -> Array:
    """Return draws (count, k) from a normal law; rounding may make its covariance indefinite."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return mean + rng.standard_normal((count, len(mean))) @ root.T


def _upper_confidence_bound(
    mean: float, mean_gradient: Array, variance: float, variance_gradient: Array, kappa: float
) -> tuple[float, Array]:
    """Return mean + kappa x standard deviation, and its gradient."""
    deviation = math.sqrt(max(variance, 1e-300))
    gradient = mean_gradient + kappa * variance_gradient / (2.0 * deviation)
    return mean + kappa * deviation, gradient


def _adjusted_kappa(kappa: float, probability: float) -> float:
    """Return the number of deviations for a case that holds with some probability.

    A normal variable exceeds `kappa` deviations with probability q. That the case holds and its
    value exceeds its bound is to be as rare: P(Z > bound) = q / probability. The bound is not
    below the mean of the case.

    Examples
    --------
    >>> [round(_adjusted_kappa(3.0, probability), 2) for probability in (1.0, 0.2, 0.001)]
    [3.0, 2.47, 0.0]
    """
    # In logarithms: P(Z > 40) underflows.
    log_share = min(float(log_ndtr(-kappa)) - math.log(probability), 0.0)
    return max(-float(ndtri_exp(log_share)), 0.0)


def condition(
    observations: Observations, pending: Array, parameters: ModelParameters, config: ModelConfig
) -> Posterior:
    """Return the posterior given all payoffs told, under parameters fitted to some of them.

    `pending` (k, p) are encoded configurations of running trials: they lower the variance alone.
    """
    t = parameters.truncate(parameters.standardize(observations.payoffs))
    u = np.ones(len(t))
    u[: len(parameters.precision)] = parameters.precision[: len(t)]
    steps = FIT.steps_between
    location = fit_location(observations, t, u, parameters, config, steps, pending)
    correction = CorrectionPosterior()
    residuals = location.relative_residuals(observations.points, parameters)
    if config.corrects_mean:
        inducing = parameters.inducing_points
        correction = condition_correction(
            residuals, parameters.correction, config.layout, pending, inducing
        )
    x = (location.z - location.fit.fitted) / math.sqrt(parameters.kernel.noise_var)
    weights = parameters.law.weights(x, np.zeros(len(x))) / parameters.law.largest_weights(x)
    weights[~np.isnan(location.known)] = 1.0
    weights[np.abs(location.z - location.fit.fitted) < INTERVAL.clipped] = 1.0
    excess = np.abs(location.z - location.limited)
    extreme = int(np.argmax(excess)) if excess.any() else None
    return Posterior(parameters, location.fit.posterior(), correction, residuals, extreme, weights)


def interval(
    posterior: Posterior, X: Array, level: float, sway: Array | float = 0.0
) -> tuple[Array, Array, Array]:
    """Return means, lower and upper ends of intervals for the mean payoff at X, (k,) each.

    In units of the payoff, larger is better; `level` is in (0, 1). Intervals are practical: their
    coverage was measured, not proved. They add what the bound on residuals may hide, and `sway`,
    how far the mean moves without the most extreme payoff (`influence_of_most_extreme`).
    """
    mean, deviation = posterior.predict(X)
    factor = -INTERVAL.safety * float(ndtri((1.0 - level) / 2.0))
    c, warp = posterior.correction, posterior.parameters.warp
    half = factor * deviation + c.bias * float(warp.shift_slope(np.array(c.mean))) + sway
    return posterior.payoff(mean), posterior.payoff(mean - half), posterior.payoff(mean + half)


def influence_of_most_extreme(
    posterior: Posterior, observations: Observations, config: ModelConfig, X: Array
) -> Array:
    """Return how far the means at the rows of X move without the most extreme payoff, (k,).

    In warped units. The posterior has no pending trials and was made from `observations` and
    `config`.
    """
    extreme, parameters = posterior.extreme, posterior.parameters
    if extreme is None:
        return np.zeros(len(X))
    rest = observations.take(np.flatnonzero(np.arange(len(observations)) != extreme))
    if extreme < len(parameters.precision):
        parameters = replace(parameters, precision=np.delete(parameters.precision, extreme))
    without = condition(rest, rest.points[:0], parameters, config)
    return np.abs(without.predict(X)[0] - posterior.predict(X)[0])


def keep_sign(values: Array, least: float, largest: float) -> Array:
    """Return means (k,) that keep the sign of the payoffs, if these lie in [least, largest] > 0.

    Means below the least payoff v0 become v0 exp((mean - v0) / v0), which has the same value and
    slope there and is positive; likewise for negative payoffs. Others stay as they are.

    Examples
    --------
    >>> keep_sign(np.array([-5.0, 1.0, 3.0]), 1.0, 9.0).round(4).tolist()
    [0.0025, 1.0, 3.0]
    """
    if least < 0.0 < largest or least == largest == 0.0:
        return values
    if largest <= 0.0:
        return -keep_sign(-values, -largest, -least)
    if least == 0.0:
        return np.maximum(values, 0.0)
    below = np.clip(values, -700.0 * least, least)  # exp neither overflows nor becomes zero
    return np.where(values < least, least * np.exp(below / least - 1.0), values)
