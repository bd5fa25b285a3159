"""The part of a space in which some parameters have given values: contexts one does not choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof.search.space.parameters import Fixed, Parameter
from tailproof.search.space.space import Configurations, Space

Array = NDArray[np.float64]


class ContextSpace:
    """All configurations of `space` that agree with `context`, searched as a space is.

    It has the space's own positions and coordinates: what is held just does not move.

    Parameters
    ----------
    space
        A `Space`; a list of `Configurations` has no parameters that could be held.
    context
        Values by name, of some parameters or of all.

    Examples
    --------
    >>> from tailproof.search.space.parameters import Choice, Float
    >>> space = Space(x=Float(0, 10), day=Choice("week", "weekend"))
    >>> section = ContextSpace(space, {"day": "weekend"})
    >>> space.params(section.snap([[0.5, 0.1]])[0])
    {'x': 5.0, 'day': 'weekend'}
    """

    def __init__(self, space: Space | Configurations, context: Mapping[str, Any]) -> None:
        if not isinstance(space, Space):
            raise ValueError(f"`context` needs a Space of parameters, but got {space!r}.")
        if not isinstance(context, Mapping):
            raise ValueError(f"`context` must map names to values, but got {context!r}.")
        for name in context:
            if name not in space.parameters:
                raise ValueError(
                    f"`context` must name parameters of the space ({', '.join(space.names)}), "
                    f"but got {name!r}."
                )
        self._space = space
        self.dimension, self.encoded_columns = space.dimension, space.encoded_columns
        held: dict[int, float] = {}
        left: dict[str, Parameter] = {}  # what is to be chosen, as a space of its own
        for name, p in space.parameters.items():
            if isinstance(p, Fixed):
                if name in context:
                    p.check(context[name], name)
            elif name in context:
                held[len(held) + len(left)] = p.position(context[name], name)
            else:
                left[name] = p
        self._held = np.array(list(held), dtype=np.intp)
        self._open = np.setdiff1d(np.arange(space.dimension), self._held)
        start = np.zeros((1, space.dimension))
        start[0, self._held] = list(held.values())
        self._places = space.snap(start)[0, self._held]
        self.discrete = space.discrete.copy()
        self.discrete[self._held] = True  # not to be climbed along
        self._rest = Space(left) if left else None
        self.count = 1 if self._rest is None else self._rest.count

    def snap(self, U: ArrayLike) -> Array:
        """Return canonical places (n, dimension) in the section."""
        points = self._space.snap(U)
        points[:, self._held] = self._places
        return points

    def encode(self, U: ArrayLike) -> Array:
        """Return where configurations lie in the model, (n, encoded_dimension)."""
        return self._space.encode(U)

    def neighbors(self, u: ArrayLike) -> Array:
        """Return all configurations of the section one discrete move away, (k, dimension)."""
        around = self._space.neighbors(u)
        return around[(around[:, self._held] == self._places).all(axis=1)]

    def enumerate(self, limit: int) -> Array:
        """Return the places of all configurations of the section, (count, dimension)."""
        rest = np.empty((1, 0)) if self._rest is None else self._rest.enumerate(limit)
        points = np.empty((len(rest), self.dimension))
        points[:, self._held] = self._places
        points[:, self._open] = rest
        return points

    def contains(self, U: Array) -> NDArray[np.bool_]:
        """Tell which of the canonical places (n, dimension) lie in the section, (n,)."""
        return np.asarray((U[:, self._held] == self._places).all(axis=1))
