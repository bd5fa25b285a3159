"""The arms of a `Bandit`: labels, coordinates, or the grid of a space of parameters."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks
from tailproof.bandits.arms import Finite

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

MOST_GRID_ARMS = 100_000
_FINE = 4096  # places at which a discrete parameter's values are looked for


@runtime_checkable
class ParameterSpace(Protocol):
    """A space of named parameters over a cube, such as `tailproof.Space`."""

    names: tuple[str, ...]
    dimension: int
    discrete: NDArray[np.bool_]

    def snap(self, U: ArrayLike) -> Array:
        """Return canonical places in a grid of arms, (n, dimension)."""

    def encode(self, U: ArrayLike) -> Array:
        """Return coordinates of arms for the kernel, (n, encoded dimension)."""

    def params(self, u: ArrayLike) -> dict[str, Any]:
        """Return the configuration that an arm at u (dimension,) is."""


class ArmSet:
    """Arms with numbers 0 .. n - 1, to which others can be added.

    Attributes
    ----------
    inputs : (n, d) array or None
        Coordinates for a kernel; None for labels.
    configurations : list of dict, or None
        The parameters of each arm where the arms are a grid.
    """

    def __init__(
        self,
        arms: ArrayLike | Sequence[Hashable] | Finite,
        configurations: list[dict[str, Any]] | None = None,
    ) -> None:
        self._finite = arms if isinstance(arms, Finite) else Finite(arms)
        self.configurations = configurations
        self._numbers: dict[Any, int] = {}
        if configurations is not None:
            self._numbers = {_configuration_key(c): i for i, c in enumerate(configurations)}
        elif self.labels is None and len(np.unique(self._finite.inputs, axis=0)) < len(self):
            raise ValueError("`arms` must be distinct, but got coordinates that occur twice.")

    def __len__(self) -> int:
        return len(self._finite)

    @property
    def labels(self) -> tuple[str | int, ...] | None:
        """The labels of the arms of a `Bandit`, None where they have coordinates."""
        return self._finite.labels

    @property
    def inputs(self) -> Array | None:
        """Coordinates of the arms of a `Bandit` (n, d), None for labels."""
        return None if self.labels is not None else self._finite.inputs

    def point(self, number: int) -> Any:
        """Return an arm as the user knows it: a label, new coordinates (d,) or a new dict."""
        if self.configurations is not None:
            return dict(self.configurations[checks.index("index", number, len(self))])
        return self._finite.point(number)

    def is_single(self, arm: Any) -> bool:
        """Tell whether `arm` names one arm of a `Bandit` or several."""
        if self.configurations is not None:
            return isinstance(arm, Mapping)
        return self._finite.is_single(arm)

    def number(self, arm: Any) -> int:
        """Return the number of one arm; an unknown one raises a ValueError."""
        if self.configurations is None:
            labels = self._finite.labels
            if labels is not None:
                found = self._finite._index.get(arm) if isinstance(arm, str | int) else None
                if found is not None and type(arm) is not bool:
                    return found
            return self._finite.index(arm)
        found = self._numbers.get(_configuration_key(arm)) if isinstance(arm, Mapping) else None
        if found is None:
            raise ValueError(f"`arm` must be a configuration of the grid, but got {arm!r}.")
        return found

    def numbers(self, arms: Any) -> Indices:
        """Return the numbers of several arms, (k,)."""
        if self.configurations is None:
            return self._finite.indices(arms, "arm")
        if not isinstance(arms, Sequence) or isinstance(arms, str):
            raise ValueError(f"`arm` must be configurations of the grid, but got {arms!r}.")
        return np.array([self.number(arm) for arm in arms], dtype=np.int64)

    def extended(self, arms: Any) -> ArmSet:
        """Return a set with further arms behind the present ones; none may be there already."""
        if self.configurations is not None:
            raise ValueError("`arms` cannot be added to the grid of a space; make a new Bandit.")
        added = Finite(arms)
        if (added.labels is None) != (self.labels is None):
            kind = "labels" if self.labels is not None else "coordinates"
            raise ValueError(f"`arms` must be {kind} like the present ones, but got {arms!r}.")
        if self.labels is not None and added.labels is not None:
            return ArmSet([*self.labels, *added.labels])
        if added.dimension != self._finite.dimension:
            raise ValueError(
                f"`arms` must have {self._finite.dimension} coordinate(s), but got "
                f"{added.dimension}."
            )
        return ArmSet(np.concatenate([self._finite.inputs, added.inputs]))

    def missing(self, other: ArmSet) -> list[int]:
        """Return the numbers of another arm set's arms that are not here, for merging."""
        result = []
        for i in range(len(other)):
            try:
                self.number(other.point(i))
            except ValueError:
                result.append(i)
        return result


def grid_arms(space: ParameterSpace, points: int) -> ArmSet:
    """Return the grid of a space: all values of discrete parameters, `points` of each continuous.

    Examples
    --------
    >>> from tailproof.search.space.parameters import Choice, Float
    >>> from tailproof.search.space.space import Space
    >>> arms = grid_arms(Space(x=Float(0, 1), mode=Choice("a", "b")), points=3)
    >>> len(arms), arms.point(0), arms.point(5)
    (6, {'x': 0.0, 'mode': 'a'}, {'x': 1.0, 'mode': 'b'})
    """
    axes = []
    for j in range(space.dimension):
        places = (
            (np.arange(_FINE) + 0.5) / _FINE if space.discrete[j] else np.linspace(0, 1, points)
        )
        rows = np.full((len(places), space.dimension), 0.5)
        rows[:, j] = places
        axes.append(np.unique(space.snap(rows)[:, j]))
    count = math.prod(len(axis) for axis in axes)
    if count > MOST_GRID_ARMS or any(
        len(axis) == _FINE for axis, discrete in zip(axes, space.discrete, strict=True) if discrete
    ):
        raise ValueError(
            f"the grid of `arms` must have at most {MOST_GRID_ARMS} configurations, but has "
            f"{count} or more; use fewer parameters, a smaller `grid`, or tp.Optimizer."
        )
    cube = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(count, space.dimension)
    return ArmSet(space.encode(cube), [space.params(u) for u in cube])


def _configuration_key(configuration: Mapping[str, Any]) -> Any:
    """Return a hashable form of an arm's configuration; 1, 1.0 and True are different values."""
    items = []
    for name, value in configuration.items():
        plain = value.item() if isinstance(value, np.generic) else value
        items.append((name, type(plain).__name__, repr(plain)))
    return tuple(sorted(items))
