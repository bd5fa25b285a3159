"""What is done to single payoffs: windows where theory says, equations that are solved."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from tailproof.search.model.noise import (
    AdaptiveWindow,
    Cut,
    Gaussian,
    StudentT,
    Winsorize,
    balance,
    gross,
    one_sided,
    softened,
    tuning_free_bound,
)

N = 20_000
STRATEGIES = [AdaptiveWindow(), Gaussian(), Winsorize(), StudentT()]
ALL = pytest.mark.parametrize("loss", STRATEGIES, ids=lambda one: type(one).__name__)


def sample(law, n=N, seed=0):
    return law.rvs(size=n, random_state=np.random.default_rng(seed))


def quantiles(law, cut):
    return float(law.cdf(cut.low)), float(law.cdf(cut.high))


def population(law):
    """A fine grid of a law's quantiles."""
    return law.ppf((np.arange(20_000) + 0.5) / 20_000)


def asymptotic_variance(e, low, high):
    """Var(clip(e)) / P(e in window)^2."""
    inside = float(np.mean((e >= low) & (e <= high)))
    return float(np.var(np.clip(e, low, high))) / inside**2


# ---- the window ---------------------------------------------------------------------------------


def test_gaussian_noise_keeps_nearly_everything():
    cut = AdaptiveWindow().learn(sample(stats.norm()))
    assert cut.slope > 0.9
    # What is lost to the ordinary mean is at most a hundredth of its variance.
    assert asymptotic_variance(population(stats.norm()), cut.low, cut.high) < 1.01


def test_uniform_noise_keeps_everything():
    cut = AdaptiveWindow().learn(sample(stats.uniform(-1, 2)))
    assert not cut.clipped(sample(stats.uniform(-1, 2))).any()
    assert cut.slope == 1.0


@pytest.mark.parametrize("law", [stats.laplace(), stats.t(1.5), stats.cauchy()])
def test_symmetric_heavy_tails_keep_a_narrow_window_in_the_middle(law):
    cut = AdaptiveWindow().learn(sample(law))
    below, above = quantiles(law, cut)
    assert 0.1 < below < 0.45
    assert 0.55 < above < 0.9
    assert cut.slope == pytest.approx(above - below, abs=0.03)


@pytest.mark.parametrize("law", [stats.pareto(1.5), stats.expon(), stats.lomax(1.2)])
def test_one_sided_tails_keep_their_steep_side(law):
    # The density is largest at the lower end: payoffs there say most about where it lies.
    cut = AdaptiveWindow().learn(sample(law))
    assert cut.low == -math.inf or quantiles(law, cut)[0] < 0.02
    assert quantiles(law, cut)[1] < 0.8


@pytest.mark.parametrize("law", [stats.norm(), stats.laplace(), stats.t(1.5), stats.pareto(1.5)])
def test_the_window_is_nearly_the_best_there_is(law):
    cut = AdaptiveWindow(caution=0.0, gain=1.0).learn(sample(law))
    e = population(law)
    found = asymptotic_variance(e, cut.low, cut.high)
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
    cut = AdaptiveWindow().learn(e)
    assert float(np.mean(cut.psi(e))) == pytest.approx(0.0, abs=1e-9)
    assert float(np.mean(~cut.clipped(e))) == pytest.approx(cut.slope, abs=1.0 / 3000)


def test_what_is_cut_off_and_what_is_kept_make_up_the_residual():
    e = sample(stats.t(1.5), 500)
    cut = AdaptiveWindow().learn(e)
    np.testing.assert_allclose(cut.psi(e) + cut.center + cut.excess(e), e, atol=1e-9)
    assert (cut.clipped(e) == (cut.excess(e) != 0.0)).all()


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
def test_few_residuals_give_a_cut_all_the_same(n, seed):
    e = np.random.default_rng(seed).standard_t(1.5, n)
    cut = AdaptiveWindow().learn(e)
    assert cut.low <= float(np.median(e)) <= cut.high
    assert 0.0 < cut.slope <= 1.0
    assert np.isfinite(cut.psi(e)).all()


@ALL
@given(
    st.integers(3, 80),
    st.floats(10.0, 1e3),  # windows have a least width
    st.floats(-1e3, 1e3),
    st.integers(0, 2**32 - 1),
)
@settings(derandomize=True, max_examples=25, deadline=None)
def test_a_cut_moves_and_grows_with_the_residuals(loss, n, a, c, seed):
    e = np.random.default_rng(seed).standard_t(1.5, n)
    if isinstance(loss, StudentT):
        c = 0.0  # its psi is one of residuals around zero
    one, other = loss.learn(e), loss.learn(a * e + c)
    tight = {"rel": 1e-6, "abs": 1e-6 * a * float(np.abs(e).max())}
    assert other.low == pytest.approx(a * one.low + c, **tight)
    assert other.high == pytest.approx(a * one.high + c, **tight)
    assert other.slope == pytest.approx(one.slope, abs=1e-6)
    assert other.softness == pytest.approx(one.softness / a**2, rel=1e-6)
    if isinstance(loss, AdaptiveWindow):
        assert other.center == pytest.approx(a * one.center + c, **tight)


@ALL
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
def test_extreme_residuals_give_finite_cuts(loss, values):
    z = loss.prepare(values)
    cut = loss.learn(z)
    assert math.isfinite(cut.center)
    assert 0.0 < cut.slope <= 1.0
    assert cut.low <= cut.high
    assert np.isfinite(cut.psi(z)).all()
    assert np.isfinite(cut.excess(z)).all()
    assert cut.clipped(z).shape == values.shape


def test_one_huge_residual_hardly_moves_the_window():
    e = np.random.default_rng(1).standard_normal(100)
    plain, hit = AdaptiveWindow().learn(e), AdaptiveWindow().learn(np.append(e, 1e100))
    assert hit.high < 5.0
    assert abs(hit.center - plain.center) < 0.2


@pytest.mark.parametrize("huge", [1e8, 1e12, 1e100])
def test_a_window_of_mirrored_residuals_is_mirrored(huge):
    e = np.append(np.random.default_rng(0).standard_t(1.5, 100), huge)
    one, other = AdaptiveWindow().learn(e), AdaptiveWindow().learn(-e)
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low))
    assert other.center == pytest.approx(-one.center)


# ---- the other strategies -----------------------------------------------------------------------


def test_untamed_does_nothing():
    e = sample(stats.cauchy(), 100)
    loss = Gaussian()
    assert loss.prepare(e) is e
    cut = loss.learn(e)
    np.testing.assert_array_equal(cut.psi(e), e)
    assert not cut.clipped(e).any()
    assert not cut.excess(e).any()
    assert not loss.restores_mean


def test_clip_clips_at_robust_standard_deviations():
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
    cut = StudentT(df).learn(e)
    scale = 1.0 / math.sqrt(cut.softness * df)
    assert scale == pytest.approx(3.0, rel=0.05)
    likely = stats.t(df, scale=scale).logpdf(e).sum()
    for other in (0.97, 1.03):
        assert likely > stats.t(df, scale=other * scale).logpdf(e).sum()
    # psi is proportional to the score of the location, and kappa its mean slope.
    x, step = np.array([0.1, 2.0, 30.0]), 1e-5
    density = stats.t(df, scale=scale).logpdf
    score = (density(x - step) - density(x + step)) / (2.0 * step)
    np.testing.assert_allclose(cut.psi(x) * (df + 1.0) / (df * scale**2), score, rtol=1e-5)
    slope = np.mean((cut.psi(e + step) - cut.psi(e - step)) / (2.0 * step))
    assert cut.slope == pytest.approx(slope, rel=1e-5)


def test_a_huge_residual_moves_student_t_by_nothing():
    psi = Cut(softness=1.0).psi(np.array([1.0, 1e3, 1e100, 1e200]))
    assert psi[0] == 0.5
    assert (np.diff(psi) <= 0.0).all()
    assert (psi >= 0.0).all()
    assert psi[2] < 1e-50


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
def test_settings_out_of_range_are_refused_by_name(make, name):
    with pytest.raises(ValueError, match=f"`.*{name}.*`"):
        make()


# ---- the bound of single excesses ---------------------------------------------------------------

values = st.lists(st.floats(-1e6, 1e6).filter(lambda x: x == 0.0 or abs(x) > 1e-6), max_size=40)


@given(values, st.floats(0.1, 20.0))
@settings(derandomize=True, max_examples=100, deadline=None)
def test_the_bound_solves_its_equation(numbers, level):
    x = np.array(numbers, dtype=np.float64)
    bound = tuning_free_bound(x, level)
    some = np.count_nonzero(x)
    if some == 0:
        assert bound == 0.0
        return
    left = float(np.sum(np.minimum((x / bound) ** 2, 1.0)))
    assert left == pytest.approx(min(level, 0.5 * some), rel=1e-9)


@given(values, st.floats(1e-3, 1e3))
@settings(derandomize=True, max_examples=30, deadline=None)
def test_the_bound_has_the_values_units(numbers, a):
    x = np.array(numbers, dtype=np.float64)
    assert tuning_free_bound(a * x, 2.0) == pytest.approx(a * tuning_free_bound(x, 2.0), rel=1e-9)


def test_the_bound_grows_with_the_number_of_values_as_the_tail_does():
    # About `level` of n values reach it: n P(|x| > b) ~ level, so b ~ n^(1/alpha).
    rng = np.random.default_rng(0)
    alpha, level = 1.5, 10.0
    bounds = [
        np.median([tuning_free_bound(1.0 + rng.pareto(alpha, n), level) for _ in range(20)])
        for n in (100, 10_000)
    ]
    assert bounds[1] / bounds[0] == pytest.approx(100 ** (1 / alpha), rel=0.5)


@pytest.mark.parametrize("top", [1e-140, 1e140])
def test_the_bound_of_extreme_values_is_finite(top):
    bound = tuning_free_bound(np.append(np.linspace(0.0, 1.0, 20), top), 3.0)
    assert 0.0 < bound < math.inf
    assert tuning_free_bound(np.full(10, top), 2.0) == pytest.approx(top * math.sqrt(5.0))


# ---- Student-t's psi in place of a window -----------------------------------------


def contaminated(n=400):
    return np.append(sample(stats.norm(), n - n // 20), 50.0 * sample(stats.norm(), n // 20))


def variance(cut, e):
    return np.var(cut.psi(e)) / cut.slope**2


@pytest.mark.parametrize("law", ["contaminated", "t3"])
def test_a_soft_psi_takes_the_place_of_a_window_that_varies_more(law):
    e = contaminated() if law == "contaminated" else sample(stats.t(3), 400)
    window = AdaptiveWindow().learn(e)
    cut = softened(window, e)
    assert cut.softness > 0.0
    assert variance(cut, e) < variance(window, e)


def test_a_soft_psi_counts_gross_outliers_for_next_to_nothing():
    e = contaminated()
    cut = softened(AdaptiveWindow().learn(e), e)
    far = np.array([-60.0, 60.0])
    assert float(np.abs(cut.psi(far)).max()) < 0.2
    np.testing.assert_allclose(cut.excess(far), far, atol=0.2)


def test_a_soft_psi_has_mean_zero_its_own_mean_slope_and_loses_nothing():
    e = contaminated(3000)
    cut = softened(AdaptiveWindow().learn(e), e)
    assert float(np.mean(cut.psi(e))) == pytest.approx(0.0, abs=1e-9)
    numeric = (cut.psi(e + 1e-7) - cut.psi(e - 1e-7)) / 2e-7
    assert float(np.mean(numeric)) == pytest.approx(cut.slope, abs=1e-6)
    np.testing.assert_allclose(cut.psi(e) + cut.center + cut.excess(e), e, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [20, 3])
def test_outliers_on_one_side_keep_the_window(count, seed):
    e = np.append(sample(stats.laplace(), 100, seed), 50.0 + sample(stats.norm(), count, seed))
    cut = AdaptiveWindow().learn(e)
    assert softened(cut, e) is cut


@pytest.mark.parametrize("law", [stats.norm(), stats.uniform(-1, 2), stats.expon()])
@pytest.mark.parametrize("n", [5, 14, 2000])
def test_light_tails_and_few_residuals_keep_the_window(law, n):
    for seed in range(5):
        e = sample(law, n, seed)
        cut = AdaptiveWindow().learn(e)
        assert softened(cut, e) is cut


def test_only_gross_outliers_lie_outside_the_window_for_them():
    e = np.append(sample(stats.norm(), 400), [5.0, 7.0, -9.0])
    window = gross(AdaptiveWindow().learn(e), e)
    assert window.clipped(e).tolist() == [False] * 401 + [True, True]
    # Nothing counts as gross that the cut keeps.
    assert gross(Cut(-20.0, 8.0), e).clipped(e).sum() == 0


@given(
    hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e6, 1e6, width=32)),
    st.floats(1e-100, 1e100),
)
def test_the_balance_of_values_knows_neither_their_unit_nor_their_sign(values, unit):
    found = balance(values)
    assert 0.0 <= found <= 1.0
    assert balance(-values) == found
    assert balance(unit * values) == pytest.approx(found, abs=1e-9)
    assert balance(np.append(values, -values)) == pytest.approx(1.0, abs=1e-9)


def test_many_values_of_one_sign_balance_nothing():
    assert balance(np.ones(98)) == pytest.approx(0.02)
    assert balance(np.zeros(3)) == balance(np.zeros(0)) == 1.0


def test_values_are_one_sided_as_far_as_they_do_not_cancel():
    rng = np.random.default_rng(0)
    assert one_sided(rng.pareto(1.5, 500)) == 1.0
    assert one_sided(-rng.pareto(1.5, 500)) == 1.0
    assert one_sided(np.tile([1.0, -1.0], 99)) == pytest.approx(0.01)
    assert one_sided(np.array([3.0, -3.0])) == 0.5  # two that cancel may do so by chance
    assert one_sided(np.zeros(3)) == one_sided(np.zeros(0)) == 1.0
