"""The protocol of payoff laws, their base with its input checks, and bounds for shifted noise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks

Array = NDArray[np.float64]


@runtime_checkable
class PayoffLaw(Protocol):
    """A law of payoffs y with mean f."""

    def sample(self, f_values: ArrayLike, rng: np.random.Generator) -> Array:
        """Draw one payoff for each mean in `f_values` (n,); returns (n,)."""
        ...

    def moment_bound(self, alpha: float, f: ArrayLike) -> Array:
        """Bound E|y|^(1+alpha) for payoffs with mean `f`; the shape of `f`."""
        ...


class CheckedLaw(ABC):
    """A payoff law, a frozen dataclass, that checks its fields, by their names, and its input.

    Subclasses draw from and bound checked arrays.
    """

    def __post_init__(self) -> None:
        """Check the fields of a payoff law."""
        known = {name: c for name, c in _FIELD_CHECKS.items() if hasattr(self, name)}
        checks.fields(self, **known)

    @abstractmethod
    def _draw_payoffs(self, f: Array, rng: np.random.Generator) -> Array:
        """Draw payoffs with means `f` (n,)."""

    @abstractmethod
    def _payoff_moments(self, p: float, f: Array) -> Array:
        """Bound E|y|^p, 1 < p <= 2, for means `f` of any shape; raise where it is infinite."""

    def sample(self, f_values: ArrayLike, rng: np.random.Generator) -> Array:
        """Draw one payoff for each mean in `f_values` (n,); returns (n,)."""
        return self._draw_payoffs(mean_values(f_values), law_generator(rng))

    def moment_bound(self, alpha: float, f: ArrayLike) -> Array:
        """Bound E|y|^(1+alpha), 0 < alpha <= 1, for payoffs with mean `f`; the shape of `f`."""
        return np.asarray(self._payoff_moments(moment_order(alpha), shifts(f)))


def mean_values(f_values: ArrayLike) -> Array:
    """Return the means of a law's payoffs as a new (n,) array, every entry finite."""
    return checks.finite_array("f_values", f_values, ndim=1)


def shifts(f: ArrayLike) -> Array:
    """Return payoff means `f` of a law as finite float64 of any shape."""
    values = np.asarray(f, dtype=np.float64)
    return checks.finite_array("f", values, ndim=values.ndim)


def moment_order(alpha: float) -> float:
    """Return the order p = 1 + alpha in (1, 2] of a law's moment."""
    return 1.0 + checks.in_unit_interval("alpha", alpha, closed_above=True)


def law_generator(rng: Any) -> np.random.Generator:
    """Return `rng` if it is a numpy Generator; a seed would give the same draws at every call."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"`rng` must be a numpy.random.Generator, but got rng={rng!r}.")
    return rng


def above_one(name: str, value: Any) -> float:
    """Return a law's parameter as a finite float above one: below it the law has no mean."""
    result = checks.number(name, value)
    if result <= 1.0:
        raise ValueError(
            f"`{name} > 1` must hold (else the law has no mean), but got {name}={value!r}."
        )
    return result


def require_moment(p: float, name: str, index: float) -> None:
    """Raise unless the moment of order p is finite for a law with tail index `index`."""
    if p >= index:
        raise ValueError(
            f"`1 + alpha < {name}` must hold for E|y|^(1+alpha) to be finite, "
            f"but got alpha={p - 1.0:g}, {name}={index:g}."
        )


def shifted_moment_bound(p: float, f: Array, noise_moment: float, *, symmetric: bool) -> Array:
    """Bound a law's E|f + eta|^p, mean-zero noise with E|eta|^p = `noise_moment`, 1 < p <= 2.

    The smaller of two: Minkowski, (|f| + E|eta|^p^(1/p))^p, and |f|^p + c E|eta|^p, with
    c = 1 for symmetric noise (Clarkson's inequality) and c = 2^(2-p) otherwise (integrate
    |1 + u|^p <= 1 + p u + 2^(2-p) |u|^p). The first is exact at f = 0, the second at p = 2.
    """
    size = np.abs(f)
    minkowski = (size + noise_moment ** (1.0 / p)) ** p
    constant = 1.0 if symmetric else 2.0 ** (2.0 - p)
    bound: Array = np.minimum(minkowski, size**p + constant * noise_moment)
    return bound


def two_sided(p: float, f: Array, size: float) -> Array:
    """E|y|^p of a law of payoffs y = f + size * sign for a fair random sign."""
    average: Array = (np.abs(f + size) ** p + np.abs(f - size) ** p) / 2.0
    return average


_FIELD_CHECKS = {
    "df": above_one,
    "shape": above_one,
    "scale": checks.positive,
    "sigma": checks.positive,
    "size": checks.positive,
}
