"""Build a policy from its parts: check the options, make posterior, schedule and guarantee."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._compiled import announce_compilation
from tailproof._compiled.eigen import add_payoff
from tailproof._compiled.ridge import ucb_argmax
from tailproof._util import checks
from tailproof.bandits import guarantees as g
from tailproof.bandits import schedules
from tailproof.bandits.arm_optimizer import ArmOptimizer
from tailproof.bandits.arms import Box, Finite, PolicyArms
from tailproof.bandits.box_optimizer import BoxOptimizer
from tailproof.bandits.estimators import DirectionEstimator, MedianOfMeans, TruncateDirections
from tailproof.bandits.features import (
    LARGEST_FEATURE_MATRIX,
    Exact,
    ExplicitFeatures,
    ExplicitMap,
    FeatureMap,
    Nystrom,
)
from tailproof.bandits.policy_run import PolicyConfig
from tailproof.bandits.posterior.base import PosteriorInputs
from tailproof.bandits.posterior.box import (
    BoxFeaturePosterior,
    BoxNystromPosterior,
    BoxPosterior,
    BoxRidgePosterior,
    FeatureBasis,
    SpanBasis,
)
from tailproof.bandits.posterior.features import FeaturePosterior
from tailproof.bandits.posterior.nystrom import NystromPosterior, Sampling
from tailproof.bandits.posterior.ridge import SPAN_ROUNDING, RidgePosterior
from tailproof.bandits.posterior.robust_conjugate import RobustConjugatePosterior
from tailproof.bandits.schedules import MomentBound, Schedule, Setting
from tailproof.bandits.stationarity import (
    contains_precomputed,
    stationary_distance,
)
from tailproof.kernels import Kernel

LARGEST_BOX_FEATURES = 4096  # an eigendecomposition of that size takes tens of seconds a round

Seed = int | np.random.SeedSequence | np.random.Generator | None


def common_options(
    space: PolicyArms[Any], kernel: Kernel, ridge: float, beta_multiplier: float
) -> dict[str, Any]:
    """Check what all policies are assembled from, and return the options among it."""
    if not isinstance(space, Finite | Box):
        allowed = "Finite(arms) or Box(lower, upper)"
        raise ValueError(f"`space` must be {allowed}, but got space={space!r}.")
    checks.instance("kernel", kernel, Kernel, "a kernel such as SquaredExponential(0.2)")
    if isinstance(space, Box) and contains_precomputed(kernel):
        raise ValueError(
            f"`kernel` must be defined on points for a Box, but got {type(kernel).__name__} of a "
            "matrix over labeled arms."
        )
    with np.errstate(over="ignore"):
        largest = float(np.max(kernel.diagonal(space.inputs)))
    if not math.isfinite(largest):
        raise ValueError(f"`kernel` must be finite on the arms, but k(x, x) reaches {largest}.")
    ridge = checks.positive("ridge", ridge)
    if ridge < 5e-16 * largest:
        raise ValueError(
            f"`ridge >= 5e-16 * k(x, x)` must hold to matter in double precision, but got "
            f"ridge={ridge!r} with k(x, x) up to {largest:g}."
        )
    multiplier = checks.positive("beta_multiplier", beta_multiplier)
    return {"ridge": ridge, "beta_multiplier": multiplier}


def theory_options(
    moment: MomentBound | None, norm_bound: float | None, horizon: int, failure_probability: float
) -> dict[str, Any]:
    """Check the theorems' constants that a policy is assembled with, whatever its schedule uses."""
    if moment is not None:
        checks.instance("moment", moment, MomentBound, "a MomentBound(alpha, v)")
    return {
        "moment": moment,
        "norm_bound": None if norm_bound is None else checks.positive("norm_bound", norm_bound),
        "horizon": checks.integer("horizon", horizon, low=1),
        "failure_probability": checks.in_unit_interval(
            "failure_probability", failure_probability, closed_above=True
        ),
    }


def _schedule_setting(options: dict[str, Any]) -> Setting:
    """Return the theorems' constants that the schedule of an assembled policy needs."""
    for name in ("moment", "norm_bound"):
        if options[name] is None:
            raise ValueError(
                f"`{name}` must be given for schedule={options['schedule']!r}, but got None."
            )
    names = ("moment", "norm_bound", "ridge", "failure_probability", "horizon")
    return Setting(*(options[name] for name in names))


def ridge_policy(config: PolicyConfig, seed: Seed) -> ArmOptimizer | BoxOptimizer:
    """Assemble GP-UCB or TGP-UCB."""
    options, X, schedule = config.options, config.space.inputs, config.options["schedule"]
    chosen: Schedule = schedule
    if isinstance(schedule, str):
        setting, theory = _schedule_setting(options), schedule == "theory"
        chosen = schedules.Theorem1(setting) if theory else schedules.AuthorsTGP(setting)
    rng = checks.generator(seed)
    announce_compilation(ucb_argmax)
    ridge, start = options["ridge"], rng.bit_generator.state
    if isinstance(config.space, Box):
        inputs = PosteriorInputs(config.kernel, X, ridge, chosen.truncation, with_residual=True)
        limit = SPAN_ROUNDING * float(config.kernel.diagonal(X).max())
        basis = SpanBasis(config.kernel, limit, config.space.dimension)
        box_posterior = BoxRidgePosterior(inputs, basis)
        found = g.ridge_guarantee(config, chosen)
        return _box_optimizer(config, box_posterior, chosen, found, rng, start)
    posterior = RidgePosterior(config.kernel, X, ridge, lambda t: chosen.truncation(t, 0))
    guarantee = g.ridge_guarantee(config, chosen)
    return ArmOptimizer(config, posterior, chosen, guarantee, rng, start)


def robust_conjugate_policy(config: PolicyConfig, seed: Seed) -> ArmOptimizer:
    """Assemble RCGP-UCB."""
    options = config.options
    rng = checks.generator(seed)
    announce_compilation(ucb_argmax)
    start = rng.bit_generator.state
    posterior = RobustConjugatePosterior(
        config.kernel,
        config.space.inputs,
        options["ridge"],
        options["prior_mean"],
        options["scale"],
    )
    guarantee = g.guarantee("", ["no theorem covers the regret or the band of RCGP-UCB."])
    return ArmOptimizer(config, posterior, options["schedule"], guarantee, rng, start)


def _box_optimizer(
    config: PolicyConfig,
    posterior: BoxPosterior,
    schedule: Schedule,
    guarantee: g.Guarantee,
    rng: np.random.Generator,
    start: Any,
    explicit: ExplicitFeatures | None = None,
) -> BoxOptimizer:
    """Assemble the optimizer of a policy over a box."""
    kernel = config.kernel

    def distance(offset: NDArray[np.float64]) -> float | None:
        if explicit is not None:
            return explicit.distance(offset)
        return stationary_distance(kernel, offset)

    found = g.over_a_box(guarantee)
    return BoxOptimizer(config, posterior, schedule, found, rng, start, distance)


def feature_policy(config: PolicyConfig, seed: Seed) -> ArmOptimizer | BoxOptimizer:
    """Assemble ATA-GP-UCB or MoMA-GP-UCB."""
    options, kernel, X = config.options, config.kernel, config.space.inputs
    features, schedule = options["features"], options["schedule"]
    rng = checks.generator(seed)
    start = rng.bit_generator.state
    setting = _schedule_setting(options) if isinstance(schedule, str) else None
    chosen = schedule if setting is None else _feature_schedule(schedule, features, setting)
    announce_compilation(ucb_argmax, add_payoff)
    with_residual = _uses_residual_variance(options["variance"], features)
    inputs = PosteriorInputs(kernel, X, options["ridge"], chosen.truncation, with_residual)
    if isinstance(config.space, Box):
        return _box_feature_policy(config, inputs, chosen, setting, rng, start)
    estimator: DirectionEstimator
    if config.policy == "ata_gp_ucb":
        estimator = TruncateDirections(len(X))
    else:
        estimator = MedianOfMeans(len(X), _max_store_blocks(options, len(X)))
    posterior: FeaturePosterior
    if isinstance(features, Nystrom):
        sampling = _arm_sampling(features, schedule, setting)
        posterior = NystromPosterior(inputs, features, sampling, estimator, rng)
    else:
        posterior = FeaturePosterior(inputs, features.embed(kernel, X, rng), estimator)
    guarantee = g.feature_guarantee(config, chosen, posterior.residual, inputs.with_residual)
    return ArmOptimizer(config, posterior, chosen, guarantee, rng, start)


def _box_feature_policy(
    config: PolicyConfig,
    inputs: PosteriorInputs,
    schedule: Schedule,
    setting: Setting | None,
    rng: np.random.Generator,
    start: Any,
) -> BoxOptimizer:
    """Assemble ATA-GP-UCB over a box."""
    features, explicit = config.options["features"], None
    posterior: BoxFeaturePosterior
    residual = 0.0
    if isinstance(features, Nystrom):
        sampling = _arm_sampling(features, config.options["schedule"], setting)
        posterior = BoxNystromPosterior(inputs, features, sampling, rng)
        residual = posterior.residual
    else:
        if not isinstance(features, ExplicitMap):
            raise ValueError(
                "`features` must be Nystrom() or have a formula, as QuadratureFourier(nodes), on "
                f"a Box, but got {features!r}."
            )
        explicit = features.explicit(config.kernel, inputs.X, rng)
        if explicit.copies.sum() > LARGEST_BOX_FEATURES:
            raise ValueError(
                f"`features` must be at most {LARGEST_BOX_FEATURES} on a Box, but got "
                f"{explicit.copies.sum():.0f} of {features!r}."
            )
        posterior = BoxFeaturePosterior(inputs, FeatureBasis(explicit))
    found = g.feature_guarantee(config, schedule, residual, inputs.with_residual)
    return _box_optimizer(config, posterior, schedule, found, rng, start, explicit)


def _feature_schedule(name: str, features: FeatureMap | Nystrom, setting: Setting) -> Schedule:
    """Return the schedule that a name stands for when ATA-GP-UCB is assembled."""
    if name == "authors":
        return schedules.AuthorsATA(setting, dictionary=isinstance(features, Nystrom))
    if isinstance(features, Nystrom):
        return schedules.Theorem4(setting, features.accuracy)
    if isinstance(features, Exact):
        return schedules.Theorem4(setting, 0.0)
    return schedules.Theorem3(setting)


def _arm_sampling(features: Nystrom, schedule: str | Schedule, setting: Setting | None) -> Sampling:
    """Assemble the way a dictionary is drawn: the theorem's, unless the authors' is asked for."""
    authors = schedule == "authors"
    q = features.oversampling
    if q is None:
        if setting is None:
            raise ValueError(
                "`oversampling` must be given to Nystrom(...) with a custom schedule, but got None."
            )
        rule = schedules.authors_oversampling if authors else schedules.theorem4_oversampling
        q = rule(setting, features.accuracy)
    draws = features.draws or ("sites" if authors else "rounds")
    return Sampling(q, each_round=draws == "rounds", by_leverage=authors)


def _uses_residual_variance(variance: str | None, features: FeatureMap | Nystrom) -> bool:
    """Whether a policy is assembled with choice (ii) of Algorithm 2, by default as in the paper."""
    if variance is None:
        return isinstance(features, Nystrom | Exact)
    return checks.choice("variance", variance, ("i", "ii")) == "ii"


def _max_store_blocks(options: dict[str, Any], arms: int) -> int:
    """Return the blocks to assemble MoMA-GP-UCB with, a power of two, within the memory limit."""
    blocks = options["blocks"]
    if blocks is None:
        blocks = 8.0 * math.log(options["horizon"] / options["failure_probability"])
    result = int(2 ** math.ceil(math.log2(max(blocks, 1.0))))
    if result * arms > LARGEST_FEATURE_MATRIX:
        raise ValueError(
            f"`blocks * arms <= {LARGEST_FEATURE_MATRIX}` must hold to keep the blocks in memory, "
            f"but got blocks={result}, arms={arms}."
        )
    return result
