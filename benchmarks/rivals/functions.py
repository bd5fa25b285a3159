"""Standard test functions with their sign turned, to be maximized.

Each takes points (n, d) in its usual coordinates and returns (n,). `Landscape` adds what is known
of it: its box, its maximum, a lower bound, and its 5 % quantile over the box, from which the
comparison takes its unit (`unit`). tests/benchmarks/rivals/test_problems.py checks the constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rivals.domains import Axis, Box

Array = NDArray[np.float64]


def branin(x: Array) -> Array:
    """Three equal maxima of -5/(4 pi), on [-5, 10] x [0, 15]."""
    a, b = x[:, 0], x[:, 1]
    valley = b - 5.1 / (4.0 * math.pi**2) * a**2 + 5.0 / math.pi * a - 6.0
    return -(valley**2 + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * np.cos(a) + 10.0)


_HARTMANN_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN_CURVATURES = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
_HARTMANN_CENTERS = 1e-4 * np.array(
    [
        [1312.0, 1696.0, 5569.0, 124.0, 8283.0, 5886.0],
        [2329.0, 4135.0, 8307.0, 3736.0, 1004.0, 9991.0],
        [2348.0, 1451.0, 3522.0, 2883.0, 3047.0, 6650.0],
        [4047.0, 8828.0, 8732.0, 5743.0, 1091.0, 381.0],
    ]
)


def hartmann6(x: Array) -> Array:
    """Four hills on [0, 1]^6."""
    gaps = (x[:, None, :] - _HARTMANN_CENTERS) ** 2
    hills: Array = np.exp(-np.einsum("nij,ij->ni", gaps, _HARTMANN_CURVATURES)) @ _HARTMANN_WEIGHTS
    return hills


def ackley(x: Array) -> Array:
    """Ackley's function: a cone with ripples, maximum 0 at the origin."""
    slope = np.exp(-0.2 * np.sqrt((x**2).mean(axis=1)))
    ripples = np.exp(np.cos(2.0 * math.pi * x).mean(axis=1))
    return 20.0 * slope + ripples - 20.0 - math.e


def six_hump_camel(x: Array) -> Array:
    """Two equal maxima of 1.0316, on [-3, 3] x [-2, 2]."""
    a, b = x[:, 0] ** 2, x[:, 1] ** 2
    return -((4.0 - 2.1 * a + a**2 / 3.0) * a + x[:, 0] * x[:, 1] + (4.0 * b - 4.0) * b)


def levy(x: Array) -> Array:
    """Ripples across a bowl, maximum 0 at (1, .., 1)."""
    w = 1.0 + (x - 1.0) / 4.0
    head = np.sin(math.pi * w[:, 0]) ** 2
    inner = w[:, :-1] - 1.0
    middle = inner**2 * (1.0 + 10.0 * np.sin(math.pi * w[:, :-1] + 1.0) ** 2)
    tail = (w[:, -1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * math.pi * w[:, -1]) ** 2)
    return -(head + middle.sum(axis=1) + tail)


def rosenbrock(x: Array) -> Array:
    """Rosenbrock's function: a bent valley, maximum 0 at (1, .., 1)."""
    bend = x[:, 1:] - x[:, :-1] ** 2
    return -(100.0 * bend**2 + (1.0 - x[:, :-1]) ** 2).sum(axis=1)


@dataclass(frozen=True)
class Landscape:
    """A test function on its box.

    Attributes
    ----------
    function, box
        (n, d) -> (n,), and where.
    best_at
        A point of the box where it is largest.
    lowest
        A value it never falls below in the box.
    typical
        The 5 % quantile of its values over the box, to three digits.
    """

    function: Callable[[Array], Array]
    box: Box
    best_at: tuple[float, ...]
    lowest: float
    typical: float

    @property
    def best(self) -> float:
        """The largest value."""
        return float(self.function(np.array([self.best_at]))[0])

    def unit(self, points: Array) -> Array:
        """Return the scaled function: 1 at the maximum, 0 at its 5 % quantile."""
        return self.scaled(self.function(points))

    def scaled(self, values: Array) -> Array:
        """Map values of the function linearly: its maximum to 1, its 5 % quantile to 0."""
        return (values - self.typical) / (self.best - self.typical)


def _floats(*ends: tuple[float, float]) -> tuple[Axis, ...]:
    return tuple(Axis(f"x{i}", low, high) for i, (low, high) in enumerate(ends))


def _mixed(low: float, high: float) -> Box:
    """Two floats and two integers with the same ends."""
    return Box(
        tuple(Axis(f"x{i}", low, high) for i in range(2))
        + tuple(Axis(f"k{i}", low, high, integer=True) for i in range(2))
    )


# The six-hump camel, Levy's and Rosenbrock's functions belong to the family "tune": our constants
# were chosen on them. The others are for measuring and were never used for that.
BRANIN = Landscape(
    branin, Box(_floats((-5.0, 10.0), (0.0, 15.0))), (math.pi, 2.275), -308.13, -162.0
)
HARTMANN6 = Landscape(
    hartmann6,
    Box(_floats(*[(0.0, 1.0)] * 6)),
    (0.20168951, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730054),
    0.0,
    0.002,
)
ACKLEY4 = Landscape(ackley, _mixed(-5.0, 10.0), (0.0, 0.0, 0.0, 0.0), -18.9, -16.4)
ACKLEY5 = Landscape(
    ackley, Box(_floats(*[(-5.0, 10.0)] * 5)), (0.0, 0.0, 0.0, 0.0, 0.0), -19.4, -16.65
)
CAMEL = Landscape(
    six_hump_camel,
    Box(_floats((-3.0, 3.0), (-2.0, 2.0))),
    (0.08984201, -0.71265640),
    -162.91,
    -81.0,
)
LEVY6 = Landscape(levy, Box(_floats(*[(-10.0, 10.0)] * 6)), (1.0,) * 6, -420.0, -135.0)
ROSENBROCK4 = Landscape(rosenbrock, _mixed(-2.0, 2.0), (1.0,) * 4, -10830.0, -4830.0)
