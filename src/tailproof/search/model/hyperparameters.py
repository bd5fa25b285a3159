"""The marginal likelihood of a surrogate's shape, its gradient, and the shape that is most likely.

With K = s^2 R + 1 1' + n^2 D, D the relative noise variances, payoffs p have

    ln P(p) = -1/2 p' K^-1 p - 1/2 ln |K| + const,

and priors on the logarithms of lengthscales, signal and noise keep a fit to few payoffs sane.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.optimize
from numpy.typing import NDArray

from tailproof._compiled import correlation as engine
from tailproof.search.model.gp import CONSTANT, Layout, Shape

Array = NDArray[np.float64]

_LENGTHSCALES = (0.03, 20.0)
_SIGNALS = (1e-8, 1e6)
_NOISES = (1e-8, 1e3)


@dataclass(frozen=True)
class Prior:
    """Normal priors on logarithms: (mean, standard deviation) each, in standardized units.

    The lengthscales' mean grows with the square root of the number of parameters, as distances
    in a cube do. Below it their deviation is `shorter`: one short lengthscale is enough for a
    process to run through every payoff, outliers and all, while long ones only leave a parameter
    out.
    """

    lengthscale: tuple[float, float] = (math.log(0.3), 0.8)
    shorter: float = 0.4
    signal: tuple[float, float] = (math.log(1.0), 2.0)
    noise: tuple[float, float] = (math.log(0.5), 1.5)

    def means(self, owners: int) -> Array:
        """Return the means of (lengthscales, signal, noise)."""
        stretch = 0.5 * math.log(max(owners, 1))
        return np.array([self.lengthscale[0] + stretch] * owners + [self.signal[0], self.noise[0]])

    def deviations(self, theta: Array) -> Array:
        """Return the standard deviations of theta = ln (lengthscales, signal, noise) at theta."""
        short = theta[:-2] < self.means(len(theta) - 2)[:-2]
        lengths = np.where(short, self.shorter, self.lengthscale[1])
        return np.append(lengths, [self.signal[1], self.noise[1]])


def typical(prior: Prior, owners: int) -> Shape:
    """Return the shape before any payoff."""
    return _shape(prior.means(owners))


def _shape(theta: Array) -> Shape:
    values = np.exp(theta)
    return Shape(values[:-2], float(values[-2]), float(values[-1]))


def _theta(shape: Shape) -> Array:
    return np.log(np.append(shape.lengthscales, [shape.signal, shape.noise]))


def negative_log(
    theta: Array, layout: Layout, C: Array, payoffs: Array, relative: Array, prior: Prior
) -> tuple[float, Array]:
    """Return minus the log posterior of theta = ln (lengthscales, signal, noise), and its gradient.

    Parameters
    ----------
    theta
        (q + 2,).
    layout
        Columns, lengthscales and groups.
    C
        Points, (n, p).
    payoffs
        (n,), standardized.
    relative
        Relative noise variances D, (n,).
    prior
        Priors on theta.
    """
    shape, inverse = _shape(theta), layout.columns(np.exp(theta[:-2]))
    R = engine.matrix(layout.kind, C, C, inverse, layout.group, layout.groups)
    K = shape.signal * R + CONSTANT
    K[np.diag_indices_from(K)] += shape.noise * relative + 1e-10
    try:
        factor = scipy.linalg.cholesky(K, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return 1e25, np.zeros_like(theta)
    precision = scipy.linalg.lapack.dpotri(factor, lower=1)[0]
    precision = np.tril(precision) + np.tril(precision, -1).T
    alpha = precision @ payoffs
    # d(-ln P) = 1/2 tr((K^-1 - alpha alpha') dK)
    weight = 0.5 * (precision - np.outer(alpha, alpha))
    gradient = np.append(
        shape.signal
        * engine.lengthscale_gradient(
            layout.kind,
            C,
            inverse,
            layout.group,
            layout.groups,
            layout.owner,
            layout.owners,
            weight,
        ),
        [
            shape.signal * float(np.einsum("ij,ij->", weight, R)),
            shape.noise * float(np.diag(weight) @ relative),
        ],
    )
    deviations = prior.deviations(theta)
    away = (theta - prior.means(layout.owners)) / deviations
    value = 0.5 * float(payoffs @ alpha) + float(np.log(np.diag(factor)).sum())
    return value + 0.5 * float(away @ away), gradient + away / deviations


def most_likely(
    layout: Layout,
    C: Array,
    payoffs: Array,
    relative: Array,
    prior: Prior,
    start: Shape,
    steps: int = 25,
) -> Shape:
    """Return the shape of largest posterior density, searched from `start` by L-BFGS-B."""
    bounds = [tuple(np.log(_LENGTHSCALES))] * layout.owners
    bounds += [tuple(np.log(_SIGNALS)), tuple(np.log(_NOISES))]
    low, high = np.array(bounds).T
    found = scipy.optimize.minimize(
        negative_log,
        np.clip(_theta(start), low, high),
        args=(layout, np.ascontiguousarray(C), payoffs, relative, prior),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": steps},
    )
    return _shape(found.x)


def log_evidence(K: Array, payoffs: Array) -> float:
    """Return ln P(payoffs) under covariance K, without its constant."""
    factor = scipy.linalg.cholesky(K, lower=True, check_finite=False)
    half = scipy.linalg.solve_triangular(factor, payoffs, lower=True, check_finite=False)
    return -0.5 * float(half @ half) - float(np.log(np.diag(factor)).sum())
