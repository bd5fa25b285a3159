"""Fit the model's parameters to the payoffs told so far.

1. Location and scale: median and quartiles, so that all the rest is invariant to y -> a y + c.
2. The warp, by leave-one-out predictive density (`warp`).
3. In turns: kernel parameters by marginal likelihood, precisions of the payoffs by expectation
   maximization under the noise law, and the noise law from leave-one-out residuals (`noise`).
4. The correction from location to mean (`mean_correction`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tailproof.search.model.constants import FIT, TAIL
from tailproof.search.model.correlation import KernelParameters
from tailproof.search.model.gp import Design, WeightedFit, inducing_points_for, make_design
from tailproof.search.model.hyperparameters import (
    Sample,
    likelihood_rows,
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
from tailproof.search.model.warp import Warp, choose_warp, standardized_warp

Array = NDArray[np.float64]


def next_refit(count: int) -> int:
    """Return the number of payoffs at which the fit after one at `count` is due."""
    return max(count + 2, math.ceil(1.2 * count))


def location_and_scale(payoffs: Array) -> tuple[float, float]:
    """Return the median and a robust standard deviation of payoffs in the order they came.

    A search that has converged sees the same mean again and again: the quartiles of all its payoffs
    would shrink to the noise. So the scale is the largest of several: of all payoffs, and of the
    first half, quarter and so on, down to eight. Of the two quartiles' distances from the median
    the smaller one counts, so that penalties on one side do not. If all coincide, the least
    distance from the median is used.

    Examples
    --------
    >>> location_and_scale(np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0]))
    (1.0, 8.0)
    """
    median, count = float(np.median(payoffs)), len(payoffs)
    scales = []
    while count >= min(8, len(payoffs)):
        low, half, high = np.quantile(payoffs[:count], [0.25, 0.5, 0.75])
        smaller, larger = sorted([float(half - low), float(high - half)])
        scales.append((smaller if smaller > 0.0 else larger) / 0.6745)
        count //= 2
    if max(scales) > 0.0:
        return median, max(scales)
    distances = np.abs(payoffs - median)
    positive = distances[distances > 0.0]
    return median, float(positive.min()) if len(positive) else 1.0


def fit_model(
    observations: Observations, previous: ModelParameters | None, config: ModelConfig
) -> ModelParameters:
    """Fit the model; the search for kernel parameters starts from those of `previous`."""
    location, scale = location_and_scale(observations.payoffs)
    count, layout = len(observations), config.layout
    kernel = prior_median(config.prior, layout.n_lengthscales)
    law, correction = NoiseLaw(), Correction()
    if previous is not None:
        kernel, law = previous.kernel, previous.law
    model = ModelParameters(count, location, scale, Warp(), kernel, law, correction, np.ones(count))
    t = model.standardize(observations.payoffs)
    points, D = observations.points, np.ones(count)
    if is_sparse(t):
        config = replace(config, warp="identity", noise="gaussian", corrects_mean=False)
        model = replace(model, law=NoiseLaw(), truncation=tuning_free_bound(t, TAIL.exceedances))
        law = model.law
    model = replace(model, warp=_fit_warp(model.truncate(t), points, kernel, config))
    z = model.warp.forward(model.truncate(t))
    for _ in range(FIT.rounds_at_first if previous is None else FIT.rounds):
        known = known_variances(observations, model, t)
        single = np.isnan(known)
        variances = np.where(single, D, known / kernel.noise_var)
        sample = Sample.summarize(points, z, variances)
        kernel = maximize_posterior(layout, sample, config.prior, kernel)
        inducing = inducing_points_for(layout, kernel.lengthscales, points)
        design = make_design(layout, kernel, points, points[:0], inducing)
        for _ in range(FIT.alternations):
            u, fitted = reweigh(design, kernel.noise_var, law, z, 1.0 / D, known, FIT.steps)
            if config.noise != "gaussian":
                kernel, law, u = _fit_law(fitted, z, kernel, law, u, single, config)
            D = 1.0 / u
        model = replace(model, kernel=kernel, law=law, precision=u, inducing_points=inducing)
    if not config.corrects_mean:
        return model
    residuals = relative_residuals(observations, model, fitted, z, known)
    usual = prior_median(config.prior, layout.n_lengthscales).lengthscales
    return replace(
        model, correction=learn_correction(residuals, layout, (kernel.lengthscales, usual))
    )


def is_sparse(t: Array) -> bool:
    """Tell whether most payoffs are equal, as where most users buy nothing.

    A mode says nothing of the mean then: the mean is estimated from truncated payoffs directly.
    """
    _, ties = np.unique(t, return_counts=True)
    return len(ties) > 1 and 2 * int(ties.max()) > len(t)


def _fit_warp(t: Array, points: Array, kernel: KernelParameters, config: ModelConfig) -> Warp:
    if config.warp == "learnt":
        rows = likelihood_rows(len(t))
        X, t = points[rows], t[rows]
        inverse = config.layout.inverse_lengthscales(kernel.lengthscales)
        return choose_warp(t, config.layout.correlations(X, X, inverse))
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
    """Return kernel, law and precisions after a fit of the noise law to leave-one-out residuals.

    The law is in units of the root of the noise variance, in which its mean squared scale is 1.
    """
    residuals, variance = fitted.leave_one_out(z)
    share = noise_share(kernel, law, variance)
    x = residuals * np.sqrt(share / kernel.noise_var)
    if not single.any():
        return kernel, law, u
    law = fit_noise_law(x[single], share[single], split=config.noise == "learnt")
    square = law.mean_square_scale
    root = math.sqrt(square)
    low, high = law.scale_lower / root, law.scale_upper / root
    law = replace(law, scale_lower=low, scale_upper=high)
    noise_var = min(max(kernel.noise_var * square, FIT.least_noise), FIT.largest_noise)
    return replace(kernel, noise_var=noise_var), law, u * square


def noise_share(kernel: KernelParameters, law: NoiseLaw, variance: Array) -> Array:
    """Return the share of the noise in the variance of leave-one-out residuals, (n,)."""
    noise = kernel.noise_var * law.mean_square_scale
    return noise / (noise + variance)


def known_variances(observations: Observations, model: ModelParameters, t: Array) -> Array:
    """Return the noise variances of means with known standard errors in warped units, (n,).

    NaN for single payoffs. No mean is known better than a process without noise is.
    """
    slope = np.exp(model.warp.log_slope(t))
    variances: Array = (slope * model.standardize_error(observations.sem)) ** 2
    return np.maximum(variances, FIT.least_noise)


def reweigh(
    design: Design, noise_var: float, law: NoiseLaw, z: Array, u: Array, known: Array, steps: int
) -> tuple[Array, WeightedFit]:
    """Return relative precisions u of payoffs and the fit under them, by EM steps from `u`."""
    single = np.isnan(known)
    u = np.where(single, u, noise_var / known)
    fitted = design.fit(u / noise_var, z)
    for _ in range(steps if math.isfinite(min(law.dof_lower, law.dof_upper)) else 0):
        x = (z - fitted.fitted) / math.sqrt(noise_var)
        u = np.where(single, law.weights(x, fitted.variance / noise_var), u)
        fitted = design.fit(u / noise_var, z)
    return u, fitted


def relative_residuals(
    observations: Observations,
    model: ModelParameters,
    fitted: WeightedFit,
    z: Array,
    known: Array,
) -> Residuals:
    """Return the relative leave-one-out residuals of the single payoffs."""
    single = np.isnan(known)
    residuals, variance = fitted.leave_one_out(z)
    values = model.warp.relative_residual(residuals[single])
    noise = float(model.kernel.noise_var * model.law.mean_square_scale)
    return Residuals(observations.points[single], values, variance[single], noise)
