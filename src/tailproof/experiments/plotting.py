"""matplotlib, loaded where it is used, without a screen."""

from __future__ import annotations

from typing import Any


def pyplot() -> Any:
    """Return matplotlib.pyplot on a backend that needs no display."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'tailproof[plot]'.") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
