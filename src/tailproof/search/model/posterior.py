"""The posterior of the mean payoff, given the model's parameters and all payoffs told.

It is computed in warped units: there the mean payoff f(x) is g(x) + shift(c(x)), g the location GP
and c the mean correction. The warp is monotone, so the best f is the best in warped units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

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

# Gauss-Hermite quadrature of a standard normal variable.
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
_NODE_WEIGHTS /= _NODE_WEIGHTS.sum()


@dataclass(frozen=True)
class Posterior:
    """Posterior of the mean payoff in warped units."""

    parameters: ModelParameters  # of the last fit
    location: GPPosterior  # of g
    correction: CorrectionPosterior  # of c
    residuals: Residuals  # of the single payoffs around the location
    extreme: int | None  # the payoff that was limited most: see `fit.limit_extremes`
    weights: Array  # that the noise law gives to the residuals, relative to its mode's, (n,)
    below: NDArray[np.bool_]  # which payoffs are worse than the location, (n,)

    @property
    def clipped(self) -> NDArray[np.bool_]:
        """Which payoffs count for less than half of a usual one, (n,)."""
        return self.weights < 0.5

    @property
    def bad_outliers(self) -> NDArray[np.bool_]:
        """Which payoffs are clipped and worse than the location, (n,)."""
        return self.clipped & self.below

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
    def signal_var(self) -> float:
        """Variance of the location over the space, in warped units."""
        return self.parameters.kernel.signal_var

    @property
    def widening(self) -> float:
        """Factor of deviations in intervals and draws, for kernel parameters that are estimates.

        Lengthscales that are too long make a posterior too narrow, the more so the more there are.
        """
        return math.sqrt(1.0 + INTERVAL.per_lengthscale * len(self.parameters.kernel.lengthscales))

    @property
    def noise_residuals(self) -> Array:
        """Relative residuals where the location is known better than single payoffs, (k,).

        Elsewhere a residual may be an effect of the parameters that the process has not learnt.
        """
        share = self.residuals.weights(math.sqrt(self.residuals.noise_var))
        return self.residuals.values[share >= 0.5]

    def _mean(self, location: Array, log_odds: Array | None) -> tuple[Array, Array, Array]:
        """Return the mean payoff in warped units, and its slopes in location and log odds.

        The constant correction's shift is left out. `log_odds` of an outlier are less those that
        all points share; None if the rate does not vary.
        """
        c, warp = self.correction, self.parameters.warp
        if log_odds is None or c.rate is None:
            return location, np.ones_like(location), np.zeros_like(location)
        p = expit(c.rate.offset + log_odds)
        usual = warp.inverse(location + warp.shift(np.array(c.rest)))
        payoff = usual + c.size * p
        slope = np.exp(warp.log_slope(payoff))
        varying = warp.forward(payoff) - warp.shift(np.array(c.mean))
        by_location = slope * np.exp(-warp.log_slope(usual))
        share = c.probability
        return (
            location + share * (varying - location),
            1.0 + share * (by_location - 1.0),
            share * slope * c.size * p * (1.0 - p),
        )

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation of f at the rows of X (n, p), in warped units."""
        c, warp = self.correction, self.parameters.warp
        location, variance = self.location.predict(X)
        constant = np.array(c.mean)
        shift, of_constant = warp.shift(constant), c.variance * warp.shift_slope(constant) ** 2
        if c.rate is None:
            return location + shift, np.sqrt(variance + of_constant)
        log_odds, log_odds_variance = c.rate.deviation.predict(X)
        mean, slope, _ = self._mean(location, log_odds)
        # The mean square of the error under normal log odds, by quadrature.
        nodes = log_odds[:, None] + np.sqrt(log_odds_variance)[:, None] * _NODES
        moved = self._mean(np.repeat(location[:, None], len(_NODES), axis=1), nodes)[0]
        p = c.probability
        spread = (moved - mean[:, None]) ** 2 @ _NODE_WEIGHTS / p
        # Whether the rate varies: `mean` less the location is p times the difference that it makes.
        spread += (1.0 - p) / p * (mean - location) ** 2
        return mean + shift, np.sqrt(variance * slope**2 + of_constant + spread)

    def suppose(self, draw: float) -> Posterior:
        """Return the posterior if the rate of outliers varies over the space, or if it does not.

        It is supposed to vary if `draw`, uniform in [0, 1), is less than the probability that it
        does.
        """
        c = self.correction
        if c.rate is None:
            return self
        if draw < c.probability:
            return replace(self, correction=replace(c, probability=1.0))
        return replace(self, correction=replace(c, rate=None))

    def ucb(self, X: Array, kappa: float) -> Array:
        """Return the upper confidence bound that the search maximizes at the rows of X (n, p).

        It is the mean plus the root of the squared gains of a location that is `kappa` deviations
        higher and of a rate of outliers whose log odds are `kappa` deviations better. The constant
        of the correction and its uncertainty do not affect the ranking and are left out.
        """
        c = self.correction
        location, variance = self.location.predict(X)
        if c.rate is None:
            return location + kappa * np.sqrt(variance)
        log_odds, log_odds_variance = c.rate.deviation.predict(X)
        better = log_odds + math.copysign(kappa, c.size) * np.sqrt(log_odds_variance)
        mean = self._mean(location, log_odds)[0]
        higher = self._mean(location + kappa * np.sqrt(variance), log_odds)[0]
        return mean + np.hypot(higher - mean, self._mean(location, better)[0] - mean)

    def ucb_gradient(self, X: Array, kappa: float) -> tuple[Array, Array]:
        """Return `ucb` at few rows of X (n, p), (n,), and its gradients, (n, p)."""
        c = self.correction
        location, variance, in_x, variance_in_x = self.location.predict_gradient(X)
        root = np.sqrt(np.maximum(variance, 1e-300))
        high = location + kappa * root
        high_in_x = in_x + (0.5 * kappa / root)[:, None] * variance_in_x
        if c.rate is None:
            return high, high_in_x
        deviation = c.rate.deviation
        log_odds, odds_variance, odds_in_x, odds_variance_in_x = deviation.predict_gradient(X)
        root = np.sqrt(np.maximum(odds_variance, 1e-300))
        steps = math.copysign(kappa, c.size)
        better_in_x = odds_in_x + (0.5 * steps / root)[:, None] * odds_variance_in_x

        def mean_at(g: Array, g_in_x: Array, eta: Array, eta_in_x: Array) -> tuple[Array, Array]:
            value, by_location, by_odds = self._mean(g, eta)
            return value, by_location[:, None] * g_in_x + by_odds[:, None] * eta_in_x

        mean, mean_in_x = mean_at(location, in_x, log_odds, odds_in_x)
        higher, higher_in_x = mean_at(high, high_in_x, log_odds, odds_in_x)
        better, better_in_x = mean_at(location, in_x, log_odds + steps * root, better_in_x)
        gain = np.maximum(np.hypot(higher - mean, better - mean), 1e-150)
        gain_in_x = ((higher - mean) / gain)[:, None] * (higher_in_x - mean_in_x)
        gain_in_x += ((better - mean) / gain)[:, None] * (better_in_x - mean_in_x)
        return mean + gain, mean_in_x + gain_in_x

    def payoff(self, z: Array) -> Array:
        """Return payoffs in the user's units, larger is better, from warped ones."""
        return self.parameters.payoff(self.parameters.warp.inverse(z))

    def sample_means(self, X: Array, count: int, rng: np.random.Generator) -> Array:
        """Return joint draws (count, k) of the mean payoff at the rows of X (k, p).

        In the user's units, larger is better; deviations are `widening` times the posterior's.
        """
        c, warp, widening = self.correction, self.parameters.warp, self.widening
        mean, covariance = self.location.joint(X)
        g = _draw(mean, widening**2 * covariance, count, rng)
        constant = c.mean + widening * math.sqrt(c.variance) * rng.standard_normal((count, 1))
        if c.rate is None:
            return self.payoff(g + warp.shift(constant))
        mean, covariance = c.rate.deviation.joint(X)
        log_odds = c.rate.offset + _draw(mean, widening**2 * covariance, count, rng)
        varies = rng.random((count, 1)) < c.probability
        # Both have the constant's error.
        usual = g + warp.shift(constant + np.where(varies, c.rest - c.mean, 0.0))
        outliers = np.where(varies, c.size * expit(log_odds), 0.0)
        return self.parameters.payoff(warp.inverse(usual) + outliers)


def _draw(mean: Array, covariance: Array, count: int, rng: np.random.Generator) -> Array:
    """Return posterior draws (count, k) of a normal law, whose covariance may be indefinite."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return mean + rng.standard_normal((count, len(mean))) @ root.T


def condition(
    observations: Observations, pending: Array, parameters: ModelParameters, config: ModelConfig
) -> Posterior:
    """Return the posterior of one part given all payoffs, under parameters fitted to some of them.

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
    return Posterior(
        parameters, location.fit.posterior(), correction, residuals, extreme, weights, x < 0.0
    )


def interval(
    posterior: Posterior, X: Array, level: float, sway: Array | float = 0.0
) -> tuple[Array, Array, Array]:
    """Return posterior means, lower and upper ends of intervals for the mean payoff at X, (k,).

    In units of the payoff, larger is better; `level` is in (0, 1). Intervals are practical: their
    coverage was measured, not proved. They add what the bound on residuals hides, and `sway`,
    how far the mean moves without the most extreme payoff (`influence_of_most_extreme`).
    """
    mean, deviation = posterior.predict(X)
    factor = -posterior.widening * float(ndtri((1.0 - level) / 2.0))
    c, warp = posterior.correction, posterior.parameters.warp
    half = factor * deviation + sway
    slope = float(warp.shift_slope(np.array(c.mean)))
    lower, upper = mean - half - slope * c.hidden[0], mean + half + slope * c.hidden[1]
    return posterior.payoff(mean), posterior.payoff(lower), posterior.payoff(upper)


def influence_of_most_extreme(
    posterior: Posterior, observations: Observations, config: ModelConfig, X: Array
) -> Array:
    """Return how far posterior means at X's rows move without the most extreme payoff, (k,).

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
    """Return posterior means (k,) with the payoffs' sign, if these lie in [least, largest] > 0.

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
