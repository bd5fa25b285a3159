"""A BoTorch model's posterior and acquisition functions in closed form.

SingleTaskGP has a squared exponential kernel of variance 1, with a lengthscale a coordinate, and a
constant mean, for payoffs that are standardized. Given its hyperparameters, everything that
upper confidence bounds and LogNEI ask of it is linear algebra of a few lines. BoTorch's own
functions give the same values and gradients (`tests/experiments/test_arena_botorch.py`) in fifty
times the time, nearly all of which is spent between the operations: with them a match takes
minutes, and twenty seeds of all cells days.

Notation: X (n, d) points in the unit cube, k(x) their kernel with x, (n,), N the noise variances
(n,), A = K + diag(N). A function of x is a function of k(x), whose gradient is
dk_j/dx = k_j (X_j - x) / lengthscale^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, blas, cholesky, lapack, solve_triangular

from rivals.domains import Array

LEAST_VARIANCE = 1e-12  # BoTorch clamps there
JITTERS = (0.0, 1e-8, 1e-7, 1e-6, 1e-5)  # as gpytorch tries them, and one more
TAU = 1e-6  # how sharp LogNEI's smooth version of max(x, 0) is


@dataclass(frozen=True, eq=False)
class Shape:
    """Hyperparameters: lengthscales (d,), the mean and the noise variances (n,) or (1,)."""

    lengthscales: Array
    constant: float
    noise: Array


def kernel(a: Array, b: Array, lengthscales: Array) -> Array:
    """Return exp(-|(a_i - b_j) / lengthscales|^2 / 2) for points (m, d) and (n, d), (m, n)."""
    a, b = a / lengthscales, b / lengthscales
    squares = np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b)
    squares -= 2.0 * (a @ b.T)
    np.maximum(squares, 0.0, out=squares)
    squares *= -0.5
    return np.asarray(np.exp(squares, out=squares))


def inverse(matrix: Array) -> tuple[Array, Array]:
    """Return the lower Cholesky factor of a positive definite matrix, and its inverse."""
    factor, failed = lapack.dpotrf(matrix, lower=1)
    if failed:
        raise LinAlgError("a covariance is not positive definite")
    # Twice as fast as LAPACK's dpotri for matrices of this size.
    root = blas.dtrsm(1.0, factor, np.eye(len(matrix), order="F"), lower=1)
    return factor, root.T @ root


class Posterior:
    """What is believed of f after payoffs (n,) at points (n, d) of the unit cube."""

    def __init__(self, points: Array, values: Array, shape: Shape) -> None:
        self.points, self.shape = points, shape
        self.level = float(values.mean())
        spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        self.scale = spread if spread >= 1e-8 else 1.0  # as Standardize has it
        targets = (values - self.level) / self.scale - shape.constant
        self.gram = kernel(points, points, shape.lengthscales)
        _, self.precision = inverse(self.gram + np.diag(np.broadcast_to(shape.noise, len(values))))
        self.weights = self.precision @ targets

    def moments(self, points: Array) -> tuple[Array, Array]:
        """Return mean and variance of f at points (m, d), (m,) each, in the payoffs' units."""
        k = kernel(points, self.points, self.shape.lengthscales)
        mean = self.level + self.scale * (self.shape.constant + k @ self.weights)
        left = 1.0 - np.einsum("ij,ij->i", k @ self.precision, k)
        return mean, np.maximum(self.scale**2 * left, LEAST_VARIANCE)

    def covariance(self) -> Array:
        """Return the covariance of f at the points told, of the standardized payoffs, (n, n)."""
        return self.gram - self.gram @ self.precision @ self.gram


@dataclass(frozen=True, eq=False)
class UpperBound:
    """Mean + width x standard deviation of f; with width 0 the mean."""

    posterior: Posterior
    width: float

    def __call__(self, points: Array) -> tuple[Array, Array]:
        """Return values (m,) and gradients (m, d) at points (m, d)."""
        of = self.posterior
        k = kernel(points, of.points, of.shape.lengthscales)
        values = of.level + of.scale * (of.shape.constant + k @ of.weights)
        slopes = np.broadcast_to(of.scale * of.weights, k.shape)
        if self.width:
            deviation, downhill = _deviation(of.scale, k, of.precision)
            values = values + self.width * deviation
            slopes = slopes + self.width * downhill
        return values, _gradients(of, points, slopes * k)


class LogNEI:
    """The logarithm of the expected improvement over the best of the points told, by sampling.

    The payoffs' means at the `baseline` are drawn jointly; x adds its own share given them:
    f_s(x) = mean(x) + c(x) C^-T z_s + sqrt(variance left) z'_s, where c are the covariances with
    the baseline and C the Cholesky factor of the baseline's own. The value is
    ln mean_s plus(f_s(x) - max_b f_s(b)) with BoTorch's smooth `plus`, whose tails are fat.

    Parameters
    ----------
    posterior
        What is believed.
    baseline
        Numbers of the points told among which the best one is, (r,).
    normal
        Standard normal draws, (samples, r + 1): a column a point of the baseline, and one for x.
    """

    def __init__(self, posterior: Posterior, baseline: Array, normal: Array) -> None:
        of = self.posterior = posterior
        factor = _safe_cholesky(of.covariance()[np.ix_(baseline, baseline)])
        # What a covariance with the baseline is, as a function of k(x).
        to_baseline = -of.precision @ of.gram[:, baseline]
        to_baseline[baseline, np.arange(len(baseline))] += 1.0
        whitened = solve_triangular(factor, to_baseline.T, lower=True, check_finite=False)
        draws = normal[:, :-1]
        means = of.shape.constant + of.gram[baseline] @ of.weights
        self.best = (means + draws @ factor.T).max(axis=1)  # (samples,)
        self.own = normal[:, -1]
        self.directions = of.weights[:, None] + whitened.T @ draws.T  # (n, samples)
        self.left = of.precision + whitened.T @ whitened

    def __call__(self, points: Array) -> tuple[Array, Array]:
        """Return values (m,) and gradients (m, d) at points (m, d)."""
        of = self.posterior
        k = kernel(points, of.points, of.shape.lengthscales)
        deviation, downhill = _deviation(1.0, k, self.left)
        gains = of.shape.constant + k @ self.directions + deviation[:, None] * self.own - self.best
        value, slope = plus(of.scale * gains)
        means = value.mean(axis=1)
        slope *= of.scale / (means[:, None] * len(self.own))
        slopes = slope @ self.directions.T + (slope @ self.own)[:, None] * downhill
        return np.log(means), _gradients(of, points, slopes * k)


def plus(x: Array) -> tuple[Array, Array]:
    """Return BoTorch's smooth, fat-tailed version of max(x, 0), and its derivative.

    With u = x / tau it is tau (ln(1 + e^u) + 0.1 / (1 + u^2)).
    """
    u = x / TAU
    tail = np.exp(-np.abs(u))
    fat = 1.0 / (1.0 + u * u)
    value = np.maximum(u, 0.0) + np.log1p(tail) + 0.1 * fat
    slope = np.where(u >= 0.0, 1.0, tail) / (1.0 + tail) - 0.2 * u * fat * fat
    return TAU * value, slope


def candidates_for_best(posterior: Posterior, normal: Array) -> Array:
    """Return the numbers of the points told that may be the best, as BoTorch prunes the others.

    A point stays if it is the best one in at least one of the joint draws; of points told more
    than once the first stands for all.

    Parameters
    ----------
    posterior
        What is believed.
    normal
        Standard normal draws, (samples, n at least).
    """
    _, first = np.unique(posterior.points, axis=0, return_index=True)
    covariance = posterior.covariance()[np.ix_(first, first)]
    means = posterior.gram[first] @ posterior.weights
    draws = means + normal[:, : len(first)] @ _safe_cholesky(covariance).T
    return np.sort(first[np.unique(draws.argmax(axis=1))])


def _safe_cholesky(matrix: Array) -> Array:
    """Return the lower Cholesky factor, with as little added to the diagonal as it takes."""
    for jitter in JITTERS:
        try:
            raised = matrix + jitter * np.eye(len(matrix))
            return np.asarray(cholesky(raised, lower=True, check_finite=False))
        except LinAlgError:
            continue
    raise LinAlgError("a covariance is not positive semidefinite")


def _deviation(scale: float, k: Array, quadratic: Array) -> tuple[Array, Array]:
    """Return scale sqrt(1 - k Q k), (m,), and its derivative with respect to k, (m, n)."""
    product = k @ quadratic
    left = 1.0 - np.einsum("ij,ij->i", product, k)
    deviation = scale * np.sqrt(np.maximum(left, LEAST_VARIANCE / scale**2))
    product *= (-(scale**2) * (left > LEAST_VARIANCE / scale**2) / deviation)[:, None]
    return deviation, product


def _gradients(of: Posterior, points: Array, slopes: Array) -> Array:
    """Return gradients (m, d) of what has the derivatives `slopes` / k with respect to k."""
    pull = slopes @ of.points - slopes.sum(axis=1)[:, None] * points
    return np.asarray(pull / of.shape.lengthscales**2)
