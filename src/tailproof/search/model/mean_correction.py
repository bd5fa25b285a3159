"""From the location to the mean: the mean of the residuals, and how it varies over the space.

The location GP follows the mode of the noise. The mean payoff is

    f(x) = k(g(x)) + k'(g(x)) c(x),    c(x) = E[r | x],    r_i = (t_i - k(g_i)) / k'(g_i),

k the inverse of the warp and g_i the leave-one-out location (Duan, 1983, for a constant c: the
smearing estimate). Residuals are truncated at a bound that grows with the number of payoffs
(adaptive truncation, Wang et al., 2021), so that no single payoff decides and the target remains
the mean. Whether c varies is decided by the marginal likelihood of a Gaussian process.

A residual says nothing about the noise where the location is uncertain: it counts with the share
of the noise in its variance.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from tailproof.search.model.constants import CONSTANT_VAR, KERNEL, TAIL
from tailproof.search.model.correlation import KernelLayout, KernelParameters
from tailproof.search.model.gp import GPPosterior, make_design
from tailproof.search.model.hyperparameters import evenly_spaced, log_marginal_likelihood
from tailproof.search.model.parameters import Correction

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Residuals:
    """Relative leave-one-out residuals of payoffs, with the weights they count with."""

    points: Array  # (n, p)
    values: Array  # (n,)
    variances: Array  # of the location that they are residuals from, (n,)
    noise_var: float  # variance of the noise's core

    def weights(self, scale: float) -> Array:
        """Return the share of the noise in the residuals' variances, for noise of this scale."""
        return scale**2 / (scale**2 + self.variances)


@dataclass(frozen=True)
class CorrectionPosterior:
    """The correction: a constant, and with some probability a deviation that varies."""

    mean: float = 0.0  # of the constant
    variance: float = 0.0  # of the constant, the same everywhere
    bias: float = 0.0  # how much of the mean the bound may hide
    deviation: GPPosterior | None = None  # centered; None if there is none
    scale: float = 1.0  # unit of the deviation
    probability: float = 0.0  # that there is a deviation


def learn_correction(
    residuals: Residuals, layout: KernelLayout, lengthscales: tuple[Array, ...]
) -> Correction:
    """Return bounds and constant of the correction, and whether and how it varies.

    `lengthscales` are those that the process of a varying correction may have.
    """
    values, weights = residuals.values, residuals.weights(math.sqrt(residuals.noise_var))
    total = float(weights.sum())
    center = float(np.median(values))
    x = values - center
    deviation = 1.4826 * float(np.median(np.abs(x)))
    # With few residuals, a single one may move the mean by about two standard errors.
    bound = tuning_free_bound(x, TAIL.exceedances, 2.0 * math.sqrt(len(x)) * deviation)
    if bound == 0.0 or total <= 0.0:
        return Correction(center=center, mean=center)
    mean = center + float(weights @ np.clip(x, -bound, bound)) / total
    found = Correction(bound, center, mean)
    for least in (0.0, TAIL.outlier * deviation):
        varying_bound = _varying_bound(x, least)
        if varying_bound == 0.0:
            continue
        truncated = _truncate(x, least, varying_bound)
        truncated -= float(weights @ truncated) / total
        scale = math.sqrt(float(weights @ truncated**2) / total)
        # Where large residuals are seen although the location is known, they are noise elsewhere.
        kernel, log_odds = log_odds_of_variation(
            residuals.points, truncated / scale, residuals.weights(scale), layout, lengthscales
        )
        prior = TAIL.log_odds if least == 0.0 else TAIL.outlier_log_odds * balance(truncated)
        probability = float(expit(log_odds + prior))
        if probability > found.probability:
            found = Correction(
                bound, center, mean, least, varying_bound, scale, kernel, probability
            )
    return found


def _varying_bound(x: Array, least: float) -> float:
    """Return the bound of residuals x (n,) of which only those beyond `least` count.

    For all of them, adaptive truncation with more exceedances than for the constant; for outliers
    a quantile of their sizes that slowly tends to 1.
    """
    if least == 0.0:
        return tuning_free_bound(x, TAIL.exceedances + math.sqrt(len(x)))
    sizes = np.abs(x)[np.abs(x) > least]
    if not len(sizes):
        return 0.0
    return float(np.quantile(sizes, max(0.5, 1.0 - 2.0 / math.sqrt(len(sizes)))))


def _truncate(x: Array, least: float, bound: float) -> Array:
    """Return residuals truncated at -+ bound, and 0 for those within `least`, (n,)."""
    return np.where(np.abs(x) > least, np.clip(x, -bound, bound), 0.0)


def balance(values: Array) -> float:
    """Return how far values (n,) of a tail cancel: from near 0, many of one sign, to 1."""
    return 1.0 - one_sided(values)


def condition_correction(
    residuals: Residuals,
    correction: Correction,
    layout: KernelLayout,
    pending: Array,
    inducing_points: Array | None,
) -> CorrectionPosterior:
    """Return the posterior of the correction given all residuals."""
    if correction.bound == 0.0:
        return CorrectionPosterior(correction.mean)
    x, weights = residuals.values - correction.center, residuals.weights(correction.scale)
    total = float(weights.sum())
    clipped = np.clip(x, -correction.bound, correction.bound)
    mean = float(weights @ clipped) / total
    variance = float((weights**2) @ (clipped - mean) ** 2) / total**2
    bias = correction.bound * TAIL.exceedances / len(x) * one_sided(clipped)
    mean += correction.center
    if correction.kernel is None or correction.probability < TAIL.least_probability:
        return CorrectionPosterior(mean, variance, bias)
    values = _truncate(x, correction.least, correction.varying_bound)
    values = (values - float(weights @ values) / total) / correction.scale
    kernel = correction.kernel
    design = make_design(layout, kernel, residuals.points, pending, inducing_points, TAIL.features)
    deviation = design.fit(weights / kernel.noise_var, values).posterior(centered=True)
    return CorrectionPosterior(
        mean, variance, bias, deviation, correction.scale, correction.probability
    )


def log_odds_of_variation(
    points: Array,
    values: Array,
    weights: Array,
    layout: KernelLayout,
    lengthscales: tuple[Array, ...],
) -> tuple[KernelParameters, float]:
    """Return the most likely kernel of a process behind `values` (n,), and its log odds.

    The alternative is a constant; the likelihood of the varying ones is their mean over signal
    shares and over the given lengthscales.
    """
    rows = evenly_spaced(len(values), KERNEL.rows)
    y, X = values[rows], points[rows]
    noise = 1.0 / np.maximum(weights[rows], 1e-6)
    candidates, evidences = [], []
    for scales in lengthscales:
        R = layout.correlations(X, X, layout.inverse_lengthscales(scales))
        for signal in TAIL.signal_shares:
            K = signal * R + CONSTANT_VAR
            K[np.diag_indices_from(K)] += (1.0 - signal) * noise
            candidates.append(KernelParameters(scales, signal, 1.0 - signal))
            evidences.append(log_marginal_likelihood(K, y))
    constant = log_marginal_likelihood(CONSTANT_VAR + np.diag(noise), y)
    log_odds = float(logsumexp(evidences)) - math.log(len(candidates)) - constant
    # Of about equally likely ones the one that varies most: payoffs at one place say little of how
    # much the mean varies elsewhere, and a search should find out.
    close = np.array(evidences) >= max(evidences) - TAIL.indifference
    best = max(itertools.compress(candidates, close), key=lambda kernel: kernel.signal_var)
    return best, log_odds


def one_sided(values: Array) -> float:
    """Return how little values (n,) of a tail cancel: 1 for one sign, near 0 for many of both.

    Few values cancel by chance, so two of the largest size are added, both of one sign.

    Examples
    --------
    >>> one_sided(np.array([0.0, 1.0])), one_sided(np.array([1.0, -1.0]))
    (1.0, 0.5)
    """
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    x = values / largest
    return (abs(float(np.sum(x))) + 2.0) / (float(np.sum(np.abs(x))) + 2.0)


def tuning_free_bound(values: Array, exceedances: float, largest: float = math.inf) -> float:
    """Return b > 0 with sum_i min(x_i^2, b^2) / b^2 = exceedances; 0 if all values are.

    The equation of adaptive truncation: about `exceedances` values reach b, whatever their scale,
    so b grows with the number of values as their tail does. It has no solution unless more than
    `exceedances` values differ from zero, and few say nothing of a tail: up to twice as many of
    them, half their number takes its place, and the bound is at most `largest`.

    Examples
    --------
    >>> tuning_free_bound(np.array([1.0, 1.0, 1.0, 1.0]), 2.0)
    1.4142135623730951
    """
    a = np.sort(np.abs(values))
    a = a[a > 0.0]
    n = len(a)
    if n == 0:
        return 0.0
    if n <= 2.0 * exceedances:
        exceedances = 0.5 * n
    else:
        largest = math.inf
    top = a[-1]
    squares = (a / top) ** 2
    # With the k smallest below b: b^2 = (sum of their squares) / (exceedances - (n - k)).
    divisor = exceedances - (n - np.arange(1, n + 1))
    usable = divisor > 0.0
    b2 = np.where(usable, np.cumsum(squares) / np.where(usable, divisor, 1.0), np.inf)
    after = np.append(squares[1:], np.inf)
    solves = usable & (b2 >= squares) & (b2 <= after)
    if not solves.any():
        return min(float(top), largest)
    return min(float(top * math.sqrt(b2[np.argmax(solves)])), largest)
