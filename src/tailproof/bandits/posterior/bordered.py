"""Algorithm 3 for a dictionary D that holds nearly all of the arms R played so far.

Dictionaries of one round and of the next differ in many arms, but all of them are within R, which
rarely changes. In the coordinates C = L^(-1) k_R(x), K_R = L L^T, of the features of R those of D
are a projection: f = C^T theta is in the span of D if its weights L^(-T) theta are zero at R \\ D. So

    H_D^(-1) = F (F^T H F)^(-1) F^T,    F an orthonormal basis of the complement of L^(-1) e_k, k in R \\ D,
    H = C^T N C + ridge

follows from an eigendecomposition of H by one border column for each arm left out, and by one for
each arm told since (`_compiled.bordered`): no factorization of size |D| in a round. The directions
of Algorithm 2 need H_D^(-1/2) and K_D^(-1/2) times few vectors, by the same borders under the
integral of `inverse_root`.
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

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
# Relative error of the quadrature of what a border takes away from an inverse root.
CORRECTION_ACCURACY = 1e-13


class BorderedInverseRoot:
    """B -> F (F^T M F)^(-1/2) F^T B, M = A + sum z_i z_i^T / J_i, from the eigenvectors of A.

    F is an orthonormal basis of the complement of the columns z_i with J_i = 0.

    Parameters
    ----------
    values, vectors
        Eigenvalues of A (r,), ascending and positive, and eigenvectors in rows (r, r).
    border
        The columns z_i in the basis of the eigenvectors, as rows (q, r).
    noise
        J (q,), not negative.

    Examples
    --------
    >>> A = np.diag([1.0, 4.0, 9.0])
    >>> first = np.array([[1.0, 0.0, 0.0]])
    >>> root = BorderedInverseRoot(np.diag(A), np.eye(3), first, np.zeros(1))
    >>> np.abs(root.times(np.ones((1, 3)))).round(6)
    array([[0.      , 0.5     , 0.333333]])
    """

    def __init__(self, values: Array, vectors: Array, border: Array, noise: Array) -> None:
        told = noise > 0.0
        added = np.einsum("ij,ij->i", border[told], border[told]) / noise[told]
        low, high = float(values[0]), float(values[-1] + added.sum())
        shifts, self._weights = quadrature_nodes(low, high, CORRECTION_ACCURACY)
        self._roots, self._vectors, self._border = 1.0 / np.sqrt(values), vectors, border
        if len(border):
            self._inverses = compiled.shifted_inverses(values, shifts)
            self._factor = compiled.factor_border(self._inverses, border, noise)

    def times(self, columns: Array) -> Array:
        """Return the inverse root times columns, which are the rows of `columns` (k, r), as rows."""
        rotated = columns @ self._vectors.T
        # A^(-1/2) itself is exact; the integral gives only what the border takes away.
        result = rotated * self._roots
        if len(self._border):
            arrays = (self._inverses, self._border, self._factor, self._weights)
            result -= compiled.border_correction(*arrays, rotated)
        product: Array = result @ self._vectors
        return product


@dataclass(frozen=True, eq=False)
class Reference:
    """The features of all arms played, and what follows from them alone.

    With K_R = L L^T: `gram` K_R, `factor` L, `inverse` L^(-1), all (m, m).
    """

    arms: Indices  # R, (m,), ascending
    embedding: Embedding  # coordinates C (n, m)
    gram: Array
    factor: Array
    inverse: Array

    @functools.cached_property
    def eigensystem(self) -> tuple[Array, Array]:
        """Eigenvalues of K_R (m,) and its eigenvectors in rows (m, m)."""
        values, vectors = np.linalg.eigh(self.gram)
        return values, np.ascontiguousarray(vectors.T)

    @functools.cached_property
    def precision(self) -> Array:
        """K_R^(-1), (m, m)."""
        result: Array = self.inverse.T @ self.inverse
        return result

    @functools.cached_property
    def rotation(self) -> Array:
        """K_R^(-1/2) L, (m, m), which turns coordinates into the features of R."""
        values, vectors = self.eigensystem
        result: Array = (vectors.T / np.sqrt(values)) @ (vectors @ self.factor)
        return result

    def gram_root(self, left_out: Indices) -> BorderedInverseRoot:
        """Return K_D^(-1/2), D being R without some positions (q,), in rows and columns of R."""
        values, vectors = self.eigensystem
        border = np.ascontiguousarray(vectors[:, left_out].T)
        return BorderedInverseRoot(values, vectors, border, np.zeros(len(left_out)))


@dataclass(frozen=True, eq=False)
class Eigensystem:
    """H = C^T N C + ridge of some counts N, for the features of R."""

    values: Array  # (m,), ascending
    vectors: Array  # in rows, (m, m)
    leverage: Array  # c_j^T H^(-1) c_j, (n,)
    log_det: float  # ln |H|


class BorderedSystem:
    """H_D of a dictionary that lacks few arms of R, some payoffs after an eigendecomposition.

    Parameters
    ----------
    reference, system
        R, and the eigendecomposition of H.
    left_out
        Positions in R of the arms that the dictionary lacks, (q,).
    told, counts
        Numbers of the arms told since the eigendecomposition, (k,), and how often, (k,).
    """

    def __init__(
        self,
        reference: Reference,
        system: Eigensystem,
        left_out: Indices,
        told: Indices,
        counts: Array,
    ) -> None:
        self._reference, self._system, self._left_out = reference, system, left_out
        self._inside = np.ones(len(reference.arms), dtype=np.bool_)
        self._inside[left_out] = False
        coordinates = reference.embedding.coordinates
        columns = np.concatenate([reference.inverse[:, left_out], coordinates[told].T], axis=1)
        self._border = np.ascontiguousarray((system.vectors @ columns).T)
        self._noise = np.concatenate([np.zeros(len(left_out)), 1.0 / counts])
        rows, self._log_det = compiled.border_rows(system.values, self._border, self._noise)
        self._rows = rows @ system.vectors  # H_D^(-1) = H^(-1) - rows^T rows
        projected = coordinates @ self._rows.T
        self.leverage = system.leverage - np.einsum("ij,ij->i", projected, projected)

    @functools.cached_property
    def _left_out_factor(self) -> Array:
        """Return the lower Cholesky factor of K_R^(-1) at the arms left out, (q, q)."""
        positions = self._left_out
        factor, _ = lapack.dpotrf(self._reference.precision[positions][:, positions], lower=1)
        return factor

    def log_det(self, size: int, ridge: float) -> float:
        """Return ln |H_D / ridge| for a dictionary of `size` arms."""
        whole = self._system.log_det + self._log_det
        whole -= float(np.log(self._noise[len(self._left_out) :]).sum())
        if len(self._left_out):
            whole -= 2.0 * float(np.log(self._left_out_factor.diagonal()).sum())
        return whole - size * math.log(ridge)

    def outside(self, coordinates: Array) -> Array:
        """Return the part of coordinates (k, m) outside the span of D, in a basis, (k, q)."""
        weights = coordinates @ self._reference.inverse[:, self._left_out]
        if weights.size == 0:
            return weights
        result: Array = blas.dtrsm(1.0, self._left_out_factor, weights.T, lower=1).T
        return result

    def squared_norms(self, coordinates: Array) -> Array:
        """Return |phi(x)|^2 of the features of D for coordinates (k, m)."""
        whole: Array = np.einsum("ij,ij->i", coordinates, coordinates)
        if len(self._left_out):
            outside = self.outside(coordinates)
            whole -= np.einsum("ij,ij->i", outside, outside)
        return whole

    def leverages(self, coordinates: Array) -> Array:
        """Return c^T H_D^(-1) c for coordinates (k, m)."""
        return np.einsum("ij,ji->i", coordinates, self.solve(coordinates.T))

    def solve(self, columns: Array) -> Array:
        """Return H_D^(-1) B for the columns B (m, c) or (m,)."""
        values, vectors = self._system.values, self._system.vectors
        rotated = vectors @ columns
        scaled = rotated / (values if columns.ndim == 1 else values[:, None])
        result: Array = vectors.T @ scaled - self._rows.T @ (self._rows @ columns)
        return result

    def features_of(self, coordinates: Array) -> Array:
        """Return the rows u of Algorithm 2, K_D^(-1/2) L H_D^(-1/2) c for coordinates c (k, m).

        Shape (k, |D|), in the order of the arms.
        """
        halves = self._root.times(coordinates)
        if len(self._left_out) == 0:
            return halves @ self._reference.rotation.T
        features = self._gram_root.times(halves @ self._reference.factor.T)
        result: Array = features[:, self._inside]
        return result

    def coordinates_of(self, sums: Array) -> Array:
        """Return V^(-1/2) r in the coordinates of R, (m,), for sums r (|D|,) in the features of D."""
        features = np.zeros((1, len(self._reference.arms)))
        features[0, self._inside] = sums
        if len(self._left_out) == 0:
            halves = features @ self._reference.rotation
        else:
            halves = self._gram_root.times(features) @ self._reference.factor
        return self._root.times(halves)[0]

    @functools.cached_property
    def _root(self) -> BorderedInverseRoot:
        """H_D^(-1/2), (m, m)."""
        system = self._system
        return BorderedInverseRoot(system.values, system.vectors, self._border, self._noise)

    @functools.cached_property
    def _gram_root(self) -> BorderedInverseRoot:
        """K_D^(-1/2) in rows and columns of R, zero where D has no arm."""
        return self._reference.gram_root(self._left_out)
