"""Measures of the recorded runs: regret per round, crossings of the curves, the band of panel f."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof.experiments.panels import Panel

Array = NDArray[np.float64]
Records = Mapping[tuple[str, str, int], Mapping[str, Any]]


def regrets(panel: Panel, records: Records, policy: str, repetitions: int | None = None) -> Array:
    """Return measured R_t / t, (repetitions, recorded rounds), of all repetitions or the first."""
    count = panel.repetitions_of(policy) if repetitions is None else repetitions
    return np.array([records[panel.letter, policy, i]["regret_per_round"] for i in range(count)])


def sample_std(values: Array) -> Array:
    """Return the standard deviation of a measure over repetitions, ddof 1; NaN for a single one."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    return np.std(values, axis=0, ddof=1)


def crossing(rounds: NDArray[np.int64], curve: Array, reference: Array) -> int | None:
    """Measure from which round on a regret `curve` stays below `reference`; None if never.

    Examples
    --------
    >>> crossing(np.array([10, 20, 30]), np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.3]))
    30
    """
    not_below = np.flatnonzero(curve >= reference)
    start = 0 if not_below.size == 0 else int(not_below[-1]) + 1
    return int(rounds[start]) if start < len(rounds) else None


def crossings(panel: Panel, records: Records) -> dict[str, int | None]:
    """Measure from which round on each ATA policy of the paper stays below TGP-UCB."""
    if "tgp" not in panel.policies:
        return {}
    tgp = regrets(panel, records, "tgp").mean(axis=0)
    return {
        key: crossing(panel.recorded_rounds, regrets(panel, records, key).mean(axis=0), tgp)
        for key in ("qff", "nystrom")
        if key in panel.policies
    }


@dataclass(frozen=True)
class TruncationFit:
    """Panel f: the final posterior band of a policy, averaged over the repetitions, against f."""

    mean: Array  # (arms,), as the others
    std: Array
    f: Array

    @property
    def error(self) -> float:
        """Measured error of the truncated fit in panel f: the largest |mean - f| over the arms."""
        return float(np.abs(self.mean - self.f).max())

    @property
    def worst_arm(self) -> int:
        """The arm of panel f with the largest measured error of the truncated fit."""
        return int(np.abs(self.mean - self.f).argmax())

    @property
    def band_holds_f(self) -> bool:
        """Whether the measured band of panel f, mean +- std, holds f at every arm."""
        return bool((np.abs(self.mean - self.f) <= self.std).all())


def truncation_fit(panel: Panel, records: Records, policy: str) -> TruncationFit:
    """Measure the average band of a policy of panel f."""
    kept = [records[panel.letter, policy, i] for i in range(panel.repetitions_of(policy))]
    keys = ("mean", "std", "f")
    return TruncationFit(*(np.mean([record[key] for record in kept], axis=0) for key in keys))
