"""What goes into the practical optimizer and what comes out: trials and recommendations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof.search.space.values import typed, untyped

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Trial:
    """A configuration to measure: its number, and its parameters by name."""

    number: int
    params: dict[str, Any]

    def copy(self) -> Trial:
        """Return the trial with a dict of its own."""
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
    low: Array
    high: Array
    level: float


@dataclass(frozen=True)
class Recommendation:
    """The configuration with the best robust mean, and how sure that is.

    Attributes
    ----------
    params
        The configuration.
    mean, low, high
        Its mean payoff, and an interval that holds it with probability about `level`.
    level
        Of the interval: empirical, not a theorem's (docs/arena.md states the coverage).
    payoffs
        How many payoffs were told in all.
    replications
        How many of them for this very configuration.
    tamed
        How many of them were tamed.
    tails
        How heavy the tails look, in words.
    lucky_params, lucky_value
        The configuration with the best single payoff, and that payoff: luck more than merit.
    """

    params: dict[str, Any]
    mean: float
    low: float
    high: float
    level: float
    payoffs: int
    replications: int
    tamed: int
    tails: str
    lucky_params: dict[str, Any]
    lucky_value: float

    def __str__(self) -> str:
        setting = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        return (
            f"{setting}: mean {self.mean:.4g} ({100 * self.level:.3g} % interval {self.low:.4g} to "
            f"{self.high:.4g}; {self.payoffs} payoffs, {self.tamed} tamed; {self.tails})"
        )


def params_state(params: Mapping[str, Any]) -> list[list[Any]]:
    """Return params as JSON that keeps 1, 1.0 and True apart, for `params_from_state`."""
    return [[name, *typed(value)] for name, value in params.items()]


def params_from_state(listed: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return the params that `params_state` was given."""
    return {name: untyped(kind, value) for name, kind, value in listed}
