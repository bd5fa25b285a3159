"""The regret of every policy under theory settings stays below its bound in simulated runs.

Besides R_T, each run adds up sum_t 2 beta_t sigma_{t-1}(x_t), what the proofs bound R_T by. That
sum does not depend on luck: it must stay below the bound too, and comes within a factor of a few
of it, so a constant lost in a bound shows even where regret itself is far below. Each run's band
may fail with probability 0.1; the widths are so wide that none of these fixed runs comes near it.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import tailproof as tp
from tailproof import theory
from tailproof.bandits.schedules import Setting, Theorem1
from tailproof.environments import HardInstance, RKHSFunction, StudentT, sample_rkhs_function

HORIZON = 300
ROUNDS = np.array([1, 2, 3, 5, 10, 20, 50, 100, 200, 300])
ARMS = np.linspace(0.0, 1.0, 40)[:, None]
ACCURACY = 0.5
NODES = tp.QuadratureFourier(1).nodes_for_theorem(HORIZON)  # as many as Theorem 3 asks for
SE, MATERN = tp.SquaredExponential(0.2), tp.Matern(2.5, 0.2)


@dataclass(frozen=True)
class Instance:
    """Mean payoffs on the arms, their law, and what a policy may be told about them."""

    kernel: object
    f: np.ndarray
    law: object
    setting: Setting
    arms: np.ndarray

    def options(self, seed):
        s = self.setting
        return {
            "moment": s.moment,
            "norm_bound": s.norm_bound,
            "horizon": s.horizon,
            "failure_probability": s.failure_probability,
            "ridge": s.ridge,
            "seed": seed,
        }


def random_function(kernel, seed):
    """A random RKHS function with Student-t(2.5) noise: a variance, but no third moment."""
    rng = np.random.default_rng([seed, 0])
    alpha, ridge = [(1.0, 1.0), (0.8, 4.0), (0.5, 1.0)][seed % 3]
    function = sample_rkhs_function(kernel, ARMS, rng, terms=20, support="cube")
    f, law = function(ARMS), StudentT(df=2.5, scale=0.5)
    moment = tp.MomentBound(alpha, float(law.moment_bound(alpha, f).max()))
    return Instance(kernel, f, law, Setting(moment, function.norm, ridge, 0.1, HORIZON), ARMS)


def hard_function(kernel, seed):
    """One of the lower bound's functions, with its two-point payoffs."""
    alpha = (1.0, 0.8, 0.5)[seed % 3]
    hard = HardInstance.for_horizon(kernel, 1, 1.0, alpha, 1.0, horizon=HORIZON)
    f = hard.means(seed % hard.count, ARMS)
    setting = Setting(tp.MomentBound(alpha, 1.0), 1.0, 1.0, 0.1, HORIZON)
    return Instance(kernel, f, hard.law, setting, ARMS)


POLICIES = {
    "tgp": None,
    "quadrature": tp.QuadratureFourier(NODES),
    "nystrom": tp.Nystrom(ACCURACY),
    "exact": tp.Exact(),
}


def start(instance, policy, seed=0):
    space, options = tp.Finite(instance.arms), instance.options(seed)
    if policy == "tgp":
        return tp.tgp_ucb(space, instance.kernel, **options)
    return tp.ata_gp_ucb(space, instance.kernel, features=POLICIES[policy], **options)


def bound(instance, policy, rounds, gain):
    s, kernel, arms = instance.setting, instance.kernel, instance.arms
    if policy == "tgp":
        return theory.theorem1_regret_bound(s, rounds, gain)
    if policy == "quadrature":
        error = POLICIES[policy].error_bound(kernel, arms)
        return theory.theorem3_regret_bound(
            s, rounds, directions=NODES, kernel_error=error, gain=gain
        )
    if policy == "nystrom":
        return theory.theorem4_regret_bound(
            s, rounds, gain, accuracy=ACCURACY, most_directions=len(arms)
        )
    embedding = tp.Exact().embed(kernel, arms, np.random.default_rng(0))
    residual = max(float((kernel.diagonal(arms) - embedding.squared_norms()).max()), 0.0)
    return theory.exact_features_regret_bound(
        s, rounds, gain, directions=embedding.size, residual=residual
    )


def play(opt, instance, rng):
    """Regret and the sum of 2 beta sigma after each round, and beta in it."""
    gap = instance.f.max() - instance.f
    regret, band, beta = np.empty(HORIZON), np.empty(HORIZON), np.empty(HORIZON)
    for t in range(HORIZON):
        prediction = opt.predict()
        arm = opt.ask_index()
        regret[t], beta[t] = gap[arm], prediction.beta
        band[t] = 2.0 * prediction.beta * prediction.std[arm]
        opt.tell_index(arm, float(instance.law.sample(instance.f[[arm]], rng)[0]))
    return np.cumsum(regret), np.cumsum(band), beta


CASES = [
    pytest.param(make, kernel, policy, id=f"{make.__name__}-{type(kernel).__name__}-{policy}")
    for make in (random_function, hard_function)
    for kernel in (SE, MATERN)
    for policy in POLICIES
    if policy != "quadrature" or kernel is SE
]


@pytest.mark.parametrize(("make", "kernel", "policy"), CASES)
def test_regret_stays_below_the_upper_bound_in_every_run(make, kernel, policy):
    for seed in range(3):  # one for each alpha
        instance = make(kernel, seed)
        opt = start(instance, policy, seed)
        assert opt.guarantee.holds
        regret, band, beta = play(opt, instance, np.random.default_rng([seed, 1]))
        gain = theory.gain_upper_bound(kernel, ARMS, instance.setting.ridge, ROUNDS)
        upper = bound(instance, policy, ROUNDS, gain)
        extra = 1e-6 * upper if policy == "quadrature" else 0.0  # the kernel's error
        assert np.all(regret[ROUNDS - 1] <= band[ROUNDS - 1] + extra)
        assert np.all(band[ROUNDS - 1] <= upper)
        assert band[-1] >= 0.15 * upper[-1]
        assert np.all(regret[ROUNDS - 1] <= upper)
        if policy == "tgp":
            widest = theory.largest_betas(Theorem1(instance.setting), ROUNDS, gain)
            assert np.all(beta[ROUNDS - 1] <= widest)
            assert beta[-1] >= 0.9 * widest[-1]


# -- where the bound says something: below what the worst arm every round would cost


def final_regret(opt, f, law, rounds, seed):
    noise = law.sample(np.zeros(rounds), np.random.default_rng(seed))
    gap, total = f.max() - f, 0.0
    for eta in noise.tolist():
        arm = opt.ask_index()
        opt.tell_index(arm, float(f[arm]) + eta)
        total += gap[arm]
    return total


def two_arms(kernel, positions, horizon, ridge, delta):
    """f = -1 and 1 on two arms, with a little Student-t(3) noise."""
    arms = np.array(positions)[:, None]
    weights = np.linalg.lstsq(kernel.matrix(arms, arms), [-1.0, 1.0], rcond=None)[0]
    function, law = RKHSFunction(kernel, arms, weights), StudentT(df=3.0, scale=0.1)
    f = function(arms)
    np.testing.assert_allclose(f, [-1.0, 1.0], atol=1e-9)
    moment = tp.MomentBound(1.0, float(law.moment_bound(1.0, f).max()))
    return Instance(kernel, f, law, Setting(moment, function.norm, ridge, delta, horizon), arms)


def test_theorem_1_promises_something_and_keeps_it():
    """Arms -1 and 1 of a line: one direction, so gamma_T is small; delta = 1/e, its largest."""
    horizon = 250_000
    instance = two_arms(tp.Linear(), [-1.0, 1.0], horizon, horizon / 30.0, math.exp(-1.0))
    ridge = instance.setting.ridge
    gain = theory.gain_upper_bound(instance.kernel, instance.arms, ridge, horizon)
    upper = float(theory.theorem1_regret_bound(instance.setting, horizon, gain))
    assert upper < horizon * np.ptp(instance.f)
    regret = final_regret(start(instance, "tgp"), instance.f, instance.law, horizon, seed=0)
    assert regret <= upper


@pytest.mark.parametrize(
    ("features", "horizon"),
    [(tp.Exact(), 30_000), (tp.Nystrom(0.1), 40_000), (tp.QuadratureFourier(12), 70_000)],
    ids=["exact", "nystrom", "quadrature"],
)
def test_theorems_3_and_4_promise_something_and_keep_it(features, horizon):
    instance = two_arms(tp.SquaredExponential(1.0), [0.0, 1.0], horizon, 20.0, 0.1)
    s, kernel, arms = instance.setting, instance.kernel, instance.arms
    gain = theory.gain_upper_bound(kernel, arms, s.ridge, horizon)
    if isinstance(features, tp.Exact):
        upper = theory.exact_features_regret_bound(s, horizon, gain, directions=2)
    elif isinstance(features, tp.Nystrom):
        upper = theory.theorem4_regret_bound(
            s, horizon, gain, accuracy=features.accuracy, most_directions=2
        )
    else:
        upper = theory.theorem3_regret_bound(
            s,
            horizon,
            directions=features.nodes,
            kernel_error=features.error_bound(kernel, arms),
            gain=gain,
        )
    assert float(upper) < horizon * np.ptp(instance.f)
    opt = tp.ata_gp_ucb(tp.Finite(arms), kernel, features=features, **instance.options(0))
    regret = final_regret(opt, instance.f, instance.law, horizon, seed=0)
    assert regret <= float(upper)
