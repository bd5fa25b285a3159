"""Plots of a comparison: distributions, differences with intervals, payoffs in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailproof._util.console import printable
from tailproof._util.plotting import image, new_figure, plain_text
from tailproof.comparison.results import BETTER, WORSE, Alternative, Comparison
from tailproof.means.robust import robust_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

_BODY, _MEAN, _NEUTRAL, _BASE = "#4878a8", "#1c2430", "#8a94a3", "#d9822b"
_COLORS = {BETTER: "#14692e", WORSE: "#b3261e"}
_MOST_SHOWN = 24  # alternatives
_MOST_POINTS = 600  # of one alternative
_MOST_COURSES = 6
_DECADES = 30.0  # ratio of the largest to the smallest payoff from which axes are logarithmic
_PIECES = 20  # of a course, with one robust mean each
_FONT_SIZE = 9.0


def shown(comparison: Comparison) -> list[Alternative]:
    """Return the alternatives to plot: the baseline and the best ones by mean."""
    return comparison.ranked[:_MOST_SHOWN]


def _drawn(draw: Callable[[Figure], None], width: float, height: float) -> Figure:
    """Return a figure of a comparison, drawn in its style."""
    with plain_text(font_size=_FONT_SIZE):
        result = new_figure(figsize=(width, height), layout="constrained")
        draw(result)
    return result


def _svg(draw: Callable[[Figure], None], width: float, height: float) -> bytes:
    """Return a plot of a comparison as SVG."""
    with plain_text("report", _FONT_SIZE):
        return image(_drawn(draw, width, height), "svg")


def _height(rows: int) -> float:
    """Return the height of a plot of so many alternatives, in inches."""
    return 1.1 + 0.6 * rows


def figure(comparison: Comparison) -> Figure:
    """Return one figure with all three plots of a comparison."""
    rows = len(shown(comparison))

    def draw(result: Figure) -> None:
        heights = (_height(rows), _height(rows), 3.0)
        for ax, panel in zip(
            result.subplots(3, 1, height_ratios=heights),
            (draw_distributions, draw_differences, draw_course),
            strict=True,
        ):
            panel(ax, comparison)

    return _drawn(draw, 9.0, 2 * _height(rows) + 3.0)


def images(comparison: Comparison) -> dict[str, bytes]:
    """Return the plots of a comparison as SVG, by name."""
    height = _height(len(shown(comparison)))
    panels: dict[str, tuple[Any, float]] = {
        "distributions": (draw_distributions, height),
        "differences": (draw_differences, height),
        "course": (draw_course, 3.4),
    }

    def draw(panel: Callable[[Axes, Comparison], None]) -> Callable[[Figure], None]:
        return lambda result: panel(result.subplots(), comparison)

    return {name: _svg(draw(panel), 10.0, h) for name, (panel, h) in panels.items()}


def _label(name: str) -> str:
    """Return the name of an alternative, short enough for a plot."""
    return printable(name, 28)


def _axis_name(comparison: Comparison) -> str:
    """Return what the payoff axis in a plot of a comparison is called."""
    return comparison.unit.name or "payoff"


def _thinned(values: Array) -> NDArray[np.intp]:
    """Return which payoffs to plot, at most `_MOST_POINTS`: the extremes, others evenly spaced."""
    if values.size <= _MOST_POINTS:
        return np.arange(values.size)
    order = np.argsort(values, kind="stable")
    even = np.linspace(0, values.size - 1, _MOST_POINTS - 40).astype(np.intp)
    return np.unique(np.concatenate([order[:20], order[-20:], even]))


def _set_value_scale(comparison: Comparison, names: list[str], axis: Any, set_scale: Any) -> None:
    """Plot on a log axis where the payoffs span decades, linear near 0 if some are there."""
    values = np.concatenate([comparison.payoffs[name] for name in names]) / comparison.unit.size
    low, high = float(values.min()), float(values.max())
    size = np.abs(values[values != 0.0])
    if not size.size:
        return
    if low > 0.0:
        if high / low < _DECADES:
            return
        set_scale("log")
    else:
        middle = float(np.median(size))
        if float(size.max()) < _DECADES * middle:
            return
        set_scale("symlog", linthresh=middle)
    # Without formulas, which would not be shown as such.
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(lambda value, _: "")


def draw_distributions(ax: Axes, comparison: Comparison) -> None:
    """Plot single payoffs, their middle half and nine tenths, the median and the robust mean."""
    rows, size = shown(comparison), comparison.unit.size
    jitter = np.random.default_rng(0)
    for i, a in enumerate(rows):
        values = comparison.payoffs[a.name] / comparison.unit.size
        picked = values[_thinned(values)]
        y = i + jitter.uniform(-0.28, 0.28, picked.size)
        ax.scatter(picked, y, s=6, color=_BODY, alpha=0.35, lw=0, rasterized=picked.size > 400)
        q05, q25, q50, q75, q95 = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
        first = i == 0
        ax.plot([q05, q95], [i, i], color=_BODY, lw=1.5, label="5 % to 95 %" if first else None)
        ax.plot([q25, q75], [i, i], color=_BODY, lw=5, label="25 % to 75 %" if first else None)
        ax.plot([q50], [i], "|", color="white", ms=9, mew=2)
        ax.errorbar(
            [a.mean.estimate / size],
            [i - 0.38],
            xerr=[
                [(a.mean.estimate - a.mean.lower) / size],
                [(a.mean.upper - a.mean.estimate) / size],
            ],
            fmt="o",
            color=_BASE if a.name == comparison.baseline else _MEAN,
            ms=4,
            capsize=3,
            label="robust mean" if first else None,
        )
    _set_value_scale(comparison, [a.name for a in rows], ax.xaxis, ax.set_xscale)
    ax.set_yticks(range(len(rows)), [_label(a.name) for a in rows])
    ax.set_ylim(len(rows) - 0.4, -0.7)
    ax.set_xlabel(_axis_name(comparison))
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 1.0 + 0.9 / (len(rows) + 1)),
        ncols=3,
        frameon=False,
    )


def draw_differences(ax: Axes, comparison: Comparison) -> None:
    """Plot ratios to the baseline with their intervals, or differences where there is no ratio."""
    rows = [a for a in shown(comparison) if a.difference is not None]
    relative = all(a.ratio is not None for a in rows)
    for i, a in enumerate(rows):
        effect = a.ratio if relative else a.difference
        assert effect is not None
        offset, unit = (1.0, 100.0) if relative else (0.0, 1.0 / comparison.unit.size)
        value = unit * (effect.estimate - offset)
        lower, upper = unit * (effect.lower - offset), unit * (effect.upper - offset)
        color = _COLORS.get(a.verdict or "", _NEUTRAL)
        bar = [[value - lower], [upper - value]]
        ax.errorbar([value], [i], xerr=bar, fmt="o", color=color, ms=5, capsize=4, lw=2)
        ax.annotate(
            a.verdict or "",
            (upper, i),
            (8, 0),
            textcoords="offset points",
            va="center",
            color=color,
        )
    ax.axvline(0.0, color=_BASE, lw=1.2)
    ax.margins(x=0.15)
    ax.set_yticks(range(len(rows)), [_label(a.name) for a in rows])
    ax.set_ylim(len(rows) - 0.4, -0.7)
    unit_name = "% of its mean" if relative else _axis_name(comparison)
    ax.set_xlabel(f"mean less that of {_label(comparison.baseline)}, {unit_name}")


def draw_course(ax: Axes, comparison: Comparison) -> None:
    """Plot the alternatives' payoffs in the order they came, and robust means of pieces."""
    rows = shown(comparison)[:_MOST_COURSES]
    cycle = (_BASE, _BODY, "#14692e", "#8a5fb0", "#b3261e", "#5b6b1f")
    for i, a in enumerate(rows):
        values = comparison.payoffs[a.name] / comparison.unit.size
        picked = _thinned(values)
        ax.scatter(picked + 1, values[picked], s=8, color=cycle[i], alpha=0.3, lw=0)
        pieces = np.array_split(np.arange(values.size), min(_PIECES, max(values.size // 10, 1)))
        x = [float(piece.mean()) + 1.0 for piece in pieces]
        y = [robust_mean(values[piece]).mean for piece in pieces]
        ax.plot(x, y, color=cycle[i], lw=1.8, marker="o", ms=3, label=_label(a.name))
    _set_value_scale(comparison, [a.name for a in rows], ax.yaxis, ax.set_yscale)
    ax.set(xlabel="number of the payoff", ylabel=_axis_name(comparison))
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
