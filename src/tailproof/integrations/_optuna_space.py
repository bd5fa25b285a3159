"""Optuna's distributions as tailproof's parameters, and configurations across."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from tailproof.search.space.parameters import Choice, Float, Int, Parameter
from tailproof.search.space.space import Space

Distributions = Mapping[str, BaseDistribution]


class Translation:
    """An Optuna search space and the same space in tailproof's terms.

    A categorical parameter becomes a choice among the places of its options, so that options which
    Python takes for equal (1 and True), NaN and objects of any kind keep their identity.

    Parameters
    ----------
    distributions : mapping of name to distribution
        None of them of a single value.

    Examples
    --------
    >>> there = Translation({"n": IntDistribution(1, 9), "c": CategoricalDistribution(["a", "b"])})
    >>> there.inward({"n": 3, "c": "b", "more": 1})
    {'n': 3, 'c': 1}
    >>> there.outward({"n": 3, "c": 1})
    {'n': 3, 'c': 'b'}
    >>> there.inward({"n": 30, "c": "b"}) is None  # enqueued out of range
    True
    """

    def __init__(self, distributions: Distributions) -> None:
        self._distributions = dict(distributions)
        self.space = Space({name: _parameter(name, one) for name, one in distributions.items()})

    def inward(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return `params` for tailproof's space; None if one is missing or out of its range."""
        inside = {}
        for name, one in self._distributions.items():
            try:
                stored = one.to_internal_repr(params[name])
            except (KeyError, ValueError):
                return None
            if not self._contains(name, stored):
                return None
            inside[name] = stored if isinstance(one, FloatDistribution) else int(stored)
        return inside

    def outward(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return a configuration of tailproof's space in Optuna's terms, inside every range."""
        return {name: _outward(self._distributions[name], value) for name, value in params.items()}

    def stored(self, params: Mapping[str, Any]) -> dict[str, float]:
        """Return Optuna's `params` as numbers that every storage keeps."""
        return {
            name: float(one.to_internal_repr(params[name]))
            for name, one in self._distributions.items()
        }

    def read(self, stored: Mapping[str, float]) -> dict[str, Any]:
        """Return Optuna's params from what `stored` gave, for another space perhaps.

        Names that this space does not know and values out of its ranges are left out.
        """
        return {
            name: one.to_external_repr(stored[name])
            for name, one in self._distributions.items()
            if name in stored and self._contains(name, stored[name])
        }

    def _contains(self, name: str, stored: float) -> bool:
        one = self._distributions[name]
        if isinstance(one, CategoricalDistribution):
            return stored in range(len(one.choices))
        assert isinstance(one, FloatDistribution | IntDistribution)
        if not one.low <= stored <= one.high:
            return False
        if isinstance(one, IntDistribution):
            return (stored - one.low) % one.step == 0
        return one.step is None or _is_step(self.space.parameters[name], stored)


def modeled(distributions: Distributions) -> dict[str, BaseDistribution]:
    """Return those distributions that have more than one value and a place in a `Space`.

    Optuna allows ranges that the model cannot resolve, such as integers beyond 2^53.

    Examples
    --------
    >>> seed, depth, one = IntDistribution(0, 2**62), IntDistribution(1, 9), IntDistribution(3, 3)
    >>> list(modeled({"seed": seed, "depth": depth, "one": one}))
    ['depth']
    """
    return {name: one for name, one in distributions.items() if _is_modeled(name, one)}


def _is_modeled(name: str, one: BaseDistribution) -> bool:
    try:
        return not one.single() and _parameter(name, one) is not None
    except ValueError:
        return False


def _parameter(name: str, one: BaseDistribution) -> Float | Int | Choice:
    if isinstance(one, FloatDistribution):
        return Float(one.low, one.high, log=one.log, step=one.step)
    if isinstance(one, IntDistribution):
        return Int(one.low, one.high, log=one.log, step=one.step)
    if isinstance(one, CategoricalDistribution):
        return Choice(*range(len(one.choices)))
    raise ValueError(
        f"`{name}` must be a float, int or categorical distribution, but got {name}={one!r}."
    )


def _is_step(parameter: Parameter, value: float) -> bool:
    assert isinstance(parameter, Float)
    try:
        parameter.position(value)
    except ValueError:
        return False
    return True


def _outward(one: BaseDistribution, value: Any) -> Any:
    if isinstance(one, CategoricalDistribution):
        return one.choices[value]
    assert isinstance(one, FloatDistribution | IntDistribution)
    # Optuna would drop a value that rounding pushed over the edge, without a word.
    inside = min(max(value, one.low), one.high)
    return float(inside) if isinstance(one, FloatDistribution) else int(inside)
