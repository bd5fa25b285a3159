"""Algorithms 2 and 3: a Nystrom dictionary of past points, redrawn after every payoff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from tailproof._compiled import dictionary as compiled
from tailproof._util import checks
from tailproof.bandits.estimators import DirectionEstimator, TruncateDirections
from tailproof.bandits.features import Embedding, Nystrom
from tailproof.bandits.inverse_root import InverseRoot
from tailproof.bandits.low_rank import DENSE_POINTS, ROUNDING, PlayedSpan, fixed_coordinates
from tailproof.bandits.posterior.base import REFRESH, PosteriorInputs, weighted_gram
from tailproof.bandits.posterior.bordered import BorderedSystem, Eigensystem, Reference
from tailproof.bandits.posterior.dictionary_features import (
    LARGEST_CONDITION,
    TriangularEmbedding,
    empty_embedding,
    nystrom_embedding,
)
from tailproof.bandits.posterior.features import FeaturePosterior

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
# Up to so many arms a direction a new factor of H is quicker than a step of its eigensystem.
ARMS_PER_DIRECTION = 8
# Shares of the played arms that a dictionary may lack for borders to be used, and to go on being.
FEW_MISSING, MANY_MISSING = 0.25, 0.33
# Borders are used where as many arms were played and two draws differ in as many arms on average.
FEWEST_ARMS, FEW_CHANGES = 48, 0.2
# Arms told since an eigendecomposition before there is a new one.
MOST_TOLD = 12
# Largest bound on the condition number of the played arms' kernel matrix: at a condition number of
# 1e9 variances by borders keep nine digits.
LARGEST_REFERENCE_CONDITION = 1e10


def _are_equal(a: Indices, b: Indices) -> bool:
    """Whether two rows of numbers are equal; np.array_equal takes three times as long."""
    return len(a) == len(b) and bool((a == b).all())


@dataclass(frozen=True)
class Sampling:
    """How a dictionary is drawn: p = min(q s, 1) for each past round or distinct point."""

    oversampling: float  # q
    each_round: bool  # Algorithm 3 draws for every past round; the authors once a distinct point
    by_leverage: bool  # s = sigma^2 / ridge (the authors) instead of sigma^2 (Algorithm 3)

    def draw(
        self, variance: Array, counts: Array, ridge: float, rng: np.random.Generator
    ) -> Indices:
        """Return the arms of a new dictionary, ascending, from variances and counts (n,) each.

        Of N draws with probability p at the same point at least one succeeds with probability
        1 - (1 - p)^N, so one random number an arm decides, however many rounds have passed.
        """
        q = self.oversampling / ridge if self.by_leverage else self.oversampling
        uniforms = rng.random(len(variance))
        drawn: Indices = compiled.drawn_arms(variance, counts, uniforms, q, self.each_round)
        return drawn

    def chances(self, variance: Array, counts: Array, ridge: float) -> Array:
        """Return the probabilities (n,) with which the arms enter a new dictionary."""
        q = self.oversampling / ridge if self.by_leverage else self.oversampling
        chances = np.where(counts > 0.0, np.clip(q * variance, 0.0, 1.0), 0.0)
        return 1.0 - (1.0 - chances) ** counts if self.each_round else chances


class NystromPosterior(FeaturePosterior):
    """Algorithm 2 whose features are those of a dictionary, redrawn after every payoff.

    Where the dictionary stays the same, or the old and the new one both span the features of all
    arms, H follows by rank one. Where dictionaries keep changing and hold nearly all arms played,
    which is looked at every REFRESH payoffs, H follows from that of all arms played (`_bordered`).
    Any other H is recomputed, by a Cholesky factor where that is accurate (`_factor`, None once the
    eigensystem is in use). `dictionary` (m,) holds the numbers of its arms, ascending; it is empty
    before the first payoff.
    """

    def __init__(
        self,
        inputs: PosteriorInputs,
        nystrom: Nystrom,
        sampling: Sampling,
        estimator: DirectionEstimator,
        rng: np.random.Generator,
    ) -> None:
        self._nystrom, self._sampling, self._rng = nystrom, sampling, rng
        # What is far below the cutoff need not be in the coordinates.
        rounding = max(ROUNDING, 1e-2 * nystrom.cutoff)
        coordinates = fixed_coordinates(inputs.kernel, inputs.X, nystrom.cutoff, rounding)
        self._span: PlayedSpan | None = None
        if coordinates is None:
            self._span = PlayedSpan(inputs.kernel, inputs.X, nystrom.cutoff)
            coordinates = self._span.values
        self.kernel_coordinates = coordinates
        # Psi Psi^T where it is small: dictionaries take rows of it.
        small = self._span is None and len(coordinates) <= DENSE_POINTS
        self._products = coordinates @ coordinates.T if small else None
        self.dictionary = np.empty(0, dtype=np.int64)
        self._factor: Array | None = None  # of H, lower triangular
        self._reference: Reference | None = None  # all arms played, while borders are used
        self._bordered: BorderedSystem | None = None
        self._told: dict[int, float] = {}  # arm -> payoffs since the reference's eigensystem
        super().__init__(inputs, empty_embedding(len(inputs.X), 0), estimator)

    @property
    def residual(self) -> float:
        """Largest part of a played arm's k(x, x) that no dictionary can span, below the cutoff."""
        if self._span is not None:
            return self._span.limit
        psi = self.kernel_coordinates
        prior = self._inputs.kernel.diagonal(self._inputs.X)
        return float(np.max(prior - np.einsum("ij,ij->i", psi, psi)))

    def add(self, arm: int, payoff: float) -> None:
        """Add one payoff and redraw the dictionary, from the variances of the round before."""
        counts = self._counts.copy()
        counts[arm] += 1.0
        drawn = self._sampling.draw(self.variance(), counts, self._inputs.ridge, self._rng)
        grown = self._include_in_span(arm)
        reference = self._reference_for(counts, drawn)
        if reference is not None:
            self._add_by_border(arm, payoff, drawn, reference)
        else:
            same = not grown and self._reference is None and _are_equal(drawn, self.dictionary)
            self._reference = self._bordered = None
            self._update_features(arm, payoff, None if same else self._embed_dictionary(drawn))
        self.dictionary = drawn

    def _reference_for(self, counts: Array, drawn: Indices) -> Reference | None:
        """Return the features of all arms played if a dictionary is to be made from them."""
        due = (self._count + 1) % REFRESH == 0
        if self._reference is None and not due:
            return None
        played = np.count_nonzero(counts)
        missing = played - len(drawn)
        if due:
            # Where dictionaries hardly change, steps of rank one are quicker.
            chances = self._sampling.chances(self.variance(), counts, self._inputs.ridge)
            changes = 2.0 * float((chances * (1.0 - chances)).sum())
            if missing > FEW_MISSING * played or changes < FEW_CHANGES:
                return None
        elif missing > MANY_MISSING * played:
            return None
        if self._reference is not None and played == len(self._reference.arms):
            return self._reference
        return self._reference_of(np.flatnonzero(counts))

    def _reference_of(self, arms: Indices) -> Reference | None:
        """Return the features of some arms, None where borders would not be accurate or quick."""
        if not FEWEST_ARMS <= len(arms) <= self.kernel_coordinates.shape[1]:
            return None
        if not isinstance(self.estimator, TruncateDirections):
            return None
        embedding = self._embed_dictionary(arms)
        if not isinstance(embedding, TriangularEmbedding):
            return None
        if float(np.trace(embedding.gram)) > LARGEST_REFERENCE_CONDITION * embedding.low:
            return None
        inverse, _ = lapack.dtrtri(embedding.factor, lower=1)
        return Reference(arms, embedding, embedding.gram, embedding.factor, inverse)

    def _add_by_border(self, arm: int, payoff: float, drawn: Indices, reference: Reference) -> None:
        """Add one payoff and change to a dictionary within the arms played."""
        self.estimator.add(arm, payoff)
        self._count += 1
        self._counts[arm] += 1.0
        many = arm not in self._told and len(self._told) == MOST_TOLD
        if reference is not self._reference or many or self._count % REFRESH == 0:
            self._reference = reference
            self._refresh_reference(reference)
        else:
            self._told[arm] = self._told.get(arm, 0.0) + 1.0
        self._border(reference, drawn)

    def _refresh_reference(self, reference: Reference) -> None:
        """Recompute the eigensystem of all arms played from the counts."""
        self.embedding, self._refreshed = reference.embedding, self._count
        self._told, self._factor = {}, None
        a = self.embedding.coordinates
        self._whole_residual = self._left_out_variance(self._prior, self.embedding.squared_norms())
        self._set_gram(weighted_gram(a, self._counts))
        self._system = Eigensystem(reference, self._gram, self._inputs.ridge)

    def _border(self, reference: Reference, drawn: Indices) -> None:
        """Take a dictionary within the arms played."""
        inside = np.zeros(len(self._counts), dtype=np.bool_)
        inside[drawn] = True
        left_out = np.flatnonzero(~inside[reference.arms])
        told = np.fromiter(self._told, np.int64, len(self._told))
        counts = np.fromiter(self._told.values(), np.float64, len(self._told))
        bordered = BorderedSystem(self._system, left_out, told, counts)
        self._bordered, self._cached_mean, self.directions = bordered, None, len(drawn)
        self.leverage = bordered.leverage
        self.log_det = bordered.log_det(len(drawn), self._inputs.ridge)
        self._residual = self._whole_residual
        if self._inputs.with_residual and len(left_out):
            others = np.flatnonzero(~inside)
            outside = bordered.outside(reference.weights[others])
            self._residual = self._whole_residual.copy()
            self._residual[others] += np.einsum("ij,ij->i", outside, outside)

    def _refresh(self) -> None:
        """Recompute H and the leverages from the counts, by a Cholesky factor if it serves."""
        self._factor = None
        if not isinstance(self.embedding, TriangularEmbedding) or not self._refresh_factor():
            super()._refresh()

    def _refresh_factor(self) -> bool:
        """Compute H's Cholesky factor and the leverages, unless it may be inaccurate (False)."""
        a, ridge = self.embedding.coordinates, self._inputs.ridge
        gram = weighted_gram(a, self._counts)
        whole = gram.copy()
        whole.flat[:: len(gram) + 1] += ridge
        if float(np.trace(whole)) > LARGEST_CONDITION * ridge:
            return False
        factor, failed = lapack.dpotrf(whole.T, lower=1)
        if failed:
            return False
        half = blas.dtrsm(1.0, factor, a.T, lower=1).T  # (n, m)
        self._refreshed = self._count
        self._set_gram(gram)
        self._factor = factor
        self.leverage = np.einsum("ij,ij->i", half, half)
        diagonal = np.diagonal(factor)
        self.log_det = float(2.0 * np.log(diagonal).sum() - len(gram) * np.log(ridge))
        return True

    def _add_payoff_to_gram(self, arm: int) -> None:
        """Add one payoff: while no arm loses payoffs, a new factor is all that is needed.

        It costs O(n m^2), a step of the eigensystem O(n m + m^3).
        """
        few = len(self.leverage) <= ARMS_PER_DIRECTION * self.directions
        if self._factor is not None and few and isinstance(self.estimator, TruncateDirections):
            threshold = self._inputs.truncation(self._count, self.directions)
            if not len(self.estimator.split(self.leverage, self.slack, threshold)[1]):
                self._refresh()
                return
        self._add_payoff_by_rank_one(arm)

    def _add_payoff_by_rank_one(self, arm: int) -> None:
        """Add one payoff of an arm to H under the same Nystrom dictionary, by rank one."""
        super()._add_payoff_by_rank_one(arm)
        self._factor = None

    def mean(self) -> Array:
        """Posterior mean of the arms (Alg. 2, lines 5 and 6)."""
        estimator = self.estimator
        if self._bordered is not None:
            if self._cached_mean is None:
                weights = self._mean_weights(self._bordered)
                self._cached_mean = self._system.coordinates @ weights
            return self._cached_mean
        if (
            self._factor is None
            or self._cached_mean is not None
            or not isinstance(estimator, TruncateDirections)
            or self._is_prior()
        ):
            return super().mean()
        self._cached_mean = self._mean_from_factor(self._factor, estimator)
        return self._cached_mean

    def _mean_from_factor(self, factor: Array, estimator: TruncateDirections) -> Array:
        """Return the mean; only arms that lose payoffs need the directions of Algorithm 2."""
        embedding = self.embedding
        assert isinstance(embedding, TriangularEmbedding)
        a = embedding.coordinates
        threshold = self._inputs.truncation(self._count, self.directions)
        kept, arms = estimator.split(self.leverage, self.slack, threshold)
        weights, _ = lapack.dpotrs(factor, kept @ a, lower=1)
        if len(arms):
            ridge = self._inputs.ridge
            whole = self._gram.copy()
            whole.flat[:: len(whole) + 1] += ridge
            root = InverseRoot(whole, ridge)
            rows = embedding.features_of(root.times(a[arms].T))  # u_{i,j}, (m, c)
            sums = estimator.truncated_sums(arms, rows.T, threshold)
            weights = weights + root.times(embedding.coordinates_of(sums[:, None]))[:, 0]
        mean: Array = a @ weights
        return mean

    def _mean_weights(self, bordered: BorderedSystem) -> Array:
        """Return the mean in coordinates of the eigensystem, (m,) (Alg. 2, line 6)."""
        estimator = self.estimator
        assert isinstance(estimator, TruncateDirections)
        threshold = self._inputs.truncation(self._count, self.directions)
        kept, arms = estimator.split(self.leverage, self.slack, threshold)
        coordinates = self._system.coordinates
        weights = bordered.solve(kept @ coordinates)
        if len(arms):
            rows = bordered.features_of(coordinates[arms])  # u_{i,j}, (c, m)
            sums = estimator.truncated_sums(arms, rows, threshold)
            weights += bordered.coordinates_of(sums)
        return weights

    def covariance(self, arm: int) -> Array:
        """Posterior covariance of the arms with one arm, from the dictionary's features."""
        if self._bordered is None or self._reference is None:
            return super().covariance(arm)
        inputs, coordinates = self._inputs, self._system.coordinates
        result: Array = inputs.ridge * (coordinates @ self._bordered.solve(coordinates[arm]))
        if inputs.with_residual:
            outside = self._bordered.outside(self._reference.weights)
            result += inputs.kernel.matrix(inputs.X, inputs.X[arm : arm + 1])[:, 0]
            result += outside @ outside[arm] - coordinates @ coordinates[arm]
        return result

    def query(self, points: Array) -> tuple[Array, Array]:
        """Posterior mean and variance at any points, from the dictionary's features."""
        bordered, reference = self._bordered, self._reference
        if bordered is None or reference is None:
            return super().query(points)
        prior = self._inputs.kernel.diagonal(points).astype(np.float64)
        coordinates, _ = self.embedding.query(points)
        rotated = bordered.rotated(coordinates)
        variance = self._inputs.ridge * np.einsum("ij,ij->i", rotated, bordered.solve(rotated))
        outside = bordered.outside(coordinates @ reference.inverse)
        norms = np.einsum("ij,ij->i", coordinates, coordinates)
        norms -= np.einsum("ij,ij->i", outside, outside)
        mean: Array = rotated @ self._mean_weights(bordered)
        return mean, variance + self._left_out_variance(prior, norms)

    def _include_in_span(self, arm: int) -> bool:
        """Let the coordinates span a played arm; return whether they have a new column."""
        if self._span is None or not self._span.include(arm):
            return False
        self.kernel_coordinates = self._span.values
        return True

    def state(self) -> dict[str, Any]:
        """Return what, with the history, `restore` needs to continue bit for bit, as JSON."""
        return {
            "dictionary": self.dictionary.tolist(),
            "refreshed": self._refreshed,
            "bordered": self._bordered is not None,
        } | super().state()

    def restore(self, state: dict[str, Any], arms: Indices, payoffs: Array) -> None:
        """Set what `state` returned, with the history (t,) that led to it."""
        dictionary, refreshed = state["dictionary"], state["refreshed"]
        if dictionary != sorted(set(dictionary) & set(arms.tolist())):
            raise ValueError(
                "`dictionary` must hold arms that were played, ascending, but does not."
            )
        least = len(arms) // REFRESH * REFRESH
        if not least <= checks.integer("refreshed", refreshed, low=0) <= len(arms):
            raise ValueError(
                f"`{least} <= refreshed <= {len(arms)}` must hold, but got {refreshed}."
            )
        for arm in dict.fromkeys(arms.tolist()):  # in order of their first payoffs
            self._include_in_span(arm)
        self.dictionary = np.array(dictionary, dtype=np.int64)
        # Files of versions without borders do not have it.
        if checks.flag("bordered", state.get("bordered", False)):
            self._restore_bordered(state, arms, payoffs, refreshed)
            return
        self._change_feature_coordinates(self._embed_dictionary(self.dictionary))
        self._replay_payoffs(state, arms, payoffs, refreshed)

    def _restore_bordered(
        self, state: dict[str, Any], arms: Indices, payoffs: Array, refreshed: int
    ) -> None:
        """Add the history (t,), of which the first `refreshed` led to the last eigensystem."""
        self._reference = self._reference_of(np.unique(arms))
        if self._reference is None:
            raise ValueError("`bordered` must be false for these arms, but is true.")
        self.estimator.restore(state, arms, payoffs)
        self._counts = np.bincount(arms[:refreshed], minlength=len(self._counts)).astype(np.float64)
        self._count = refreshed
        self._refresh_reference(self._reference)
        for arm in arms[refreshed:].tolist():
            self._count += 1
            self._counts[arm] += 1.0
            self._told[arm] = self._told.get(arm, 0.0) + 1.0
        self._border(self._reference, self.dictionary)

    def _embed_dictionary(self, dictionary: Indices) -> Embedding:
        """Return the Nystrom features of the arms for a dictionary."""
        kernel, X = self._inputs.kernel, self._inputs.X
        return nystrom_embedding(
            self._nystrom, self.kernel_coordinates, dictionary, kernel, X, self._products
        )
