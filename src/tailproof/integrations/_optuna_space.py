"""Conversion of Optuna's search spaces and parameter values to tailproof's, and back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from tailproof.search.space.parameters import Choice, Float, Int
from tailproof.search.space.space import Space

Distributions = Mapping[str, BaseDistribution]


class SpaceAdapter:
    """An Optuna search space and the same space in tailproof's terms.

    A categorical parameter becomes a choice among the indices of its options, so that options which
    Python takes for equal (1 and True), NaN and objects of any kind keep their identity.
    No distribution may have a single value.
    """

    def __init__(self, distributions: Distributions) -> None:
        """Make the space that stands for Optuna's distributions."""
        self._distributions = dict(distributions)
        self.space = Space({name: _space_entry(name, dist) for name, dist in distributions.items()})

    def from_optuna(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return `params` for tailproof's space; None if one is missing or out of its range."""
        inside = {}
        for name, dist in self._distributions.items():
            try:
                stored = dist.to_internal_repr(params[name])
            except (KeyError, ValueError):
                return None
            if not self._distribution_contains(name, stored):
                return None
            inside[name] = stored if isinstance(dist, FloatDistribution) else int(stored)
        return inside

    def to_optuna(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return a configuration of tailproof's space in Optuna's terms, inside every range."""
        values = {}
        for name, value in params.items():
            dist = self._distributions[name]
            if isinstance(dist, CategoricalDistribution):
                values[name] = dist.choices[value]
                continue
            assert isinstance(dist, FloatDistribution | IntDistribution)
            # Optuna would drop a value that rounding pushed over the edge, without a word.
            inside = min(max(value, dist.low), dist.high)
            values[name] = float(inside) if isinstance(dist, FloatDistribution) else int(inside)
        return values

    def named_space(self) -> tuple[Space, Callable[[Mapping[str, Any]], dict[str, Any]]]:
        """Return the space with options by name instead of index, and the map of params to it.

        Options that are no plain values, or equal as text, keep their text with the index.
        """
        names: dict[str, list[str]] = {}
        parameters = dict(self.space.parameters)
        for name, dist in self._distributions.items():
            if isinstance(dist, CategoricalDistribution):
                texts = [str(option) for option in dist.choices]
                if len(set(texts)) < len(texts):
                    texts = [f"{text} ({i})" for i, text in enumerate(texts)]
                names[name], parameters[name] = texts, Choice(*texts)

        def named(params: Mapping[str, Any]) -> dict[str, Any]:
            return {n: names[n][value] if n in names else value for n, value in params.items()}

        return Space(parameters), named

    def pack(self, params: Mapping[str, Any]) -> dict[str, float]:
        """Return Optuna's `params` as numbers that every storage keeps."""
        space = self._distributions.items()
        return {name: float(dist.to_internal_repr(params[name])) for name, dist in space}

    def unpack(self, stored: Mapping[str, float]) -> dict[str, Any]:
        """Return Optuna's params from what `pack` gave, maybe for another space.

        Names that this space does not know and values out of its ranges are left out.
        """
        return {
            name: dist.to_external_repr(stored[name])
            for name, dist in self._distributions.items()
            if name in stored and self._distribution_contains(name, stored[name])
        }

    def _distribution_contains(self, name: str, stored: float) -> bool:
        """Whether a stored value of Optuna lies in the parameter's distribution."""
        dist = self._distributions[name]
        if isinstance(dist, CategoricalDistribution):
            return stored in range(len(dist.choices))
        assert isinstance(dist, FloatDistribution | IntDistribution)
        if not dist.low <= stored <= dist.high:
            return False
        if isinstance(dist, IntDistribution):
            return (stored - dist.low) % dist.step == 0
        if dist.step is not None:
            parameter = self.space.parameters[name]
            assert isinstance(parameter, Float)
            try:
                parameter.position(stored)  # it refuses what lies between two steps
            except ValueError:
                return False
        return True


def modeled(distributions: Distributions) -> dict[str, BaseDistribution]:
    """Return the distributions of more than one value that tailproof's `Space` can represent.

    Optuna allows ranges that the model cannot resolve, such as integers beyond 2^50.
    """
    representable = {}
    for name, dist in distributions.items():
        with contextlib.suppress(ValueError):
            if not dist.single():
                _space_entry(name, dist)  # it refuses what is not representable
                representable[name] = dist
    return representable


def _space_entry(name: str, dist: BaseDistribution) -> Float | Int | Choice:
    """Return the parameter that stands for one of Optuna's distributions."""
    if isinstance(dist, FloatDistribution):
        return Float(dist.low, dist.high, log=dist.log, step=dist.step)
    if isinstance(dist, IntDistribution):
        return Int(dist.low, dist.high, log=dist.log, step=dist.step)
    if isinstance(dist, CategoricalDistribution):
        return Choice(*range(len(dist.choices)))
    raise ValueError(
        f"`{name}` must be a float, int or categorical distribution, but got {name}={dist!r}."
    )
