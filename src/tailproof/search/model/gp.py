"""Sparse Gaussian processes: exact while the inducing points are all distinct points seen.

Payoffs p (standardized pseudo-observations) at points x follow

    p = c + sqrt(signal) g(x) + noise,   c ~ N(0, 1),   g ~ GP(0, R),

R a correlation function of the search space. With inducing points Z and R(Z, Z) = L L', the
features are phi(x) = L^-1 R(Z, x): the Nystrom features of the paper's Section 4 (there Z is
sampled, here it is chosen). The variance that Z does not explain, R(x, x) - |phi(x)|^2, is added to
the predictive variance, as in the paper's ATA-GP-UCB with Nystrom features.

Squared-exponential correlations of few columns have Fourier features (`fourier`), which may be
fewer and then replace the inducing points.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from tailproof.search.model import fourier
from tailproof.search.model.correlation import KernelLayout, KernelParameters

Array = NDArray[np.float64]

# Variance of the constant c, in units of the payoffs' robust variance.
CONSTANT_VAR = 1.0
# A process is exact up to that many distinct points.
MAX_FEATURES = 224
# Beyond, it has so many inducing points chosen at a fit, and the latest points besides.
_INDUCING, _LATEST = 160, 32
# Added to R(Z, Z) so that points which nearly coincide do not break its Cholesky factor.
_JITTER = 1e-8


class Basis(Protocol):
    """Features whose inner products are close to a correlation function, never above it at x = y.

    `InducingPointBasis` and `tailproof.search.model.fourier.FourierBasis` are such.
    """

    def features(self, X: Array) -> Array: ...  # noqa: D102
    def features_vjp(self, x: Array) -> tuple[Array, Callable[[Array], Array]]: ...  # noqa: D102


class InducingPointBasis:
    """Features phi(x) = L^-1 R(Z, x) of a correlation function on inducing points Z, (m, p)."""

    def __init__(self, layout: KernelLayout, lengthscales: Array, Z: Array) -> None:
        self._layout, self._inverse = layout, layout.inverse_lengthscales(lengthscales)
        self._points = np.ascontiguousarray(Z)
        gram = layout.correlations(self._points, self._points, self._inverse)
        gram[np.diag_indices_from(gram)] += _JITTER
        # L = phi of the rows of Z, (m, m), up to the jitter: L^-1 R(Z, Z) = L'.
        self.factor = scipy.linalg.cholesky(gram, lower=True, check_finite=False)
        self._whiten = _triangular_inverse(self.factor)

    @property
    def count(self) -> int:
        """Number of features, one for each inducing point."""
        return len(self._points)

    def features(self, X: Array) -> Array:
        """Return features phi of the rows of X (n, p) on inducing points, (n, m)."""
        correlations = self._layout.correlations(X, self._points, self._inverse)
        return _times_transpose(correlations, self._whiten)

    def features_vjp(self, x: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Return phi at x (p,), (m,), and the map from V (k, m) to V dphi / dx, (k, p)."""
        value, gradient = self._layout.correlations_gradient(x, self._points, self._inverse)
        return self._whiten @ value, lambda V: (V @ self._whiten) @ gradient


def choose_basis(
    layout: KernelLayout, lengthscales: Array, sites: Array, limit: int, Z: Array | None = None
) -> tuple[Basis, Array]:
    """Return a basis for distinct points `sites` (k, p), and their features, (k, m).

    Fourier features if there are such and they are fewer than `limit` and the sites; otherwise all
    sites if they are at most `limit`, else inducing points Z, by default chosen among the sites.
    """
    inverse = layout.inverse_lengthscales(lengthscales)
    columns = (inverse, layout.group_of_column, layout.n_groups)
    suited = layout.kernel == "se" and fourier.suits(*columns)
    if suited and fourier.size(*columns) < min(limit, len(sites)):
        few = fourier.FourierBasis(*columns)
        return few, few.features(sites)
    if len(sites) <= limit:
        exact = InducingPointBasis(layout, lengthscales, sites)
        return exact, exact.factor
    Z = sites[layout.pivots(sites, inverse, limit)] if Z is None else Z
    sparse = InducingPointBasis(layout, lengthscales, Z)
    return sparse, sparse.features(sites)


def inducing_points_for(layout: KernelLayout, lengthscales: Array, points: Array) -> Array | None:
    """Return the inducing points until the next fit; None while distinct points are few."""
    sites = np.unique(points, axis=0)
    if len(sites) <= MAX_FEATURES - _LATEST:
        return None
    return sites[layout.pivots(sites, layout.inverse_lengthscales(lengthscales), _INDUCING)]


@dataclass(frozen=True)
class Features:
    """A basis, and the features of the points of payoffs told (n, m) and pending (k, m)."""

    basis: Basis
    kernel: KernelParameters
    told: Array
    pending: Array

    def gp(self, scales: Array) -> SparseGP:
        """Return the process of payoffs whose noise has these relative scales, (n,)."""
        return SparseGP(self.basis, self.kernel, self.told, 1.0 / scales**2, self.pending)


def compute_features(
    layout: KernelLayout,
    kernel: KernelParameters,
    points: Array,
    pending: Array,
    inducing_points: Array | None = None,
    limit: int = MAX_FEATURES,
) -> Features:
    """Return basis and features for points of payoffs told (n, p) and pending (k, p).

    Beyond `limit` distinct points the basis has the first of `inducing_points`, and the latest
    points, which a selection made earlier does not cover.
    """
    everywhere = np.vstack([points, pending])
    sites, which = np.unique(everywhere, axis=0, return_inverse=True)
    if inducing_points is not None and len(sites) > limit:
        both = np.vstack([inducing_points[: limit - _LATEST], everywhere[-_LATEST:]])
        inducing_points = np.unique(both, axis=0)
    basis, at_sites = choose_basis(layout, kernel.lengthscales, sites, limit, inducing_points)
    rows = at_sites[which.reshape(-1)]
    return Features(basis, kernel, rows[: len(points)], rows[len(points) :])


def _triangular_inverse(factor: Array) -> Array:
    """Return the inverse of a lower triangular matrix."""
    result: Array = scipy.linalg.lapack.dtrtri(factor, lower=1)[0]
    return result


def _times_transpose(rows: Array, lower: Array) -> Array:
    """Return rows (n, m) times the transpose of a lower triangular matrix, (n, m).

    Half of what an ordinary product would cost.
    """
    if not rows.size:
        return rows
    product: Array = scipy.linalg.blas.dtrmm(1.0, lower, rows.T, lower=1)
    return product.T


def _feature_gram(rows: Array) -> Array:
    """Return rows' rows of (n, m), (m, m): half of it computed, the other half copied."""
    if not len(rows):
        return np.zeros((rows.shape[1], rows.shape[1]))
    lower: Array = scipy.linalg.blas.dsyrk(1.0, rows.T, lower=1)
    return lower + np.tril(lower, -1).T


def _cholesky_of_precision(gram: Array, noise_var: float) -> Array:
    """Return the Cholesky factor of I + gram / noise_var."""
    precision = gram / noise_var
    diagonal = np.diag_indices_from(precision)
    precision[diagonal] += 1.0
    try:
        return scipy.linalg.cholesky(precision, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:  # next to no noise: rounding outweighs the 1
        precision[diagonal] += 1e-12 * float(np.trace(precision))
        return scipy.linalg.cholesky(precision, lower=True, check_finite=False)


def _feature_design(phi: Array, signal_var: float) -> Array:
    """Return the rows (sqrt(signal) phi, 1) of features and the constant, (n, m + 1)."""
    rows = np.empty((len(phi), phi.shape[1] + 1))
    np.multiply(phi, np.sqrt(signal_var), out=rows[:, :-1])
    rows[:, -1] = np.sqrt(CONSTANT_VAR)
    return rows


class SparseGP:
    """The process given the points of the payoffs, before their values.

    `told` (n, m) and `pending` (k, m) are features of the points of payoffs told and awaited; those
    awaited lower the variance alone. `precision` is 1 / (relative noise variance), (n,).
    """

    def __init__(
        self, basis: Basis, kernel: KernelParameters, told: Array, precision: Array, pending: Array
    ) -> None:
        self.basis, self.kernel = basis, kernel
        self._rows = _feature_design(told, kernel.signal_var)
        self._precision = precision
        self._feature_gram = _feature_gram(self._rows * np.sqrt(precision)[:, None])
        self._pending = _feature_design(pending, kernel.signal_var)

    @functools.cached_property
    def _precision_factor(self) -> Array:
        return _cholesky_of_precision(self._feature_gram, self.kernel.noise_var)

    @functools.cached_property
    def _inverse_precision_factor(self) -> Array:
        return _triangular_inverse(self._precision_factor)

    def leverage(self) -> Array:
        """Return the derivative of each fitted value in its own payoff, (n,), in [0, 1]."""
        half = _times_transpose(self._rows, self._inverse_precision_factor)
        return np.einsum("ij,ij->i", half, half) * self._precision / self.kernel.noise_var

    def smoother(self, noise_var: float) -> Smoother:
        """Return the map from payoffs to fitted values under another noise variance."""
        factor = _cholesky_of_precision(self._feature_gram, noise_var)
        inverse = scipy.linalg.cho_solve((factor, True), np.eye(len(factor)), check_finite=False)
        return Smoother(self._rows, self._precision, inverse / noise_var)

    def condition(self, payoffs: Array, *, centered: bool = False) -> GPPosterior:
        """Return the Gaussian process posterior given the payoffs (n,).

        If `centered`, of the process less its mean over the payoffs' points: what all points share
        is then in neither mean nor variance.
        """
        moment = self._rows.T @ (self._precision * payoffs) / self.kernel.noise_var
        weights = scipy.linalg.cho_solve((self._precision_factor, True), moment, check_finite=False)
        if len(self._pending):
            gram = self._feature_gram + _feature_gram(self._pending)
            factor = _cholesky_of_precision(gram, self.kernel.noise_var)
            inverse_factor = _triangular_inverse(factor)
        else:
            inverse_factor = self._inverse_precision_factor
        origin = self._rows.mean(axis=0) if centered else np.zeros(self._rows.shape[1])
        return GPPosterior(self.basis, self.kernel.signal_var, weights, inverse_factor, origin)


@dataclass(frozen=True)
class Smoother:
    """Penalized least squares: a linear map from payoffs to fitted values."""

    rows: Array
    precision: Array
    inverse: Array

    def fit(self, payoffs: Array) -> Array:
        """Return the posterior mean at the payoffs' own points, (n,)."""
        return self.rows @ (self.inverse @ ((self.precision * payoffs) @ self.rows))


@dataclass(frozen=True)
class GPPosterior:
    """The posterior of a process: mean and variance anywhere."""

    basis: Basis
    signal_var: float
    weights: Array  # posterior mean of the weights of the features and the constant, (m + 1,)
    inverse_factor: Array  # of the Cholesky factor of their precision, (m + 1, m + 1)
    origin: Array  # row of the design that is subtracted from every other, (m + 1,)

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return the posterior mean and variance at the rows of X (n, p)."""
        phi = self.basis.features(X)
        unexplained = np.maximum(1.0 - np.einsum("ij,ij->i", phi, phi), 0.0)
        rows = _feature_design(phi, self.signal_var)
        rows -= self.origin
        mean = rows @ self.weights
        half = _times_transpose(rows, self.inverse_factor)
        return mean, self.signal_var * unexplained + np.einsum("ij,ij->i", half, half)

    def predict_gradient(self, x: Array) -> tuple[float, float, Array, Array]:
        """Return mean, variance and their gradients at one point x (p,)."""
        phi, vjp = self.basis.features_vjp(x)
        root = np.sqrt(self.signal_var)
        row = np.append(root * phi, np.sqrt(CONSTANT_VAR)) - self.origin
        half = self.inverse_factor @ row
        back = half @ self.inverse_factor
        unexplained = 1.0 - float(phi @ phi)
        variance, variance_slope = float(half @ half), 2.0 * root * back[:-1]
        if unexplained > 0.0:
            variance += self.signal_var * unexplained
            variance_slope -= 2.0 * self.signal_var * phi
        mean_gradient, variance_gradient = vjp(np.array([root * self.weights[:-1], variance_slope]))
        return float(row @ self.weights), variance, mean_gradient, variance_gradient
