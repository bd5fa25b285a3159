"""Robust losses: windows where theory says, and the psi functions they choose."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tailproof.search.model.robust_loss import (
    AdaptiveWindow,
    Gaussian,
    StudentT,
    StudentTPsi,
    Winsorize,
)

N = 20_000
LOSSES = [AdaptiveWindow(), Gaussian(), Winsorize(), StudentT()]
ALL_LOSSES = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def sample(law, n=N, seed=0):
    return law.rvs(size=n, random_state=np.random.default_rng(seed))


def quantiles(law, psi):
    return float(law.cdf(psi.lower)), float(law.cdf(psi.upper))


def population(law):
    """A fine grid of a law's quantiles."""
    return law.ppf((np.arange(20_000) + 0.5) / 20_000)


def asymptotic_variance(e, low, high):
    """Var(clip(e)) / P(e in window)^2."""
    inside = float(np.mean((e >= low) & (e <= high)))
    return float(np.var(np.clip(e, low, high))) / inside**2


# ---- the window ---------------------------------------------------------------------------------


def test_gaussian_noise_keeps_nearly_everything():
    psi = AdaptiveWindow().learn(sample(stats.norm()))
    assert psi.slope > 0.9
    # What is lost to the ordinary mean is at most a hundredth of its variance.
    assert asymptotic_variance(population(stats.norm()), psi.lower, psi.upper) < 1.01


def test_uniform_noise_keeps_everything():
    psi = AdaptiveWindow().learn(sample(stats.uniform(-1, 2)))
    assert not psi.clipped(sample(stats.uniform(-1, 2))).any()
    assert psi.slope == 1.0


@pytest.mark.parametrize("law", [stats.laplace(), stats.t(1.5), stats.cauchy()])
def test_symmetric_heavy_tails_keep_a_narrow_window_in_the_middle(law):
    psi = AdaptiveWindow().learn(sample(law))
    below, above = quantiles(law, psi)
    assert 0.1 < below < 0.45
    assert 0.55 < above < 0.9
    assert psi.slope == pytest.approx(above - below, abs=0.03)


@pytest.mark.parametrize("law", [stats.pareto(1.5), stats.expon(), stats.lomax(1.2)])
def test_one_sided_tails_keep_their_steep_side(law):
    # The density is largest at the lower end: payoffs there say most about where it lies.
    psi = AdaptiveWindow().learn(sample(law))
    assert psi.lower == -math.inf or quantiles(law, psi)[0] < 0.02
    assert quantiles(law, psi)[1] < 0.8


@pytest.mark.parametrize("law", [stats.norm(), stats.laplace(), stats.t(1.5), stats.pareto(1.5)])
def test_the_window_is_nearly_the_best_there_is(law):
    psi = AdaptiveWindow(caution=0.0, gain=1.0).learn(sample(law))
    e = population(law)
    found = asymptotic_variance(e, psi.lower, psi.upper)
    grid = np.linspace(0.0, 0.5, 11)
    rivals = [
        asymptotic_variance(e, np.quantile(e, low), np.quantile(e, 1.0 - high))
        for low in grid
        for high in grid
        if low + high <= 0.5
    ]
    assert found < 1.1 * min(rivals)


def test_psi_has_mean_zero_and_slope_the_share_inside():
    e = sample(stats.t(1.5), 3000)
    psi = AdaptiveWindow().learn(e)
    assert float(np.mean(psi(e))) == pytest.approx(0.0, abs=1e-9)
    assert float(np.mean(~psi.clipped(e))) == pytest.approx(psi.slope, abs=1.0 / 3000)


def test_psi_center_and_excess_sum_to_the_residual():
    e = sample(stats.t(1.5), 500)
    psi = AdaptiveWindow().learn(e)
    np.testing.assert_allclose(psi(e) + psi.center + psi.excess(e), e, atol=1e-9)
    assert (psi.clipped(e) == (psi.excess(e) != 0.0)).all()


def test_least_is_the_least_share_inside():
    e = sample(stats.laplace(), 2000)
    shares = [AdaptiveWindow(least=least, gain=1.0).learn(e).slope for least in (0.5, 0.7, 0.85)]
    assert all(s >= least for s, least in zip(shares, (0.5, 0.7, 0.85), strict=True))
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]


def test_a_window_that_gains_little_is_not_taken():
    e = sample(stats.norm(), 60)
    assert AdaptiveWindow(gain=1e-6).learn(e) == AdaptiveWindow(gain=1e-9).learn(e)
    assert AdaptiveWindow(gain=1e-6).learn(e).slope > 0.9


@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
@settings(derandomize=True, max_examples=30, deadline=None)
def test_few_residuals_are_enough_for_a_window(n, seed):
    e = np.random.default_rng(seed).standard_t(1.5, n)
    psi = AdaptiveWindow().learn(e)
    assert psi.lower <= float(np.median(e)) <= psi.upper
    assert 0.0 < psi.slope <= 1.0
    assert np.isfinite(psi(e)).all()


@ALL_LOSSES
@given(
    st.integers(3, 80),
    st.floats(10.0, 1e3),  # windows have a least width
    st.floats(-1e3, 1e3),
    st.integers(0, 2**32 - 1),
)
@settings(derandomize=True, max_examples=25, deadline=None)
def test_psi_moves_and_grows_with_the_residuals(loss, n, a, c, seed):
    e = np.random.default_rng(seed).standard_t(1.5, n)
    if isinstance(loss, StudentT):
        c = 0.0  # its psi is one of residuals around zero
    psi, moved = loss.learn(e), loss.learn(a * e + c)
    assert moved.slope == pytest.approx(psi.slope, abs=1e-6)
    if isinstance(loss, StudentT):
        assert moved.decay == pytest.approx(psi.decay / a**2, rel=1e-6)
        return
    tight = {"rel": 1e-6, "abs": 1e-6 * a * float(np.abs(e).max())}
    assert moved.lower == pytest.approx(a * psi.lower + c, **tight)
    assert moved.upper == pytest.approx(a * psi.upper + c, **tight)
    if isinstance(loss, AdaptiveWindow):
        assert moved.center == pytest.approx(a * psi.center + c, **tight)


@ALL_LOSSES
@pytest.mark.parametrize(
    "values",
    [
        np.zeros(40),
        np.full(40, 3.5),
        np.array([2.0]),
        np.repeat([0.0, 1.0], 20),
        np.append(np.zeros(39), 1.0),
        np.append(np.linspace(-1.0, 1.0, 39), 1e120),
        np.append(np.linspace(-1.0, 1.0, 38), [1e120, -1e120]),
        1e-12 * np.linspace(-1.0, 1.0, 40),
        np.round(np.random.default_rng(0).standard_t(1.5, 40)),
    ],
    ids=[
        "zero",
        "constant",
        "single",
        "two values",
        "one other",
        "huge",
        "huge pair",
        "tiny",
        "ties",
    ],
)
def test_extreme_residuals_give_a_finite_psi(loss, values):
    z = loss.prepare(values)
    psi = loss.learn(z)
    assert math.isfinite(psi.center)
    assert 0.0 < psi.slope <= 1.0
    assert isinstance(loss, StudentT) or psi.lower <= psi.upper
    assert np.isfinite(psi(z)).all()
    assert np.isfinite(psi.excess(z)).all()
    assert psi.clipped(z).shape == values.shape


def test_one_huge_residual_hardly_moves_the_window():
    e = np.random.default_rng(1).standard_normal(100)
    plain, hit = AdaptiveWindow().learn(e), AdaptiveWindow().learn(np.append(e, 1e100))
    assert hit.upper < 5.0
    assert abs(hit.center - plain.center) < 0.2


@pytest.mark.parametrize("huge", [1e8, 1e12, 1e100])
def test_a_window_of_mirrored_residuals_is_mirrored(huge):
    e = np.append(np.random.default_rng(0).standard_t(1.5, 100), huge)
    psi, mirrored = AdaptiveWindow().learn(e), AdaptiveWindow().learn(-e)
    assert (mirrored.lower, mirrored.upper) == pytest.approx((-psi.upper, -psi.lower))
    assert mirrored.center == pytest.approx(-psi.center)


# ---- the other losses ---------------------------------------------------------------------------


def test_gaussian_loss_clips_nothing():
    e = sample(stats.cauchy(), 100)
    loss = Gaussian()
    assert loss.prepare(e) is e
    psi = loss.learn(e)
    np.testing.assert_array_equal(psi(e), e)
    assert not psi.clipped(e).any()
    assert not psi.excess(e).any()
    assert not loss.restores_mean


def test_winsorize_clips_at_robust_standard_deviations():
    e = sample(stats.norm(5.0, 2.0))
    clipped = Winsorize(3.0).prepare(np.append(e, [1e9, -1e9]))
    assert clipped.max() == pytest.approx(5.0 + 6.0, abs=0.2)
    assert clipped.min() == pytest.approx(5.0 - 6.0, abs=0.2)
    kept = np.abs(e - 5.0) < 5.5
    np.testing.assert_array_equal(clipped[:-2][kept], e[kept])
    constant = np.append(np.zeros(9), 7.0)  # no robust deviation: nothing to clip at
    assert Winsorize(3.0).prepare(constant).tolist() == constant.tolist()


def test_student_t_is_the_score_of_its_density_at_the_most_likely_scale():
    df, e = 4.0, 3.0 * sample(stats.t(4.0), 4000)
    psi = StudentT(df).learn(e)
    scale = 1.0 / math.sqrt(psi.decay * df)
    assert scale == pytest.approx(3.0, rel=0.05)
    likely = stats.t(df, scale=scale).logpdf(e).sum()
    for factor in (0.97, 1.03):
        assert likely > stats.t(df, scale=factor * scale).logpdf(e).sum()
    # psi is proportional to the score of the location; `slope` is its mean derivative.
    x, step = np.array([0.1, 2.0, 30.0]), 1e-5
    density = stats.t(df, scale=scale).logpdf
    score = (density(x - step) - density(x + step)) / (2.0 * step)
    np.testing.assert_allclose(psi(x) * (df + 1.0) / (df * scale**2), score, rtol=1e-5)
    slope = np.mean((psi(e + step) - psi(e - step)) / (2.0 * step))
    assert psi.slope == pytest.approx(slope, rel=1e-5)


def test_a_huge_residual_moves_student_t_by_nothing():
    values = StudentTPsi(1.0)(np.array([1.0, 1e3, 1e100, 1e200]))
    assert values[0] == 0.5
    assert (np.diff(values) <= 0.0).all()
    assert (values >= 0.0).all()
    assert values[2] < 1e-50


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: AdaptiveWindow(least=0.0), "least"),
        (lambda: AdaptiveWindow(least=1.5), "least"),
        (lambda: AdaptiveWindow(caution=-1.0), "caution"),
        (lambda: AdaptiveWindow(caution=math.nan), "caution"),
        (lambda: AdaptiveWindow(gain=0.0), "gain"),
        (lambda: Winsorize(0.0), "deviations"),
        (lambda: Winsorize("three"), "deviations"),
        (lambda: StudentT(-1.0), "df"),
        (lambda: StudentT(math.inf), "df"),
    ],
)
def test_parameters_of_losses_out_of_range_are_refused_by_name(make, name):
    with pytest.raises(ValueError, match=f"`.*{name}.*`"):
        make()
