"""Figure 1 as the paper arranges it, (a) to (f) in two rows, with the paper's values as markers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tailproof._util.plotting import new_figure
from tailproof.experiments.measures import Records, regrets, sample_std, truncation_fit
from tailproof.experiments.panels import FIGURE_LETTERS, Panel
from tailproof.experiments.plan import Plan
from tailproof.experiments.policies import POLICIES, FigurePolicy
from tailproof.experiments.problems import ARMS

# Distinct in gray and to color-blind readers; a variant has its base's color.
COLORS = {"tgp": "#0072b2", "qff": "#e69f00", "nystrom": "#b03060", "exact": "#009e73"}
COLORS |= {"gp": "#b03060", "gp-truncated": "#0072b2"}
ERROR_BARS = 10  # per curve
FROM_PAPER = "read off the paper's figure, same colors"


def draw(plan: Plan, records: Records, *, variants: bool = False) -> Any:
    """Draw the paper's figure: the policies in its arrangement, or the variants over them."""
    figure = new_figure(figsize=(12.0, 6.6), dpi=150, layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    panels = {panel.letter: panel for panel in plan.panels}
    for letter, axis in zip(FIGURE_LETTERS, axes, strict=True):
        panel = panels.get(letter)
        if panel is None:
            axis.text(0.5, 0.5, "not run", ha="center", va="center", transform=axis.transAxes)
            axis.set_title(f"({letter})", fontsize=10)
            axis.set(xticks=[], yticks=[])
            continue
        shown = [POLICIES[key] for key in panel.policies]
        if not variants:
            shown = [policy for policy in shown if not policy.is_variant]
        if letter == "f":
            _draw_bands(axis, panel, records, shown)
        else:
            _draw_regret_curves(axis, panel, records, shown, variants)
        axis.set_title(f"({letter}) {panel.title}", fontsize=10)
    _figure_legend(figure, axes[:-1])
    return figure


def _figure_legend(figure: Any, axes: Iterable[Any]) -> None:
    """Put one legend for panels a to e below them all, where it hides no curve."""
    entries: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if FROM_PAPER in entries:
        entries[FROM_PAPER] = entries.pop(FROM_PAPER)  # last
    if entries:
        figure.legend(
            entries.values(), entries.keys(), loc="outside lower center", ncols=4, fontsize=8
        )


def _draw_regret_curves(
    axis: Any, panel: Panel, records: Records, policies: Iterable[FigurePolicy], variants: bool
) -> None:
    """Draw in the figure mean and standard deviation of R_t / t of each policy of a panel."""
    rounds = panel.recorded_rounds
    for place, policy in enumerate(policies):
        key = policy.key
        # Beside variants only what met the same functions and noise.
        count = min(panel.repetitions_of(key), panel.variant_repetitions) if variants else None
        curves = regrets(panel, records, key, count)
        mean, sd = curves.mean(axis=0), sample_std(curves)
        alpha = 0.4 if variants and not policy.is_variant else 1.0
        axis.plot(rounds, mean, label=policy.title, **line_style_of(policy), alpha=alpha)
        if variants:
            continue
        if not np.isnan(sd).any():
            # The bars of the curves stand beside each other, not on top of each other.
            step = max(len(rounds) // ERROR_BARS, 1)
            at = slice(min(step - 1 + 2 * place, len(rounds) - 1), None, step)
            bars = {"fmt": "none", "capsize": 2, "elinewidth": 0.8, "color": COLORS[policy.family]}
            axis.errorbar(rounds[at], mean[at], sd[at], **bars)
        _draw_paper_values(axis, panel, policy)
    axis.set(xlabel="round T", ylabel="R_T / T", xlim=(0, rounds[-1] * 1.03))


def _draw_paper_values(axis: Any, panel: Panel, policy: FigurePolicy) -> None:
    """Draw the values that were read off the paper's figure."""
    recorded = {t: panel.paper_value(policy.key, t) for t in panel.recorded_rounds.tolist()}
    values = {t: value for t, value in recorded.items() if value is not None}
    if values:
        style = {"markersize": 7, "markerfacecolor": "white", "markeredgewidth": 1.6, "zorder": 4}
        style |= {"color": COLORS[policy.family], "label": FROM_PAPER}
        axis.plot(list(values), list(values.values()), "D", **style)


def _draw_bands(axis: Any, panel: Panel, records: Records, policies: list[FigurePolicy]) -> None:
    """Draw in the figure the posterior means and bands of panel f, with the function."""
    x = ARMS[:, 0]
    f = None
    for policy in policies:
        fit = truncation_fit(panel, records, policy.key)
        f = fit.f
        axis.plot(x, fit.mean, label=policy.title, **line_style_of(policy))
        lower, upper = fit.mean - fit.std, fit.mean + fit.std
        axis.fill_between(x, lower, upper, alpha=0.2, linewidth=0, color=COLORS[policy.family])
    if f is not None:
        axis.plot(x, f, "k--", linewidth=1.2, label="f")
    axis.set(xlabel="x", ylabel="mean ± standard deviation", xlim=(0, 1))
    axis.legend(fontsize=7)


def line_style_of(policy: FigurePolicy) -> dict[str, Any]:
    """Return color and dashes of a policy's curve in the figure."""
    line = "--" if policy.is_variant else "-"
    if policy.is_variant and policy.schedule == "theory":
        line = ":"
    if policy.redrawn:
        line = "-."
    return {"color": COLORS[policy.family], "linestyle": line, "linewidth": 1.5}
