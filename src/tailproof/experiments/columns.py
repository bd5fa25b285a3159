"""The policies of the figure, each a column of the tables: policy, features, schedule.

The first three and panel f's first two are the paper's own. Every further one changes one thing,
and names the column it changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailproof.bandits.features import Exact, FeatureMap, Nystrom, QuadratureFourier
from tailproof.bandits.optimizer import ArmOptimizer
from tailproof.bandits.policies import ata_gp_ucb, gp_ucb, tgp_ucb
from tailproof.bandits.schedules import CustomSchedule
from tailproof.experiments.problems import Problem

RIDGE = 1.0  # lambda
ACCURACY = 0.1  # epsilon of the Nystrom dictionary
FAILURE_PROBABILITY = 0.1  # delta, in the theory schedule only


def fourth_root(t: int) -> float:
    """Return t^(1/4), the truncation level of panel f."""
    return float(t) ** 0.25


@dataclass(frozen=True)
class Column:
    """One policy as it is run in a panel.

    Attributes
    ----------
    key
        Its name in tables and in `--policies`.
    title
        Its name in figures.
    family
        "tgp", "qff", "nystrom", "exact", or "gp" and "gp-truncated" in panel f.
    schedule
        "authors", "theory", or "ln t" in panel f.
    base
        The column this one is compared with; None for the paper's own.
    change
        What differs from the base, in words.
    """

    key: str
    title: str
    family: str
    schedule: str = "authors"
    base: str | None = None
    change: str = ""
    folded: bool = False
    redrawn: bool = False

    @property
    def further(self) -> bool:
        """Whether the column goes beyond the paper's own."""
        return self.base is not None


_THEORY = "the schedule of the theorems instead of the authors'"
COLUMNS = {
    column.key: column
    for column in (
        Column("tgp", "TGP-UCB", "tgp"),
        Column("qff", "ATA-GP-UCB-QFF", "qff"),
        Column("nystrom", "ATA-GP-UCB-Nyström", "nystrom"),
        Column("tgp-theory", "TGP-UCB, theory", "tgp", "theory", "tgp", _THEORY),
        Column("qff-theory", "QFF, theory", "qff", "theory", "qff", _THEORY),
        Column("nystrom-theory", "Nyström, theory", "nystrom", "theory", "nystrom", _THEORY),
        Column(
            "qff-folded",
            "QFF, folded",
            "qff",
            base="qff",
            change="half the Fourier features for the same kernel",
            folded=True,
        ),
        Column(
            "exact",
            "exact features",
            "exact",
            base="nystrom",
            change="the eigenbasis of the arms' kernel matrix instead of the dictionary",
        ),
        Column("gp", "GP-UCB", "gp", "ln t"),
        Column("gp-truncated", "GP-UCB, truncated at t^(1/4)", "gp-truncated", "ln t"),
        Column(
            "gp-redrawn",
            "GP-UCB, signs redrawn",
            "gp",
            "ln t",
            base="gp",
            change="the sign of the noise drawn anew in every round instead of once",
            redrawn=True,
        ),
    )
}
SMOOTH = tuple(key for key, column in COLUMNS.items() if column.schedule != "ln t")
WITHOUT_QFF = tuple(key for key in SMOOTH if COLUMNS[key].family != "qff")
TRUNCATION = tuple(key for key in COLUMNS if key not in SMOOTH)


def features(column: Column, nodes: int | None) -> FeatureMap | Nystrom | None:
    """Return the column's feature map; `nodes` a side for quadrature Fourier features."""
    if column.family == "nystrom":
        return Nystrom(ACCURACY)
    if column.family == "exact":
        return Exact()
    if column.family == "qff":
        assert nodes is not None
        return QuadratureFourier(nodes, folded=column.folded)
    return None


def build(
    column: Column,
    problem: Problem,
    *,
    nodes: int | None,
    horizon: int,
    seed: np.random.SeedSequence,
) -> ArmOptimizer:
    """Return the column's policy, ready to play `problem`."""
    space, kernel = problem.space, problem.kernel
    if column.family == "gp":
        return gp_ucb(space, kernel, CustomSchedule(math.log), ridge=RIDGE, seed=seed)
    if column.family == "gp-truncated":
        schedule = CustomSchedule(math.log, fourth_root)
        return tgp_ucb(space, kernel, schedule=schedule, ridge=RIDGE, seed=seed)
    told: dict[str, Any] = {
        "moment": problem.moment,
        "norm_bound": problem.norm_bound,
        "horizon": horizon,
        "failure_probability": FAILURE_PROBABILITY,
        "ridge": RIDGE,
        "schedule": column.schedule,
        "seed": seed,
    }
    if column.family == "tgp":
        return tgp_ucb(space, kernel, **told)
    chosen = features(column, nodes)
    assert chosen is not None
    if column.family == "qff":
        assert problem.fourier is not None
        space, kernel = problem.fourier
    return ata_gp_ucb(space, kernel, features=chosen, **told)


def describe(column: Column, nodes: int | None) -> dict[str, Any]:
    """Return every constant of the column, for the manifest."""
    chosen = features(column, nodes)
    result: dict[str, Any] = {
        "policy": column.family,
        "schedule": column.schedule,
        "ridge": RIDGE,
        "first_arm": "uniform" if column.schedule != "theory" else "argmax",
    }
    if chosen is not None:
        result["features"] = repr(chosen)
    if column.family == "nystrom":
        authors = column.schedule == "authors"
        result["q"] = "ln(T) / eps^2" if authors else "6 rho ln(4T/delta) / eps^2"
    if column.schedule == "theory":
        result["failure_probability"] = FAILURE_PROBABILITY
    if column.schedule == "ln t":
        result["width"] = "ln t"
        result["level"] = "t^(1/4)" if column.family == "gp-truncated" else "none"
        result["sign_of_noise"] = "redrawn every round" if column.redrawn else "drawn once a trial"
    return result
