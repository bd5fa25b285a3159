"""What a `Bandit` answers, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._util.console import text_table

Array = NDArray[np.float64]

MOST_ROWS = 20


@dataclass(frozen=True)
class BanditRecommendation:
    """The arm with the best robust mean; `mean`, `lower` and `upper` in units of the payoff.

    `lower` and `upper` are a practical interval of nominal level `level`; `probability` is the
    posterior probability that no other arm has a better mean.
    """

    arm: Any
    index: int
    mean: float
    lower: float
    upper: float
    level: float
    probability: float
    payoffs: int  # of this arm
    total_payoffs: int

    def __str__(self) -> str:
        return (
            f"{self.arm}: mean {self.mean:.4g} ({100 * self.level:.3g} % interval "
            f"{self.lower:.4g} to {self.upper:.4g}; {self.payoffs} of {self.total_payoffs} "
            f"payoffs; best with probability {self.probability:.2f})"
        )


@dataclass(frozen=True, eq=False)
class ArmTable:
    """Robust mean, practical interval and probability of being best of n arms, in their order."""

    arms: tuple[Any, ...]
    mean: Array  # (n,), as lower and upper in units of the payoff
    lower: Array
    upper: Array
    probability: Array  # (n,), sums to 1
    payoffs: NDArray[np.int64]  # (n,)
    level: float

    def __str__(self) -> str:
        """Return the most probable arms as a table, at most 20 of them."""
        order = np.lexsort((-self.payoffs, -self.probability))[:MOST_ROWS]
        rows = [
            (
                str(self.arms[i]),
                f"{self.mean[i]:.4g}",
                f"{self.lower[i]:.4g}",
                f"{self.upper[i]:.4g}",
                f"{self.probability[i]:.3f}",
                str(int(self.payoffs[i])),
            )
            for i in order
        ]
        header = ("arm", "mean", "lower", "upper", "best", "payoffs")
        return text_table(header, rows, right=range(1, 6))
