"""The diagnosis of every arm and of all arms together, and the advice for the policies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks
from tailproof.means.one_sample import sample_interval
from tailproof.tails import dependence as dep
from tailproof.tails.advice import ArmTail, MomentAdvice, advise
from tailproof.tails.curves import curves
from tailproof.tails.dependence import Dependence
from tailproof.tails.files import Progress, read_table
from tailproof.tails.indices import moment, pickands, reduced_hill
from tailproof.tails.normality import REJECTION, Normality, normality
from tailproof.tails.order_statistics import OrderStatistics, deviations, largest, robust_scale
from tailproof.tails.results import ArmDiagnosis, ArmMean, Diagnosis, TailSide
from tailproof.tails.series import Series, Table, diagnosable, table, transformed
from tailproof.tails.shape import fit_shape
from tailproof.tails.verdict import judge, too_dependent

# The share of arms in which the Gaussian is rejected is tested against REJECTION at this p-value.
_TOO_MANY_REJECTIONS = 0.01
# The tail of an arm of 20 payoffs has up to a quarter of them; the pool must keep as many.
_POOL_SHARE = 0.3


def _diagnose_side(
    side: str, values: NDArray[np.float64], center: float, top: OrderStatistics | None, level: float
) -> TailSide:
    """Return the tail indices of one side of a series of payoffs."""
    top = largest(deviations(values, center, side)) if top is None else top
    return TailSide(side, reduced_hill(top, level), moment(top, level), pickands(top, level))


def _diagnose_series(
    name: str,
    values: NDArray[np.float64],
    center: float,
    top: OrderStatistics,
    dependence: Dependence,
    level: float,
    *,
    tests: Normality | None,
    rejected: bool,
) -> ArmDiagnosis:
    """Diagnose one series whose dependence and normality are known, but for its alpha."""
    fit = fit_shape(top, level, design_effect=dependence.design_effect)
    verdict, reason = judge(rejected, fit, dependence, float(np.mean(values == center)))
    return ArmDiagnosis(
        name=name,
        n=values.size,
        center=center,
        scale=robust_scale(np.abs(values - center)),
        both=_diagnose_side("both", values, center, top, level),
        right=_diagnose_side("right", values, center, None, level),
        left=_diagnose_side("left", values, center, None, level),
        shape=fit,
        normality=tests,
        rejected=rejected,
        dependence=dependence,
        verdict=verdict,
        reason=reason,
        alpha=None,
        curves=curves(values, center, top),
    )


def _diagnosis_with_advice(
    diagnosis: ArmDiagnosis, top: OrderStatistics, arms: list[ArmTail], level: float
) -> tuple[ArmDiagnosis, MomentAdvice]:
    """Return the diagnosis of `arms` together with its alpha, and the advice."""
    advice = advise(
        arms,
        top,
        level,
        design_effect=diagnosis.dependence.design_effect,
        too_dependent=too_dependent(diagnosis.shape, diagnosis.dependence),
        heavy=diagnosis.heavy,
    )
    return replace(diagnosis, alpha=advice.alpha), advice


def _diagnose_arm(
    arm: Series, level: float, seed: int
) -> tuple[ArmDiagnosis, ArmTail, MomentAdvice]:
    """Return the diagnosis of one arm's payoffs, its tail, and the advice on moments."""
    values, center = arm.values, float(np.median(arm.values))
    top = largest(np.abs(values - center))
    tests, dependence = normality(values, seed), dep.dependence(values, center)
    diagnosis = _diagnose_series(
        arm.name, values, center, top, dependence, level, tests=tests, rejected=tests.rejected
    )
    hill, heavy = diagnosis.both.hill, diagnosis.heavy
    tail = ArmTail(arm.name, values, center, top, hill, dependence.design_effect, heavy)
    diagnosis, advice = _diagnosis_with_advice(diagnosis, top, [tail], level)
    mean, interval = sample_interval(values, level)
    estimate = ArmMean(mean, interval.lower, interval.upper, level)
    return replace(diagnosis, mean=estimate), tail, advice


def _diagnose_pool(
    source: Table, arms: list[ArmDiagnosis], tails: list[ArmTail], level: float
) -> tuple[ArmDiagnosis, MomentAdvice]:
    """Diagnose all arms together: deviations from the arms' medians over the arms' scales."""
    from scipy.stats import binom

    parts = [(s.values - a.center) / a.scale for s, a in zip(source.arms, arms, strict=True)]
    across = 1.0
    if source.aligned:
        across = dep.across_arms(np.abs(np.stack(parts, axis=1)) > 1.0)
    values = np.concatenate(parts)
    top = largest(np.abs(values), keep=max(int(_POOL_SHARE * values.size), 200))
    dependence = dep.pooled([(a.n, a.dependence) for a in arms], across)
    by_chance = float(binom.sf(sum(a.rejected for a in arms) - 1, len(arms), REJECTION))
    rejected = by_chance < _TOO_MANY_REJECTIONS
    diagnosis = _diagnose_series(
        f"all {len(arms)} arms", values, 0.0, top, dependence, level, tests=None, rejected=rejected
    )
    return _diagnosis_with_advice(diagnosis, top, tails, level)


def _dependence_note(pooled: ArmDiagnosis) -> list[str]:
    """Return a warning if the payoffs of the diagnosis are not independent."""
    d = pooled.dependence
    if d.design_effect <= 1.0:
        return []
    together = f", arms vary together ({d.across:.1f} times)" if d.across > 1.0 else ""
    scope = "are for independent draws from the payoffs seen, not for the series' future"
    consequence = scope if too_dependent(pooled.shape, d) else "allow for it"
    return [
        f"payoffs are not independent: rank autocorrelation {d.autocorrelation:.2f}, of sizes "
        f"{d.autocorrelation_of_size:.2f}{together}; {pooled.n:,} payoffs are worth "
        f"{pooled.n / d.design_effect:,.0f} independent ones. Index intervals assume independence "
        f"and are too narrow; alpha and v {consequence}"
    ]


def _diagnose_table(source: Table, transform: str, level: float, seed: int) -> Diagnosis:
    """Return the diagnosis of all arms of a table, by themselves and pooled."""
    source = diagnosable(transformed(source, transform))
    examined = [_diagnose_arm(arm, level, seed) for arm in source.arms]
    arms = [diagnosis for diagnosis, _, _ in examined]
    pooled, advice = arms[0], examined[0][2]
    if len(arms) > 1:
        pooled, advice = _diagnose_pool(source, arms, [tail for _, tail, _ in examined], level)
    notes = (*source.notes, *_dependence_note(pooled))
    return Diagnosis(tuple(arms), pooled, advice, level, seed, notes)


def diagnose(
    payoffs: Any,
    by: ArrayLike | None = None,
    seed: int = 0,
    *,
    level: float = 0.9,
    transform: str = "none",
) -> Diagnosis:
    """Diagnose how heavy the tails of `payoffs` are, and which alpha and v policies may be given.

    Parameters
    ----------
    payoffs : array of shape (n,) or (rows, arms), or mapping from names to arrays
        Payoffs in the order they came. Columns of a table are arms observed together.
    by : array of shape (n,), optional
        The arm of each payoff, for `payoffs` of shape (n,).
    seed : int
        Seed of the Monte Carlo p-value and of subsamples (over 100,000 payoffs an arm).
    level : float
        Confidence level of all two-sided intervals, and of v.
    transform : {"none", "log-returns", "differences"}
        Applied to each arm first.

    Notes
    -----
    Arms are centered at their medians. `tailproof.tails.verdict` describes the verdict,
    `tailproof.tails.indices` the tail indices and `tailproof.tails.moments` alpha and v.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> diagnosis = diagnose(rng.standard_t(2.5, size=5_000))
    >>> diagnosis.verdict
    'heavy-tailed'
    >>> hill = diagnosis.pooled.both.hill
    >>> hill.index_lower < 2.5 < hill.index_upper
    True
    >>> diagnose(rng.uniform(size=5_000)).verdict
    'light-tailed (bounded)'
    """
    level = checks.in_unit_interval("level", level, closed_above=False)
    seed = checks.integer("seed", seed, low=0)
    return _diagnose_table(table(payoffs, by), transform, level, seed)


def diagnose_file(
    path: str | Path,
    by: str | None = None,
    value: str | None = None,
    seed: int = 0,
    *,
    level: float = 0.9,
    transform: str = "none",
    progress: Progress | None = None,
) -> Diagnosis:
    r"""Diagnose the payoffs in a CSV or Parquet file.

    Parameters
    ----------
    path : str or Path
        A `.csv` or `.parquet` file; the latter needs `pip install tailproof[parquet]`.
    by : str, optional
        The column that names the arm of each row (a long table).
    value : str, optional
        The column of payoffs. Without `by` all of them are one arm. Without both, every numeric
        column is an arm (a wide table), and a first column of dates or text is left out.
    seed, level, transform
        As in `diagnose`.
    progress : callable, optional
        Called with the number of rows read so far, about every million rows.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "payoffs.csv"
    >>> _ = path.write_text("arm,payoff\n" + "".join(f"a,{i % 7}\n" for i in range(100)))
    >>> diagnose_file(path, by="arm", value="payoff").arms[0].n
    100
    >>> folder.cleanup()
    """
    level = checks.in_unit_interval("level", level, closed_above=False)
    seed = checks.integer("seed", seed, low=0)
    source = read_table(path, by=by, value=value, progress=progress)
    return _diagnose_table(source, transform, level, seed)
