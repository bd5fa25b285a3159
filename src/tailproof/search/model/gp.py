"""Sparse Gaussian processes: exact while the inducing points are all distinct points seen.

Payoffs z (standardized and warped) at points x follow

    z = c + sqrt(signal) g(x) + noise,   c ~ N(0, 1),   g ~ GP(0, R),

R a correlation function of the search space. With inducing points Z and R(Z, Z) = L L', the
features are phi(x) = L^-1 R(Z, x): the Nystrom features of the paper's Section 4 (there Z is
sampled, here it is chosen). The variance that Z does not explain, R(x, x) - |phi(x)|^2, is added to
the predictive variance, as in the paper's ATA-GP-UCB with Nystrom features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from tailproof._util.linalg import symmetric_from_lower
from tailproof.search.model.constants import CONSTANT_VAR, SPARSE
from tailproof.search.model.correlation import KernelLayout, KernelParameters

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class InducingPointBasis:
    """Features phi(x) = L^-1 R(Z, x) of a correlation function on inducing points Z, (m, p)."""

    def __init__(self, layout: KernelLayout, kernel: KernelParameters, Z: Array) -> None:
        self._layout, self._kernel = layout, kernel
        self._inverse = layout.inverse_lengthscales(kernel.lengthscales)
        self._points = np.ascontiguousarray(Z)
        gram = self.correlations(self._points, self._points)
        gram[np.diag_indices_from(gram)] += SPARSE.jitter
        # L = phi of the rows of Z, (m, m), up to the jitter: L^-1 R(Z, Z) = L'.
        self.factor = scipy.linalg.cholesky(gram, lower=True, check_finite=False)
        self._whiten = _triangular_inverse(self.factor)

    def correlations(self, X: Array, Y: Array) -> Array:
        """Return R between the rows of X (n, p) and of Y (m, p), (n, m)."""
        return self._kernel.with_nugget(self._layout.correlations(X, Y, self._inverse))

    def features(self, X: Array) -> Array:
        """Return features phi of the rows of X (n, p) on inducing points, (n, m)."""
        return _times_transpose(self.correlations(X, self._points), self._whiten)

    def features_vjp(self, X: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Return phi at the rows of X (n, p), (n, m), and a map to its vector-Jacobian products.

        The map takes V (n, k, m) to V_i dphi(x_i) / dx_i, (n, k, p).
        """
        value, gradient = self._layout.correlations_gradient(X, self._points, self._inverse)
        gradient *= 1.0 - self._kernel.nugget
        phi = _times_transpose(self._kernel.with_nugget(value), self._whiten)
        return phi, lambda V: (V @ self._whiten) @ gradient


def inducing_points_for(layout: KernelLayout, lengthscales: Array, points: Array) -> Array | None:
    """Return a Gaussian process's inducing points until the next fit; None for few points."""
    sites = np.unique(points, axis=0)
    if len(sites) <= SPARSE.features - SPARSE.latest:
        return None
    return sites[layout.pivots(sites, layout.inverse_lengthscales(lengthscales), SPARSE.inducing)]


@dataclass(frozen=True)
class Design:
    """A basis, and the design rows (sqrt(signal) phi, 1) of distinct points and pending trials.

    Payoffs at the same point share a row, so that repeated points cost next to nothing.
    """

    basis: InducingPointBasis
    signal_var: float
    sites: Array  # rows of the distinct points, (k, m + 1)
    site_of_payoff: Indices  # (n,)
    pending: Array  # (j, m + 1)

    def fit(self, precision: Array, z: Array) -> WeightedFit:
        """Return the Gaussian process's weights given z (n,) of noise 1 / precision (n,)."""
        count = len(self.sites)
        by_site = np.bincount(self.site_of_payoff, weights=precision, minlength=count)
        sums = np.bincount(self.site_of_payoff, weights=precision * z, minlength=count)
        gram = _gram(self.sites * np.sqrt(by_site)[:, None])
        factor = _inverse_factor(gram)
        weights = factor.T @ (factor @ (self.sites.T @ sums))
        half = _times_transpose(self.sites, factor)
        variance = np.einsum("ij,ij->i", half, half)[self.site_of_payoff]
        fitted = (self.sites @ weights)[self.site_of_payoff]
        return WeightedFit(self, gram, weights, factor, fitted, variance, precision)

    @property
    def unexplained(self) -> Array:
        """Variance at the payoffs' points beside the Gaussian process's basis, (n,)."""
        explained = np.einsum("ij,ij->i", self.sites, self.sites) - CONSTANT_VAR
        return np.maximum(self.signal_var - explained, 0.0)[self.site_of_payoff]


@dataclass(frozen=True)
class WeightedFit:
    """Posterior of a process's weights, and its mean and variance at the payoffs' points, (n,)."""

    design: Design
    gram: Array
    weights: Array
    inverse_factor: Array
    fitted: Array
    variance: Array
    precision: Array

    def leave_one_out(self, z: Array) -> tuple[Array, Array]:
        """Return z less a Gaussian process's prediction from the others, and its variance.

        Exact for given precisions: with leverage h the residual grows by 1 / (1 - h).
        """
        rest = np.maximum(1.0 - self.precision * self.variance, SPARSE.least_residual_share)
        return (z - self.fitted) / rest, self.variance / rest + self.design.unexplained

    def posterior(self, *, centered: bool = False) -> GPPosterior:
        """Return the Gaussian process posterior; pending trials lower its variance alone.

        If `centered`, of the process less its mean over the payoffs' points: what all points share
        is then in neither mean nor variance.
        """
        design, factor = self.design, self.inverse_factor
        if len(design.pending):
            noise = float(np.median(self.precision))
            factor = _inverse_factor(self.gram + noise * _gram(design.pending))
        origin = np.zeros(design.sites.shape[1])
        if centered:
            counts = np.bincount(design.site_of_payoff, minlength=len(design.sites))
            origin = counts @ design.sites / len(design.site_of_payoff)
        return GPPosterior(design.basis, design.signal_var, self.weights, factor, origin)


def make_design(
    layout: KernelLayout,
    kernel: KernelParameters,
    points: Array,
    pending: Array,
    inducing_points: Array | None = None,
    limit: int | None = None,
) -> Design:
    """Return a Gaussian process's design at points of payoffs told (n, p) and pending (k, p).

    Beyond `limit` distinct points the basis has the first of `inducing_points`, and the latest
    points, which a selection made earlier does not cover.
    """
    limit = SPARSE.features if limit is None else limit
    sites, which = np.unique(points, axis=0, return_inverse=True)
    everywhere = np.vstack([sites, pending])
    if len(pending):
        everywhere = np.unique(everywhere, axis=0)
    if len(everywhere) <= limit:
        Z = everywhere
    elif inducing_points is None:
        inverse = layout.inverse_lengthscales(kernel.lengthscales)
        Z = everywhere[layout.pivots(everywhere, inverse, limit)]
    else:
        latest = np.vstack([points, pending])[-SPARSE.latest :]
        Z = np.unique(np.vstack([inducing_points[: limit - SPARSE.latest], latest]), axis=0)
    basis = InducingPointBasis(layout, kernel, Z)
    # With all sites as inducing points, L itself holds their features.
    phi = basis.factor if np.array_equal(Z, sites) else basis.features(sites)
    rows = _design_rows(phi, kernel.signal_var)
    waiting = _design_rows(basis.features(pending), kernel.signal_var)
    return Design(basis, kernel.signal_var, rows, which.reshape(-1), waiting)


def _triangular_inverse(factor: Array) -> Array:
    """Return the inverse of a lower triangular matrix, for the weights of a Gaussian process."""
    result: Array = scipy.linalg.lapack.dtrtri(factor, lower=1)[0]
    return result


def _times_transpose(rows: Array, lower: Array) -> Array:
    """Return rows (n, m) of a Gaussian process times a transposed lower triangular matrix.

    Half of what an ordinary product would cost.
    """
    if not rows.size:
        return rows
    product: Array = scipy.linalg.blas.dtrmm(1.0, lower, rows.T, lower=1)
    return product.T


def _gram(rows: Array) -> Array:
    """Return rows' rows of a Gaussian process's (n, m): half computed, the other half copied."""
    if not len(rows):
        return np.zeros((rows.shape[1], rows.shape[1]))
    lower: Array = scipy.linalg.blas.dsyrk(1.0, rows.T, lower=1)
    return symmetric_from_lower(lower)


def _inverse_factor(gram: Array) -> Array:
    """Return the inverse Cholesky factor of a Gaussian process's I + gram."""
    precision = gram.copy()
    diagonal = np.diag_indices_from(precision)
    precision[diagonal] += 1.0
    try:
        factor = scipy.linalg.cholesky(precision, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:  # next to no noise: rounding outweighs the 1
        precision[diagonal] += 1e-12 * float(np.trace(precision))
        factor = scipy.linalg.cholesky(precision, lower=True, check_finite=False)
    return _triangular_inverse(factor)


def _design_rows(phi: Array, signal_var: float) -> Array:
    """Return a Gaussian process's rows (sqrt(signal) phi, 1): features, constant, (n, m + 1)."""
    rows = np.empty((len(phi), phi.shape[1] + 1))
    np.multiply(phi, np.sqrt(signal_var), out=rows[:, :-1])
    rows[:, -1] = np.sqrt(CONSTANT_VAR)
    return rows


@dataclass(frozen=True)
class GPPosterior:
    """The posterior of a process: mean and variance anywhere."""

    basis: InducingPointBasis
    signal_var: float
    weights: Array  # posterior mean of the weights of the features and the constant, (m + 1,)
    inverse_factor: Array  # of the Cholesky factor of their precision, (m + 1, m + 1)
    origin: Array  # row of the design that is subtracted from every other, (m + 1,)

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return the Gaussian process's mean and variance at the rows of X (n, p)."""
        phi = self.basis.features(X)
        unexplained = np.maximum(1.0 - np.einsum("ij,ij->i", phi, phi), 0.0)
        rows = _design_rows(phi, self.signal_var)
        rows -= self.origin
        mean = rows @ self.weights
        half = _times_transpose(rows, self.inverse_factor)
        return mean, self.signal_var * unexplained + np.einsum("ij,ij->i", half, half)

    def joint(self, X: Array) -> tuple[Array, Array]:
        """Return the posterior mean (n,) and covariance (n, n) at the rows of X (n, p)."""
        phi = self.basis.features(X)
        rows = _design_rows(phi, self.signal_var) - self.origin
        half = _times_transpose(rows, self.inverse_factor)
        covariance = half @ half.T
        covariance += self.signal_var * (self.basis.correlations(X, X) - phi @ phi.T)
        return rows @ self.weights, covariance

    def predict_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Return mean and variance at the rows of X (n, p), (n,) each, and their gradients, (n, p).

        For few rows: the gradient of their correlations takes n m p numbers.
        """
        phi, vjp = self.basis.features_vjp(X)
        root = np.sqrt(self.signal_var)
        rows = _design_rows(phi, self.signal_var)
        rows -= self.origin
        half = _times_transpose(rows, self.inverse_factor)
        unexplained = 1.0 - np.einsum("ij,ij->i", phi, phi)
        variance = np.einsum("ij,ij->i", half, half)
        variance += self.signal_var * np.maximum(unexplained, 0.0)
        slopes = np.empty((len(X), 2, phi.shape[1]))  # of mean and variance in the features
        slopes[:, 0] = root * self.weights[:-1]
        slopes[:, 1] = (2.0 * root) * (half @ self.inverse_factor)[:, :-1]
        slopes[:, 1] -= (2.0 * self.signal_var * (unexplained > 0.0))[:, None] * phi
        gradients = vjp(slopes)
        return rows @ self.weights, variance, gradients[:, 0], gradients[:, 1]
