"""Intervals of a statistic: limits of the formula, monotony, and the confidence they imply."""

import numpy as np
import pytest
from scipy import stats

from tailproof.means.intervals import Statistic, hall_inverse
from tailproof.means.robust import robust_mean


def test_without_skewness_and_truncation_it_is_students_interval():
    y = np.random.default_rng(0).normal(3.0, 2.0, 25)
    y = np.concatenate([y, 2.0 * y.mean() - y])  # symmetric
    found = robust_mean(y).interval(0.9)
    expected = stats.ttest_1samp(y, 0.0).confidence_interval(0.9)
    assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high), rel=1e-9)


@pytest.mark.parametrize("g", [-2.0, -0.3, 0.3, 2.0])
def test_halls_transformation_is_inverted(g):
    x = np.linspace(-4.0, 4.0, 33)
    t = hall_inverse(x, np.full_like(x, g))
    assert np.allclose(t + g * t**2 / 3 + g**2 * t**3 / 27 + g / 6, x)


@pytest.mark.parametrize("skewness", [-1.5, 0.0, 0.7])
@pytest.mark.parametrize("mean", [-2.0, -0.1, 0.4, 3.0])
def test_confidence_above_inverts_the_interval(skewness, mean):
    statistic = Statistic(mean, 1.0, skewness, 12.0, 0.05, 0.08)
    p = statistic.confidence_above(0.0)
    level = abs(2.0 * p - 1.0)
    if level > 0.05:
        found = statistic.interval(level)
        assert (found.lower if p > 0.5 else found.upper) == pytest.approx(0.0, abs=1e-6)


def test_intervals_grow_with_level_and_with_what_was_hidden():
    levels = np.linspace(0.05, 0.999, 40)
    found = [Statistic(1.0, 0.5, 0.8, 9.0, 0.0, 0.2).interval(level) for level in levels]
    assert np.all(np.diff([i.lower for i in found]) < 0.0)
    assert np.all(np.diff([i.upper for i in found]) > 0.0)
    assert Statistic(1.0, 0.5, 0.8, 9.0, 0.0, 2.0).interval(0.9).upper > found[-1].level


def test_level_is_checked():
    with pytest.raises(ValueError, match="level"):
        robust_mean([1.0, 2.0]).interval(1.0)
