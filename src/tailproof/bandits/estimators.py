"""Robust estimates of the sums in every feature direction, over the whole history, each round.

Algorithm 1 needs none: it sets a payoff to zero once, when it is told.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tailproof._compiled import medians, payoff_store
from tailproof._util import checks
from tailproof.bandits.features import Embedding

Array = NDArray[np.float64]


class Eigensystem(Protocol):
    """Eigendecomposition of H = coordinates^T N coordinates + ridge, as the posterior keeps it."""

    @property
    def roots(self) -> Array:
        """1 / sqrt(eigenvalue), (r,), for an estimator."""

    @property
    def vectors(self) -> Array:
        """Eigenvectors in rows, (r, r), for an estimator."""

    leverage: Array  # (n,) a_j^T H^(-1) a_j, by rank-one steps
    slack: Array  # (n,) bound on the rounding error of the leverages


class DirectionEstimator(Protocol):
    """Estimates r_i = sum_tau u_{i,tau} E[y_tau] in every direction i.

    An estimator that the history determines keeps the last three methods as they are here.
    """

    def add(self, arm: int, payoff: float) -> None:
        """Add one payoff to the estimator."""

    def add_many(self, arms: NDArray[np.int64], payoffs: Array) -> None:
        """Add payoffs in order: the same as `add` one by one."""

    def estimate(self, embedding: Embedding, eigensystem: Eigensystem, threshold: float) -> Array:
        """Return the estimates, shape (u,), u > 0, with truncation threshold b_t."""

    def state(self) -> dict[str, Any]:
        """Return what, with the history, `restore` needs to continue bit for bit, as JSON."""
        return {}

    def restore(self, state: dict[str, Any], arms: NDArray[np.int64], payoffs: Array) -> None:
        """Add the history (t,) and set what `state` returned."""
        self.add_many(arms, payoffs)

    def coordinates_changed(self, coordinates: Array) -> None:
        """Use new coordinates (n, r) of the arms."""
        return


class TruncateDirections(DirectionEstimator):
    """r_i = sum of u_{i,tau} y_tau over all rounds with |u_{i,tau} y_tau| <= b_t (Algorithm 2)."""

    def __init__(self, arms: int) -> None:
        self.store = payoff_store.PayoffStore.empty(arms)
        self._scratch = np.empty(arms, dtype=np.int64)

    def add(self, arm: int, payoff: float) -> None:
        """Add one payoff to the estimator."""
        while not payoff_store.insert(*self.store, arm, payoff):
            self.store = self.store.enlarged()

    def add_many(self, arms: NDArray[np.int64], payoffs: Array) -> None:
        """Add payoffs to the estimator in order."""
        done = 0
        while done < len(arms):
            done = payoff_store.insert_many(*self.store, arms, payoffs, done)
            if done < len(arms):
                self.store = self.store.enlarged()

    def estimate(self, embedding: Embedding, eigensystem: Eigensystem, threshold: float) -> Array:
        """Return the truncated sums of every direction, shape (u,)."""
        leverages = (eigensystem.leverage, eigensystem.slack)
        basis = (
            embedding.coordinates,
            eigensystem.roots,
            eigensystem.vectors,
            embedding.directions,
        )
        result: Array = payoff_store.truncated_direction_sums(
            *self.store, *leverages, threshold, *basis, self._scratch
        )
        return result

    def split(
        self, leverage: Array, slack: Array, threshold: float
    ) -> tuple[Array, NDArray[np.int64]]:
        """Return the sums (n,) of arms that lose no payoff in any direction, and the other arms."""
        store = self.store
        kept, count = payoff_store.split_sites(
            store.totals, store.largest, leverage, slack, threshold, self._scratch
        )
        return kept, self._scratch[:count].copy()

    def truncated_sums(self, arms: NDArray[np.int64], u: Array, threshold: float) -> Array:
        """Return what some arms (c,) add to the sums, (m,), from their row entries `u` (c, m)."""
        sums, store = np.zeros(u.shape[1]), self.store
        payoff_store.add_truncated_sums(
            store.sites,
            store.pool,
            store.buffers,
            store.totals,
            store.largest,
            arms,
            np.ascontiguousarray(u),
            threshold,
            sums,
        )
        return sums


class MedianOfMeans(DirectionEstimator):
    """r_i = median over k_i blocks of the block's sum of u_{i,tau} y_tau, divided by its share.

    The c-th payoff (from 0) of arm j belongs to block (c + j) mod k: the payoffs of an arm are
    dealt to the blocks in turn. The share of a block is its part of sum_tau u_{i,tau}^2 (1 / k if
    all are alike), so that a direction that one arm fills gets a mean within its payoffs.

    k_i is chosen in every direction: the largest power of two, at most `max_blocks`, for which the
    smallest block holds k_i payoffs or more, counted as n_i times its share, where
    n_i = (sum |u_{i,tau}|)^2 / sum u_{i,tau}^2 is the number of payoffs the direction rests on. A
    direction of fewer than 4 payoffs has one block, the plain sum. Since k_i divides `max_blocks`,
    block sums for any k_i are sums of the sums kept for `max_blocks` blocks.
    """

    def __init__(self, arms: int, max_blocks: int) -> None:
        self.max_blocks = max_blocks
        self._by_arm = np.zeros((arms, max_blocks))
        self._counts = np.zeros((arms, max_blocks))
        self._totals = np.zeros(arms)  # payoffs of each arm
        self._by_coordinate: Array | None = None  # (r, max_blocks), coordinates^T by_arm
        self._summed = 0  # number of payoffs when it was last computed as a product
        self._coordinates: Array | None = None
        self._count = 0
        self._next = np.arange(arms) % max_blocks  # the next block of each arm

    def add(self, arm: int, payoff: float) -> None:
        """Add one payoff to the estimator."""
        block = self._next[arm]
        self._next[arm] = (block + 1) % self.max_blocks
        self._by_arm[arm, block] += payoff
        self._counts[arm, block] += 1.0
        self._totals[arm] += 1.0
        if self._by_coordinate is not None and self._coordinates is not None:
            self._by_coordinate[:, block] += payoff * self._coordinates[arm]
        self._count += 1

    def add_many(self, arms: NDArray[np.int64], payoffs: Array) -> None:
        """Add payoffs to the estimator in order."""
        for arm, payoff in zip(arms.tolist(), payoffs.tolist(), strict=True):
            self.add(arm, payoff)

    def state(self) -> dict[str, Any]:
        """Return since when the sums in coordinates are updated: their rounding depends on it."""
        return {"summed": None if self._by_coordinate is None else self._summed}

    def restore(self, state: dict[str, Any], arms: NDArray[np.int64], payoffs: Array) -> None:
        """Add the history (t,), with the sums in coordinates since the same payoff."""
        if state["summed"] is None or self._coordinates is None:
            self.add_many(arms, payoffs)
            return
        self._summed = checks.integer("summed", state["summed"], low=0)
        if self._summed > len(arms):
            raise ValueError(f"`summed <= {len(arms)}` must hold, but got {self._summed}.")
        self.add_many(arms[: self._summed], payoffs[: self._summed])
        self._by_coordinate = self._coordinates.T @ self._by_arm
        self.add_many(arms[self._summed :], payoffs[self._summed :])

    def coordinates_changed(self, coordinates: Array) -> None:
        """Use new coordinates; the sums in them are computed when next needed."""
        self._coordinates = coordinates
        self._by_coordinate = None

    def estimate(self, embedding: Embedding, eigensystem: Eigensystem, threshold: float) -> Array:
        """Return the medians over the blocks, shape (u,); the threshold is not used."""
        if self._by_coordinate is None:
            self._by_coordinate = embedding.coordinates.T @ self._by_arm
            self._summed = self._count
        whitening = (
            embedding.directions @ (eigensystem.vectors.T * eigensystem.roots) @ eigensystem.vectors
        )
        sums = whitening @ self._by_coordinate  # (u, max_blocks)
        played = np.flatnonzero(self._totals)
        rows = whitening @ embedding.coordinates[played].T  # u_{i,tau} by arm, (u, played)
        counts = self._counts[played]
        weights = (rows * rows) @ counts  # (u, max_blocks), of sum u^2
        payoffs = medians.effective_payoffs(rows, self._totals[played])
        result: Array = medians.medians_of_means(sums, weights, payoffs)
        return result
