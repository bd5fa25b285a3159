"""Algorithm 3 for a dictionary D that holds nearly all of the arms R played so far.

Dictionaries of one round and of the next differ in many arms, but all of them lie within R, which
rarely changes. In the coordinates c(x) = L^(-1) k_R(x), K_R = L L^T, of the features of R those of
D are a projection: f(x) = c(x)^T theta is in the span of D if its weights L^(-T) theta are zero at
the arms left out, R without D. So with an orthonormal basis F of what is orthogonal to the columns
L^(-1) e_k of these arms,

    H_D^(-1) = F (F^T H F)^(-1) F^T,    H = C^T N C + ridge,

follows from an eigendecomposition of H by one border column for each arm left out, and by one for
each arm told since (`_compiled.bordered`): a round needs no factorization of size |D|. The
directions of Algorithm 2 take H_D^(-1/2) and K_D^(-1/2) times few vectors: the same borders under
the integral of `inverse_root`.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from tailproof._compiled import bordered as compiled
from tailproof.bandits.features import Embedding
from tailproof.bandits.inverse_root import quadrature_nodes
from tailproof.bandits.posterior.base import eigh_above

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
# Relative error of the quadrature of what a border takes away from an inverse root.
CORRECTION_ACCURACY = 1e-13


class BorderedInverseRoot:
    """F (F^T M F)^(-1/2) F^T, M = diag(values) + sum z_i z_i^T / J_i, to multiply few vectors.

    F is an orthonormal basis of what is orthogonal to the columns z_i with J_i = 0.

    Parameters
    ----------
    values
        (r,), ascending and positive.
    border
        The columns z_i, as rows (q, r).
    noise
        J (q,), not negative.

    Examples
    --------
    >>> first = np.array([[1.0, 0.0, 0.0]])
    >>> root = BorderedInverseRoot(np.array([1.0, 4.0, 9.0]), first, np.zeros(1))
    >>> np.abs(root.times(np.ones((1, 3)))).round(6)
    array([[0.      , 0.5     , 0.333333]])
    """

    def __init__(self, values: Array, border: Array, noise: Array) -> None:
        self._roots, self._border = 1.0 / np.sqrt(values), border
        if len(border):
            told = noise > 0.0
            added = float((np.einsum("ij,ij->i", border, border)[told] / noise[told]).sum())
            bounds = float(values[0]), float(values[-1]) + added
            shifts, self._weights = quadrature_nodes(*bounds, CORRECTION_ACCURACY)
            self._inverses = compiled.shifted_inverses(values, shifts)
            self._factor = compiled.factor_border(self._inverses, border, noise)

    def times(self, vectors: Array) -> Array:
        """Return the inverse root times vectors, which are rows (k, r) as the results."""
        # diag(values)^(-1/2) is exact; the integral gives only what the border takes away.
        result: Array = vectors * self._roots
        if len(self._border):
            arrays = (self._inverses, self._border, self._factor, self._weights)
            result -= compiled.border_correction(*arrays, vectors)
        return result


@dataclass(frozen=True, eq=False)
class Reference:
    """The features of all arms played: K_R = L L^T and what follows from it alone."""

    arms: Indices  # R, (m,), ascending
    embedding: Embedding  # coordinates C (n, m)
    gram: Array  # K_R (m, m)
    factor: Array  # L (m, m)
    inverse: Array  # L^(-1) (m, m)

    @functools.cached_property
    def gram_eigensystem(self) -> tuple[Array, Array]:
        """Eigenvalues of K_R (m,) and its eigenvectors in rows (m, m)."""
        values, vectors = np.linalg.eigh(self.gram)
        return values, np.ascontiguousarray(vectors.T)

    @functools.cached_property
    def gram_border(self) -> Array:
        """The unit vectors of R in the basis of these eigenvectors, as rows (m, m)."""
        return np.ascontiguousarray(self.gram_eigensystem[1].T)

    @functools.cached_property
    def precision(self) -> Array:
        """K_R^(-1), (m, m)."""
        result: Array = self.inverse.T @ self.inverse
        return result

    @functools.cached_property
    def weights(self) -> Array:
        """K_R^(-1) k_R(x) of all arms, (n, m): those of R are unit vectors."""
        result: Array = self.embedding.coordinates @ self.inverse
        return result


class Eigensystem:
    """H = C^T N C + ridge of the features of R; the basis of its eigenvectors is used throughout.

    Parameters
    ----------
    reference
        The features of R.
    gram
        C^T N C (m, m) for the counts N of some round.
    ridge
        Added to its diagonal.
    """

    def __init__(self, reference: Reference, gram: Array, ridge: float) -> None:
        self.reference = reference
        self.values, columns = eigh_above(gram, ridge)  # (m,) ascending, (m, m)
        self.columns = columns
        self.log_det = float(np.log(self.values).sum())  # ln |H|
        self.coordinates = reference.embedding.coordinates @ columns  # of all arms, (n, m)
        self.leverage = np.einsum(
            "ij,ij,j->i", self.coordinates, self.coordinates, 1.0 / self.values
        )
        # L^(-1) e_k for the arms k of R, as rows (m, m).
        self.constraints = np.ascontiguousarray(reference.inverse.T @ columns)
        # Coordinates to K_R's eigenvectors: those of L c, (m, m).
        self.to_gram = columns.T @ (reference.factor.T @ reference.gram_border)


class BorderedSystem:
    """H_D of a dictionary D that lacks few arms of R, some payoffs after an eigendecomposition.

    Parameters
    ----------
    system
        The eigendecomposition of H.
    left_out
        Positions in R of the arms that D lacks, (q,).
    told, counts
        Numbers of the arms told since the eigendecomposition, (k,), and how often, (k,).
    """

    def __init__(
        self, system: Eigensystem, left_out: Indices, told: Indices, counts: Array
    ) -> None:
        self._system, self._left_out = system, left_out
        self._border = np.concatenate([system.constraints[left_out], system.coordinates[told]])
        self._noise = np.concatenate([np.zeros(len(left_out)), 1.0 / counts])
        # H_D^(-1) = H^(-1) - rows^T rows
        self._rows, self._log_det = compiled.border_rows(system.values, self._border, self._noise)
        projected = system.coordinates @ self._rows.T
        self.leverage = system.leverage - np.einsum("ij,ij->i", projected, projected)

    @functools.cached_property
    def _left_out_factor(self) -> Array:
        """Return the lower Cholesky factor of K_R^(-1) at the arms left out, (q, q)."""
        block = self._system.reference.precision[self._left_out[:, None], self._left_out]
        factor, _ = lapack.dpotrf(block.T, lower=1)
        return factor

    def log_det(self, size: int, ridge: float) -> float:
        """Return ln |H_D / ridge| for a dictionary of `size` arms."""
        whole = self._system.log_det + self._log_det
        whole -= float(np.log(self._noise[len(self._left_out) :]).sum())
        if len(self._left_out):
            whole -= 2.0 * float(np.log(self._left_out_factor.diagonal()).sum())
        return whole - size * math.log(ridge)

    def outside(self, weights: Array) -> Array:
        """Return the part of features outside the span of D, (k, q), of weights for R, (k, m)."""
        chosen = weights[:, self._left_out]
        if chosen.size == 0:
            return chosen
        result: Array = blas.dtrsm(1.0, self._left_out_factor, chosen.T, lower=1).T
        return result

    def rotated(self, coordinates: Array) -> Array:
        """Return coordinates (k, m) in the basis of the eigenvectors."""
        result: Array = coordinates @ self._system.columns
        return result

    def solve(self, vectors: Array) -> Array:
        """Return H_D^(-1) times vectors, which are rows (k, m) or one (m,), as the results."""
        result: Array = vectors / self._system.values - (vectors @ self._rows.T) @ self._rows
        return result

    def features_of(self, vectors: Array) -> Array:
        """Return the rows u of Algorithm 2, K_D^(-1/2) L H_D^(-1/2) c, for coordinates c (k, m).

        Shape (k, m), in the order of R; zero at the arms left out.
        """
        inside = self._gram_root.times(self._root.times(vectors) @ self._system.to_gram)
        result: Array = inside @ self._system.reference.gram_eigensystem[1]
        result[:, self._left_out] = 0.0
        return result

    def coordinates_of(self, sums: Array) -> Array:
        """Return V^(-1/2) r in coordinates, (m,), for sums r (m,) in the order of R."""
        inside = self._gram_root.times(sums[None] @ self._system.reference.gram_border)
        return self._root.times(inside @ self._system.to_gram.T)[0]

    @functools.cached_property
    def _root(self) -> BorderedInverseRoot:
        """H_D^(-1/2)."""
        return BorderedInverseRoot(self._system.values, self._border, self._noise)

    @functools.cached_property
    def _gram_root(self) -> BorderedInverseRoot:
        """K_D^(-1/2) in rows and columns of R, in the basis of K_R's eigenvectors."""
        reference = self._system.reference
        border = reference.gram_border[self._left_out]
        noise = np.zeros(len(border))
        return BorderedInverseRoot(reference.gram_eigensystem[0], border, noise)
