"""Random functions of an RKHS, f = scale * sum_i a_i k(., x_i) (section 6, synthetic data)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tailproof._util import checks
from tailproof.environments._laws import Array, law_generator
from tailproof.kernels import Kernel

Support = Literal["arms", "cube"]


@dataclass(frozen=True, eq=False)
class RKHSFunction:
    """f = scale * sum_i a_i k(., x_i), an element of the RKHS of k.

    `support` holds the points x_i, (p, d), `coefficients` the weights a_i, (p,).

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
        for name, array in (("support", support), ("coefficients", coefficients)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        checks.fields(self, scale=checks.positive)

    def __call__(self, points: ArrayLike) -> Array:
        """Return the RKHS function f at `points` (n, d), shape (n,)."""
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
        return self._scaled_down_by("max |f|", self.max_abs(points))

    def scaled_to_unit_range(self, points: ArrayLike) -> ShiftedFunction:
        """Return (f - min f) / (max f - min f), which is in [0, 1] over `points` (n, d)."""
        values = self(points)
        extent = float(np.ptp(values))
        return ShiftedFunction(
            self._scaled_down_by("max f - min f", extent), -(1.0 / extent) * float(values.min())
        )

    def _scaled_down_by(self, name: str, size: float) -> RKHSFunction:
        """Return the function divided by a size, which errors call `name`."""
        if size <= 0.0:
            raise ValueError(f"`{name} > 0` must hold over `points`, but got {size:g}.")
        return replace(self, scale=self.scale * (1.0 / size))


@dataclass(frozen=True)
class ShiftedFunction:
    """An RKHS function plus a constant.

    It has no `norm`: a constant is no element of the squared-exponential kernel's RKHS.
    """

    base: RKHSFunction
    shift: float

    def __call__(self, points: ArrayLike) -> Array:
        """Return the shifted function f at `points` (n, d), shape (n,)."""
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
    arms, rng
        The arms, (n, d); the source of the support and the coefficients, in this order.
    support, terms
        `terms` points, uniform among the arms with replacement ("arms") or on [0, 1]^d ("cube").
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
    rng, terms = law_generator(rng), checks.integer("terms", terms, low=1)
    ends = checks.finite_array("coefficients", coefficients, ndim=1)
    if ends.size != 2 or ends[0] >= ends[1]:
        raise ValueError(
            "`coefficients` must be a pair (low, high) with low < high, but got "
            f"coefficients={coefficients!r}."
        )
    on_arms = support == "arms"
    points = x[rng.integers(len(x), size=terms)] if on_arms else rng.random((terms, x.shape[1]))
    return RKHSFunction(kernel, points, rng.uniform(ends[0], ends[1], terms))
