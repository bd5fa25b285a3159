"""The comparison: robust means, contrasts with the baseline, verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tailproof._util import checks
from tailproof.comparison.cautions import cautions, finite_variance, tail_index
from tailproof.comparison.contrasts import Contrast
from tailproof.comparison.effects import estimate_effects
from tailproof.comparison.files import read_samples
from tailproof.comparison.fits import fit_blocked, fit_independent
from tailproof.comparison.results import UNDECIDED, Alternative, Comparison, Effect
from tailproof.comparison.samples import TIME, Samples, block_means, checked, samples_of
from tailproof.comparison.settings import Settings, assumption
from tailproof.comparison.verdict import judge, more_payoffs, sentence
from tailproof.tails.files import Progress
from tailproof.tails.series import listed


def compare(
    data: Any,
    *,
    baseline: str | None = None,
    by: str | None = None,
    value: str | None = None,
    pair: Any = None,
    block: Any = None,
    lower_is_better: bool = False,
    level: float = 0.95,
    sequential: bool = False,
    moment_bound: float | None = None,
    moment_order: float = 2.0,
    minimum_effect: float = 0.05,
    seed: int = 0,
) -> Comparison:
    """Compare the mean payoffs of alternatives with that of a baseline.

    Parameters
    ----------
    data
        Mapping from names to payoffs (n_i,), sequence of such arrays (named "0", "1", ...), or a
        data frame: long with `by` and `value`, or wide with an alternative a column.
    baseline
        Name of an alternative; the first one if None.
    by, value
        Columns of a long data frame: whose payoff a row holds, and the payoff.
    pair, block
        Payoffs that were measured together (same input, same machine, same day): differences are
        taken within blocks. A column of the data frame; otherwise True for payoffs paired by
        position, a sequence of labels for all alternatives, or a mapping from names to labels. A
        pair has one payoff of each alternative, a block has any number.
    lower_is_better
        Whether payoffs are costs or times.
    level
        Confidence of all verdicts together (Bonferroni over the alternatives).
    sequential
        Give intervals that hold at every look, for payoffs that still come in. Without
        `moment_bound` this holds asymptotically.
    moment_bound, moment_order
        Known bound of E|payoff - mean|^p, p = `moment_order` in (1, 2]: `sequential` then has a
        guarantee for any number of payoffs.
    minimum_effect
        Share of the baseline's mean that matters; what "not decided" is measured against.
    seed
        Of the draws behind `probability_best`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> control, blue = 10.0 * rng.pareto(3.0, 2000), 13.0 * rng.pareto(3.0, 2000)
    >>> result = compare({"control": control, "blue": blue}, baseline="control")
    >>> print(result["blue"].sentence)
    blue earns 18 % to 46 % more than control; 95 % confidence
    >>> print(f"{result['blue'].difference.lower:.2f} .. {result['blue'].difference.upper:.2f}")
    1.00 .. 2.29
    """
    if pair is not None and block is not None:
        raise ValueError("`pair` and `block` must not be given together, but got both.")
    samples = samples_of(data, by=by, value=value, block=block if pair is None else pair)
    settings = Settings(
        baseline,
        level,
        checks.flag("lower_is_better", lower_is_better),
        checks.flag("sequential", sequential),
        moment_bound,
        moment_order,
        minimum_effect,
        single=pair is not None,
        seed=checks.integer("seed", seed, low=0),
    )
    return compare_samples([samples], settings)[0]


def compare_files(
    paths: Sequence[str | Path] | str | Path,
    settings: Settings,
    *,
    by: str | None = None,
    value: str | None = None,
    block: str | None = None,
    progress: Progress | None = None,
) -> list[Comparison]:
    """Compare what files hold: one comparison, or one for each benchmark that files share.

    Tables are read as by `compare`; several tables are an alternative each. JSON files of hyperfine
    and pytest-benchmark hold times: the entries of one file are compared with each other, equal
    names across files. `level` holds for all comparisons together.
    """
    listed_paths = [paths] if isinstance(paths, str | Path) else list(paths)
    found = read_samples(
        [Path(path) for path in listed_paths], by=by, value=value, block=block, progress=progress
    )
    return compare_samples(found, settings)


def compare_samples(groups: Sequence[Samples], settings: Settings) -> list[Comparison]:
    """Compare the alternatives of each group; the level holds for all groups together."""
    groups = [checked(samples) for samples in groups]
    family = sum(len(samples.series) - 1 for samples in groups)
    return [_compare_group(samples, settings, family) for samples in groups]


def _compare_group(samples: Samples, settings: Settings, family: int) -> Comparison:
    """Compare the alternatives of one group; `family` groups share the level."""
    names = [series.name for series in samples.series]
    base = _baseline_index(names, settings.baseline)
    corrected = 1.0 - (1.0 - settings.level) / family
    rng = checks.generator(settings.seed)
    notes = list(samples.notes)
    blocks = None
    if samples.blocks is None:
        fitted = fit_independent(samples, base, rng)
    else:
        if settings.moment_bound is not None:
            raise ValueError("`moment_bound` is for payoffs without blocks, but there are blocks.")
        table, left_out = block_means(samples, single=settings.single)
        blocks = table.shape[1]
        if left_out:
            notes.append(f"{left_out:,} blocks without payoffs of every alternative were left out")
        fitted = fit_blocked(names, table, base, rng)
    lower_is_better = samples.kind == TIME
    if settings.lower_is_better is not None:
        lower_is_better = settings.lower_is_better
    effects = estimate_effects(samples, settings, fitted, base, corrected, family)
    best = np.argmin(fitted.draws, 1) if lower_is_better else np.argmax(fitted.draws, 1)
    shares = np.bincount(best, minlength=len(names)) / len(best)
    alternatives = {}
    for i, series in enumerate(samples.series):
        estimate = fitted.means[i]
        mean, difference, ratio = effects[i]
        tail = tail_index(series.values)
        alternatives[series.name] = Alternative(
            name=series.name,
            count=series.values.size,
            mean=mean,
            difference=difference,
            ratio=ratio,
            probability_best=float(shares[i]),
            plain_mean=estimate.plain_mean,
            median=float(np.median(series.values)),
            truncated=estimate.truncated,
            largest_share=estimate.largest_share,
            tail_index=tail,
            finite_variance=finite_variance(series.values, tail),
            cautions=cautions(series.values, estimate, tail),
            **_judgment(
                series.name,
                names[base],
                difference,
                ratio,
                fitted.contrasts[i],
                settings,
                lower_is_better,
                samples.kind,
                blocks,
            ),
        )
    return Comparison(
        title=samples.title,
        alternatives=alternatives,
        baseline=names[base],
        level=settings.level,
        corrected_level=corrected,
        lower_is_better=lower_is_better,
        kind=samples.kind,
        minimum_effect=settings.minimum_effect,
        sequential=settings.sequential,
        blocks=blocks,
        assumption=assumption(settings, blocks),
        moment_bound=settings.moment_bound,
        notes=tuple(notes),
        payoffs={series.name: series.values for series in samples.series},
    )


def _baseline_index(names: list[str], baseline: str | None) -> int:
    """Return which alternative is the baseline of the analysis, the first if none is named."""
    if baseline is None:
        return 0
    if str(baseline) not in names:
        raise ValueError(
            f"`baseline` must be an alternative, but got baseline={baseline!r}; "
            f"there are {listed(names)}."
        )
    return names.index(str(baseline))


def _judgment(
    name: str,
    baseline: str,
    difference: Effect | None,
    ratio: Effect | None,
    contrast: Contrast,
    settings: Settings,
    lower_is_better: bool,
    kind: str,
    blocks: int | None,
) -> dict[str, Any]:
    """Return what the analysis says of one alternative: its verdict and the sentence."""
    if difference is None:
        return {
            "probability_better": None,
            "verdict": None,
            "sentence": f"{name} is the baseline",
            "more_payoffs": None,
        }
    statistic = contrast.difference
    above = statistic.confidence_above(0.0)
    verdict = judge(
        difference, ratio, lower_is_better=lower_is_better, minimum_effect=settings.minimum_effect
    )
    more = None
    if verdict == UNDECIDED:
        base_mean = contrast.y.mean
        effect = settings.minimum_effect * base_mean if ratio else abs(statistic.mean)
        half_width = 0.5 * (difference.upper - difference.lower)
        count = max(contrast.x.count, contrast.y.count)
        more = more_payoffs(count, half_width, statistic.standard_error, effect)
    return {
        "probability_better": 1.0 - above if lower_is_better else above,
        "verdict": verdict,
        "sentence": sentence(
            name,
            baseline,
            verdict,
            difference,
            ratio,
            level=settings.level,
            lower_is_better=lower_is_better,
            kind=kind,
            minimum_effect=settings.minimum_effect,
            more=more,
            noun="payoffs of each" if blocks is None else "blocks",
        ),
        "more_payoffs": more,
    }
