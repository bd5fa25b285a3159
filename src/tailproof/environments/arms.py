"""Finitely many arms with known means: what a policy plays against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks
from tailproof.environments._laws import Array, PayoffLaw, law_generator
from tailproof.environments.noise import Spike


@runtime_checkable
class ArmEnvironment(Protocol):
    """Arms 0 .. n-1 with known means and a law of payoffs, synthetic or from a data file."""

    @property
    def means(self) -> Array:
        """The mean payoff f of every arm, (n,)."""
        ...

    def sample(self, arm_indices: ArrayLike, rng: np.random.Generator) -> Array:
        """Draw one payoff for each arm number in `arm_indices` (k,); returns (k,)."""
        ...

    def moment_bound(self, alpha: float) -> float:
        """Bound E|y|^(1+alpha) over all arms."""
        ...


def arm_numbers(arm_indices: ArrayLike, n: int) -> NDArray[np.intp]:
    """Return numbers of an environment's arms as integers (k,), each in 0 .. n-1."""
    numbers = np.asarray(arm_indices)
    if numbers.ndim != 1:
        raise ValueError(
            f"`arm_indices` must have 1 dimension, but got an array of shape {numbers.shape}."
        )
    if numbers.size == 0:
        return np.empty(0, dtype=np.intp)
    if not np.issubdtype(numbers.dtype, np.integer):
        raise ValueError(f"`arm_indices` must be integers, but got dtype {numbers.dtype}.")
    if numbers.min() < 0 or numbers.max() >= n:
        wrong = numbers[(numbers < 0) | (numbers >= n)][0]
        raise ValueError(f"`0 <= arm < {n}` must hold, but got arm={int(wrong)}.")
    return numbers.astype(np.intp)


@dataclass(frozen=True, eq=False)
class SyntheticArms:
    """Arms with means f(x_i), (n,), and payoffs from a law.

    A `Spike` is told which arm each payoff belongs to.

    Examples
    --------
    >>> from tailproof.environments import Gaussian
    >>> arms = SyntheticArms([0.0, 1.0], Gaussian(0.1))
    >>> arms.sample([0, 1, 1], np.random.default_rng(0)).round(2)
    array([0.01, 0.99, 1.06])
    """

    means: Array
    law: PayoffLaw | Spike

    def __post_init__(self) -> None:
        means = checks.finite_array("means", self.means, ndim=1)
        if means.size == 0:
            raise ValueError("`means` must hold at least one arm, but got none.")
        checks.instance("law", self.law, PayoffLaw, "a noise or payoff law")
        if isinstance(self.law, Spike) and self.law.arm >= means.size:
            raise ValueError(f"`law.arm < {means.size}` must hold, but got law.arm={self.law.arm}.")
        means.flags.writeable = False
        object.__setattr__(self, "means", means)

    def sample(self, arm_indices: ArrayLike, rng: np.random.Generator) -> Array:
        """Draw one payoff for each arm number in `arm_indices` (k,); returns (k,)."""
        arms = arm_numbers(arm_indices, self.means.size)
        if isinstance(self.law, Spike):
            return self.law.sample(self.means[arms], law_generator(rng), arms)
        return self.law.sample(self.means[arms], law_generator(rng))

    def moment_bound(self, alpha: float) -> float:
        """Bound E|y|^(1+alpha) over all arms, from the law's own bound."""
        return float(np.max(self.law.moment_bound(alpha, self.means)))
