"""The tail correction: its bound, whether outliers cancel, and whether they vary."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from searches import observations
from tailproof.search.model.correlation import KernelLayout
from tailproof.search.model.fit import fit_model
from tailproof.search.model.hyperparameters import Prior, prior_median
from tailproof.search.model.parameters import ModelConfig, OutlierModel
from tailproof.search.model.robust_loss import AdaptiveWindow, WindowPsi
from tailproof.search.model.tail_correction import (
    balance,
    likelihood_rows,
    one_sided,
    outlier_window,
    probability_of_variation,
    tuning_free_bound,
)

LAYOUT = KernelLayout(np.arange(2), np.zeros(2, dtype=np.int64))
CONFIG = ModelConfig(LAYOUT)
KERNEL = prior_median(Prior(), 2)


# ---- the bound of single excesses ---------------------------------------------------------------

values = st.lists(st.floats(-1e6, 1e6).filter(lambda x: x == 0.0 or abs(x) > 1e-6), max_size=40)


@given(values, st.floats(0.1, 20.0))
@settings(derandomize=True, max_examples=100, deadline=None)
def test_the_bound_solves_its_equation(numbers, exceedances):
    x = np.array(numbers, dtype=np.float64)
    bound = tuning_free_bound(x, exceedances)
    some = np.count_nonzero(x)
    if some == 0:
        assert bound == 0.0
        return
    left = float(np.sum(np.minimum((x / bound) ** 2, 1.0)))
    assert left == pytest.approx(min(exceedances, 0.5 * some), rel=1e-9)


@given(values, st.floats(1e-3, 1e3))
@settings(derandomize=True, max_examples=30, deadline=None)
def test_the_bound_has_the_values_units(numbers, a):
    x = np.array(numbers, dtype=np.float64)
    assert tuning_free_bound(a * x, 2.0) == pytest.approx(a * tuning_free_bound(x, 2.0), rel=1e-9)


def test_the_bound_grows_with_the_number_of_values_as_the_tail_does():
    # About `exceedances` of n values reach it: n P(|x| > b) ~ exceedances, so b ~ n^(1/alpha).
    rng = np.random.default_rng(0)
    alpha, exceedances = 1.5, 10.0
    bounds = [
        np.median([tuning_free_bound(1.0 + rng.pareto(alpha, n), exceedances) for _ in range(20)])
        for n in (100, 10_000)
    ]
    assert bounds[1] / bounds[0] == pytest.approx(100 ** (1 / alpha), rel=0.5)


@pytest.mark.parametrize("top", [1e-140, 1e140])
def test_the_bound_of_extreme_values_is_finite(top):
    bound = tuning_free_bound(np.append(np.linspace(0.0, 1.0, 20), top), 3.0)
    assert 0.0 < bound < math.inf
    assert tuning_free_bound(np.full(10, top), 2.0) == pytest.approx(top * math.sqrt(5.0))


def test_what_the_bound_hides_is_less_where_it_cancels():
    def hidden(noise):
        correction = fit_model(observations(300, noise=noise), None, CONFIG).tail_correction
        return correction.bias / (correction.bound * CONFIG.exceedances / 300)

    assert hidden(lambda rng, n: rng.pareto(1.5, n)) > 0.9
    assert hidden(lambda rng, n: rng.pareto(1.5, n) * rng.choice([-1.0, 1.0], n)) < 0.5


def test_only_outliers_lie_outside_the_outlier_window():
    e = np.append(np.random.default_rng(0).standard_normal(400), [5.0, 7.0, -9.0])
    window = outlier_window(AdaptiveWindow().learn(e), e)
    assert window.clipped(e).tolist() == [False] * 401 + [True, True]
    # No residual within the window of psi is an outlier.
    assert outlier_window(WindowPsi(-20.0, 8.0), e).clipped(e).sum() == 0


@given(
    hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e6, 1e6, width=32)),
    st.floats(1e-100, 1e100),
)
def test_the_balance_of_values_knows_neither_their_unit_nor_their_sign(values, unit):
    found = balance(values)
    assert 0.0 <= found <= 1.0
    assert balance(-values) == found
    assert balance(unit * values) == pytest.approx(found, abs=1e-9)
    assert balance(np.append(values, -values)) == pytest.approx(1.0, abs=1e-9)


def test_many_values_of_one_sign_balance_nothing():
    assert balance(np.ones(98)) == pytest.approx(0.02)
    assert balance(np.zeros(3)) == balance(np.zeros(0)) == 1.0


def test_values_are_one_sided_as_far_as_they_do_not_cancel():
    rng = np.random.default_rng(0)
    assert one_sided(rng.pareto(1.5, 500)) == 1.0
    assert one_sided(-rng.pareto(1.5, 500)) == 1.0
    assert one_sided(np.tile([1.0, -1.0], 99)) == pytest.approx(0.01)
    assert one_sided(np.array([3.0, -3.0])) == 0.5  # two that cancel may do so by chance
    assert one_sided(np.zeros(3)) == one_sided(np.zeros(0)) == 1.0


def test_all_that_is_clipped_from_an_outlier_counts():
    outliers = OutlierModel(-6.0, 6.0, 9.0, 2.0, KERNEL, 0.5)
    residuals = np.array([0.0, 5.0, 7.0, -7.0, 30.0])
    excess = WindowPsi(-1.0, 2.0).excess(residuals)
    assert outliers.scaled_excess(residuals, excess).tolist() == [0.0, 0.0, 2.5, -3.0, 4.5]


def test_whether_outliers_vary_is_decided_in_units_of_the_likelihood_rows():
    # The likelihood uses some of many payoffs: the size of the others must not matter.
    rng = np.random.default_rng(8)
    told = observations(1000)
    values = np.where(told.points[:, 0] > 0.7, 1.0, -1.0) * rng.exponential(size=1000)
    values -= values.mean()
    rows = likelihood_rows(1000)
    assert len(rows) < 1000
    others = np.setdiff1d(np.arange(1000), rows)
    quiet, silent = values.copy(), values.copy()
    quiet[others] *= 0.01
    silent[rows] = 0.0

    def probability(values):
        return probability_of_variation(told, values, KERNEL, CONFIG)[1]

    assert probability(values) > 0.99
    assert probability(quiet) == pytest.approx(probability(values), abs=0.01)
    assert probability(silent) == 0.0
    elsewhere = rng.permutation(values)
    louder = np.where(np.isin(np.arange(1000), rows), 4.0, 1.0)
    assert probability(elsewhere) < 0.3
    assert probability(louder * elsewhere) < 0.3
