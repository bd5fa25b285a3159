"""matplotlib without a display, loaded where a picture is drawn."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tailproof._util.optional import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@contextlib.contextmanager
def plain_text(extra: str = "plot", font_size: float | None = None) -> Iterator[None]:
    """Draw names as text, never as formulas; browsers have the glyphs that are missing here.

    `extra` is the one that brings matplotlib, `font_size` that of all text, in points.
    """
    matplotlib = require("matplotlib", extra)
    style: dict[str, Any] = {"svg.fonttype": "none", "text.parse_math": False}
    if font_size is not None:
        style["font.size"] = font_size
    with warnings.catch_warnings(), matplotlib.rc_context(style):
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        yield


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
