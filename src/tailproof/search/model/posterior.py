"""The posterior of the mean payoff, given the model's parameters and all payoffs told.

Intervals are practical: their coverage was measured, not proved. An interval is as wide as the
posterior's, times a safety factor, and adds what the bound on single payoffs may hide of the mean
and how far the most extreme payoff moves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri, ndtri_exp

from tailproof.search.model.fit import loo_residuals, pseudo_observations, solve_m_estimate
from tailproof.search.model.gp import CONSTANT_VAR, GPPosterior, compute_features
from tailproof.search.model.parameters import ModelConfig, ModelParameters, Observations

Array = NDArray[np.float64]

# Features of the tail correction's process: it is known roughly only.
_TAIL_FEATURES = 96
# Intervals are this much wider than the posterior's, which knows neither that it was searched for
# its maximum nor that its kernel parameters are estimates; chosen by coverage on problems made for
# tuning.
_SAFETY = 1.3


@dataclass(frozen=True)
class TailPosterior:
    """The tail correction: a constant, and with some probability a deviation that varies."""

    mean: float  # of the constant
    variance: float  # of the constant; not in those of `predict`, since it is the same everywhere
    deviation: GPPosterior | None = None  # centered; None if there is none
    scale: float = 1.0  # unit of the deviation
    probability: float = 0.0  # that there is a deviation

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return the mean, and the variance of the deviation, at the rows of X (n, p)."""
        if self.deviation is None:
            return np.full(len(X), self.mean), np.zeros(len(X))
        mean, variance = self.deviation.predict(X)
        shift, p = self.scale * mean, self.probability
        within = p * self.scale**2 * variance
        return self.mean + p * shift, within + p * (1.0 - p) * shift**2


@dataclass(frozen=True)
class Posterior:
    """Posterior of f(x) = m(x) + s(x) (center + correction(x)), in standardized units."""

    parameters: ModelParameters  # of the last fit
    location: GPPosterior  # of m
    tail: TailPosterior  # of the correction
    clipped: NDArray[np.bool_]  # which payoffs have a residual that the robust loss limits, (n,)
    residuals: Array  # of the payoffs around the location, in units of s(x), (n,)

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation of f at the rows of X (n, p)."""
        parameters = self.parameters
        mean, variance = self.location.predict(X)
        correction, correction_variance = self.tail.predict(X)
        s = parameters.noise_scale.at(mean)
        correction_variance = correction_variance + self.tail.variance
        mean = mean + s * (parameters.psi.center + correction)
        return mean, np.sqrt(variance + s**2 * correction_variance)

    def ucb(self, X: Array, kappa: float) -> Array:
        """Return the upper confidence bound that the search maximizes at the rows of X (n, p).

        Whether the correction varies is not known. The bound is the larger one of two: `kappa`
        deviations above the mean if it does not, and if it does, the fewer deviations the less
        probable that is (`_adjusted_kappa`). For `kappa` 0 it is the mean over both cases.

        The uncertainty of the correction's constant c is one of s(x) c. What all points share of
        it does not affect the ranking, so only (s(x) - 1) c counts here: under heavy tails the
        whole would hide how much better some points are known than others.
        """
        parameters, tail = self.parameters, self.tail
        mean, variance = self.location.predict(X)
        s = parameters.noise_scale.at(mean)
        variance = variance + (s - 1.0) ** 2 * tail.variance
        mean = mean + s * (parameters.psi.center + tail.mean)
        if tail.deviation is None:
            return mean + kappa * np.sqrt(variance)
        shift, shift_variance = tail.deviation.predict(X)
        shift *= s * tail.scale
        if kappa == 0.0:
            return mean + tail.probability * shift
        varying = np.sqrt(variance + (s * tail.scale) ** 2 * shift_variance)
        return np.maximum(
            mean + kappa * np.sqrt(variance),
            mean + shift + _adjusted_kappa(kappa, tail.probability) * varying,
        )

    def ucb_gradient(self, x: Array, kappa: float) -> tuple[float, Array]:
        """Return `ucb` at one point x (p,), and its gradient."""
        parameters, tail = self.parameters, self.tail
        mean, variance, mean_gradient, variance_gradient = self.location.predict_gradient(x)
        s, slope = parameters.noise_scale.with_derivative(mean)
        s_gradient = slope * mean_gradient
        offset = parameters.psi.center + tail.mean
        mean_gradient = mean_gradient + s_gradient * offset
        mean += s * offset
        variance += (s - 1.0) ** 2 * tail.variance
        variance_gradient = variance_gradient + 2.0 * s_gradient * (s - 1.0) * tail.variance
        if tail.deviation is None:
            return _upper_confidence_bound(mean, mean_gradient, variance, variance_gradient, kappa)
        shift, shift_variance, shift_gradient, gradient = tail.deviation.predict_gradient(x)
        shift_gradient = tail.scale * (s_gradient * shift + s * shift_gradient)
        shift *= s * tail.scale
        if kappa == 0.0:
            p = tail.probability
            return mean + p * shift, mean_gradient + p * shift_gradient
        gradient = tail.scale**2 * s * (2.0 * s_gradient * shift_variance + s * gradient)
        shift_variance *= (s * tail.scale) ** 2
        constant = _upper_confidence_bound(mean, mean_gradient, variance, variance_gradient, kappa)
        varying = _upper_confidence_bound(
            mean + shift,
            mean_gradient + shift_gradient,
            variance + shift_variance,
            variance_gradient + gradient,
            _adjusted_kappa(kappa, tail.probability),
        )
        return max(constant, varying, key=lambda bound: bound[0])

    def bias(self, X: Array) -> Array:
        """Return how much of the mean the bound on single payoffs may hide, at the rows of X."""
        correction = self.parameters.tail_correction
        bias = 0.0 if correction is None else correction.bias
        return bias * self.parameters.noise_scale.at(self.location.predict(X)[0])

    def sample_means(self, X: Array, count: int, rng: np.random.Generator) -> Array:
        """Return joint draws of the mean payoff at the rows of X (k, p), (count, k).

        In units of the payoff, larger is better. Deviations from the mean are widened as those of
        intervals are; the constant of the tail correction and the bias are the same everywhere, up
        to the noise scale.
        """
        return _sample_means(self, X, count, rng)


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
    psi, noise_scale, kernel = parameters.psi, parameters.noise_scale, parameters.kernel
    raw = parameters.standardize(observations.payoffs)
    z = config.loss.prepare(raw)
    scales, start = np.ones(len(z)), np.full(len(z), float(np.median(z)))
    points, inducing = observations.points, parameters.inducing_points
    features = compute_features(config.layout, kernel, points, pending, inducing)
    if noise_scale.rate != 0.0:  # the scales depend on the location, and the location on them
        scales = noise_scale.at(solve_m_estimate(features.gp(scales), psi, z, scales, start))
    gp = features.gp(scales)
    fitted = solve_m_estimate(gp, psi, z, scales, start)
    location = gp.condition(pseudo_observations(psi, z, scales, fitted))
    residuals = (z - fitted) / scales
    left_out = loo_residuals(psi, residuals, gp.leverage())
    if config.loss.restores_mean:
        left_out, residuals = left_out + (raw - z) / scales, residuals + (raw - z) / scales
    tail = _condition_tail(observations, left_out, pending, parameters, config)
    return Posterior(parameters, location, tail, psi.clipped(residuals) | (raw != z), residuals)


def _condition_tail(
    observations: Observations,
    residuals: Array,
    pending: Array,
    parameters: ModelParameters,
    config: ModelConfig,
) -> TailPosterior:
    """Return the posterior of the tail correction given leave-one-out residuals, (n,)."""
    correction = parameters.tail_correction
    if correction is None:
        return TailPosterior(0.0, 0.0)
    excess = parameters.psi.excess(residuals)
    mean = float(np.mean(np.clip(excess, -correction.bound, correction.bound)))
    variance, outliers = correction.scale**2 / len(observations), correction.outliers
    if outliers is None:
        return TailPosterior(mean, variance)
    points, inducing, layout = observations.points, parameters.inducing_points, config.layout
    features = compute_features(layout, outliers.kernel, points, pending, inducing, _TAIL_FEATURES)
    values = outliers.scaled_excess(residuals, excess)
    deviation = features.gp(np.ones(len(values))).condition(values, centered=True)
    return TailPosterior(mean, variance, deviation, outliers.scale, outliers.probability)


def interval(
    posterior: Posterior, observations: Observations, config: ModelConfig, X: Array, level: float
) -> tuple[Array, Array]:
    """Return centers and half widths of intervals for the mean payoff at the rows of X, (k,) each.

    In units of the payoff, larger is better. The posterior has no pending trials, and was made from
    `observations` and `config`; `level` is in (0, 1).
    """
    mean, deviation = posterior.predict(X)
    parameters = posterior.parameters
    factor = -_SAFETY * float(ndtri((1.0 - level) / 2.0))
    sway = _influence_of_most_extreme(posterior, observations, config, X, mean)
    half = parameters.scale * (factor * deviation + posterior.bias(X) + sway)
    return parameters.location + parameters.scale * mean, half


def _influence_of_most_extreme(
    posterior: Posterior, observations: Observations, config: ModelConfig, X: Array, mean: Array
) -> Array:
    """Return how far the means (k,) at the rows of X move without the most extreme payoff.

    Only if it was clipped: one that is like the others is in the posterior's deviation.
    """
    extreme = int(np.argmax(np.abs(posterior.residuals)))
    if not posterior.clipped[extreme]:
        return np.zeros(len(X))
    kept = np.arange(len(observations)) != extreme
    others = Observations(observations.points[kept], observations.payoffs[kept])
    without = condition(others, others.points[:0], posterior.parameters, config)
    return np.abs(without.predict(X)[0] - mean)


def _sample_means(posterior: Posterior, X: Array, count: int, rng: np.random.Generator) -> Array:
    parameters, tail = posterior.parameters, posterior.tail
    s = parameters.noise_scale.at(posterior.location.predict(X)[0])
    deviations = _sample_deviations(posterior.location, X, count, rng)
    deviations += math.sqrt(tail.variance) * s * rng.standard_normal((count, 1))
    if tail.deviation is not None:
        shift = tail.scale * tail.deviation.predict(X)[0]
        varying = shift + tail.scale * _sample_deviations(tail.deviation, X, count, rng)
        varies = rng.random((count, 1)) < tail.probability
        deviations += s * (np.where(varies, varying, 0.0) - tail.probability * shift)
    bias = posterior.bias(X) / -float(ndtri(0.05))
    means = posterior.predict(X)[0] + _SAFETY * deviations + bias * rng.standard_normal((count, 1))
    return parameters.location + parameters.scale * means


def _sample_deviations(
    process: GPPosterior, X: Array, count: int, rng: np.random.Generator
) -> Array:
    """Return joint draws of a process less its posterior mean at the rows of X, (count, k)."""
    phi = process.basis.features(X)
    unexplained = np.maximum(1.0 - np.einsum("ij,ij->i", phi, phi), 0.0)
    constant = np.full((len(X), 1), math.sqrt(CONSTANT_VAR))
    rows = np.hstack([math.sqrt(process.signal_var) * phi, constant]) - process.origin
    half = rows @ process.inverse_factor.T
    explained = rng.standard_normal((count, half.shape[1])) @ half.T
    return explained + np.sqrt(process.signal_var * unexplained) * rng.standard_normal(
        (count, len(X))
    )
