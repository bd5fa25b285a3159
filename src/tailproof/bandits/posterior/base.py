"""What all posteriors over the arms share: the protocol, their inputs and small helpers.

Every posterior keeps variances divided by the ridge ("leverages") and a state that one payoff
changes by rank one. Every REFRESH payoffs that state is recomputed from the counts, so that
rounding errors cannot accumulate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tailproof.kernels import Kernel

Array = NDArray[np.float64]
REFRESH = 512


class Posterior(Protocol):
    """Posterior mean and variance of the n arms, updated one payoff at a time."""

    @property
    def directions(self) -> int:
        """Number of features in use in every posterior (0 for kernel ridge regression)."""

    @property
    def log_det(self) -> float:
        """ln |I + K_t / ridge| of any posterior (of the approximate kernel where there is one)."""

    @property
    def count(self) -> int:
        """Number of payoffs added, in every posterior."""

    def add(self, arm: int, payoff: float) -> None:
        """Add one payoff, in every posterior of arms."""

    def mean(self) -> Array:
        """Mean of the arms in every posterior, (n,); not to be written to."""

    def variance(self) -> Array:
        """Variance of the arms in every posterior, (n,), not negative; not to be written to."""

    def covariance(self, arm: int) -> Array:
        """Covariance of the arms with one arm in every posterior, (n,)."""

    def query(self, points: Array) -> tuple[Array, Array]:
        """Mean and variance at points (k, d) that need not be arms, in every posterior."""

    def state(self) -> dict[str, Any]:
        """Return what, with the history, `restore` needs to continue bit for bit, as JSON."""

    def restore(self, state: dict[str, Any], arms: NDArray[np.int64], payoffs: Array) -> None:
        """Set what `state` returned, with the history (t,) that led to it."""


@dataclass(frozen=True, eq=False)
class PosteriorInputs:
    """What a posterior in feature directions is computed from, besides the payoffs."""

    kernel: Kernel
    X: Array  # the arms, (n, d)
    ridge: float
    truncation: Callable[[int, int], float]  # (t, m) -> b_t for t payoffs and m directions
    with_residual: bool  # choice (ii) of Algorithm 2 for the variance instead of choice (i)


def eigh_above(matrix: Array, ridge: float) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of a posterior's matrix + ridge I.

    Rounding may not take an eigenvalue below the ridge.
    """
    # Rounding gives negative eigenvalues, which a small ridge would not make up for.
    values, vectors = np.linalg.eigh(matrix)
    return np.maximum(values, 0.0) + ridge, vectors


def weighted_gram(coordinates: Array, counts: Array) -> Array:
    """Return a posterior's A^T N A, (r, r), from coordinates A (n, r) and counts N (n,) of arms."""
    played = np.flatnonzero(counts)
    if 2 * played.size < len(counts):
        coordinates, counts = coordinates[played], counts[played]
    result: Array = (coordinates.T * counts) @ coordinates
    return result
