"""The pictures of the report, as SVG: those of `tailproof.plot`, of an analysis."""

from __future__ import annotations

import warnings
from typing import Any

from tailproof import plot
from tailproof._util.optional import require
from tailproof._util.plotting import image
from tailproof.tune.analysis import Analysis

NAMES = ("course", "slices", "importance", "pairs", "payoffs", "seconds", "failures")


def picture(analysis: Analysis, name: str) -> bytes:
    """Return one of the report's pictures `NAMES` as SVG."""
    matplotlib = require("matplotlib", "tune")
    figure: Any = getattr(plot, name)(analysis.record)
    # Browsers have the fonts that are missing here.
    style = {"svg.fonttype": "none", "text.parse_math": False, "font.size": 9}
    with warnings.catch_warnings(), matplotlib.rc_context(style):
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
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
