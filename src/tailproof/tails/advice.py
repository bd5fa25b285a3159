"""The advice: one alpha and one v for all arms, or the reason why there is none.

alpha comes from the tail index of all arms pooled, each centered and scaled: arms are assumed to
share their index unless one contradicts it. An arm contradicts it if its own index lies below the
pooled lower limit with 95 % confidence after Bonferroni over the arms, from at least 50 order
statistics, and it is heavy-tailed on its own; then that arm's own limit is used. v is the largest
bound over the arms (`tailproof.tails.moments`), about one common center, the median of the arms'
medians, which the policies must subtract from every payoff.

A tail index that changes with the threshold (`IndexEstimate.stable`) is taken at its lowest
(`conservative_limit`).

Dependent payoffs widen the limits by their design effect. If it leaves too few independent large
deviations to judge the tail at all (`tailproof.tails.verdict`), the advice is about the values seen
and no others: draws from them are bounded, so that alpha = 1 and v bounds their mean square.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tailproof.tails.indices import IndexEstimate, Spacings, conservative_limit, reduced_hill
from tailproof.tails.moments import (
    MomentEstimate,
    TailModel,
    bounded_moment,
    choose_alpha,
    moment_bound,
)
from tailproof.tails.order_statistics import OrderStatistics

_SIGNIFICANCE = 0.05  # of an arm's contradiction to the pooled index
_MIN_K = 50  # order statistics of an arm that may contradict it
_MIN_REPEATS = 5


@dataclass(frozen=True)
class MomentAdvice:
    """The alpha and v that the policies may be given, with the claims behind them.

    Attributes
    ----------
    alpha : float or None
        In (0, 1]: moments of order 1 + alpha are finite with confidence. None if not even a finite
        mean can be claimed.
    v : float or None
        Upper confidence limit of the largest E|y - center|^(1 + alpha) over the arms, in units of
        payoff^(1 + alpha). The policies take this number.
    v_estimate : float or None
        The estimate of that moment.
    center : float
        The median of the arms' medians; to be subtracted from every payoff.
    worst_arm : str
        The arm with the largest bound, or with the largest mean square if there is no alpha.
    index_lower : float or None
        The lower confidence limit of the tail index from which alpha was chosen.
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
    index_lower: float | None
    finite_mean: bool
    finite_variance: bool
    statement: str


@dataclass(frozen=True)
class ArmTail:
    """One arm: payoffs, median, largest deviations and the estimates made from them."""

    name: str
    values: NDArray[np.float64]
    median: float
    top: OrderStatistics
    hill: IndexEstimate | None
    design_effect: float
    heavy: bool


@dataclass(frozen=True)
class PooledArms:
    """All arms together.

    Attributes
    ----------
    arms : list of ArmTail
    top : OrderStatistics
        The largest deviations of all arms, each divided by its arm's scale.
    design_effect : float
    too_dependent : bool
        Whether dependence leaves too few independent deviations to judge the tail.
    """

    arms: list[ArmTail]
    top: OrderStatistics
    design_effect: float
    too_dependent: bool


def recurring_maximum(top: OrderStatistics) -> bool:
    """Tell whether the largest deviation occurs at least five times: payoffs hit a bound."""
    return top.z.size >= _MIN_REPEATS and bool(top.z[0] == top.z[_MIN_REPEATS - 1])


def _contradicting(pool: PooledArms, index_lower: float, level: float) -> tuple[str, float] | None:
    """Return (name, upper limit of gamma) of the heaviest arm below the pooled index limit."""
    confidence = 1.0 - _SIGNIFICANCE / len(pool.arms)
    worst: tuple[str, float] | None = None
    for arm in pool.arms:
        hill, effect = arm.hill, arm.design_effect
        if not arm.heavy or hill is None or hill.k < _MIN_K or hill.index >= index_lower:
            continue
        spacings = Spacings.of(arm.top, hill.k)
        lower = spacings.limit(hill.gamma, confidence, upper=False, design_effect=effect)
        if lower <= 0.0 or 1.0 / lower >= index_lower:
            continue
        upper = spacings.limit(hill.gamma, 0.5 + 0.5 * level, upper=True, design_effect=effect)
        if worst is None or upper > worst[1]:
            worst = (arm.name, upper)
    return worst


def _largest(pool: PooledArms, bounds: list[MomentEstimate]) -> tuple[str, MomentEstimate]:
    i = int(np.argmax([b.upper for b in bounds]))
    return pool.arms[i].name, MomentEstimate(max(b.estimate for b in bounds), bounds[i].upper)


def _claims(index_lower: float) -> str:
    if index_lower > 2.0:
        return "a finite variance can be claimed"
    if index_lower > 1.0:
        return "no finite variance can be claimed, a finite mean can"
    return "not even a finite mean can be claimed"


def _no_alpha(
    pool: PooledArms, center: float, level: float, index_lower: float | None, why: str
) -> MomentAdvice:
    name, seen = _largest(pool, [bounded_moment(a.values, center, 2.0, level) for a in pool.arms])
    statement = (
        f"no alpha can be recommended: {why}; of the values seen, and of no others, alpha = 1 and "
        f"v = {seen.upper:.4g} would hold after subtracting {center:.6g} from every payoff"
    )
    finite_mean = index_lower is not None and index_lower > 1.0
    return MomentAdvice(None, None, None, center, name, index_lower, finite_mean, False, statement)


def _alpha_and_v(
    pool: PooledArms,
    bounds: list[MomentEstimate],
    alpha: float,
    center: float,
    index_lower: float,
    why: str,
) -> MomentAdvice:
    name, bound = _largest(pool, bounds)
    arm = f" (largest at arm {name!r})" if len(pool.arms) > 1 else ""
    statement = (
        f"{why}; after subtracting {center:.6g} from every payoff, "
        f"alpha = {alpha:g} and v = {bound.upper:.4g}{arm}"
    )
    return MomentAdvice(
        alpha=alpha,
        v=bound.upper,
        v_estimate=bound.estimate,
        center=center,
        worst_arm=name,
        index_lower=index_lower if 0.0 < index_lower < math.inf else None,
        finite_mean=index_lower > 1.0,
        finite_variance=index_lower > 2.0,
        statement=statement,
    )


def _mean_square(
    pool: PooledArms, center: float, level: float, index_lower: float, why: str
) -> MomentAdvice:
    """Return the advice for bounded payoffs: alpha = 1, and v from the mean squares seen."""
    bounds = [bounded_moment(arm.values, center, 2.0, level) for arm in pool.arms]
    return _alpha_and_v(pool, bounds, 1.0, center, index_lower, why)


def advise(pool: PooledArms, level: float) -> MomentAdvice:
    """Return the advice for the arms of `pool`, with confidence `level`."""
    center = float(np.median([arm.median for arm in pool.arms]))
    if pool.too_dependent:
        why = "of the values seen, and of no others, the variance is finite"
        return _mean_square(pool, center, level, 0.0, why)
    hill = reduced_hill(pool.top, level, design_effect=pool.design_effect)
    if hill is None:
        if not all(recurring_maximum(arm.top) for arm in pool.arms):
            why = "the largest deviations are too few or tied"
            return _no_alpha(pool, center, level, None, why)
        why = "the largest deviation recurs, so the payoffs are taken as bounded"
        return _mean_square(pool, center, level, math.inf, why)
    limit = conservative_limit(pool.top, hill, level, design_effect=pool.design_effect)
    whose = "" if hill.stable else ", which changes with the threshold,"
    hill = replace(hill, gamma_upper=limit)
    heavier = _contradicting(pool, hill.index_lower, level) if len(pool.arms) > 1 else None
    if heavier is not None:
        hill = replace(hill, gamma_upper=max(limit, heavier[1]))
        whose = f" of arm {heavier[0]!r}, the heaviest,"
    index_lower = hill.index_lower
    why = f"tail index{whose} above {index_lower:.2f}, {_claims(index_lower)}"
    alpha = choose_alpha(index_lower)
    if alpha is None:
        return _no_alpha(pool, center, level, index_lower, why)
    models = (TailModel.at_estimate(pool.top, hill), TailModel.at_upper_limit(pool.top, hill))
    effect = pool.design_effect
    bounds = [
        moment_bound(a.values, a.median, center, 1.0 + alpha, models, level, design_effect=effect)
        for a in pool.arms
    ]
    if not all(math.isfinite(bound.upper) for bound in bounds):
        why = f"the moment of order {1.0 + alpha:g} has no finite bound"
        return _no_alpha(pool, center, level, index_lower, why)
    return _alpha_and_v(pool, bounds, alpha, center, index_lower, why)
