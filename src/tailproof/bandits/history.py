"""The told payoffs in order: raw and append-only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HistoryView:
    """The payoffs told so far, as arrays of length t.

    Attributes
    ----------
    indices : (t,) int64
        Numbers of the arms.
    payoffs : (t,) float64
        As told, before any truncation.
    points
        The arms' coordinates, (t, d), or labels, (t,).
    """

    indices: NDArray[np.int64]
    payoffs: Array
    points: NDArray[Any]

    def __len__(self) -> int:
        return len(self.payoffs)


class History:
    """Growing arrays of arm numbers and payoffs."""

    def __init__(self) -> None:
        self._indices = np.empty(256, dtype=np.int64)
        self._payoffs = np.empty(256)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def indices(self) -> NDArray[np.int64]:
        """Arm numbers, (t,), a copy."""
        return self._indices[: self._count].copy()

    @property
    def payoffs(self) -> Array:
        """Payoffs, (t,), a copy."""
        return self._payoffs[: self._count].copy()

    def append(self, arm: int, payoff: float) -> None:
        """Add one payoff."""
        if self._count == len(self._payoffs):
            self._reserve(2 * self._count)
        self._indices[self._count] = arm
        self._payoffs[self._count] = payoff
        self._count += 1

    def extend(self, arms: NDArray[np.int64], payoffs: Array) -> None:
        """Add payoffs in order."""
        end = self._count + len(arms)
        if end > len(self._payoffs):
            self._reserve(max(end, 2 * self._count))
        self._indices[self._count : end] = arms
        self._payoffs[self._count : end] = payoffs
        self._count = end

    def _reserve(self, size: int) -> None:
        self._indices = np.resize(self._indices, size)
        self._payoffs = np.resize(self._payoffs, size)
