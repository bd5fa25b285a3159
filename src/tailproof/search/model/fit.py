"""Fit the model's parameters to the payoffs told so far, robustly.

1. Location and scale: median and quartiles, so that all the rest is invariant to y -> a y + c.
2. Kernel parameters and psi in turns: psi from the residuals of an M-estimate of the location GP,
   the kernel by marginal likelihood of the pseudo-observations that psi makes of the payoffs.
3. The noise scale: whether the size of the residuals grows with the location.
4. The tail correction: the mean of what psi clips (`tail_correction`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tailproof.search.model.correlation import KernelParameters
from tailproof.search.model.gp import Smoother, SparseGP, compute_features, inducing_points_for
from tailproof.search.model.hyperparameters import maximize_posterior, prior_median
from tailproof.search.model.parameters import ModelConfig, ModelParameters, NoiseScale, Observations
from tailproof.search.model.robust_loss import (
    FEWEST,
    LEAST_HALF_WIDTH,
    PsiFunction,
    StudentT,
    WindowPsi,
    asymptotic_variance,
    window_around_median,
)
from tailproof.search.model.tail_correction import (
    balance,
    learn_tail_correction,
    likelihood_rows,
    outlier_window,
)

Array = NDArray[np.float64]

# Alternations of location and psi for one set of kernel parameters.
_ALTERNATIONS = 5
# Fewest payoffs that a noise scale is fitted to.
_FEWEST_FOR_NOISE_SCALE = 20
# The psi of Student-t is only used if at least this share of the outliers lies on either side, and
# if at least this share of what outliers add cancels (`balance`).
_LEAST_SHARE_ON_EITHER_SIDE, _LEAST_BALANCE = 0.25, 0.5
# A leverage near 1 says that the payoff stands alone: its residual says nothing about noise.
_LARGEST_LEVERAGE = 0.8
# Most steps of the penalized equations for one psi, and the change at which they stop.
_STEPS, _TOLERANCE = 40, 1e-5
# A step moves no further than psi is wide, so psi is approached through wider ones, each so many
# times as wide as the next.
_WIDENING = 4.0
_MOST_STAGES = 12


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


@dataclass(frozen=True)
class _RobustFit:
    """An M-estimate of the location at the payoffs' points, and psi; arrays are (n,)."""

    z: Array  # standardized payoffs as the fit sees them
    removed: Array  # what `RobustLoss.prepare` removed from them
    scales: Array  # the noise scale s at their points
    psi: PsiFunction  # of the residuals
    fitted: Array  # the location m at the payoffs' points
    residuals: Array  # leave-one-out (`loo_residuals`), in units of s


def fit_model(
    observations: Observations, previous: ModelParameters | None, config: ModelConfig
) -> ModelParameters:
    """Fit the model; the search for kernel parameters starts from those of `previous`."""
    location, scale = location_and_scale(observations.payoffs)
    kernel = _initial_kernel(previous, scale, config)
    inducing = inducing_points_for(config.layout, kernel.lengthscales, observations.points)
    count = len(observations)
    psi: PsiFunction = WindowPsi()
    model = ModelParameters(count, location, scale, kernel, psi, NoiseScale(), None, inducing)
    raw = model.standardize(observations.payoffs)
    z = config.loss.prepare(raw)
    removed = raw - z if config.loss.restores_mean else np.zeros(count)
    fit = _RobustFit(z, removed, np.ones(count), model.psi, z, np.zeros(count))
    for _ in range(3 if previous is None else 2):
        fit = _alternate_location_and_psi(observations, fit, model, config)
        if config.loss.restores_mean:
            noise_scale = _fit_noise_scale(fit.fitted, fit.residuals * fit.scales)
            model = replace(model, noise_scale=noise_scale)
            fit = replace(fit, scales=noise_scale.at(fit.fitted))
            fit = _alternate_location_and_psi(observations, fit, model, config)
        model = replace(model, kernel=_fit_kernel(observations, fit, model, config))
    fit = _alternate_location_and_psi(observations, fit, model, config)
    if not config.loss.restores_mean:
        return replace(model, psi=fit.psi)
    psi = choose_psi(fit.psi, fit.residuals)
    if psi != fit.psi:
        fit = _refit_location(observations, replace(fit, psi=psi), model, config)
        model = replace(model, kernel=_fit_kernel(observations, fit, model, config))
        fit = _refit_location(observations, fit, model, config)
    model = replace(model, psi=psi)
    correction = learn_tail_correction(observations, fit.residuals, model, config)
    return replace(model, tail_correction=correction)


def _initial_kernel(
    previous: ModelParameters | None, scale: float, config: ModelConfig
) -> KernelParameters:
    """Return where the search for kernel parameters starts: the last ones in the new units."""
    if previous is None:
        return prior_median(config.prior, config.layout.n_lengthscales)
    # Rounded for the same reason as standardized payoffs.
    ratio = float(f"{min(max(previous.scale / scale, 1e-9), 1e9):.6g}") ** 2
    signal, noise = previous.kernel.signal_var * ratio, previous.kernel.noise_var * ratio
    return KernelParameters(
        previous.kernel.lengthscales, min(max(signal, 1e-3), 1e2), min(max(noise, 1e-3), 1e2)
    )


def _fit_kernel(
    observations: Observations, fit: _RobustFit, model: ModelParameters, config: ModelConfig
) -> KernelParameters:
    """Return the most likely kernel parameters for the pseudo-observations of a fit."""
    rows = likelihood_rows(len(observations))
    payoffs = pseudo_observations(fit.psi, fit.z, fit.scales, fit.fitted)[rows]
    X, relative_var = observations.points[rows], fit.scales[rows] ** 2
    return maximize_posterior(config.layout, X, payoffs, relative_var, config.prior, model.kernel)


def _location_gp(
    observations: Observations, scales: Array, model: ModelParameters, config: ModelConfig
) -> SparseGP:
    points, inducing = observations.points, model.inducing_points
    return compute_features(config.layout, model.kernel, points, points[:0], inducing).gp(scales)


def _refit_location(
    observations: Observations, fit: _RobustFit, model: ModelParameters, config: ModelConfig
) -> _RobustFit:
    """Return the fit for its psi and the model's kernel parameters."""
    gp = _location_gp(observations, fit.scales, model, config)
    fitted = solve_m_estimate(gp, fit.psi, fit.z, fit.scales, fit.fitted)
    residuals = loo_residuals(fit.psi, (fit.z - fitted) / fit.scales, gp.leverage())
    return replace(fit, fitted=fitted, residuals=residuals + fit.removed / fit.scales)


def _alternate_location_and_psi(
    observations: Observations, fit: _RobustFit, model: ModelParameters, config: ModelConfig
) -> _RobustFit:
    """Return the fit with location and psi for the model's kernel parameters, found in turns.

    A window's position and the constant of the location could drift together without end, so each
    turn begins with residuals of median zero.
    """
    z, scales = fit.z, fit.scales
    gp = _location_gp(observations, scales, model, config)
    leverage = gp.leverage()
    fitted = np.full(len(z), float(np.median(z)))
    psi = config.loss.begin((z - fitted) / scales)
    for _ in range(_ALTERNATIONS):
        fitted = solve_m_estimate(gp, psi, z, scales, fitted)
        residuals = loo_residuals(psi, (z - fitted) / scales, leverage) + fit.removed / scales
        if config.loss.restores_mean:
            median = float(np.median(residuals))
            fitted, residuals = fitted + median * scales, residuals - median
        psi = config.loss.learn(residuals)
    return replace(fit, psi=psi, fitted=fitted, residuals=residuals)


def _fit_noise_scale(fitted: Array, residuals: Array) -> NoiseScale:
    """Return how the size of residuals grows with the location: a line through ln |e|, shrunk.

    The logarithm of a residual's size has light tails whatever the noise; tiny ones are rounded up
    so that they do not weigh more than large ones. A slope within two standard errors of 0 counts
    as 0, and larger ones are shrunk towards it.
    """
    size = np.abs(residuals - np.median(residuals))
    usual = float(np.median(size))
    deviation = fitted - np.mean(fitted)
    square = float(deviation @ deviation)
    if usual == 0.0 or square == 0.0 or len(fitted) < _FEWEST_FOR_NOISE_SCALE:
        return NoiseScale()
    logs = np.log(np.clip(size / usual, 0.1, 1e3))
    logs -= np.mean(logs)
    rate = float(deviation @ logs) / square
    error = math.sqrt(float(np.mean((logs - rate * deviation) ** 2)) / square)
    shrinkage = max(1.0 - (2.0 * error / rate) ** 2, 0.0) if rate != 0.0 else 0.0
    return NoiseScale(rate * shrinkage, float(np.mean(fitted)))


def choose_psi(psi: PsiFunction, residuals: Array) -> PsiFunction:
    """Return the psi of a Student-t law, 4 degrees of freedom, if it estimates better than `psi`.

    Only where outliers lie on both sides, and those on one side do not outweigh the others by more
    than chance may: one-sided outliers are where the mean lies away from the median.

    Examples
    --------
    >>> from tailproof.search.model.robust_loss import AdaptiveWindow
    >>> e = np.sinh(np.linspace(-3.0, 3.0, 99))
    >>> type(choose_psi(AdaptiveWindow().learn(e), e)).__name__
    'StudentTPsi'
    """
    usual = window_around_median(residuals)
    below, above = np.sum(residuals < usual.lower), np.sum(residuals > usual.upper)
    too_few = len(residuals) < FEWEST or usual.width <= 2.0 * LEAST_HALF_WIDTH
    if too_few or min(below, above) < max(_LEAST_SHARE_ON_EITHER_SIDE * (below + above), 1.0):
        return psi
    excess = outlier_window(psi, residuals).excess(residuals)
    size = float(np.median(np.abs(excess[excess != 0.0]))) if excess.any() else 0.0
    if balance(np.clip(excess, -size, size)) < _LEAST_BALANCE:
        return psi
    student_t = StudentT().learn(residuals)
    center, window = float(np.mean(student_t(residuals))), WindowPsi(usual.lower, usual.upper)
    student_t = replace(student_t, center=center, window=window)
    better = asymptotic_variance(student_t, residuals) < asymptotic_variance(psi, residuals)
    return student_t if better else psi


def solve_m_estimate(
    gp: SparseGP, psi: PsiFunction, z: Array, scales: Array, start: Array
) -> Array:
    """Return fitted values that solve the penalized equations of psi, from `start`, (n,).

    Each step is least squares on m + s psi((z - m) / s) with noise variance slope x noise: psi's
    derivative is at most 1, so the penalized criterion falls at every step (majorization), and its
    minimum is the fit to the pseudo-observations. Steps are accelerated as Nesterov's.

    Where psi redescends, a hill observed once or twice could count as outliers: the solution is
    sought from that of `psi.start`, which has only one.
    """
    smoother = gp.smoother(gp.kernel.noise_var * psi.slope)
    if psi == WindowPsi():
        return smoother.fit(z)
    distance = float(np.median(np.abs(z - start) / scales))
    first, fitted = psi.start, start
    stages = max(math.ceil(math.log(max(4.0 * distance / first.width, 1.0), _WIDENING)), 0)
    for stage in range(min(stages, _MOST_STAGES), -1, -1):
        fitted = _m_estimate_from(smoother, first.widened(_WIDENING**stage), z, scales, fitted)
    return fitted if first == psi else _m_estimate_from(smoother, psi, z, scales, fitted)


def _m_estimate_from(
    smoother: Smoother, psi: PsiFunction, z: Array, scales: Array, start: Array
) -> Array:
    fitted, ahead, momentum = start, start, 1.0
    for _ in range(_STEPS):
        new = smoother.fit(ahead + scales * psi((z - ahead) / scales))
        next_momentum = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
        change = new - fitted
        if float((ahead - new) @ change) > 0.0:  # it went too far: restart the acceleration
            next_momentum = 1.0
        ahead = new + (momentum - 1.0) / next_momentum * change
        fitted, momentum = new, next_momentum
        if float(np.abs(change).max(initial=0.0)) < _TOLERANCE:
            break
    return fitted


def pseudo_observations(psi: PsiFunction, z: Array, scales: Array, fitted: Array) -> Array:
    """Return m + s psi(e) / slope, whose least-squares fit is the M-estimate m, (n,)."""
    return fitted + scales * psi((z - fitted) / scales) / psi.slope


def loo_residuals(psi: PsiFunction, residuals: Array, leverage: Array) -> Array:
    """Return the residuals around fits that leave the payoff itself out, (n,).

    The fit is linear in the pseudo-observations, so without payoff i it moves, at its point, by
    h_i / (1 - h_i) times psi(e_i) / slope, h_i the leverage.
    """
    h = np.minimum(leverage, _LARGEST_LEVERAGE)
    return residuals + h / (1.0 - h) * psi(residuals) / psi.slope
