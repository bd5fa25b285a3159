"""What a problem of the yardstick is, and the unit in which its regret is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from practical.domains import Domain, Params

DRAWS = 20_000  # configurations from which the median of a continuum is computed
LOG, IDENTITY = "log", "identity"


@dataclass(frozen=True, eq=False)
class Problem:
    """Payoffs with a known mean over a domain.

    Attributes
    ----------
    domain
        What is searched.
    mean
        The true mean payoff of a configuration.
    payoff
        Draws one payoff.
    best, median
        The best mean, and the median of the means of configurations drawn uniformly: regret is in
        units of their difference.
    evaluations
        Number of payoffs of a run.
    minimize
        Whether payoffs are costs.
    assigned
        Configurations that get the payoffs in turn, whatever a method would ask; none if methods
        choose. A method that is told assigned payoffs only estimates and recommends.
    warp, degrees_of_freedom
        What the oracle is told: the scale on which the noise has about the same law everywhere, and
        the degrees of freedom of a Student-t noise on it (infinite for normal noise, None for other
        laws).
    hill
        For the trap: which of its hills a configuration is on.
    """

    domain: Domain
    mean: Callable[[Params], float]
    payoff: Callable[[Params, np.random.Generator], float]
    best: float
    median: float
    evaluations: int
    minimize: bool = False
    assigned: tuple[Params, ...] = ()
    warp: str = IDENTITY
    degrees_of_freedom: float | None = None
    hill: Callable[[Params], str | None] | None = None

    @property
    def sign(self) -> float:
        """1 for payoffs to be maximized, -1 for costs."""
        return -1.0 if self.minimize else 1.0

    def regret(self, params: Mapping[str, Any]) -> float:
        """Return (best - mean of params) / (best - median); rounding never makes it negative."""
        unit = abs(self.best - self.median)
        return max(0.0, self.sign * (self.best - self.mean(dict(params)))) / unit

    def shortfall(self, params: Params, stated: float) -> float:
        """Return by how much the true mean is worse than the stated one, as a share of the latter.

        Negative where it is better.
        """
        worse = self.sign * (stated - self.mean(params))
        return worse / abs(stated) if stated else float(np.copysign(np.inf, worse))
