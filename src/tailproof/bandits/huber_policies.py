"""Policies by adaptive Huber regression in features: for central moments of any order above 1."""

from __future__ import annotations

import math
from typing import Any

from tailproof._compiled import announce_compilation
from tailproof._compiled.ridge import ucb_argmax
from tailproof._util import checks
from tailproof.bandits import guarantees
from tailproof.bandits.arm_optimizer import ArmOptimizer
from tailproof.bandits.arms import Finite
from tailproof.bandits.assembly import Seed, common_options, theory_options
from tailproof.bandits.features import FeatureMap, Nystrom, check_features
from tailproof.bandits.huber_schedules import HeavyOFUL, HuberSetting, OnePassHuber
from tailproof.bandits.policy_run import PolicyConfig
from tailproof.bandits.posterior.huber import HeavyOFULPosterior, OnePassHuberPosterior
from tailproof.bandits.schedules import Schedule, check_schedule
from tailproof.kernels import Kernel


def heavy_oful(
    space: Finite,
    kernel: Kernel,
    *,
    features: FeatureMap,
    alpha: float,
    noise_scale: float,
    norm_bound: float,
    horizon: int = 10_000,
    failure_probability: float = 0.1,
    ridge: float = 1.0,
    schedule: str | Schedule = "theory",
    beta_multiplier: float = 1.0,
    seed: Seed = None,
) -> ArmOptimizer:
    """HEAVY-OFUL: upper confidence bounds by adaptive Huber regression on all payoffs, each round.

    Huang, Zhong, Wang and Yang (NeurIPS 2023). It assumes a moment of the noise, not of the
    payoffs, so that a constant added to all payoffs changes less than in truncation. A round costs
    O(t). The paper's width is large: its published experiments divide it by 10,000.

    The thresholds are wide while payoffs are few: payoff t, however large, moves the mean at an arm
    by up to B tau_0 t^((1-alpha)/(2(1+alpha))) std / sqrt(ridge), tau_0 from 1 to 2 in small
    problems, until the norm bound stops it. With the parameters below and a horizon of 10,000, one
    payoff of 1e6 after 1,000 payoffs of 1 moves the mean from 0.87 to the norm bound of 2, after
    3,000 from 1.00 to 1.58. The code published with the paper has the same scales and thresholds.
    Parameters that are not listed are those of `ata_gp_ucb`; the paper takes the number of features
    as ridge.

    Parameters
    ----------
    features
        A fixed map, as `Exact()`, `LinearFeatures()` or `QuadratureFourier(nodes)`; not Nystrom.
    alpha, noise_scale
        E|y - f(x)|^(1+alpha) <= noise_scale^(1+alpha), alpha in (0, 1]; the scale in units of
        payoff.
    norm_bound
        B: a bound on the RKHS norm of the mean payoffs.
    schedule
        "theory", the paper's width, or `CustomSchedule(beta)`.

    Examples
    --------
    >>> import tailproof as tp
    >>> opt = tp.heavy_oful(tp.Finite([[0.0], [1.0]]), tp.Matern(1.5, 0.5), features=tp.Exact(),
    ...                     alpha=0.5, noise_scale=1.0, norm_bound=2.0, horizon=100,
    ...                     schedule=tp.CustomSchedule(2.0), seed=0)
    >>> opt.tell([0.0], [1.0] * 16); opt.tell([1.0], [2.0] * 16)
    >>> opt.recommend().point
    array([1.])
    """
    return _huber_policy("heavy_oful", locals())


def one_pass_huber(
    space: Finite,
    kernel: Kernel,
    *,
    features: FeatureMap,
    alpha: float,
    noise_scale: float,
    norm_bound: float,
    horizon: int = 10_000,
    failure_probability: float = 0.1,
    ridge: float = 1.0,
    schedule: str | Schedule = "theory",
    beta_multiplier: float = 1.0,
    seed: Seed = None,
) -> ArmOptimizer:
    """One-pass Huber regression (Hvt-UCB): each payoff moves the estimate once and is not kept.

    Wang, Zhang, Zhao and Zhou (ICML 2025), with the constants of Tani and Futami (UAI 2026) for no
    corruption, which are larger: with them a hundred payoffs hardly move the estimate. Parameters
    as in `heavy_oful`; a round does not grow with t.

    Examples
    --------
    >>> import tailproof as tp
    >>> opt = tp.one_pass_huber(tp.Finite([[0.0], [1.0]]), tp.Matern(1.5, 0.5),
    ...                         features=tp.Exact(), alpha=1.0, noise_scale=0.5, norm_bound=2.0,
    ...                         horizon=200, schedule=tp.CustomSchedule(2.0), seed=0)
    >>> opt.tell([0.0], [1.0] * 50)
    >>> 0.0 < float(opt.predict([[0.0]]).mean[0]) < 1.0
    True
    """
    return _huber_policy("one_pass_huber", locals())


def _huber_policy(policy: str, arguments: dict[str, Any]) -> ArmOptimizer:
    """Check the arguments of a policy by Huber regression and build it."""
    space, kernel, features = (arguments[name] for name in ("space", "kernel", "features"))
    if not isinstance(space, Finite):
        raise ValueError(f"`space` must be Finite(arms) for {policy}, but got space={space!r}.")
    options = common_options(space, kernel, arguments["ridge"], arguments["beta_multiplier"])
    check_features(features)
    if isinstance(features, Nystrom):
        raise ValueError(f"`features` must be fixed for {policy}, but got {features!r}.")
    bounds = arguments["norm_bound"], arguments["horizon"], arguments["failure_probability"]
    theory = theory_options(None, *bounds)
    del theory["moment"]
    setting = HuberSetting(
        arguments["alpha"],
        arguments["noise_scale"],
        checks.positive("norm_bound", theory["norm_bound"]),
        options["ridge"],
        theory["failure_probability"],
        theory["horizon"],
    )
    schedule = check_schedule(arguments["schedule"], ("theory",))
    options |= theory | {
        "features": features,
        "alpha": setting.alpha,
        "noise_scale": setting.noise_scale,
        "schedule": schedule,
    }
    config = PolicyConfig(policy, space, kernel, options)
    rng = checks.generator(arguments["seed"])
    start = rng.bit_generator.state
    announce_compilation(ucb_argmax)
    embedding = features.embed(kernel, space.inputs, rng)
    prior = kernel.diagonal(space.inputs).astype(float)
    heavy = policy == "heavy_oful"
    constants = HeavyOFUL(setting) if heavy else OnePassHuber(setting)
    posterior: HeavyOFULPosterior | OnePassHuberPosterior
    if isinstance(constants, HeavyOFUL):
        posterior = HeavyOFULPosterior(embedding, prior, constants)
    else:
        posterior = OnePassHuberPosterior(embedding, prior, constants)
    chosen: Schedule = constants if isinstance(schedule, str) else schedule
    if chosen.truncation(1, 0) != math.inf:
        raise ValueError(f"`schedule` must not truncate in {policy}, but got {schedule!r}.")
    guarantee = guarantees.huber_guarantee(heavy, chosen)
    return ArmOptimizer(config, posterior, chosen, guarantee, rng, start)
