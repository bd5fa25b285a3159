"""Tests against the Gaussian."""

import numpy as np
import pytest
from scipy.stats import binom, kstest

from tailproof.tails.normality import excess_kurtosis, lilliefors_p, normality


@pytest.mark.parametrize("scale", [1.0, 1e69, 1e-300])
def test_kurtosis_is_the_fourth_moment_over_the_squared_second_less_three(scale):
    x = np.random.default_rng(0).standard_t(6, 1_000)
    z = x - x.mean()
    expected = (z**4).mean() / (z**2).mean() ** 2 - 3.0
    assert excess_kurtosis(scale * x) == pytest.approx(expected, rel=1e-12)


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
    plain, moved = normality(x, seed=0), normality(5.0 - 1e-3 * x, seed=0)
    assert moved.statistic == pytest.approx(plain.statistic, rel=1e-9)
    assert moved.kurtosis == pytest.approx(plain.kurtosis, rel=1e-9)


def test_large_series_are_tested_on_a_seeded_subsample():
    x = np.random.default_rng(4).standard_normal(150_000)
    first, again, other = normality(x, 1), normality(x, 1), normality(x, 2)
    assert first == again
    assert first.tested == 100_000
    assert first.statistic != other.statistic


def test_huge_payoffs_do_not_overflow():
    x = 1e70 * np.random.default_rng(5).uniform(-1.0, 1.0, 100)
    assert np.isfinite(normality(x, seed=0).kurtosis)
