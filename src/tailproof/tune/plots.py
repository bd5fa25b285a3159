"""The pictures of the report, as SVG: those of `tailproof.plot`, of an analysis."""

from __future__ import annotations

from typing import Any

from tailproof import plot
from tailproof._util.plotting import image, plain_text
from tailproof.tune.analysis import Analysis

NAMES = ("course", "slices", "importance", "pairs", "payoffs", "seconds", "failures")


def picture(analysis: Analysis, name: str) -> bytes:
    """Return one of the report's pictures `NAMES` as SVG."""
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
    return {name: picture(analysis, name) for name in NAMES if name not in left_out}
