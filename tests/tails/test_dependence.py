"""Serial dependence and its design effect."""

import numpy as np
import pytest
from scipy.stats import binom

from tailproof.tails.dependence import (
    Dependence,
    across_arms,
    dependence,
    pooled,
    rank_autocorrelation,
)


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
    independent = Dependence(0.0, 0.0, 1.0, 1.0, 1.0)
    assert pooled([(60, independent)] * arms, across=1.0).design_effect == 1.0


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
    single = dependence(walk, float(np.median(walk)))
    both = pooled([(500, single), (500, single)], across=1.5)
    assert both.design_effect == pytest.approx(min(1.5 * single.design_effect, 1_000.0))
