"""With theory settings the band holds f at all arms in all rounds, in a 1 - delta share of runs."""

import numpy as np
import pytest

import tailproof as tp

# The theorems' bands are wide, so that one run of 60 at most may leave them. A band that covers f
# in no more than a share 1 - delta of the runs would pass with a probability of 0.014.
RUNS, MISSES, ROUNDS, DELTA = 60, 1, 100, 0.1
ARMS = np.linspace(0, 1, 20)[:, None]
KERNEL = tp.SquaredExponential(0.3)


def sample_function(rng, positive):
    """An RKHS function and its norm, scaled to max |f| = 1."""
    weights = rng.uniform(0 if positive else -1, 1, size=8)
    support = rng.uniform(size=(8, 1))
    f = KERNEL.matrix(ARMS, support) @ weights
    norm = np.sqrt(weights @ KERNEL.matrix(support, support) @ weights)
    scale = np.abs(f).max()
    return f / scale, float(norm / scale)


# Each gives payoffs with mean f and E|y|^(1+alpha) <= v for every |f| <= 1.
def student(f, rng):
    return f + rng.standard_t(3)


def pareto(f, rng):
    return f / 2 * (1 + rng.pareto(2)) if f > 0 else 0.0


def two_point(f, rng):
    """The lower bound's payoff (Appendix C) with 2 Delta = 1: (v)^(1/alpha) or 0."""
    high = 4.0 ** (1 / 0.5)
    return np.sign(f) * high * (rng.random() < abs(f) / high)


NOISE = {
    "student": (student, tp.MomentBound(1.0, 4.0), False),
    "pareto": (pareto, tp.MomentBound(0.9, 1 / (2**0.9 * 0.1)), True),
    "two-point": (two_point, tp.MomentBound(0.5, 4.0), False),
}

POLICIES = {
    "tgp": lambda **k: tp.tgp_ucb(**k),
    "ata-qff": lambda **k: tp.ata_gp_ucb(features=tp.QuadratureFourier(90), **k),
    "ata-nystrom": lambda **k: tp.ata_gp_ucb(features=tp.Nystrom(0.5), **k),
    "ata-exact": lambda **k: tp.ata_gp_ucb(features=tp.Exact(), **k),
    "moma-exact": lambda **k: tp.moma_gp_ucb(features=tp.Exact(), **k),
}


def runs_covered(policy, noise, *, runs=RUNS, multiplier=1.0):
    payoff, moment, positive = NOISE[noise]
    covered = 0
    for run in range(runs):
        rng = np.random.default_rng([run, 7])
        f, norm = sample_function(rng, positive)
        opt = POLICIES[policy](
            space=tp.Finite(ARMS),
            kernel=KERNEL,
            moment=moment,
            norm_bound=norm,
            horizon=ROUNDS,
            failure_probability=DELTA,
            beta_multiplier=multiplier,
            seed=run,
        )
        # The median of means has no theorem; its band is wide enough all the same.
        promised = multiplier == 1.0 and not policy.startswith("moma")
        assert opt.guarantee.holds == promised, opt.guarantee
        inside = True
        for _ in range(ROUNDS):
            arm = opt.ask_index()
            opt.tell_index(arm, float(payoff(f[arm], rng)))
            band = opt.predict()
            slack = 1e-9 * (1 + band.beta)
            inside &= bool(np.all((band.lower - slack <= f) & (f <= band.upper + slack)))
        covered += inside
    return covered


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("policy", POLICIES)
def test_theory_bands_cover(policy, noise, record_property):
    covered = runs_covered(policy, noise)
    record_property("coverage", covered / RUNS)
    assert covered >= RUNS - MISSES


@pytest.mark.parametrize("policy", POLICIES)
def test_the_coverage_test_has_power(policy):
    """A five-hundredth of the theorem's beta covers few of the runs."""
    assert runs_covered(policy, "student", runs=20, multiplier=0.002) < 10


def test_sub_gaussian_bands_cover_bounded_noise():
    covered = 0
    for run in range(RUNS):
        rng = np.random.default_rng([run, 8])
        f, norm = sample_function(rng, False)
        schedule = tp.SubGaussian(1.0, norm, 1.0, DELTA)
        opt = tp.gp_ucb(tp.Finite(ARMS), KERNEL, schedule, seed=run)
        inside = True
        for _ in range(ROUNDS):
            arm = opt.ask_index()
            opt.tell_index(arm, float(f[arm] + rng.choice([-1.0, 1.0])))
            band = opt.predict()
            inside &= bool(np.all((band.lower <= f) & (f <= band.upper)))
        covered += inside
    assert covered >= RUNS - MISSES
