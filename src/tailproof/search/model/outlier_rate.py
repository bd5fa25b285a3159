"""How the frequency of outliers varies over the space: a logistic Gaussian process.

Of each payoff it is known whether it is an outlier, o_i in {0, 1}. With log odds

    eta(x) = offset + c + sqrt(signal) g(x),    P(o = 1 | x) = 1 / (1 + exp(-eta(x))),

c ~ N(0, 1) and g a Gaussian process, the posterior is approximated at its mode (Laplace; Rasmussen
and Williams, 2006, chapter 3). An outlier counts as one event, however large it is: heavy tails
that are the same everywhere do not look like a rate that varies. Payoff i counts with weight w_i.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logsumexp

from tailproof.search.model.constants import CONSTANT_VAR, OUTLIER
from tailproof.search.model.correlation import KernelLayout, KernelParameters
from tailproof.search.model.gp import GPPosterior, make_design
from tailproof.search.model.hyperparameters import evenly_spaced

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OutlierRate:
    """What a fit learns of the rate of outliers."""

    kernel: KernelParameters  # of the log odds; its noise variance is not used
    log_odds: Array  # at the payoffs, where the next search for the mode starts, (n,)
    probability: float  # posterior probability that the rate varies at all


@dataclass(frozen=True)
class RatePosterior:
    """The log odds of an outlier, offset + deviation(x), less what all points share."""

    offset: float
    deviation: GPPosterior


def learn_rate(
    points: Array,
    outliers: Array,
    weights: Array,
    layout: KernelLayout,
    lengthscales: tuple[Array, ...],
) -> OutlierRate:
    """Return how the rate of outliers (n,), 0 or 1, varies.

    `lengthscales` are those that its process may have.
    """
    rows = _balanced_rows(outliers)
    X, o, w = points[rows], outliers[rows], weights[rows]
    # A sample that depends on o changes the offset alone, as in a case-control study.
    offset = prior_log_odds(o, w)
    constant, _ = laplace(np.full((len(o), len(o)), CONSTANT_VAR), o, w, offset)
    kernels, evidences = [], []
    for scales in lengthscales:
        R = layout.correlations(X, X, layout.inverse_lengthscales(scales))
        for signal in OUTLIER.signals:
            evidence, _ = laplace(signal * R + CONSTANT_VAR, o, w, offset)
            kernels.append(KernelParameters(scales, signal, 1.0))
            evidences.append(evidence)
    log_odds = float(logsumexp(evidences)) - math.log(len(evidences)) - constant
    probability = float(expit(log_odds + OUTLIER.prior_log_odds))
    start = np.full(len(outliers), prior_log_odds(outliers, weights))
    return OutlierRate(kernels[int(np.argmax(evidences))], start, probability)


def prior_log_odds(outliers: Array, weights: Array) -> float:
    """Return log odds of a constant outlier rate, of weighted counts with half an event each."""
    events = float(weights @ outliers)
    return math.log((events + 0.5) / (float(weights.sum()) - events + 0.5))


def _balanced_rows(outliers: Array) -> NDArray[np.int64]:
    """Return the rows for the evidence of a varying rate of outliers: all if they are few.

    Otherwise up to a half are outliers, which are rare and tell most.
    """
    rare, usual = np.flatnonzero(outliers), np.flatnonzero(outliers == 0.0)
    kept = rare[evenly_spaced(len(rare), OUTLIER.rows // 2)]
    return np.append(kept, usual[evenly_spaced(len(usual), OUTLIER.rows - len(kept))])


def laplace(K: Array, outliers: Array, weights: Array, offset: float) -> tuple[float, Array]:
    """Return the log evidence of outliers (n,) under covariance K of the log odds, and their mode.

    Laplace's approximation, with log odds offset + eta at the mode and W = weights p (1 - p):

        ln P = sum w ln p(o | eta) - eta' K^-1 eta / 2 - ln |I + W^1/2 K W^1/2| / 2.
    """
    eta, last, n = np.zeros(len(outliers)), -math.inf, len(outliers)
    for _ in range(OUTLIER.newton_steps):
        p = expit(offset + eta)
        curvature = weights * np.maximum(p * (1.0 - p), OUTLIER.least_curvature)
        root = np.sqrt(curvature)
        B = root[:, None] * K * root
        B[np.diag_indices(n)] += 1.0
        factor = scipy.linalg.cholesky(B, lower=True, check_finite=False)
        right = curvature * eta + weights * (outliers - p)
        solved = scipy.linalg.cho_solve((factor, True), root * (K @ right), check_finite=False)
        alpha = right - root * solved
        eta = K @ alpha
        value = float(weights @ _log_likelihood(outliers, offset + eta)) - 0.5 * float(alpha @ eta)
        if abs(value - last) < OUTLIER.tolerance:
            break
        last = value
    return value - float(np.log(np.diag(factor)).sum()), offset + eta


def _log_likelihood(outliers: Array, log_odds: Array) -> Array:
    """Return the log likelihood of outliers under their log odds."""
    return np.asarray(log_expit(np.where(outliers > 0.0, log_odds, -log_odds)))


def condition_rate(
    points: Array,
    outliers: Array,
    weights: Array,
    rate: OutlierRate,
    layout: KernelLayout,
    pending: Array,
    inducing_points: Array | None,
    steps: int,
) -> tuple[RatePosterior, Array]:
    """Return the posterior of the outlier rate given all payoffs, and log odds at them, (n,).

    Newton's method is iteratively reweighted least squares: a Gaussian process with precisions
    w p (1 - p) given eta + (o - p) / (p (1 - p)).
    """
    offset = prior_log_odds(outliers, weights)
    eta = np.full(len(outliers), offset)
    eta[: len(rate.log_odds)] = rate.log_odds[: len(eta)]
    design = make_design(layout, rate.kernel, points, pending, inducing_points, OUTLIER.features)
    for _ in range(steps):
        p = expit(eta)
        curvature = np.maximum(p * (1.0 - p), OUTLIER.least_curvature)
        fitted = design.fit(weights * curvature, eta - offset + (outliers - p) / curvature)
        eta = offset + fitted.fitted
    level = float(np.mean(eta))
    return RatePosterior(level, fitted.posterior(centered=True)), eta
