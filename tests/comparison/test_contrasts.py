"""Differences and ratios: agreement with Welch, with each other, with blocks, at extreme scales."""

import numpy as np
import pytest
from scipy import stats

from compare_coverage import batch_means, difference_interval
from tailproof.comparison.contrasts import Contrast, blocked_contrast
from tailproof.means.robust import fit_mean, robust_mean


def interval_of(level):
    return lambda statistic: statistic.interval(level)


def symmetric(rng, center, n):
    y = rng.normal(size=n)
    return center + np.concatenate([y, -y])


def test_symmetric_payoffs_give_welchs_interval():
    rng = np.random.default_rng(0)
    a, b = symmetric(rng, 5.0, 20), 2.0 * symmetric(rng, 3.0, 35)
    found = Contrast(robust_mean(b), robust_mean(a)).difference.interval(0.9)
    expected = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.9)
    assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high), rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("blocked", [False, True])
def test_ratio_and_difference_agree_on_the_verdict(seed, blocked):
    rng = np.random.default_rng(seed)
    a = 1.0 + rng.pareto(2.0, 200)
    b = 1.15 * (a * rng.uniform(0.8, 1.2, 200) if blocked else 1.0 + rng.pareto(2.0, 200))
    if blocked:
        (x, psi_x), (y, psi_y) = fit_mean(b - a), fit_mean(a)
        contrast = blocked_contrast(x, y, psi_x, psi_y)
    else:
        contrast = Contrast(robust_mean(b), robust_mean(a))
    for level in (0.5, 0.9, 0.99):
        difference = contrast.difference.interval(level)
        ratio = contrast.ratio_interval(interval_of(level))
        assert (ratio.lower > 1.0) == (difference.lower > 0.0)
        assert (ratio.upper < 1.0) == (difference.upper < 0.0)
        assert ratio.lower < contrast.ratio < ratio.upper
        ends = contrast.at(ratio.lower).interval(level), contrast.at(ratio.upper).interval(level)
        assert ends[0].lower == pytest.approx(0.0, abs=1e-7)
        assert ends[1].upper == pytest.approx(0.0, abs=1e-7)


def test_a_baseline_near_zero_has_no_ratio():
    rng = np.random.default_rng(1)
    contrast = Contrast(robust_mean(rng.normal(size=50)), robust_mean(rng.normal(size=50)))
    assert contrast.ratio_interval(interval_of(0.9)) is None


@pytest.mark.parametrize("scale", [1e-100, 1e-3, 1e90])
def test_scaling_both_samples_leaves_the_ratio(scale):
    rng = np.random.default_rng(2)
    a, b = rng.lognormal(0.0, 1.5, 100), rng.lognormal(0.2, 1.5, 80)
    plain = Contrast(robust_mean(b), robust_mean(a)).ratio_interval(interval_of(0.9))
    moved = Contrast(robust_mean(scale * b), robust_mean(scale * a)).ratio_interval(
        interval_of(0.9)
    )
    assert (moved.lower, moved.upper) == pytest.approx((plain.lower, plain.upper), rel=1e-5)


def test_blocks_cancel_what_pairs_share():
    rng = np.random.default_rng(3)
    drift = 10.0 + 5.0 * rng.random(300)
    a, b = drift + 0.1 * rng.normal(size=300), drift + 0.05 + 0.1 * rng.normal(size=300)
    (x, psi_x), (y, psi_y) = fit_mean(b - a), fit_mean(a)
    blocked = blocked_contrast(x, y, psi_x, psi_y).difference.interval(0.95)
    apart = Contrast(robust_mean(b), robust_mean(a)).difference.interval(0.95)
    assert 0.05 in blocked
    assert blocked.width < 0.1 * apart.width


def test_blocked_moments_are_those_of_the_combined_influence_function():
    rng = np.random.default_rng(4)
    a = rng.exponential(1.0, 400)
    d = 0.3 * a**2 + rng.normal(size=400)
    (x, psi_x), (y, psi_y) = fit_mean(d), fit_mean(a)
    statistic = blocked_contrast(x, y, psi_x, psi_y).at(1.7)
    psi = psi_x - 0.7 * psi_y
    assert statistic.standard_error == pytest.approx(psi.std() / np.sqrt(400), rel=0.01)
    expected = (psi**3).mean() / 400**2 / statistic.standard_error**3
    assert statistic.skewness == pytest.approx(expected, rel=0.02)


def test_the_coverage_benchmark_computes_the_same_intervals():
    rng = np.random.default_rng(5)
    a, b = 1.0 + rng.pareto(1.7, (30, 60)), 1.0 + rng.pareto(1.7, (30, 60))
    lower, upper = difference_interval(batch_means(b), batch_means(a), 0.9, rho=1.2)
    for i in range(30):
        found = Contrast(robust_mean(b[i]), robust_mean(a[i])).at(1.2).interval(0.9)
        assert (found.lower, found.upper) == pytest.approx((lower[i], upper[i]), rel=1e-6, abs=1e-7)
