"""The marginal likelihood of kernel parameters, its gradient, and its maximization.

With K = signal ((1 - nugget) R + nugget I) + 1 1' + noise D, D the relative noise variances,
payoffs p at distinct points have

    ln P(p) = -1/2 p' K^-1 p - 1/2 ln |K| + const,

and priors on the logarithms of lengthscales, signal, noise and nugget regularize a fit to few
payoffs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.optimize
from numpy.typing import NDArray

from tailproof._util.linalg import symmetric_from_lower
from tailproof.search.model.constants import CONSTANT_VAR, KERNEL
from tailproof.search.model.correlation import KernelLayout, KernelParameters

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """Normal priors on logarithms: (mean, standard deviation) each, in standardized units.

    The lengthscales' mean grows with the square root of the number of parameters, as distances in
    a cube do. Below it their deviation is `shorter`: one short lengthscale is enough for a process
    to interpolate every payoff, outliers included, while a long one only ignores a parameter.
    """

    lengthscale: tuple[float, float] = (math.log(0.3), 0.8)
    shorter: float = 0.4
    signal: tuple[float, float] = (math.log(1.0), 2.0)
    noise: tuple[float, float] = (math.log(0.1), 2.5)
    nugget: tuple[float, float] | None = None  # None for a continuous function

    @property
    def _variances(self) -> list[tuple[float, float]]:
        """The priors of the hyperparameters that follow the lengthscales in theta."""
        return [self.signal, self.noise] + ([] if self.nugget is None else [self.nugget])

    def means(self, n_lengthscales: int) -> Array:
        """Return the means of hyperparameters theta = ln (lengthscales, signal, noise, nugget)."""
        mean = self.lengthscale[0] + 0.5 * math.log(max(n_lengthscales, 1))
        return np.array([mean] * n_lengthscales + [median for median, _ in self._variances])

    def deviations(self, theta: Array, n_lengthscales: int) -> Array:
        """Return the prior standard deviations of the hyperparameters theta at theta."""
        means, q = self.means(n_lengthscales), n_lengthscales
        lengthscales = np.where(theta[:q] < means[:q], self.shorter, self.lengthscale[1])
        return np.append(lengthscales, [deviation for _, deviation in self._variances])


def prior_median(prior: Prior, n_lengthscales: int) -> KernelParameters:
    """Return the hyperparameters of the prior, before any payoff."""
    return _kernel_parameters_from_logs(prior.means(n_lengthscales), n_lengthscales)


def _kernel_parameters_from_logs(theta: Array, n_lengthscales: int) -> KernelParameters:
    """Return kernel parameters from the hyperparameters theta, their logarithms."""
    values = np.exp(theta)
    return KernelParameters(values[:n_lengthscales], *values[n_lengthscales:].tolist())


@dataclass(frozen=True)
class Sample:
    """Payoffs summarized by distinct points: a sufficient statistic, given relative variances.

    Payoffs z with relative precisions u at one point are as likely as their weighted mean, with
    relative variance 1 / sum(u), times a term of their scatter around it.
    """

    points: Array  # (n, p), distinct
    means: Array  # (n,)
    relative_var: Array  # (n,), the diagonal of D
    dof: int = 0  # number of payoffs less that of points, limited at each
    scatter: float = 0.0  # sum of u (z - mean)^2

    @classmethod
    def summarize(cls, points: Array, z: Array, relative_var: Array) -> Sample:
        """Return what hyperparameters are fitted to, of z (n,) at points (n, p).

        It has at most `KERNEL.rows` points.
        """
        precision = 1.0 / relative_var
        sites, first, which = np.unique(points, axis=0, return_index=True, return_inverse=True)
        which = which.reshape(-1)
        total = np.bincount(which, weights=precision, minlength=len(sites))
        means = np.bincount(which, weights=precision * z, minlength=len(sites)) / total
        counts = np.bincount(which, minlength=len(sites))
        squares = np.bincount(which, weights=precision * (z - means[which]) ** 2)
        # The noise may differ among points: none counts for more than a few payoffs.
        dof = np.minimum(counts - 1, KERNEL.dof_per_point)
        scatters: Array = squares * (dof / np.maximum(counts - 1, 1))
        # Evenly spaced over time if they are many: the prior of a search is not its end.
        rows = np.sort(np.argsort(first, kind="stable")[evenly_spaced(len(sites), KERNEL.rows)])
        total_dof, scatter = int(dof[rows].sum()), float(scatters[rows].sum())
        kept = np.ascontiguousarray(sites[rows])
        return cls(kept, means[rows], 1.0 / total[rows], total_dof, scatter)


def negative_log_posterior(
    theta: Array, layout: KernelLayout, sample: Sample, prior: Prior
) -> tuple[float, Array]:
    """Return minus the log posterior of hyperparameters theta, and its gradient.

    `theta` is ln (lengthscales, signal, noise), (q + 2,), or ends with the log nugget, (q + 3,).
    """
    X, payoffs, relative_var = sample.points, sample.means, sample.relative_var
    q = layout.n_lengthscales
    kernel = _kernel_parameters_from_logs(theta, q)
    inverse = layout.inverse_lengthscales(kernel.lengthscales)
    R, lengthscale_vjp = layout.correlations_vjp(X, inverse)
    if kernel.nugget:
        R *= 1.0 - kernel.nugget
        R[np.diag_indices_from(R)] = 1.0
    K = kernel.signal_var * R
    K += CONSTANT_VAR
    K[np.diag_indices_from(K)] += kernel.noise_var * relative_var + 1e-10
    try:
        # K' is K in the order of LAPACK, which works in place.
        factor = scipy.linalg.cholesky(K.T, lower=True, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return 1e25, np.zeros_like(theta)
    half_log_determinant = float(np.log(np.diag(factor)).sum())
    precision = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)[0]
    precision = symmetric_from_lower(precision).T  # itself, with rows in one piece
    alpha = precision @ payoffs
    # d(-ln P) = 1/2 tr((K^-1 - alpha alpha') dK)
    weight = np.outer(alpha, -alpha)
    weight += precision
    weight *= 0.5
    in_lengthscales = kernel.signal_var * (1.0 - kernel.nugget) * lengthscale_vjp(weight)
    in_signal = kernel.signal_var * float(np.vdot(weight, R))
    in_noise = kernel.noise_var * float(np.diag(weight) @ relative_var)
    in_noise += 0.5 * (sample.dof - sample.scatter / kernel.noise_var)
    gradient = np.append(in_lengthscales, [in_signal, in_noise])
    if kernel.nugget:
        # d(signal R) / d ln(nugget) = signal nugget / (1 - nugget) (I - R), R with the nugget.
        own = kernel.signal_var * float(np.trace(weight))
        share = kernel.nugget / (1.0 - kernel.nugget)
        gradient = np.append(gradient, share * (own - in_signal))
    deviations = prior.deviations(theta, q)
    away = (theta - prior.means(q)) / deviations
    value = 0.5 * float(payoffs @ alpha) + half_log_determinant
    value += 0.5 * (sample.dof * float(theta[q + 1]) + sample.scatter / kernel.noise_var)
    return value + 0.5 * float(away @ away), gradient + away / deviations


def maximize_posterior(
    layout: KernelLayout,
    sample: Sample,
    prior: Prior,
    start: KernelParameters,
    steps: int,
) -> KernelParameters:
    """Return the hyperparameters of largest posterior density, by L-BFGS-B from `start`."""
    bounds = [tuple(np.log(KERNEL.lengthscale_bounds))] * layout.n_lengthscales
    bounds += [tuple(np.log(KERNEL.signal_bounds)), tuple(np.log(KERNEL.noise_bounds))]
    variances = [start.signal_var, start.noise_var]
    if prior.nugget is not None:
        bounds, variances = (
            [*bounds, tuple(np.log(KERNEL.nugget_bounds))],
            [*variances, start.nugget],
        )
    lower, upper = np.array(bounds).T
    theta = np.log(np.append(start.lengthscales, variances))
    found = scipy.optimize.minimize(
        negative_log_posterior,
        np.clip(theta, lower, upper),
        args=(layout, sample, prior),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": steps},
    )
    return _kernel_parameters_from_logs(found.x, layout.n_lengthscales)


def log_marginal_likelihood(K: Array, payoffs: Array) -> float:
    """Return ln P(payoffs) of hyperparameters with covariance K, but for its constant."""
    factor = scipy.linalg.cholesky(K, lower=True, check_finite=False)
    half = scipy.linalg.solve_triangular(factor, payoffs, lower=True, check_finite=False)
    return -0.5 * float(half @ half) - float(np.log(np.diag(factor)).sum())


def evenly_spaced(count: int, most: int) -> NDArray[np.int64]:
    """Return which payoffs hyperparameters are fitted to: at most `most` of `count`, evenly spaced.

    Examples
    --------
    >>> evenly_spaced(9, 3)
    array([0, 4, 8])
    """
    if count <= most:
        return np.arange(count)
    return np.linspace(0, count - 1, most).round().astype(np.int64)
