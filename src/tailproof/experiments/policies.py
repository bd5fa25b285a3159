"""The policies of Figure 1: the paper's own, and variants that change one thing each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tailproof.bandits.arm_optimizer import ArmOptimizer
from tailproof.bandits.assembly import Seed
from tailproof.bandits.features import Exact, FeatureMap, Nystrom, QuadratureFourier
from tailproof.bandits.policies import ata_gp_ucb, gp_ucb, tgp_ucb
from tailproof.bandits.schedules import CustomSchedule
from tailproof.experiments.problems import Problem

RIDGE = 1.0  # lambda
ACCURACY = 0.1  # epsilon of the Nystrom dictionary
FAILURE_PROBABILITY = 0.1  # delta, in the theory schedule only


def fourth_root(t: int) -> float:
    """Return t^(1/4), at which policies of panel f truncate in round t."""
    return float(t) ** 0.25


@dataclass(frozen=True)
class FigurePolicy:
    """One policy as the panels run it."""

    key: str  # its name in tables and in `--policies`
    title: str  # its name in figures
    family: str  # "tgp", "qff", "nystrom", "exact", or "gp" and "gp-truncated" in panel f
    schedule: str = "authors"  # or "theory", or "ln t" in panel f
    base: str | None = None  # the paper's policy that a variant is compared with
    change: str = ""  # how a variant differs from its base
    folded: bool = False  # whether the quadrature Fourier features are folded to half their number
    redrawn: bool = False  # whether panel f's sign is drawn in every round instead of once

    @property
    def is_variant(self) -> bool:
        """Whether the policy is not in the paper's figure."""
        return self.base is not None


_THEORY = "the schedule of the theorems instead of the authors'"
_FOLDED = "half the Fourier features for the same kernel"
_EXACT = "the eigenbasis of the arms' kernel matrix instead of the dictionary"
_REDRAWN = "the sign of the noise drawn anew in every round instead of once"
POLICIES = {
    policy.key: policy
    for policy in (
        FigurePolicy("tgp", "TGP-UCB", "tgp"),
        FigurePolicy("qff", "ATA-GP-UCB-QFF", "qff"),
        FigurePolicy("nystrom", "ATA-GP-UCB-Nyström", "nystrom"),
        FigurePolicy("tgp-theory", "TGP-UCB, theory", "tgp", "theory", "tgp", _THEORY),
        FigurePolicy("qff-theory", "QFF, theory", "qff", "theory", "qff", _THEORY),
        FigurePolicy("nystrom-theory", "Nyström, theory", "nystrom", "theory", "nystrom", _THEORY),
        FigurePolicy("qff-folded", "QFF, folded", "qff", "authors", "qff", _FOLDED, folded=True),
        FigurePolicy("exact", "exact features", "exact", "authors", "nystrom", _EXACT),
        FigurePolicy("gp", "GP-UCB", "gp", "ln t"),
        FigurePolicy("gp-truncated", "GP-UCB, truncated at t^(1/4)", "gp-truncated", "ln t"),
        FigurePolicy(
            "gp-redrawn", "GP-UCB, signs redrawn", "gp", "ln t", "gp", _REDRAWN, redrawn=True
        ),
    )
}
# Panels a, b and e; panels c and d, whose kernels have no Fourier features; panel f.
WITH_FOURIER = tuple(key for key, policy in POLICIES.items() if policy.schedule != "ln t")
WITHOUT_FOURIER = tuple(key for key in WITH_FOURIER if POLICIES[key].family != "qff")
TRUNCATION = tuple(key for key in POLICIES if key not in WITH_FOURIER)
ON_HARD_INSTANCE = (*WITH_FOURIER, "gp", "gp-truncated")  # panel g


def features(policy: FigurePolicy, nodes: int | None) -> FeatureMap | Nystrom | None:
    """Return the feature map of a policy of the figure; `nodes` are Fourier nodes a coordinate."""
    if policy.family == "nystrom":
        return Nystrom(ACCURACY)
    if policy.family == "exact":
        return Exact()
    if policy.family == "qff":
        assert nodes is not None
        return QuadratureFourier(nodes, folded=policy.folded)
    return None


def build(
    policy: FigurePolicy, problem: Problem, nodes: int | None, horizon: int, seed: Seed
) -> ArmOptimizer:
    """Return the optimizer that plays `problem` by a policy of the figure."""
    space, kernel = problem.space, problem.kernel
    if policy.family == "gp":
        return gp_ucb(space, kernel, CustomSchedule(math.log), ridge=RIDGE, seed=seed)
    if policy.family == "gp-truncated":
        schedule = CustomSchedule(math.log, fourth_root)
        return tgp_ucb(space, kernel, schedule=schedule, ridge=RIDGE, seed=seed)
    options: dict[str, Any] = {
        "moment": problem.moment,
        "norm_bound": problem.norm_bound,
        "horizon": horizon,
        "failure_probability": FAILURE_PROBABILITY,
        "ridge": RIDGE,
        "schedule": policy.schedule,
        "seed": seed,
    }
    if policy.family == "tgp":
        return tgp_ucb(space, kernel, **options)
    if policy.family == "qff":
        assert problem.fourier is not None
        space, kernel = problem.fourier
    feature_map = features(policy, nodes)
    assert feature_map is not None
    return ata_gp_ucb(space, kernel, features=feature_map, **options)


def describe(policy: FigurePolicy, nodes: int | None) -> dict[str, Any]:
    """Return every constant of a policy of the figure, for the manifest."""
    feature_map = features(policy, nodes)
    result: dict[str, Any] = {
        "policy": policy.family,
        "schedule": policy.schedule,
        "ridge": RIDGE,
        "first_arm": "uniform" if policy.schedule != "theory" else "argmax",
    }
    if feature_map is not None:
        result["features"] = repr(feature_map)
    if policy.family == "nystrom":
        authors = policy.schedule == "authors"
        result["q"] = "ln(T) / eps^2" if authors else "6 rho ln(4T/delta) / eps^2"
    if policy.schedule == "theory":
        result["failure_probability"] = FAILURE_PROBABILITY
    if policy.schedule == "ln t":
        truncation = "t^(1/4)" if policy.family == "gp-truncated" else "none"
        drawn = "redrawn every round" if policy.redrawn else "drawn once per repetition"
        result |= {"beta": "ln t", "truncation": truncation, "sign_of_noise": drawn}
    return result
