"""Random functions of an RKHS, f = scale * sum_i a_i k(., x_i) (section 6, synthetic data)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from tailproof._util import checks
from tailproof.environments._laws import Array, generator
from tailproof.kernels import Kernel

Support = Literal["arms", "cube"]


def _largest(function: Callable[[ArrayLike], Array], points: ArrayLike) -> float:
    values = function(points)
    if values.size == 0:
        raise ValueError("`points` must hold at least one point, but got none.")
    return float(np.abs(values).max())


@dataclass(frozen=True, eq=False)
class RKHSFunction:
    """f = scale * sum_i coefficients_i k(., support_i), an element of the RKHS of k.

    Parameters
    ----------
    kernel
        Any kernel with `matrix(X, Y)`.
    support
        The points x_i, (p, d).
    coefficients
        The weights a_i, (p,).
    scale
        A factor of the whole function, positive.

    Examples
    --------
    >>> from tailproof.kernels import SquaredExponential
    >>> f = RKHSFunction(SquaredExponential(0.2), [[0.5]], [2.0])
    >>> f([[0.5], [0.7]]).round(4), f.norm
    (array([2.    , 1.2131]), 2.0)
    """

    kernel: Kernel
    support: Array
    coefficients: Array
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"`kernel` must be a kernel, but got kernel={self.kernel!r}.")
        support = checks.finite_array("support", self.support, ndim=2)
        coefficients = checks.finite_array("coefficients", self.coefficients, ndim=1)
        if len(support) != len(coefficients) or len(support) == 0:
            raise ValueError(
                f"`support` and `coefficients` must have the same length above zero, "
                f"but got {len(support)} and {len(coefficients)}."
            )
        support.flags.writeable = False
        coefficients.flags.writeable = False
        object.__setattr__(self, "support", support)
        object.__setattr__(self, "coefficients", coefficients)
        checks.fields(self, scale=checks.positive)

    def __call__(self, points: ArrayLike) -> Array:
        """Return f at `points` (n, d), shape (n,)."""
        x = checks.finite_array("points", points, ndim=2)
        values: Array = self.scale * (self.kernel.matrix(x, self.support) @ self.coefficients)
        return values

    @property
    def norm(self) -> float:
        """The RKHS norm, scale * sqrt(a' K a) with K the kernel matrix of the support."""
        gram = self.kernel.matrix(self.support, self.support)
        squared = float(self.coefficients @ gram @ self.coefficients)
        return self.scale * math.sqrt(max(squared, 0.0))

    def max_abs(self, points: ArrayLike) -> float:
        """Return max |f| over `points` (n, d): the experiments' B, which is not the norm."""
        return _largest(self, points)


@dataclass(frozen=True)
class ShiftedFunction:
    """An RKHS function plus a constant, without a `norm`.

    A constant is no element of the squared-exponential kernel's RKHS, so there the sum has no
    norm at all; for kernels whose RKHS holds constants the norm is not that of the base.

    Examples
    --------
    >>> from tailproof.kernels import SquaredExponential
    >>> f = ShiftedFunction(RKHSFunction(SquaredExponential(0.2), [[0.5]], [2.0]), shift=1.0)
    >>> f([[0.5]])
    array([3.])
    """

    base: RKHSFunction
    shift: float

    def __post_init__(self) -> None:
        checks.fields(self, shift=checks.number)

    def __call__(self, points: ArrayLike) -> Array:
        """Return f at `points` (n, d), shape (n,)."""
        return self.base(points) + self.shift

    def max_abs(self, points: ArrayLike) -> float:
        """Return max |f| over `points` (n, d)."""
        return _largest(self, points)


@overload
def sample_rkhs_function(
    kernel: Kernel,
    arms: ArrayLike,
    rng: np.random.Generator,
    *,
    support: Support = ...,
    terms: int = ...,
    coefficients: tuple[float, float] = ...,
    normalize: Literal["none", "max_abs"] = ...,
) -> RKHSFunction: ...


@overload
def sample_rkhs_function(
    kernel: Kernel,
    arms: ArrayLike,
    rng: np.random.Generator,
    *,
    support: Support = ...,
    terms: int = ...,
    coefficients: tuple[float, float] = ...,
    normalize: Literal["unit_range"],
) -> ShiftedFunction: ...


def sample_rkhs_function(
    kernel: Kernel,
    arms: ArrayLike,
    rng: np.random.Generator,
    *,
    support: Support = "arms",
    terms: int = 100,
    coefficients: tuple[float, float] = (-1.0, 1.0),
    normalize: Literal["none", "max_abs", "unit_range"] = "none",
) -> RKHSFunction | ShiftedFunction:
    """Draw a random function of the kernel's RKHS.

    The paper draws 100 support points from the arms, coefficients uniform on [-1, 1] (on [0, 1]
    for Pareto payoffs), and does not normalize; the authors' runs draw the support from the unit
    cube and divide by max |f| over the arms.

    Parameters
    ----------
    kernel
        Any kernel with `matrix(X, Y)`.
    arms
        The arms, (n, d).
    rng
        Source of the support and the coefficients, in this order.
    support
        "arms": support points uniform among the arms, with replacement. "cube": uniform
        on [0, 1]^d.
    terms
        Number of support points.
    coefficients
        The ends (low, high) of the coefficients' uniform law.
    normalize
        "none"; "max_abs": divided by max |f| over the arms; "unit_range": mapped to [0, 1] over
        the arms (panel f), which adds a constant, so a `ShiftedFunction` without a norm comes
        back.

    Returns
    -------
    RKHSFunction or ShiftedFunction
        A callable on (n, d) points.

    Examples
    --------
    >>> from tailproof.kernels import SquaredExponential
    >>> arms = np.linspace(0.01, 1.0, 100)[:, None]
    >>> rng = np.random.default_rng(0)
    >>> f = sample_rkhs_function(SquaredExponential(0.2), arms, rng, normalize="max_abs")
    >>> round(f.max_abs(arms), 9)
    1.0
    """
    x = checks.finite_array("arms", arms, ndim=2)
    if len(x) == 0:
        raise ValueError("`arms` must hold at least one arm, but got none.")
    checks.choice("support", support, ("arms", "cube"))
    checks.choice("normalize", normalize, ("none", "max_abs", "unit_range"))
    rng, terms = generator(rng), checks.integer("terms", terms, low=1)
    low, high = _coefficient_range(coefficients)
    on_arms = support == "arms"
    points = x[rng.integers(len(x), size=terms)] if on_arms else rng.random((terms, x.shape[1]))
    weights = rng.uniform(low, high, terms)
    raw = RKHSFunction(kernel, points, weights)
    if normalize == "none":
        return raw
    values = raw(x)
    if normalize == "max_abs":
        return RKHSFunction(kernel, points, weights, _inverse(float(np.abs(values).max())))
    scale = _inverse(float(values.max() - values.min()))
    return ShiftedFunction(
        RKHSFunction(kernel, points, weights, scale), -scale * float(values.min())
    )


def _coefficient_range(coefficients: Any) -> tuple[float, float]:
    try:
        low, high = coefficients
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`coefficients` must be a pair (low, high), but got coefficients={coefficients!r}."
        ) from error
    low, high = checks.number("low", low), checks.number("high", high)
    if low >= high:
        raise ValueError(f"`low < high` must hold, but got coefficients={coefficients!r}.")
    return low, high


def _inverse(size: float) -> float:
    if size <= 0.0:
        raise ValueError(
            "`normalize` needs a function that is not zero (for 'unit_range': that varies) over "
            "the arms, but got one that is; a single arm has no range."
        )
    return 1.0 / size
