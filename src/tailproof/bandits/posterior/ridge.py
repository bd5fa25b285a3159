"""Exact kernel ridge regression over the arms: GP-UCB, and Algorithm 1 (TGP-UCB)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._compiled import ridge as compiled
from tailproof.bandits.low_rank import DENSE_POINTS, kernel_coordinates
from tailproof.bandits.posterior.base import REFRESH, eigh_above
from tailproof.kernels import Kernel

Array = NDArray[np.float64]


class RidgePosterior:
    """Exact kernel ridge regression on payoffs truncated once (Algorithm 1).

    mean     = k_t(x)^T (K_t + ridge I)^(-1) Y
    variance = k(x, x) - k_t(x)^T (K_t + ridge I)^(-1) k_t(x)

    (Algorithm 1 prints the subtracted term of the variance alone; section 3 has the whole.)

    With few arms, or a kernel matrix of full rank, the state is the (n, n) covariance of the arms;
    with many arms under a smooth kernel it is the (r, r) inverse in their kernel coordinates.
    """

    directions = 0

    def __init__(
        self, kernel: Kernel, X: Array, ridge: float, truncation: Callable[[int], float]
    ) -> None:
        self._kernel, self._X, self._ridge, self._truncation = kernel, X, ridge, truncation
        n = len(X)
        self._coordinates = kernel_coordinates(kernel, X)
        r = self._coordinates.shape[1]
        self._dense = n <= DENSE_POINTS and n * n <= n * r + 2 * r * r
        self._gram = kernel.matrix(X, X) if self._dense else np.empty((0, 0))
        self.log_det = 0.0
        self._mean = np.zeros(n)
        self._count = 0
        self._counts = np.zeros(n)
        self._sums = np.zeros(n)  # of the truncated payoffs
        self._no_residual = np.zeros(n)
        self._refresh()

    def _refresh(self) -> None:
        """Recompute the ridge state from counts and sums; its core is the covariance or inverse."""
        if self._dense:
            root = np.sqrt(self._counts)
            values, vectors = eigh_above(self._gram * np.outer(root, root), self._ridge)
            half = (vectors.T @ (self._gram * root[:, None])) / np.sqrt(values)[:, None]
            self.log_det = float(np.log(values / self._ridge).sum())
            self._core = (self._gram - half.T @ half) / self._ridge
            self._leverage = np.diagonal(self._core).copy()
            self._mean = self._core @ self._sums
            return
        a = self._coordinates
        values, vectors = eigh_above((a.T * self._counts) @ a, self._ridge)
        self.log_det = float(np.log(values / self._ridge).sum())
        self._core = (vectors / values) @ vectors.T
        weighted = a @ self._core
        self._leverage = np.einsum("ij,ij->i", weighted, a)
        self._mean = weighted @ (a.T @ self._sums)

    @property
    def count(self) -> int:
        """Number of payoffs added to the ridge regression."""
        return self._count

    def add(self, arm: int, payoff: float) -> None:
        """Add one payoff, set to zero if |y_t| > b_t (Alg. 1)."""
        kept = payoff if abs(payoff) <= self._truncation(self._count + 1) else 0.0
        self._count += 1
        self._counts[arm] += 1.0
        self._sums[arm] += kept
        update = (self._mean, self._leverage, arm, kept)
        if self._dense:
            self.log_det += compiled.add_to_covariance(self._core, *update)
        else:
            self.log_det += compiled.add_to_span(self._core, self._coordinates, *update)
        if self._count % REFRESH == 0:
            self._refresh()

    def mean(self) -> Array:
        """Kernel ridge regression's mean of the arms."""
        return self._mean

    def variance(self) -> Array:
        """Kernel ridge regression's variance of the arms."""
        result: Array = compiled.variances(self._leverage, self._ridge, self._no_residual)
        return result

    def covariance(self, arm: int) -> Array:
        """Posterior covariance of the arms with one arm."""
        if self._dense:
            return self._ridge * self._core[arm]
        return self._ridge * (self._coordinates @ (self._core @ self._coordinates[arm]))

    def query(self, points: Array) -> tuple[Array, Array]:
        """Mean and variance at any points, by one eigendecomposition over the played arms."""
        played = np.flatnonzero(self._counts)
        prior = self._kernel.diagonal(points).astype(np.float64)
        if played.size == 0:
            return np.zeros(len(points)), prior
        # With root = N^(1/2): k^T (K + ridge N^-1)^-1 = (root k)^T (root K root + ridge)^-1 root.
        root = np.sqrt(self._counts[played])
        gram = self._kernel.matrix(self._X[played], self._X[played]) * np.outer(root, root)
        values, vectors = eigh_above(gram, self._ridge)
        cross = vectors.T @ (self._kernel.matrix(self._X[played], points) * root[:, None])
        mean = cross.T @ ((vectors.T @ (self._sums[played] / root)) / values)
        variance = prior - np.einsum("ij,ij,i->j", cross, cross, 1.0 / values)
        return mean, np.maximum(variance, 0.0)

    def state(self) -> dict[str, Any]:
        """Return nothing: the history determines all of the ridge regression."""
        return {}

    def restore(self, state: dict[str, Any], arms: NDArray[np.int64], payoffs: Array) -> None:
        """Add the history (t,): up to the last refresh at once, then one by one."""
        done = len(arms) // REFRESH * REFRESH
        thresholds = np.array([self._truncation(t) for t in range(1, done + 1)])
        kept = np.where(np.abs(payoffs[:done]) <= thresholds, payoffs[:done], 0.0)
        np.add.at(self._sums, arms[:done], kept)  # in order, as `add` does
        self._counts += np.bincount(arms[:done], minlength=len(self._counts))
        self._count = done
        if done:  # else it is as it was made
            self._refresh()
        for arm, payoff in zip(arms[done:].tolist(), payoffs[done:].tolist(), strict=True):
            self.add(arm, payoff)
