"""Branches of a conditional search space: the trials that have the same parameters.

In a conditional space the parameters of a trial depend on values of others. What one model can
recommend must be a whole configuration, so each branch has a model of its own, over the values that
were seen in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial

from tailproof.integrations._optuna_space import SpaceAdapter

# A branch of fewer trials is considered only if all are as small: its mean would be chance.
_FEWEST, _FEWEST_SHARE = 5, 0.05


@dataclass(frozen=True)
class Branch:
    """Trials with the same parameters, and those of these with equal distributions in all."""

    trials: list[FrozenTrial]
    common: dict[str, BaseDistribution]

    def complete(self, params: Mapping[str, Any], adapter: SpaceAdapter) -> dict[str, Any]:
        """Return a whole configuration of a branch: what `params` lacks is the nearest trial's.

        `params` are Optuna's values of the space of `adapter`.
        """
        fixed = {name: _only_value(dist) for name, dist in self.common.items() if dist.single()}
        nearest = self._nearest(params, adapter)
        merged = {**nearest.params, **fixed, **params}
        return {name: merged[name] for name in sorted(merged)}

    def _nearest(self, params: Mapping[str, Any], adapter: SpaceAdapter) -> FrozenTrial:
        """Return the trial of a branch that is nearest to a configuration."""
        space = adapter.space
        given = adapter.from_optuna(params)
        inside = [(t, adapter.from_optuna(t.params)) for t in self.trials]
        placed = [(t, space.position(p)) for t, p in inside if p is not None]
        if given is None or not placed:
            return self.trials[-1]
        wanted = space.encode(space.position(given)[None])
        distances = np.linalg.norm(space.encode([place for _, place in placed]) - wanted, axis=1)
        return placed[int(np.argmin(distances))][0]


def branches(trials: Sequence[FrozenTrial]) -> list[Branch]:
    """Return the branches of complete trials that are large enough to recommend from."""
    groups: dict[frozenset[str], list[FrozenTrial]] = {}
    for trial in trials:
        groups.setdefault(frozenset(trial.params), []).append(trial)
    fewest = min(max(_FEWEST, _FEWEST_SHARE * len(trials)), max(map(len, groups.values())))
    large = [group for group in groups.values() if len(group) >= fewest]
    whole = len(groups) == 1
    return [Branch(group, _common(group, restrict=not whole)) for group in large]


def _common(trials: Sequence[FrozenTrial], *, restrict: bool) -> dict[str, BaseDistribution]:
    """Return the distributions that are equal in all trials of a branch, sorted by name.

    If `restrict`, options and integers that no trial of the branch had are left out: they may
    belong to other branches.
    """
    first = trials[0].distributions
    common = {
        n: d for n, d in sorted(first.items()) if all(t.distributions[n] == d for t in trials)
    }
    if not restrict:
        return common
    return {n: _restricted(d, (t.params[n] for t in trials)) for n, d in common.items()}


def _restricted(dist: BaseDistribution, values: Iterable[Any]) -> BaseDistribution:
    """Return a branch's distribution of the values seen, as far as it is discrete."""
    if isinstance(dist, CategoricalDistribution):
        seen = {int(dist.to_internal_repr(value)) for value in values}
        return CategoricalDistribution([dist.choices[i] for i in sorted(seen)])
    if isinstance(dist, IntDistribution):
        inside = [v for v in values if dist.low <= v <= dist.high]
        if inside:
            return IntDistribution(min(inside), max(inside), log=dist.log, step=dist.step)
    return dist


def _only_value(dist: BaseDistribution) -> Any:
    """Return the one value of a distribution of a branch."""
    if isinstance(dist, CategoricalDistribution):
        return dist.choices[0]
    assert isinstance(dist, FloatDistribution | IntDistribution)
    return dist.low
