"""How the practical optimizer works: its options, and the model's layout that follows from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tailproof._compiled import correlation as engine
from tailproof._util import checks
from tailproof.search.model.gp import Layout
from tailproof.search.model.noise import Taming, Window
from tailproof.search.space.space import Configurations, Space

_KERNELS = {"matern": engine.MATERN, "se": engine.SQUARED_EXPONENTIAL}


@dataclass(frozen=True)
class Options:
    """How the practical optimizer works. None of it comes with a theorem's guarantee.

    Attributes
    ----------
    taming
        How single payoffs are tamed: see `tailproof.search.model.noise`.
    width
        Standard deviations by which uncertainty attracts the search.
    kernel
        "matern" (smoothness 5/2) or "se" (squared exponential).
    groups
        Names of parameters that act together, for an additive kernel; None for one group of all.
    initial
        Trials of the initial design, spread evenly; None for 8, or 2 a parameter if that is more.
    survey
        How much of the search looks everywhere, whatever is believed: one trial of an even design
        whenever `survey` x sqrt(trials) passes a whole number, and twice as many while gross
        outliers may vary over the space: of these a mean can be made where nobody looks; 0 for
        none.
    """

    taming: Taming = field(default_factory=Window)
    width: float = 3.0
    kernel: str = "matern"
    groups: tuple[tuple[str, ...], ...] | None = None
    initial: int | None = None
    survey: float = 1.0

    def __post_init__(self) -> None:
        for name in ("width", "survey"):
            value = checks.number(name, getattr(self, name))
            if value < 0.0:
                raise ValueError(f"`{name} >= 0` must hold, but got {name}={value!r}.")
            object.__setattr__(self, name, value)
        checks.choice("kernel", self.kernel, tuple(_KERNELS))
        checks.instance("taming", self.taming, Taming, "a way to tame, such as Window()")
        if self.groups is not None:
            object.__setattr__(self, "groups", _checked_groups(self.groups))
        if self.initial is not None:
            object.__setattr__(self, "initial", checks.integer("initial", self.initial, low=1))


def _checked_groups(groups: Any) -> tuple[tuple[str, ...], ...]:
    wrong = f'`groups` must be groups of names, such as (("a", "b"), ("c",)), but got {groups!r}.'
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise ValueError(wrong)
    result = []
    for group in groups:
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise ValueError(wrong)
        result.append(tuple(group))
    if (
        not all(result)
        or not result
        or any(not isinstance(name, str) for group in result for name in group)
    ):
        raise ValueError(wrong)
    return tuple(result)


def layout_of(space: Space | Configurations, options: Options) -> Layout:
    """Return how the model's coordinates of a space belong together under the options."""
    owner = np.asarray(space.parameter_of_column, dtype=np.int64)
    group = np.zeros(len(owner), dtype=np.int64)
    if options.groups is not None:
        if not isinstance(space, Space):
            raise ValueError("`groups` must be None for Configurations, but got groups.")
        free = [name for name in space.names if space.parameters[name].encoded_dimension]
        flat = [name for one in options.groups for name in one]
        if sorted(flat) != sorted(free):
            raise ValueError(
                f"`groups` must name every parameter that varies once, {free}, but got {flat}."
            )
        of = {name: index for index, one in enumerate(options.groups) for name in one}
        group = np.array([of[free[one]] for one in owner], dtype=np.int64)
    return Layout(owner, group, _KERNELS[options.kernel])
