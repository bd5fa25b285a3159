"""The tail correction: an estimate of the mean of what psi clips, and of how it varies.

Excesses are bounded by adaptive truncation (`tuning_free_bound`), so that the bound grows with the
number of payoffs and the target remains the mean. Whether the excess of outliers varies over the
space is decided by the marginal likelihood of a Gaussian process against a constant.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from tailproof.search.model.correlation import KernelParameters
from tailproof.search.model.gp import CONSTANT_VAR
from tailproof.search.model.hyperparameters import log_marginal_likelihood, prior_median
from tailproof.search.model.parameters import (
    ModelConfig,
    ModelParameters,
    Observations,
    OutlierModel,
    TailCorrection,
)
from tailproof.search.model.robust_loss import PsiFunction, WindowPsi, window_around_median

Array = NDArray[np.float64]

# Payoffs that a likelihood is computed from: kernel parameters are known well enough from them.
_LIKELIHOOD_ROWS = 400
# Residuals this many robust standard deviations from the median are outliers.
_OUTLIER = 6.0
# Shares of the variance that a varying correction may explain.
_SIGNAL_SHARES = (0.1, 0.2, 0.4)
# A varying correction that is less probable than this is left out.
_LEAST_PROBABILITY = 0.05


def learn_tail_correction(
    observations: Observations, residuals: Array, model: ModelParameters, config: ModelConfig
) -> TailCorrection | None:
    """Return the mean of what psi clips and how it varies; None if psi clips nothing.

    `residuals` (n,) are leave-one-out, in units of the noise scale; psi and kernel parameters are
    those of `model`.
    """
    excess = model.psi.excess(residuals)
    deviation = 1.4826 * float(np.median(np.abs(residuals - np.median(residuals))))
    # A single excess, however large, may move the mean by about two standard errors.
    few = 2.0 * math.sqrt(len(observations)) * deviation
    bound = tuning_free_bound(excess, config.exceedances, few)
    clipped = np.clip(excess, -bound, bound)
    scale = float(np.sqrt(np.mean(clipped**2)))
    if scale == 0.0:
        return None
    outliers = _learn_outliers(observations, residuals, bound, model, config)
    # What the bound hides below and above cancels as what it leaves does.
    bias = bound * config.exceedances / len(observations) * one_sided(clipped)
    return TailCorrection(bound, scale, bias, outliers)


def _learn_outliers(
    observations: Observations,
    residuals: Array,
    largest_bound: float,
    model: ModelParameters,
    config: ModelConfig,
) -> OutlierModel | None:
    """Return how outliers vary over the space; None if there are none, or they hardly do.

    Smaller excesses follow every error of the location GP, and would vary as it does. Outliers are
    judged by where they are and on which side more than by their size, so that no single one
    decides: sizes are clipped at a quantile of theirs that slowly tends to 1, and at
    `largest_bound`.
    """
    window, excess = outlier_window(model.psi, residuals), model.psi.excess(residuals)
    sizes = np.abs(excess[window.clipped(residuals)])
    if not len(sizes):
        return None
    share = max(0.5, 1.0 - 2.0 / math.sqrt(len(sizes)))
    bound = min(float(np.quantile(sizes, share)), largest_bound)
    outliers = OutlierModel(window.lower, window.upper, bound, 1.0, model.kernel, 0.0)
    values = outliers.scaled_excess(residuals, excess)
    scale = float(np.sqrt(np.mean(values**2)))
    kernel, probability = probability_of_variation(observations, values, model.kernel, config)
    if probability < _LEAST_PROBABILITY:
        return None
    return replace(outliers, scale=scale, kernel=kernel, probability=probability)


def probability_of_variation(
    observations: Observations, values: Array, kernel: KernelParameters, config: ModelConfig
) -> tuple[KernelParameters, float]:
    """Return the most likely kernel of a process behind `values` (n,), and its probability.

    Values are in units of their root mean square. The alternative is a constant; the likelihood of
    the varying ones is their mean over signal shares, and over the lengthscales of the location GP
    and those of the prior.
    """
    rows = likelihood_rows(len(observations))
    size = float(np.sqrt(np.mean(values[rows] ** 2)))
    if size == 0.0:  # all values that are not zero are among those left out
        return kernel, 0.0
    values = values / size
    y, X, layout = values[rows], observations.points[rows], config.layout
    identity = np.eye(len(X))
    candidates, evidences = [], []
    usual = prior_median(config.prior, layout.n_lengthscales)
    for lengthscales in (kernel.lengthscales, usual.lengthscales):
        R = layout.correlations(X, X, layout.inverse_lengthscales(lengthscales))
        for signal in _SIGNAL_SHARES:
            K = signal * R + CONSTANT_VAR + (1.0 - signal) * identity
            candidates.append(KernelParameters(lengthscales, signal, 1.0 - signal))
            evidences.append(log_marginal_likelihood(K, y))
    constant = log_marginal_likelihood(CONSTANT_VAR + identity, y)
    log_odds = logsumexp(evidences) - math.log(len(candidates)) - constant
    best = candidates[int(np.argmax(evidences))]
    # Outliers on both sides alike hide no mean: the more they cancel, the less it may vary.
    return best, float(expit(log_odds - config.constant_log_odds * balance(values)))


def likelihood_rows(count: int) -> NDArray[np.int64]:
    """Return which payoffs a likelihood is computed from: all, or evenly spaced over time."""
    if count <= _LIKELIHOOD_ROWS:
        return np.arange(count)
    return np.linspace(0, count - 1, _LIKELIHOOD_ROWS).round().astype(np.int64)


def outlier_window(psi: PsiFunction, residuals: Array) -> WindowPsi:
    """Return the window that only outliers among the residuals are outside of.

    It ends at 6 robust standard deviations from the median, and nowhere within a window of `psi`.
    """
    wide = window_around_median(residuals, _OUTLIER)
    if isinstance(psi, WindowPsi):
        return WindowPsi(min(psi.lower, wide.lower), max(psi.upper, wide.upper))
    return WindowPsi(wide.lower, wide.upper)


def balance(values: Array) -> float:
    """Return how far values (n,) of a tail cancel: from near 0, many of one sign, to 1.

    Few values are of one sign by chance, so two of the largest size are added, one of each sign.

    Examples
    --------
    >>> balance(np.array([0.0, 1.0])), balance(np.array([1.0, -1.0]))
    (0.6666666666666667, 1.0)
    """
    total, sizes = _relative_outlier_sums(values)
    return 1.0 - total / (sizes + 2.0)


def one_sided(values: Array) -> float:
    """Return how little values (n,) of a tail cancel: 1 for one sign, near 0 for many of both.

    Few values cancel by chance, so two of the largest size are added, both of one sign.

    Examples
    --------
    >>> one_sided(np.array([0.0, 1.0])), one_sided(np.array([1.0, -1.0]))
    (1.0, 0.5)
    """
    total, sizes = _relative_outlier_sums(values)
    return (total + 2.0) / (sizes + 2.0)


def _relative_outlier_sums(values: Array) -> tuple[float, float]:
    """Return |sum of the values| and the sum of |values|, in units of the largest |value|."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return 0.0, 0.0
    x = values / largest
    return abs(float(np.sum(x))), float(np.sum(np.abs(x)))


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
