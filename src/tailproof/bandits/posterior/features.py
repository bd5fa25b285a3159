"""Algorithm 2: posterior mean and variance from robust sums in every feature direction.

With an embedding Phi = A W^T (see `bandits.features`), V^(-1/2) Phi^T = W H^(-1/2) A^T where
H = A^T N A + ridge has size r: the mean over the arms is A H^(-1/2) W^T r_hat and the variance
ridge a^T H^(-1) a, to which choice (ii) adds k(x, x) - |phi(x)|^2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._compiled import eigen
from tailproof._compiled import ridge as compiled
from tailproof.bandits.estimators import DirectionEstimator
from tailproof.bandits.features import Embedding
from tailproof.bandits.posterior.base import REFRESH, PosteriorInputs, eigh_above, weighted_gram

Array = NDArray[np.float64]


class FeaturePosterior:
    """Algorithm 2 with a fixed feature map; its eigendecomposition of H is a `Spectrum`."""

    leverage: Array  # (n,) a_j^T H^(-1) a_j
    slack: Array  # (n,) bound on the rounding error of the leverages

    def __init__(
        self, inputs: PosteriorInputs, embedding: Embedding, estimator: DirectionEstimator
    ) -> None:
        self._inputs, self.estimator = inputs, estimator
        self._prior = inputs.kernel.diagonal(inputs.X).astype(np.float64)
        self._count = 0
        self._counts = np.zeros(len(inputs.X))
        self._cached_mean: Array | None = None
        self._cached_eigensystem: tuple[Array, Array, Array] | None = None
        self._change_feature_coordinates(embedding)

    def _change_feature_coordinates(self, embedding: Embedding) -> None:
        """Take new features of the arms, and compute the posterior from the counts anew."""
        self.embedding, self.directions = embedding, embedding.size
        self._residual = self._left_out_variance(self._prior, embedding.squared_norms())
        self.estimator.coordinates_changed(embedding.coordinates)
        self._refresh()

    def _refresh(self) -> None:
        """Recompute the eigendecomposition of the features' H and the leverages from the counts."""
        a, self._refreshed = self.embedding.coordinates, self._count
        self._set_gram(weighted_gram(a, self._counts))
        values, roots, vectors = self._eigensystem()
        self.log_det = float(np.log(values / self._inputs.ridge).sum())
        half = (a @ vectors.T) * roots
        self.leverage = np.einsum("ij,ij->i", half, half)

    def _set_gram(self, gram: Array) -> None:
        """Use A^T N A, (r, r), of the present counts; its eigensystem is found when needed."""
        a = self.embedding.coordinates
        self._gram, self._cached_eigensystem = gram, None
        # Rank-one steps subtract from at most |a|^2 / ridge, REFRESH times, each to rounding.
        self.slack = 1e-12 * np.einsum("ij,ij->i", a, a) / self._inputs.ridge
        self._cached_mean = None

    def _eigensystem(self) -> tuple[Array, Array, Array]:
        """Return H's eigenvalues (r,), their inverse square roots and eigenvectors in rows."""
        if self._cached_eigensystem is None:
            values, columns = eigh_above(self._gram, self._inputs.ridge)
            vectors = np.ascontiguousarray(columns.T)
            self._cached_eigensystem = values, 1.0 / np.sqrt(values), vectors
        return self._cached_eigensystem

    @property
    def roots(self) -> Array:
        """1 / sqrt(eigenvalue) of H, (r,)."""
        return (self._cached_eigensystem or self._eigensystem())[1]

    @property
    def vectors(self) -> Array:
        """Eigenvectors of H in rows, (r, r)."""
        return (self._cached_eigensystem or self._eigensystem())[2]

    @property
    def count(self) -> int:
        """Number of payoffs added to the feature posterior."""
        return self._count

    @property
    def residual(self) -> float:
        """Largest part of k(x, x) that the features leave out."""
        return float(np.max(self._prior - self.embedding.squared_norms()))

    def add(self, arm: int, payoff: float) -> None:
        """Add one payoff to the feature posterior."""
        self._update_features(arm, payoff, None)

    def _update_features(self, arm: int, payoff: float, embedding: Embedding | None) -> None:
        """Add one payoff and, where one is given, change to a new embedding of the same arms."""
        self.estimator.add(arm, payoff)
        self._count += 1
        self._counts[arm] += 1.0
        self._cached_mean = None
        if embedding is not None:
            if not embedding.shares_coordinates(self.embedding):
                self._change_feature_coordinates(embedding)
                return
            # Only the directions differ: H does not depend on them.
            self.embedding, self.directions = embedding, embedding.size
        if self._count % REFRESH == 0:
            self._refresh()
            return
        self._add_payoff_to_gram(arm)

    def _add_payoff_to_gram(self, arm: int) -> None:
        """Add one payoff of an arm, which is in the counts, to H and the leverages."""
        self._add_payoff_by_rank_one(arm)

    def _add_payoff_by_rank_one(self, arm: int) -> None:
        """Add one payoff of an arm to the eigendecomposition of H, by rank one."""
        spectrum = (*self._eigensystem(), self.leverage)
        self.log_det += eigen.add_payoff(*spectrum, self.embedding.coordinates, arm)

    def mean(self) -> Array:
        """Posterior mean of the arms (Alg. 2, lines 5 and 6)."""
        if self._is_prior():
            return np.zeros(len(self._prior))
        if self._cached_mean is None:
            e, sums = self.embedding, self._direction_sums()
            _, roots, vectors = self._eigensystem()
            self._cached_mean = eigen.direction_mean(
                e.coordinates, e.directions, e.copies, sums, roots, vectors
            )
        return self._cached_mean

    def variance(self) -> Array:
        """Posterior variance of the arms (Alg. 2, line 7); k(x, x) before the first payoff."""
        if self._is_prior():
            return self._prior
        result: Array = compiled.variances(self.leverage, self._inputs.ridge, self._residual)
        return result

    def covariance(self, arm: int) -> Array:
        """Posterior covariance of the arms with one arm, from their features."""
        inputs, a = self._inputs, self.embedding.coordinates
        if self._is_prior():
            return inputs.kernel.matrix(inputs.X, inputs.X[arm : arm + 1])[:, 0]
        result: Array = inputs.ridge * eigen.solved_column(self.roots, self.vectors, a, arm)
        if inputs.with_residual:
            result += inputs.kernel.matrix(inputs.X, inputs.X[arm : arm + 1])[:, 0] - a @ a[arm]
        return result

    def query(self, points: Array) -> tuple[Array, Array]:
        """Posterior mean and variance at any points, from their features."""
        prior = self._inputs.kernel.diagonal(points).astype(np.float64)
        if self._is_prior():
            return np.zeros(len(points)), prior
        ridge, copies = self._inputs.ridge, self.embedding.copies
        sums = self._direction_sums()
        inside, outside = self.embedding.query(points)
        mean = inside @ eigen.mean_weights(
            self.embedding.directions, copies, sums, self.roots, self.vectors
        )
        half = (inside @ self.vectors.T) * self.roots
        variance = ridge * np.einsum("ij,ij->i", half, half)
        norms = np.einsum("ij,ij->i", inside, inside)
        if outside is not None:
            # Off the span of the arms' features V is ridge times the identity.
            mean += outside @ (copies * sums) / math.sqrt(ridge)
            outside_norms = np.einsum("ij,ij,j->i", outside, outside, copies)
            variance += outside_norms
            norms += outside_norms
        return mean, variance + self._left_out_variance(prior, norms)

    def state(self) -> dict[str, Any]:
        """Return what, with the history, `restore` needs to continue bit for bit, as JSON."""
        return self.estimator.state()

    def restore(self, state: dict[str, Any], arms: NDArray[np.int64], payoffs: Array) -> None:
        """Set what `state` returned, with the history (t,) that led to it."""
        self._replay_payoffs(state, arms, payoffs, len(arms) // REFRESH * REFRESH)

    def _replay_payoffs(
        self, state: dict[str, Any], arms: NDArray[np.int64], payoffs: Array, refreshed: int
    ) -> None:
        """Add the history (t,), of which the first `refreshed` led to the last `_refresh`."""
        self.estimator.restore(state, arms, payoffs)
        self._counts = np.bincount(arms[:refreshed], minlength=len(self._counts)).astype(np.float64)
        self._count = refreshed
        self._refresh()
        for arm in arms[refreshed:].tolist():
            self._count += 1
            self._counts[arm] += 1.0
            self._add_payoff_by_rank_one(arm)

    def _is_prior(self) -> bool:
        """Before the first payoff, or with an empty dictionary, where choice (i) would be 0."""
        return self._count == 0 or self.directions == 0

    def _left_out_variance(self, prior: Array, norms: Array) -> Array:
        """k(x, x) - |phi(x)|^2 under choice (ii), nothing under choice (i)."""
        if self._inputs.with_residual:
            return np.maximum(prior - norms, 0.0)
        return np.zeros_like(prior)

    def _direction_sums(self) -> Array:
        """Robust estimates r_hat of the sums in every direction, (u,)."""
        threshold = self._inputs.truncation(self._count, self.directions)
        return self.estimator.estimate(self.embedding, self, threshold)
