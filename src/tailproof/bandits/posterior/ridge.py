"""Exact kernel ridge regression over the arms: GP-UCB, and Algorithm 1 (TGP-UCB)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._compiled import ridge as compiled
from tailproof.bandits.low_rank import DENSE_POINTS, ROUNDING, PlayedSpan, fixed_coordinates
from tailproof.bandits.posterior.base import REFRESH, eigh_above, weighted_gram
from tailproof.kernels import Kernel

Array = NDArray[np.float64]
# Share of k(x, x) outside the span of the played arms that is rounding.
SPAN_ROUNDING = 1e-15


class RidgePosterior:
    """Exact kernel ridge regression on payoffs truncated once (Algorithm 1).

    mean     = k_t(x)^T (K_t + ridge I)^(-1) Y
    variance = k(x, x) - k_t(x)^T (K_t + ridge I)^(-1) k_t(x)

    (Algorithm 1 prints the subtracted term of the variance alone; section 3 has the whole.)

    With few arms, or a kernel matrix of full rank, the state is the (n, n) covariance of the arms;
    with many arms it is the (r, r) inverse in kernel coordinates: of all arms under a smooth
    kernel, else of the span of the played arms, where r is the number of distinct ones.
    """

    directions = 0

    def __init__(
        self, kernel: Kernel, X: Array, ridge: float, truncation: Callable[[int], float]
    ) -> None:
        self._kernel, self._X, self._ridge, self._truncation = kernel, X, ridge, truncation
        n = len(X)
        coordinates = fixed_coordinates(kernel, X, tolerance=ROUNDING)
        self._span: PlayedSpan | None = None
        if coordinates is None:
            self._span = PlayedSpan(kernel, X, SPAN_ROUNDING)
            coordinates = self._span.values
        self._coordinates = coordinates
        r = self._coordinates.shape[1]
        self._dense = n <= DENSE_POINTS and n * n <= n * r + 2 * r * r
        self._gram = kernel.matrix(X, X) if self._dense else np.empty((0, 0))
        self.log_det = 0.0
        self._mean = np.zeros(n)
        self._count = 0
        self._counts = np.zeros(n)  # weights of the payoffs added up
        self._sums = np.zeros(n)  # of the truncated payoffs, weighted
        # k(x, x) outside the coordinates, which payoffs do not reduce.
        self._residual = np.zeros(n) if self._span is None else self._span.left_out()
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
        if a.shape[1] == 0:  # nothing played
            self._core, self._leverage = np.empty((0, 0)), np.zeros(len(a))
            return
        values, vectors = eigh_above(weighted_gram(a, self._counts), self._ridge)
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
        self._add_weighted(arm, kept, 1.0)

    def _add_weighted(self, arm: int, payoff: float, weight: float) -> None:
        """Add a payoff whose noise variance is the ridge divided by a weight."""
        self._include_in_span(arm)
        self._count += 1
        self._counts[arm] += weight
        self._sums[arm] += weight * payoff
        update = (self._mean, self._leverage, arm, payoff, weight)
        if self._dense:
            self.log_det += compiled.add_to_covariance(self._core, *update)
        else:
            self.log_det += compiled.add_to_span(self._core, self._coordinates, *update)
        if self._count % REFRESH == 0:
            self._refresh()

    def _include_in_span(self, arm: int) -> None:
        """Add a column to the coordinates if the arm has one outside them."""
        if self._span is None or not self._span.include(arm):
            return
        self._coordinates = self._span.values
        column = self._coordinates[:, -1]
        r = len(self._core)
        core = np.zeros((r + 1, r + 1))
        core[:r, :r], core[r, r] = self._core, 1.0 / self._ridge
        self._core = core
        self._leverage += column * column / self._ridge
        self._residual = np.maximum(self._residual - column * column, 0.0)

    def mean(self) -> Array:
        """Kernel ridge regression's mean of the arms."""
        return self._mean

    def variance(self) -> Array:
        """Kernel ridge regression's variance of the arms."""
        result: Array = compiled.variances(self._leverage, self._ridge, self._residual)
        return result

    def covariance(self, arm: int) -> Array:
        """Kernel ridge regression's covariance of the arms with one arm."""
        if self._dense:
            return self._ridge * self._core[arm]
        row = self._coordinates[arm]
        if self._span is None:
            return self._ridge * (self._coordinates @ (self._core @ row))
        prior = self._kernel.matrix(self._X, self._X[arm : arm + 1])[:, 0]
        return prior + self._coordinates @ (self._ridge * (self._core @ row) - row)

    def query(self, points: Array) -> tuple[Array, Array]:
        """Kernel ridge regression's mean and variance at any points (k, d)."""
        played = np.flatnonzero(self._counts)
        prior = self._kernel.diagonal(points).astype(np.float64)
        if played.size == 0:
            return np.zeros(len(points)), prior
        if self._span is not None:
            a = self._span.coordinates_of(points)
            mean = a @ (self._core @ (self._coordinates.T @ self._sums))
            kept = np.einsum("ij,ij->i", a @ (self._ridge * self._core), a)
            return mean, np.maximum(prior - np.einsum("ij,ij->i", a, a), 0.0) + kept
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
        kept, weights = self._weighted_payoffs(payoffs[:done])
        np.add.at(self._sums, arms[:done], weights * kept)  # in order, as `add` does
        np.add.at(self._counts, arms[:done], weights)
        self._count = done
        if self._span is not None:
            for arm in dict.fromkeys(arms[:done].tolist()):  # in order of their first payoffs
                self._include_in_span(arm)
        if done:  # else it is as it was made
            self._refresh()
        for arm, payoff in zip(arms[done:].tolist(), payoffs[done:].tolist(), strict=True):
            self.add(arm, payoff)

    def _weighted_payoffs(self, payoffs: Array) -> tuple[Array, Array]:
        """Return the first payoffs (t,) as `add` takes them, and their weights."""
        thresholds = np.array([self._truncation(t) for t in range(1, len(payoffs) + 1)])
        return np.where(np.abs(payoffs) <= thresholds, payoffs, 0.0), np.ones(len(payoffs))
