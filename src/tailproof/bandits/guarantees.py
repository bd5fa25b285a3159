"""Which theorem covers a policy as it was set up, and which hypotheses are missing."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tailproof.bandits import schedules
from tailproof.bandits.arms import Box
from tailproof.bandits.features import (
    Exact,
    FeatureMap,
    LinearFeatures,
    Nystrom,
    QuadratureFourier,
    RandomFourier,
)
from tailproof.bandits.huber_schedules import HeavyOFUL, OnePassHuber
from tailproof.bandits.schedules import MomentBound, Schedule, Setting, theorem4_oversampling
from tailproof.bandits.stationarity import is_stationary
from tailproof.kernels import Kernel, SquaredExponential

if TYPE_CHECKING:
    from tailproof.bandits.policy_run import PolicyConfig

Array = NDArray[np.float64]


class TheoryWarning(UserWarning):
    """A theory schedule is used where a hypothesis of its theorem fails."""


@dataclass(frozen=True)
class Guarantee:
    """Whether a theorem's confidence band covers the policy as it is set up.

    What the user states (moment bound, norm bound, noise bound) is taken to be true. The band and
    the regret rate are stated apart: a band may hold where the rate's hypotheses fail.
    """

    statement: str  # on the band, in words; "none" where a hypothesis is missing
    missing: tuple[str, ...] = ()  # the band's hypotheses that fail, a sentence each
    horizon: int | None = None  # rounds it covers; None for all
    # What must be added to both sides of the band for approximate features, in units of payoff.
    widening: float = 0.0
    rate_missing: tuple[str, ...] = ()  # the regret rate's hypotheses that fail besides

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


def guarantee(
    statement: str,
    missing: list[str],
    horizon: int | None = None,
    cover: FeatureCover | None = None,
) -> Guarantee:
    """Return a guarantee, which holds if no hypothesis is missing."""
    if missing:
        return Guarantee("none", tuple(missing), horizon)
    if cover is None:
        return Guarantee(statement, (), horizon)
    return Guarantee(statement, (), horizon, cover.widening, tuple(cover.rate_missing))


def band_statement(
    theorem: str, failure_probability: float, horizon: int | None, widening: float = 0.0
) -> str:
    """Return the confidence statement of a theorem in words."""
    rounds = "all rounds" if horizon is None else f"all rounds up to {horizon}"
    band = f"the band widened by {widening:.3g}" if widening > 0.0 else "the band"
    return (
        f"With probability at least {1.0 - failure_probability:g} the true mean payoffs lie inside "
        f"{band} at all arms in {rounds} ({theorem})."
    )


def over_a_box(found: Guarantee) -> Guarantee:
    """Return the guarantee of a policy on a box: the band holds at all points of the box.

    A round that plays a point whose mean + beta std is e below the largest has at most
    2 beta std + e regret (f(x*) <= ucb(x*) <= ucb(x_t) + e), so that the errors add up to at most
    their sum in the regret bound.
    """
    if not found.holds:
        return found
    statement = found.statement.replace("at all arms", "at all points of the box") + (
        " The regret bound grows by the sum over the rounds of `maximization_error`, by which the "
        "largest mean + beta std may exceed the one played; the band does not depend on it."
    )
    return replace(found, statement=statement)


def kernel_hypotheses(kernel: Kernel, X: Array) -> list[str]:
    """Check k(x, x) <= 1, the hypothesis of every theorem."""
    largest = float(kernel.diagonal(X).max())
    text = f"k(x, x) <= 1 must hold (section 2), but it reaches {largest:.6g}."
    return [text] if largest > 1.0 + 1e-9 else []


@dataclass(frozen=True)
class FeatureCover:
    """The theorem that covers ATA-GP-UCB with some features, and what it lacks."""

    theorem: str
    missing: list[str]  # hypotheses of the band that fail
    widening: float = 0.0  # see Guarantee
    rate_missing: tuple[str, ...] = ()


def feature_cover(
    features: FeatureMap | Nystrom,
    residual: float,
    kernel: Kernel,
    X: Array,
    setting: Setting,
    *,
    box: bool = False,
) -> FeatureCover:
    """Return the theorem that covers ATA-GP-UCB with these features; subclasses have none.

    `residual` is the largest part of k(x, x) that the features leave out for good; with `box` the
    domain is the box around the points `X` (n, d), else those points.
    """
    if type(features) is QuadratureFourier:
        error = features.error_bound(kernel, X) if box else features.error(kernel, X)
        return _quadrature_cover(features, error, kernel, X, setting)
    if type(features) is Nystrom:
        missing = _nystrom_hypotheses(features, setting)
        missing += _residual_hypotheses(residual, setting, "cutoff of Nystrom")
        widening = setting.norm_bound * _cutoff_share(features.accuracy, residual, setting)
        return FeatureCover("Theorem 4", missing, widening)
    if type(features) is Exact:
        missing = _residual_hypotheses(residual, setting, "tolerance of Exact")
        return FeatureCover("Theorem 4", missing)
    if type(features) is LinearFeatures:
        return FeatureCover("Lemma 1 with a kernel error of 0", [])
    if type(features) is RandomFourier:
        return FeatureCover("none", ["no theorem covers random Fourier features (Remark 3)."])
    return FeatureCover("none", [f"no theorem covers custom features: {features!r}."])


def _cutoff_share(accuracy: float, residual: float, setting: Setting) -> float:
    """Return what the cutoff of Nystrom features adds to a theorem's band, in units of B.

    The bias is B (1 + sqrt(1/(1 - eps) + residual T / lambda)) sigma, where Theorem 4 has
    B (1 + sqrt(1/(1 - eps))) sigma; sigma <= 1.
    """
    kept = 1.0 / (1.0 - accuracy)
    left_out = max(residual, 0.0) * setting.horizon / setting.ridge
    return math.sqrt(kept + left_out) - math.sqrt(kept)


def _quadrature_cover(
    features: QuadratureFourier, error: float, kernel: Kernel, X: Array, setting: Setting
) -> FeatureCover:
    """Lemma 1 needs epsilon_m < 1 for the band; the number of nodes gives Theorem 3's rate."""
    share = _approximation_share(error, setting)
    missing, rate_missing = [], []
    if error >= 1.0:
        missing.append(f"Lemma 1 asks for a kernel error below 1, but it may be {error:.3g}.")
    elif share >= 1.0:
        missing.append(
            f"the features' error of {error:.3g} may move the band by {share:.3g} times "
            "norm_bound: it promises nothing."
        )
    least = features.nodes_for_theorem(setting.horizon)
    if type(kernel) is not SquaredExponential:
        rate_missing.append("Theorem 3 states its regret rate for the squared exponential alone.")
    elif features.nodes < least or not features.converges(kernel, X):
        rate_missing.append(
            f"Theorem 3's regret rate asks for nodes >= 2 log_(4/e)(T^3) = {least} and for "
            f"nodes > 1 / l^2, l relative to the arms' range, but nodes={features.nodes}."
        )
    widening = setting.norm_bound * share
    return FeatureCover("Lemma 1", missing, widening, tuple(rate_missing))


def _approximation_share(error: float, setting: Setting) -> float:
    """Lemma 1's additive term O(B eps^(1/2) t^2) at t = T, in units of B, from its proof.

    |alpha - alpha~| <= B eps (t/lambda + t^2/lambda^2), |sigma - sigma~|^2 <= eps (1 + t/lambda)^2
    + eps^2 t/lambda ("Error in posterior mean and variance approximations").
    """
    ratio = setting.horizon / setting.ridge
    deviation = math.sqrt(error * (1.0 + ratio) ** 2 + error * error * ratio)
    return error * ratio * (1.0 + ratio) + deviation


def _nystrom_hypotheses(features: Nystrom, setting: Setting) -> list[str]:
    """Return what a Nystrom dictionary violates of Theorem 4's hypotheses."""
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
    """Return what the variance outside the features violates of the theorems' hypotheses."""
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


# Epochs of Theorem 1's repaired proof that are checked; the last condition covers all later ones.
_EPOCHS = 121


def theorem1_is_repaired(failure_probability: float, ridge: float, least_diagonal: float) -> bool:
    """Whether docs/proofs.md proves Theorem 1's band, in all rounds, with its printed constants.

    `least_diagonal` is the smallest k(x, x). In epoch j = 0, 1, .. it takes
    sqrt(2) (1 + sqrt(s^2 + c_j)) <= 3 s, c_j = 2 ln(pi^2 (j+1)^2 / 6), for the smallest possible
    s^2 = ln|I + K_t / lambda| + 2 ln(1/delta), where ln|I + K_t / lambda| >=
    ln(1 + 2^j k(x, x) / lambda). If s^2 >= max(c_j, 2) and 2^j k(x, x) >= lambda in the last epoch
    that is checked, it holds in all later ones.
    """
    s2 = weight = ratio = 0.0
    for j in range(_EPOCHS):
        ratio = 2.0**j * max(least_diagonal, 0.0) / ridge
        s2 = math.log1p(ratio) + 2.0 * math.log(1.0 / failure_probability)
        weight = 2.0 * math.log(math.pi**2 * (j + 1) ** 2 / 6.0)
        if math.sqrt(2.0) * (1.0 + math.sqrt(s2 + weight)) > 3.0 * math.sqrt(s2):
            return False
    return s2 >= max(weight, 2.0) and ratio >= 1.0


def beta_hypotheses(multiplier: float) -> list[str]:
    """Check that the theorem's beta is not made smaller."""
    smaller = multiplier < 1.0 and not math.isclose(multiplier, 1.0)
    return [f"the theorem's beta is multiplied by {multiplier:g}."] if smaller else []


def ridge_guarantee(config: PolicyConfig, schedule: Schedule) -> Guarantee:
    """Return the guarantee of GP-UCB or TGP-UCB under a schedule."""
    # By exact type: a subclass may compute another beta.
    given: Setting | schedules.SubGaussian
    if type(schedule) is schedules.Theorem1 and _is_plain(schedule.setting):
        given = schedule.setting
        least = _least_diagonal(config)
        delta, ridge = given.failure_probability, given.ridge
        repaired = theorem1_is_repaired(delta, ridge, least)
        how = "docs/proofs.md" if repaired else "its growing sub-Gaussian constant taken as it is"
        theorem = f"Theorem 1, {how}"
        more = [] if repaired else theorem1_hypotheses(delta)
    elif type(schedule) is schedules.SubGaussian:
        theorem, given, more = "the self-normalized inequality of appendix B", schedule, []
    else:
        return _unproven_schedule(config.options["schedule"])
    more += _ridge_hypotheses(given.ridge, config)
    missing = _kernel_hypotheses(config) + more
    missing += beta_hypotheses(config.options["beta_multiplier"])
    return guarantee(band_statement(theorem, given.failure_probability, None), missing)


def feature_guarantee(
    config: PolicyConfig, schedule: Schedule, residual: float, with_residual: bool
) -> Guarantee:
    """Return the guarantee of ATA-GP-UCB or MoMA-GP-UCB with these features."""
    options, X = config.options, config.space.inputs
    if config.policy == "moma_gp_ucb":
        return guarantee("", ["medians of means in feature directions have no theorem."])
    features = options["features"]
    setting = _theorem_setting(schedule, features)
    if setting is None:
        return _unproven_schedule(options["schedule"])
    missing = _kernel_hypotheses(config)
    box = isinstance(config.space, Box)
    cover = feature_cover(features, residual, config.kernel, X, setting, box=box)
    missing += cover.missing + beta_hypotheses(options["beta_multiplier"])
    missing += _ridge_hypotheses(setting.ridge, config)
    if isinstance(features, Nystrom | Exact) and not with_residual:
        missing.append("the theorem uses variance (ii) of Algorithm 2 with these features.")
    theorem = f"{cover.theorem}, with appendix D.1's conditioning on later arms taken as it is"
    probability, widening = setting.failure_probability, cover.widening
    statement = band_statement(theorem, probability, setting.horizon, widening)
    return guarantee(statement, missing, setting.horizon, cover)


def _least_diagonal(config: PolicyConfig) -> float:
    """Return a lower bound on k(x, x) over the arms, a hypothesis of Theorem 1's guarantee."""
    if isinstance(config.space, Box) and not is_stationary(config.kernel):
        return 0.0
    return float(config.kernel.diagonal(config.space.inputs).min())


def _theorem_setting(schedule: Schedule, features: FeatureMap | Nystrom) -> Setting | None:
    """Return a schedule's constants if a theorem's guarantee covers these features, or None.

    By exact type and values: a subclass may compute another beta, and Theorem 4's accuracy must be
    at least that of the features, which is 0 for exact ones.
    """
    if type(schedule) is schedules.Theorem3:
        covered = not isinstance(features, Nystrom | Exact)
    elif type(schedule) is schedules.Theorem4:
        accuracy = features.accuracy if isinstance(features, Nystrom) else 0.0
        covered = isinstance(features, Nystrom | Exact) and schedule.accuracy >= accuracy
    else:
        return None
    return schedule.setting if covered and _is_plain(schedule.setting) else None


def _is_plain(setting: Setting) -> bool:
    """Whether the constants under a guarantee, and their moment bound, are of no subclass."""
    return type(setting) is Setting and type(setting.moment) is MomentBound


def _unproven_schedule(schedule: str | Schedule) -> Guarantee:
    """Return the empty guarantee under a schedule that no theorem covers."""
    authors = "the authors' constants are only order-wise the theorems'."
    return guarantee("", [authors if schedule == "authors" else "the schedule is custom."])


def _ridge_hypotheses(ridge: float, config: PolicyConfig) -> list[str]:
    """Return what a schedule made for another ridge violates of its theorem's hypotheses."""
    same = ridge == config.options["ridge"]
    return [] if same else [f"the schedule was made for ridge={ridge:g}."]


def _kernel_hypotheses(config: PolicyConfig) -> list[str]:
    """Return what the kernel violates of the theorems' hypotheses, and warn of it."""
    missing = kernel_hypotheses(config.kernel, config.space.inputs)
    for reason in missing:
        warnings.warn(f"No guarantee: {reason}", TheoryWarning, stacklevel=5)
    return missing


def huber_guarantee(heavy: bool, schedule: Schedule) -> Guarantee:
    """Return the guarantee of a policy by Huber regression under a schedule."""
    if not isinstance(schedule, HeavyOFUL | OnePassHuber):
        return guarantee("", ["the schedule is custom."])
    paper = "Huang et al. (2023)" if heavy else "Tani and Futami (2026)"
    reason = f"the band is the one of {paper} for exact features; its proof is not checked here."
    return guarantee("", [reason])
