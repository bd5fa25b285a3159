"""The advice: one alpha and one v for all arms, or the reason why there is none.

alpha comes from the tail index of all arms pooled, each centered and scaled: arms are taken to share
their index unless one contradicts it. An arm contradicts it if its own index lies below the pooled
lower limit with 95 % confidence after Bonferroni over the arms, from at least 50 order statistics,
and it is heavy-tailed on its own; then that arm's own limit is used. v is the largest bound over
the arms (`tailproof.tails.moments`), about one common center, the median of the arms' medians,
which the policies must subtract from every payoff.

A tail index that changes with the threshold (`IndexEstimate.stable`) is taken at its lowest
(`cautious_limit`).

Dependent payoffs widen the limits by their design effect. If it leaves too few independent large
deviations to speak of the tail at all (`tailproof.tails.verdict`), the advice is about the values
seen and no others: draws from them are bounded, so that alpha = 1 and v bounds their mean square.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tailproof.tails.indices import IndexEstimate, Spacings, cautious_limit, reduced_hill
from tailproof.tails.moments import (
    MomentBound,
    TailModel,
    bounded_moment,
    choose_alpha,
    moment_bound,
)
from tailproof.tails.order import Top

_CONTRADICTION = 0.05
_ENOUGH = 50
_RECURRENT = 5


@dataclass(frozen=True)
class Recommendation:
    """What may be given to the policies.

    Attributes
    ----------
    alpha : float or None
        In (0, 1]: moments of order 1 + alpha are finite with confidence. None if not even a finite
        mean can be claimed.
    v : float or None
        Upper confidence limit of the largest E|y - center|^(1 + alpha) over the arms, in units of
        payoff^(1 + alpha). This is the number for the policies.
    v_estimate : float or None
        The estimate of the same.
    center : float
        To be subtracted from every payoff: the median of the arms' medians.
    worst_arm : str
        The arm with the largest bound, or with the largest mean square if there is no alpha.
    index_low : float or None
        The lower confidence limit of the tail index alpha was chosen from.
    finite_mean, finite_variance : bool
        Whether these can be claimed, i.e. whether that limit is above 1 and 2.
    statement : str
        The same in words.
    """

    alpha: float | None
    v: float | None
    v_estimate: float | None
    center: float
    worst_arm: str
    index_low: float | None
    finite_mean: bool
    finite_variance: bool
    statement: str


@dataclass(frozen=True)
class Member:
    """One arm, for the advice: payoffs, median, largest deviations and what is known of them."""

    name: str
    values: NDArray[np.float64]
    median: float
    top: Top
    hill: IndexEstimate | None
    design_effect: float
    heavy: bool


@dataclass(frozen=True)
class Pool:
    """All arms together, for the advice.

    Attributes
    ----------
    arms : list of Member
    top : Top
        The largest deviations of all arms, each over its arm's scale.
    design_effect : float
    silent : bool
        Whether dependence leaves too little to speak of the tail.
    """

    arms: list[Member]
    top: Top
    design_effect: float
    silent: bool


def recurring_maximum(top: Top) -> bool:
    """Tell whether the largest deviation occurs at least five times: payoffs hit a bound."""
    return top.z.size >= _RECURRENT and bool(top.z[0] == top.z[_RECURRENT - 1])


def _contradicting(pool: Pool, index_low: float, level: float) -> tuple[str, float] | None:
    """Return (name, upper limit of gamma) of the heaviest arm below the pooled index limit."""
    confidence = 1.0 - _CONTRADICTION / len(pool.arms)
    worst: tuple[str, float] | None = None
    for arm in pool.arms:
        hill, effect = arm.hill, arm.design_effect
        if not arm.heavy or hill is None or hill.k < _ENOUGH or hill.index >= index_low:
            continue
        spacings = Spacings.of(arm.top, hill.k)
        low = spacings.limit(hill.gamma, confidence, upper=False, design_effect=effect)
        if low <= 0.0 or 1.0 / low >= index_low:
            continue
        side = 0.5 + 0.5 * level
        high = spacings.limit(hill.gamma, side, upper=True, design_effect=effect)
        if worst is None or high > worst[1]:
            worst = (arm.name, high)
    return worst


def _largest(pool: Pool, bounds: list[MomentBound]) -> tuple[str, MomentBound]:
    i = int(np.argmax([b.upper for b in bounds]))
    return pool.arms[i].name, MomentBound(max(b.estimate for b in bounds), bounds[i].upper)


def _claims(index_low: float) -> str:
    if index_low > 2.0:
        return "a finite variance can be claimed"
    if index_low > 1.0:
        return "no finite variance can be claimed, a finite mean can"
    return "not even a finite mean can be claimed"


def _none(
    pool: Pool, center: float, level: float, index_low: float | None, why: str
) -> Recommendation:
    name, seen = _largest(pool, [bounded_moment(a.values, center, 2.0, level) for a in pool.arms])
    statement = (
        f"no alpha can be recommended: {why}; of the values seen, and of no others, alpha = 1 and "
        f"v = {seen.upper:.4g} would hold after subtracting {center:.6g} from every payoff"
    )
    mean = index_low is not None and index_low > 1.0
    return Recommendation(None, None, None, center, name, index_low, mean, False, statement)


def _given(
    pool: Pool, bounds: list[MomentBound], alpha: float, center: float, index_low: float, why: str
) -> Recommendation:
    name, bound = _largest(pool, bounds)
    arm = f" (largest at arm {name!r})" if len(pool.arms) > 1 else ""
    statement = (
        f"{why}; after subtracting {center:.6g} from every payoff, "
        f"alpha = {alpha:g} and v = {bound.upper:.4g}{arm}"
    )
    return Recommendation(
        alpha=alpha,
        v=bound.upper,
        v_estimate=bound.estimate,
        center=center,
        worst_arm=name,
        index_low=index_low if 0.0 < index_low < math.inf else None,
        finite_mean=index_low > 1.0,
        finite_variance=index_low > 2.0,
        statement=statement,
    )


def _bounded(pool: Pool, center: float, level: float, index_low: float, why: str) -> Recommendation:
    bounds = [bounded_moment(arm.values, center, 2.0, level) for arm in pool.arms]
    return _given(pool, bounds, 1.0, center, index_low, why)


def recommend(pool: Pool, level: float) -> Recommendation:
    """Return the advice for the arms of `pool`, with confidence `level`."""
    center = float(np.median([arm.median for arm in pool.arms]))
    if pool.silent:
        why = "of the values seen, and of no others, the variance is finite"
        return _bounded(pool, center, level, 0.0, why)
    hill = reduced_hill(pool.top, level, design_effect=pool.design_effect)
    if hill is None:
        if not all(recurring_maximum(arm.top) for arm in pool.arms):
            return _none(pool, center, level, None, "the largest deviations are too few or tied")
        why = "the largest deviation recurs, so the payoffs are taken as bounded"
        return _bounded(pool, center, level, math.inf, why)
    limit = cautious_limit(pool.top, hill, level, design_effect=pool.design_effect)
    whose = "" if hill.stable else ", which changes with the threshold,"
    hill = replace(hill, gamma_high=limit)
    heavier = _contradicting(pool, hill.index_low, level) if len(pool.arms) > 1 else None
    if heavier is not None:
        hill = replace(hill, gamma_high=max(limit, heavier[1]))
        whose = f" of arm {heavier[0]!r}, the heaviest,"
    index_low = hill.index_low
    why = f"tail index{whose} above {index_low:.2f}, {_claims(index_low)}"
    alpha = choose_alpha(index_low)
    if alpha is None:
        return _none(pool, center, level, index_low, why)
    models = (TailModel.best(pool.top, hill), TailModel.worst(pool.top, hill))
    effect = pool.design_effect
    bounds = [
        moment_bound(a.values, a.median, center, 1.0 + alpha, models, level, design_effect=effect)
        for a in pool.arms
    ]
    if not all(math.isfinite(bound.upper) for bound in bounds):
        why = f"the moment of order {1.0 + alpha:g} has no finite bound"
        return _none(pool, center, level, index_low, why)
    return _given(pool, bounds, alpha, center, index_low, why)
