"""Rates of the lower bound, against the formulas of Theorem 2."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailproof import theory
from tailproof.bandits.schedules import MomentBound

alphas = st.floats(0.05, 1.0)


smoothness = st.floats(0.5, 20.0)


dims = st.integers(1, 5)


properties = settings(max_examples=50, deadline=None, derandomize=True)


@properties
@given(alpha=alphas, nu=smoothness, dim=dims)
def test_matern_lower_rate_grows_with_its_exponent(alpha, nu, dim):
    moment, T = MomentBound(alpha, 2.0), np.array([10**3, 10**6])
    rate = theory.matern_lower_rate(moment, 1.5, T, dim=dim, nu=nu)
    slope = math.log(rate[1] / rate[0]) / math.log(10**3)
    assert slope == pytest.approx(float(theory.regret_exponent(2, alpha, "matern", dim, nu)))


def test_se_lower_rate_is_the_stated_formula_and_silent_where_the_theorem_is():
    a, v, B, T, d = 0.8, 3.0, 2.0, 10**5, 2
    log = math.log(v ** (-1 / a) * B ** ((1 + a) / a) * T)
    stated = v ** (1 / (1 + a)) * log ** (d * a / (1 + a)) * T ** (1 / (1 + a))
    rate = theory.squared_exponential_lower_rate(MomentBound(a, v), B, T, dim=d)
    assert float(rate) == pytest.approx(stated)
    few = theory.squared_exponential_lower_rate(MomentBound(1.0, 100.0), 1.0, [10, 1_000], dim=1)
    assert np.isnan(few[0])
    assert few[1] > 0.0


@properties
@given(alpha=alphas, factor=st.floats(0.01, 100))
def test_lower_rates_scale_with_the_unit_of_payoff(alpha, factor):
    moment, scaled = MomentBound(alpha, 2.0), MomentBound(alpha, 2.0 * factor ** (1 + alpha))
    for rate in (
        lambda m, B: theory.matern_lower_rate(m, B, 10**6, dim=2, nu=1.5),
        lambda m, B: theory.squared_exponential_lower_rate(m, B, 10**6, dim=2),
    ):
        assert float(rate(scaled, 3.0 * factor)) == pytest.approx(factor * float(rate(moment, 3.0)))


def test_lower_bounds_say_that_their_constant_is_open():
    assert "constant open" in theory.OPEN_CONSTANT
    for function in (theory.squared_exponential_lower_rate, theory.matern_lower_rate):
        assert "constant is open" in function.__doc__
