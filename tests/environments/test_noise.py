"""Noise laws: the law drawn from, mean zero, and moment bounds against numerical integration."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from tailproof.environments import (
    AlphaStable,
    CenteredLogNormal,
    CenteredPareto,
    Contamination,
    Gaussian,
    PayoffLaw,
    Spike,
    StudentT,
    SymmetricPareto,
)

SHIFTS = (-3.0, -0.4, 0.0, 0.7, 2.5)
# Each Kolmogorov-Smirnov test below fails with this probability on a fresh seed.
ERROR_RATE = 1e-6


def symmetric_pareto_cdf(x, shape, scale):
    tail = 0.5 * np.minimum(scale / np.maximum(np.abs(x), scale), 1.0) ** shape
    return np.where(x <= -scale, tail, np.where(x >= scale, 1.0 - tail, 0.5))


def centered_pareto_cdf(x, shape, scale):
    return stats.pareto(shape, loc=-scale * shape / (shape - 1.0), scale=scale).cdf(x)


def centered_log_normal_cdf(x, sigma, scale):
    return stats.lognorm(sigma, loc=-scale * math.exp(sigma**2 / 2.0), scale=scale).cdf(x)


CDF_CASES = [
    (StudentT(3.0, 2.0), lambda x: stats.t(3.0, scale=2.0).cdf(x)),
    (StudentT(1.5), lambda x: stats.t(1.5).cdf(x)),
    (Gaussian(0.5), lambda x: stats.norm(scale=0.5).cdf(x)),
    (SymmetricPareto(1.3, 2.0), lambda x: symmetric_pareto_cdf(x, 1.3, 2.0)),
    (CenteredPareto(2.2, 0.5), lambda x: centered_pareto_cdf(x, 2.2, 0.5)),
    (CenteredLogNormal(1.2, 3.0), lambda x: centered_log_normal_cdf(x, 1.2, 3.0)),
    (AlphaStable(2.0, 0.5, 1.5), lambda x: stats.norm(scale=1.5 * math.sqrt(2.0)).cdf(x)),
]


@pytest.mark.parametrize(("law", "cdf"), CDF_CASES)
def test_draws_follow_the_stated_law(law, cdf):
    rng = np.random.default_rng(1)
    eta = law.sample(np.full(20_000, 4.0), rng) - 4.0
    assert stats.kstest(eta, cdf).pvalue > ERROR_RATE


# Laws with a density on (-inf, inf): (law, density of the noise, breakpoints of the density).
def pareto_density(x, shape, scale):
    return shape * scale**shape / x ** (shape + 1.0) if x >= scale else 0.0


DENSITIES = [
    (StudentT(3.0), stats.t(3.0).pdf, (0.0,)),
    (StudentT(2.3, 0.7), stats.t(2.3, scale=0.7).pdf, (0.0,)),
    (Gaussian(0.8), stats.norm(scale=0.8).pdf, (0.0,)),
    (
        SymmetricPareto(2.5, 0.6),
        lambda x: 0.5 * pareto_density(abs(x), 2.5, 0.6),
        (-0.6, 0.6),
    ),
    (
        CenteredPareto(2.4, 0.5),
        lambda x: pareto_density(x + 0.5 * 2.4 / 1.4, 2.4, 0.5),
        (0.5 - 0.5 * 2.4 / 1.4,),
    ),
    (
        CenteredLogNormal(0.9, 0.5),
        stats.lognorm(0.9, loc=-0.5 * math.exp(0.405), scale=0.5).pdf,
        (-0.5 * math.exp(0.405),),
    ),
]


def integral(function, breaks):
    cuts = sorted(set(breaks))
    ends = [-math.inf, *cuts, math.inf]
    return sum(integrate.quad(function, a, b, limit=400)[0] for a, b in itertools.pairwise(ends))


@pytest.mark.parametrize(("law", "density", "breaks"), DENSITIES)
def test_noise_has_mean_zero(law, density, breaks):
    assert integral(lambda x: x * density(x), breaks) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("law", "density", "breaks"), DENSITIES)
@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_moment_bound_holds_and_is_exact_at_zero(law, density, breaks, alpha):
    p = 1.0 + alpha
    truth = np.array(
        [integral(lambda x, f=f: abs(f + x) ** p * density(x), (*breaks, -f)) for f in SHIFTS]
    )
    bound = law.moment_bound(alpha, np.array(SHIFTS))
    assert np.all(bound >= truth * (1.0 - 1e-5))
    exact = slice(None) if isinstance(law, Gaussian) else SHIFTS.index(0.0)
    np.testing.assert_allclose(bound[exact], truth[exact], rtol=1e-5)
    # No cruder than Minkowski, and never more than the constant 2^(2-p) < 2 too large.
    assert np.all(bound <= 2.0 * truth)


@pytest.mark.parametrize(
    ("law", "variance"),
    [
        (StudentT(3.0), 3.0),
        (StudentT(4.0, 2.0), 8.0),
        (Gaussian(1.5), 2.25),
        (SymmetricPareto(3.0, 2.0), 12.0),
        (CenteredPareto(3.0), 0.75),
        (CenteredLogNormal(0.5, 2.0), 4.0 * math.exp(0.25) * math.expm1(0.25)),
        (AlphaStable(2.0, 0.0, 1.5), 4.5),
        (Contamination(Gaussian(1.0), 0.05, 10.0), 0.95 + 5.0),
    ],
)
def test_second_moment_is_exact(law, variance):
    f = np.array(SHIFTS)
    np.testing.assert_allclose(law.moment_bound(1.0, f), f**2 + variance, rtol=1e-9)


@pytest.mark.parametrize(
    "law",
    [
        StudentT(9.0),
        Gaussian(2.0),
        SymmetricPareto(9.0),
        CenteredPareto(9.0),
        CenteredLogNormal(0.4),
        AlphaStable(2.0),
        Contamination(StudentT(9.0), 0.1, 10.0),
    ],
)
def test_simulated_mean_and_second_moment_agree(law):
    """Two-sided z-tests at 5 standard errors: each fails with probability below 1e-6."""
    n, f = 200_000, 1.3
    y = law.sample(np.full(n, f), np.random.default_rng(2))
    second = float(law.moment_bound(1.0, f))
    assert abs(y.mean() - f) < 5.0 * math.sqrt((second - f**2) / n)
    assert abs(np.mean(y**2) - second) < 5.0 * (y**2).std() / math.sqrt(n)


def stable_moment(p, f, law):
    """E|f + eta|^p from the characteristic function, for 1 < p < alpha and mean-zero eta."""
    h = law.beta * math.tan(math.pi * law.alpha / 2.0)

    # In s = ln t the integrand is smooth; below it falls as exp((alpha - p) s).
    s = np.linspace(-250.0, 25.0, 400_001)
    t = np.exp(s)
    decay = np.minimum((law.scale * t) ** law.alpha, 700.0)
    phase = np.where(decay < 700.0, f * t + decay * h, 0.0)
    one_minus = -np.expm1(-decay) + 2.0 * np.exp(-decay) * np.sin(phase / 2.0) ** 2
    total = integrate.trapezoid(one_minus * t**-p, s)
    return 2.0 * special.gamma(1.0 + p) * math.sin(math.pi * p / 2.0) / math.pi * total


STABLE = [AlphaStable(1.7, 0.0), AlphaStable(1.8, 0.7, 2.0), AlphaStable(1.6, -1.0, 0.5)]


@pytest.mark.parametrize("law", STABLE)
@pytest.mark.parametrize("alpha", [0.2, 0.45])
def test_stable_moments_agree_with_the_characteristic_function(law, alpha):
    p = 1.0 + alpha
    assert law.moment_bound(alpha, 0.0) == pytest.approx(stable_moment(p, 0.0, law), rel=1e-5)
    for f in SHIFTS:
        assert law.moment_bound(alpha, f) >= stable_moment(p, f, law) * (1.0 - 1e-5)


@pytest.mark.parametrize("law", STABLE)
def test_stable_draws_have_the_stated_characteristic_function(law):
    """Hoeffding on bounded cosines and sines, 10 averages: failure below 1e-6 in all."""
    n = 100_000
    eta = law.sample(np.zeros(n), np.random.default_rng(3))
    h = law.beta * math.tan(math.pi * law.alpha / 2.0)
    margin = math.sqrt(2.0 * math.log(2.0 * 10 / 1e-6) / n)
    for t in (0.1, 0.3, 0.7, 1.0, 2.0):
        decay = (law.scale * t) ** law.alpha
        expected = np.exp(-decay + 1j * decay * h)
        assert abs(np.cos(t * eta).mean() - expected.real) < margin
        assert abs(np.sin(t * eta).mean() - expected.imag) < margin


@pytest.mark.parametrize(
    ("law", "alpha"),
    [
        (StudentT(2.0), 1.0),
        (StudentT(1.5), 0.5),
        (SymmetricPareto(2.0), 1.0),
        (CenteredPareto(1.5), 0.9),
        (AlphaStable(1.5), 0.5),
        (Contamination(StudentT(2.0), 0.1, 5.0), 1.0),
    ],
)
def test_an_infinite_moment_is_refused_by_name(law, alpha):
    with pytest.raises(ValueError, match=r"must hold for E\|y\|\^\(1\+alpha\) to be finite"):
        law.moment_bound(alpha, 0.0)


def test_the_inequality_behind_the_bound_for_skewed_noise():
    u = np.concatenate([-np.logspace(-5, 5, 4001), np.logspace(-5, 5, 4001)])
    for p in np.linspace(1.01, 2.0, 34):
        slack = 1.0 + p * u + 2.0 ** (2.0 - p) * np.abs(u) ** p - np.abs(1.0 + u) ** p
        assert np.all(slack >= -1e-9 * (1.0 + np.abs(u) ** p))


def test_gaussian_moment_stays_exact_far_from_zero():
    # E|f + Z|^p = |f|^p (1 + p (p - 1) / (2 f^2) + O(f^-4)).
    f = np.array([1e3, 1e5])
    expected = f**1.5 * (1.0 + 0.375 / f**2)
    np.testing.assert_allclose(Gaussian(1.0).moment_bound(0.5, f), expected, rtol=1e-10)


@pytest.mark.parametrize("sigma", [1e-3, 0.1, 1.0, 5.0, 15.0])
@pytest.mark.parametrize("alpha", [0.01, 0.5, 0.99])
def test_log_normal_moments_by_quadrature_interpolate_the_closed_forms(sigma, alpha):
    """ln E|eta|^p is convex in p, and E|eta|, E|eta|^2 are known in closed form."""
    law = CenteredLogNormal(sigma)
    first = 2.0 * math.exp(sigma**2 / 2.0) * math.erf(sigma / math.sqrt(8.0))
    second = float(law.moment_bound(1.0, 0.0))
    got = float(law.moment_bound(alpha, 0.0))
    low, high = math.log(first), math.log(second)
    assert (1.0 + alpha) * low <= math.log(got) <= low + alpha * (high - low) + 1e-9


def test_contamination_replaces_its_share_of_draws():
    n, law = 50_000, Contamination(Gaussian(0.1), 0.2, 50.0)
    y = law.sample(np.full(n, 7.0), np.random.default_rng(4))
    up, down = np.isclose(y, 57.0), np.isclose(y, -43.0)
    # Binomial counts within 5 standard deviations: failure below 1e-6 each.
    for count in (up.sum(), down.sum()):
        assert abs(count - 0.1 * n) < 5.0 * math.sqrt(n * 0.1 * 0.9)
    assert np.abs(y[~(up | down)] - 7.0).max() < 1.0


def test_contamination_refuses_a_law_that_needs_arms():
    with pytest.raises(ValueError, match="`base` must be a noise law"):
        Contamination(Spike(0), 0.1, 5.0)


def test_spike_strikes_one_arm_with_a_fair_sign():
    n = 20_000
    law, rng = Spike(arm=2), np.random.default_rng(5)
    arms = np.arange(n) % 4
    y = law.sample(np.full(n, 0.5), rng, arms)
    assert np.all(y[arms != 2] == 0.5)
    struck = y[arms == 2]
    assert set(struck) == {10.5, -9.5}
    assert abs((struck > 0).sum() - struck.size / 2) < 5.0 * math.sqrt(struck.size / 4)
    assert law.moment_bound(1.0, 0.5) == pytest.approx(100.25)
    assert np.all(law.moment_bound(0.5, np.linspace(-3, 3, 7)) >= 3.0**1.5)


def test_spike_needs_an_arm_for_every_mean():
    with pytest.raises(ValueError, match="`arms` must have one entry a mean"):
        Spike(0).sample([0.0, 0.0], np.random.default_rng(0), [0])


@pytest.mark.parametrize("case", CDF_CASES)
def test_sampling_is_reproducible_and_leaves_its_input_alone(case):
    law, means = case[0], np.linspace(-1.0, 1.0, 5)
    before = means.copy()
    first = law.sample(means, np.random.default_rng(6))
    assert np.array_equal(first, law.sample(means, np.random.default_rng(6)))
    assert np.array_equal(means, before)
    assert isinstance(law, PayoffLaw)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StudentT(1.0), "`df > 1` must hold"),
        (lambda: StudentT(3.0, 0.0), "`scale > 0` must hold"),
        (lambda: SymmetricPareto(0.9), "`shape > 1` must hold"),
        (lambda: CenteredPareto(1.0), "`shape > 1` must hold"),
        (lambda: AlphaStable(1.0), "`1 < alpha <= 2` must hold, but got alpha=1.0"),
        (lambda: AlphaStable(1.5, 1.1), "`-1 <= beta <= 1` must hold"),
        (lambda: Contamination(Gaussian(), 1.0, 5.0), "`0 < share < 1` must hold"),
        (lambda: Spike(-1), "`arm >= 0` must hold"),
        (lambda: Gaussian().sample([0.0], 3), "`rng` must be a numpy.random.Generator"),
        (lambda: Gaussian().moment_bound(1.5, 0.0), "`0 < alpha <= 1` must hold"),
        (lambda: Gaussian().sample([math.nan], np.random.default_rng(0)), "must be finite"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        make()
