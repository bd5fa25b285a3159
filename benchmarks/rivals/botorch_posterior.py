"""A BoTorch model's posterior and acquisition functions in closed form.

SingleTaskGP has a squared exponential kernel of variance 1, with a lengthscale for each coordinate,
and a constant mean, for standardized payoffs. Given its hyperparameters, upper confidence bounds
and LogNEI are a few lines of linear algebra. BoTorch's own functions give the same values and
gradients (`tests/benchmarks/rivals/test_botorch.py`), but most of their time is overhead of small
tensor operations. These re-implementations exist only to save time: a run of LogNEI with 200
evaluations on Hartmann-6 takes 3 s of processor time instead of 41 s, and the comparison hours
instead of days.

Notation: X (n, d) points in the unit cube, k(x) their kernel with x, (n,), N the noise variances
(n,), A = K + diag(N). A function of x is a function of k(x), whose gradient is
dk_j/dx = k_j (X_j - x) / lengthscale^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, blas, cholesky, lapack, solve_triangular

from rivals.domains import Array

MIN_VARIANCE = 1e-12  # BoTorch clamps there
JITTERS = (0.0, 1e-8, 1e-7, 1e-6, 1e-5)  # as gpytorch tries them, and one more
TAU = 1e-6  # how sharp LogNEI's smooth version of max(x, 0) is


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Lengthscales (d,), the constant mean, and the noise variances (n,) or (1,)."""

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
    """Posterior of f given payoffs (n,) at points (n, d) of the unit cube."""

    def __init__(self, points: Array, values: Array, parameters: Hyperparameters) -> None:
        self.points, self.parameters = points, parameters
        self.offset = float(values.mean())
        deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        self.scale = deviation if deviation >= 1e-8 else 1.0  # as in BoTorch's Standardize
        targets = (values - self.offset) / self.scale - parameters.constant
        self.gram = kernel(points, points, parameters.lengthscales)
        noise = np.broadcast_to(parameters.noise, len(values))
        _, self.precision = inverse(self.gram + np.diag(noise))
        self.weights = self.precision @ targets

    def moments(self, points: Array) -> tuple[Array, Array]:
        """Return mean and variance of f at points (m, d), (m,) each, in the payoffs' units."""
        k = kernel(points, self.points, self.parameters.lengthscales)
        mean = self.offset + self.scale * (self.parameters.constant + k @ self.weights)
        variance = 1.0 - np.einsum("ij,ij->i", k @ self.precision, k)
        return mean, np.maximum(self.scale**2 * variance, MIN_VARIANCE)

    def covariance(self) -> Array:
        """Return the posterior covariance of standardized f at the evaluated points, (n, n)."""
        return self.gram - self.gram @ self.precision @ self.gram


@dataclass(frozen=True, eq=False)
class UpperConfidenceBound:
    """Posterior mean of f plus `deviations` posterior standard deviations; with 0, the mean."""

    posterior: Posterior
    deviations: float

    def __call__(self, points: Array) -> tuple[Array, Array]:
        """Return values (m,) and gradients (m, d) at points (m, d)."""
        posterior = self.posterior
        k = kernel(points, posterior.points, posterior.parameters.lengthscales)
        mean = posterior.parameters.constant + k @ posterior.weights
        values = posterior.offset + posterior.scale * mean
        slopes = np.broadcast_to(posterior.scale * posterior.weights, k.shape)
        if self.deviations:
            deviation, deviation_slopes = _deviation(posterior.scale, k, posterior.precision)
            values = values + self.deviations * deviation
            slopes = slopes + self.deviations * deviation_slopes
        return values, _gradients(posterior, points, slopes * k)


class LogNEI:
    """Logarithm of the noisy expected improvement over the best evaluated point, by sampling.

    f at the `baseline` is drawn jointly, and f(x) conditionally on it:
    f_s(x) = mean(x) + c(x) C^-T z_s + sqrt(conditional variance) z'_s, where c are the covariances
    with the baseline and C is the Cholesky factor of the baseline's covariance. The value is
    ln mean_s plus(f_s(x) - max_b f_s(b)) with BoTorch's smooth, fat-tailed `plus`.

    Parameters
    ----------
    posterior
        Of f.
    baseline
        Indices of the evaluated points that may be the best, (r,).
    normal
        Standard normal draws, (samples, r + 1): a column for each baseline point, and one for x.
    """

    def __init__(self, posterior: Posterior, baseline: Array, normal: Array) -> None:
        self.posterior = posterior
        factor = _safe_cholesky(posterior.covariance()[np.ix_(baseline, baseline)])
        # The covariance with the baseline as a linear function of k(x).
        to_baseline = -posterior.precision @ posterior.gram[:, baseline]
        to_baseline[baseline, np.arange(len(baseline))] += 1.0
        whitened = solve_triangular(factor, to_baseline.T, lower=True, check_finite=False)
        draws = normal[:, :-1]
        means = posterior.parameters.constant + posterior.gram[baseline] @ posterior.weights
        self.best = (means + draws @ factor.T).max(axis=1)  # (samples,)
        self.own_draws = normal[:, -1]
        self.directions = posterior.weights[:, None] + whitened.T @ draws.T  # (n, samples)
        self.conditional_precision = posterior.precision + whitened.T @ whitened

    def __call__(self, points: Array) -> tuple[Array, Array]:
        """Return values (m,) and gradients (m, d) at points (m, d)."""
        posterior, draws = self.posterior, self.own_draws
        k = kernel(points, posterior.points, posterior.parameters.lengthscales)
        deviation, deviation_slopes = _deviation(1.0, k, self.conditional_precision)
        constant = posterior.parameters.constant
        gains = constant + k @ self.directions + deviation[:, None] * draws - self.best
        value, slope = plus(posterior.scale * gains)
        means = value.mean(axis=1)
        slope *= posterior.scale / (means[:, None] * len(draws))
        slopes = slope @ self.directions.T + (slope @ draws)[:, None] * deviation_slopes
        return np.log(means), _gradients(posterior, points, slopes * k)


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
    """Return the indices of the evaluated points that may be the best, as BoTorch prunes others.

    A point stays if it is the best in at least one of the joint draws; a point evaluated more than
    once is represented by the first evaluation.

    Parameters
    ----------
    posterior
        Of f.
    normal
        Standard normal draws, (samples, n at least).
    """
    _, first = np.unique(posterior.points, axis=0, return_index=True)
    covariance = posterior.covariance()[np.ix_(first, first)]
    means = posterior.gram[first] @ posterior.weights
    draws = means + normal[:, : len(first)] @ _safe_cholesky(covariance).T
    return np.sort(first[np.unique(draws.argmax(axis=1))])


def _safe_cholesky(matrix: Array) -> Array:
    """Return the lower Cholesky factor, with the smallest sufficient jitter on the diagonal."""
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
    variance = 1.0 - np.einsum("ij,ij->i", product, k)
    least = MIN_VARIANCE / scale**2
    deviation = scale * np.sqrt(np.maximum(variance, least))
    product *= (-(scale**2) * (variance > least) / deviation)[:, None]
    return deviation, product


def _gradients(posterior: Posterior, points: Array, slopes: Array) -> Array:
    """Return gradients (m, d) of functions with derivatives `slopes` / k with respect to k."""
    weighted = slopes @ posterior.points - slopes.sum(axis=1)[:, None] * points
    return np.asarray(weighted / posterior.parameters.lengthscales**2)
