"""Regret curves: mean simple regret of the recommendation against the number of evaluations."""

from __future__ import annotations

from typing import Any

from rivals.analysis import Results
from rivals.laws import LAWS
from rivals.methods import OURS, base_method, method_title
from rivals.problems import ProblemName
from rivals.run import checkpoints
from rivals.trap import NAME as TRAP
from tailproof._util import plotting

COLUMNS = 4
# Distinct to color-blind eyes; ours is black and thick, line styles separate related methods.
_COLORS = {
    OURS: "#000000",
    "gp-ucb": "#0072b2",
    "student-t-gp": "#009e73",
    "tgp-ucb": "#8c8c8c",
    "ata-gp-ucb": "#8c8c8c",
    "random": "#c0c0c0",
    "optuna-tpe": "#e69f00",
    "optuna-gp": "#d55e00",
    "botorch-lognei": "#cc79a7",
    "botorch-ucb": "#882255",
    "botorch-rrp": "#44aa99",
}
_DASHED = {"ata-gp-ucb", "botorch-ucb"}


def panels(results: Results) -> dict[str, tuple[ProblemName, ...]]:
    """Return the problems of each panel, by title: one panel a law, and one for the trap."""
    titles = {name: law.title for name, law in LAWS.items()} | {TRAP: "mean-median trap"}
    found = {
        title: tuple(problem for problem in results.problems if problem[1] == name)
        for name, title in titles.items()
    }
    return {title: problems for title, problems in found.items() if problems}


def regret_curves(results: Results, evaluations: int) -> bytes:
    """Draw mean simple regret over each law's objectives at the checkpoints; return an SVG."""
    chosen = panels(results)
    columns = min(COLUMNS, len(chosen))
    rows = -(-len(chosen) // columns)
    figure = plotting.new_figure(figsize=(3.4 * columns, 2.9 * rows + 1.0), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    lines: dict[str, Any] = {}
    for axis, (title, problems) in zip(axes, chosen.items(), strict=False):
        for method in results.methods:
            curve = results.curve(problems, method)
            if curve is not None:
                (line,) = axis.plot(checkpoints(evaluations), curve, **_style(method))
                lines[method_title(method)] = line
        axis.set_title(title, fontsize=10)
        axis.set(xlabel="evaluations", ylabel="simple regret")
        axis.set_ylim(bottom=0.0)
    for axis in axes[len(chosen) :]:
        axis.set_axis_off()
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=5, fontsize=8)
    return plotting.image(figure, "svg")


def _style(method: str) -> dict[str, Any]:
    key = base_method(method)
    line = "--" if key in _DASHED else "-"
    return {
        "color": _COLORS[key],
        "linestyle": ":" if method != key else line,
        "linewidth": 2.4 if key == OURS else 1.2,
        "marker": "o",
        "markersize": 3 if key == OURS else 2,
        "zorder": 3 if key == OURS else 2,
    }
