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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailproof.tails.indices import IndexEstimate, Spacings, conservative_limit, reduced_hill
from tailproof.tails.moments import bounded_moment, choose_alpha, moment_bound, tail_models
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


def _recurring_maximum(top: OrderStatistics) -> bool:
    """Tell for the advice whether the largest deviation occurs five times: payoffs hit a bound."""
    return top.z.size >= _MIN_REPEATS and bool(top.z[0] == top.z[_MIN_REPEATS - 1])


def _contradicting_arm(
    arms: list[ArmTail], index_lower: float, level: float
) -> tuple[str, float] | None:
    """Return for the advice the heaviest arm, with its gamma, below the pooled index limit."""
    confidence = 1.0 - _SIGNIFICANCE / len(arms)
    worst: tuple[str, float] | None = None
    for arm in arms:
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


def _upper_gamma(
    arms: list[ArmTail], top: OrderStatistics, hill: IndexEstimate, level: float, effect: float
) -> tuple[float, str]:
    """Return for the advice the upper limit of gamma that all arms allow, and whose it is."""
    limit = conservative_limit(top, hill, level, design_effect=effect)
    heavier = _contradicting_arm(arms, 1.0 / limit, level) if len(arms) > 1 else None
    if heavier is not None:
        return max(limit, heavier[1]), f" of arm {heavier[0]!r}, the heaviest,"
    return limit, "" if hill.stable else ", which changes with the threshold,"


def _index_claims(index_lower: float, heavy: bool) -> str:
    """Advise which moments can be claimed finite, from the lower end of the tail index."""
    if index_lower > 2.0:
        return "a finite variance can be claimed"
    if index_lower > 1.0:
        return "no finite variance can be claimed, a finite mean can"
    if heavy:
        return "not even a finite mean can be claimed"
    return "because large deviations are few; that is neither evidence of heavy tails nor against"


def advise(
    arms: list[ArmTail],
    top: OrderStatistics,
    level: float,
    *,
    design_effect: float = 1.0,
    too_dependent: bool = False,
    heavy: bool = True,
) -> MomentAdvice:
    """Return the advice for all `arms` together, with confidence `level`.

    `top` are the largest deviations of all arms, each divided by its arm's scale; `design_effect`
    is the factor by which dependence inflates variances, and `too_dependent` tells whether it
    leaves too few independent deviations to judge the tail, and `heavy` whether the verdict on all
    arms is "heavy-tailed".
    """
    center = float(np.median([arm.median for arm in arms]))
    mean_squares = [bounded_moment(arm.values, center, 2.0, level) for arm in arms]
    alpha: float | None = None
    index_lower, bounds = math.nan, mean_squares  # of bounded payoffs, v bounds the mean square
    hill = None if too_dependent else reduced_hill(top, level, design_effect=design_effect)
    if too_dependent:
        alpha, why = 1.0, "of the values seen, and of no others, the variance is finite"
    elif hill is not None:
        limit, whose = _upper_gamma(arms, top, hill, level, design_effect)
        index_lower = 1.0 / limit
        why = f"tail index{whose} above {index_lower:.2f}, {_index_claims(index_lower, heavy)}"
        alpha = choose_alpha(index_lower)
        if alpha is not None:
            q, models = 1.0 + alpha, tail_models(top, hill, limit)
            bounds = [
                moment_bound(a.values, a.median, center, q, models, level, design_effect)
                for a in arms
            ]
            if not all(math.isfinite(bound.upper) for bound in bounds):
                alpha, bounds = None, mean_squares
                why = f"the moment of order {q:g} has no finite bound"
    elif all(_recurring_maximum(arm.top) for arm in arms):
        alpha, index_lower = 1.0, math.inf
        why = "the largest deviation recurs, so the payoffs are taken as bounded"
    else:
        why = "the largest deviations are too few or tied"

    worst = int(np.argmax([bound.upper for bound in bounds]))
    name, v = arms[worst].name, bounds[worst].upper
    if alpha is None:
        statement = (
            f"no alpha can be recommended: {why}; of the values seen, and of no others, alpha = 1 "
            f"and v = {v:.4g} would hold after subtracting {center:.6g} from every payoff"
        )
    else:
        arm = f" (largest at arm {name!r})" if len(arms) > 1 else ""
        statement = (
            f"{why}; after subtracting {center:.6g} from every payoff, "
            f"alpha = {alpha:g} and v = {v:.4g}{arm}"
        )
    return MomentAdvice(
        alpha=alpha,
        v=None if alpha is None else v,
        v_estimate=None if alpha is None else max(bound.estimate for bound in bounds),
        center=center,
        worst_arm=name,
        index_lower=None if hill is None else index_lower,
        finite_mean=index_lower > 1.0,
        finite_variance=alpha is not None and index_lower > 2.0,
        statement=statement,
    )
