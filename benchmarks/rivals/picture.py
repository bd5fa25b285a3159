"""Regret curves by law: how good the recommendation is as evaluations go by."""

from __future__ import annotations

from typing import Any

from rivals.analysis import CellName, Table
from rivals.contestants import CONTESTANTS, OURS
from rivals.laws import LAWS
from rivals.match import marks
from rivals.records import key_of, title_of
from rivals.trap import NAME as TRAP
from tailproof.experiments import figure
from tailproof.experiments.plotting import pyplot

COLUMNS = 4
# Distinct to color-blind eyes; ours is black and thick, line styles tell relatives apart.
_COLOURS = {
    OURS: "#000000",
    "gp-ucb": "#0072b2",
    "clipped-gp-ucb": "#56b4e9",
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
_DASHED = {"ata-gp-ucb", "botorch-ucb", "clipped-gp-ucb"}


def panels(table: Table) -> dict[str, tuple[CellName, ...]]:
    """Return the cells of each panel, by title: one a law, and the trap's."""
    titles = {name: law.title for name, law in LAWS.items()} | {TRAP: "mean-median trap"}
    found = {
        title: tuple(cell for cell in table.cells if cell[1] == name)
        for name, title in titles.items()
    }
    return {title: cells for title, cells in found.items() if cells}


def curves(table: Table, evaluations: int) -> bytes:
    """Draw mean simple regret over a law's problems at the marks, and return it as SVG."""
    chosen = panels(table)
    columns = min(COLUMNS, len(chosen))
    rows = -(-len(chosen) // columns)
    drawn, axes = pyplot().subplots(
        rows,
        columns,
        figsize=(3.4 * columns, 2.9 * rows + 1.0),
        layout="constrained",
        squeeze=False,
    )
    lines: dict[str, Any] = {}
    for axis, (title, cells) in zip(axes.ravel(), chosen.items(), strict=False):
        for contestant in table.contestants:
            curve = table.curve(cells, contestant)
            if curve is not None:
                (line,) = axis.plot(marks(evaluations), curve, **_style(contestant))
                lines[title_of(contestant)] = line
        axis.set_title(title, fontsize=10)
        axis.set(xlabel="evaluations", ylabel="simple regret")
        axis.set_ylim(bottom=0.0)
    for axis in axes.ravel()[len(chosen) :]:
        axis.set_axis_off()
    drawn.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=5, fontsize=8)
    try:
        return figure.image(drawn, "svg")
    finally:
        figure.close([drawn])


def _style(contestant: str) -> dict[str, Any]:
    key = key_of(contestant)
    assert key in CONTESTANTS
    line = "--" if key in _DASHED else "-"
    return {
        "color": _COLOURS[key],
        "linestyle": ":" if contestant != key else line,
        "linewidth": 2.4 if key == OURS else 1.2,
        "marker": "o",
        "markersize": 3 if key == OURS else 2,
        "zorder": 3 if key == OURS else 2,
    }
