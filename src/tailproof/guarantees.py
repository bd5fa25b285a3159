"""What a policy, as it was set up, can be promised, and why not where it cannot."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailproof.features import Embedding, Exact, FeatureMap, Nystrom, QuadratureFourier
from tailproof.kernels import Kernel
from tailproof.schedules import Setting

Array = NDArray[np.float64]


class TheoryWarning(UserWarning):
    """A theory schedule is used where a hypothesis of its theorem fails."""


@dataclass(frozen=True)
class Guarantee:
    """Whether a theorem covers the policy as it is set up.

    Attributes
    ----------
    holds
        True if a theorem's confidence statement applies, given that the assumptions the user
        states (moment bound, norm bound, noise bound) are true.
    statement
        What is promised, in words.
    missing
        What stands in the way, one sentence each; empty if it holds.
    """

    holds: bool
    statement: str
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.holds:
            return self.statement
        return "No guarantee: " + " ".join(self.missing)


def no_guarantee(reason: str) -> Guarantee:
    """Return the guarantee of a heuristic."""
    return Guarantee(False, "none", (reason,))


def band_statement(theorem: str, failure_probability: float, horizon: int | None) -> str:
    """Return the confidence statement of a theorem in words."""
    rounds = "all rounds" if horizon is None else f"all rounds up to {horizon}"
    return (
        f"With probability at least {1.0 - failure_probability:g} the true mean payoffs lie inside "
        f"the band at all points in {rounds} ({theorem})."
    )


def kernel_hypotheses(kernel: Kernel, X: Array) -> list[str]:
    """Check k(x, x) <= 1, the hypothesis of every theorem."""
    largest = float(kernel.diagonal(X).max())
    if largest > 1.0 + 1e-9:
        return [f"k(x, x) <= 1 must hold (section 2), but it reaches {largest:.6g}."]
    return []


def feature_hypotheses(
    features: FeatureMap | Nystrom,
    embedding: Embedding | None,
    kernel: Kernel,
    X: Array,
    setting: Setting,
) -> tuple[str, list[str]]:
    """Return the theorem that covers ATA-GP-UCB with these features, and what it misses."""
    if isinstance(features, QuadratureFourier):
        return "Theorem 3", _quadrature_hypotheses(features, kernel, X, setting)
    if isinstance(features, Nystrom):
        return "Theorem 4", _nystrom_hypotheses(features, setting)
    if isinstance(features, Exact):
        assert embedding is not None
        return "Theorem 4", _exact_hypotheses(embedding, kernel, X, setting)
    return "none", ["no theorem covers these features (Remark 3 on random Fourier features)."]


def _quadrature_hypotheses(
    features: QuadratureFourier, kernel: Kernel, X: Array, setting: Setting
) -> list[str]:
    missing = []
    least = features.nodes_for_theorem(setting.horizon)
    if features.nodes < least:
        missing.append(
            f"Theorem 3 asks for nodes >= 2 log_(4/e)(T^3) = {least}, but nodes={features.nodes}; "
            f"the kernel error is at most {features.error_bound(kernel, X):.3g}."
        )
    if X.min() < 0.0 or X.max() > 1.0:
        missing.append("Theorem 3 asks for arms in [0, 1]^d.")
    return missing


def _nystrom_hypotheses(features: Nystrom, setting: Setting) -> list[str]:
    missing = []
    if features.oversampling is not None:
        missing.append("Theorem 4 fixes the oversampling q.")
    if features.draws == "sites":
        missing.append('Algorithm 3 draws for every past round, but draws="sites".')
    if setting.ridge < 1.0:
        missing.append(
            "Algorithm 3 draws with q sigma^2, which covers q times the leverage sigma^2 / ridge "
            f"only if ridge >= 1, but ridge={setting.ridge:g}."
        )
    return missing


def _exact_hypotheses(
    embedding: Embedding, kernel: Kernel, X: Array, setting: Setting
) -> list[str]:
    # The bias term B (1 + |Phi_t (I - P)| / sqrt(ridge)) of Theorem 4's proof is at most 2 B while
    # the part left out of the features adds up to at most the ridge.
    residual = float(np.max(kernel.diagonal(X) - embedding.squared_norms()))
    if residual * setting.horizon > setting.ridge:
        return [
            f"the features leave out {residual:.3g} of k(x, x), which over {setting.horizon} "
            f"rounds exceeds ridge={setting.ridge:g}; lower the tolerance of Exact()."
        ]
    return []


def theorem1_hypotheses(failure_probability: float) -> list[str]:
    """Check what the last step of Theorem 1's proof uses: 1 + 2 s <= 3 s, s^2 >= ln(1/delta)."""
    if failure_probability > math.exp(-1.0):
        return [
            "the proof of Theorem 1 needs failure_probability <= 1/e, but "
            f"failure_probability={failure_probability:g}."
        ]
    return []


def width_hypotheses(multiplier: float) -> list[str]:
    """Check that the theorem's width is not shrunk."""
    if multiplier < 1.0 and not math.isclose(multiplier, 1.0):
        return [f"the theorem's width is multiplied by {multiplier:g}."]
    return []
