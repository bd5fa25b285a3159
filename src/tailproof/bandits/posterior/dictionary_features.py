"""The features that a Nystrom dictionary spans (Algorithm 3), in coordinates quick to find.

K_D is the kernel matrix of the m arms in the dictionary, Psi (n, r0) are kernel coordinates of all
arms. The paper's features are phi(x) = K_D^(-1/2) k_D(x).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from tailproof._compiled import dictionary as compiled
from tailproof.bandits.features import Embedding, Nystrom
from tailproof.bandits.inverse_root import InverseRoot
from tailproof.kernels import Kernel

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
# Largest condition number of a matrix whose inverse root is found from its Cholesky factor.
LARGEST_CONDITION = 1e12


def nystrom_embedding(
    nystrom: Nystrom,
    psi: Array,
    dictionary: Indices,
    kernel: Kernel,
    X: Array,
    products: Array | None = None,
) -> Embedding:
    """Embed the arms, with kernel coordinates `psi` (n, r0), on the arms in `dictionary` (m,).

    `products` is psi psi^T, (n, n), where it is known: that makes some of the embeddings cheaper.

    With Psi_D = E S F^T (singular values S), K_D = E S^2 E^T, and phi(x) = E F^T psi(x): the
    features are the projections F^T psi, rotated by E. If the dictionary spans everything
    psi does, F is square: then the coordinates are psi itself, and E F^T are the directions.
    """
    if len(dictionary) == 0 or psi.shape[1] == 0:
        return empty_embedding(len(psi), 0)
    if len(dictionary) > psi.shape[1] and compiled.spans_all(
        psi, dictionary, rank_tolerance(nystrom)
    ):
        return _SpanningEmbedding(nystrom, psi, dictionary, kernel, X)
    if len(dictionary) <= psi.shape[1] and not nystrom.reduced:
        triangular = _triangular_embedding(nystrom, psi, dictionary, kernel, X, products)
        if triangular is not None:
            return triangular
    return singular_value_embedding(nystrom, psi, dictionary, kernel, X)


def singular_value_embedding(
    nystrom: Nystrom, psi: Array, dictionary: Indices, kernel: Kernel, X: Array
) -> Embedding:
    """Embed the arms by the singular values of Psi_D, whatever its rank (see nystrom_embedding)."""
    # psi leaves out what is below the cutoff for the arms as a whole. Within it, only what is
    # rounding in K_D is left out, or else dictionaries would drop in and out of full rank.
    lengths, left, right = compiled.spanned(psi, dictionary, rank_tolerance(nystrom))
    if len(lengths) == 0:
        return empty_embedding(len(psi), len(dictionary))
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
        """Embed the arms on a dictionary that spans all their features."""
        size = psi.shape[1] if nystrom.reduced else len(dictionary)
        fields = {"coordinates": psi, "copies": np.ones(size), "kernel_basis": True}
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_arguments", (nystrom, psi, dictionary, kernel, X))

    def __getattr__(self, name: str) -> Any:
        """Compute the embedding on the dictionary when one of its fields is needed."""
        # Reached only where an attribute is not there yet.
        if name not in ("directions", "query"):
            raise AttributeError(name)
        embedding = singular_value_embedding(*self.__dict__["_arguments"])
        for found in ("directions", "query"):
            object.__setattr__(self, found, getattr(embedding, found))
        return self.__dict__[name]


class TriangularEmbedding(Embedding):
    """The embedding on a dictionary of full rank, in coordinates C = L^(-1) k_D(x), K_D = L L^T.

    phi = Q C with the orthogonal Q = K_D^(-1/2) L. A new dictionary costs no eigendecomposition:
    means and variances that truncate nothing do not depend on Q, and what is truncated needs Q
    times a few vectors.
    """

    def __init__(self, coordinates: Array, gram: Array, factor: Array, low: float) -> None:
        """Embed the arms on a dictionary by the Cholesky factor of its Gram matrix."""
        object.__setattr__(self, "coordinates", coordinates)
        object.__setattr__(self, "copies", np.ones(coordinates.shape[1]))
        object.__setattr__(self, "_parts", (gram, factor, low))

    @functools.cached_property
    def _gram_root(self) -> InverseRoot:
        """Return the inverse root of the dictionary's Gram matrix, by which features are made."""
        gram, _, low = self._parts
        return InverseRoot(gram, low)

    def features_of(self, vectors: Array) -> Array:
        """Return Q B for the columns of B (m, c) in the dictionary's coordinates."""
        return self._gram_root.times(self._parts[1] @ vectors)

    def coordinates_of(self, features: Array) -> Array:
        """Return Q^T B for the columns of B (m, c) in the paper's features of the dictionary."""
        result: Array = self._parts[1].T @ self._gram_root.times(features)
        return result

    def __getattr__(self, name: str) -> Any:
        """Compute the features on the dictionary when they are needed."""
        # Reached only where an attribute is not there yet.
        if name != "directions":
            raise AttributeError(name)
        directions = self.features_of(np.eye(len(self.copies)))
        object.__setattr__(self, name, directions)
        return directions


def _triangular_embedding(
    nystrom: Nystrom,
    psi: Array,
    dictionary: Indices,
    kernel: Kernel,
    X: Array,
    products: Array | None,
) -> TriangularEmbedding | None:
    """Return the embedding on fewer arms than psi has columns, None without surely full rank."""
    if products is None:
        rows = psi[dictionary]  # (m, r0)
        gram = rows @ rows.T
    else:
        cross = products[dictionary]  # (m, n)
        gram = cross[:, dictionary]
    factor, failed = lapack.dpotrf(gram.T, lower=1, clean=1)
    if failed:
        return None
    inverse, failed = lapack.dtrtri(factor, lower=1)
    # The smallest eigenvalue is at least 1 / |L^(-1)|_F^2, the largest at most the trace.
    low = 1.0 / float(np.einsum("ij,ij->", inverse, inverse))
    high = float(np.trace(gram))
    if not low > max(2.0 * rank_tolerance(nystrom), 1.0 / LARGEST_CONDITION) * high:
        return None
    points = X[dictionary]
    coordinates = psi @ (inverse @ rows).T if products is None else cross.T @ inverse.T
    embedding = TriangularEmbedding(coordinates, gram, factor, low)

    def query(other: Array) -> tuple[Array, Array | None]:
        return kernel.matrix(other, points) @ inverse.T, None

    object.__setattr__(embedding, "query", query)
    return embedding


def rank_tolerance(nystrom: Nystrom) -> float:
    """Return the share of the largest eigenvalue of a dictionary's K_D that is taken for zero."""
    return max(1e-3 * nystrom.cutoff, 1e-15)


def empty_embedding(arms: int, size: int) -> Embedding:
    """Embed in `size` Nystrom features that are zero: an empty dictionary, or one of zeros."""

    def query(points: Array) -> tuple[Array, Array | None]:
        return np.zeros((len(points), 1)), None

    return Embedding(np.zeros((arms, 1)), np.zeros((size, 1)), np.ones(size), query)
