"""What the paper's figure shows, as statements that are checked in a run of the paper's size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tailproof.experiments.measures import (
    Records,
    crossings,
    regrets,
    sample_std,
    truncation_fit,
)
from tailproof.experiments.panels import NEEDS_DATA, Panel
from tailproof.experiments.plan import Plan
from tailproof.experiments.policies import POLICIES
from tailproof.experiments.problems import ARMS, LowerBound, Recorded
from tailproof.tails.normality import normality

TOLERANCE = 0.015  # panels d and e: largest distance to the values read off the plot
CROSSING = (5_000, 20_000)  # panels a, b and c: rounds
ON_F = 0.05  # panel f: largest distance of the truncated mean to f
SIGNIFICANCE = 0.05  # panels d and e: of the Kolmogorov-Smirnov test of each arm
OFF_F = 0.3  # panel f: the plain mean must be further from f than this somewhere


@dataclass(frozen=True)
class Statement:
    """One statement, whether it holds, and the numbers that decide."""

    panel: str
    text: str
    holds: bool
    numbers: str


def check_statements(plan: Plan, records: Records) -> list[Statement]:
    """Check every statement whose panel was run at the paper's size with the paper's policies."""
    result: list[Statement] = []
    for panel in plan.panels:
        if not panel.at_paper_size:
            continue
        if panel.letter == "f":
            result += _statement_truncation(panel, records)
        elif isinstance(panel.source, LowerBound):
            result += _statement_lower_bound(panel, panel.source, records)
        elif panel.paper.values and set(panel.paper.values) <= set(panel.policies):
            check = _statement_values if panel.letter in NEEDS_DATA else _statement_order
            result += check(panel, records)
            result += _statement_tails(panel)
    return result


def _statement_tails(panel: Panel) -> Iterator[Statement]:
    """Check both halves of "the KS test rejects the Gaussian in favor of heavy tails" (section 6).

    The Kolmogorov-Smirnov test says only that a law is not the fitted Gaussian; tails heavier than
    the Gaussian's show in a positive excess kurtosis.
    """
    if not isinstance(panel.source, Recorded):
        return
    arms = panel.source.arms
    payoffs = np.split(arms.values, np.cumsum(arms.counts)[:-1])
    tests = [normality(arm, seed=0) for arm in payoffs if arm.min() < arm.max()]
    rejected = sum(test.ks_p < SIGNIFICANCE for test in tests)
    heavy = sum(test.kurtosis > 0.0 for test in tests)
    yield Statement(
        panel.letter,
        f"the Kolmogorov-Smirnov test rejects the Gaussian at every arm (level {SIGNIFICANCE:g})",
        rejected == len(arms.counts),
        f"rejected at {rejected} of {len(arms.counts)} arms",
    )
    yield Statement(
        panel.letter,
        "tails are heavier than the Gaussian's (positive excess kurtosis) at every arm",
        heavy == len(arms.counts),
        f"positive at {heavy} of {len(arms.counts)} arms",
    )


def _statement_lower_bound(
    panel: Panel, source: LowerBound, records: Records
) -> Iterator[Statement]:
    """Check E[R_T] >= T Delta (proof of Theorem 2), with the proof's open constant C taken as 1."""
    proven = np.array([T * source.instance(int(T)).gap for T in panel.recorded_rounds])
    for key in panel.policies:
        if POLICIES[key].is_variant:
            continue
        mean = regrets(panel, records, key).mean(axis=0) * panel.recorded_rounds
        ratio = mean / proven
        yield Statement(
            panel.letter,
            f"the mean regret of {POLICIES[key].title} is at least T Delta at every horizon",
            bool((ratio >= 1.0).all()),
            f"from {ratio.min():.2f} to {ratio.max():.2f} times T Delta",
        )


def _statement_values(panel: Panel, records: Records) -> Iterator[Statement]:
    """Yield whether mean regrets agree with the values read off the paper's figure."""
    rounds = panel.recorded_rounds.tolist()
    for key, values in panel.paper.values.items():
        curve = regrets(panel, records, key).mean(axis=0)
        for t, paper in values.items():
            mean = float(curve[rounds.index(t)])
            yield Statement(
                panel.letter,
                f"{POLICIES[key].title} at round {t:,} within {TOLERANCE} of the paper's value",
                abs(mean - paper) <= TOLERANCE,
                f"{mean:.3f}, paper {paper:g}, difference {mean - paper:+.3f}",
            )


def _statement_order(panel: Panel, records: Records) -> Iterator[Statement]:
    """Yield whether the policies end in the paper's order, and cross where they do there."""
    letter, paper = panel.letter, panel.paper
    last = {key: regrets(panel, records, key)[:, -1] for key in paper.values}
    order = [key for key in ("nystrom", "qff", "tgp") if key in last]
    means = [float(last[key].mean()) for key in order]
    yield Statement(
        letter,
        "order at the last round: " + " < ".join(POLICIES[key].title for key in order),
        all(a < b for a, b in pairwise(means)),
        ", ".join(f"{mean:.3f}" for mean in means),
    )
    for key, at in crossings(panel, records).items():
        yield Statement(
            letter,
            f"{POLICIES[key].title} falls below TGP-UCB for good between {CROSSING[0]:,} and "
            f"{CROSSING[1]:,} rounds",
            at is not None and CROSSING[0] <= at <= CROSSING[1],
            "never" if at is None else f"at {at:,}",
        )
    for key, values in paper.values.items():
        mean, sd = float(last[key].mean()), float(sample_std(last[key]))
        value = values[panel.rounds]
        yield Statement(
            letter,
            f"{POLICIES[key].title} at the last round within one standard deviation of the paper",
            not math.isnan(sd) and abs(mean - value) <= sd,
            f"{mean:.3f} ± {sd:.3f}, paper {value:g}",
        )


def _statement_truncation(panel: Panel, records: Records) -> Iterator[Statement]:
    """Yield what the paper says of the truncated mean and band in panel f."""
    if "gp-truncated" in panel.policies:
        fit = truncation_fit(panel, records, "gp-truncated")
        yield Statement(
            "f",
            f"the truncated mean lies within {ON_F} of f everywhere",
            fit.error <= ON_F,
            f"largest error {fit.error:.4f} at x = {ARMS[fit.worst_arm, 0]:g}",
        )
        yield Statement(
            "f",
            "f lies inside the truncated band, mean ± standard deviation, everywhere",
            fit.band_holds_f,
            f"smallest standard deviation {float(fit.std.min()):.4f}",
        )
    if "gp" in panel.policies:
        fit = truncation_fit(panel, records, "gp")
        yield Statement(
            "f",
            f"the plain mean is off by more than {OFF_F} somewhere",
            fit.error > OFF_F,
            f"off by {float((fit.mean - fit.f)[fit.worst_arm]):+.3f} at "
            f"x = {ARMS[fit.worst_arm, 0]:g}; the mean reaches {float(fit.mean.max()):.2f}",
        )
