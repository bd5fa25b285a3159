"""The part of a space in which some parameters have given values, for contextual optimization."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof.search.space.configurations import Configurations
from tailproof.search.space.encodings import Array, EncodedSpace, Encoding, Grid, Indices
from tailproof.search.space.parameters import Fixed
from tailproof.search.space.space import Space


class ContextSpace(EncodedSpace):
    """All configurations of `space` that agree with `context`, searched as a space is.

    `context` holds values by name, of some parameters or of all. Positions and model coordinates
    are those of the space; those of the context do not move. A list of `Configurations` has no
    parameters that could be held.

    Examples
    --------
    >>> from tailproof.search.space.parameters import Choice, Float
    >>> space = Space(x=Float(0, 10), day=Choice("week", "weekend"))
    >>> weekend = ContextSpace(space, {"day": "weekend"})
    >>> space.params(weekend.snap([[0.5, 0.1]])[0])
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
        encodings: list[Encoding] = []
        for name, p in space.parameters.items():
            if isinstance(p, Fixed):
                if name in context:
                    p.check(context[name], name)
            elif name in context:
                encodings.append(_Held(p.encoding, p.position(context[name], name)))
            else:
                encodings.append(p.encoding)
        super().__init__(encodings)
        held = {k: e.place for k, e in enumerate(encodings) if isinstance(e, _Held)}
        self._held, self._places = list(held), list(held.values())

    def contains(self, U: Array) -> NDArray[np.bool_]:
        """Tell which canonical places (n, dimension) agree with the context, (n,)."""
        return np.asarray((U[:, self._held] == self._places).all(axis=1))


class _Held(Grid):
    """One given value of another encoding: nothing to choose, the same model coordinates."""

    def __init__(self, encoding: Encoding, place: float) -> None:
        """Hold a parameter at the place that the context gives."""
        super().__init__(1)
        self.place, self._encoding = place, encoding
        self.encoded_dimension = encoding.encoded_dimension

    def position(self, index: Indices) -> Array:
        """Return the place of the value that the context gives, for each index."""
        return np.full(len(index), self.place)

    def encode(self, u: Array) -> Array:
        """Return the model's coordinates of the value that the context gives."""
        return self._encoding.encode(u)
