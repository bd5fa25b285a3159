"""Which theorem covers a policy as it was set up, and which hypotheses are missing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailproof.bandits.features import Exact, FeatureMap, Nystrom, QuadratureFourier
from tailproof.bandits.schedules import Setting, theorem4_oversampling
from tailproof.kernels import Kernel

Array = NDArray[np.float64]


class TheoryWarning(UserWarning):
    """A theory schedule is used where a hypothesis of its theorem fails."""


@dataclass(frozen=True)
class Guarantee:
    """Whether a theorem covers the policy as it is set up.

    What the user states (moment bound, norm bound, noise bound) is taken to be true.
    """

    statement: str  # the theorem's in words; "none" where a hypothesis is missing
    missing: tuple[str, ...] = ()  # the hypotheses that fail, a sentence each
    horizon: int | None = None  # rounds it covers; None for all

    @property
    def holds(self) -> bool:
        """Whether a theorem's confidence statement applies."""
        return not self.missing

    def __str__(self) -> str:
        return self.statement if self.holds else "No guarantee: " + " ".join(self.missing)

    def after(self, payoffs: int) -> Guarantee:
        """Return the guarantee after so many payoffs: none beyond the horizon."""
        if not self.holds or self.horizon is None or payoffs <= self.horizon:
            return self
        return guarantee("", [f"{payoffs} payoffs exceed the horizon of {self.horizon}."])


def guarantee(statement: str, missing: list[str], horizon: int | None = None) -> Guarantee:
    """Return a guarantee, which holds if no hypothesis is missing."""
    return Guarantee("none" if missing else statement, tuple(missing), horizon)


def band_statement(theorem: str, failure_probability: float, horizon: int | None) -> str:
    """Return the confidence statement of a theorem in words."""
    rounds = "all rounds" if horizon is None else f"all rounds up to {horizon}"
    return (
        f"With probability at least {1.0 - failure_probability:g} the true mean payoffs lie inside "
        f"the band at all arms in {rounds} ({theorem})."
    )


def kernel_hypotheses(kernel: Kernel, X: Array) -> list[str]:
    """Check k(x, x) <= 1, the hypothesis of every theorem."""
    largest = float(kernel.diagonal(X).max())
    text = f"k(x, x) <= 1 must hold (section 2), but it reaches {largest:.6g}."
    return [text] if largest > 1.0 + 1e-9 else []


def feature_hypotheses(
    features: FeatureMap | Nystrom, residual: float, kernel: Kernel, X: Array, setting: Setting
) -> tuple[str, list[str]]:
    """Return the theorem that covers ATA-GP-UCB with these features, and its missing hypotheses.

    `residual` is the largest part of k(x, x) that the features leave out for good.
    """
    if isinstance(features, QuadratureFourier):
        return "Theorem 3", _quadrature_hypotheses(features, kernel, X, setting)
    if isinstance(features, Nystrom):
        missing = _nystrom_hypotheses(features, setting)
        return "Theorem 4", missing + _residual_hypotheses(residual, setting, "cutoff of Nystrom")
    if isinstance(features, Exact):
        return "Theorem 4", _residual_hypotheses(residual, setting, "tolerance of Exact")
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
    share = _approximation_share(features.error_bound(kernel, X), setting)
    if share > 1e-6:
        missing.append(
            f"the features' error may move the band by {share:.3g} times norm_bound, which beta "
            "does not cover."
        )
    if X.min() < 0.0 or X.max() > 1.0:
        missing.append("Theorem 3 asks for arms in [0, 1]^d.")
    return missing


def _approximation_share(error: float, setting: Setting) -> float:
    """Lemma 1's additive term O(B eps^(1/2) t^2) at t = T, in units of B, from its proof.

    |alpha - alpha~| <= B eps (t/lambda + t^2/lambda^2), |sigma - sigma~|^2 <= eps (1 + t/lambda)^2
    + eps^2 t/lambda ("Error in posterior mean and variance approximations").
    """
    ratio = setting.horizon / setting.ridge
    deviation = math.sqrt(error * (1.0 + ratio) ** 2 + error * error * ratio)
    return error * ratio * (1.0 + ratio) + deviation


def _nystrom_hypotheses(features: Nystrom, setting: Setting) -> list[str]:
    missing = []
    least = theorem4_oversampling(setting, features.accuracy)
    if features.oversampling is not None and features.oversampling < least:
        missing.append(
            f"Theorem 4 asks for q = {least:.4g}, but oversampling={features.oversampling:g}."
        )
    if features.draws == "sites":
        missing.append('Algorithm 3 draws for every past round, but draws="sites".')
    if setting.ridge < 1.0:
        missing.append(
            "Algorithm 3 draws with q sigma^2, which covers q times the leverage sigma^2 / ridge "
            f"only if ridge >= 1, but ridge={setting.ridge:g}."
        )
    return missing


def _residual_hypotheses(residual: float, setting: Setting, lever: str) -> list[str]:
    # The bias term B (1 + |Phi_t (I - P)| / sqrt(ridge)) of Theorem 4's proof is at most 2 B while
    # the part left out of the features adds up to at most the ridge.
    if residual * setting.horizon <= setting.ridge:
        return []
    text = f"the features leave out {residual:.3g} of k(x, x), which over {setting.horizon} rounds "
    return [text + f"exceeds ridge={setting.ridge:g}; lower the {lever}()."]


def theorem1_hypotheses(failure_probability: float) -> list[str]:
    """Check the last step of Theorem 1's proof: 1 + 2 s <= 3 s with s^2 >= ln(1/delta)."""
    text = f"the proof of Theorem 1 needs failure_probability <= 1/e, not {failure_probability:g}."
    return [text] if failure_probability > math.exp(-1.0) else []


def beta_hypotheses(multiplier: float) -> list[str]:
    """Check that the theorem's beta is not made smaller."""
    smaller = multiplier < 1.0 and not math.isclose(multiplier, 1.0)
    return [f"the theorem's beta is multiplied by {multiplier:g}."] if smaller else []
