"""Trials, predictions and recommendations of the practical optimizer, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Trial:
    """A configuration to measure: its number, and its parameters by name."""

    number: int
    params: dict[str, Any]

    def _copy(self) -> Trial:
        """Return a trial that the caller may change."""
        return Trial(self.number, dict(self.params))


@dataclass(frozen=True)
class CompletedTrial:
    """A payoff that was told: the trial, and its value in the user's units."""

    trial: Trial
    value: float


@dataclass(frozen=True)
class Prediction:
    """Robust means with intervals at k configurations, in units of the payoff, (k,) each."""

    mean: Array
    lower: Array
    upper: Array
    level: float


@dataclass(frozen=True)
class Recommendation:
    """The configuration with the best robust mean, and how sure that is.

    Attributes
    ----------
    params
        The configuration.
    mean, lower, upper
        Its mean payoff, and an interval that holds it with probability about `level`.
    level
        Confidence level of the interval: empirical, not a theorem's (docs/rivals.md states the
        coverage).
    payoffs
        Number of payoffs of this very configuration.
    total_payoffs
        Number of payoffs told in all.
    clipped
        How many of all payoffs have a residual that the robust loss limits.
    tails
        How heavy the tails look, in words.
    best_observed_params, best_observed_value
        The configuration with the best single payoff, and that payoff: luck more than merit.
    """

    params: dict[str, Any]
    mean: float
    lower: float
    upper: float
    level: float
    payoffs: int
    total_payoffs: int
    clipped: int
    tails: str
    best_observed_params: dict[str, Any]
    best_observed_value: float

    def __str__(self) -> str:
        setting = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        return (
            f"{setting}: mean {self.mean:.4g} ({100 * self.level:.3g} % interval {self.lower:.4g} "
            f"to {self.upper:.4g}; {self.total_payoffs} payoffs, {self.clipped} clipped; "
            f"{self.tails})"
        )
