"""The mean of the residuals: truncation, a constant, and a correction that varies."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from tailproof.search.model.constants import TAIL
from tailproof.search.model.correlation import KernelLayout
from tailproof.search.model.mean_correction import (
    Residuals,
    condition_correction,
    hidden_means,
    is_outlier,
    learn_correction,
    tuning_free_bound,
)
from tailproof.search.model.parameters import Correction

LAYOUT = KernelLayout(np.arange(2), np.zeros(2, dtype=np.int64))
LENGTHSCALES = (np.array([0.3, 0.3]), np.array([0.6, 0.6]))


def residuals(values, seed=0, variance=0.01, noise=1.0):
    points = np.random.default_rng([seed, 1]).random((len(values), 2))
    return Residuals(points, values, np.full(len(values), variance), np.ones(len(values)), noise)


def learn(found):
    return learn_correction(found, LAYOUT, LENGTHSCALES)


def posterior(found, correction=None):
    correction = learn(found) if correction is None else correction
    return condition_correction(found, correction, LAYOUT, np.zeros((0, 2)), None)


# ---- the bound ----------------------------------------------------------------------------------


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=12, max_size=60).map(np.array),
    st.floats(0.5, 5.0),
)
@settings(derandomize=True, deadline=None)
def test_the_bound_solves_its_equation(values, exceedances):
    values = np.where(np.abs(values) < 1e-6, 0.0, values)
    bound = tuning_free_bound(values, exceedances)
    count = int(np.count_nonzero(values))
    if count == 0:
        assert bound == 0.0
    elif count > 2.0 * exceedances:
        total = np.sum(np.minimum(values**2, bound**2)) / bound**2
        assert total == pytest.approx(exceedances, rel=1e-6)


def test_the_bound_of_few_values_is_at_most_what_is_given():
    values = np.array([1e9, 1.0, -1.0, 0.5])
    assert tuning_free_bound(values, TAIL.exceedances, 3.0) <= 3.0
    assert tuning_free_bound(np.zeros(5), 2.0) == 0.0
    assert tuning_free_bound(np.zeros(0), 2.0) == 0.0
    many = np.random.default_rng(0).standard_normal(50)
    assert tuning_free_bound(many, 2.0, 1e-3) == tuning_free_bound(many, 2.0)


def test_the_bound_grows_with_the_number_of_values_as_their_tail_does():
    rng = np.random.default_rng(0)
    bounds = [tuning_free_bound(rng.pareto(1.5, n), 2.3) for n in (100, 1000, 10_000)]
    assert bounds[0] < bounds[1] < bounds[2]


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_the_bound_scales_with_its_values(unit):
    values = np.random.default_rng(0).standard_t(2, 40)
    expected = unit * tuning_free_bound(values, 2.3)
    assert tuning_free_bound(unit * values, 2.3) == pytest.approx(expected)


@pytest.mark.parametrize("index", [1.6, 2.5])
def test_the_hidden_mean_of_a_pareto_law_is_found(index):
    # E[(x - b)+] = b^(1 - index) / (index - 1) for the Pareto law on x > 1; over 40 samples.
    rng, found = np.random.default_rng(1), []
    bound = 300.0 ** (1.0 / index)
    for _ in range(40):
        below, above = hidden_means(rng.pareto(index, 300) + 1.0, np.ones(300), bound)
        assert below == 0.0
        found.append(above)
    expected = bound ** (1.0 - index) / (index - 1.0)
    assert 0.5 * expected < np.median(found) < 1.5 * expected


def test_the_hidden_mean_of_light_tails_is_next_to_nothing():
    values = np.random.default_rng(0).standard_normal(100)
    bound = tuning_free_bound(values, TAIL.exceedances)
    assert sum(hidden_means(values, np.ones(100), bound)) < 0.01


def test_one_value_moves_the_hidden_mean_by_a_bounded_amount():
    values = np.abs(np.random.default_rng(0).standard_normal(100))
    bound = 6.0
    for huge in (1e3, 1e12, 1e300):
        assert hidden_means(np.append(values, huge), np.ones(101), bound)[1] < bound / 10.0


# ---- a constant ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draw", "mean", "error"),
    [
        (lambda rng, n: rng.standard_normal(n), 0.0, 0.15),
        (lambda rng, n: rng.exponential(1.0, n), 1.0, 0.15),  # mode 0
        (lambda rng, n: rng.pareto(2.5, n), 1.0 / 1.5, 0.2),
    ],
    ids=["gaussian", "exponential", "pareto"],
)
def test_a_constant_correction_is_the_mean_of_the_residuals(draw, mean, error):
    # 400 residuals: standard errors of 0.05 and 0.06, and a Pareto law's truncated tail of 0.1.
    found = residuals(draw(np.random.default_rng(0), 400))
    correction = learn(found)
    assert correction.mean == pytest.approx(mean, abs=error)
    given_all = posterior(found, correction)
    assert given_all.mean == pytest.approx(correction.mean, abs=0.05)
    assert math.sqrt(given_all.variance) == pytest.approx(np.std(found.values) / 20.0, rel=0.6)


def test_the_mean_weighs_residuals_by_the_share_of_the_noise():
    # Where the location is uncertain a residual says nothing about the noise.
    values = np.append(np.random.default_rng(0).standard_normal(50), np.full(10, 3.0))
    uncertain = np.append(np.full(50, 1e-4), np.full(10, 1e8))
    points = np.random.default_rng(1).random((60, 2))
    weighed = learn(Residuals(points, values, uncertain, np.ones(60), 1.0))
    alike = learn(Residuals(points, values, np.full(60, 1e-4), np.ones(60), 1.0))
    assert weighed.mean == pytest.approx(float(np.mean(values[:50])), abs=0.1)
    assert alike.mean > weighed.mean + 0.3


@pytest.mark.parametrize("n", [12, 40, 150])
@pytest.mark.parametrize("huge", [1e4, 1e12, -1e100])
def test_one_outlier_moves_the_mean_by_a_bounded_amount(n, huge):
    values = np.random.default_rng(n).standard_normal(n)
    before = learn(residuals(values))
    values[n // 2] = huge
    after = learn(residuals(values))
    # By at most about the bound over n: two standard errors, times the order of ln 10.
    assert abs(after.mean - before.mean) < 6.0 / math.sqrt(n)
    assert after.bound < 20.0 * math.sqrt(n)


@pytest.mark.parametrize(
    "values",
    [np.zeros(5), np.full(5, 2.0), np.array([1.0]), np.array([0.0, 3.0])],
    ids=["zeros", "equal", "one", "two"],
)
def test_few_or_equal_residuals_are_no_trouble(values):
    correction = learn(residuals(values))
    given_all = posterior(residuals(values), correction)
    assert math.isfinite(correction.mean)
    assert math.isfinite(given_all.mean + given_all.variance + sum(given_all.hidden))
    if np.ptp(values) == 0.0:
        assert correction.mean == values[0]
        assert correction.rate is None


def test_no_residuals_need_no_correction():
    # As where every trial was told as a mean with its standard error.
    none = Residuals(np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros(0), 1.0)
    assert learn(none).mean == 0.0
    assert posterior(none).mean == 0.0
    assert posterior(none, Correction(1.0, 0.5, 0.7)).mean == 0.7


def test_the_hidden_mean_is_part_of_the_correction():
    rng = np.random.default_rng(0)
    found = residuals(rng.pareto(1.5, 300), variance=0.0)
    correction = learn(found)
    given_all = posterior(found, correction)
    assert given_all.hidden[1] > 1e6 * given_all.hidden[0]
    clipped = np.clip(found.values, None, correction.center + correction.bound)
    assert given_all.mean == pytest.approx(float(np.mean(clipped)) + given_all.hidden[1])


# ---- a correction that varies -------------------------------------------------------------------


def stalls(n, seed=0, share=0.4):
    """Residuals that are large on the right, `share` of the time, and small elsewhere."""
    rng = np.random.default_rng(seed)
    found = residuals(0.3 * rng.standard_normal(n), seed, noise=0.09)
    rare = (found.points[:, 0] > 0.7) & (rng.random(n) < share)
    return replace(found, values=np.where(rare, 12.0, found.values))


def varying(given_all, points):
    """The correction at points if the rate varies; the slopes of these residuals are 1."""
    deviation, _ = given_all.rate.deviation.predict(points)
    return given_all.rest + given_all.size * expit(given_all.rate.offset + deviation)


def test_large_residuals_in_one_region_are_seen_to_vary():
    found = stalls(150)
    correction = learn(found)
    assert correction.rate is not None
    assert correction.rate.probability > 0.5
    given_all = posterior(found, correction)
    assert given_all.rate is not None
    right, left = varying(given_all, np.array([[0.9, 0.5], [0.2, 0.5]]))
    assert right > left + 1.0


def test_a_rate_that_varies_has_the_mean_of_the_constant_over_the_payoffs():
    found = stalls(150)
    given_all = posterior(found)
    assert given_all.rate is not None
    weights = found.weights(math.sqrt(found.noise_var))
    average = np.average(varying(given_all, found.points), weights=weights)
    assert average == pytest.approx(given_all.mean, rel=0.02)


def test_the_size_of_outliers_is_that_of_payoffs_not_of_ratios():
    # The same stall of 3 everywhere, where the usual payoff, and so a residual of 1, varies by 30.
    found = stalls(150)
    slopes = np.where(found.values == 12.0, np.geomspace(0.1, 3.0, 150), 1.0)
    values = np.where(found.values == 12.0, 3.0 / slopes, 0.3 * found.values)
    same = replace(found, values=values, slopes=slopes, noise_var=0.01)
    correction = learn(same)
    assert correction.rate is not None
    assert posterior(same, correction).size == pytest.approx(3.0, rel=0.2)


def test_one_outlier_far_from_the_others_does_not_decide_their_size():
    found = stalls(150)
    correction = learn(found)
    usual = posterior(found, correction).size
    slopes = np.ones(150)
    slopes[int(np.flatnonzero(found.values == 12.0)[0])] = 1e6
    assert posterior(replace(found, slopes=slopes), correction).size < 10.0 * usual


def test_no_rate_is_learnt_where_it_may_not_vary():
    assert learn_correction(stalls(150), LAYOUT, ()).rate is None


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_outliers_of_the_side_that_moves_the_mean_count(side):
    found = stalls(150)
    mirrored = replace(found, values=side * found.values)
    correction = learn(mirrored)
    assert correction.outlier * side > 0.0
    outliers = is_outlier(mirrored.values - correction.center, correction.outlier)
    np.testing.assert_array_equal(outliers, found.values == 12.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_same_law_everywhere_is_not_seen_to_vary(seed):
    rng = np.random.default_rng(seed)
    for values in (rng.standard_normal(150), rng.exponential(1.0, 150), rng.pareto(1.5, 150)):
        rate = learn(residuals(values, seed)).rate
        assert rate is None or rate.probability < 0.6


def test_an_improbable_rate_is_left_out():
    found = stalls(60)
    correction = replace(learn(found), rate=None)
    assert posterior(found, correction).rate is None
    assert posterior(found, correction).mean == posterior(found).mean


def test_outliers_where_the_location_is_unknown_tell_nothing():
    # Without noise, large residuals are what the process has not learnt yet.
    rng = np.random.default_rng(3)
    values = np.append(1e-6 * rng.standard_normal(40), 30.0 + rng.random(10))
    variances = np.append(np.full(40, 1e-6), np.full(10, 50.0))
    found = Residuals(rng.random((50, 2)), values, variances, np.ones(50), 1e-8)
    correction = learn(found)
    assert correction.rate is None
    given_all = posterior(found, correction)
    assert abs(given_all.mean) < 1e-3
    assert sum(given_all.hidden) < 1e-3


def test_outliers_larger_than_the_doubt_of_the_location_tell_of_their_rate():
    # The location is known as well as one payoff tells: not enough for the mean, but nothing that
    # is six deviations of the noise away is an effect of the parameters.
    found = replace(stalls(150), variances=np.full(150, 0.27))
    known, uncertain = found.weights_of_outliers(), found.weights(math.sqrt(found.noise_var))
    assert known.min() > 0.9
    assert uncertain.max() < 0.3
    correction = learn(found)
    assert correction.rate is not None
    assert correction.rate.probability > 0.5
