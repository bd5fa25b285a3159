"""Covariance kernels k(x, x') on points of R^d, and a precomputed one on labeled arms.

Every kernel is a frozen description with two methods. `X` is (n, d), `Y` is (m, d), float64::

    matrix(X, Y)  -> (n, m)   k(x_i, y_j)
    diagonal(X)   -> (n,)     k(x_i, x_i)

Kernels add and multiply: `k1 + k2`, `k1 * k2`, `2.0 * k1`. The paper asks for `k(x, x) <= 1`
(section 2); a sum or a scaled kernel may break it, and the guarantee then says so.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import gammaln, kve

from tailproof._util import checks, linalg

Array = NDArray[np.float64]


@runtime_checkable
class Kernel(Protocol):
    """A covariance function k(x, x')."""

    def matrix(self, X: Array, Y: Array) -> Array:
        """Return k(x_i, y_j), shape (n, m)."""

    def diagonal(self, X: Array) -> Array:
        """Return k(x_i, x_i), shape (n,)."""


class _Arithmetic:
    """The operators that all kernels share."""

    def __add__(self: Kernel, other: Kernel) -> Sum:
        """Return the sum of two kernels."""
        return Sum(self, other)

    def __mul__(self: Kernel, other: Kernel | float) -> Product | Scaled:
        """Return the product of two kernels, or a scaled kernel."""
        return Product(self, other) if isinstance(other, Kernel) else Scaled(self, other)

    def __rmul__(self: Kernel, other: float) -> Scaled:
        """Return a scaled kernel."""
        return Scaled(self, other)


def _lengthscale(name: str, value: float | Sequence[float]) -> float | tuple[float, ...]:
    """Return one lengthscale, or one for each coordinate, or raise an error."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str | bytes):
        return checks.positive(name, value)
    if len(value) == 0:
        raise ValueError(f"`{name}` must hold at least one number, but got an empty sequence.")
    scales = checks.finite_array(name, value, ndim=1)
    return tuple(checks.positive(name, scale) for scale in scales.tolist())


def scaled_inputs(X: Array, lengthscale: float | tuple[float, ...]) -> Array:
    """Divide each column of a kernel's inputs `X` (n, d) by its lengthscale."""
    if isinstance(lengthscale, tuple) and len(lengthscale) != X.shape[1]:
        raise ValueError(
            f"`lengthscale` must have one entry or one a dimension, but got {len(lengthscale)} "
            f"for points of dimension {X.shape[1]}."
        )
    return X / np.asarray(lengthscale)


@dataclass(frozen=True)
class SquaredExponential(_Arithmetic):
    """k(x, x') = exp(-r^2 / 2), r the distance after dividing by the lengthscale (section 2).

    Parameters
    ----------
    lengthscale
        One number, or one a dimension, in the units of the points.

    Examples
    --------
    >>> k = SquaredExponential(lengthscale=0.2)
    >>> k.matrix(np.array([[0.0]]), np.array([[0.0], [0.2]])).round(4)
    array([[1.    , 0.6065]])
    """

    lengthscale: float | tuple[float, ...]

    def __post_init__(self) -> None:
        checks.fields(self, lengthscale=_lengthscale)

    def matrix(self, X: Array, Y: Array) -> Array:
        """Return k(x_i, y_j), shape (n, m)."""
        x, y = (scaled_inputs(points, self.lengthscale) for points in (X, Y))
        squared = cdist(x, y, "sqeuclidean")
        squared *= -0.5
        return np.exp(squared, out=squared)

    def diagonal(self, X: Array) -> Array:
        """Return ones, shape (n,)."""
        return np.ones(len(X))


@dataclass(frozen=True)
class Matern(_Arithmetic):
    """Matern kernel (section 2), with z = sqrt(2 nu) r and r the scaled distance.

    k = 2^(1 - nu) / Gamma(nu) z^nu K_nu(z), K_nu the modified Bessel function; closed forms
    for nu = 1/2, 3/2 and 5/2.

    Parameters
    ----------
    nu
        Smoothness, positive.
    lengthscale
        One number, or one a dimension, in the units of the points.

    Examples
    --------
    >>> k = Matern(nu=2.5, lengthscale=0.2)
    >>> k.matrix(np.array([[0.0]]), np.array([[0.0], [0.2]])).round(4)
    array([[1.   , 0.524]])
    """

    nu: float
    lengthscale: float | tuple[float, ...]

    def __post_init__(self) -> None:
        checks.fields(self, nu=checks.positive, lengthscale=_lengthscale)

    def matrix(self, X: Array, Y: Array) -> Array:
        """Return k(x_i, y_j), shape (n, m)."""
        x, y = (scaled_inputs(points, self.lengthscale) for points in (X, Y))
        return matern_of_distance(cdist(x, y), self.nu)

    def diagonal(self, X: Array) -> Array:
        """Return ones, shape (n,)."""
        return np.ones(len(X))


def matern_of_distance(r: Array, nu: float) -> Array:
    """Matern correlation at scaled distances `r >= 0` of any shape."""
    # Beyond this distance every Matern kernel is zero; infinities would turn into NaN.
    z = math.sqrt(2.0 * nu) * np.minimum(r, 1e12)
    if nu == 0.5:
        return np.exp(-z)
    if nu == 1.5:
        return (1.0 + z) * np.exp(-z)
    if nu == 2.5:
        return (1.0 + z + z * z / 3.0) * np.exp(-z)
    if nu > LARGE_ORDER:
        return np.exp(_log_smooth_matern(z, nu))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_bessel = np.log(kve(nu, z)) - z
        k = np.exp((1.0 - nu) * math.log(2.0) - gammaln(nu) + nu * np.log(z) + log_bessel)
        # K_nu overflows as z -> 0, where the first Taylor term is exact to rounding.
        near = ~np.isfinite(log_bessel) & (z < 1.0)
        taylor = 1.0 - z**2 / (4.0 * (nu - 1.0)) if nu > 1.0 else np.ones_like(z)
    k = np.where(near, taylor, k)
    return np.clip(np.nan_to_num(k, nan=0.0), 0.0, 1.0)


# Above this order scipy's K_nu overflows at distances that matter; the expansion below is good
# to about 1e-10 there.
LARGE_ORDER = 50.0


def _log_smooth_matern(z: Array, nu: float) -> Array:
    """ln k of a Matern kernel, k(0) = 1, for large nu: the uniform expansion (DLMF 10.41.4).

    The large terms cancel by hand: nu (ln(1 + h/2) - h) with h = sqrt(1 + z^2/nu^2) - 1.
    """
    x2 = (z / nu) ** 2
    root = np.sqrt(1.0 + x2)
    h = x2 / (1.0 + root)
    series = _bessel_series(1.0 / root, nu) - _bessel_series(np.ones(1), nu)
    return nu * (np.log1p(h / 2.0) - h) - 0.5 * np.log(root) + series


def _bessel_series(p: Array, nu: float) -> Array:
    """ln(1 - u_1/nu + u_2/nu^2 - u_3/nu^3 + u_4/nu^4) of a Matern kernel, u_k of DLMF 10.41.10."""
    q = p * p
    u1 = p * (3.0 - 5.0 * q) / 24.0
    u2 = q * (81.0 - q * (462.0 - 385.0 * q)) / 1152.0
    u3 = p * q * (30375.0 - q * (369603.0 - q * (765765.0 - 425425.0 * q))) / 414720.0
    last = 349922430.0 - q * (446185740.0 - 185910725.0 * q)
    u4 = q * q * (4465125.0 - q * (94121676.0 - q * last)) / 39813120.0
    return np.log1p(-u1 / nu + u2 / nu**2 - u3 / nu**3 + u4 / nu**4)


@dataclass(frozen=True)
class Linear(_Arithmetic):
    """k(x, x') = variance * x . x', the kernel of linear bandits (Remark 7).

    Examples
    --------
    >>> Linear().matrix(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    variance: float = 1.0

    def __post_init__(self) -> None:
        checks.fields(self, variance=checks.positive)

    def matrix(self, X: Array, Y: Array) -> Array:
        """Return k(x_i, y_j), shape (n, m)."""
        return self.variance * (X @ Y.T)

    def diagonal(self, X: Array) -> Array:
        """Return variance * |x_i|^2, shape (n,)."""
        return self.variance * np.einsum("ij,ij->i", X, X)


@dataclass(frozen=True, eq=False)
class Precomputed(_Arithmetic):
    """A kernel matrix over labeled arms: entry (i, j) is k(arm i, arm j).

    Points are arm numbers 0 .. n-1 in a column, as `Finite(labels)` supplies them.

    Parameters
    ----------
    gram
        (n, n), symmetric positive semi-definite. Eigenvalues down to -1e-8 times the largest
        entry pass for rounding and are set to zero.

    Examples
    --------
    >>> k = Precomputed([[1.0, 0.5], [0.5, 1.0]])
    >>> k.matrix(np.array([[1.0]]), np.array([[0.0], [1.0]]))
    array([[0.5, 1. ]])
    """

    gram: Array

    def __post_init__(self) -> None:
        gram = checks.finite_array("gram", self.gram, ndim=2)
        if gram.shape[0] != gram.shape[1] or gram.shape[0] == 0:
            raise ValueError(f"`gram` must be square and not empty, but got shape {gram.shape}.")
        scale = float(np.abs(gram).max())
        asymmetry = linalg.asymmetry(gram)
        if asymmetry > 1e-10 * scale:
            raise ValueError(
                f"`gram` must be symmetric, but got |gram - gram.T| up to {asymmetry:g}."
            )
        if asymmetry > 0.0:
            gram = (gram + gram.T) / 2.0
        if not linalg.is_surely_definite(gram, scale):
            gram = linalg.nearest_semidefinite(gram, scale)
        gram.flags.writeable = False
        object.__setattr__(self, "gram", gram)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Precomputed) and np.array_equal(self.gram, other.gram)

    def __hash__(self) -> int:
        return hash((self.gram.shape, self.gram.tobytes()))

    def matrix(self, X: Array, Y: Array) -> Array:
        """Return gram[x_i, y_j], shape (n, m)."""
        return self.gram[np.ix_(self._arms(X), self._arms(Y))]

    def diagonal(self, X: Array) -> Array:
        """Return gram[x_i, x_i], shape (n,)."""
        return np.diagonal(self.gram)[self._arms(X)]

    def _arms(self, X: Array) -> NDArray[np.intp]:
        """Return the arm numbers that points of a precomputed kernel are."""
        n, first = len(self.gram), X[:, 0]
        valid = (first >= 0) & (first < n) & (first == np.floor(first)) & (X.shape[1] == 1)
        if not valid.all():
            raise ValueError(
                f"`points` of a Precomputed kernel must be arm numbers 0 .. {n - 1} in one column, "
                f"but got {X[np.argmin(valid)].tolist()}; use Finite(labels)."
            )
        return first.astype(np.intp)


def _kernel(name: str, value: Kernel) -> Kernel:
    """Return a kernel that is part of another one, or raise an error."""
    checks.instance(name, value, Kernel, "a kernel such as SquaredExponential(0.2)")
    return value


@dataclass(frozen=True)
class _Pair(_Arithmetic):
    """Two kernels combined entry by entry."""

    left: Kernel
    right: Kernel
    _combine: ClassVar[Callable[[Array, Array], Array]]

    def __post_init__(self) -> None:
        """Check that both are kernels."""
        checks.fields(self, left=_kernel, right=_kernel)

    def matrix(self, X: Array, Y: Array) -> Array:
        """Return k(x_i, y_j), shape (n, m)."""
        return type(self)._combine(self.left.matrix(X, Y), self.right.matrix(X, Y))

    def diagonal(self, X: Array) -> Array:
        """Return k(x_i, x_i), shape (n,)."""
        return type(self)._combine(self.left.diagonal(X), self.right.diagonal(X))


class Sum(_Pair):
    """k(x, x') = left(x, x') + right(x, x').

    Examples
    --------
    >>> (SquaredExponential(1.0) + Linear()).diagonal(np.array([[2.0]]))
    array([5.])
    """

    _combine = operator.add


class Product(_Pair):
    """k(x, x') = left(x, x') * right(x, x').

    Examples
    --------
    >>> (SquaredExponential(1.0) * Linear()).diagonal(np.array([[2.0]]))
    array([4.])
    """

    _combine = operator.mul


@dataclass(frozen=True)
class Scaled(_Arithmetic):
    """k(x, x') = factor * base(x, x'), factor positive.

    Examples
    --------
    >>> (0.5 * SquaredExponential(1.0)).diagonal(np.zeros((2, 1)))
    array([0.5, 0.5])
    """

    base: Kernel
    factor: float

    def __post_init__(self) -> None:
        """Check the kernel and its factor."""
        checks.fields(self, base=_kernel, factor=checks.positive)

    def matrix(self, X: Array, Y: Array) -> Array:
        """Return k(x_i, y_j), shape (n, m)."""
        return self.factor * self.base.matrix(X, Y)

    def diagonal(self, X: Array) -> Array:
        """Return k(x_i, x_i), shape (n,)."""
        return self.factor * self.base.diagonal(X)


def _columns(name: str, value: int | Sequence[int]) -> tuple[int, ...]:
    """Return the input columns that a kernel looks at, distinct."""
    columns = tuple(value) if isinstance(value, Sequence | np.ndarray) else (value,)
    result = tuple(checks.integer(name, column, low=0) for column in columns)
    if not result or len(set(result)) < len(result):
        raise ValueError(f"`{name}` must be distinct and at least one, but got {value!r}.")
    return result


@dataclass(frozen=True)
class Columns(_Arithmetic):
    """k(x, x') = base(x_c, x'_c) on some coordinates c of the points.

    Sums of such kernels are additive models, products of them kernels of product form.

    Parameters
    ----------
    base
        A kernel on points with as many coordinates as `columns`.
    columns
        Numbers of the coordinates, from 0; one or several.

    Examples
    --------
    >>> k = 0.5 * Columns(SquaredExponential(0.2), 0) + 0.5 * Columns(Matern(1.5, 0.2), 1)
    >>> k.matrix(np.zeros((1, 2)), np.array([[0.2, 0.0], [0.2, 9.0]])).round(3)
    array([[0.803, 0.303]])
    """

    base: Kernel
    columns: tuple[int, ...] | int

    def __post_init__(self) -> None:
        """Check the kernel and the columns that it looks at."""
        checks.fields(self, base=_kernel, columns=_columns)

    def matrix(self, X: Array, Y: Array) -> Array:
        """Return k(x_i, y_j), shape (n, m)."""
        return self.base.matrix(self.chosen(X), self.chosen(Y))

    def diagonal(self, X: Array) -> Array:
        """Return k(x_i, x_i), shape (n,)."""
        return self.base.diagonal(self.chosen(X))

    def chosen(self, X: Array) -> Array:
        """Return the kernel's columns of points (n, d)."""
        assert isinstance(self.columns, tuple)
        if max(self.columns) >= X.shape[1]:
            raise ValueError(
                f"`columns` must be below the points' dimension {X.shape[1]}, but got "
                f"columns={self.columns}."
            )
        return X[:, list(self.columns)]
