"""What a fit learns: the same in every unit, and hardly anything from one huge payoff."""

import math

import numpy as np
import pytest
from scipy import stats

from searches import observations
from tailproof.search.model.correlation import KernelLayout
from tailproof.search.model.fit import choose_psi, fit_model, location_and_scale, next_refit
from tailproof.search.model.parameters import ModelConfig, Observations
from tailproof.search.model.posterior import condition
from tailproof.search.model.robust_loss import (
    AdaptiveWindow,
    Gaussian,
    StudentT,
    StudentTPsi,
    WindowPsi,
    Winsorize,
)

LAYOUT = KernelLayout(np.arange(2), np.zeros(2, dtype=np.int64))
LOSSES = [AdaptiveWindow(), Gaussian(), Winsorize(), StudentT()]
ALL_LOSSES = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def numbers(model):
    """Everything learnt but location and scale, as one array; infinite ends of windows as 0."""
    kernel, psi, tail = model.kernel, model.psi, model.tail_correction
    window = psi if isinstance(psi, WindowPsi) else psi.window or WindowPsi()
    outliers = tail and tail.outliers
    listed = [
        *np.log([*kernel.lengthscales, kernel.signal_var, kernel.noise_var]),
        *(x if math.isfinite(x) else 0.0 for x in (window.lower, window.upper)),
        psi.center,
        psi.slope,
        psi.decay if isinstance(psi, StudentTPsi) else 0.0,
        model.noise_scale.rate,
    ]
    if tail:
        listed += [tail.bound, tail.scale]
    if outliers:
        listed += [outliers.lower, outliers.upper, outliers.bound, outliers.scale]
        listed += [outliers.kernel.signal_var, outliers.probability]
    return np.array(listed)


@ALL_LOSSES
@pytest.mark.parametrize(("a", "c"), [(1e-6, 0.0), (3.7, -120.0), (1e9, 1e9)])
def test_fitted_parameters_are_the_same_in_all_units(loss, a, c):
    told = observations()
    config = ModelConfig(LAYOUT, loss)
    model = fit_model(told, None, config)
    moved = fit_model(Observations(told.points, a * told.payoffs + c), None, config)
    assert moved.location == pytest.approx(a * model.location + c)
    assert moved.scale == pytest.approx(a * model.scale)
    np.testing.assert_allclose(numbers(moved), numbers(model), atol=1e-6)


@pytest.mark.parametrize("huge", [1e4, 1e12, 1e100])
def test_a_huge_payoff_changes_little(huge):
    told = observations()
    payoffs = told.payoffs.copy()
    payoffs[11] = 50.0  # large already: a larger one says no more
    config = ModelConfig(LAYOUT)
    large = fit_model(Observations(told.points, payoffs), None, config)
    payoffs[11] = huge
    larger = fit_model(Observations(told.points, payoffs), None, config)
    assert larger.location == large.location
    assert larger.scale == large.scale
    np.testing.assert_allclose(numbers(larger)[:8], numbers(large)[:8], atol=0.3)


def test_a_huge_payoff_upsets_the_gaussian_loss():
    told = observations()
    payoffs = told.payoffs.copy()
    payoffs[11] = 1e12
    config = ModelConfig(LAYOUT, Gaussian())
    model = fit_model(told, None, config)
    upset = fit_model(Observations(told.points, payoffs), None, config)
    assert np.abs(numbers(upset) - numbers(model)).max() > 1.0


def test_refits_become_rarer():
    due = [4]
    while due[-1] < 2000:
        due.append(next_refit(due[-1]))
    gaps = np.diff(due)
    assert (gaps >= 2).all()
    assert (np.diff(gaps) >= 0).all()
    assert len(due) < 50


@pytest.mark.parametrize(
    ("payoffs", "expected"),
    [
        ([5.0], (5.0, 1.0)),
        ([5.0, 5.0, 5.0], (5.0, 1.0)),
        ([0.0] * 10 + [3.0], (0.0, 3.0)),
        ([0.0] * 10 + [3.0, -2.0], (0.0, 2.0)),
    ],
)
def test_payoffs_that_hardly_vary_have_a_scale(payoffs, expected):
    assert location_and_scale(np.array(payoffs)) == expected


def test_the_scale_is_a_standard_deviation_for_gaussian_payoffs():
    location, scale = location_and_scale(np.random.default_rng(0).normal(3.0, 2.0, 20_000))
    assert location == pytest.approx(3.0, abs=0.1)
    assert scale == pytest.approx(2.0, rel=0.05)


def test_a_fit_that_starts_from_another_ends_near_the_one_that_does_not():
    told, config = observations(120), ModelConfig(LAYOUT)
    fresh = fit_model(told, None, config)
    warm = fit_model(told, fit_model(told.first(90), None, config), config)
    np.testing.assert_allclose(numbers(warm)[:3], numbers(fresh)[:3], atol=0.3)


def test_noise_that_grows_with_the_mean_is_seen_and_even_noise_is_not():
    # The test of the slope has size 0.05; of two seeds that fail by chance none is here.
    told = observations(200, noise=lambda rng, n: np.zeros(n))
    rng = np.random.default_rng(1)
    growing = told.payoffs + 0.3 * np.exp(told.payoffs) * rng.standard_normal(200)
    even = told.payoffs + 0.3 * rng.standard_normal(200)
    rates = [
        fit_model(Observations(told.points, y), None, ModelConfig(LAYOUT)).noise_scale.rate
        for y in (growing, even)
    ]
    assert rates[0] > 0.2
    assert abs(rates[1]) < 0.2


def test_the_target_is_the_mean_where_noise_is_skewed():
    # Exponential noise less its mean: a location fit on the steep side would be off by about 1.
    told = observations(300, noise=lambda rng, n: 2.0 * (rng.exponential(1.0, n) - 1.0))
    config = ModelConfig(LAYOUT)
    posterior = condition(told, told.points[:0], fit_model(told, None, config), config)
    mean, deviation = posterior.predict(told.points)
    found = posterior.parameters.location + posterior.parameters.scale * mean
    error = found - np.sin(5.0 * told.points[:, 0])
    assert abs(float(np.mean(error))) < 0.35  # three standard errors of 300 such payoffs
    assert (deviation > 0.0).all()


def test_pending_points_lower_the_deviation_and_leave_the_mean():
    told, config = observations(), ModelConfig(LAYOUT)
    model = fit_model(told, None, config)
    waiting = np.array([[0.9, 0.05]])
    alone = condition(told, waiting[:0], model, config).predict(waiting)
    batch = condition(told, waiting, model, config).predict(waiting)
    assert batch[0] == pytest.approx(alone[0], abs=1e-4)
    assert batch[1] < alone[1]


def test_standardized_payoffs_are_rounded_and_finite():
    model = fit_model(observations(), None, ModelConfig(LAYOUT))
    z = model.standardize(np.array([model.location, 1e280, -1e280]))
    assert z[0] == 0.0
    assert np.isfinite(z).all()
    assert np.isfinite(z**2).all()
    assert z[1] == -z[2] == 200.0 * 80  # beyond, all is equally far
    third = model.location + model.scale / 3.0
    fine = float(model.standardize(np.array([third]))[0])
    assert fine != 1.0 / 3.0
    assert fine == round(fine * 2**20) / 2**20 == pytest.approx(1.0 / 3.0, abs=2.0**-20)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@ALL_LOSSES
def test_few_payoffs_are_enough(loss, n):
    told, config = observations(n), ModelConfig(LAYOUT, loss)
    posterior = condition(told, told.points[:0], fit_model(told, None, config), config)
    mean, deviation = posterior.predict(told.points)
    assert np.isfinite(mean).all()
    assert (deviation > 0.0).all()


def with_outliers(rng, n):
    return np.where(rng.random(n) < 0.06, 50.0, 1.0) * 0.3 * rng.standard_normal(n)


def test_outliers_everywhere_are_met_with_a_redescending_psi():
    told = observations(150, 2, noise=with_outliers)
    model = fit_model(told, None, ModelConfig(LAYOUT))
    assert isinstance(model.psi, StudentTPsi)
    assert model.tail_correction is not None
    assert model.tail_correction.outliers is None
    noise = model.scale * math.sqrt(model.kernel.noise_var)
    assert noise == pytest.approx(0.3, rel=0.25)
    winsorized = fit_model(told, None, ModelConfig(LAYOUT, Winsorize()))
    assert model.scale * math.sqrt(winsorized.kernel.noise_var) > 1.25 * noise


def test_outliers_on_one_hill_vary_over_the_space():
    # There the mean lies away from the median, and a varying tail correction has to find it.
    rng = np.random.default_rng(1)
    points = rng.random((150, 2))
    rare = (points[:, 0] > 0.75) & (rng.random(150) < 0.4)
    payoffs = 0.3 * rng.standard_normal(150) + np.where(rare, 12.0, 0.0)
    model = fit_model(Observations(points, payoffs), None, ModelConfig(LAYOUT))
    assert model.tail_correction is not None
    assert model.tail_correction.outliers is not None
    assert model.tail_correction.outliers.probability > 0.5
    assert isinstance(model.psi, WindowPsi)


# ---- a redescending psi in place of a window ----------------------------------------------------


def sample(law, n, seed=0):
    return law.rvs(size=n, random_state=np.random.default_rng(seed))


def contaminated(n=400):
    return np.append(sample(stats.norm(), n - n // 20), 50.0 * sample(stats.norm(), n // 20))


def variance(psi, e):
    return np.var(psi(e)) / psi.slope**2


@pytest.mark.parametrize("law", ["contaminated", "t3"])
def test_a_redescending_psi_replaces_a_window_that_varies_more(law):
    e = contaminated() if law == "contaminated" else sample(stats.t(3), 400)
    window = AdaptiveWindow().learn(e)
    psi = choose_psi(window, e)
    assert isinstance(psi, StudentTPsi)
    assert variance(psi, e) < variance(window, e)


def test_a_redescending_psi_counts_outliers_for_next_to_nothing():
    e = contaminated()
    psi = choose_psi(AdaptiveWindow().learn(e), e)
    outliers = np.array([-60.0, 60.0])
    assert float(np.abs(psi(outliers)).max()) < 0.2
    np.testing.assert_allclose(psi.excess(outliers), outliers, atol=0.2)


def test_a_redescending_psi_has_mean_zero_and_its_own_mean_slope():
    e = contaminated(3000)
    psi = choose_psi(AdaptiveWindow().learn(e), e)
    assert float(np.mean(psi(e))) == pytest.approx(0.0, abs=1e-9)
    numeric = (psi(e + 1e-7) - psi(e - 1e-7)) / 2e-7
    assert float(np.mean(numeric)) == pytest.approx(psi.slope, abs=1e-6)
    np.testing.assert_allclose(psi(e) + psi.center + psi.excess(e), e, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [20, 3])
def test_outliers_on_one_side_keep_the_window(count, seed):
    e = np.append(sample(stats.laplace(), 100, seed), 50.0 + sample(stats.norm(), count, seed))
    psi = AdaptiveWindow().learn(e)
    assert choose_psi(psi, e) == psi


@pytest.mark.parametrize("law", [stats.norm(), stats.uniform(-1, 2), stats.expon()])
@pytest.mark.parametrize("n", [5, 14, 2000])
def test_light_tails_and_few_residuals_keep_the_window(law, n):
    for seed in range(5):
        e = sample(law, n, seed)
        psi = AdaptiveWindow().learn(e)
        assert choose_psi(psi, e) == psi
