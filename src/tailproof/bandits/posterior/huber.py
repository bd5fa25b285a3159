"""Adaptive Huber regression in features: HEAVY-OFUL, and its variant that sees a payoff once.

Everything happens in the r coordinates of the features (see `bandits.features`) and in units of the
norm bound B, so that |theta| <= 1. With H = ridge + sum a a^T / (c sigma^2), c = 1 or 8,

    mean = B a . theta     variance = ridge a^T H^(-1) a
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._compiled import ridge as compiled
from tailproof.bandits.features import Embedding
from tailproof.bandits.huber_schedules import HeavyOFUL, OnePassHuber
from tailproof.bandits.posterior.base import REFRESH, eigh_above, weighted_gram

Array = NDArray[np.float64]
NEWTON_STEPS = 100


class _HuberPosterior(ABC):
    """What both variants keep: H's inverse, the leverages a^T H^(-1) a and the payoffs' scales."""

    def __init__(
        self, embedding: Embedding, prior: Array, constants: HeavyOFUL | OnePassHuber
    ) -> None:
        self.embedding, self._prior, self._constants = embedding, prior, constants
        self._ridge, self._unit = constants.setting.ridge, constants.setting.norm_bound
        self.directions = embedding.size
        self._weights = np.zeros(len(embedding.coordinates))  # sums of 1 / (c sigma^2) by arm
        self._theta = np.zeros(embedding.coordinates.shape[1])
        self._count = 0
        self._refresh()

    def _refresh(self) -> None:
        """Recompute what Huber regression keeps of the payoffs, against rounding."""
        a = self.embedding.coordinates
        values, vectors = eigh_above(weighted_gram(a, self._weights), self._ridge)
        self.log_det = float(np.log(values / self._ridge).sum())
        self._inverse = (vectors / values) @ vectors.T
        self._leverage = np.einsum("ij,ij->i", a @ self._inverse, a)

    @property
    def count(self) -> int:
        """Number of payoffs added to the regression."""
        return self._count

    def add(self, arm: int, payoff: float) -> None:
        """Add one payoff with its scale and threshold, which do not depend on it."""
        self._count += 1
        size = math.sqrt(max(float(self._leverage[arm]), 0.0))
        sigma, threshold = 1.0, math.inf
        if size > 0.0:  # else the features are zero: the payoff says nothing
            sigma = self._constants.scale(self._count, self.directions, size)
            ratio = size / (sigma * math.sqrt(self._constants.spread))
            threshold = self._constants.threshold(self._count, self.directions, ratio)
            weight = 1.0 / (self._constants.spread * sigma * sigma)
            self._weights[arm] += weight
            nothing = np.zeros(len(self._leverage))
            update = (nothing, self._leverage, arm, 0.0, weight)
            self.log_det += compiled.add_to_span(self._inverse, self.embedding.coordinates, *update)
            if self._count % REFRESH == 0:
                self._refresh()
        self._use(arm, payoff / self._unit, sigma, threshold)

    @abstractmethod
    def _use(self, arm: int, payoff: float, sigma: float, threshold: float) -> None:
        """Take a payoff in units of B, with its scale and Huber's threshold."""

    def _current_theta(self) -> Array:
        """Return the coefficients of the Huber regression, (r,), in units of B."""
        return self._theta

    def mean(self) -> Array:
        """Mean of the arms by Huber regression."""
        result: Array = self._unit * (self.embedding.coordinates @ self._current_theta())
        return result

    def variance(self) -> Array:
        """Variance of the arms by the weights of the Huber regression."""
        if self._count == 0:
            return self._prior
        return self._ridge * np.maximum(self._leverage, 0.0)

    def covariance(self, arm: int) -> Array:
        """Covariance of the arms with one arm."""
        a = self.embedding.coordinates
        result: Array = self._ridge * (a @ (self._inverse @ a[arm]))
        return result

    def query(self, points: Array) -> tuple[Array, Array]:
        """Mean and variance at any points (k, d), from their features."""
        inside, outside = self.embedding.query(points)
        variance = self._ridge * np.einsum("ij,ij->i", inside @ self._inverse, inside)
        if outside is not None:
            # Off the span of the arms' features H is ridge times the identity.
            variance += np.einsum("ij,ij,j->i", outside, outside, self.embedding.copies)
        return self._unit * (inside @ self._current_theta()), np.maximum(variance, 0.0)

    def state(self) -> dict[str, Any]:
        """Return nothing: the history determines all of the regression."""
        return {}

    def restore(self, state: dict[str, Any], arms: NDArray[np.int64], payoffs: Array) -> None:
        """Add the history (t,)."""
        for arm, payoff in zip(arms.tolist(), payoffs.tolist(), strict=True):
            self.add(arm, payoff)


class HeavyOFULPosterior(_HuberPosterior):
    """theta = argmin over |theta| <= 1 of ridge/2 |theta|^2 + sum_s huber_{tau_s}(residual_s).

    residual_s = (y_s - a_s . theta) / sigma_s. All payoffs are used in every solution: O(t) a
    round. Newton's method on the pieces of the loss, which are quadratic: the solution depends on
    which residuals exceed their thresholds alone.
    """

    def __init__(self, embedding: Embedding, prior: Array, constants: HeavyOFUL) -> None:
        self._rows: list[tuple[int, float, float, float]] = []
        self._solved = 0
        super().__init__(embedding, prior, constants)

    def _use(self, arm: int, payoff: float, sigma: float, threshold: float) -> None:
        """Keep a payoff with its scale and threshold: all are fitted in every round."""
        self._rows.append((arm, payoff, sigma, threshold))

    def _current_theta(self) -> Array:
        """Return the coefficients that minimize the Huber loss of all payoffs, (r,)."""
        if self._solved < len(self._rows):
            self._theta = self._solution()
            self._solved = len(self._rows)
        return self._theta

    def _solution(self) -> Array:
        """Minimize the Huber loss of all payoffs by Newton steps, from the last solution."""
        a, n = self.embedding.coordinates, len(self._weights)
        table = np.array(self._rows)
        arms, (payoffs, sigmas, taus) = table[:, 0].astype(np.int64), table[:, 1:].T
        theta, used = self._theta, None

        def pieces(theta: Array) -> Array:
            """Return -1, 0 or 1: residual below, within or above its threshold."""
            residuals = (payoffs - (a @ theta)[arms]) / sigmas
            return np.where(np.abs(residuals) <= taus, 0.0, np.sign(residuals))

        def slope(theta: Array, direction: Array) -> float:
            """Return the derivative of the loss along a direction."""
            values = (payoffs - (a @ theta)[arms]) / sigmas
            pulls = np.bincount(arms, np.clip(values, -taus, taus) / sigmas, n)
            return float(direction @ (self._ridge * theta - a.T @ pulls))

        for _ in range(NEWTON_STEPS):
            side = pieces(theta)
            if used is not None and np.array_equal(side, used):
                break
            used, within = side, side == 0.0
            squares = np.bincount(arms, within / sigmas**2, n).astype(np.float64)
            kept = np.where(within, payoffs, 0.0) / sigmas**2
            clipped = np.where(within, 0.0, side * np.where(within, 0.0, taus) / sigmas)
            target = a.T @ np.bincount(arms, kept + clipped, n)
            values, vectors = eigh_above(weighted_gram(a, squares), self._ridge)
            new = _within_ball(values, vectors, vectors.T @ target)
            step = new - theta
            if slope(new, step) > 0.0 and not np.array_equal(pieces(new), used):
                theta = theta + _share(lambda c, x=theta, d=step: slope(x + c * d, d)) * step
                used = None
            else:
                theta = new
        return theta


class OnePassHuberPosterior(_HuberPosterior):
    """theta_{t+1} = the point of |theta| <= 1 nearest, in V_t, to theta_t - V_t^(-1) gradient.

    The gradient is that of huber_{tau_t}((y_t - a_t . theta) / sigma_t) at theta_t: O(r^2) a round.
    """

    def _use(self, arm: int, payoff: float, sigma: float, threshold: float) -> None:
        """Move the coefficients once, by the gradient of the payoff's Huber loss."""
        a = self.embedding.coordinates[arm]
        if not math.isfinite(threshold):
            return
        residual = (payoff - float(a @ self._theta)) / sigma
        pull = min(max(residual, -threshold), threshold) / sigma
        moved = self._theta + pull * (self._inverse @ a)
        if float(moved @ moved) > 1.0:
            gram = weighted_gram(self.embedding.coordinates, self._weights)
            values, vectors = eigh_above(gram, self._ridge)
            moved = _within_ball(values, vectors, values * (vectors.T @ moved))
        self._theta = moved


def _within_ball(values: Array, vectors: Array, target: Array) -> Array:
    """Return (M + mu)^(-1) b, mu >= 0 the least of norm at most 1, for a step of Huber regression.

    That is the minimum of theta^T M theta / 2 - b . theta over the unit ball; M has eigenvalues
    `values` and eigenvectors in the columns of `vectors`, in which b is `target`.
    """

    def norm(mu: float) -> float:
        return float(np.linalg.norm(target / (values + mu)))

    mu = 0.0
    if norm(0.0) > 1.0:
        low, high = 0.0, float(np.linalg.norm(target))  # norm(high) <= 1
        for _ in range(200):
            mu = 0.5 * (low + high)
            if mu in (low, high):
                break
            low, high = (mu, high) if norm(mu) > 1.0 else (low, mu)
        mu = high
    result: Array = vectors @ (target / (values + mu))
    return result


def _share(slope: Any) -> float:
    """Return a share in (0, 1) of a step of Huber regression where its loss has a slope near 0."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slope(middle) > 0.0 else (middle, high)
    return 0.5 * (low + high)
