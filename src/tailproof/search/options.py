"""How the practical optimizer works: its options, and the model's layout that follows from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tailproof._compiled import correlation as engine
from tailproof._util import checks
from tailproof.search.model.gp import Layout
from tailproof.search.model.noise import AdaptiveWindow, RobustLoss
from tailproof.search.space.space import Configurations, Space

_KERNELS = {"matern": engine.MATERN, "se": engine.SQUARED_EXPONENTIAL}


@dataclass(frozen=True)
class Options:
    """How the practical optimizer works. None of it comes with a theorem's guarantee.

    Attributes
    ----------
    loss
        Robust loss of the residuals: see `tailproof.search.model.noise`.
    kappa
        Number of posterior standard deviations in the upper confidence bound that `ask` maximizes.
    kernel
        "matern" (smoothness 5/2) or "se" (squared exponential).
    additive_groups
        Groups of parameter names for an additive kernel; None for one group of all parameters.
    n_initial
        Number of trials of the initial design; None for 8, or 2 per parameter if that is more.
    exploration_rate
        Rate of trials that explore the whole space independently of the model: the next point of
        a Sobol sequence whenever `exploration_rate` * sqrt(trials) passes a whole number, and
        twice as often while the rate of outliers may vary over the space, because a mean may
        rest on outliers where no trial was made yet; 0 for none.
    """

    loss: RobustLoss = field(default_factory=AdaptiveWindow)
    kappa: float = 3.0
    kernel: str = "matern"
    additive_groups: tuple[tuple[str, ...], ...] | None = None
    n_initial: int | None = None
    exploration_rate: float = 1.0

    def __post_init__(self) -> None:
        for name in ("kappa", "exploration_rate"):
            value = checks.number(name, getattr(self, name))
            if value < 0.0:
                raise ValueError(f"`{name} >= 0` must hold, but got {name}={value!r}.")
            object.__setattr__(self, name, value)
        checks.choice("kernel", self.kernel, tuple(_KERNELS))
        checks.instance("loss", self.loss, RobustLoss, "a robust loss, such as AdaptiveWindow()")
        if self.additive_groups is not None:
            groups = _checked_groups(self.additive_groups)
            object.__setattr__(self, "additive_groups", groups)
        if self.n_initial is not None:
            count = checks.integer("n_initial", self.n_initial, low=1)
            object.__setattr__(self, "n_initial", count)


def _checked_groups(groups: Any) -> tuple[tuple[str, ...], ...]:
    wrong = (
        '`additive_groups` must be groups of names, such as (("a", "b"), ("c",)), '
        f"but got {groups!r}."
    )
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
    if options.additive_groups is not None:
        if not isinstance(space, Space):
            raise ValueError("`additive_groups` must be None for Configurations, but got groups.")
        free = [name for name in space.names if space.parameters[name].encoded_dimension]
        flat = [name for one in options.additive_groups for name in one]
        if sorted(flat) != sorted(free):
            raise ValueError(
                "`additive_groups` must name every parameter that varies once, "
                f"{free}, but got {flat}."
            )
        of = {name: index for index, one in enumerate(options.additive_groups) for name in one}
        group = np.array([of[free[one]] for one in owner], dtype=np.int64)
    return Layout(owner, group, _KERNELS[options.kernel])
