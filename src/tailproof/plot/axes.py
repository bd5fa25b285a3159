"""Axes of pictures: parameters, payoffs within sight, logarithmic scales, labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailproof._util.plotting import new_figure
from tailproof.plot.record import SearchRecord
from tailproof.search.space.parameters import Float, Int
from tailproof.search.space.space import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

PAYOFF, CLIPPED, FAILED = "#4878a8", "#d9822b", "#b3261e"
MEAN, RECOMMENDED, BEST_OBSERVED, BASELINE = "#14692e", "#1c2430", "#8a5fb0", "#a15c00"
_SHOWN = 0.9  # share of the payoffs that an axis must hold; the others are marked at its edge
_COLUMNS = 3
_LONGEST_LABEL = 18
_LONGEST_OPTIONS = 20  # characters of all options that fit side by side
_DECADES = 30.0  # ratio of high to low payoffs from which an axis is logarithmic


def spans_decades(values: Array, means: Sequence[float] = ()) -> bool:
    """Tell whether payoffs on an axis span a factor of 30, but for one in ten, or the means do.

    All must be positive. The means are those drawn with the payoffs.

    Examples
    --------
    >>> spans_decades(np.array([0.1, 1.0, 50.0])), spans_decades(np.array([-1.0, 100.0]))
    (True, False)
    >>> spans_decades(np.array([1.0, 2.0]), means=[1.0, 50.0])
    True
    """
    if not len(values) or min([float(values.min()), *means]) <= 0.0:
        return False
    tail = (1.0 - _SHOWN) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return bool(high / low > _DECADES or (len(means) > 0 and max(means) / min(means) > _DECADES))


def payoff_limits(
    values: Array, also: Sequence[float] = (), *, log: bool | None = None
) -> tuple[float, float]:
    """Return the range of payoffs that an axis shows: most of them, and everything in `also`.

    `log` tells whether the axis is logarithmic; by default it is if the payoffs span decades. Then
    what is not positive in `also` is left out.
    """
    log = spans_decades(values) if log is None else log
    also = [value for value in also if value > 0.0 or not log]
    tail = (1.0 - _SHOWN) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail])
    low, high = min([low, *also]), max([high, *also])
    if log:
        low = max(low, float(values.min()) / 2.0)
        factor = max(high / low, 1.1) ** 0.06
        return float(low / factor), float(high * factor)
    margin = 0.06 * (high - low) or 0.5 * abs(high) or 1.0
    return float(low - margin), float(high + margin)


def set_payoff_axis(ax: Axes, limits: tuple[float, float], *, log: bool) -> None:
    """Give the y axis its limits, and a logarithmic scale if asked for."""
    if log:
        ax.set_yscale("log")
        label_log_scale(ax.yaxis, limits)
    ax.set_ylim(*limits)


def draw_payoffs(ax: Axes, x: Array, record: SearchRecord, limits: tuple[float, float]) -> None:
    """Draw payoffs on an axis at x; clipped ones in another color.

    Those off the scale are at its edge.
    """
    low, high = limits
    values = record.values
    y = np.clip(values, low, high)
    off_above, off_below = values > high, values < low
    for clipped, color, name in ((False, PAYOFF, "payoff"), (True, CLIPPED, "payoff, clipped")):
        drawn = record.clipped == clipped
        if not drawn.any():
            continue
        inside = drawn & ~off_above & ~off_below
        ax.scatter(x[inside], y[inside], s=10, color=color, alpha=0.6, lw=0, label=name)
        for off, marker in ((off_above, "^"), (off_below, "v")):
            outside = drawn & off
            ax.scatter(
                x[outside], y[outside], s=22, color=color, marker=marker, lw=0, clip_on=False
            )
    set_payoff_axis(ax, limits, log=spans_decades(values))


def draw_band(ax: Axes, x: Any, lower: Any, upper: Any, level: float) -> None:
    """Draw the band of an interval on an axis."""
    label = f"{100 * level:g} % interval"
    ax.fill_between(x, lower, upper, color=MEAN, alpha=0.18, lw=0, label=label)


def panels(
    record: SearchRecord, names: Sequence[str], draw: Callable[[Any, str], None], ylabel: str
) -> Figure:
    """Return a figure with the axes of one panel a parameter."""
    count = max(len(names), 1)
    columns = min(_COLUMNS, count)
    rows = math.ceil(count / columns)
    size = (3.5 * columns if columns > 1 else 6.0, 2.8 * rows + 0.4)
    figure = new_figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    for ax, name in zip(axes, names, strict=False):
        draw(ax, name)
        parameter_axis(ax, record.space, name)
    for ax in axes[count:]:
        ax.remove()
    for ax in axes[::columns]:
        ax.set_ylabel(ylabel)
    handles, labels = axes[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside upper center", ncols=5, frameon=False)
    return figure


def parameter_axis(ax: Axes, space: Space, name: str, *, vertical: bool = False) -> None:
    """Label an axis with a parameter, its options or its logarithmic scale."""
    parameter = space.parameters[name]
    axis = ax.yaxis if vertical else ax.xaxis
    axis.set_label_text(cut_label(name))
    if isinstance(parameter, Float | Int):
        if parameter.log:
            (ax.set_yscale if vertical else ax.set_xscale)("log")
            label_log_scale(axis, (float(parameter.low), float(parameter.high)))
        return
    options = [option_text(option) for option in getattr(parameter, "options", ())]
    axis.set_ticks(range(len(options)), [cut_label(option) for option in options])
    (ax.set_ylim if vertical else ax.set_xlim)(-0.6, len(options) - 0.4)
    if sum(map(len, options)) > _LONGEST_OPTIONS and not vertical:
        for label in ax.get_xticklabels():
            label.set(rotation=30, ha="right", rotation_mode="anchor")


def option_text(value: Any) -> str:
    """Return an option as text for an axis: true and false as programs write them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def label_log_scale(axis: Axis, limits: tuple[float, float]) -> None:
    """Label a log axis without formulas, and between the powers of ten where there are few."""
    from matplotlib.ticker import LogLocator

    few = limits[1] / limits[0] < 1e3
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=8))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(lambda value, _: "")


def cut_label(label: str) -> str:
    """Return a label of an axis, of at most 18 printable characters."""
    plain = "".join(c if c.isprintable() else "\N{SYMBOL FOR SUBSTITUTE FORM TWO}" for c in label)
    return plain if len(plain) <= _LONGEST_LABEL else plain[: _LONGEST_LABEL - 1] + "…"


def axis_places(space: Space, name: str, values: Sequence[Any]) -> Array:
    """Return where values lie on a parameter's axis."""
    options = getattr(space.parameters[name], "options", None)
    if options is None:
        return np.array(values, dtype=np.float64)
    index = {(type(option), option): i for i, option in enumerate(options)}
    return np.array([index[type(value), value] for value in values], dtype=np.float64)


def is_choice(space: Space, name: str) -> bool:
    """Tell whether the axis of a parameter has options without an order."""
    return hasattr(space.parameters[name], "options")
