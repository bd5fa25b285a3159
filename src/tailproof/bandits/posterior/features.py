"""Algorithm 2: posterior mean and variance from robust sums in every feature direction.

With an embedding Phi = A W^T (see `features`), V^(-1/2) Phi^T = W H^(-1/2) A^T where
H = A^T N A + ridge has size r: the mean over the arms is A H^(-1/2) W^T r_hat and the variance
ridge a^T H^(-1) a, to which choice (ii) adds k(x, x) - |phi(x)|^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailproof._compiled import dictionary, eigen
from tailproof._compiled import ridge as engine
from tailproof.bandits.estimators import DirectionEstimator
from tailproof.bandits.features import Embedding, Nystrom, nystrom_embedding
from tailproof.bandits.low_rank import kernel_coordinates
from tailproof.bandits.posterior.ridge import REFRESH, eigh_above, taken
from tailproof.kernels import Kernel

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PosteriorInputs:
    """What a posterior stands on: kernel, arms (n, d), ridge, b_t and the choice of variance."""

    kernel: Kernel
    X: Array
    ridge: float
    level: Callable[[int, int], float]
    with_residual: bool  # choice (ii) of Algorithm 2; choice (i) if False


class DirectionPosterior:
    """Algorithm 2 on one embedding at a time."""

    def __init__(
        self, ground: PosteriorInputs, embedding: Embedding, estimator: DirectionEstimator
    ) -> None:
        self._ground, self._estimator = ground, estimator
        self._prior = ground.kernel.diagonal(ground.X).astype(np.float64)
        self._count = 0
        self._counts = np.zeros(len(ground.X))
        self._fresh_mean: Array | None = None
        self._values: Array  # eigenvalues of H
        self.slack: Array
        self.vectors: Array
        self.leverage: Array
        self.embed(embedding)

    @property
    def count(self) -> int:
        """Number of payoffs taken in."""
        return self._count

    @property
    def counts(self) -> Array:
        """Number of payoffs by arm, (n,); not to be written to."""
        return self._counts

    @property
    def residual(self) -> float:
        """Largest part of k(x, x) that the features leave out."""
        return float(np.max(self._prior - self.embedding.squared_norms()))

    @property
    def effective_dimension(self) -> float:
        """Trace of H^(-1) (H - ridge): how many directions the payoffs have told apart."""
        return len(self.roots) - self._ground.ridge * float(self.roots @ self.roots)

    def embed(self, embedding: Embedding) -> None:
        """Change over to another embedding of the same arms."""
        self.embedding = embedding
        self.directions = embedding.size
        self._residual = self._missing(self._prior, embedding.squared_norms())
        self._estimator.embedding_changed(embedding)
        self._refresh()

    def turn(self, embedding: Embedding) -> None:
        """Take over other directions in the same coordinates: V stays as it is."""
        self.embedding = embedding
        self.directions = embedding.size
        self._fresh_mean = None

    def add(self, arms: Sequence[int], payoffs: Sequence[float]) -> None:
        """Take in payoffs in order."""
        for arm, payoff in zip(arms, payoffs, strict=True):
            self.add_one(arm, payoff)

    def add_one(self, arm: int, payoff: float) -> None:
        """Take in one payoff."""
        self.take(arm, payoff)
        self.follow(arm)

    def take(self, arm: int, payoff: float) -> None:
        """Take in one payoff but leave V to a following `follow` or `embed`."""
        self._estimator.add(arm, payoff)
        self._count += 1
        self._counts[arm] += 1.0

    def follow(self, arm: int) -> None:
        """Let V follow a payoff that was taken in at `arm`."""
        self._fresh_mean = None
        if self._count % REFRESH == 0:
            self._refresh()
            return
        self.log_det += eigen.absorb(
            self._values,
            self.roots,
            self.vectors,
            self.leverage,
            self.embedding.coordinates,
            arm,
        )

    def mean(self) -> Array:
        """Posterior mean of the arms (Alg. 2, lines 5 and 6)."""
        if self._fresh_mean is None:
            e, sums = self.embedding, self._sums()
            self._fresh_mean = (
                eigen.direction_mean(
                    e.coordinates, e.directions, e.copies, sums, self.roots, self.vectors
                )
                if len(sums)
                else np.zeros(len(e.coordinates))
            )
        return self._fresh_mean

    def variance(self) -> Array:
        """Posterior variance of the arms (Alg. 2, line 7); k(x, x) while nothing is known."""
        if self._blank():
            return self._prior
        result: Array = engine.variances(self.leverage, self._ground.ridge, self._residual)
        return result

    def covariance(self, arm: int) -> Array:
        """Posterior covariance of the arms with one arm."""
        ground, a = self._ground, self.embedding.coordinates
        if self._blank():
            return ground.kernel.matrix(ground.X, ground.X[arm : arm + 1])[:, 0]
        result: Array = ground.ridge * eigen.solved_column(self.roots, self.vectors, a, arm)
        if ground.with_residual:
            result += ground.kernel.matrix(ground.X, ground.X[arm : arm + 1])[:, 0] - a @ a[arm]
        return result

    def query(self, points: Array) -> tuple[Array, Array]:
        """Mean and variance at any points."""
        prior = self._ground.kernel.diagonal(points).astype(np.float64)
        if self._blank():
            return np.zeros(len(points)), prior
        ridge, copies = self._ground.ridge, self.embedding.copies
        sums = self._sums()
        inside, outside = self.embedding.query(points)
        mean = inside @ self._weights(sums)
        half = (inside @ self.vectors.T) * self.roots
        variance = ridge * np.einsum("ij,ij->i", half, half)
        norms = np.einsum("ij,ij->i", inside, inside)
        if outside is not None:
            # Off the span of the arms' features V is ridge times the identity.
            mean += outside @ (copies * sums) / math.sqrt(ridge)
            off = np.einsum("ij,ij,j->i", outside, outside, copies)
            variance += off
            norms += off
        return mean, variance + self._missing(prior, norms)

    def state(self) -> dict[str, Array]:
        """Arrays that, given the history, continue bit for bit."""
        own = {
            "values": self._values,
            "vectors": self.vectors,
            "leverage": self.leverage,
            "log_det": np.array(self.log_det),
        }
        return own | self._estimator.state()

    def restore(self, state: dict[str, Array], arms: NDArray[np.int64], payoffs: Array) -> None:
        """Take back what `state` gave, with the history (t,) that led to it."""
        self._estimator.add_many(arms, payoffs)
        self._estimator.restore(state)
        self._count = len(arms)
        self._counts = np.bincount(arms, minlength=len(self._counts)).astype(np.float64)
        self._values = taken(state, "values", self._values.shape)
        self.vectors = taken(state, "vectors", self.vectors.shape)
        self.leverage = taken(state, "leverage", self.leverage.shape)
        self.log_det = float(taken(state, "log_det", ()))
        self.roots = 1.0 / np.sqrt(self._values)
        self._fresh_mean = None

    def _blank(self) -> bool:
        """Before the first payoff, or with an empty dictionary, where choice (i) would be 0."""
        return self._count == 0 or len(self.embedding.directions) == 0

    def _missing(self, prior: Array, norms: Array) -> Array:
        """k(x, x) - |phi(x)|^2 under choice (ii), nothing under choice (i)."""
        if self._ground.with_residual:
            return np.maximum(prior - norms, 0.0)
        return np.zeros_like(prior)

    def _sums(self) -> Array:
        if self._count == 0:
            return np.zeros(len(self.embedding.directions))
        level = self._ground.level(self._count, self.directions)
        return self._estimator.estimate(self.embedding, self, level)

    def _weights(self, sums: Array) -> Array:
        """H^(-1/2) W^T r_hat: the mean's coordinates."""
        if len(sums) == 0:
            return np.zeros(self.embedding.coordinates.shape[1])
        result: Array = eigen.mean_weights(
            self.embedding.directions, self.embedding.copies, sums, self.roots, self.vectors
        )
        return result

    def _refresh(self) -> None:
        """Make V's eigendecomposition and the leverages anew from the counts."""
        a = self.embedding.coordinates
        self._values, columns = eigh_above((a.T * self._counts) @ a, self._ground.ridge)
        self.log_det = float(np.log(self._values / self._ground.ridge).sum())
        self.vectors = np.ascontiguousarray(columns.T)
        self.roots = 1.0 / np.sqrt(self._values)
        half = (a @ columns) * self.roots
        self.leverage = np.einsum("ij,ij->i", half, half)
        # Rank-one steps subtract from at most |a|^2 / ridge, REFRESH times, each to rounding.
        self.slack = 1e-12 * np.einsum("ij,ij->i", a, a) / self._ground.ridge
        self._fresh_mean = None


@dataclass(frozen=True)
class Sampling:
    """How a Nystrom dictionary is drawn: p = min(q s, 1) for each past round or distinct point."""

    oversampling: float  # q
    each_round: bool  # Algorithm 3 draws for every past round; the authors once a distinct point
    by_leverage: bool  # s = sigma^2 / ridge (the authors) instead of sigma^2 (Algorithm 3)


class NystromPosterior:
    """Algorithms 2 and 3: the dictionary is redrawn after every payoff, from the variances before.

    Of N draws with probability p at the same point at least one succeeds with probability
    1 - (1 - p)^N, so one random number an arm decides, however many rounds have passed. Where
    the dictionary comes out as it was, or spans all the arms' features as it did, V follows by
    rank one; else it is made anew.
    """

    def __init__(
        self,
        ground: PosteriorInputs,
        nystrom: Nystrom,
        sampling: Sampling,
        estimator: DirectionEstimator,
        rng: np.random.Generator,
    ) -> None:
        self._ground, self._nystrom, self._sampling, self._rng = ground, nystrom, sampling, rng
        self._psi = kernel_coordinates(ground.kernel, ground.X, nystrom.cutoff)
        self.dictionary = np.empty(0, dtype=np.int64)
        self._inner = DirectionPosterior(ground, self._embedding(), estimator)

    @property
    def count(self) -> int:
        """Number of payoffs taken in."""
        return self._inner.count

    @property
    def residual(self) -> float:
        """Largest part of k(x, x) that no dictionary can span, being below the cutoff."""
        norms = np.einsum("ij,ij->i", self._psi, self._psi)
        return float(np.max(self._ground.kernel.diagonal(self._ground.X) - norms))

    @property
    def directions(self) -> int:
        """Number of features: the size of the dictionary, or its rank if reduced."""
        return self._inner.directions

    @property
    def log_det(self) -> float:
        """ln |I + K_t / ridge| of the approximate kernel."""
        return self._inner.log_det

    def add(self, arms: Sequence[int], payoffs: Sequence[float]) -> None:
        """Take in payoffs in order, and redraw the dictionary after each."""
        for arm, payoff in zip(arms, payoffs, strict=True):
            self.add_one(arm, payoff)

    def add_one(self, arm: int, payoff: float) -> None:
        """Take in one payoff, and redraw the dictionary."""
        variance = self._inner.variance()  # of the round before, as Algorithm 3 is given it
        self._inner.take(arm, payoff)
        drawn = self._draw(variance)
        if not np.array_equal(drawn, self.dictionary):
            self.dictionary = drawn
            embedding = self._embedding()
            if embedding.coordinates is not self._inner.embedding.coordinates:
                self._inner.embed(embedding)
                return
            self._inner.turn(embedding)
        self._inner.follow(arm)

    def mean(self) -> Array:
        """Posterior mean of the arms."""
        return self._inner.mean()

    def variance(self) -> Array:
        """Posterior variance of the arms."""
        return self._inner.variance()

    def covariance(self, arm: int) -> Array:
        """Posterior covariance of the arms with one arm."""
        return self._inner.covariance(arm)

    def query(self, points: Array) -> tuple[Array, Array]:
        """Mean and variance at any points."""
        return self._inner.query(points)

    def state(self) -> dict[str, Array]:
        """Arrays that, given the history, continue bit for bit."""
        return {"dictionary": self.dictionary.astype(np.float64)} | self._inner.state()

    def restore(self, state: dict[str, Array], arms: NDArray[np.int64], payoffs: Array) -> None:
        """Take back what `state` gave, with the history (t,) that led to it."""
        self.dictionary = state["dictionary"].astype(np.int64)
        self._inner.embed(self._embedding())
        self._inner.restore(state, arms, payoffs)

    def _embedding(self) -> Embedding:
        ground = self._ground
        return nystrom_embedding(self._nystrom, self._psi, self.dictionary, ground.kernel, ground.X)

    def _draw(self, variance: Array) -> NDArray[np.int64]:
        s = self._sampling
        q = s.oversampling / self._ground.ridge if s.by_leverage else s.oversampling
        uniforms = self._rng.random(len(variance))
        drawn: NDArray[np.int64] = dictionary.drawn_arms(
            variance, self._inner.counts, uniforms, q, s.each_round
        )
        return drawn
