"""The symmetric inverse root A^(-1/2) applied to few vectors, without eigenvectors.

    A^(-1/2) = (2 / pi) int_0^inf (A + s^2)^(-1) ds

With s = low^(1/2) sc(u, k'), where k^2 = low / high bounds the spectrum, the integrand is smooth
and periodic in u, so the midpoint rule converges geometrically (Hale, Higham and Trefethen, SIAM
J. Numer. Anal. 46, 2008). After one reduction of A to tridiagonal form each node costs O(m) a
vector: together a fraction of an eigendecomposition.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.special import ellipj, ellipkm1

from tailproof._compiled.tridiagonal import shifted_inverse_sum

Array = NDArray[np.float64]


class InverseRoot:
    """A^(-1/2) of a symmetric positive definite matrix, to be multiplied by a few vectors.

    Parameters
    ----------
    matrix
        A (m, m).
    low
        A lower bound on the eigenvalues, positive; a looser one costs a few more nodes.

    Examples
    --------
    >>> A = np.array([[2.0, 1.0], [1.0, 2.0]])  # eigenvalues 1 and 3
    >>> root = InverseRoot(A, low=0.5)
    >>> bool(np.allclose(root.times(root.times(np.eye(2))), np.linalg.inv(A), atol=1e-14))
    True
    """

    def __init__(self, matrix: Array, low: float) -> None:
        m = len(matrix)
        # The transpose, which is the same matrix, spares a copy in another order.
        reduced, self._diagonal, self._below, tau, _ = lapack.dsytrd(
            matrix.T, lower=1, lwork=32 * m
        )
        # The reflectors leave the first coordinate as it is.
        self._reflectors, self._tau = np.asfortranarray(reduced[1:, :-1]), tau
        self._shifts, self._weights = _nodes(low, max(float(self._diagonal.sum()), low))

    def times(self, vectors: Array) -> Array:
        """Return A^(-1/2) B, (m, c), for the columns B (m, c)."""
        rotated = self._reflect(vectors, "T")
        solved = shifted_inverse_sum(
            self._diagonal, self._below, self._shifts, self._weights, rotated
        )
        return self._reflect(solved, "N")

    def _reflect(self, vectors: Array, transposed: str) -> Array:
        """Apply the Householder reflections of the tridiagonal form to columns (m, c)."""
        if len(vectors) == 1:
            return vectors
        work = 64 * max(vectors.shape[1], 1)
        moved, _, _ = lapack.dormqr(
            "L", transposed, self._reflectors, self._tau, vectors[1:], lwork=work
        )
        return np.concatenate([vectors[:1], moved])


def _nodes(low: float, high: float) -> tuple[Array, Array]:
    """Return shifts s^2 and weights w, sum w / (x + s^2) = x^(-1/2) on low <= x <= high."""
    # Nodes up to the next power of two are found once, for many matrices.
    shifts, weights = _unit_nodes(max(math.ceil(math.log2(high / low)), 0))
    return low * shifts, math.sqrt(low) * weights


@functools.lru_cache(maxsize=128)
def _unit_nodes(octaves: int) -> tuple[Array, Array]:
    """Return the inverse root's shifts and weights for 1 <= x <= 2^octaves, not to be written to.

    The error of n nodes is about exp(-2 pi^2 n / (ln(high / low) + 3)), relative.
    """
    parameter = 1.0 - max(2.0**-octaves, 1e-15)  # k'^2
    ratio = 1.0 - parameter  # as `parameter` has it, so that all that follows fits together
    half = math.ceil(0.9 * (3.0 - math.log(ratio)))
    period = float(ellipkm1(ratio))  # K(k')
    u = (np.arange(half) + 0.5) * period / (2 * half)
    sn, cn, dn, _ = ellipj(u, parameter)
    s, slope = sn / cn, dn / (cn * cn)
    # The upper half by sc(K' - u) = 1 / (k sc(u)), where sc(u) itself loses digits.
    k = math.sqrt(ratio)
    s, slope = np.append(s, 1.0 / (k * s)), np.append(slope, slope / (k * s * s))
    step = period / (2 * half)
    return s * s, (2.0 / math.pi) * step * slope
