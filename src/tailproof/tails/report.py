"""A diagnosis as text: a table of arms, and a sentence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tailproof.tails.verdict import BOUNDED, GAUSSIAN, HEAVY, NOT_GAUSSIAN, silent

if TYPE_CHECKING:
    from tailproof.tails.results import ArmDiagnosis, Diagnosis

_MOST_ARMS = 40
_HEADER = (
    "arm",
    "n",
    "center",
    "kurtosis",
    "Gaussian p",
    "autocorr. (size) ",
    "shape",
    "tail index ",
    "alpha",
    "verdict",
)
_OPENING = {
    HEAVY: "Heavy-tailed",
    NOT_GAUSSIAN: "Not Gaussian, but no evidence of heavy tails",
    BOUNDED: "Light-tailed, as of bounded payoffs",
    GAUSSIAN: "Light-tailed, consistent with a Gaussian",
}


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "inf"


def _interval(value: float, low: float, high: float) -> str:
    def short(x: float) -> str:
        return f"{x:.2f}" if abs(x) < 100.0 else ("inf" if x > 0.0 else "-inf")

    return f"{short(value)} ({short(low)}, {short(high)})"


def _row(arm: ArmDiagnosis) -> tuple[str, ...]:
    hill, fit, tests, found = arm.both.hill, arm.shape, arm.normality, arm.dependence
    if silent(fit, found):  # numbers without meaning: the reason of the verdict says why
        hill = fit = None
    return (
        arm.name,
        f"{arm.n:,}",
        _number(arm.center),
        "-" if tests is None else _number(tests.kurtosis),
        "-" if tests is None else f"{tests.lilliefors_p:.4f}",
        f"{found.autocorrelation:.2f} ({found.autocorrelation_of_size:.2f})"
        + ("*" if found.significant else " "),
        "-" if fit is None else _interval(fit.shape, fit.shape_low, fit.shape_high),
        "-"
        if hill is None
        else _interval(hill.index, hill.index_low, hill.index_high) + (" " if hill.stable else "~"),
        "none" if arm.alpha is None else f"{arm.alpha:g}",
        arm.verdict,
    )


def table(diagnosis: Diagnosis) -> str:
    """Return one line an arm (at most 40 of them) and one for all arms together.

    Brackets hold intervals, and the rank autocorrelation of the deviations' sizes; a star marks
    serial dependence significant at 1 %, a tilde a tail index that changes with the threshold.
    """
    shown = list(diagnosis.arms[:_MOST_ARMS])
    rows = [_HEADER, *(_row(arm) for arm in shown)]
    if len(diagnosis.arms) > 1:
        rows.append(_row(diagnosis.pooled))
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADER))]
    last = len(_HEADER) - 1

    def line(row: tuple[str, ...]) -> str:
        cells = [
            cell.ljust(width) if i in (0, last) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    lines = [line(row) for row in rows]
    hidden = len(diagnosis.arms) - len(shown)
    if hidden:
        lines.insert(1 + len(shown), f"({hidden} more arms are in the JSON)")
    lines.insert(1, "-" * max(len(text) for text in lines))
    return "\n".join(lines)


def _counts(diagnosis: Diagnosis) -> str:
    arms = diagnosis.arms
    if len(arms) == 1:
        return ""
    rejected = sum(arm.rejected for arm in arms)
    heavy = sum(arm.heavy for arm in arms)
    return f" Of {len(arms)} arms, {rejected} are not Gaussian, {heavy} heavy-tailed on their own."


def sentence(diagnosis: Diagnosis) -> str:
    """Return verdict, evidence and advice in words."""
    pooled, advice = diagnosis.pooled, diagnosis.recommendation
    hill = pooled.both.hill
    index = ""
    if pooled.heavy and hill is not None:
        index = f"; tail index {_interval(hill.index, hill.index_low, hill.index_high)}"
        index += "" if hill.stable else " at the highest threshold, another at lower ones"
    return (
        f"{_OPENING[pooled.verdict]}: {pooled.reason}{index}.{_counts(diagnosis)} "
        f"At {diagnosis.level:.0%} confidence: {advice.statement}."
    )
