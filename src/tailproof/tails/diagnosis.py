"""Diagnosing: every arm, all arms together, and what to give to the policies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from tailproof._util import checks
from tailproof.tails import dependence as dep
from tailproof.tails.curves import curves
from tailproof.tails.dependence import Dependence
from tailproof.tails.indices import moment, pickands, reduced_hill
from tailproof.tails.normality import REJECTION, Normality, normality
from tailproof.tails.order import Top, deviations, largest, robust_scale
from tailproof.tails.recommendation import Member, Pool, Recommendation, recommend
from tailproof.tails.results import ArmDiagnosis, Diagnosis, TailSide
from tailproof.tails.series import Series, Table, diagnosable, table, transformed
from tailproof.tails.shape import fit_shape
from tailproof.tails.tables import Progress, read_table
from tailproof.tails.verdict import judge, silent

# The share of arms in which the Gaussian is rejected is tested against REJECTION at this level.
_TOO_MANY_REJECTIONS = 0.01
# Arms of down to 20 payoffs put up to a quarter of them into the tail; the pool must reach as far.
_POOL_KEPT = 0.3


def _side(side: str, top: Top, level: float) -> TailSide:
    return TailSide(side, reduced_hill(top, level), moment(top, level), pickands(top, level))


def _examine(
    name: str,
    values: NDArray[np.float64],
    top: Top,
    level: float,
    *,
    center: float,
    dependence: Dependence,
    tests: Normality | None,
    rejected: bool,
) -> ArmDiagnosis:
    """Diagnose one series whose dependence and normality are known; alpha is left to the advice."""
    fit = fit_shape(top, level, design_effect=dependence.design_effect)
    verdict, reason = judge(rejected, fit, dependence)
    right = largest(deviations(values, center, "right"))
    left = largest(deviations(values, center, "left"))
    return ArmDiagnosis(
        name=name,
        n=values.size,
        center=center,
        scale=robust_scale(np.abs(values - center)),
        both=_side("both", top, level),
        right=_side("right", right, level),
        left=_side("left", left, level),
        shape=fit,
        normality=tests,
        rejected=rejected,
        dependence=dependence,
        verdict=verdict,
        reason=reason,
        alpha=None,
        curves=curves(values, center, top),
    )


def _advise(
    whole: ArmDiagnosis, top: Top, members: list[Member], level: float
) -> tuple[ArmDiagnosis, Recommendation]:
    """Return `whole` with its alpha, and the advice for the arms in it."""
    pool = Pool(
        arms=members,
        top=top,
        design_effect=whole.dependence.design_effect,
        silent=silent(whole.shape, whole.dependence),
    )
    advice = recommend(pool, level)
    return replace(whole, alpha=advice.alpha), advice


def _examine_arm(
    arm: Series, level: float, seed: int
) -> tuple[ArmDiagnosis, Member, Recommendation]:
    center = float(np.median(arm.values))
    top = largest(np.abs(arm.values - center))
    tests = normality(arm.values, seed)
    dependence = dep.dependence(arm.values, center)
    found = _examine(
        arm.name,
        arm.values,
        top,
        level,
        center=center,
        dependence=dependence,
        tests=tests,
        rejected=tests.rejected,
    )
    member = Member(
        name=arm.name,
        values=arm.values,
        median=center,
        top=top,
        hill=found.both.hill,
        design_effect=dependence.design_effect,
        heavy=found.heavy,
    )
    found, advice = _advise(found, top, [member], level)
    return found, member, advice


def _examine_pool(
    source: Table, arms: list[ArmDiagnosis], level: float
) -> tuple[ArmDiagnosis, Top]:
    """Diagnose all arms together: deviations from the arms' medians over the arms' scales."""
    parts = [(s.values - a.center) / a.scale for s, a in zip(source.arms, arms, strict=True)]
    across = 1.0
    if source.aligned:
        across = dep.across_arms(np.abs(np.stack(parts, axis=1)) > 1.0)
    values = np.concatenate(parts)
    z = np.abs(values)
    top = largest(z, keep=max(int(_POOL_KEPT * z.size), 200))
    rejections = sum(a.rejected for a in arms)
    by_chance = float(binom.sf(rejections - 1, len(arms), REJECTION))
    found = _examine(
        f"all {len(arms)} arms",
        values,
        top,
        level,
        center=0.0,
        dependence=dep.pooled([(a.n, a.dependence) for a in arms], across),
        tests=None,
        rejected=by_chance < _TOO_MANY_REJECTIONS,
    )
    return found, top


def _dependence_note(pooled: ArmDiagnosis) -> list[str]:
    found = pooled.dependence
    if found.design_effect <= 1.0:
        return []
    together = f", arms vary together ({found.across:.1f} times)" if found.across > 1.0 else ""
    consequence = (
        "alpha and v are for independent draws from the payoffs seen, not for the series' future"
        if silent(pooled.shape, found)
        else "alpha and v allow for it"
    )
    return [
        f"payoffs are not independent: rank autocorrelation {found.autocorrelation:.2f}, "
        f"of sizes {found.autocorrelation_of_size:.2f}{together}; "
        f"{pooled.n:,} payoffs tell as much as {pooled.n / found.design_effect:,.0f} independent "
        f"ones. Index intervals assume independence and are too narrow; {consequence}"
    ]


def _diagnose_table(source: Table, *, transform: str, level: float, seed: int) -> Diagnosis:
    source = diagnosable(transformed(source, transform))
    examined = [_examine_arm(arm, level, seed) for arm in source.arms]
    arms = [found for found, _, _ in examined]
    if len(arms) == 1:
        pooled, advice = arms[0], examined[0][2]
    else:
        whole, top = _examine_pool(source, arms, level)
        pooled, advice = _advise(whole, top, [member for _, member, _ in examined], level)
    return Diagnosis(
        arms=tuple(arms),
        pooled=pooled,
        recommendation=advice,
        level=level,
        seed=seed,
        notes=(*source.notes, *_dependence_note(pooled)),
    )


def diagnose(
    payoffs: Any,
    by: ArrayLike | None = None,
    seed: int = 0,
    *,
    level: float = 0.9,
    transform: str = "none",
) -> Diagnosis:
    """Say how heavy the tails of `payoffs` are, and which alpha and v the policies may be given.

    Parameters
    ----------
    payoffs : array of shape (n,) or (rows, arms), or mapping from names to arrays
        Payoffs in the order they came. Columns of a table are arms observed together.
    by : array of shape (n,), optional
        The arm of each payoff, for `payoffs` of shape (n,).
    seed : int
        Of the Monte Carlo p-value and of subsamples (over 100,000 payoffs an arm).
    level : float
        Confidence of all two-sided intervals, and of v.
    transform : {"none", "log-returns", "differences"}
        Applied to each arm first.

    Returns
    -------
    Diagnosis

    Notes
    -----
    Arms are centered at their medians. The verdict keeps "not Gaussian" and "heavy-tailed" apart
    (see `tailproof.tails.verdict`); tail indices are those of `tailproof.tails.indices`, alpha and
    v those of `tailproof.tails.moments`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = diagnose(rng.standard_t(2.5, size=5_000))
    >>> found.verdict
    'heavy-tailed'
    >>> low, high = found.pooled.both.hill.index_low, found.pooled.both.hill.index_high
    >>> low < 2.5 < high
    True
    >>> diagnose(rng.uniform(size=5_000)).verdict
    'light-tailed (bounded)'
    """
    level = checks.in_unit_interval("level", level, closed_above=False)
    seed = checks.integer("seed", seed, low=0)
    return _diagnose_table(table(payoffs, by), transform=transform, level=level, seed=seed)


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

    Returns
    -------
    Diagnosis

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
    return _diagnose_table(source, transform=transform, level=level, seed=seed)
