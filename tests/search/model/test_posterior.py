"""The posterior of the mean payoff: upper confidence bounds, draws, intervals, signs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

import literal_process as slow
from tailproof.search.model.correlation import KernelLayout
from tailproof.search.model.fit import fit_model
from tailproof.search.model.parameters import ModelConfig, Observations
from tailproof.search.model.posterior import condition, interval, keep_sign
from tailproof.search.model.warp import IDENTITY, LOG, Warp, standardized_warp

ARD = KernelLayout(np.arange(3), np.zeros(3, dtype=np.int64))
ADDITIVE = KernelLayout(np.arange(3), np.array([0, 1, 1]))


def jumping(rng, points):
    """Large payoffs on one hill, two times in five."""
    jumps = (points[:, 1] > 0.6) & (rng.random(len(points)) < 0.4)
    return points[:, 0] + 0.3 * rng.standard_normal(len(points)) + np.where(jumps, 9.0, 0.0)


def two_sided(rng, points):
    """No outliers."""
    return points[:, 0] + rng.laplace(size=len(points))


def posterior_of(payoffs, layout=ARD, n=60, pending=2, seed=5, kind=None):
    """A posterior; with a warp of the given kind if it is not None."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, len(layout.parameter_of_column)))
    values = payoffs(rng, points)
    observations = Observations(points, values, np.full(n, np.nan))
    config = ModelConfig(layout, warp="learnt" if kind is None else "identity")
    waiting = rng.random((pending, len(layout.parameter_of_column)))
    parameters = fit_model(observations, None, config)
    if kind is not None:
        t = parameters.standardize(values)
        edge = float(t.max() if kind == LOG else t.min())
        parameters = replace(parameters, warp=standardized_warp(Warp(kind, edge, 2.0), t))
    return condition(observations, waiting, parameters, config), rng


KINDS = pytest.mark.parametrize("kind", [IDENTITY, LOG])


@pytest.mark.parametrize("payoffs", [jumping, two_sided])
@pytest.mark.parametrize("layout", [ARD, ADDITIVE], ids=["matern", "additive"])
@KINDS
def test_ucb_gradient(layout, payoffs, kind):
    posterior, rng = posterior_of(payoffs, layout, kind=kind)
    points = rng.random((6, len(layout.parameter_of_column)))
    for kappa in (0.0, 2.0):
        bounds, gradients = posterior.ucb_gradient(points, kappa)
        np.testing.assert_allclose(bounds, posterior.ucb(points, kappa), atol=1e-9)
        for c, gradient in zip(points, gradients, strict=True):
            numeric = slow.slope(lambda x, k=kappa: posterior.ucb_gradient(x[None], k)[0][0], c)
            np.testing.assert_allclose(gradient, numeric, atol=1e-4)
    assert posterior.correction.rate is not None or payoffs is two_sided


@KINDS
@pytest.mark.parametrize("probability", [0.05, 0.5, 1.0])
def test_the_ucb_of_a_rate_that_varies_has_its_gradient(kind, probability):
    posterior, rng = posterior_of(jumping, n=120, kind=kind)
    assert posterior.correction.rate is not None
    correction = replace(posterior.correction, probability=probability)
    posterior = replace(posterior, correction=correction)
    for c in rng.random((5, 3)):
        bounds, gradients = posterior.ucb_gradient(c[None], 2.0)
        np.testing.assert_allclose(bounds, posterior.ucb(c[None], 2.0), atol=1e-9)
        gradient = gradients[0]
        numeric = slow.slope(lambda x: posterior.ucb(x[None], 2.0)[0], c)
        np.testing.assert_allclose(gradient, numeric, atol=1e-4)


@KINDS
def test_the_ucb_takes_location_and_log_odds_at_their_better_ends(kind):
    posterior, rng = posterior_of(jumping, n=120, pending=0, kind=kind)
    correction, warp = posterior.correction, posterior.parameters.warp
    assert correction.rate is not None
    points = rng.random((50, 3))
    mean, variance = posterior.location.predict(points)
    eta, eta_variance = correction.rate.deviation.predict(points)

    def mean_payoff(location, deviation):
        rate = 1.0 / (1.0 + np.exp(-(correction.rate.offset + deviation)))
        usual = warp.inverse(location + warp.shift(np.array(correction.rest)))
        varying = warp.forward(usual + correction.size * rate)
        return varying - warp.shift(np.array(correction.mean))

    better = eta + np.sign(correction.size) * 1.5 * np.sqrt(eta_variance)
    usual = mean_payoff(mean, eta)
    gains = [
        mean_payoff(mean + 1.5 * np.sqrt(variance), eta) - usual,
        mean_payoff(mean, better) - usual,
    ]
    assert (np.array(gains) > 0.0).all()
    expected = usual + np.hypot(*gains)
    supposed = posterior.suppose(0.0)
    np.testing.assert_allclose(supposed.ucb(points, 1.5), expected, rtol=1e-6, atol=1e-6)
    constant = posterior.suppose(1.0)
    np.testing.assert_allclose(constant.ucb(points, 1.5), mean + 1.5 * np.sqrt(variance))
    # Without deviations, the UCB ranks as the mean over both cases does.
    apart = posterior.predict(points)[0] - posterior.ucb(points, 0.0)
    assert np.ptp(apart) < 1e-9


def test_ucb_leaves_out_the_variance_that_all_points_share():
    posterior, rng = posterior_of(two_sided, n=80, pending=0, kind=IDENTITY)
    correction = replace(posterior.correction, rate=None)
    posterior = replace(posterior, correction=correction)
    points = rng.random((9, 3))
    assert correction.variance > 0.0
    mean, deviation = posterior.predict(points)
    np.testing.assert_allclose(posterior.ucb(points, 0.0), mean - correction.mean)
    apart = np.sqrt(deviation**2 - correction.variance)
    np.testing.assert_allclose(posterior.ucb(points, 2.0), mean - correction.mean + 2.0 * apart)


def test_the_mean_is_higher_where_large_payoffs_were_seen():
    posterior, _ = posterior_of(jumping, n=120)
    hill, plain = posterior.payoff(
        posterior.predict(np.array([[0.5, 0.8, 0.5], [0.5, 0.3, 0.5]]))[0]
    )
    assert hill - plain > 1.0


@pytest.mark.parametrize("kappa", [10.0, 40.0, 1e6])
def test_ucb_is_finite_for_every_kappa(kappa):
    posterior, rng = posterior_of(jumping, n=120)
    points = rng.random((20, 3))
    bounds = posterior.ucb(points, kappa)
    assert np.isfinite(bounds).all()
    assert np.isfinite(posterior.ucb_gradient(points, kappa)[1]).all()
    assert np.ptp(bounds) > 0.0


def test_pending_trials_lower_the_variance_alone():
    alone, rng = posterior_of(jumping, pending=0, kind=IDENTITY)
    batch, _ = posterior_of(jumping, pending=3, kind=IDENTITY)
    points = rng.random((40, 3))
    for before, after in ((alone.location, batch.location),):
        np.testing.assert_allclose(after.predict(points)[0], before.predict(points)[0], atol=1e-5)
        assert (after.predict(points)[1] <= before.predict(points)[1] + 1e-6).all()
    assert (batch.predict(points)[1] < alone.predict(points)[1] - 1e-6).any()


# ---- draws and intervals ------------------------------------------------------------------------


@pytest.mark.parametrize(("payoffs", "tolerance"), [(two_sided, 0.07), (jumping, 0.5)])
def test_joint_draws_have_the_moments_of_predict(payoffs, tolerance):
    # 4,000 draws: standard errors of means are 0.016 deviations, of deviations 1.1 %. Where a rate
    # varies, `predict` states the mean at the mode of its log odds, and deviations around that.
    posterior, rng = posterior_of(payoffs, n=120, kind=IDENTITY)
    assert (posterior.correction.rate is not None) == (payoffs is jumping)
    points = rng.random((6, 3))
    mean, deviation = posterior.predict(points)
    draws = posterior.sample_means(points, 4000, rng)
    parameters = posterior.parameters
    z = parameters.warp.forward((draws - parameters.location) / parameters.scale)
    # Intervals, and so draws, are wider than the posterior by a factor.
    np.testing.assert_allclose(z.mean(axis=0), mean, atol=tolerance * float(deviation.max()))
    assert (z.std(axis=0) > (1.0 - tolerance) * deviation).all()
    assert (z.std(axis=0) < (1.0 + tolerance) * posterior.widening * deviation).all()


@KINDS
def test_draws_are_joint(kind):
    posterior, rng = posterior_of(two_sided, n=40, kind=kind)
    x = rng.random(3)
    draws = posterior.sample_means(np.vstack([x, x + 1e-3, 1.0 - x]), 4000, rng)
    assert draws.shape == (4000, 3)
    ranks = draws.argsort(axis=0).argsort(axis=0)
    assert np.corrcoef(ranks[:, 0], ranks[:, 1])[0, 1] > 0.95
    # The median is that of the intervals, whatever the warp.
    mean = interval(posterior, x[None], 0.9)[0][0]
    if posterior.correction.rate is None:
        below = float(np.mean(draws[:, 0] < mean))
        assert below == pytest.approx(0.5, abs=0.05)


@KINDS
def test_intervals_widen_with_the_level_around_the_same_mean(kind):
    posterior, rng = posterior_of(two_sided, n=40, kind=kind)
    points = rng.random((5, 3))
    narrow, wide = interval(posterior, points, 0.5), interval(posterior, points, 0.99)
    np.testing.assert_array_equal(narrow[0], wide[0])
    assert (wide[1] < narrow[1]).all()
    assert (narrow[1] < narrow[0]).all()
    assert (narrow[0] < narrow[2]).all()
    assert (narrow[2] < wide[2]).all()


def test_two_levels_differ_by_deviations_alone():
    posterior, rng = posterior_of(two_sided, n=40, kind=IDENTITY)
    points = rng.random((5, 3))
    step = float(ndtri(0.05) - ndtri(0.005))
    apart = interval(posterior, points, 0.99)[2] - interval(posterior, points, 0.9)[2]
    parameters = posterior.parameters
    deviation = parameters.scale * parameters.warp.scale * posterior.predict(points)[1]
    np.testing.assert_allclose(apart, posterior.widening * step * deviation)


def test_clipped_payoffs_count_for_less_than_half():
    def with_one(rng, points):
        values = points[:, 0] + 0.1 * rng.standard_normal(len(points))
        values[17] = 1e6
        return values

    posterior, _ = posterior_of(with_one, kind=IDENTITY)
    assert posterior.clipped[17]
    assert posterior.clipped.sum() < 30


# ---- signs --------------------------------------------------------------------------------------


def test_keep_sign_is_continuous_and_monotone():
    values = np.linspace(-20.0, 10.0, 3001)
    found = keep_sign(values, 2.0, 9.0)
    assert (found > 0.0).all()
    assert (np.diff(found) > 0.0).all()
    np.testing.assert_array_equal(found[values >= 2.0], values[values >= 2.0])
    at_edge = keep_sign(np.array([2.0 - 1e-6, 2.0]), 2.0, 9.0)
    assert (at_edge[1] - at_edge[0]) / 1e-6 == pytest.approx(1.0, rel=1e-3)


def test_keep_sign_mirrors_and_leaves_mixed_payoffs_alone():
    values = np.array([-3.0, 0.5, 4.0])
    np.testing.assert_array_equal(keep_sign(-values, -9.0, -1.0), -keep_sign(values, 1.0, 9.0))
    np.testing.assert_array_equal(keep_sign(values, -1.0, 9.0), values)
    np.testing.assert_array_equal(keep_sign(values, 0.0, 9.0), [0.0, 0.5, 4.0])
    np.testing.assert_array_equal(keep_sign(values, -9.0, 0.0), [-3.0, 0.0, 0.0])
    np.testing.assert_array_equal(keep_sign(values, 0.0, 0.0), values)


def test_keep_sign_takes_extremes():
    values = np.array([-1e300, 0.0, 1e300])
    for least in (1e-300, 1.0, 1e280):
        found = keep_sign(values, least, 1e280)
        assert np.isfinite(found).all()
        assert (found >= 0.0).all()
