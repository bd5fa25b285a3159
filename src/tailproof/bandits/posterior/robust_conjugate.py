"""Robust and conjugate Gaussian process regression, RCGP (Altamirano, Briol and Knoblauch 2024)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tailproof.bandits.posterior.ridge import RidgePosterior
from tailproof.kernels import Kernel

Array = NDArray[np.float64]


class RobustConjugatePosterior(RidgePosterior):
    """Ridge regression with a weight for each payoff, by its distance from the prior mean m.

    With e = y - m, the inverse multi-quadric W = (1 + (e / c)^2)^(-1/2) and the ridge sigma^2,

        mean     = m + k_t(x)^T (K_t + sigma^2 diag(W^-2))^(-1) (e - 2 sigma^2 W' / W)
        variance = k(x, x) - k_t(x)^T (K_t + sigma^2 diag(W^-2))^(-1) k_t(x)

    where W' / W = -(e / c^2) W^2. A payoff far from m has a weight near zero in both; c -> infinity
    is plain ridge regression.
    """

    def __init__(
        self, kernel: Kernel, X: Array, ridge: float, prior_mean: float, scale: float
    ) -> None:
        self.prior_mean, self._scale = prior_mean, scale
        super().__init__(kernel, X, ridge, lambda t: math.inf)

    def add(self, arm: int, payoff: float) -> None:
        """Add one payoff with its robust weight (RCGP)."""
        (target,), (weight,) = self._weighted_payoffs(np.array([payoff]))
        self._add_weighted(arm, float(target), float(weight))

    def mean(self) -> Array:
        """Mean of the arms under robust and conjugate regression."""
        return self._mean + self.prior_mean

    def query(self, points: Array) -> tuple[Array, Array]:
        """Mean and variance at any points (k, d) under robust and conjugate regression."""
        mean, variance = super().query(points)
        return mean + self.prior_mean, variance

    def _weighted_payoffs(self, payoffs: Array) -> tuple[Array, Array]:
        """Return e - 2 sigma^2 W' / W and W^2 of the payoffs, (t,) each."""
        error = payoffs - self.prior_mean
        # Clipped where the weight is 0 to rounding, so that squares do not overflow.
        ratio = np.clip(error / self._scale, -1e150, 1e150)
        weight = 1.0 / (1.0 + ratio * ratio)
        return error + 2.0 * self._ridge * (ratio / self._scale) * weight, weight
