"""The plots of a diagnosis: Hill plot, mean excess, Gaussian quantiles, shapes of the arms."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from tailproof._util import files, plotting
from tailproof._util.console import printable
from tailproof.tails.curves import Pairs
from tailproof.tails.results import ArmDiagnosis, Diagnosis
from tailproof.tails.verdict import BOUNDED, GAUSSIAN, HEAVY, NOT_GAUSSIAN, SPARSE, too_dependent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_ARMS = 60
_MAX_INDEX = 12.0  # above, tails are nearly light and the axis would become too long
_COLORS = {
    **{HEAVY: "#c0392b", NOT_GAUSSIAN: "#7f8c8d", BOUNDED: "#2471a3"},
    **{GAUSSIAN: "#27ae60", SPARSE: "#8a5fb0"},
}
_LINE, _SOFT = "#2c3e50", "#b0b7bd"


def _curve_columns(pairs: Pairs) -> tuple[list[float], list[float]]:
    """Return the pairs of a curve as two lists, for the plots of a diagnosis."""
    return [x for x, _ in pairs], [y for _, y in pairs]


def _draw_hill(ax: Axes, arm: ArmDiagnosis, level: float) -> None:
    """Draw the Hill estimates of one arm over the number of order statistics."""
    ax.set(title="Hill plot", xlabel="order statistics k", ylabel="tail index", xscale="log")
    ax.plot(*_curve_columns(arm.curves.hill), color=_SOFT, label="Hill")
    ax.plot(*_curve_columns(arm.curves.reduced_hill), color=_LINE, label="Hill, bias-reduced")
    hill = arm.both.hill
    if hill is not None and math.isfinite(hill.index_upper):
        ax.errorbar(
            [hill.k],
            [hill.index],
            yerr=[[hill.index - hill.index_lower], [hill.index_upper - hill.index]],
            fmt="o",
            capsize=4,
            color=_COLORS[HEAVY],
            label=f"chosen k, {level:.0%} interval",
        )
    ax.axhline(2.0, color=_SOFT, linestyle=":", linewidth=1.0)
    where = ("axes fraction", "data")
    ax.annotate("finite variance above", (1.0, 2.0), xycoords=where, ha="right", fontsize=7)
    indices = [y for _, y in (*arm.curves.hill, *arm.curves.reduced_hill)]
    ax.set_ylim(0.0, min(_MAX_INDEX, 1.1 * max([*indices, 2.5])))
    ax.legend(fontsize=7, loc="upper right")


def _draw_mean_excess(ax: Axes, arm: ArmDiagnosis) -> None:
    """Draw the mean excess over a threshold of one arm."""
    ax.set(
        title="Mean excess: rises if heavy, falls if light",
        xlabel="threshold" if arm.normality is not None else "threshold / arm's scale",
        ylabel="mean excess",
    )
    ax.plot(*_curve_columns(arm.curves.mean_excess), ".", color=_LINE, markersize=4)
    if arm.shape is not None:
        ax.axvline(arm.shape.threshold, color=_SOFT, linestyle=":", linewidth=1.0)
    ax.set_ylim(bottom=0.0)


def _draw_quantiles(ax: Axes, arm: ArmDiagnosis) -> None:
    """Draw the quantiles of one arm's payoffs against normal ones."""
    ax.set(title="Against the Gaussian", xlabel="Gaussian quantile", ylabel="payoff quantile")
    x, y = _curve_columns(arm.curves.quantiles)
    ax.plot(x, y, ".", color=_LINE, markersize=4)
    ends = [min(x), max(x)]
    ax.plot(ends, ends, color=_SOFT, linewidth=1.0)
    ax.set_yscale("symlog", linthresh=4.0)
    ax.yaxis.set_major_formatter("{x:g}")


def _error_bar(ax: Axes, row: int, value: float, lower: float, upper: float, color: str) -> None:
    """Draw a tail index with its interval in one row."""
    ax.plot([lower, upper], [row, row], color=color, linewidth=1.5)
    ax.plot([value], [row], "o", color=color, markersize=4)


def _draw_arm_shapes(ax: Axes, diagnosis: Diagnosis) -> None:
    """Draw the shape of each arm with its interval, the heaviest at the top."""
    shown = [
        (a, a.shape)
        for a in (*diagnosis.arms, diagnosis.pooled)
        if a.shape is not None and not too_dependent(a.shape, a.dependence)
    ]
    shown = sorted(shown, key=lambda pair: pair[1].shape)[-_MAX_ARMS:]
    hidden = len(diagnosis.arms) + 1 - len(shown)
    title = "Shape of the tail: heavy above 0"
    ax.set(title=f"{title} ({hidden} not shown)" if hidden else title, xlabel="shape")
    ax.axvline(0.0, color=_SOFT, linestyle=":", linewidth=1.0)
    if not shown:
        text = "payoffs are too dependent to judge the tails"
        ax.text(0.5, 0.5, text, ha="center", transform=ax.transAxes)
    for i, (arm, fit) in enumerate(shown):
        lower, upper = max(fit.shape_lower, -1.0), min(fit.shape_upper, 3.0)
        _error_bar(ax, i, max(min(fit.shape, 3.0), -1.0), lower, upper, _COLORS[arm.verdict])
    fontsize = 7.0 if len(shown) <= 20 else 5.5 if len(shown) <= 40 else 4.0
    ax.set_yticks(
        range(len(shown)), [printable(arm.name, 28) for arm, _ in shown], fontsize=fontsize
    )


def _draw_sides(ax: Axes, arm: ArmDiagnosis) -> None:
    """Draw gamma by side and estimator, for a single arm."""
    ax.set(title="gamma = 1 / tail index, by side and estimator", xlabel="gamma")
    names: list[str] = []
    ax.axvline(0.5, color=_SOFT, linestyle=":", linewidth=1.0)
    for side in (arm.left, arm.right, arm.both):
        for estimate in (side.pickands, side.moment, side.hill):
            if estimate is None:
                continue
            lower, upper = max(estimate.gamma_lower, -2.0), min(estimate.gamma_upper, 4.0)
            color = _LINE if side.side == "both" else _SOFT
            _error_bar(ax, len(names), estimate.gamma, lower, upper, color)
            names.append(f"{side.side}, {estimate.method}")
    ax.set_yticks(range(len(names)), names, fontsize=7)


def draw(diagnosis: Diagnosis, path: str | Path) -> Path:
    """Write the plots of `diagnosis` to a PNG file and return its path."""
    path = Path(path)
    with plotting.plain_text():
        files.write_bytes(path, plotting.image(_draw_plots(diagnosis), "png"))
    return path


def _draw_plots(diagnosis: Diagnosis) -> Figure:
    """Return the figure of the plots of a diagnosis."""
    figure = plotting.new_figure(figsize=(11.0, 8.0), dpi=110, layout="constrained")
    axes = figure.subplots(2, 2)
    _draw_hill(axes[0, 0], diagnosis.pooled, diagnosis.level)
    _draw_mean_excess(axes[0, 1], diagnosis.pooled)
    _draw_quantiles(axes[1, 0], diagnosis.pooled)
    pooled = diagnosis.pooled
    if len(diagnosis.arms) > 1:
        _draw_arm_shapes(axes[1, 1], diagnosis)
    else:
        _draw_sides(axes[1, 1], pooled)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
    title = f"{printable(pooled.name, 60)}: {pooled.verdict}"
    figure.suptitle(title, color=_COLORS[pooled.verdict])
    return figure
