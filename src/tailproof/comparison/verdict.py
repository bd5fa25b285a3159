"""Verdicts on one alternative and the baseline, and their sentences."""

from __future__ import annotations

import math

from tailproof.comparison.results import BETTER, EQUIVALENT, UNDECIDED, WORSE, Effect
from tailproof.comparison.samples import TIME
from tailproof.comparison.units import unit_for

_POWER_QUANTILE = 0.8416  # of a standard normal variable: 80 % power


def judge(
    difference: Effect, ratio: Effect | None, *, lower_is_better: bool, minimum_effect: float
) -> str:
    """Return the verdict that the corrected intervals allow."""
    if difference.lower > 0.0 or difference.upper < 0.0:
        higher = difference.lower > 0.0
        return BETTER if higher != lower_is_better else WORSE
    close = (
        ratio is not None
        and ratio.lower > 1.0 - minimum_effect
        and ratio.upper < 1.0 + minimum_effect
    )
    return EQUIVALENT if close else UNDECIDED


def more_payoffs(count: int, half_width: float, standard_error: float, effect: float) -> int | None:
    """Return how many more payoffs a verdict on an `effect` needs (power 80 %), None if unknown.

    The interval is taken to shrink like 1 / sqrt(n); with an infinite variance it shrinks more
    slowly, so the number is a lower bound then.

    Examples
    --------
    >>> more_payoffs(100, half_width=0.2, standard_error=0.1, effect=0.05)
    3200
    """
    if not (effect > 0.0 and math.isfinite(half_width)):
        return None
    growth = ((half_width + _POWER_QUANTILE * standard_error) / effect) ** 2
    needed = (growth - 1.0) * count
    if not needed < 1e15:
        return None
    return max(_two_digits(needed), 0)


def _two_digits(value: float) -> int:
    """Return how many more payoffs a verdict needs, rounded up to two digits."""
    if value <= 0.0:
        return 0
    unit = 10 ** max(math.floor(math.log10(value)) - 1, 0)
    return math.ceil(value / unit) * unit


def percent(share: float) -> str:
    """Return a share in a verdict's sentence in percent, with two digits.

    Examples
    --------
    >>> percent(0.0412), percent(0.192), percent(0.004), percent(2.34)
    ('4.1 %', '19 %', '0.4 %', '230 %')
    """
    value = 100.0 * abs(share)
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g} %"
    digits = 1 - math.floor(math.log10(value))
    text = f"{round(value, digits):,.{max(digits, 0)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + " %"


def amount(value: float, kind: str) -> str:
    """Return a size in a verdict's sentence with four digits, and its unit where there is one."""
    return unit_for(kind, value).amount(abs(value))


def sentence(
    name: str,
    baseline: str,
    verdict: str,
    difference: Effect,
    ratio: Effect | None,
    *,
    level: float,
    lower_is_better: bool,
    kind: str,
    minimum_effect: float,
    more: int | None,
    noun: str,
) -> str:
    """Return a verdict in a sentence; `noun` is what more of would decide: payoffs or blocks."""
    verb = "takes" if kind == TIME else "costs" if lower_is_better else "earns"
    subject = f"{name} {verb}"
    confidence = f"{100 * level:g} % confidence"
    low, high = (
        (difference.lower, difference.upper)
        if ratio is None
        else (ratio.lower - 1.0, ratio.upper - 1.0)
    )

    def size(value: float) -> str:
        return amount(value, kind) if ratio is None else percent(value)

    if verdict in (BETTER, WORSE):
        near, far = sorted((abs(low), abs(high)))
        more_or_less = _direction(low > 0.0, kind)
        return f"{subject} {size(near)} to {size(far)} {more_or_less} than {baseline}; {confidence}"
    between = (
        f"{subject} between {size(low)} {_direction(low > 0.0, kind)} and "
        f"{size(high)} {_direction(high > 0.0, kind)} than {baseline}; {confidence}"
    )
    if verdict == EQUIVALENT:
        return f"no difference of {percent(minimum_effect)} or more: {between}"
    return f"not decided: {between}{_needed(more, ratio, difference, minimum_effect, kind, noun)}"


def _direction(higher: bool, kind: str) -> str:
    """Return a verdict's word for more or less of a payoff, or of time."""
    if kind == TIME:
        return "longer" if higher else "less time"
    return "more" if higher else "less"


def _needed(
    more: int | None,
    ratio: Effect | None,
    difference: Effect,
    minimum_effect: float,
    kind: str,
    noun: str,
) -> str:
    """Return how many more payoffs a verdict probably needs, in words."""
    if more is None:
        return ""
    effect = percent(minimum_effect) if ratio is not None else amount(difference.estimate, kind)
    if more == 0:
        return f"; a difference of {effect} would have shown in 4 of 5 such data sets"
    return f"; about {more:,} more {noun} would be needed to see {effect}"
