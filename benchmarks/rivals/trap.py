"""The mean-median trap: an objective whose best median and best mean are at different points.

On the unit square there are two hills, s around `steady_at` and r around `risky_at`,
s(x) = exp(-|x - steady_at|^2 / (2 steady_width^2)) and likewise r. The payoff at x is

    y = steady s(x) + low r(x) + noise Z + jump B,    B = 1 with probability chance r(x), else 0,

so its mean is steady s(x) + (low + chance jump) r(x), exactly. On top of the steady hill payoffs
are about 0.5 every time; on top of the risky hill they are about 0 in three of five evaluations and
3 in the others, with mean 1.2. A model that treats those as outliers prefers the steady hill. The
risky hill is wide enough for a space-filling design to meet its large payoffs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from rivals.domains import Array

NAME = "trap"


@dataclass(frozen=True)
class Trap:
    """The noise law of the trap, with the exact mean, median and second moment of its payoffs."""

    steady_at: tuple[float, float]
    risky_at: tuple[float, float]
    steady_width: float
    risky_width: float
    steady: float = 0.5
    low: float = 0.0
    jump: float = 3.0
    chance: float = 0.4
    noise: float = 0.1

    name = NAME
    title = "mean-median trap"
    heavy = True
    alpha = 1.0

    def hills(self, points: Array) -> tuple[Array, Array]:
        """Return s and r at points (n, 2)."""
        result = []
        for center, width in (
            (self.steady_at, self.steady_width),
            (self.risky_at, self.risky_width),
        ):
            squared = ((points - np.array(center)) ** 2).sum(axis=1)
            result.append(np.exp(-squared / (2.0 * width**2)))
        return result[0], result[1]

    def mean(self, points: Array) -> Array:
        """Return the mean payoff at points (n, 2), exact."""
        s, r = self.hills(points)
        mean: Array = self.steady * s + (self.low + self.chance * self.jump) * r
        return mean

    def median(self, points: Array) -> Array:
        """Return the median payoff at points (n, 2), to 1e-12."""
        s, r = self.hills(points)
        usual = self.steady * s + self.low * r
        shifts = [self._median_shift(self.chance * float(height)) for height in r]
        median: Array = usual + np.array(shifts)
        return median

    def _median_shift(self, chance: float) -> float:
        """Return the median of noise Z + jump B."""

        def excess(value: float) -> float:
            below = (1.0 - chance) * ndtr(value / self.noise)
            return float(below + chance * ndtr((value - self.jump) / self.noise) - 0.5)

        return float(brentq(excess, -10.0 * self.noise, self.jump, xtol=1e-12))

    def shift(self, lowest: float) -> float:
        """Return zero: the trap is not shifted."""
        return 0.0

    def payoff(self, point: Array, mean: float, rng: np.random.Generator) -> float:
        """Draw one payoff at a point (2,)."""
        s, r = (float(hill[0]) for hill in self.hills(point[None, :]))
        jumps = rng.random() < self.chance * r
        usual = self.steady * s + self.low * r
        return float(usual + self.noise * rng.standard_normal() + self.jump * jumps)

    def moment(self, points: Array, means: Array) -> float:
        """Return the largest E y^2 over points (n, 2), exact."""
        s, r = self.hills(points)
        usual, chance = self.steady * s + self.low * r, self.chance * r
        square = (1.0 - chance) * usual**2 + chance * (usual + self.jump) ** 2 + self.noise**2
        return float(np.max(square))


# Our constants were chosen on the second: other centers, widths and probabilities.
TRAPS = {
    "measure": Trap((0.28, 0.30), (0.74, 0.72), 0.25, 0.28),
    "tune": Trap((0.70, 0.25), (0.24, 0.66), 0.22, 0.30, steady=0.45, jump=2.8, chance=0.42),
}
