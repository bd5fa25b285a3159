"""Rates, exponents and the sublinear range, against what the paper states."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailproof as tp
from tailproof import theory
from tailproof.bandits.schedules import MomentBound

alphas = st.floats(0.05, 1.0)
smoothness = st.floats(0.5, 20.0)
dims = st.integers(1, 5)
seeds = st.integers(0, 2**32 - 1)
properties = settings(max_examples=50, deadline=None, derandomize=True)


def test_remark_1_finite_variance_gives_tgp_ucb_three_quarters():
    assert float(theory.regret_exponent(1, 1.0, "se")) == 0.75


def test_remarks_2_and_6_finite_variance_gives_a_root_for_the_se_kernel():
    for theorem in (2, 3, 4):
        assert float(theory.regret_exponent(theorem, 1.0, "se", dim=3)) == 0.5


@properties
@given(alpha=alphas)
def test_remark_7_upper_and_lower_exponent_meet_for_the_se_kernel(alpha):
    powers = [float(theory.regret_exponent(t, alpha, "se", dim=2)) for t in (2, 3, 4)]
    np.testing.assert_allclose(powers, 1 / (1 + alpha))
    assert float(theory.regret_exponent(1, alpha, "se")) == pytest.approx(
        (2 + alpha) / (2 * (1 + alpha))
    )


@properties
@given(alpha=alphas, nu=smoothness, dim=dims)
def test_remark_7_matern_exponent_and_the_range_in_which_it_is_sublinear(alpha, nu, dim):
    pairs = dim * (dim + 1)
    power = float(theory.regret_exponent(4, alpha, "matern", dim, nu))
    stated = (2 * nu + (2 + alpha) * pairs) / (2 * nu + pairs) / (1 + alpha)
    assert power == pytest.approx(stated)
    if abs(power - 1) > 1e-9:
        assert bool(theory.matern_is_sublinear(alpha, nu, dim)) == (power < 1)
        assert (nu > float(theory.matern_least_smoothness(alpha, dim))) == (power < 1)


@properties
@given(alpha=alphas, nu=smoothness, dim=dims)
def test_no_upper_exponent_is_below_the_lower_one(alpha, nu, dim):
    for kernel in ("se", "matern"):
        lower = float(theory.regret_exponent(2, alpha, kernel, dim, nu))
        assert lower <= 1.0
        for theorem in (1, 4):
            assert float(theory.regret_exponent(theorem, alpha, kernel, dim, nu)) >= lower - 1e-12


def test_smoother_matern_kernels_approach_the_se_exponent():
    powers = theory.regret_exponent(4, 0.7, "matern", dim=2, nu=[1.0, 10.0, 1e3, 1e7])
    assert np.all(np.diff(powers) < 0.0)
    assert powers[-1] == pytest.approx(float(theory.regret_exponent(4, 0.7, "se")), abs=1e-5)


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.regret_exponent(5, 1.0, "se"), r"`theorem` must be 1, 2, 3 or 4"),
        (lambda: theory.regret_exponent(3, 1.0, "matern", 1, 2.5), r"for Theorem 3"),
        (lambda: theory.regret_exponent(4, 1.0, "matern"), r"`nu` must be given"),
        (lambda: theory.regret_exponent(4, 1.5, "se"), r"`0 < alpha <= 1` must hold"),
        (lambda: theory.regret_exponent(4, 0.0, "se"), r"`0 < alpha <= 1` must hold"),
        (lambda: theory.matern_is_sublinear(1.0, -1.0, 1), r"`nu > 0` must hold"),
        (lambda: theory.matern_least_smoothness(1.0, 0), r"`dim >= 1` must hold"),
        (lambda: theory.matern_gain_exponent(1, 2.5, "other"), r"`source` must be one of"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("nu", [0.6, 1.5, 2.5])
def test_the_newer_information_gain_of_matern_kernels_is_smaller(dim, nu):
    newer = {"source": "vakili2021"}
    assert theory.matern_gain_exponent(dim, nu, **newer) == pytest.approx(dim / (2 * nu + dim))
    assert theory.matern_gain_exponent(dim, nu, **newer) < theory.matern_gain_exponent(dim, nu)
    T = 10**6
    written_out = T ** (dim / (2 * nu + dim)) * math.log(T) ** (2 * nu / (2 * nu + dim))
    assert float(theory.matern_gain_rate(T, dim, nu, **newer)) == pytest.approx(written_out)
    for alpha in (0.3, 1.0):
        least = float(theory.matern_least_smoothness(alpha, dim, **newer))
        assert least == pytest.approx(dim / (2 * alpha))
        for theorem in (1, 4):
            assert theory.regret_exponent(
                theorem, alpha, "matern", dim, nu, **newer
            ) < theory.regret_exponent(theorem, alpha, "matern", dim, nu)
        sublinear = bool(theory.matern_is_sublinear(alpha, nu, dim, **newer))
        assert sublinear == (nu > least)
