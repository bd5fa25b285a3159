"""Means, differences and ratios with their intervals, fixed or sequential."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tailproof.comparison.fits import Fitted
from tailproof.comparison.results import Effect
from tailproof.comparison.samples import Samples
from tailproof.comparison.settings import Settings
from tailproof.means.intervals import Interval, Statistic
from tailproof.means.sequences import asymptotic_sequence, catoni_sequence

# Mean, difference from the baseline, ratio to it; the latter two are None for the baseline.
Effects: TypeAlias = tuple[Effect, Effect | None, Effect | None]


def estimate_effects(
    samples: Samples,
    settings: Settings,
    fitted: Fitted,
    base: int,
    corrected: float,
    family: int,
) -> list[Effects]:
    """Return the effects of every alternative: mean, difference and ratio."""
    if settings.moment_bound is not None:
        return _catoni_effects(samples, settings, fitted, base, family)
    result = []
    for i, (estimate, contrast) in enumerate(zip(fitted.means, fitted.contrasts, strict=True)):
        mean = _interval_of(settings, estimate.count, settings.level)(estimate.statistic)
        effects: tuple[Effect | None, Effect | None] = (None, None)
        if i != base:
            count = min(estimate.count, fitted.means[base].count)
            interval_of = _interval_of(settings, count, corrected)
            statistic = contrast.difference
            ratio = contrast.ratio_interval(interval_of)
            effects = (
                _effect(statistic.mean, interval_of(statistic)),
                None if ratio is None else _effect(contrast.ratio, ratio),
            )
        result.append((_effect(estimate.mean, mean), *effects))
    return result


def _effect(estimate: float, interval: Interval) -> Effect:
    """Return an effect from an estimate and its interval."""
    return Effect(estimate, interval.lower, interval.upper, interval.level)


def _interval_of(settings: Settings, count: int, level: float) -> Callable[[Statistic], Interval]:
    """Return how an effect gets its interval: at this time, or at all times."""
    if settings.sequential:
        return lambda statistic: asymptotic_sequence(statistic, count, level)
    return lambda statistic: statistic.interval(level)


def _catoni_effects(
    samples: Samples, settings: Settings, fitted: Fitted, base: int, family: int
) -> list[Effects]:
    """Return effects from one confidence sequence an alternative, which hold all together."""
    assert settings.moment_bound is not None
    # One sequence an alternative and one a baseline of each group: at most 2 * family of them.
    level = 1.0 - (1.0 - settings.level) / (2 * family)
    sequences = [
        catoni_sequence(
            series.values, settings.moment_bound, order=settings.moment_order, level=level
        )
        for series in samples.series
    ]
    own = sequences[base]
    result: list[Effects] = []
    for i, (estimate, found) in enumerate(zip(fitted.means, sequences, strict=True)):
        mean = _effect(estimate.mean, found)
        if i == base:
            result.append((mean, None, None))
            continue
        contrast = fitted.contrasts[i]
        difference = Interval(found.lower - own.upper, found.upper - own.lower, level)
        ratio = None
        if own.lower > 0.0:
            quotients = [x / y for x in (found.lower, found.upper) for y in (own.lower, own.upper)]
            ratio = _effect(contrast.ratio, Interval(min(quotients), max(quotients), level))
        result.append((mean, _effect(contrast.difference.mean, difference), ratio))
    return result
