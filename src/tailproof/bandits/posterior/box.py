"""Posteriors over a box: ridge regression and Algorithm 2 on the distinct points told so far.

A basis gives points coordinates a(x) in r dimensions: those of an explicit feature map, or those of
the span of the kernel's features at the told points, which grows with them. With A (p, r) the
coordinates of the p told points and N their counts, H = A^T N A + ridge and

    mean(x)     = a(x)^T w
    variance(x) = ridge a(x)^T H^(-1) a(x)

to which ridge regression and choice (ii) of Algorithm 2 add k(x, x) - |a(x)|^2.

Nystrom features replace a(x) by its projection on the dictionary's span.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from tailproof._compiled import dictionary as compiled
from tailproof._util import checks
from tailproof.bandits.features import ExplicitFeatures, Nystrom
from tailproof.bandits.posterior.base import PosteriorInputs, eigh_above
from tailproof.bandits.posterior.dictionary_features import rank_tolerance
from tailproof.bandits.posterior.nystrom import Sampling
from tailproof.kernels import Kernel

Array = NDArray[np.float64]


class Basis(Protocol):
    """Coordinates of points; `directions` (u, r) and `copies` (u,) as in an `Embedding`."""

    size: int  # r

    def coordinates(self, points: Array) -> Array:
        """Return a(x) of points (k, d) of a box, shape (k, r)."""

    def include(self, point: Array) -> bool:
        """Let the basis of a box span a told point (d,); return whether it has a dimension more."""


class FeatureBasis:
    """The coordinates of an explicit feature map phi, equal features once: r is fixed."""

    def __init__(self, features: ExplicitFeatures) -> None:
        """Take explicit features as the basis of a posterior over a box."""
        self._phi, self.copies = features.phi, features.copies
        self.size, self._root = len(features.copies), np.sqrt(features.copies)
        self.directions = np.diag(1.0 / self._root)

    def coordinates(self, points: Array) -> Array:
        """Return phi(x) of points of a box, (k, r), equal features as one of the same length."""
        return self._phi(points) * self._root

    def include(self, point: Array) -> bool:
        """Return False: explicit features over a box do not depend on the points told."""
        return False


class SpanBasis:
    """The Newton basis of the span of told points, as `low_rank.PlayedSpan` has for finite arms."""

    def __init__(self, kernel: Kernel, limit: float, dimension: int) -> None:
        """Start a basis of a posterior over a box: the span of no point."""
        self._kernel, self.limit, self.size = kernel, limit, 0
        self._pivots, self._factor = np.empty((0, dimension)), np.empty((0, 0))

    def coordinates(self, points: Array) -> Array:
        """Return the coordinates of points of a box in the span, (k, r)."""
        if self.size == 0:
            return np.empty((len(points), 0))
        cross = self._kernel.matrix(self._pivots, points)
        result: Array = solve_triangular(self._factor, cross, lower=True).T
        return result

    def include(self, point: Array) -> bool:
        """Add a dimension if a point of the box has more variance than `limit` outside the span."""
        row = self.coordinates(point[None])[0]
        left = float(self._kernel.diagonal(point[None])[0] - row @ row)
        if left <= self.limit:
            return False
        r, factor = self.size, np.zeros((self.size + 1, self.size + 1))
        factor[:r, :r], factor[r, :r], factor[r, r] = self._factor, row, np.sqrt(left)
        self._factor, self._pivots = factor, np.concatenate([self._pivots, point[None]])
        self.size += 1
        return True


class BoxPosterior(ABC):
    """What all posteriors over a box share: told points, their coordinates, H and the variance."""

    directions = 0  # in use
    log_det = 0.0  # ln |I + K_t / ridge|

    def __init__(self, inputs: PosteriorInputs, basis: Basis) -> None:
        self._inputs, self._basis = inputs, basis
        self.points = np.empty((0, inputs.X.shape[1]))  # distinct told points, (p, d)
        self.counts = np.empty(0)
        self._index: dict[bytes, int] = {}
        self._told: list[int] = []  # the point of every payoff, by number
        self._payoffs: list[float] = []
        self._coordinates = np.empty((0, basis.size))  # A, (p, r)
        self._gram = np.zeros((basis.size, basis.size))  # A^T N A

    @property
    def count(self) -> int:
        """Number of payoffs told at points of the box."""
        return len(self._payoffs)

    @property
    def told(self) -> NDArray[np.int64]:
        """The number of the distinct point of every payoff, (t,)."""
        return np.array(self._told, dtype=np.int64)

    @property
    def payoffs(self) -> Array:
        """All payoffs told at points of the box, (t,)."""
        return np.array(self._payoffs, dtype=np.float64)

    def number_of(self, point: Array) -> int | None:
        """Return the number of a distinct told point (d,), or None."""
        return self._index.get(point.tobytes())

    def add(self, point: Array, payoff: float) -> None:
        """Add one payoff at a point (d,) of the box."""
        self._record_point(point, payoff)
        self._refresh()

    def restore(self, state: dict[str, Any], points: Array, payoffs: Array) -> None:
        """Add the history, points (t, d) and payoffs (t,), and set what `state` returned."""
        for point, payoff in zip(points, payoffs.tolist(), strict=True):
            self._record_point(point, payoff)
        if len(payoffs):
            self._refresh()

    def state(self) -> dict[str, Any]:
        """Return what, with the history, `restore` needs to continue bit for bit, as JSON."""
        return {}

    def _record_point(self, point: Array, payoff: float) -> None:
        """Count a payoff at its point of the box, and let the basis span the point."""
        site = self._index.setdefault(point.tobytes(), len(self.points))
        if site == len(self.points):
            if self._basis.include(point):
                self._coordinates = np.pad(self._coordinates, ((0, 0), (0, 1)))
                self._gram = np.pad(self._gram, (0, 1))
            row = self._basis.coordinates(point[None])
            self.points = np.concatenate([self.points, point[None]])
            self.counts = np.append(self.counts, 0.0)
            self._coordinates = np.concatenate([self._coordinates, row])
        self.counts[site] += 1.0
        self._gram += np.outer(self._coordinates[site], self._coordinates[site])
        self._told.append(site)
        self._payoffs.append(payoff)

    def _refresh(self) -> None:
        """Compute H's eigendecomposition, and the weights of the mean, after a payoff."""
        values, vectors = eigh_above(self._projected_gram(), self._inputs.ridge)
        self.log_det = float(np.log(values / self._inputs.ridge).sum())
        self._half = vectors / np.sqrt(values)  # H^(-1/2) = half vectors^T, in r dimensions
        self._vectors = vectors
        self._weights = self._mean_weights()

    def _is_prior(self) -> bool:
        """Whether the posterior over the box is still the prior."""
        return self.count == 0

    def _projected_gram(self) -> Array:
        """Return the Gram matrix of the told points in the coordinates of the posterior."""
        return self._gram

    def _project(self, coordinates: Array) -> Array:
        """Return coordinates of points as the posterior over the box uses them."""
        return coordinates

    @abstractmethod
    def _mean_weights(self) -> Array:
        """Return w, (r,), from all payoffs told at points of the box."""

    @property
    def weight_norm(self) -> float:
        """|w|, the norm of the posterior mean as a function of the features."""
        return 0.0 if self._is_prior() else float(np.linalg.norm(self._weights))

    def query(self, points: Array) -> tuple[Array, Array]:
        """Return mean and variance at points of the box (k, d), (k,) each."""
        prior = self._inputs.kernel.diagonal(points).astype(np.float64)
        if self._is_prior():
            return np.zeros(len(points)), prior
        a = self._project(self._basis.coordinates(points))
        return a @ self._weights, self._variance(prior, a)

    def _variance(self, prior: Array, a: Array) -> Array:
        """Return the variance at points of the box, from k(x, x) and their coordinates a."""
        half = a @ self._half
        variance = self._inputs.ridge * np.einsum("ij,ij->i", half, half)
        if self._inputs.with_residual:
            variance += np.maximum(prior - np.einsum("ij,ij->i", a, a), 0.0)
        result: Array = variance
        return result

    def covariance(self, points: Array, other: Array) -> Array:
        """Return the posterior covariance of points (k, d) and (l, d), shape (k, l)."""
        kernel = self._inputs.kernel
        if self._is_prior():
            return kernel.matrix(points, other)
        a, b = (self._project(self._basis.coordinates(x)) for x in (points, other))
        result: Array = self._inputs.ridge * (a @ self._half) @ (b @ self._half).T
        if self._inputs.with_residual:
            result += kernel.matrix(points, other) - a @ b.T
        return result


class BoxRidgePosterior(BoxPosterior):
    """Kernel ridge regression on payoffs truncated once (Algorithm 1), over a box."""

    def __init__(self, inputs: PosteriorInputs, basis: SpanBasis) -> None:
        super().__init__(inputs, basis)
        self._kept: list[float] = []  # the payoffs, set to zero where |y_t| > b_t

    def _record_point(self, point: Array, payoff: float) -> None:
        """Count a payoff, set to zero if it is above the truncation level (Alg. 1)."""
        super()._record_point(point, payoff)
        small = abs(payoff) <= self._inputs.truncation(self.count, 0)
        self._kept.append(payoff if small else 0.0)

    def _mean_weights(self) -> Array:
        """Return w, (r,), from the sums of the truncated payoffs at each point."""
        sums = np.bincount(self._told, self._kept, minlength=len(self.points))
        weights: Array = self._half @ (self._half.T @ (self._coordinates.T @ sums))
        return weights


def truncated_sums(rows: Array, payoffs: Array, threshold: float) -> Array:
    """Return r_i = sum of u_{i,tau} y_tau with |u_{i,tau} y_tau| <= b_t over payoffs in a box.

    As in Algorithm 2; rows are u (m, t).
    """
    products = rows * payoffs
    result: Array = np.where(np.abs(products) <= threshold, products, 0.0).sum(axis=1)
    return result


class BoxFeaturePosterior(BoxPosterior):
    """Algorithm 2 with explicit features over a box."""

    def __init__(self, inputs: PosteriorInputs, basis: FeatureBasis) -> None:
        super().__init__(inputs, basis)
        self._rows, self._copies = basis.directions, basis.copies
        self.directions = round(float(basis.copies.sum()))

    def _mean_weights(self) -> Array:
        """Return w, (r,), from the truncated sums in every direction (Alg. 2)."""
        threshold = self._inputs.truncation(self.count, self.directions)
        whitening = self._rows @ (self._half @ self._vectors.T)
        rows = whitening @ self._project(self._coordinates).T  # u by told point, (u, p)
        sums = truncated_sums(rows[:, self.told], self.payoffs, threshold)
        weights: Array = whitening.T @ (self._copies * sums)
        return weights


class BoxNystromPosterior(BoxFeaturePosterior):
    """Algorithms 2 and 3 over a box: the dictionary holds distinct told points, by number."""

    def __init__(
        self,
        inputs: PosteriorInputs,
        nystrom: Nystrom,
        sampling: Sampling,
        rng: np.random.Generator,
    ) -> None:
        largest = float(inputs.kernel.diagonal(inputs.X).max())
        span = SpanBasis(inputs.kernel, nystrom.cutoff * largest, inputs.X.shape[1])
        BoxPosterior.__init__(self, inputs, span)
        self.residual = span.limit  # of a told point's k(x, x), what no dictionary can span
        self._nystrom, self._sampling, self._rng = nystrom, sampling, rng
        self._change_dictionary(np.empty(0, dtype=np.int64))

    def add(self, point: Array, payoff: float) -> None:
        """Add one payoff and redraw the dictionary, from the variances of the round before."""
        variance = self._told_variance()
        if self.number_of(point) is None:
            variance = np.append(variance, self.query(point[None])[1])
        self._record_point(point, payoff)
        ridge = self._inputs.ridge
        self._change_dictionary(self._sampling.draw(variance, self.counts, ridge, self._rng))
        self._refresh()

    def state(self) -> dict[str, Any]:
        """Return the dictionary of told points of the box, which was drawn."""
        return {"dictionary": self.dictionary.tolist()}

    def restore(self, state: dict[str, Any], points: Array, payoffs: Array) -> None:
        """Add the history of the box, and set the dictionary."""
        for point, payoff in zip(points, payoffs.tolist(), strict=True):
            self._record_point(point, payoff)
        dictionary = [
            checks.index("dictionary", site, len(self.points)) for site in state["dictionary"]
        ]
        if dictionary != sorted(set(dictionary)):
            raise ValueError("`dictionary` must be ascending, but is not.")
        self._change_dictionary(np.array(dictionary, dtype=np.int64))
        if len(payoffs):
            self._refresh()

    def _told_variance(self) -> Array:
        """Return the variance at the points told, (p,), by which arms are drawn."""
        prior = self._inputs.kernel.diagonal(self.points).astype(np.float64)
        return prior if self._is_prior() else self._variance(prior, self._projected)

    def _change_dictionary(self, dictionary: NDArray[np.int64]) -> None:
        """Project the coordinates on the span of a new dictionary of told points."""
        self.dictionary = dictionary
        left, right = np.empty((0, 0)), np.empty((self._basis.size, 0))
        if len(dictionary) and self._basis.size:
            a = np.ascontiguousarray(self._coordinates)
            _, left, right = compiled.spanned(a, dictionary, rank_tolerance(self._nystrom))
        self._projection = right
        self._rows = np.eye(right.shape[1]) if self._nystrom.reduced else left
        self._copies = np.ones(len(self._rows))
        self.directions = len(self._rows)
        self._projected = self._coordinates @ right

    def _is_prior(self) -> bool:
        """Whether the dictionary of told points of the box is empty."""
        return self.directions == 0

    def _projected_gram(self) -> Array:
        """Return the Gram matrix of the told points in the dictionary's span."""
        return self._projection.T @ self._gram @ self._projection

    def _project(self, coordinates: Array) -> Array:
        """Return coordinates of points in the dictionary's span."""
        return coordinates @ self._projection
