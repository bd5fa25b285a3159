"""The paper's policies: named compositions of kernel, features, estimator and schedule."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from tailproof import _checks
from tailproof import guarantees as g
from tailproof.arm_optimizer import ArmOptimizer, Recipe
from tailproof.direction_posterior import DirectionPosterior, Ground, NystromPosterior, Sampling
from tailproof.estimators import DirectionEstimator, MedianOfMeans, TruncateDirections
from tailproof.features import (
    Embedding,
    Exact,
    FeatureMap,
    Nystrom,
    check_features,
)
from tailproof.kernels import Kernel
from tailproof.posterior import Posterior, RidgePosterior
from tailproof.schedules import (
    AuthorsATA,
    AuthorsTGP,
    MomentBound,
    Own,
    Schedule,
    Setting,
    SubGaussian,
    Theorem1,
    Theorem3,
    Theorem4,
    authors_oversampling,
    check_schedule,
    theorem4_oversampling,
)
from tailproof.spaces import Finite

Seed = int | np.random.SeedSequence | np.random.Generator | None


def gp_ucb(
    space: Finite,
    kernel: Kernel,
    schedule: Schedule,
    *,
    ridge: float = 1.0,
    width_multiplier: float = 1.0,
    seed: Seed = None,
) -> ArmOptimizer:
    """GP-UCB: no truncation at all. Right for light tails, and believes its outliers under heavy.

    Parameters
    ----------
    space, kernel
        The arms, and how alike their mean payoffs are.
    schedule
        `SubGaussian(...)` for the width of the sub-Gaussian theory, `Own(widths)` for your own.
    ridge
        lambda > 0, the noise variance the model assumes, in units of payoff^2 / k(x, x).
    width_multiplier
        Factor on the schedule's width; recorded with the optimizer.
    seed
        An int, a SeedSequence or a Generator.

    Examples
    --------
    >>> import tailproof as tp
    >>> opt = tp.gp_ucb(tp.Finite([[0.0], [1.0]]), tp.SquaredExponential(0.5), tp.Own(2.0), seed=0)
    >>> opt.tell([0.0], [1.0, 1.2]); opt.tell([1.0], 3.0)
    >>> opt.recommend().point
    array([1.])
    """
    common = _common(space, kernel, ridge, width_multiplier)
    check_schedule(schedule, ())
    if isinstance(schedule, Own) and schedule.levels != math.inf:
        raise ValueError(
            "`schedule` must not truncate in gp_ucb, but got "
            f"Own(levels={schedule.levels!r}); use tgp_ucb."
        )
    posterior = RidgePosterior(kernel, space.inputs, common["ridge"], lambda t: math.inf)
    if isinstance(schedule, SubGaussian):
        missing = g.kernel_hypotheses(kernel, space.inputs)
        _warn(missing)
        missing += g.width_hypotheses(common["width_multiplier"])
        if schedule.ridge != common["ridge"]:
            missing.append("the schedule was made for another ridge.")
        statement = g.band_statement(
            "the self-normalised inequality of appendix B", schedule.failure_probability, None
        )
        guarantee = g.Guarantee(not missing, statement, tuple(missing))
    else:
        guarantee = g.no_guarantee("the width is one's own.")
    recipe = Recipe("gp_ucb", space, kernel, common | {"schedule": schedule})
    return _optimizer(recipe, posterior, schedule, guarantee, _generator(seed))


def tgp_ucb(
    space: Finite,
    kernel: Kernel,
    *,
    moment: MomentBound | None = None,
    norm_bound: float | None = None,
    horizon: int = 10_000,
    failure_probability: float = 0.1,
    ridge: float = 1.0,
    schedule: str | Schedule = "theory",
    width_multiplier: float = 1.0,
    seed: Seed = None,
) -> ArmOptimizer:
    """TGP-UCB (Algorithm 1): each payoff is set to zero, once, if it exceeds its b_t.

    Parameters
    ----------
    space, kernel
        The arms, and how alike their mean payoffs are.
    moment
        `MomentBound(alpha, v)`: E|y|^(1+alpha) <= v.
    norm_bound
        B: a bound on the RKHS norm of the mean payoffs (the authors used max |f|).
    horizon
        T; the authors' and the theory's schedule for this policy do not depend on it.
    failure_probability
        delta in (0, 1].
    ridge
        lambda > 0.
    schedule
        "theory" (Theorem 1), "authors", or a schedule such as `Own(widths, levels)`, for which
        moment and norm_bound are not needed.
    width_multiplier
        Factor on the schedule's width; recorded with the optimizer.
    seed
        An int, a SeedSequence or a Generator.

    Examples
    --------
    >>> import tailproof as tp
    >>> opt = tp.tgp_ucb(tp.Finite([[0.0], [1.0]]), tp.Matern(2.5, 0.3),
    ...                  moment=tp.MomentBound(alpha=1.0, v=4.0), norm_bound=1.0, seed=0)
    >>> opt.tell(opt.ask(), 1e9)  # far above b_1 = 2: set to zero
    >>> float(opt.recommend().mean)
    0.0
    """
    schedule = check_schedule(schedule, ("theory", "authors"))
    options = _common(space, kernel, ridge, width_multiplier)
    options |= _known(moment, norm_bound, horizon, failure_probability) | {"schedule": schedule}
    chosen: Schedule
    if isinstance(schedule, str):
        setting = _setting(options)
        chosen = Theorem1(setting) if schedule == "theory" else AuthorsTGP(setting)
    else:
        chosen = schedule
    posterior = RidgePosterior(
        kernel, space.inputs, options["ridge"], lambda t: chosen.truncation(t, 0)
    )
    if schedule == "theory":
        missing = g.kernel_hypotheses(kernel, space.inputs)
        _warn(missing)
        missing += g.theorem1_hypotheses(failure_probability)
        missing += g.width_hypotheses(options["width_multiplier"])
        statement = g.band_statement("Theorem 1", failure_probability, None)
        guarantee = g.Guarantee(not missing, statement, tuple(missing))
    else:
        guarantee = _unproven(schedule)
    recipe = Recipe("tgp_ucb", space, kernel, options)
    return _optimizer(recipe, posterior, chosen, guarantee, _generator(seed))


def ata_gp_ucb(
    space: Finite,
    kernel: Kernel,
    *,
    features: FeatureMap | Nystrom,
    moment: MomentBound | None = None,
    norm_bound: float | None = None,
    horizon: int = 10_000,
    failure_probability: float = 0.1,
    ridge: float = 1.0,
    schedule: str | Schedule = "theory",
    variance: str | None = None,
    width_multiplier: float = 1.0,
    seed: Seed = None,
) -> ArmOptimizer:
    """ATA-GP-UCB (Algorithm 2): truncation in every feature direction, all history, every round.

    Parameters
    ----------
    space, kernel
        The arms, and how alike their mean payoffs are.
    features
        `QuadratureFourier(nodes)`, `Nystrom(accuracy)`, `Exact()` or `RandomFourier(frequencies)`.
    moment
        `MomentBound(alpha, v)`: E|y|^(1+alpha) <= v.
    norm_bound
        B: a bound on the RKHS norm of the mean payoffs (the authors used max |f|).
    horizon
        T, the number of rounds the guarantee is for; more may be told.
    failure_probability
        delta in (0, 1].
    ridge
        lambda > 0.
    schedule
        "theory" (Theorem 3 for quadrature features, Theorem 4 for Nystrom and, with accuracy 0
        and m the rank, for exact ones), "authors", or a schedule such as `Own(widths, levels)`,
        for which moment and norm_bound are not needed.
    variance
        "i" or "ii" of Algorithm 2; None takes the paper's: (i) for Fourier features, else (ii).
    width_multiplier
        Factor on the schedule's width; recorded with the optimizer.
    seed
        An int, a SeedSequence or a Generator.

    Examples
    --------
    >>> import numpy as np, tailproof as tp
    >>> arms = np.linspace(0.01, 1.0, 100)[:, None]
    >>> opt = tp.ata_gp_ucb(tp.Finite(arms), tp.SquaredExponential(0.2),
    ...                     features=tp.QuadratureFourier(nodes=32),
    ...                     moment=tp.MomentBound(alpha=1.0, v=4.0), norm_bound=1.0, seed=0)
    >>> rng = np.random.default_rng(1)
    >>> for _ in range(20):
    ...     x = opt.ask()
    ...     opt.tell(x, np.sin(3 * x[0]) + rng.standard_t(3))
    >>> opt.predict(arms).mean.shape
    (100,)
    """
    options = _common(space, kernel, ridge, width_multiplier)
    options |= _known(moment, norm_bound, horizon, failure_probability) | {
        "features": check_features(features),
        "schedule": check_schedule(schedule, ("theory", "authors")),
        "variance": variance,
    }
    return _direction_policy(Recipe("ata_gp_ucb", space, kernel, options), seed)


def moma_gp_ucb(
    space: Finite,
    kernel: Kernel,
    *,
    features: FeatureMap | Nystrom,
    moment: MomentBound | None = None,
    norm_bound: float | None = None,
    horizon: int = 10_000,
    failure_probability: float = 0.1,
    ridge: float = 1.0,
    schedule: str | Schedule = "heuristic",
    variance: str | None = None,
    groups: int | None = None,
    width_multiplier: float = 1.0,
    seed: Seed = None,
) -> ArmOptimizer:
    """Median of means in every feature direction: the paper's closing suggestion, a heuristic.

    As `ata_gp_ucb`, but r_i is a median over groups of rounds instead of a truncated sum, so that
    no payoff is ever discarded and no level b_t is needed.

    Parameters
    ----------
    schedule
        "heuristic": the width of ATA-GP-UCB's theorem for the same features, which nobody has
        proved for this estimator; "authors": likewise their width; or a schedule of one's own.
    groups
        Most groups used, rounded up to a power of two; None for 8 ln(T / delta). At t payoffs at
        most sqrt(t) groups are in use.

    The other parameters are those of `ata_gp_ucb`.

    Examples
    --------
    >>> import tailproof as tp
    >>> opt = tp.moma_gp_ucb(tp.Finite([[0.0], [1.0]]), tp.Matern(1.5, 0.5), features=tp.Exact(),
    ...                      schedule=tp.Own(2.0), seed=0)
    >>> opt.tell([0.0], [1.0] * 15 + [1e6]); opt.tell([1.0], [2.0] * 16)
    >>> opt.recommend().point
    array([1.])
    """
    options = _common(space, kernel, ridge, width_multiplier)
    options |= _known(moment, norm_bound, horizon, failure_probability) | {
        "features": check_features(features),
        "schedule": check_schedule(schedule, ("heuristic", "authors")),
        "variance": variance,
        "groups": None if groups is None else _checks.integer("groups", groups, low=1),
    }
    return _direction_policy(Recipe("moma_gp_ucb", space, kernel, options), seed)


def _common(space: Finite, kernel: Kernel, ridge: float, width_multiplier: float) -> dict[str, Any]:
    """Check what all policies share, and return the options among it."""
    if not isinstance(space, Finite):
        raise ValueError(f"`space` must be Finite(arms), but got space={space!r}.")
    _checks.instance("kernel", kernel, Kernel, "a kernel such as SquaredExponential(0.2)")
    with np.errstate(over="ignore"):
        largest = float(np.max(kernel.diagonal(space.inputs)))
    if not math.isfinite(largest):
        raise ValueError(f"`kernel` must be finite on the arms, but k(x, x) reaches {largest}.")
    ridge = _checks.positive("ridge", ridge)
    if ridge < 5e-16 * largest:
        raise ValueError(
            f"`ridge >= 5e-16 * k(x, x)` must hold to be felt in double precision, but got "
            f"ridge={ridge!r} with k(x, x) up to {largest:g}."
        )
    return {
        "ridge": ridge,
        "width_multiplier": _checks.positive("width_multiplier", width_multiplier),
    }


def _known(
    moment: MomentBound | None,
    norm_bound: float | None,
    horizon: int,
    failure_probability: float,
) -> dict[str, Any]:
    """Check what the user claims to know, also where the schedule makes no use of it."""
    if moment is not None:
        _checks.instance("moment", moment, MomentBound, "a MomentBound(alpha, v)")
    return {
        "moment": moment,
        "norm_bound": None if norm_bound is None else _checks.positive("norm_bound", norm_bound),
        "horizon": _checks.integer("horizon", horizon, low=1),
        "failure_probability": _checks.in_unit_interval(
            "failure_probability", failure_probability, closed_above=True
        ),
    }


def _generator(seed: Seed) -> np.random.Generator:
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "`seed` must be an integer of at least 0, a SeedSequence or a Generator, but got "
            f"seed={seed!r}."
        ) from error


def _setting(options: dict[str, Any]) -> Setting:
    for name in ("moment", "norm_bound"):
        if options[name] is None:
            raise ValueError(
                f"`{name}` must be given for schedule={options['schedule']!r}, but got None."
            )
    return Setting(
        options["moment"],
        options["norm_bound"],
        options["ridge"],
        options["failure_probability"],
        options["horizon"],
    )


def _direction_policy(recipe: Recipe, seed: Seed) -> ArmOptimizer:
    """Build ATA-GP-UCB or MoMA-GP-UCB."""
    options, kernel, X = recipe.options, recipe.kernel, recipe.space.inputs
    features, schedule = options["features"], options["schedule"]
    rng = _generator(seed)
    start = rng.bit_generator.state
    setting = _setting(options) if isinstance(schedule, str) else None
    chosen = schedule if setting is None else _direction_schedule(schedule, features, setting)
    ground = Ground(
        kernel,
        X,
        options["ridge"],
        chosen.truncation,
        _with_residual(options["variance"], features),
    )
    estimator: DirectionEstimator
    if recipe.policy == "ata_gp_ucb":
        estimator = TruncateDirections(len(X))
    else:
        estimator = MedianOfMeans(len(X), _most_groups(options))
    embedding = None
    posterior: Posterior
    if isinstance(features, Nystrom):
        sampling = _sampling(features, schedule, setting)
        posterior = NystromPosterior(ground, features, sampling, estimator, rng)
    else:
        embedding = features.embed(kernel, X, rng)
        posterior = DirectionPosterior(ground, embedding, estimator)
    guarantee = _direction_guarantee(recipe, setting, embedding, ground.with_residual)
    return _optimizer(recipe, posterior, chosen, guarantee, rng, start)


def _direction_schedule(name: str, features: FeatureMap | Nystrom, setting: Setting) -> Schedule:
    if name == "authors":
        return AuthorsATA(setting, dictionary=isinstance(features, Nystrom))
    if isinstance(features, Nystrom):
        return Theorem4(setting, features.accuracy)
    if isinstance(features, Exact):
        return Theorem4(setting, 0.0)
    return Theorem3(setting)


def _sampling(features: Nystrom, schedule: str | Schedule, setting: Setting | None) -> Sampling:
    """Return how the dictionary is drawn: the theorem's way, unless the authors' is asked for."""
    authors = schedule == "authors"
    q = features.oversampling
    if q is None:
        if setting is None:
            raise ValueError(
                "`oversampling` must be given to Nystrom(...) where the schedule is one's own, "
                "but got None."
            )
        rule = authors_oversampling if authors else theorem4_oversampling
        q = rule(setting, features.accuracy)
    draws = features.draws or ("sites" if authors else "rounds")
    return Sampling(q, each_round=draws == "rounds", by_leverage=authors)


def _with_residual(variance: str | None, features: FeatureMap | Nystrom) -> bool:
    """Choice (i) or (ii) of Algorithm 2; by default the paper's for these features."""
    if variance is None:
        return isinstance(features, Nystrom | Exact)
    return _checks.choice("variance", variance, ("i", "ii")) == "ii"


def _most_groups(options: dict[str, Any]) -> int:
    wanted = options["groups"]
    if wanted is None:
        wanted = 8.0 * math.log(options["horizon"] / options["failure_probability"])
    return int(2 ** math.ceil(math.log2(max(wanted, 1.0))))


def _direction_guarantee(
    recipe: Recipe, setting: Setting | None, embedding: Embedding | None, with_residual: bool
) -> g.Guarantee:
    options, X = recipe.options, recipe.space.inputs
    if recipe.policy == "moma_gp_ucb":
        return g.no_guarantee("medians of means with adaptive features have no theorem.")
    if options["schedule"] != "theory" or setting is None:
        return _unproven(options["schedule"])
    features = options["features"]
    missing = g.kernel_hypotheses(recipe.kernel, X)
    _warn(missing)
    theorem, more = g.feature_hypotheses(features, embedding, recipe.kernel, X, setting)
    missing += more + g.width_hypotheses(options["width_multiplier"])
    if isinstance(features, Nystrom | Exact) and not with_residual:
        missing.append("the theorem uses variance (ii) of Algorithm 2 with these features.")
    statement = g.band_statement(theorem, setting.failure_probability, setting.horizon)
    return g.Guarantee(not missing, statement, tuple(missing))


def _unproven(schedule: str | Schedule) -> g.Guarantee:
    if schedule == "authors":
        return g.no_guarantee("the authors' constants are only order-wise those of the theorems.")
    return g.no_guarantee("the schedule is one's own.")


def _warn(missing: list[str]) -> None:
    for reason in missing:
        warnings.warn(f"No guarantee: {reason}", g.TheoryWarning, stacklevel=4)


def _optimizer(
    recipe: Recipe,
    posterior: Posterior,
    schedule: Schedule,
    guarantee: g.Guarantee,
    rng: np.random.Generator,
    start: Mapping[str, Any] | None = None,
) -> ArmOptimizer:
    return ArmOptimizer(
        recipe,
        posterior,
        schedule,
        guarantee,
        rng,
        start=rng.bit_generator.state if start is None else start,
    )
