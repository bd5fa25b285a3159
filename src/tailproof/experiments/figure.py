"""Figure 1 as the paper arranges it, (a) to (f) in two rows, with the paper's points as markers."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import numpy as np

from tailproof.experiments.columns import COLUMNS, Column
from tailproof.experiments.comparisons import Records, regrets, spread, truncation_fit
from tailproof.experiments.panels import LETTERS
from tailproof.experiments.plan import PanelPlan, Plan
from tailproof.experiments.plotting import pyplot
from tailproof.experiments.problems import ARMS

# Distinct in gray and to color-blind eyes; a further column has its base's color.
COLOURS = {"tgp": "#0072b2", "qff": "#e69f00", "nystrom": "#b03060", "exact": "#009e73"}
COLOURS |= {"gp": "#b03060", "gp-truncated": "#0072b2"}
BARS = 10  # error bars a curve
READ_OFF = "read off the paper's figure, same colors"


def paper_figure(plan: Plan, records: Records) -> Any:
    """Draw the paper's policies in the paper's arrangement."""
    return _draw(plan, records, further=False)


def further_figure(plan: Plan, records: Records) -> Any | None:
    """Draw the further columns over the paper's policies; None if the run has none."""
    if not any(COLUMNS[key].further for one in plan.panels for key in one.columns):
        return None
    return _draw(plan, records, further=True)


def image(figure: Any, kind: str) -> bytes:
    """Return a figure as "png" or "svg", the same bytes for the same figure."""
    stream = io.BytesIO()
    # Without a date and with fixed ids, so that two runs can be compared byte by byte.
    with pyplot().rc_context({"svg.hashsalt": "tailproof", "svg.fonttype": "path"}):
        metadata = {"Date": None} if kind == "svg" else {"Software": "tailproof"}
        figure.savefig(stream, format=kind, dpi=150, metadata=metadata)
    return stream.getvalue()


def close(figures: Iterable[Any]) -> None:
    """Release figures."""
    for figure in figures:
        pyplot().close(figure)


def _draw(plan: Plan, records: Records, *, further: bool) -> Any:
    figure, axes = pyplot().subplots(2, 3, figsize=(12.0, 6.6), layout="constrained")
    plans = {one.panel.letter: one for one in plan.panels}
    for letter, axis in zip(LETTERS, axes.ravel(), strict=True):
        one = plans.get(letter)
        if one is None:
            axis.text(0.5, 0.5, "not run", ha="center", va="center", transform=axis.transAxes)
            axis.set_title(f"({letter})", fontsize=10)
            axis.set_xticks([])
            axis.set_yticks([])
        elif letter == "f":
            _bands(axis, one, records, further)
        else:
            _curves(axis, one, records, further)
    _legend(figure, axes.ravel()[:-1])
    return figure


def _legend(figure: Any, axes: Iterable[Any]) -> None:
    """Put one legend for panels a to e below them all, where it hides no curve."""
    entries: dict[str, Any] = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        entries |= {
            label: handle
            for handle, label in zip(handles, labels, strict=True)
            if label not in entries
        }
    if READ_OFF in entries:
        entries[READ_OFF] = entries.pop(READ_OFF)  # last
    if entries:
        figure.legend(
            entries.values(), entries.keys(), loc="outside lower center", ncols=4, fontsize=8
        )


def _curves(axis: Any, one: PanelPlan, records: Records, further: bool) -> None:
    rounds = one.marks
    for place, key in enumerate(one.columns):
        column = COLUMNS[key]
        if column.further and not further:
            continue
        # Side by side only what saw the same functions and noise.
        trials = min(one.trials_of(key), one.further_trials) if further else None
        curves = regrets(one, records, key, trials)
        mean, sd = curves.mean(axis=0), spread(curves)
        faint = further and not column.further
        axis.plot(rounds, mean, label=column.title, **_style(column), alpha=0.4 if faint else 1.0)
        if not further and not np.isnan(sd).any():
            # The bars of the curves stand beside each other, not on top of each other.
            step = max(len(rounds) // BARS, 1)
            at = slice(min(step - 1 + 2 * place, len(rounds) - 1), None, step)
            axis.errorbar(
                rounds[at], mean[at], sd[at], fmt="none", capsize=2, elinewidth=0.8, **_ink(column)
            )
        if not further:
            _paper_points(axis, one, column)
    axis.set_title(f"({one.panel.letter}) {one.panel.title}", fontsize=10)
    axis.set(xlabel="round T", ylabel="R_T / T", xlim=(0, rounds[-1] * 1.03))


def _paper_points(axis: Any, one: PanelPlan, column: Column) -> None:
    values = {
        mark: value
        for mark in one.marks.tolist()
        if (value := one.paper_value(column.key, mark)) is not None
    }
    if values:
        axis.plot(
            list(values),
            list(values.values()),
            "D",
            markersize=7,
            markerfacecolor="white",
            markeredgewidth=1.6,
            color=COLOURS[column.family],
            label=READ_OFF,
            zorder=4,
        )


def _bands(axis: Any, one: PanelPlan, records: Records, further: bool) -> None:
    x = ARMS[:, 0]
    f = None
    for key in one.columns:
        column = COLUMNS[key]
        if column.further and not further:
            continue
        fit = truncation_fit(one, records, key)
        f = fit.f
        axis.plot(x, fit.mean, label=column.title, **_style(column))
        low, high = fit.mean - fit.std, fit.mean + fit.std
        axis.fill_between(x, low, high, alpha=0.2, linewidth=0, **_ink(column))
    if f is not None:
        axis.plot(x, f, "k--", linewidth=1.2, label="f")
    axis.set_title(f"(f) {one.panel.title}", fontsize=10)
    axis.set(xlabel="x", ylabel="mean ± standard deviation", xlim=(0, 1))
    axis.legend(fontsize=7)


def _ink(column: Column) -> dict[str, Any]:
    return {"color": COLOURS[column.family]}


def _style(column: Column) -> dict[str, Any]:
    line = "-"
    if column.further:
        line = ":" if column.schedule == "theory" else "--"
        if column.redrawn:
            line = "-."
    return {"color": COLOURS[column.family], "linestyle": line, "linewidth": 1.5}
