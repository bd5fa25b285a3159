"""Fit the model's parameters to the payoffs told so far.

1. Location and scale: median and quartiles, so that all the rest is invariant to y -> a y + c.
2. The warp, by leave-one-out predictive density (`warp`).
3. In turns: kernel parameters by marginal likelihood, precisions of the payoffs by expectation
   maximization under the noise law, and the noise law from leave-one-out residuals (`noise`); or
   none, if the payoffs are exact.
4. The correction from location to mean (`mean_correction`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tailproof.search.model.constants import FIT, KERNEL, TAIL
from tailproof.search.model.correlation import KernelParameters
from tailproof.search.model.gp import Design, WeightedFit, inducing_points_for, make_design
from tailproof.search.model.hyperparameters import (
    Sample,
    evenly_spaced,
    maximize_posterior,
    prior_median,
)
from tailproof.search.model.mean_correction import Residuals, learn_correction, tuning_free_bound
from tailproof.search.model.noise import NoiseLaw, fit_noise_law
from tailproof.search.model.parameters import (
    Correction,
    ModelConfig,
    ModelParameters,
    Observations,
)
from tailproof.search.model.warp import (
    LOG,
    LoggedPayoffs,
    Warp,
    choose_warp,
    location_and_spread,
    standardized_warp,
)

Array = NDArray[np.float64]


def next_refit(count: int) -> int:
    """Return the number of payoffs at which the model is fitted again after a fit at `count`."""
    return max(count + 2, math.ceil(1.2 * count))


def fit_model(
    observations: Observations, previous: ModelParameters | None, config: ModelConfig
) -> ModelParameters:
    """Fit the model; the search for kernel parameters starts from those of `previous`."""
    location, scale = location_and_spread(observations.payoffs)
    count, layout = len(observations), config.layout
    kernel, law = prior_median(config.prior, layout.n_lengthscales), NoiseLaw()
    if previous is not None:
        kernel, law = previous.kernel, previous.law
    model = ModelParameters(
        count, location, scale, Warp(), kernel, law, Correction(), np.ones(count)
    )
    t = model.standardize(observations.payoffs)
    if config.truncates:
        bound = tuning_free_bound(t, TAIL.exceedances)
        model = replace(model, law=NoiseLaw(), truncation=bound or math.inf)
    t = model.truncate(t)
    model = replace(model, warp=_fit_warp(t, observations.points, kernel, scale, config))
    rows = evenly_spaced(count, FIT.payoffs)
    rounds = FIT.rounds_at_first if previous is None else FIT.rounds
    rounds = 1 if config.noise == "gaussian" else rounds
    sample = observations.take(rows)
    model = _fit_kernel_and_law(sample, t[rows], model, rounds, config)
    exact = config.noise == "learnt" and model.kernel.noise_var <= FIT.no_noise
    if exact:
        # A law with heavy tails takes for outliers what a process without noise may explain.
        plain = replace(config, noise="gaussian")
        without = _fit_kernel_and_law(sample, t[rows], replace(model, law=NoiseLaw()), 1, plain)
        exact = without.kernel.noise_var <= FIT.no_noise
        model = without if exact else model
    if len(rows) < count:
        inducing = inducing_points_for(layout, model.kernel.lengthscales, observations.points)
        model = replace(model, inducing_points=inducing)
    location_fit = fit_location(observations, t, np.ones(count), model, config, FIT.steps)
    model = replace(model, precision=location_fit.relative_precision)
    if not config.corrects_mean or exact:
        return model
    lengthscales: tuple[Array, ...] = ()
    if config.warp in ("learnt", "identity"):  # outliers add to payoffs, not to their logarithms
        median = prior_median(config.prior, layout.n_lengthscales)
        lengthscales = (model.kernel.lengthscales, median.lengthscales)
    residuals = location_fit.relative_residuals(observations.points, model)
    return replace(model, correction=learn_correction(residuals, layout, lengthscales))


def _fit_kernel_and_law(
    observations: Observations, t: Array, model: ModelParameters, rounds: int, config: ModelConfig
) -> ModelParameters:
    """Return the model with kernel parameters, inducing points and noise law, fitted in turns."""
    layout, points, kernel, law = config.layout, observations.points, model.kernel, model.law
    z, known = model.warp.forward(t), known_variances(observations, model, t)
    if config.noise == "learnt":
        z = limit_extremes(z)
    single, u, inducing = np.isnan(known), np.ones(len(t)), None
    if config.noise != "gaussian":
        # At first a far payoff may be an outlier: it counts as under a Student-t law.
        center, spread = location_and_spread(z)
        u = 5.0 / (4.0 + ((z - center) / spread) ** 2)
    for turn in range(rounds):
        variances = np.where(single, 1.0 / u, np.maximum(known / kernel.noise_var, 1e-12))
        sample = Sample.summarize(points, z, variances)
        steps = FIT.next_steps if turn else FIT.first_steps
        kernel = maximize_posterior(layout, sample, config.prior, kernel, steps)
        inducing = inducing_points_for(layout, kernel.lengthscales, points)
        design = make_design(layout, kernel, points, points[:0], inducing)
        for _ in range(FIT.alternations if config.noise != "gaussian" else 0):
            u, fitted = reweigh(design, kernel.noise_var, law, z, u, known, FIT.steps)
            kernel, law, u = _fit_law(fitted, z, kernel, law, u, single, config)
    return replace(model, kernel=kernel, law=law, inducing_points=inducing)


@dataclass(frozen=True)
class LocationFit:
    """The location GP given all payoffs."""

    z: Array  # warped payoffs, (n,)
    limited: Array  # as the process sees them: see `limit_extremes`, (n,)
    known: Array  # known noise variances; NaN for single payoffs, (n,)
    relative_precision: Array  # (n,)
    fit: WeightedFit

    def relative_residuals(self, points: Array, model: ModelParameters) -> Residuals:
        """Return the relative leave-one-out residuals of the single payoffs."""
        single = np.isnan(self.known)
        residuals, variance = self.fit.leave_one_out(self.limited)
        residuals = residuals + self.z - self.limited
        values = model.warp.relative_residual(residuals[single])
        locations = model.warp.inverse((self.z - residuals)[single])
        slopes = np.exp(-model.warp.log_slope(locations))
        noise = float(model.kernel.noise_var * model.law.mean_square_scale)
        return Residuals(points[single], values, variance[single], slopes, noise)


def fit_location(
    observations: Observations,
    t: Array,
    u: Array,
    model: ModelParameters,
    config: ModelConfig,
    steps: int,
    pending: Array | None = None,
) -> LocationFit:
    """Return the location GP given standardized payoffs t (n,), by EM steps from precisions u.

    A mean with a standard error tells the mean payoff, not the location: it is shifted.
    """
    points, kernel = observations.points, model.kernel
    waiting = points[:0] if pending is None else pending
    known = known_variances(observations, model, t)
    shift = float(model.warp.shift(np.array(model.correction.mean)))
    z = model.warp.forward(t)
    z = np.where(np.isnan(known), z, z - shift)
    design = make_design(config.layout, kernel, points, waiting, model.inducing_points)
    limited = limit_extremes(z) if config.noise == "learnt" else z
    u, fitted = reweigh(design, kernel.noise_var, model.law, limited, u, known, steps)
    return LocationFit(z, limited, known, u, fitted)


def limit_extremes(z: Array) -> Array:
    """Return warped payoffs to fit, (n,), of which the best are near the others.

    One payoff in twenty, and one more, may lie above the others, but by at most half a robust
    standard deviation. A process of few payoffs could otherwise take a single huge one for an
    effect of the parameters, and the search would stay there. What is taken off is in the residuals
    that correct the mean.

    Examples
    --------
    >>> limit_extremes(np.array([0.0, 1.0, 2.0, 3.0, 1e12])).round(2)
    array([0.  , 1.  , 2.  , 3.  , 3.74])
    """
    beyond = 1 + len(z) // FIT.payoffs_per_extreme
    if len(z) <= 2 * beyond:
        return z
    most = FIT.beyond * location_and_spread(z)[1]
    return np.minimum(z, np.sort(z)[-1 - beyond] + most)


def _fit_warp(
    t: Array, points: Array, kernel: KernelParameters, unit: float, config: ModelConfig
) -> Warp:
    """Return the warp of the fit: chosen for the payoffs, or that of the configuration."""
    if config.warp == "learnt":
        rows = evenly_spaced(len(t), KERNEL.rows)
        X, t = points[rows], t[rows]
        inverse = config.layout.inverse_lengthscales(kernel.lengthscales)
        return choose_warp(t, config.layout.correlations(X, X, inverse))
    if config.warp != "identity":
        return LoggedPayoffs(LOG, scale=unit if config.warp == "minus logarithms" else -unit)
    return standardized_warp(Warp(), t)


def _fit_law(
    fitted: WeightedFit,
    z: Array,
    kernel: KernelParameters,
    law: NoiseLaw,
    u: Array,
    single: NDArray[np.bool_],
    config: ModelConfig,
) -> tuple[KernelParameters, NoiseLaw, Array]:
    """Return the fit's kernel, law and precisions from its leave-one-out residuals.

    The law is in units of the root of the noise variance, in which its mean squared scale is 1.
    """
    residuals, variance = fitted.leave_one_out(z)
    share = noise_share(kernel, law, variance)
    x = residuals * np.sqrt(share / kernel.noise_var)
    if not single.any():
        return kernel, law, u
    # As for the kernel parameters, no point counts for more than a few payoffs.
    which = fitted.design.site_of_payoff[single]
    weights = share[single] * np.minimum(
        1.0, (KERNEL.dof_per_point + 1) / np.bincount(which)[which]
    )
    law = fit_noise_law(x[single], weights, split=config.noise == "learnt")
    square = law.mean_square_scale
    root = math.sqrt(square)
    low, high = law.scale_lower / root, law.scale_upper / root
    law = replace(law, scale_lower=low, scale_upper=high)
    noise_var = min(max(kernel.noise_var * square, FIT.least_noise), FIT.largest_noise)
    return replace(kernel, noise_var=noise_var), law, u * square


def noise_share(kernel: KernelParameters, law: NoiseLaw, variance: Array) -> Array:
    """Return for the fit of the noise law its share in residual variances, (n,)."""
    noise = kernel.noise_var * law.mean_square_scale
    return noise / (noise + variance)


def known_variances(observations: Observations, model: ModelParameters, t: Array) -> Array:
    """Return for the fit the noise variances of means with standard errors, in warped units, (n,).

    NaN for single payoffs. No mean is known better than a process without noise is.
    """
    slope = np.exp(model.warp.log_slope(t))
    variances: Array = (slope * model.standardize_error(observations.sem)) ** 2
    return np.maximum(variances, FIT.least_noise)


def reweigh(
    design: Design, noise_var: float, law: NoiseLaw, z: Array, u: Array, known: Array, steps: int
) -> tuple[Array, WeightedFit]:
    """Return the payoffs' relative precisions u and the fit under them, by EM steps from `u`."""
    single = np.isnan(known)
    u = np.where(single, u, noise_var / known)
    fitted = design.fit(u / noise_var, z)
    for _ in range(steps if math.isfinite(min(law.dof_lower, law.dof_upper)) else 0):
        x = (z - fitted.fitted) / math.sqrt(noise_var)
        u = np.where(single, law.weights(x, fitted.variance / noise_var), u)
        fitted = design.fit(u / noise_var, z)
    return u, fitted
