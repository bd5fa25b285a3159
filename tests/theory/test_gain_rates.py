"""Rates of gamma_T, and the explicit bound for linear features."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailproof as tp
from tailproof import theory

seeds = st.integers(0, 2**32 - 1)


properties = settings(max_examples=25, deadline=None, derandomize=True)


@pytest.mark.parametrize(("dim", "nu"), [(1, 2.5), (2, 3.5)])
def test_gain_rates_have_the_shapes_of_lemma_4(dim, nu):
    t = np.array([10, 10**3, 10**6])
    log = np.log(t)
    np.testing.assert_allclose(theory.linear_gain_rate(t, dim), dim * log)
    np.testing.assert_allclose(theory.squared_exponential_gain_rate(t, dim), log ** (dim + 1))
    slope = np.diff(np.log(theory.matern_gain_rate(t, dim, nu) / log)) / np.diff(log)
    np.testing.assert_allclose(slope, float(theory.gain_exponent("matern", dim, nu)))


@properties
@given(seed=seeds, dim=st.integers(1, 4), ridge=st.floats(0.1, 10))
def test_linear_bound_holds_for_points_in_the_unit_ball(seed, dim, ridge):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(50, dim))
    points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1.0)
    gain = theory.information_gain(tp.Linear(), points, ridge)
    assert gain <= float(theory.linear_gain_bound(50, dim, ridge)) * (1 + 1e-12)
