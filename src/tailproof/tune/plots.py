"""The report's plots, as SVG: convergence, slices of the robust mean, payoffs by parameter."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailproof._util.optional import require
from tailproof._util.plotting import image, new_figure
from tailproof.search.space.parameters import Float, Int
from tailproof.tune.analysis import Analysis, Slice
from tailproof.tune.command import text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

_PAYOFF, _CLIPPED, _FAILED = "#4878a8", "#d9822b", "#b3261e"
_MEAN, _RECOMMENDED, _BEST_OBSERVED = "#14692e", "#1c2430", "#8a5fb0"
_SHOWN = 0.9  # share of the payoffs that an axis must hold; the others are marked at its edge
_COLUMNS = 3
_LONGEST_LABEL = 18


def _plot_as_svg(draw: Callable[[Any], None], width: float, height: float) -> bytes:
    """Return a plot of some inches as SVG."""
    matplotlib = require("matplotlib", "tune")
    # Names and options are text, never formulas; browsers have the fonts that are missing here.
    style = {"svg.fonttype": "none", "text.parse_math": False, "font.size": 9}
    with warnings.catch_warnings(), matplotlib.rc_context(style):
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        figure = new_figure(figsize=(width, height), layout="constrained")
        draw(figure)
        return image(figure, "svg")


def _plot_limits(analysis: Analysis, also: Sequence[float] = ()) -> tuple[float, float]:
    """Return the range of payoffs to plot: most of them, and everything in `also`."""
    tail = (1.0 - _SHOWN) / 2.0
    low, high = np.quantile(analysis.values, [tail, 1.0 - tail])
    low, high = min([low, *also]), max([high, *also])
    margin = 0.06 * (high - low) or 0.5 * abs(high) or 1.0
    return float(low - margin), float(high + margin)


def _plot_payoffs(ax: Axes, x: Array, analysis: Analysis, limits: tuple[float, float]) -> None:
    """Plot payoffs at x; clipped ones in another color, those off the scale at its edge."""
    low, high = limits
    values = analysis.values
    y = np.clip(values, low, high)
    off_above, off_below = values > high, values < low
    for clipped, color, name in ((False, _PAYOFF, "payoff"), (True, _CLIPPED, "payoff, clipped")):
        drawn = analysis.clipped == clipped
        if not drawn.any():
            continue
        inside = drawn & ~off_above & ~off_below
        ax.scatter(x[inside], y[inside], s=10, color=color, alpha=0.6, lw=0, label=name)
        for off, marker in ((off_above, "^"), (off_below, "v")):
            outside = drawn & off
            ax.scatter(
                x[outside], y[outside], s=22, color=color, marker=marker, lw=0, clip_on=False
            )
    ax.set_ylim(low, high)


def convergence(analysis: Analysis) -> bytes:
    """Plot payoffs over trials, the best so far, and the recommendation's robust mean."""
    course = [recommendation for _, recommendation in analysis.course]
    ends = [end for r in course[len(course) // 2 :] for end in (r.lower, r.upper)]
    limits = _plot_limits(analysis, [*ends, analysis.recommendation.mean])

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        order = np.arange(1, len(analysis.values) + 1, dtype=np.float64)
        _plot_payoffs(ax, order, analysis, limits)
        best = (np.minimum if analysis.minimize else np.maximum).accumulate(analysis.values)
        best = np.clip(best, *limits)
        ax.step(order, best, where="post", color=_BEST_OBSERVED, label="best so far")
        at = [n for n, _ in analysis.course]
        mean = [r.mean for r in course]
        ax.plot(at, mean, color=_MEAN, marker="o", ms=3, label="robust mean of the recommended")
        lower, upper = [r.lower for r in course], [r.upper for r in course]
        _plot_band(ax, at, lower, upper, analysis.recommendation.level)
        ax.set(xlabel="payoffs", ylabel="payoff", xlim=(0, len(order) + 1))
        figure.legend(loc="outside upper center", ncols=5, frameon=False)

    return _plot_as_svg(draw, 10.5, 4.2)


def _plot_panels(analysis: Analysis, panel: Callable[[Any, Slice], None]) -> bytes:
    """Plot one panel a parameter."""
    count = len(analysis.slices)
    columns = min(_COLUMNS, count)
    rows = math.ceil(count / columns)

    def draw(figure: Any) -> None:
        axes = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
        for ax, along in zip(axes, analysis.slices, strict=False):
            panel(ax, along)
            _plot_parameter_axis(ax, analysis, along.name)
        for ax in axes[count:]:
            ax.set_axis_off()
        for ax in axes[::columns]:
            ax.set_ylabel("payoff")
        handles, labels = axes[0].get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside upper center", ncols=5, frameon=False)

    return _plot_as_svg(draw, 3.5 * columns if columns > 1 else 6.0, 2.8 * rows + 0.4)


def _plot_parameter_axis(ax: Axes, analysis: Analysis, name: str) -> None:
    parameter = analysis.space.parameters[name]
    ax.set_xlabel(_cut_axis_label(name))
    if isinstance(parameter, Float | Int):
        if parameter.log:
            _plot_log_scale(ax)
        return
    options = [text(option) for option in getattr(parameter, "options", ())]
    ax.set_xticks(range(len(options)), [_cut_axis_label(option) for option in options])
    ax.set_xlim(-0.6, len(options) - 0.4)
    if sum(map(len, options)) > 30:
        ax.tick_params(axis="x", rotation=30)


def _plot_log_scale(ax: Axes) -> None:
    """Label a log axis without formulas, and between the powers of ten where there are few."""
    from matplotlib.ticker import LogLocator

    ax.set_xscale("log")
    low, high = ax.get_xlim()
    few = high / low < 1e3
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=8))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.xaxis.set_minor_formatter(lambda value, _: "")


def _cut_axis_label(label: str) -> str:
    plain = "".join(c if c.isprintable() else "\N{SYMBOL FOR SUBSTITUTE FORM TWO}" for c in label)
    return plain if len(plain) <= _LONGEST_LABEL else plain[: _LONGEST_LABEL - 1] + "…"


def _axis_places(analysis: Analysis, name: str, values: Sequence[Any]) -> Array:
    """Return where values lie on a parameter's axis of a plot."""
    options = getattr(analysis.space.parameters[name], "options", None)
    if options is None:
        return np.array(values, dtype=np.float64)
    return np.array([options.index(value) for value in values], dtype=np.float64)


def payoffs_by_parameter(analysis: Analysis) -> bytes:
    """Plot payoffs over each parameter, clipped ones marked, failed trials at the bottom."""
    limits = _plot_limits(analysis)
    jitter = np.random.default_rng(0)

    def panel(ax: Any, along: Slice) -> None:
        name = along.name
        x = _axis_places(analysis, name, [params[name] for params in analysis.params])
        failed = _axis_places(analysis, name, [params[name] for params in analysis.failed_params])
        if hasattr(analysis.space.parameters[name], "options"):
            x = x + jitter.uniform(-0.25, 0.25, len(x))
            failed = failed + jitter.uniform(-0.25, 0.25, len(failed))
        _plot_payoffs(ax, x, analysis, limits)
        if len(failed):
            bottom = np.full(len(failed), limits[0])
            style: Any = {"color": _FAILED, "marker": "x", "lw": 1, "clip_on": False}
            ax.scatter(failed, bottom, s=18, label="failed", **style)
        best = _axis_places(analysis, name, [analysis.recommendation.params[name]])[0]
        ax.axvline(best, color=_MEAN, lw=1.0, ls="--", label="recommended")

    return _plot_panels(analysis, panel)


def slices(analysis: Analysis) -> bytes:
    """Plot the robust mean along each parameter, through the recommended setting."""
    best = analysis.recommendation

    def panel(ax: Any, along: Slice) -> None:
        x, found = _axis_places(analysis, along.name, along.values), along.prediction
        if hasattr(analysis.space.parameters[along.name], "options"):
            error = [found.mean - found.lower, found.upper - found.mean]
            ax.errorbar(x, found.mean, yerr=error, fmt="s", color=_MEAN, capsize=4, ms=4)
        else:
            ax.plot(x, found.mean, color=_MEAN, label="robust mean")
            _plot_band(ax, x, found.lower, found.upper, found.level)
        x = _axis_places(analysis, along.name, [best.params[along.name]])
        ax.plot(x, [best.mean], "o", color=_RECOMMENDED, ms=5, label="recommended", zorder=5)

    return _plot_panels(analysis, panel)


def _plot_band(ax: Axes, x: Any, lower: Any, upper: Any, level: float) -> None:
    label = f"{100 * level:g} % interval"
    ax.fill_between(x, lower, upper, color=_MEAN, alpha=0.18, lw=0, label=label)
