"""What a fit learns: the same in every unit, and hardly anything from one huge payoff."""

import math
from dataclasses import replace

import numpy as np
import pytest

from searches import observations, single_payoffs
from tailproof.search.model.constants import FIT, STANDARDIZE
from tailproof.search.model.correlation import KernelLayout
from tailproof.search.model.fit import (
    fit_model,
    known_variances,
    next_refit,
)
from tailproof.search.model.parameters import ModelConfig, Observations
from tailproof.search.model.posterior import condition

LAYOUT = KernelLayout(np.arange(2), np.zeros(2, dtype=np.int64))
CONFIGS = {
    "learnt": ModelConfig(LAYOUT),
    "identity": ModelConfig(LAYOUT, warp="identity"),
    "gaussian": ModelConfig(LAYOUT, "identity", "gaussian", corrects_mean=False),
    "student-t": ModelConfig(LAYOUT, "identity", "student-t", corrects_mean=False),
}
ALL_CONFIGS = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def numbers(model):
    """Everything learnt but location and scale, as one array."""
    kernel, law, correction = model.kernel, model.law, model.correction
    return np.array(
        [
            *np.log([*kernel.lengthscales, kernel.signal_var, kernel.noise_var]),
            law.scale_lower,
            law.scale_upper,
            *(1.0 / law.dof_lower, 1.0 / law.dof_upper),
            *(model.warp.edge, model.warp.unit, model.warp.location, model.warp.scale),
            *(correction.bound, correction.center, correction.mean),
        ]
    )


@ALL_CONFIGS
@pytest.mark.parametrize(("a", "c"), [(1e-6, 0.0), (3.7, -120.0), (1e9, 1e9)])
def test_fitted_parameters_are_the_same_in_all_units(config, a, c):
    told = observations()
    model = fit_model(told, None, config)
    moved = fit_model(single_payoffs(told.points, a * told.payoffs + c), None, config)
    assert moved.location == pytest.approx(a * model.location + c)
    assert moved.scale == pytest.approx(a * model.scale)
    assert moved.warp.kind == model.warp.kind
    np.testing.assert_allclose(numbers(moved), numbers(model), atol=1e-6)


@pytest.mark.parametrize("huge", [1e9, 1e12, 1e100])
def test_a_huge_payoff_is_as_far_as_another(huge):
    told = observations()
    payoffs = told.payoffs.copy()
    payoffs[11] = 1e7  # beyond what any tail reaches: a larger one says no more
    large = fit_model(single_payoffs(told.points, payoffs), None, CONFIGS["learnt"])
    payoffs[11] = huge
    larger = fit_model(single_payoffs(told.points, payoffs), None, CONFIGS["learnt"])
    assert (larger.location, larger.scale) == (large.location, large.scale)
    np.testing.assert_array_equal(numbers(larger), numbers(large))


def test_a_huge_payoff_upsets_gaussian_noise():
    told, config = observations(), CONFIGS["gaussian"]
    payoffs = told.payoffs.copy()
    payoffs[11] = 1e12
    model = fit_model(told, None, config)
    upset = fit_model(single_payoffs(told.points, payoffs), None, config)
    assert np.abs(numbers(upset) - numbers(model)).max() > 1.0


def test_refits_become_rarer():
    due = [4]
    while due[-1] < 2000:
        due.append(next_refit(due[-1]))
    gaps = np.diff(due)
    assert (gaps >= 2).all()
    assert (np.diff(gaps) >= 0).all()
    assert len(due) < 50


def test_a_fit_that_starts_from_another_ends_near_the_one_that_does_not():
    told, config = observations(120), CONFIGS["learnt"]
    fresh = fit_model(told, None, config)
    warm = fit_model(told, fit_model(told.take(slice(90)), None, config), config)
    assert warm.warp.kind == fresh.warp.kind
    np.testing.assert_allclose(numbers(warm)[3], numbers(fresh)[3], atol=0.5)


def means(told, config):
    posterior = condition(told, told.points[:0], fit_model(told, None, config), config)
    mean, deviation = posterior.predict(told.points)
    assert (deviation > 0.0).all()
    return posterior.payoff(mean)


def test_the_target_is_the_mean_where_noise_is_skewed():
    # Exponential noise less its mean: without a correction the means are off by more than 0.5.
    told = observations(300, noise=lambda rng, n: 2.0 * (rng.exponential(1.0, n) - 1.0))
    truth = np.sin(5.0 * told.points[:, 0])
    error = means(told, CONFIGS["learnt"]) - truth
    assert abs(float(np.mean(error))) < 0.35  # three standard errors of 300 such payoffs
    config = replace(CONFIGS["identity"], corrects_mean=False)
    assert float(np.mean(means(told, config) - truth)) < -0.5


def test_multiplicative_noise_is_met_with_a_logarithm():
    rng = np.random.default_rng(0)
    points = rng.random((150, 2))
    truth = np.exp(5.0 * points[:, 0])
    told = single_payoffs(points, -truth * np.exp(0.5 * rng.standard_normal(150) - 0.125))
    model = fit_model(told, None, CONFIGS["learnt"])
    assert model.warp.kind == "log"
    ratio = -means(told, CONFIGS["learnt"]) / truth
    assert float(np.exp(np.mean(np.log(ratio)))) == pytest.approx(1.0, abs=0.15)


def test_pending_points_lower_the_deviation_and_leave_the_mean():
    told, config = observations(), CONFIGS["identity"]
    model = fit_model(told, None, config)
    waiting = np.array([[0.9, 0.05]])
    alone = condition(told, waiting[:0], model, config).location.predict(waiting)
    batch = condition(told, waiting, model, config).location.predict(waiting)
    assert batch[0] == pytest.approx(alone[0], abs=1e-4)
    assert batch[1] < alone[1]


def test_standardized_payoffs_are_rounded_and_finite():
    model = fit_model(observations(), None, CONFIGS["learnt"])
    t = model.standardize(np.array([model.location, 1e280, -1e280]))
    assert t[0] == 0.0
    assert np.isfinite(t**2).all()
    assert t[1] == -t[2] == STANDARDIZE.largest * 80  # beyond, all is equally far
    third = model.location + model.scale / 3.0
    fine = float(model.standardize(np.array([third]))[0])
    assert fine != 1.0 / 3.0
    grains = STANDARDIZE.grains
    assert fine == round(fine * grains) / grains == pytest.approx(1.0 / 3.0, abs=1.0 / grains)
    assert model.payoff(t)[0] == model.location


def test_standardized_errors_are_rounded_and_finite():
    model = fit_model(observations(), None, CONFIGS["learnt"])
    sem = np.array([math.nan, 0.0, model.scale / 3.0, 1e280])
    found = model.standardize_error(sem)
    assert math.isnan(found[0])
    assert found[1] == 0.0
    assert found[2] == pytest.approx(1.0 / 3.0, rel=2.0 / STANDARDIZE.grains)
    assert found[3] == STANDARDIZE.largest * 80


def test_known_variances_are_in_warped_units():
    rng = np.random.default_rng(0)
    points = rng.random((60, 2))
    told = single_payoffs(points, -np.exp(6.0 * points[:, 0] + 0.1 * rng.standard_normal(60)))
    model = fit_model(told, None, CONFIGS["learnt"])
    assert model.warp.kind == "log"
    sem = np.full(60, 0.01) * np.abs(told.payoffs)
    t = model.standardize(told.payoffs)
    found = known_variances(Observations(points, told.payoffs, sem), model, t)
    ends = [model.warp.forward(t + sign * sem / model.scale) for sign in (1, -1)]
    np.testing.assert_allclose(np.sqrt(found), (ends[0] - ends[1]) / 2.0, rtol=0.05)
    assert np.isnan(known_variances(told, model, t)).all()


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@ALL_CONFIGS
def test_few_payoffs_are_enough(config, n):
    assert np.isfinite(means(observations(n), config)).all()


def test_payoffs_without_noise_are_exact():
    X = np.random.default_rng(0).random((60, 2))
    smooth = single_payoffs(X, np.sin(3.0 * X[:, 0]) + 0.5 * X[:, 1])
    model = fit_model(smooth, None, CONFIGS["learnt"])
    posterior = condition(smooth, X[:0], model, CONFIGS["learnt"])
    assert model.kernel.noise_var <= FIT.no_noise
    np.testing.assert_array_equal(model.precision, 1.0)
    assert model.correction.mean == 0.0
    assert not posterior.clipped.any()
    mean, _ = posterior.predict(X)
    ordinary = smooth.payoffs < np.sort(smooth.payoffs)[-4]  # the best are limited
    np.testing.assert_allclose(
        posterior.payoff(mean)[ordinary], smooth.payoffs[ordinary], atol=1e-4
    )


@pytest.mark.parametrize("law", ["gaussian", "t"])
def test_payoffs_with_noise_are_not_exact(law):
    rng = np.random.default_rng(1)
    X = rng.random((60, 2))
    noise = rng.standard_normal(60) if law == "gaussian" else rng.standard_t(2.0, 60)
    told = single_payoffs(X, np.sin(3.0 * X[:, 0]) + 0.02 * noise)
    model = fit_model(told, None, CONFIGS["learnt"])
    assert model.kernel.noise_var > FIT.no_noise
    assert model.correction.bound > 0.0
