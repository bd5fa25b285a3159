"""The policies: named compositions of kernel, features, estimator and schedule."""

from __future__ import annotations

import math
from typing import Any, cast

from tailproof._util import checks
from tailproof.bandits.arm_optimizer import ArmOptimizer
from tailproof.bandits.arms import Box, Finite, OptimizerOf, PolicyArms
from tailproof.bandits.assembly import (
    Seed,
    common_options,
    feature_policy,
    ridge_policy,
    robust_conjugate_policy,
    theory_options,
)
from tailproof.bandits.features import FeatureMap, Nystrom, check_features
from tailproof.bandits.policy_run import PolicyConfig
from tailproof.bandits.schedules import MomentBound, Schedule, check_schedule
from tailproof.kernels import Kernel


def gp_ucb(
    space: PolicyArms[OptimizerOf],
    kernel: Kernel,
    schedule: Schedule,
    *,
    ridge: float = 1.0,
    beta_multiplier: float = 1.0,
    seed: Seed = None,
) -> OptimizerOf:
    """GP-UCB, without truncation: for light tails; under heavy tails outliers dominate its mean.

    Parameters
    ----------
    space, kernel
        The arms, `Finite(arms)` or `Box(lower, upper)`, and the covariance of their mean payoffs.
    schedule
        `SubGaussian(...)` for the beta of the sub-Gaussian theory, or `CustomSchedule(beta)`.
    ridge
        lambda > 0, the noise variance the model assumes, in units of payoff^2 / k(x, x).
    beta_multiplier
        Factor on the schedule's beta.
    seed
        An int, a SeedSequence or a Generator.

    Examples
    --------
    >>> import tailproof as tp
    >>> opt = tp.gp_ucb(tp.Finite([[0.0], [1.0]]), tp.SquaredExponential(0.5),
    ...                 tp.CustomSchedule(beta=2.0), seed=0)
    >>> opt.tell([0.0], [1.0, 1.2]); opt.tell([1.0], 3.0)
    >>> opt.recommend().point
    array([1.])
    """
    check_schedule(schedule, ())
    if schedule.truncation(1, 0) != math.inf:
        raise ValueError(
            f"`schedule` must not truncate in gp_ucb, but got {schedule!r}; use tgp_ucb."
        )
    options = common_options(space, kernel, ridge, beta_multiplier) | {"schedule": schedule}
    return cast("OptimizerOf", ridge_policy(_config("gp_ucb", space, kernel, options), seed))


def tgp_ucb(
    space: PolicyArms[OptimizerOf],
    kernel: Kernel,
    *,
    moment: MomentBound | None = None,
    norm_bound: float | None = None,
    horizon: int = 10_000,
    failure_probability: float = 0.1,
    ridge: float = 1.0,
    schedule: str | Schedule = "theory",
    beta_multiplier: float = 1.0,
    seed: Seed = None,
) -> OptimizerOf:
    """TGP-UCB (Algorithm 1): each payoff is set to zero, once, if it exceeds its b_t.

    Parameters that are not listed are those of `gp_ucb`.

    Parameters
    ----------
    moment
        `MomentBound(alpha, v)`: E|y|^(1+alpha) <= v.
    norm_bound
        B: a bound on the RKHS norm of the mean payoffs (the authors used max |f|).
    horizon
        T; the authors' and the theory's schedule for this policy do not depend on it.
    failure_probability
        delta in (0, 1].
    schedule
        "theory" (Theorem 1), "authors", or a schedule such as `CustomSchedule(beta, truncation)`,
        for which moment and norm_bound are not needed.

    Examples
    --------
    >>> import tailproof as tp
    >>> opt = tp.tgp_ucb(tp.Finite([[0.0], [1.0]]), tp.Matern(2.5, 0.3),
    ...                  moment=tp.MomentBound(alpha=1.0, v=4.0), norm_bound=1.0, seed=0)
    >>> opt.tell(opt.ask(), 1e9)  # far above b_1 = 2: set to zero
    >>> float(opt.recommend().mean)
    0.0
    """
    options = common_options(space, kernel, ridge, beta_multiplier)
    options |= theory_options(moment, norm_bound, horizon, failure_probability)
    options["schedule"] = check_schedule(schedule, ("theory", "authors"))
    return cast("OptimizerOf", ridge_policy(_config("tgp_ucb", space, kernel, options), seed))


def ata_gp_ucb(
    space: PolicyArms[OptimizerOf],
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
    beta_multiplier: float = 1.0,
    seed: Seed = None,
) -> OptimizerOf:
    """ATA-GP-UCB (Algorithm 2): truncation in every feature direction, all history, every round.

    Parameters that are not listed are those of `tgp_ucb`.

    Parameters
    ----------
    features
        `QuadratureFourier(nodes)`, `Nystrom(accuracy)`, `Exact()`, `LinearFeatures()` or
        `RandomFourier(frequencies)`.
    horizon
        T, the number of rounds the guarantee is for; more may be told.
    schedule
        As in `tgp_ucb`, but "theory" is Theorem 3 for quadrature and linear features, Theorem 4 for
        Nystrom and, with accuracy 0 and m the rank, for exact ones.
    variance
        "i" or "ii" of Algorithm 2; None takes the paper's: (i) for Fourier features, else (ii).

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
    options = common_options(space, kernel, ridge, beta_multiplier)
    options |= theory_options(moment, norm_bound, horizon, failure_probability) | {
        "features": check_features(features),
        "schedule": check_schedule(schedule, ("theory", "authors")),
        "variance": variance,
    }
    return cast("OptimizerOf", feature_policy(_config("ata_gp_ucb", space, kernel, options), seed))


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
    blocks: int | None = None,
    beta_multiplier: float = 1.0,
    seed: Seed = None,
) -> ArmOptimizer:
    """Median of means in every feature direction: the paper's closing suggestion, a heuristic.

    As `ata_gp_ucb`, but r_i is a median over blocks of rounds instead of a truncated sum, so that
    no payoff is ever discarded and no threshold b_t is needed.

    Parameters that are not listed are those of `ata_gp_ucb`.

    Parameters
    ----------
    schedule
        "heuristic": the beta of ATA-GP-UCB's theorem for the same features, which is not proved
        for this estimator; "authors": likewise their beta; or a `CustomSchedule`.
    blocks
        Largest number of blocks, rounded up to a power of two; None for 8 ln(T / delta). Each
        direction has a number of its own: the largest power of two k with k payoffs or more in
        every block. Below 4 payoffs that is one block, the plain sum.

    Examples
    --------
    >>> import tailproof as tp
    >>> opt = tp.moma_gp_ucb(tp.Finite([[0.0], [1.0]]), tp.Matern(1.5, 0.5), features=tp.Exact(),
    ...                      schedule=tp.CustomSchedule(2.0), seed=0)
    >>> opt.tell([0.0], [1.0] * 15 + [1e6]); opt.tell([1.0], [2.0] * 16)
    >>> opt.recommend().point
    array([1.])
    """
    if isinstance(space, Box):
        raise ValueError(f"`space` must be Finite(arms) for moma_gp_ucb, but got space={space!r}.")
    options = common_options(space, kernel, ridge, beta_multiplier)
    options |= theory_options(moment, norm_bound, horizon, failure_probability) | {
        "features": check_features(features),
        "schedule": check_schedule(schedule, ("heuristic", "authors")),
        "variance": variance,
        "blocks": None if blocks is None else checks.integer("blocks", blocks, low=1),
    }
    optimizer = feature_policy(_config("moma_gp_ucb", space, kernel, options), seed)
    return cast("ArmOptimizer", optimizer)


def rcgp_ucb(
    space: Finite,
    kernel: Kernel,
    schedule: Schedule,
    *,
    scale: float,
    prior_mean: float = 0.0,
    ridge: float = 1.0,
    beta_multiplier: float = 1.0,
    seed: Seed = None,
) -> ArmOptimizer:
    """RCGP-UCB: the upper confidence bound of robust and conjugate GP regression; no guarantee.

    Each payoff is weighted by how far it is from the prior mean, W = (1 + ((y - m) / c)^2)^(-1/2)
    (Altamirano, Briol and Knoblauch, ICML 2024). The weights bound what one payoff can do; they
    also bias the mean of skewed payoffs, whatever their number: it is not the mean payoff that is
    estimated. The authors fit hyperparameters in every round; here they are given.

    Parameters that are not listed are those of `gp_ucb`.

    Parameters
    ----------
    schedule
        `CustomSchedule(beta)`; the authors use beta = 2.576.
    scale
        c > 0, in units of payoff: payoffs further than that from the prior mean count for less than
        half. The authors suggest a quantile of |y - m|.
    prior_mean
        m, in units of payoff.

    Examples
    --------
    >>> import tailproof as tp
    >>> opt = tp.rcgp_ucb(tp.Finite([[0.0], [1.0]]), tp.Matern(1.5, 0.5), tp.CustomSchedule(2.576),
    ...                   scale=3.0, ridge=0.1, seed=0)
    >>> opt.tell([0.0], [1.0] * 15 + [1e6]); opt.tell([1.0], [2.0] * 16)
    >>> opt.recommend().point
    array([1.])
    """
    if isinstance(space, Box):
        raise ValueError(f"`space` must be Finite(arms) for rcgp_ucb, but got space={space!r}.")
    check_schedule(schedule, ())
    if schedule.truncation(1, 0) != math.inf:
        raise ValueError(f"`schedule` must not truncate in rcgp_ucb, but got {schedule!r}.")
    options = common_options(space, kernel, ridge, beta_multiplier) | {
        "schedule": schedule,
        "scale": checks.positive("scale", scale),
        "prior_mean": checks.number("prior_mean", prior_mean),
    }
    return robust_conjugate_policy(_config("rcgp_ucb", space, kernel, options), seed)


def _config(
    policy: str, space: PolicyArms[Any], kernel: Kernel, options: dict[str, Any]
) -> PolicyConfig:
    """Return the configuration of a policy whose arguments were checked."""
    assert isinstance(space, Finite | Box)  # common_options has refused all else
    return PolicyConfig(policy, space, kernel, options)
