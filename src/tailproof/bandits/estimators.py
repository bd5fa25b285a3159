"""Robust sums in every feature direction, over the whole history, anew each round.

(Algorithm 1 needs nothing of the kind: it sets a payoff to zero once, when it is told.)
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tailproof._compiled import payoff_store
from tailproof.bandits.features import Embedding

Array = NDArray[np.float64]


class Spectrum(Protocol):
    """Eigendecomposition of H = coordinates^T N coordinates + ridge, as the posterior keeps it."""

    roots: Array  # (r,) 1 / sqrt(eigenvalue)
    vectors: Array  # (r, r), rows
    leverage: Array  # (n,) a_j^T H^(-1) a_j, by rank-one steps
    slack: Array  # (n,) how far rounding may have moved it

    @property
    def effective_dimension(self) -> float:
        """Trace of H^(-1) (H - ridge): how many directions the payoffs have told apart."""
        ...


class DirectionEstimator(Protocol):
    """Estimates r_i = sum_tau u_{i,tau} E[y_tau] in every direction i."""

    def add(self, arm: int, payoff: float) -> None:
        """Take in one payoff."""
        ...

    def add_many(self, arms: NDArray[np.int64], payoffs: Array) -> None:
        """Take in payoffs in order: the same as `add` one by one."""
        ...

    def state(self) -> dict[str, Array]:
        """Arrays that, after `add_many` of the history, continue bit for bit."""
        ...

    def restore(self, state: dict[str, Array]) -> None:
        """Take back what `state` gave."""
        ...

    def embedding_changed(self, embedding: Embedding) -> None:
        """Hear of a new embedding; called before the first estimate with it."""
        ...

    def estimate(self, embedding: Embedding, spectrum: Spectrum, level: float) -> Array:
        """Return the estimates, shape (u,), with truncation level b_t = `level`."""
        ...


class TruncateDirections:
    """r_i = sum of u_{i,tau} y_tau over all rounds with |u_{i,tau} y_tau| <= b_t (Algorithm 2)."""

    def __init__(self, arms: int) -> None:
        self._sites = np.zeros((arms, 5), dtype=np.int64)
        self._sites[:, payoff_store.SLOT] = -1
        self._pool = np.empty((2, 4 * arms + 1024))
        self._buffers = np.empty((2, 1, payoff_store.BUFFER))
        self._used = np.zeros(2, dtype=np.int64)
        self._totals = np.zeros(arms)
        self._largest = np.zeros(arms)
        self._scratch = np.empty(arms, dtype=np.int64)

    def add(self, arm: int, payoff: float) -> None:
        """Take in one payoff."""
        while not payoff_store.insert(
            self._sites,
            self._pool,
            self._buffers,
            self._used,
            self._totals,
            self._largest,
            arm,
            payoff,
        ):
            self._grow()

    def add_many(self, arms: NDArray[np.int64], payoffs: Array) -> None:
        """Take in payoffs in order."""
        done = 0
        while done < len(arms):
            done = payoff_store.insert_many(
                self._sites,
                self._pool,
                self._buffers,
                self._used,
                self._totals,
                self._largest,
                arms,
                payoffs,
                done,
            )
            if done < len(arms):
                self._grow()

    def state(self) -> dict[str, Array]:
        """Return nothing: the history is enough."""
        return {}

    def restore(self, state: dict[str, Array]) -> None:
        """Take back nothing."""

    def embedding_changed(self, embedding: Embedding) -> None:
        """Payoffs are kept by arm, so nothing depends on the embedding."""

    def estimate(self, embedding: Embedding, spectrum: Spectrum, level: float) -> Array:
        """Return the truncated sums, shape (u,)."""
        if len(embedding.directions) == 0:
            return np.zeros(0)
        result: Array = payoff_store.truncated_direction_sums(
            self._sites,
            self._pool,
            self._buffers,
            self._totals,
            self._largest,
            spectrum.leverage,
            spectrum.slack,
            level,
            embedding.coordinates,
            spectrum.roots,
            spectrum.vectors,
            embedding.directions,
            self._scratch,
        )
        return result

    def _grow(self) -> None:
        # Doubling both is simple, and the buffers are the small part.
        self._pool = np.concatenate([self._pool, np.empty_like(self._pool)], axis=1)
        self._buffers = np.concatenate([self._buffers, np.empty_like(self._buffers)], axis=1)


class MedianOfMeans:
    """r_i = median over k groups of k times the group's sum of u_{i,tau} y_tau.

    The c-th payoff (from 0) of arm j belongs to group (c + j) mod k: each arm's payoffs go round
    the groups, so that every group holds its share of every arm. k is a power of two, the largest
    one that is at most `most` and at most sqrt(t / d), d the effective dimension: then a group has
    about k payoffs a direction or more. With fewer than 4 payoffs a direction k is 1, the plain
    sum. Since k divides `most`, group sums for any k are sums of the sums kept for `most` groups,
    and no pass over the history is needed when k changes.
    """

    def __init__(self, arms: int, most: int) -> None:
        self.most = most
        self._by_arm = np.zeros((arms, most))
        self._by_coordinate: Array | None = None  # (r, most), coordinates^T by_arm
        self._coordinates: Array | None = None
        self._count = 0
        self._next = np.arange(arms) % most  # each arm's next group

    def groups(self, spectrum: Spectrum) -> int:
        """Return the number k of groups now in use."""
        return group_count(self._count / max(spectrum.effective_dimension, 1.0), self.most)

    def add(self, arm: int, payoff: float) -> None:
        """Take in one payoff."""
        group = self._next[arm]
        self._next[arm] = (group + 1) % self.most
        self._by_arm[arm, group] += payoff
        if self._by_coordinate is not None and self._coordinates is not None:
            self._by_coordinate[:, group] += payoff * self._coordinates[arm]
        self._count += 1

    def add_many(self, arms: NDArray[np.int64], payoffs: Array) -> None:
        """Take in payoffs in order."""
        for arm, payoff in zip(arms.tolist(), payoffs.tolist(), strict=True):
            self.add(arm, payoff)

    def state(self) -> dict[str, Array]:
        """Return the sums in coordinates, whose rounding depends on how they came about."""
        return {} if self._by_coordinate is None else {"by_coordinate": self._by_coordinate}

    def restore(self, state: dict[str, Array]) -> None:
        """Take back the sums in coordinates."""
        held = state.get("by_coordinate")
        if held is not None and self._coordinates is not None:
            shape = (self._coordinates.shape[1], self.most)
            if held.shape != shape:
                raise ValueError(f"`by_coordinate` must be of shape {shape}, but is {held.shape}.")
            held = held.copy()
        self._by_coordinate = held

    def embedding_changed(self, embedding: Embedding) -> None:
        """Take over new coordinates; the sums in them are made when next needed."""
        self._coordinates = embedding.coordinates
        self._by_coordinate = None

    def estimate(self, embedding: Embedding, spectrum: Spectrum, level: float) -> Array:
        """Return the medians, shape (u,); the truncation level plays no part."""
        if len(embedding.directions) == 0:
            return np.zeros(0)
        if self._by_coordinate is None:
            self._by_coordinate = embedding.coordinates.T @ self._by_arm
        k = self.groups(spectrum)
        sums = self._by_coordinate.reshape(-1, self.most // k, k).sum(axis=1)
        turned = spectrum.vectors.T @ (spectrum.roots[:, None] * (spectrum.vectors @ sums))
        means = embedding.directions @ turned
        # k is 1 or even: the median is half-way between the two middle values.
        middle = np.partition(means, [max(k // 2 - 1, 0), k // 2], axis=1)
        return k * 0.5 * (middle[:, max(k // 2 - 1, 0)] + middle[:, k // 2])


def group_count(payoffs: float, most: int) -> int:
    """Return the largest power of two that is at most sqrt(payoffs) and at most `most`, or 1."""
    k = 1
    while 2 * k <= most and 4 * k * k <= payoffs:
        k *= 2
    return k
