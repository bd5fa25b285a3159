"""Algorithms 2 and 3: a Nystrom dictionary of past points, redrawn after every payoff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._compiled import dictionary as compiled
from tailproof._util import checks
from tailproof.bandits.estimators import DirectionEstimator
from tailproof.bandits.features import Embedding, Nystrom
from tailproof.bandits.low_rank import ROUNDING, PlayedSpan, fixed_coordinates
from tailproof.bandits.posterior.base import REFRESH, PosteriorInputs
from tailproof.bandits.posterior.features import FeaturePosterior
from tailproof.kernels import Kernel

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


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


class NystromPosterior(FeaturePosterior):
    """Algorithm 2 whose features are those of a dictionary, redrawn after every payoff.

    Where the dictionary stays the same, or the old and the new one both span the features of all
    arms, H follows by rank one; otherwise it is recomputed. `dictionary` (m,) holds the numbers of
    its arms, ascending; it is empty before the first payoff.
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
        self.dictionary = np.empty(0, dtype=np.int64)
        super().__init__(inputs, _empty_nystrom_embedding(len(inputs.X), 0), estimator)

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
        same = not grown and np.array_equal(drawn, self.dictionary)
        self._update_features(arm, payoff, None if same else self._embed_dictionary(drawn))
        self.dictionary = drawn

    def _include_in_span(self, arm: int) -> bool:
        """Let the coordinates span a played arm; return whether they have a new column."""
        if self._span is None or not self._span.include(arm):
            return False
        self.kernel_coordinates = self._span.values
        return True

    def state(self) -> dict[str, Any]:
        """Return what, with the history, `restore` needs to continue bit for bit, as JSON."""
        dictionary = {"dictionary": self.dictionary.tolist(), "refreshed": self._refreshed}
        return dictionary | super().state()

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
        self._change_feature_coordinates(self._embed_dictionary(self.dictionary))
        self._replay_payoffs(state, arms, payoffs, refreshed)

    def _embed_dictionary(self, dictionary: Indices) -> Embedding:
        """Return the Nystrom features of the arms for a dictionary."""
        kernel, X = self._inputs.kernel, self._inputs.X
        return nystrom_embedding(self._nystrom, self.kernel_coordinates, dictionary, kernel, X)


def nystrom_embedding(
    nystrom: Nystrom, psi: Array, dictionary: Indices, kernel: Kernel, X: Array
) -> Embedding:
    """Embed the arms, with kernel coordinates `psi` (n, r0), on the arms in `dictionary` (m,).

    With Psi_D = E S F^T (singular values S), K_D = E S^2 E^T, and phi(x) = E F^T psi(x): the
    features are the projections F^T psi, rotated by E. If the dictionary spans everything
    psi does, F is square: then the coordinates are psi itself, and E F^T are the directions.
    """
    if len(dictionary) == 0 or psi.shape[1] == 0:
        return _empty_nystrom_embedding(len(psi), 0)
    if len(dictionary) > psi.shape[1] and compiled.spans_all(
        psi, dictionary, rank_tolerance(nystrom)
    ):
        return _SpanningEmbedding(nystrom, psi, dictionary, kernel, X)
    return _nystrom_projection(nystrom, psi, dictionary, kernel, X)


def _nystrom_projection(
    nystrom: Nystrom, psi: Array, dictionary: Indices, kernel: Kernel, X: Array
) -> Embedding:
    """Return the Nystrom features as projections on the span of the dictionary."""
    # psi leaves out what is below the cutoff for the arms as a whole. Within it, only what is
    # rounding in K_D is left out, or else dictionaries would drop in and out of full rank.
    lengths, left, right = compiled.spanned(psi, dictionary, rank_tolerance(nystrom))
    if len(lengths) == 0:
        return _empty_nystrom_embedding(len(psi), len(dictionary))
    full = len(lengths) == psi.shape[1]

    def query(points: Array) -> tuple[Array, Array | None]:
        inside = kernel.matrix(points, X[dictionary]) @ (left / lengths)
        return (inside @ right.T if full else inside), None

    coordinates = psi if full else psi @ right
    if nystrom.reduced:
        directions = right.T if full else np.eye(len(lengths))
    else:
        directions = left @ right.T if full else left
    directions = np.ascontiguousarray(directions)
    return Embedding(coordinates, directions, np.ones(len(directions)), query, kernel_basis=full)


class _SpanningEmbedding(Embedding):
    """The embedding on a dictionary that spans all of psi, whose directions are found when used.

    H and the variances do not depend on them, and dictionaries of many arms change every round.
    """

    def __init__(
        self, nystrom: Nystrom, psi: Array, dictionary: Indices, kernel: Kernel, X: Array
    ) -> None:
        size = psi.shape[1] if nystrom.reduced else len(dictionary)
        fields = {"coordinates": psi, "copies": np.ones(size), "kernel_basis": True}
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_arguments", (nystrom, psi, dictionary, kernel, X))

    def __getattr__(self, name: str) -> Any:
        # Reached only where an attribute is not there yet.
        if name not in ("directions", "query"):
            raise AttributeError(name)
        embedding = _nystrom_projection(*self.__dict__["_arguments"])
        for found in ("directions", "query"):
            object.__setattr__(self, found, getattr(embedding, found))
        return self.__dict__[name]


def rank_tolerance(nystrom: Nystrom) -> float:
    """Return the share of K_D's largest eigenvalue that the Nystrom posterior takes for zero."""
    return max(1e-3 * nystrom.cutoff, 1e-15)


def _empty_nystrom_embedding(arms: int, size: int) -> Embedding:
    """Embed in `size` Nystrom features that are zero: an empty dictionary, or one of zeros."""

    def query(points: Array) -> tuple[Array, Array | None]:
        return np.zeros((len(points), 1)), None

    return Embedding(np.zeros((arms, 1)), np.zeros((size, 1)), np.ones(size), query)
