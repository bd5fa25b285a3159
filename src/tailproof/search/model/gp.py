"""A Gaussian process in the span of a few points: exact while the points are all the sites seen.

Model of the practical optimizer. Payoffs p (standardized, tamed) at points x follow

    p = c + s g(x) + noise,   c ~ N(0, 1),   g ~ GP(0, R),

R a correlation function of the search space. With basis points Z, R(Z, Z) = L L', the features are
phi(x) = L^-1 R(Z, x): the Nystrom features of the paper's Section 4 (there Z is sampled, here it
is chosen). What Z does not explain, R(x, x) - |phi(x)|^2, stays in the variance, as in the
paper's ATA-GP-UCB with Nystrom features. If Z holds every site seen this is the exact process.

Squared-exponential correlations of few columns have Fourier features (`fourier_basis`), which may
be fewer; they take the points' place then.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from tailproof._compiled import correlation as engine
from tailproof.search.model import fourier as fourier_basis
from tailproof.search.model.fourier import FourierBasis

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Added to R(Z, Z) so that sites which nearly coincide do not break its factor.
_JITTER = 1e-8
# Variance of the constant c, in units of the payoffs' robust variance.
CONSTANT = 1.0


@dataclass(frozen=True)
class Layout:
    """How the columns of the model's coordinates belong together.

    Attributes
    ----------
    owner
        The parameter each column belongs to, (p,): columns of one Choice share a lengthscale.
    group
        The additive group of each column, (p,).
    kind
        `engine.MATERN` (smoothness 5/2) or `engine.SQUARED_EXPONENTIAL`.
    """

    owner: Indices
    group: Indices
    kind: int = engine.MATERN

    @property
    def owners(self) -> int:
        """Number of lengthscales."""
        return int(self.owner.max(initial=-1)) + 1

    @property
    def groups(self) -> int:
        """Number of additive groups."""
        return max(int(self.group.max(initial=-1)) + 1, 1)

    def columns(self, lengthscales: Array) -> Array:
        """Return 1 / lengthscale for every column."""
        return np.ascontiguousarray(1.0 / lengthscales[self.owner])


@dataclass(frozen=True)
class Shape:
    """What the process looks like: lengthscales (one a parameter), signal and noise variance."""

    lengthscales: Array
    signal: float
    noise: float


class Basis(Protocol):
    """Features whose inner products are close to a correlation function, never above it at x = y.

    `PointBasis` and `tailproof.search.model.fourier.FourierBasis` are such.
    """

    @property
    def count(self) -> int:
        """Number m of features."""
        ...

    def features(self, C: Array) -> Array:
        """Return phi of the rows of C (n, p), shape (n, m)."""
        ...

    def at(self, c: Array) -> tuple[Array, Array]:
        """Return phi at c (p,) and its derivatives, (m,) and (m, p)."""
        ...


class PointBasis:
    """Features phi(x) = L^-1 R(Z, x) of a correlation function on basis points Z, (m, p)."""

    def __init__(self, layout: Layout, lengthscales: Array, Z: Array) -> None:
        self._layout, self._inverse = layout, layout.columns(lengthscales)
        self._points = np.ascontiguousarray(Z)
        gram = self._correlate(self._points)
        gram[np.diag_indices_from(gram)] += _JITTER
        self._factor = scipy.linalg.cholesky(gram, lower=True, check_finite=False)
        self._whiten = _inverse(self._factor)

    @property
    def count(self) -> int:
        """Number of features."""
        return len(self._points)

    def features(self, C: Array) -> Array:
        """Return phi of the rows of C (n, p), shape (n, m)."""
        if C is self._points:  # phi(Z) = L^-1 R(Z, Z) = L' up to the jitter: they come free
            return self._factor
        return _transformed(self._correlate(np.ascontiguousarray(C)), self._whiten)

    def at(self, c: Array) -> tuple[Array, Array]:
        """Return phi at c (p,) and its derivatives, (m,) and (m, p)."""
        layout = self._layout
        value, slope = engine.with_gradient(
            layout.kind, c, self._points, self._inverse, layout.group, layout.groups
        )
        return self._whiten @ value, self._whiten @ slope

    def _correlate(self, C: Array) -> Array:
        layout = self._layout
        return engine.matrix(
            layout.kind, C, self._points, self._inverse, layout.group, layout.groups
        )


def choose_basis(
    layout: Layout, lengthscales: Array, sites: Array, limit: int, anchors: Array | None = None
) -> Basis:
    """Return Fourier features if there are such and they are fewer than `limit` and the sites.

    Otherwise the basis of all sites (m, p) if they are few, else of `anchors`, chosen among the
    sites before; if none are given, of the most telling `limit`.
    """
    inverse, most = layout.columns(lengthscales), min(limit, len(sites))
    if (
        layout.kind == engine.SQUARED_EXPONENTIAL
        and fourier_basis.suits(inverse, layout.group, layout.groups)
        and fourier_basis.size(inverse, layout.group, layout.groups) < most
    ):
        return FourierBasis(inverse, layout.group, layout.groups)
    if len(sites) > limit:
        sites = most_telling(layout, lengthscales, sites, limit) if anchors is None else anchors
    return PointBasis(layout, lengthscales, sites)


def most_telling(layout: Layout, lengthscales: Array, sites: Array, limit: int) -> Array:
    """Return up to `limit` of the sites that leave least unknown about the others, (m, p)."""
    taken = engine.pivots(
        layout.kind,
        np.ascontiguousarray(sites),
        layout.columns(lengthscales),
        layout.group,
        layout.groups,
        limit,
        1e-6,
    )
    return sites[taken]


def _inverse(factor: Array) -> Array:
    """Return the inverse of a lower triangular matrix."""
    result: Array = scipy.linalg.lapack.dtrtri(factor, lower=1)[0]
    return result


def _transformed(rows: Array, lower: Array) -> Array:
    """Return rows (n, m) times the transpose of a lower triangular matrix, (n, m).

    Half of what an ordinary product would cost.
    """
    if not rows.size:
        return rows
    product: Array = scipy.linalg.blas.dtrmm(1.0, lower, rows.T, lower=1)
    return product.T


def _gram(rows: Array) -> Array:
    """Return rows' rows of (n, m), (m, m): half of it computed, the other half copied."""
    if not len(rows):
        return np.zeros((rows.shape[1], rows.shape[1]))
    lower: Array = scipy.linalg.blas.dsyrk(1.0, rows.T, lower=1)
    return lower + np.tril(lower, -1).T


class Process:
    """The process given the points of the payoffs: a smoother, and a posterior once they are told.

    Parameters
    ----------
    basis
        Features of the process.
    shape
        Signal and noise variance.
    rows
        Features of the payoffs' points, (n, m).
    precision
        1 / (relative noise variance) of each payoff, (n,): 1 where nothing is known.
    pending
        Features of points whose payoffs are on their way, (k, m): they lower the variance alone.
    """

    def __init__(
        self, basis: Basis, shape: Shape, rows: Array, precision: Array, pending: Array
    ) -> None:
        self.basis, self.shape = basis, shape
        self._rows = self._scaled(rows)
        self._precision = precision
        self._gram = _gram(self._rows * np.sqrt(precision)[:, None])
        self._waiting = self._scaled(pending)
        self._weights = np.zeros(self._rows.shape[1])
        self._origin = np.zeros(self._rows.shape[1])

    def _scaled(self, phi: Array) -> Array:
        constant = np.full((len(phi), 1), np.sqrt(CONSTANT))
        return np.hstack([np.sqrt(self.shape.signal) * phi, constant])

    @staticmethod
    def _factored(gram: Array, noise: float) -> Array:
        inner = gram / noise
        diagonal = np.diag_indices_from(inner)
        inner[diagonal] += 1.0
        try:
            return scipy.linalg.cholesky(inner, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:  # next to no noise: rounding outweighs the 1
            inner[diagonal] += 1e-12 * float(np.trace(inner))
            return scipy.linalg.cholesky(inner, lower=True, check_finite=False)

    @functools.cached_property
    def _factor(self) -> Array:
        """Of the posterior's precision; a process that only smooths has no need of it."""
        return self._factored(self._gram, self.shape.noise)

    @functools.cached_property
    def _unpended(self) -> Array:
        """The factor's inverse."""
        return _inverse(self._factor)

    @functools.cached_property
    def _shrink(self) -> Array:
        """The inverse of the factor that knows the pending points."""
        if not len(self._waiting):
            return self._unpended
        return _inverse(self._factored(self._gram + _gram(self._waiting), self.shape.noise))

    def leverage(self) -> Array:
        """Return how far each payoff pulls the fit at its own point, (n,), between 0 and 1."""
        half = _transformed(self._rows, self._unpended)
        return np.einsum("ij,ij->i", half, half) * self._precision / self.shape.noise

    def smoother(self, noise: float) -> Smoother:
        """Return the smoother that this process is with another noise variance."""
        factor = self._factored(self._gram, noise)
        inverse = scipy.linalg.cho_solve((factor, True), np.eye(len(factor)), check_finite=False)
        return Smoother(self._rows, self._precision, inverse / noise)

    def learn(self, payoffs: Array) -> None:
        """Take the payoffs (n,)."""
        moment = self._rows.T @ (self._precision * payoffs) / self.shape.noise
        self._weights = scipy.linalg.cho_solve((self._factor, True), moment, check_finite=False)

    def center(self) -> None:
        """From now on predict how far the process lies from its own mean over the payoffs' points.

        What all points share is then in neither mean nor variance.
        """
        self._origin = self._rows.mean(axis=0)

    def predict(self, C: Array) -> tuple[Array, Array]:
        """Return mean and variance at the rows of C (n, p)."""
        phi = self.basis.features(C)
        rows = self._scaled(phi) - self._origin
        half = _transformed(rows, self._shrink)
        gap = np.maximum(1.0 - np.einsum("ij,ij->i", phi, phi), 0.0)
        return rows @ self._weights, self.shape.signal * gap + np.einsum("ij,ij->i", half, half)

    def predict_gradient(self, c: Array) -> tuple[float, float, Array, Array]:
        """Return mean, variance and their derivatives at one point c (p,)."""
        phi, slope = self.basis.at(c)
        root = np.sqrt(self.shape.signal)
        row = np.append(root * phi, np.sqrt(CONSTANT)) - self._origin
        half = self._shrink @ row
        back = self._shrink.T @ half
        gap = max(1.0 - float(phi @ phi), 0.0)
        gap_slope = -2.0 * (phi @ slope) if gap > 0.0 else np.zeros(len(c))
        mean_slope = root * (self._weights[:-1] @ slope)
        variance_slope = 2.0 * root * (back[:-1] @ slope) + self.shape.signal * gap_slope
        variance = self.shape.signal * gap + float(half @ half)
        return float(row @ self._weights), variance, mean_slope, variance_slope


class Smoother:
    """Least squares with the process as its penalty: the fitted values of payoffs."""

    def __init__(self, rows: Array, precision: Array, solve: Array) -> None:
        self._rows, self._precision, self._solve = rows, precision, solve

    def fit(self, payoffs: Array) -> Array:
        """Return the posterior mean at the payoffs' own points, (n,)."""
        return self._rows @ (self._solve @ ((self._precision * payoffs) @ self._rows))


@dataclass(frozen=True)
class Varying:
    """A constant, and with probability `weight` a deviation from it that varies over the space.

    Attributes
    ----------
    mean, variance
        Of the constant; its variance is not in those of `predict`, since it is the same everywhere.
    process
        Of the deviation, centered (`Process.center`); None if there is none.
    scale
        Unit of the deviation.
    weight
        How probable it is that there is one.
    """

    mean: float
    variance: float
    process: Process | None = None
    scale: float = 1.0
    weight: float = 0.0

    def predict(self, C: Array) -> tuple[Array, Array]:
        """Return mean, and variance of the deviation, of the mixture at the rows of C (n, p)."""
        if self.process is None:
            return np.full(len(C), self.mean), np.zeros(len(C))
        mean, variance = self.process.predict(C)
        away, w = self.scale * mean, self.weight
        within = w * self.scale**2 * variance
        return self.mean + w * away, within + w * (1.0 - w) * away**2
