"""The pictures: each draws one question on a figure of its own."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tailproof._util.plotting import new_figure, plain_text
from tailproof.plot import axes as on
from tailproof.plot.record import SearchRecord, grid, record_of
from tailproof.search import importance as search_importance
from tailproof.search.results import Prediction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PAIRED = 3  # parameters in pictures of pairs, the most important ones
_PAIR_GRID = 21
_RATE_BINS = 8
_IN_FULL = 4  # looks at the course whose intervals lie in its picture, the latest ones

Draw = Callable[[SearchRecord], "Figure"]


def _picture(draw: Draw) -> Callable[..., Figure]:
    """Return a function of any kind of search that draws its record in one style."""

    @functools.wraps(draw)
    def of_search(search: Any, *, level: float = 0.9) -> Figure:
        with plain_text(font_size=9.0):
            return draw(record_of(search, level=level))

    return of_search


@_picture
def course(record: SearchRecord) -> Figure:
    """Draw payoffs over time, the best so far, what was recommended at the time, the baseline.

    A dotted line stands before the payoffs of the confirmation.
    """
    found = [recommendation for _, recommendation in record.course]
    ends = [end for r in found[-_IN_FULL:] for end in (r.lower, r.upper)]
    now = record.recommendation.baseline
    also = [*ends, record.recommendation.mean, *([] if now is None else [now.mean])]
    limits = on.payoff_limits(record.values, also)
    figure = new_figure(figsize=(10.5, 4.2), layout="constrained")
    ax = figure.subplots()
    order = np.arange(1, len(record.values) + 1, dtype=np.float64)
    on.draw_payoffs(ax, order, record, limits)
    best = (np.minimum if record.minimize else np.maximum).accumulate(record.values)
    ax.step(
        order, np.clip(best, *limits), where="post", color=on.BEST_OBSERVED, label="best so far"
    )
    at = [n for n, _ in record.course]
    label = "robust mean of the recommended"
    ax.plot(at, [r.mean for r in found], color=on.MEAN, marker="o", ms=3, label=label)
    lower, upper = ([getattr(r, end) for r in found] for end in ("lower", "upper"))
    on.draw_band(ax, at, np.maximum(lower, limits[0]), np.minimum(upper, limits[1]), record.level)
    if now is not None:
        ax.axhline(now.mean, color=on.BASELINE, ls="--", lw=1, label="baseline")
    if (searched := record.searched) is not None:
        style: Any = {"color": on.RECOMMENDED, "ls": ":", "lw": 1}
        ax.axvline(searched + 0.5, label="confirmation begins", **style)
    ax.set(xlabel="payoffs", ylabel="payoff", xlim=(0, len(order) + 1))
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    return figure


def slice_of(record: SearchRecord, name: str) -> tuple[list[Any], Prediction]:
    """Return what a picture of a slice shows: a parameter's values, the robust mean along them."""
    along = grid(record.space, name)
    settings = [{**record.recommendation.params, name: value} for value in along]
    return along, record.optimizer.predict(settings, level=record.level)


@_picture
def slices(record: SearchRecord) -> Figure:
    """Draw the robust mean along each parameter, through the recommended configuration.

    Intervals are cut where they leave the range of payoffs and means.
    """
    best, now = record.recommendation, record.recommendation.baseline
    every = {name: slice_of(record, name) for name in record.names}
    means = [float(mean) for _, found in every.values() for mean in found.mean]
    log = on.spans_decades(record.values, means)
    # Where little is known an interval may be so wide that nothing else could be seen beside it.
    limits = on.payoff_limits(record.values, [*means, best.lower, best.upper], log=log)

    def draw(ax: Any, name: str) -> None:
        along, found = every[name]
        x = on.axis_places(record.space, name, along)
        lower, upper = np.maximum(found.lower, limits[0]), np.minimum(found.upper, limits[1])
        if on.is_choice(record.space, name):
            error = np.maximum([found.mean - lower, upper - found.mean], 0.0)
            ax.errorbar(x, found.mean, yerr=error, fmt="s", color=on.MEAN, capsize=4, ms=4)
        else:
            ax.plot(x, found.mean, color=on.MEAN, label="robust mean")
            on.draw_band(ax, x, lower, upper, found.level)
        x = on.axis_places(record.space, name, [best.params[name]])
        ax.plot(x, [best.mean], "o", color=on.RECOMMENDED, ms=5, label="recommended", zorder=5)
        on.set_payoff_axis(ax, limits, log=log)
        if now is not None:
            place = on.axis_places(record.space, name, [now.params[name]])[0]
            ax.axvline(place, color=on.BASELINE, lw=1, ls="--", label="baseline's value")

    return on.panels(record, record.names, draw, "payoff")


@_picture
def payoffs(record: SearchRecord) -> Figure:
    """Draw payoffs over each parameter, clipped ones marked, failed trials at the bottom."""
    limits = on.payoff_limits(record.values)
    jitter = np.random.default_rng(0)

    def draw(ax: Any, name: str) -> None:
        x = on.axis_places(record.space, name, [params[name] for params in record.params])
        failed = on.axis_places(record.space, name, [params[name] for params in record.failed])
        if on.is_choice(record.space, name):
            x = x + jitter.uniform(-0.25, 0.25, len(x))
            failed = failed + jitter.uniform(-0.25, 0.25, len(failed))
        on.draw_payoffs(ax, x, record, limits)
        if len(failed):
            bottom = np.full(len(failed), limits[0])
            style: Any = {"color": on.FAILED, "marker": "x", "lw": 1, "clip_on": False}
            ax.scatter(failed, bottom, s=18, label="failed", **style)
        best = on.axis_places(record.space, name, [record.recommendation.params[name]])[0]
        ax.axvline(best, color=on.MEAN, lw=1.0, ls="--", label="recommended")

    return on.panels(record, record.names, draw, "payoff")


@_picture
def importance(record: SearchRecord) -> Figure:
    """Draw how much each parameter matters for the robust mean, with intervals, largest first."""
    found = search_importance.importance(record.optimizer, level=record.level)
    found.sort(key=lambda one: one.share)
    figure = new_figure(figsize=(7.0, 0.8 + 0.32 * len(found)), layout="constrained")
    ax = figure.subplots()
    places = np.arange(len(found))
    shares = np.array([one.share for one in found])
    error = [
        shares - [one.lower for one in found],
        np.array([one.upper for one in found]) - shares,
    ]
    ax.barh(places, shares, color=on.PAYOFF, alpha=0.8, height=0.6)
    ax.errorbar(shares, places, xerr=error, fmt="none", ecolor=on.RECOMMENDED, capsize=3, lw=1)
    ax.set_yticks(places, [on.cut_label(one.name) for one in found])
    ax.set(xlabel="share of the robust mean's variance over the space (total effect)")
    ax.set_xlim(0.0, max(1.0, 1.05 * max(one.upper for one in found)))
    return figure


@_picture
def pairs(record: SearchRecord) -> Figure:
    """Draw the robust mean over pairs of the three most important parameters."""
    found = search_importance.importance(record.optimizer, level=record.level)
    ranked = sorted(found, key=lambda one: -one.share)[:_MOST_PAIRED]
    names = [one.name for one in ranked]
    shown = list(itertools.combinations(names, 2))
    figure = new_figure(figsize=(4.0 * max(len(shown), 1), 3.4), layout="constrained")
    if not shown:
        figure.text(0.5, 0.5, "one parameter: there are no pairs", ha="center", va="center")
        return figure
    best = record.recommendation
    all_axes = figure.subplots(1, len(shown), squeeze=False)[0]
    for ax, (first, second) in zip(all_axes, shown, strict=True):
        x_values, y_values = (_thinned(grid(record.space, n)) for n in (first, second))
        settings = [
            {**best.params, first: x, second: y} for y, x in itertools.product(y_values, x_values)
        ]
        mean = record.optimizer.predict(settings, level=record.level).mean
        z = mean.reshape(len(y_values), len(x_values))
        x = on.axis_places(record.space, first, x_values)
        y = on.axis_places(record.space, second, y_values)
        colors = "viridis_r" if record.minimize else "viridis"
        decades = on.spans_decades(record.values, z.ravel().tolist())
        mesh = ax.pcolormesh(
            *(x, y, z),
            shading="nearest",
            cmap=colors,
            rasterized=True,
            norm="log" if decades else "linear",
        )
        label = "robust mean" if (first, second) == shown[-1] else ""
        bar = figure.colorbar(mesh, ax=ax, label=label)
        if decades:
            on.label_log_scale(bar.ax.yaxis, (float(z.min()), float(z.max())))
        seen = [
            on.axis_places(record.space, n, [p[n] for p in record.params]) for n in (first, second)
        ]
        ax.scatter(*seen, s=5, color="white", edgecolors="black", lw=0.3, alpha=0.8)
        place = [on.axis_places(record.space, n, [best.params[n]]) for n in (first, second)]
        ax.plot(*place, "*", color="red", ms=11, mec="white")
        on.parameter_axis(ax, record.space, first)
        on.parameter_axis(ax, record.space, second, vertical=True)
    return figure


def _thinned(values: list[Any]) -> list[Any]:
    """Return at most 21 of the values of a parameter for a picture, spread evenly."""
    if len(values) <= _PAIR_GRID:
        return values
    return [values[round(i)] for i in np.linspace(0, len(values) - 1, _PAIR_GRID)]


@_picture
def seconds(record: SearchRecord) -> Figure:
    """Draw how long each trial took."""
    figure = new_figure(figsize=(10.5, 2.6), layout="constrained")
    ax = figure.subplots()
    if not len(record.seconds):
        ax.set_axis_off()
        ax.text(0.5, 0.5, "the durations of the trials are not known", ha="center", va="center")
        return figure
    order = np.arange(1, len(record.seconds) + 1)
    ax.scatter(order, record.seconds, s=8, color=on.PAYOFF, lw=0, alpha=0.7)
    if on.spans_decades(record.seconds):
        ax.set_yscale("log")
        on.label_log_scale(ax.yaxis, (float(record.seconds.min()), float(record.seconds.max())))
    else:
        ax.set_ylim(bottom=0.0)
    ax.set(xlabel="payoffs", ylabel="seconds a trial", xlim=(0, len(order) + 1))
    return figure


@_picture
def failures(record: SearchRecord) -> Figure:
    """Draw by parameter how many trials failed, and the estimated probability of failure."""
    ended = [(params, False) for params in record.params]
    ended += [(params, True) for params in record.failed]

    def draw(ax: Any, name: str) -> None:
        x = on.axis_places(record.space, name, [params[name] for params, _ in ended])
        failed = np.array([outcome for _, outcome in ended], dtype=float)
        along = grid(record.space, name)
        places = on.axis_places(record.space, name, along)
        settings = [{**record.recommendation.params, name: value} for value in along]
        probability = record.optimizer.failure_probability(settings)
        if on.is_choice(record.space, name):
            for i in range(len(places)):
                ax.bar(i, _rate(failed[x == i]), color=on.FAILED, alpha=0.3, width=0.7)
            ax.plot(places, probability, "s", color=on.FAILED, ms=4, label="probability, model")
        else:
            _draw_rates(ax, x, failed, log=bool(getattr(record.space.parameters[name], "log", 0)))
            ax.plot(places, probability, color=on.FAILED, label="probability, model")
        ax.set_ylim(0.0, 1.02)

    return on.panels(record, record.names, draw, "share that failed")


def _rate(failed: Any) -> float:
    """Return the share of failed trials that a picture shows; 0 if there are none."""
    return float(failed.mean()) if len(failed) else 0.0


def _draw_rates(ax: Any, x: Any, failed: Any, *, log: bool) -> None:
    """Draw the share of failures in bins of a numeric parameter."""
    if not len(x):
        return
    low, high = float(x.min()), float(x.max())
    if low == high:
        return
    spread = np.geomspace if log else np.linspace
    edges = spread(low, high, _RATE_BINS + 1)
    bins = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, _RATE_BINS - 1)
    heights = [_rate(failed[bins == i]) for i in range(_RATE_BINS)]
    ax.bar(
        edges[:-1], heights, np.diff(edges), align="edge", color=on.FAILED, alpha=0.3, label="share"
    )
