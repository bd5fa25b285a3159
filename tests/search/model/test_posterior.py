"""The posterior of the mean payoff: upper confidence bounds and their gradients."""

import numpy as np
import pytest
from scipy.stats import norm

import literal_process as slow
from tailproof.search.model.correlation import KernelLayout, KernelParameters
from tailproof.search.model.fit import fit_model
from tailproof.search.model.gp import compute_features
from tailproof.search.model.parameters import ModelConfig, Observations
from tailproof.search.model.posterior import TailPosterior, condition

ARD = KernelLayout(np.arange(3), np.zeros(3, dtype=np.int64))
ADDITIVE = KernelLayout(np.arange(3), np.array([0, 1, 1]))


def growing(rng, points):
    """Noise that grows with the mean, heavy on one side."""
    size = np.exp(1.5 * points[:, 0])
    return 3.0 * size + size * (rng.pareto(1.5, len(points)) - 2.0)


def jumping(rng, points):
    """Large payoffs on one hill, two times in five."""
    jumps = (points[:, 1] > 0.6) & (rng.random(len(points)) < 0.4)
    return points[:, 0] + 0.3 * rng.standard_normal(len(points)) + np.where(jumps, 9.0, 0.0)


def two_sided(rng, points):
    """No outliers."""
    return points[:, 0] + rng.laplace(size=len(points))


def posterior_of(payoffs, layout=ARD, n=60, pending=2, seed=5):
    rng = np.random.default_rng(seed)
    points = rng.random((n, len(layout.parameter_of_column)))
    observations, config = Observations(points, payoffs(rng, points)), ModelConfig(layout)
    waiting = rng.random((pending, len(layout.parameter_of_column)))
    parameters = fit_model(observations, None, config)
    return condition(observations, waiting, parameters, config), rng


@pytest.mark.parametrize("n", [30, 60, 120])
@pytest.mark.parametrize("payoffs", [growing, jumping, two_sided])
@pytest.mark.parametrize("layout", [ARD, ADDITIVE], ids=["matern", "additive"])
def test_ucb_gradient(layout, payoffs, n):
    posterior, rng = posterior_of(payoffs, layout, n)
    for c in rng.random((6, len(layout.parameter_of_column))):
        for kappa in (0.0, 2.0):
            upper, gradient = posterior.ucb_gradient(c, kappa)
            assert upper == pytest.approx(posterior.ucb(c[None], kappa)[0], abs=1e-9)
            numeric = slow.slope(lambda x, k=kappa: posterior.ucb_gradient(x, k)[0], c)
            np.testing.assert_allclose(gradient, numeric, atol=1e-5)


def test_ucb_leaves_out_the_variance_that_all_points_share():
    posterior, rng = posterior_of(two_sided, n=80, pending=0)
    constant, points = posterior.tail.variance, rng.random((9, 3))
    assert constant > 0.0
    assert posterior.tail.deviation is None
    mean, deviation = posterior.predict(points)
    s = posterior.parameters.noise_scale.at(posterior.location.predict(points)[0])
    np.testing.assert_allclose(posterior.ucb(points, 0.0), mean)
    apart = np.sqrt(deviation**2 - (s**2 - (s - 1.0) ** 2) * constant)
    np.testing.assert_allclose(posterior.ucb(points, 2.0), mean + 2.0 * apart)


def test_cases_of_ucb_gradient_have_noise_scales_and_deviations():
    posteriors = [
        posterior_of(noise, n=n)[0] for noise in (growing, jumping) for n in (30, 60, 120)
    ]
    assert any(found.parameters.noise_scale.rate != 0.0 for found in posteriors)
    assert any(found.tail.deviation is not None for found in posteriors)


def test_ucb_is_the_larger_bound_of_two_cases():
    posterior, rng = posterior_of(jumping, n=50, seed=7)
    points, tail = rng.random((200, 3)), posterior.tail
    assert tail.deviation is not None
    assert 0.1 < tail.probability < 0.9
    mean, variance = posterior.location.predict(points)
    s = posterior.parameters.noise_scale.at(mean)
    variance = variance + (s - 1.0) ** 2 * tail.variance
    mean = mean + s * (posterior.parameters.psi.center + tail.mean)
    shift, shift_variance = tail.deviation.predict(points)
    shift, shift_variance = s * tail.scale * shift, (s * tail.scale) ** 2 * shift_variance
    fewer = norm.isf(norm.sf(1.0) / tail.probability)
    steady = mean + np.sqrt(variance)
    varying = mean + shift + max(fewer, 0.0) * np.sqrt(variance + shift_variance)
    assert 0 < np.sum(varying > steady) < 200
    np.testing.assert_allclose(posterior.ucb(points, 1.0), np.maximum(steady, varying))
    np.testing.assert_allclose(posterior.ucb(points, 0.0), posterior.predict(points)[0])


def test_the_mean_is_higher_where_large_payoffs_were_seen():
    posterior, _ = posterior_of(jumping, n=120)
    hill, plain = posterior.ucb(np.array([[0.5, 0.8, 0.5], [0.5, 0.3, 0.5]]), 0.0)
    assert (hill - plain) * posterior.parameters.scale > 1.0


@pytest.mark.parametrize("kappa", [10.0, 40.0, 1e6])
def test_ucb_is_finite_for_every_kappa(kappa):
    posterior, rng = posterior_of(jumping, n=120)
    points = rng.random((20, 3))
    bounds = posterior.ucb(points, kappa)
    assert np.isfinite(bounds).all()
    assert np.isfinite(posterior.ucb_gradient(points[0], kappa)[1]).all()
    assert np.ptp(bounds) > 0.0


def test_a_tail_correction_that_does_not_vary_is_the_same_everywhere():
    mean, variance = TailPosterior(1.5, 0.25).predict(np.zeros((2, 3)))
    assert mean.tolist() == [1.5, 1.5]
    assert variance.tolist() == [0.0, 0.0]  # the constant's own is the same everywhere


def test_a_tail_correction_that_may_vary_is_a_mixture():
    rng = np.random.default_rng(0)
    points, payoffs, X = rng.random((25, 3)), rng.standard_normal(25), rng.random((10, 3))
    kernel = KernelParameters(np.array([0.4, 0.6, 0.9]), 0.8, 0.2)
    gp = compute_features(ARD, kernel, points, points[:0]).gp(np.ones(25))
    deviation = gp.condition(payoffs, centered=True)
    mean, variance = TailPosterior(1.5, 0.25, deviation, 2.0, 0.3).predict(X)
    shift, shift_variance = deviation.predict(X)
    shift = 2.0 * shift
    np.testing.assert_allclose(mean, 1.5 + 0.3 * shift)
    # E[x^2] - E[x]^2 of 0.7 (shift: 0) + 0.3 (shift, with its own variance)
    second = 0.3 * (shift**2 + 4.0 * shift_variance)
    np.testing.assert_allclose(variance, second - (0.3 * shift) ** 2)


@pytest.mark.parametrize("noise", [1.5, 30.0])
def test_joint_draws_have_the_means_and_deviations_of_the_intervals(noise):
    from scipy.special import ndtri

    import tailproof as tp

    rng = np.random.default_rng(0)
    opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1)))
    for _ in range(40):
        trial = opt.ask()
        opt.tell(trial, 100.0 + 5.0 * trial.params["x"] + rng.standard_t(noise))
    places = np.linspace(0.0, 1.0, 7)[:, None]
    posterior = opt._condition_model([])
    draws = posterior.sample_means(opt.space.encode(places), 20_000, rng)
    found = opt.predict([{"x": float(x)} for x in places[:, 0]], level=0.9)
    wide = opt.predict([{"x": float(x)} for x in places[:, 0]], level=0.99)
    assert draws.shape == (20_000, 7)
    assert draws.mean(axis=0) == pytest.approx(found.mean, rel=0.02)
    # Intervals of two levels differ by the deviation alone.
    step = float(ndtri(0.05) - ndtri(0.005))
    deviation = (wide.upper - found.upper) / step
    assert (draws.std(axis=0) > 0.9 * deviation).all()
    assert (draws.std(axis=0) < 0.7 * (found.upper - found.mean)).all()
    assert np.corrcoef(draws[:, 0], draws[:, 1])[0, 1] > 0.3  # joint, not independent
