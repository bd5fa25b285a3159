"""How the practical optimizer works: its options, and the kernel layout that follows from them."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailproof._util import checks
from tailproof.search.model.constants import KERNEL
from tailproof.search.model.correlation import KERNELS, KernelLayout
from tailproof.search.model.hyperparameters import Prior
from tailproof.search.model.parameters import ModelConfig
from tailproof.search.space.configurations import Configurations
from tailproof.search.space.space import Space


@dataclass(frozen=True)
class Options:
    """How the practical optimizer works. None of it comes with a theorem's guarantee.

    Attributes
    ----------
    warp
        "learnt", or "identity" to model payoffs on their own scale.
    noise
        "learnt" (a two-piece Student-t law), "gaussian", or "student-t" (symmetric, 4 degrees of
        freedom).
    corrects_mean
        Whether the mean of the residuals is added to the location: without it the target is the
        mode of the noise, not the mean.
    kappa
        Number of posterior standard deviations in the upper confidence bound that `ask` maximizes,
        from 40 payoffs on; a quarter of it at first.
    kernel
        "matern" (smoothness 5/2) or "se" (squared exponential).
    additive_groups
        Groups of parameter names for an additive kernel; None for one group of all parameters.
    n_initial
        Number of trials of the initial design; None for 6, or one more than
        there are parameters if that is more.
    second_opinion
        While the mean rests on the tails of the noise, every so many trials are proposed by a
        Gaussian process of truncated payoffs, which takes outliers at their value: it may find
        where the mean is good although most payoffs are not. 0 for none.
    """

    warp: str = "learnt"
    noise: str = "learnt"
    corrects_mean: bool = True
    kappa: float = 2.0
    kernel: str = "matern"
    additive_groups: tuple[tuple[str, ...], ...] | None = None
    n_initial: int | None = None
    second_opinion: int = 4

    def __post_init__(self) -> None:
        checks.fields(
            self, kappa=checks.non_negative, second_opinion=functools.partial(checks.integer, low=0)
        )
        checks.choice("kernel", self.kernel, KERNELS)
        checks.choice("warp", self.warp, ("learnt", "identity"))
        checks.choice("noise", self.noise, ("learnt", "gaussian", "student-t"))
        checks.flag("corrects_mean", self.corrects_mean)
        if self.additive_groups is not None:
            checks.fields(self, additive_groups=_groups_of_names)
        if self.n_initial is not None:
            checks.fields(self, n_initial=functools.partial(checks.integer, low=1))


def _groups_of_names(name: str, groups: Any) -> tuple[tuple[str, ...], ...]:
    """Return the additive groups of the options as tuples of names; none may be empty."""
    result = [_tuple_of_groups(group) for group in _tuple_of_groups(groups)]
    names = [entry for group in result for entry in group]
    if not result or not all(result) or not all(isinstance(entry, str) for entry in names):
        example = '(("a", "b"), ("c",))'
        raise ValueError(
            f"`{name}` must be groups of names, such as {example}, but got {groups!r}."
        )
    return tuple(result)


def _tuple_of_groups(value: Any) -> tuple[Any, ...]:
    """Return what an iterable of the options holds; nothing for text and what is no iterable."""
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else ()


def model_config(space: Space | Configurations, options: Options) -> ModelConfig:
    """Return how the model of a space is fitted under the options."""
    layout = kernel_layout(space, options)
    prior = Prior(nugget=KERNEL.nugget if space.discrete.all() else None)
    return ModelConfig(layout, options.warp, options.noise, options.corrects_mean, prior=prior)


def kernel_layout(space: Space | Configurations, options: Options) -> KernelLayout:
    """Return the lengthscale and the additive group of every encoded column of a space."""
    parameters = np.asarray(space.parameter_of_column, dtype=np.int64)
    groups = np.zeros(len(parameters), dtype=np.int64)
    if options.additive_groups is not None:
        if not isinstance(space, Space):
            raise ValueError("`additive_groups` must be None for Configurations, but got groups.")
        free = [name for name in space.names if space.parameters[name].count != 1]
        given = [name for group in options.additive_groups for name in group]
        if sorted(given) != sorted(free):
            raise ValueError(
                "`additive_groups` must name every parameter that varies once, "
                f"{free}, but got {given}."
            )
        index = {name: i for i, group in enumerate(options.additive_groups) for name in group}
        groups = np.array([index[free[k]] for k in parameters], dtype=np.int64)
    return KernelLayout(parameters, groups, options.kernel)
