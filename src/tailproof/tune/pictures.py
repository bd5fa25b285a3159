"""The report's pictures, as SVG: convergence, slices of the robust mean, payoffs by setting."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailproof.search.space.parameters import Float, Int
from tailproof.tails.picture import figure_class
from tailproof.tune.answer import Answer, Slice
from tailproof.tune.template import text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

_POINT, _TAMED, _FAILED, _MEAN, _BEST, _LUCKY = (
    "#4878a8",
    "#d9822b",
    "#b3261e",
    "#14692e",
    "#1c2430",
    "#8a5fb0",
)
_SEEN = 0.9  # share of the payoffs that an axis must hold; the others are marked at its edge
_COLUMNS = 3
_LONGEST_LABEL = 18


def _svg(draw: Callable[[Any], None], width: float, height: float) -> bytes:
    """Draw a figure of some inches."""
    import matplotlib

    # Names and options are text, never formulas; browsers have the fonts that are missing here.
    style: Any = {
        "svg.fonttype": "none",
        "text.parse_math": False,
        "font.size": 9,
        "svg.hashsalt": "t",
    }
    with warnings.catch_warnings(), matplotlib.rc_context(style):
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        figure = figure_class()(figsize=(width, height), layout="constrained")
        draw(figure)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def _window(answer: Answer, also: Sequence[float] = ()) -> tuple[float, float]:
    """Return the range of payoffs to show: most of them, and everything in `also`."""
    tail = (1.0 - _SEEN) / 2.0
    low, high = np.quantile(answer.values, [tail, 1.0 - tail])
    low, high = min([low, *also]), max([high, *also])
    margin = 0.06 * (high - low) or 0.5 * abs(high) or 1.0
    return float(low - margin), float(high + margin)


def _payoffs(ax: Axes, x: Array, answer: Answer, window: tuple[float, float]) -> None:
    """Draw payoffs at x; tamed ones in another color, those off the scale at its edge."""
    low, high = window
    values = answer.values
    y = np.clip(values, low, high)
    off_above, off_below = values > high, values < low
    for tamed, color, name in ((False, _POINT, "payoff"), (True, _TAMED, "payoff, tamed")):
        mine = answer.tamed == tamed
        if not mine.any():
            continue
        inside = mine & ~off_above & ~off_below
        ax.scatter(x[inside], y[inside], s=10, color=color, alpha=0.6, lw=0, label=name)
        for off, marker in ((off_above, "^"), (off_below, "v")):
            out = mine & off
            ax.scatter(x[out], y[out], s=22, color=color, marker=marker, lw=0, clip_on=False)
    ax.set_ylim(low, high)


def convergence(answer: Answer) -> bytes:
    """Return payoffs over trials, the luckiest so far, and the recommendation's robust mean."""
    ends = [
        end for _, one in answer.course[len(answer.course) // 2 :] for end in (one.lower, one.upper)
    ]
    window = _window(answer, [*ends, answer.recommended.mean])

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        order = np.arange(1, len(answer.values) + 1, dtype=np.float64)
        _payoffs(ax, order, answer, window)
        best = (np.minimum if answer.minimize else np.maximum).accumulate(answer.values)
        ax.step(order, np.clip(best, *window), where="post", color=_LUCKY, label="luckiest so far")
        at = [n for n, _ in answer.course]
        mean, low, high = (
            np.array([getattr(one, name) for _, one in answer.course])
            for name in ("mean", "lower", "upper")
        )
        ax.plot(at, mean, color=_MEAN, marker="o", ms=3, label="robust mean of the recommended")
        level = f"{100 * answer.recommended.level:g} % interval"
        ax.fill_between(at, low, high, color=_MEAN, alpha=0.18, lw=0, label=level)
        ax.set(xlabel="payoffs", ylabel="payoff", xlim=(0, len(order) + 1))
        figure.legend(loc="outside upper center", ncols=5, frameon=False)

    return _svg(draw, 10.5, 4.2)


def _panels(answer: Answer, names: Sequence[str], one: Callable[[Any, str], None]) -> bytes:
    columns = min(_COLUMNS, len(names))
    rows = math.ceil(len(names) / columns)

    def draw(figure: Any) -> None:
        axes = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
        for ax, name in zip(axes, names, strict=False):
            one(ax, name)
            _axis(ax, answer, name)
        for ax in axes[len(names) :]:
            ax.set_axis_off()
        for ax in axes[::columns]:
            ax.set_ylabel("payoff")
        handles, labels = axes[0].get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside upper center", ncols=5, frameon=False)

    return _svg(draw, 3.5 * columns if columns > 1 else 6.0, 2.8 * rows + 0.4)


def _axis(ax: Axes, answer: Answer, name: str) -> None:
    parameter = answer.space.parameters[name]
    ax.set_xlabel(_cut(name))
    if isinstance(parameter, Float | Int):
        if parameter.log:
            ax.set_xscale("log")
            _plain_log_ticks(ax)
        return
    options = [text(one) for one in getattr(parameter, "options", ())]
    ax.set_xticks(range(len(options)), [_cut(one) for one in options])
    ax.set_xlim(-0.6, len(options) - 0.4)
    if sum(map(len, options)) > 30:
        ax.tick_params(axis="x", rotation=30)


def _plain_log_ticks(ax: Axes) -> None:
    """Label a log axis without formulas, and between the powers of ten where there are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    low, high = ax.get_xlim()
    few = high / low < 1e3
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=8))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))


def _cut(shown: str) -> str:
    plain = "".join(c if c.isprintable() else "\N{SYMBOL FOR SUBSTITUTE FORM TWO}" for c in shown)
    return plain if len(plain) <= _LONGEST_LABEL else plain[: _LONGEST_LABEL - 1] + "…"


def _places(answer: Answer, name: str, values: Sequence[Any]) -> Array:
    """Return where values lie on a parameter's axis."""
    options = getattr(answer.space.parameters[name], "options", None)
    if options is None:
        return np.array(values, dtype=np.float64)
    return np.array([options.index(one) for one in values], dtype=np.float64)


def by_setting(answer: Answer) -> bytes:
    """Return payoffs over each parameter, tamed ones marked, failed trials at the bottom."""
    window = _window(answer)
    jitter = np.random.default_rng(0)

    def one(ax: Any, name: str) -> None:
        x = _places(answer, name, [params[name] for params in answer.params])
        at = _places(answer, name, [params[name] for params in answer.failed_params])
        if hasattr(answer.space.parameters[name], "options"):
            x = x + jitter.uniform(-0.25, 0.25, len(x))
            at = at + jitter.uniform(-0.25, 0.25, len(at))
        _payoffs(ax, x, answer, window)
        if len(at):
            foot = np.full(len(at), window[0])
            ax.scatter(
                at, foot, s=18, color=_FAILED, marker="x", lw=1, clip_on=False, label="failed"
            )
        best = _places(answer, name, [answer.recommended.params[name]])[0]
        ax.axvline(best, color=_MEAN, lw=1.0, ls="--", label="recommended")

    return _panels(answer, [one.name for one in answer.slices], one)


def slices(answer: Answer) -> bytes:
    """Return the robust mean along each parameter, through the recommended setting."""
    found = {one.name: one for one in answer.slices}

    def one(ax: Any, name: str) -> None:
        _slice(ax, answer, found[name])
        best = answer.recommended
        x = _places(answer, name, [best.params[name]])
        ax.plot(x, [best.mean], "o", color=_BEST, ms=5, label="recommended", zorder=5)

    return _panels(answer, list(found), one)


def _slice(ax: Any, answer: Answer, found: Slice) -> None:
    x, estimate = _places(answer, found.name, found.values), found.estimate
    level = f"{100 * estimate.level:g} % interval"
    if hasattr(answer.space.parameters[found.name], "options"):
        error = [estimate.mean - estimate.lower, estimate.upper - estimate.mean]
        ax.errorbar(x, estimate.mean, yerr=error, fmt="s", color=_MEAN, capsize=4, ms=4)
        return
    ax.plot(x, estimate.mean, color=_MEAN, label="robust mean")
    ax.fill_between(x, estimate.lower, estimate.upper, color=_MEAN, alpha=0.18, lw=0, label=level)
