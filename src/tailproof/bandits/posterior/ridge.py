"""Posterior mean and variance over the arms, from payoffs to numbers a policy can compare.

`RidgePosterior` here is kernel ridge regression (GP-UCB, Algorithm 1); `direction_posterior` has
the two that work in feature directions (Algorithms 2 and 3). All keep variances divided by the
ridge ("leverages") and a state that one payoff changes by rank one; every REFRESH payoffs that
state is made anew from the counts, so that rounding cannot pile up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tailproof._compiled import ridge as engine
from tailproof.bandits.low_rank import DENSE_POINTS, kernel_coordinates
from tailproof.kernels import Kernel

Array = NDArray[np.float64]
REFRESH = 512


class Posterior(Protocol):
    """What the optimizer asks of a posterior."""

    @property
    def directions(self) -> int:
        """Number of features in use (0 for kernel ridge regression)."""
        ...

    @property
    def log_det(self) -> float:
        """ln |I + K_t / ridge| (of the approximate kernel where there is one)."""
        ...

    @property
    def count(self) -> int:
        """Number of payoffs taken in."""
        ...

    def add(self, arms: Sequence[int], payoffs: Sequence[float]) -> None:
        """Take in payoffs in order; if it stops half-way, `count` tells how many were."""
        ...

    def add_one(self, arm: int, payoff: float) -> None:
        """Take in one payoff."""
        ...

    def mean(self) -> Array:
        """Posterior mean of the arms, (n,); not to be written to."""
        ...

    def variance(self) -> Array:
        """Posterior variance of the arms, (n,), not negative; not to be written to."""
        ...

    def covariance(self, arm: int) -> Array:
        """Posterior covariance of the arms with one arm, (n,)."""
        ...

    def query(self, points: Array) -> tuple[Array, Array]:
        """Mean and variance at points (k, d) that need not be arms."""
        ...

    def state(self) -> dict[str, Array]:
        """Arrays that, given the history, continue bit for bit."""
        ...

    def restore(self, state: dict[str, Array], arms: NDArray[np.int64], payoffs: Array) -> None:
        """Take back what `state` gave, with the history (t,) that led to it."""
        ...


def eigh_above(matrix: Array, ridge: float) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of matrix + ridge I, the values at least the ridge.

    A kernel matrix has no negative eigenvalue but by rounding, which a small ridge would not
    make up for.
    """
    values, vectors = np.linalg.eigh(matrix)
    return np.maximum(values, 0.0) + ridge, vectors


def taken(state: dict[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    """Return a copy of one array of a saved state, which must be of this shape and finite."""
    array = state[name]
    if array.dtype != np.float64 or array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"`{name}` must be finite float64 of shape {shape}, but is not.")
    return array.copy()


class RidgePosterior:
    """Exact kernel ridge regression on payoffs truncated once (Algorithm 1, slip 1 corrected).

    mean     = k_t(x)^T (K_t + ridge I)^(-1) Y
    variance = k(x, x) - k_t(x)^T (K_t + ridge I)^(-1) k_t(x)

    With few arms, or a kernel matrix of full rank, the covariance of the arms is kept; with many
    arms under a smooth kernel its r coordinates are.
    """

    directions = 0

    def __init__(self, kernel: Kernel, X: Array, ridge: float, level: Callable[[int], float]):
        self._kernel, self._X, self._ridge, self._level = kernel, X, ridge, level
        n = len(X)
        self._prior = kernel.diagonal(X).astype(np.float64)
        self._coordinates = kernel_coordinates(kernel, X)
        r = self._coordinates.shape[1]
        self._dense = n <= DENSE_POINTS and n * n <= n * r + 2 * r * r
        self._gram = kernel.matrix(X, X) if self._dense else np.empty((0, 0))
        self.log_det = 0.0
        self._mean = np.zeros(n)
        self._count = 0
        self._counts = np.zeros(n)
        self._sums = np.zeros(n)  # of the payoffs as truncated
        self._no_residual = np.zeros(n)
        self._core: Array  # covariance of the arms, or inverse in their coordinates
        self._leverage: Array
        self._refresh()

    @property
    def count(self) -> int:
        """Number of payoffs taken in."""
        return self._count

    def add(self, arms: Sequence[int], payoffs: Sequence[float]) -> None:
        """Take in payoffs in order, each set to zero if |y_t| > b_t (Alg. 1)."""
        for arm, payoff in zip(arms, payoffs, strict=True):
            self.add_one(arm, payoff)

    def add_one(self, arm: int, payoff: float) -> None:
        """Take in one payoff, set to zero if |y_t| > b_t (Alg. 1)."""
        kept = payoff if abs(payoff) <= self._level(self._count + 1) else 0.0
        self._count += 1
        self._counts[arm] += 1.0
        self._sums[arm] += kept
        if self._dense:
            self.log_det += engine.add_to_covariance(
                self._core, self._mean, self._leverage, arm, kept
            )
        else:
            self.log_det += engine.add_to_span(
                self._core, self._coordinates, self._mean, self._leverage, arm, kept
            )
        if self._count % REFRESH == 0:
            self._refresh()

    def mean(self) -> Array:
        """Posterior mean of the arms."""
        return self._mean

    def variance(self) -> Array:
        """Posterior variance of the arms."""
        result: Array = engine.variances(self._leverage, self._ridge, self._no_residual)
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

    def state(self) -> dict[str, Array]:
        """Arrays that continue bit for bit."""
        return {
            "core": self._core,
            "mean": self._mean,
            "leverage": self._leverage,
            "sums": self._sums,
            "log_det": np.array(self.log_det),
        }

    def restore(self, state: dict[str, Array], arms: NDArray[np.int64], payoffs: Array) -> None:
        """Take back what `state` gave."""
        self._count = len(arms)
        self._counts = np.bincount(arms, minlength=len(self._counts)).astype(np.float64)
        self._core = taken(state, "core", self._core.shape)
        self._mean = taken(state, "mean", self._mean.shape)
        self._leverage = taken(state, "leverage", self._leverage.shape)
        self._sums = taken(state, "sums", self._sums.shape)
        self.log_det = float(taken(state, "log_det", ()))

    def _refresh(self) -> None:
        """Make the state anew from counts and sums."""
        if self._dense:
            root = np.sqrt(self._counts)
            inner = self._gram * np.outer(root, root)
            values, vectors = eigh_above(inner, self._ridge)
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
        turned = a @ self._core
        self._leverage = np.einsum("ij,ij->i", turned, a)
        self._mean = turned @ (a.T @ self._sums)
