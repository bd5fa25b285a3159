"""matplotlib without a display, loaded where a picture is drawn."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from tailproof._util.optional import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(**options: Any) -> Figure:
    """Return a matplotlib figure that belongs to no window; `options` are those of `Figure`."""
    figure: Figure = require("matplotlib.figure", "plot").Figure(**options)
    return figure


def image(figure: Figure, kind: str) -> bytes:
    """Return a figure as "svg" or "png" bytes; the same figure gives the same bytes."""
    matplotlib = require("matplotlib", "plot")
    stream = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {}
    with matplotlib.rc_context({"svg.hashsalt": "tailproof"}):
        figure.savefig(stream, format=kind, metadata=metadata)
    return stream.getvalue()
