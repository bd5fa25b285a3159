"""The report: one HTML file with everything inside, to be opened from disk or sent on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tailproof import plot
from tailproof._util.console import duration, printable
from tailproof._util.html import render, svg_uri
from tailproof._util.plotting import image, plain_text
from tailproof.tune.analysis import Analysis, TrueMean
from tailproof.tune.display import format_params
from tailproof.tune.summary import (
    comparison_table,
    counts_text,
    decision_lines,
    tails_text,
)
from tailproof.tune.trial_queue import has_fail_value, outcome_of

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

# Functions of `tailproof.plot`.
PICTURES = ("course", "slices", "importance", "pairs", "payoffs", "seconds", "failures")

_MAX_FAILED = 50
_MAX_CLIPPED = 10
_OUTPUT = 400  # characters of a failed trial's output
_LONGEST_REASON = 200  # characters


def report_values(
    analysis: Analysis, study: Mapping[str, Any], true_mean: TrueMean | None = None
) -> dict[str, Any]:
    """Return what the report shows, by the template "tune/content.html", but for `heading`.

    Another page includes the report by rendering that template with these values and with the
    level of its top heading, as `heading=2`. `study` has "name", "storage", "title", "command" (as
    shown), "value", "direction" and "resume", the command line that goes on with the study.
    """
    return {
        "study": study,
        "counts": counts_text(analysis),
        "comparison": comparison_table(analysis, true_mean),
        "decision": decision_lines(analysis),
        "confirmed": bool(analysis.confirmed),
        "plots": {name: svg_uri(svg) for name, svg in pictures(analysis).items()},
        "importance": [
            (found.name, f"{found.share:.2f}", f"{found.lower:.2f} to {found.upper:.2f}")
            for found in sorted(analysis.importance, key=lambda found: -found.share)
        ],
        "level": f"{100 * analysis.recommendation.level:g}",
        "seconds": seconds_text(analysis),
        "payoffs": len(analysis.values),
        "clipped": int(analysis.clipped.sum()),
        "most_extreme": _report_rows_of_extremes(analysis),
        "tails": tails_text(analysis),
        "failed": len(analysis.failed),
        "with_fail_value": any(has_fail_value(trial) for trial in analysis.failed),
        "last_failed": _report_rows_of_failures(analysis.failed),
    }


def report_page(values: Mapping[str, Any]) -> str:
    """Return the report with these `report_values` as a page of its own."""
    title = f"tailproof tune: {values['study']['name']}"
    return render("tune/report.html", title=title, heading=1, **values)


def page_without_payoff(trials: Sequence[FrozenTrial], study: Mapping[str, Any]) -> str:
    """Return the report of a study in which every trial failed: the reasons, and how to go on."""
    reasons = Counter(_failure_reason(trial) for trial in trials)
    return render(
        "tune/no_payoff.html",
        title=f"tailproof tune: {study['name']}",
        heading=1,
        study=study,
        failed=len(trials),
        reasons=[(f"{count:,}", reason) for reason, count in reasons.most_common(_MAX_FAILED)],
        last_failed=_report_rows_of_failures(trials),
    )


def _failure_reason(trial: FrozenTrial) -> str:
    """Return why a trial failed, for the report."""
    return printable(
        str(outcome_of(trial).get("reason", trial.state.name.lower())), _LONGEST_REASON
    )


def _report_rows_of_extremes(analysis: Analysis) -> list[tuple[str, str, str]]:
    """Return report rows of clipped payoffs farthest from the median: trial, payoff, setting."""
    clipped = np.flatnonzero(analysis.clipped)
    distance = np.abs(analysis.values[clipped] - np.median(analysis.values))
    return [
        (str(analysis.numbers[i]), f"{analysis.values[i]:.6g}", format_params(analysis.params[i]))
        for i in clipped[np.argsort(-distance)][:_MAX_CLIPPED]
    ]


def _report_rows_of_failures(failed: Sequence[FrozenTrial]) -> list[tuple[str, str, str, str]]:
    """Return report rows of the latest failed trials: trial, reason, setting, end of output."""
    rows = []
    for trial in failed[-_MAX_FAILED:]:
        noted = outcome_of(trial)
        output = str(noted.get("stderr") or noted.get("stdout") or "").strip()[-_OUTPUT:]
        lines = "\n".join(printable(line.expandtabs()) for line in output.splitlines())
        reason = _failure_reason(trial)
        rows.append((str(trial.number), reason, format_params(trial.params), lines))
    return rows


def seconds_text(analysis: Analysis) -> str:
    """Return for the report how long trials took; "" if that is not known."""
    seconds = analysis.record.seconds
    if not len(seconds):
        return ""
    middle, longest = float(np.median(seconds)), float(seconds.max())
    total = duration(float(seconds.sum()))
    return f"{middle:.3g} s in the median, {longest:.3g} s at most, {total} in all"


def picture(analysis: Analysis, name: str) -> bytes:
    """Return one of the report's `PICTURES` as SVG."""
    with plain_text("tune", 9.0):
        figure: Any = getattr(plot, name)(analysis.record)
        return image(figure, "svg")


def pictures(analysis: Analysis) -> dict[str, bytes]:
    """Return the report's pictures that have something to show, by name."""
    few = len(analysis.record.names) < 2
    left_out = {"pairs"} if few else set()
    if not len(analysis.record.seconds):
        left_out.add("seconds")
    if not analysis.failed_params:
        left_out.add("failures")
    return {name: picture(analysis, name) for name in PICTURES if name not in left_out}
