"""Tests against the Gaussian, and serial dependence."""

import numpy as np
import pytest
from scipy.stats import binom, kstest, kurtosis

from tailproof.tails.dependence import (
    Dependence,
    across_arms,
    dependence,
    pooled,
    rank_autocorrelation,
)
from tailproof.tails.normality import excess_kurtosis, lilliefors_p, normality


def test_kurtosis_is_the_usual_one():
    x = np.random.default_rng(0).standard_t(6, 1_000)
    assert excess_kurtosis(x) == pytest.approx(kurtosis(x), rel=1e-10)


def test_distance_and_its_p_value_are_those_of_kolmogorov_and_smirnov():
    x = np.random.default_rng(1).exponential(size=300)
    theirs = kstest((x - x.mean()) / x.std(ddof=1), "norm")
    mine = normality(x, seed=0)
    assert mine.statistic == pytest.approx(theirs.statistic, rel=1e-10)
    assert mine.ks_p == pytest.approx(theirs.pvalue, rel=1e-6)


# Critical values as tabulated by Lilliefors (1967); the p-value is a mean of 1,999 draws, with a
# standard deviation of 0.005 at 0.05 and 0.0022 at 0.01.
@pytest.mark.parametrize(
    ("n", "distance", "p", "room"),
    [
        (20, 0.190, 0.05, 0.02),
        (30, 0.161, 0.05, 0.02),
        (100, 0.0886, 0.05, 0.02),
        (400, 0.0443, 0.05, 0.02),
        (20, 0.231, 0.01, 0.008),
        (100, 0.1031, 0.01, 0.008),
    ],
)
def test_lilliefors_agrees_with_the_table(n, distance, p, room):
    assert lilliefors_p(distance, n, seed=0) == pytest.approx(p, abs=room)


def test_gaussians_are_rejected_as_often_as_stated():
    rng = np.random.default_rng(2)
    rejected = sum(normality(rng.standard_normal(60), seed=0).rejected for _ in range(400))
    low, high = binom.ppf([5e-4, 1.0 - 5e-4], 400, 0.05)
    assert low <= rejected <= high


def test_tests_do_not_depend_on_location_and_scale():
    x = np.random.default_rng(3).standard_t(3, 200)
    one, other = normality(x, seed=0), normality(5.0 - 1e-3 * x, seed=0)
    assert one.statistic == pytest.approx(other.statistic, rel=1e-9)
    assert one.kurtosis == pytest.approx(other.kurtosis, rel=1e-9)


def test_large_series_are_tested_on_a_seeded_subsample():
    x = np.random.default_rng(4).standard_normal(150_000)
    first, again, other = normality(x, 1), normality(x, 1), normality(x, 2)
    assert first == again
    assert first.tested == 100_000
    assert first.statistic != other.statistic


def test_huge_payoffs_do_not_overflow():
    x = 1e70 * np.random.default_rng(5).uniform(-1.0, 1.0, 100)
    assert np.isfinite(normality(x, seed=0).kurtosis)


def test_single_outliers_do_not_move_the_rank_autocorrelation():
    x = np.random.default_rng(6).standard_normal(1_000)
    spoilt = x.copy()
    spoilt[500:502] = 1e9
    assert rank_autocorrelation(spoilt) == pytest.approx(rank_autocorrelation(x), abs=0.01)


def test_independent_payoffs_have_a_design_effect_of_one():
    # 1 % error rate: at most `most` of 100 series, or the rate is wrong (1 in 1,000).
    rng = np.random.default_rng(7)
    found = [dependence(rng.standard_t(2, 500), 0.0) for _ in range(100)]
    assert sum(d.design_effect > 1.0 for d in found) <= binom.isf(1e-3, 100, 0.01)


def test_design_effect_is_that_of_an_autoregression():
    rng = np.random.default_rng(8)
    x = np.zeros(20_000)
    noise = rng.standard_normal(x.size)
    for i in range(1, x.size):
        x[i] = 0.6 * x[i - 1] + noise[i]
    assert dependence(x, 0.0).design_effect == pytest.approx(4.0, rel=0.15)


@pytest.mark.parametrize("arms", range(2, 40))
def test_independent_arms_pool_to_a_design_effect_of_exactly_one(arms):
    one = Dependence(0.0, 0.0, 1.0, 1.0, 1.0)
    assert pooled([(60, one)] * arms, across=1.0).design_effect == 1.0


def test_clusters_of_large_deviations_are_dependence_too():
    rng = np.random.default_rng(9)
    x = rng.standard_normal(2_000) * np.repeat(np.exp(rng.standard_normal(40)), 50)
    found = dependence(x, 0.0)
    assert abs(found.autocorrelation) < 0.1 < found.autocorrelation_of_size
    assert found.significant


def test_arms_that_move_together_count_less():
    rng = np.random.default_rng(10)
    assert across_arms(rng.random((500, 10)) < 0.1) == 1.0
    shared = np.repeat(rng.random((500, 1)) < 0.1, 10, axis=1)
    assert across_arms(shared) == pytest.approx(10.0, rel=0.01)


def test_pooling_multiplies_the_effects():
    walk = np.random.default_rng(11).standard_normal(500).cumsum()
    one = dependence(walk, float(np.median(walk)))
    both = pooled([(500, one), (500, one)], across=1.5)
    assert both.design_effect == pytest.approx(min(1.5 * one.design_effect, 1_000.0))
