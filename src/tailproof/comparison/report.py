"""The HTML page of one or more comparisons: one file with everything inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tailproof._util.html import render, svg_uri
from tailproof.comparison import plots
from tailproof.comparison.results import Comparison
from tailproof.comparison.text import (
    DATA_RIGHT,
    MEANS_RIGHT,
    data_table,
    footnotes,
    heading,
    means_table,
    verdict_lines,
)

_MOST_PLOTTED = 30  # comparisons with plots on one page


def report_page(comparisons: Sequence[Comparison]) -> str:
    """Return the HTML page of comparisons; only the first 30 of them have plots."""
    title = "tailproof compare" + (f": {comparisons[0].title}" if len(comparisons) == 1 else "")
    parts = [_report_part(c, with_plots=i < _MOST_PLOTTED) for i, c in enumerate(comparisons)]
    return render("comparison/report.html", title=title.removesuffix(": "), parts=parts)


def _report_part(comparison: Comparison, *, with_plots: bool) -> dict[str, Any]:
    """Return the values of one comparison for the template of the page."""
    drawn = plots.images(comparison) if with_plots else {}
    return {
        "title": comparison.title or f"{len(comparison)} alternatives",
        "heading": heading(comparison),
        "verdicts": verdict_lines(comparison),
        "means": means_table(comparison),
        "means_right": MEANS_RIGHT,
        "data": data_table(comparison),
        "data_right": DATA_RIGHT,
        "plots": {name: svg_uri(svg) for name, svg in drawn.items()},
        "plotted": len(plots.shown(comparison)),
        "alternatives": len(comparison),
        "footnotes": footnotes(comparison),
    }
