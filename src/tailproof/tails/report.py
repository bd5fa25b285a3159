"""A diagnosis as text: a table of arms, and a sentence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tailproof._util.console import text_table
from tailproof.tails.verdict import BOUNDED, GAUSSIAN, HEAVY, NOT_GAUSSIAN, SPARSE, too_dependent

if TYPE_CHECKING:
    from tailproof.tails.results import ArmDiagnosis, Diagnosis

_MAX_ARMS = 40
_HEADER = (
    *("arm", "n", "robust mean", "center", "kurtosis", "Gaussian p", "autocorr. (size)"),
    *("shape", "tail index", "alpha", "verdict"),
)
_RIGHT_ALIGNED = (1, 3, 4, 5, 9)
_OPENING = {
    HEAVY: "Heavy-tailed",
    NOT_GAUSSIAN: "Not Gaussian, but no evidence of heavy tails",
    BOUNDED: "Light-tailed, as of bounded payoffs",
    GAUSSIAN: "Light-tailed, consistent with a Gaussian",
    SPARSE: "Sparse, with no evidence of heavy tails",
}


def _cell_number(value: float) -> str:
    """Return a number as a cell of the diagnosis's text report."""
    return f"{value:.4g}" if math.isfinite(value) else "inf"


def _cell_interval(value: float, lower: float, upper: float) -> str:
    """Return an estimate with its interval as a cell of the diagnosis's text report."""

    def short(x: float) -> str:
        return f"{x:.2f}" if abs(x) < 100.0 else ("inf" if x > 0.0 else "-inf")

    return f"{short(value)} ({short(lower)}, {short(upper)})"


def _cell_mean(arm: ArmDiagnosis) -> str:
    """Return the mean of one arm as a cell of the diagnosis's text report."""
    if arm.mean is None:
        return "-"
    mean, lower, upper = (f"{x:.4g}" for x in (arm.mean.mean, arm.mean.lower, arm.mean.upper))
    return f"{mean} ({lower}, {upper})"


def _arm_row(arm: ArmDiagnosis) -> tuple[str, ...]:
    """Return the row of one arm in the diagnosis's text report."""
    hill, fit, tests, dependence = arm.both.hill, arm.shape, arm.normality, arm.dependence
    if too_dependent(fit, dependence):  # these estimates mean nothing: the verdict says why
        hill = fit = None
    star = "*" if dependence.significant else ""
    shape = index = "-"
    if fit is not None:
        shape = _cell_interval(fit.shape, fit.shape_lower, fit.shape_upper)
    if hill is not None:
        index = _cell_interval(hill.index, hill.index_lower, hill.index_upper)
        index += "" if hill.stable else "~"
    return (
        arm.name,
        f"{arm.n:,}",
        _cell_mean(arm),
        _cell_number(arm.center),
        "-" if tests is None else _cell_number(tests.kurtosis),
        "-" if tests is None else f"{tests.lilliefors_p:.4f}",
        f"{dependence.autocorrelation:.2f} ({dependence.autocorrelation_of_size:.2f}){star}",
        shape,
        index,
        "none" if arm.alpha is None else f"{arm.alpha:g}",
        arm.verdict,
    )


def table(diagnosis: Diagnosis) -> str:
    """Return the report's table: one line for each arm (at most 40) and one for all arms together.

    Brackets hold intervals, and the rank autocorrelation of the deviations' sizes; a star marks
    serial dependence significant at 1 %, a tilde a tail index that changes with the threshold.
    """
    rows = [_arm_row(arm) for arm in diagnosis.arms[:_MAX_ARMS]]
    if len(diagnosis.arms) > 1:
        rows.append(_arm_row(diagnosis.pooled))
    text = text_table(_HEADER, rows, _RIGHT_ALIGNED)
    hidden = len(diagnosis.arms) - _MAX_ARMS
    return f"{text}\n({hidden} more arms are in the JSON)" if hidden > 0 else text


def _arm_counts(diagnosis: Diagnosis) -> str:
    """Say in the report how many of the arms are not Gaussian, and how many are heavy-tailed."""
    arms = diagnosis.arms
    if len(arms) == 1:
        return ""
    rejected = sum(arm.rejected for arm in arms)
    heavy = sum(arm.heavy for arm in arms)
    return f" Of {len(arms)} arms, {rejected} are not Gaussian, {heavy} heavy-tailed on their own."


def sentence(diagnosis: Diagnosis) -> str:
    """Return the sentence of a diagnosis's text report: verdict, evidence and advice."""
    pooled, advice = diagnosis.pooled, diagnosis.advice
    hill = pooled.both.hill
    index = ""
    if pooled.heavy and hill is not None:
        index = f"; tail index {_cell_interval(hill.index, hill.index_lower, hill.index_upper)}"
        index += "" if hill.stable else " at the highest threshold, another at lower ones"
    return (
        f"{_OPENING[pooled.verdict]}: {pooled.reason}{index}.{_arm_counts(diagnosis)} "
        f"At {diagnosis.level:.0%} confidence: {advice.statement}."
    )
