"""The paper's statements about its figure, checked against a run at the paper's size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tailproof.experiments.columns import COLUMNS
from tailproof.experiments.comparisons import (
    Records,
    crossings,
    regrets,
    spread,
    truncation_fit,
)
from tailproof.experiments.panels import NEEDS_DATA
from tailproof.experiments.plan import PanelPlan, Plan
from tailproof.experiments.problems import ARMS

READ_OFF = 0.015  # how close panels d and e must come to the values read off the plot
CROSSING = (5_000, 20_000)
ON_F = 0.05  # panel f: how close the truncated mean must be to f
OFF_F = 0.3  # panel f: how far the plain mean must be from f somewhere


@dataclass(frozen=True)
class Statement:
    """One statement, whether it holds, and the figures that decide."""

    panel: str
    text: str
    holds: bool
    figures: str


def statements(plan: Plan, records: Records) -> list[Statement]:
    """Check every statement whose panel was run at the paper's size with the paper's policies."""
    result: list[Statement] = []
    for one in plan.panels:
        if not one.at_paper_size:
            continue
        if one.panel.letter == "f":
            result += _truncation(one, records)
        elif one.panel.paper.values and set(one.panel.paper.values) <= set(one.columns):
            if one.panel.letter in NEEDS_DATA:
                result += _read_off(one, records)
            else:
                result += _order(one, records)
    return result


def _read_off(one: PanelPlan, records: Records) -> Iterator[Statement]:
    marks = one.marks.tolist()
    for key, values in one.panel.paper.values.items():
        mean = regrets(one, records, key).mean(axis=0)
        for mark, paper in values.items():
            ours = float(mean[marks.index(mark)])
            yield Statement(
                one.panel.letter,
                f"{COLUMNS[key].title} at round {mark:,} within {READ_OFF} of the paper's value",
                abs(ours - paper) <= READ_OFF,
                f"{ours:.3f}, paper {paper:g}, difference {ours - paper:+.3f}",
            )


def _order(one: PanelPlan, records: Records) -> Iterator[Statement]:
    letter, paper = one.panel.letter, one.panel.paper
    last = {key: regrets(one, records, key)[:, -1] for key in paper.values}
    order = [key for key in ("nystrom", "qff", "tgp") if key in last]
    means = [float(last[key].mean()) for key in order]
    yield Statement(
        letter,
        "order at the last round: " + " < ".join(COLUMNS[key].title for key in order),
        all(a < b for a, b in pairwise(means)),
        ", ".join(f"{mean:.3f}" for mean in means),
    )
    for key, at in crossings(one, records).items():
        yield Statement(
            letter,
            f"{COLUMNS[key].title} falls below TGP-UCB for good between {CROSSING[0]:,} and "
            f"{CROSSING[1]:,} rounds",
            at is not None and CROSSING[0] <= at <= CROSSING[1],
            "never" if at is None else f"at {at:,}",
        )
    for key, values in paper.values.items():
        ours, sd = float(last[key].mean()), float(spread(last[key]))
        value = values[one.rounds]
        yield Statement(
            letter,
            f"{COLUMNS[key].title} at the last round within one standard deviation of the paper",
            not math.isnan(sd) and abs(ours - value) <= sd,
            f"{ours:.3f} ± {sd:.3f}, paper {value:g}",
        )


def _truncation(one: PanelPlan, records: Records) -> Iterator[Statement]:
    if "gp-truncated" in one.columns:
        fit = truncation_fit(one, records, "gp-truncated")
        yield Statement(
            "f",
            f"the truncated mean lies within {ON_F} of f everywhere",
            fit.error <= ON_F,
            f"largest error {fit.error:.4f} at x = {ARMS[fit.worst_arm, 0]:g}",
        )
        yield Statement(
            "f",
            "f lies inside the truncated band, mean ± standard deviation, everywhere",
            fit.holds_f,
            f"smallest standard deviation {float(fit.std.min()):.4f}",
        )
    if "gp" in one.columns:
        fit = truncation_fit(one, records, "gp")
        yield Statement(
            "f",
            f"the plain mean is off by more than {OFF_F} somewhere",
            fit.error > OFF_F,
            f"off by {float((fit.mean - fit.f)[fit.worst_arm]):+.3f} at "
            f"x = {ARMS[fit.worst_arm, 0]:g}; the mean reaches {float(fit.mean.max()):.2f}",
        )
