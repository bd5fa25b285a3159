"""Random functions of an RKHS, f = scale * sum_i a_i k(., x_i) (section 6, synthetic data)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tailproof._util import checks
from tailproof.environments._laws import Array, generator
from tailproof.kernels import Kernel

Support = Literal["arms", "cube"]


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
        checks.instance("kernel", self.kernel, Kernel, "a kernel")
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
        values = self(points)
        if values.size == 0:
            raise ValueError("`points` must hold at least one point, but got none.")
        return float(np.abs(values).max())

    def scaled_to_unit_max(self, points: ArrayLike) -> RKHSFunction:
        """Return f / max |f|, the maximum over `points` (n, d)."""
        factor = _inverse("max |f|", self.max_abs(points))
        return RKHSFunction(self.kernel, self.support, self.coefficients, self.scale * factor)

    def scaled_to_unit_range(self, points: ArrayLike) -> ShiftedFunction:
        """Return (f - min f) / (max f - min f), which is in [0, 1] over `points` (n, d)."""
        values = self(points)
        factor = _inverse("max f - min f", float(np.ptp(values)))
        scaled = RKHSFunction(self.kernel, self.support, self.coefficients, self.scale * factor)
        return ShiftedFunction(scaled, -factor * float(values.min()))


def _inverse(name: str, size: float) -> float:
    if size <= 0.0:
        raise ValueError(f"`{name} > 0` must hold over `points`, but got {size:g}.")
    return 1.0 / size


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


def sample_rkhs_function(
    kernel: Kernel,
    arms: ArrayLike,
    rng: np.random.Generator,
    *,
    support: Support = "arms",
    terms: int = 100,
    coefficients: tuple[float, float] = (-1.0, 1.0),
) -> RKHSFunction:
    """Draw a random function of the kernel's RKHS.

    The paper draws 100 support points from the arms, coefficients uniform on [-1, 1] (on [0, 1]
    for Pareto payoffs), and does not normalize; the authors' runs draw the support from the unit
    cube and divide by max |f| over the arms (`RKHSFunction.scaled_to_unit_max`).

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

    Examples
    --------
    >>> from tailproof.kernels import SquaredExponential
    >>> arms = np.linspace(0.01, 1.0, 100)[:, None]
    >>> rng = np.random.default_rng(0)
    >>> f = sample_rkhs_function(SquaredExponential(0.2), arms, rng)
    >>> round(f.scaled_to_unit_max(arms).max_abs(arms), 9)
    1.0
    """
    x = checks.finite_array("arms", arms, ndim=2)
    if len(x) == 0:
        raise ValueError("`arms` must hold at least one arm, but got none.")
    checks.choice("support", support, ("arms", "cube"))
    rng, terms = generator(rng), checks.integer("terms", terms, low=1)
    low, high = _coefficient_range(coefficients)
    on_arms = support == "arms"
    points = x[rng.integers(len(x), size=terms)] if on_arms else rng.random((terms, x.shape[1]))
    return RKHSFunction(kernel, points, rng.uniform(low, high, terms))


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
