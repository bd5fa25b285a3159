"""Exponents and the sublinear range, against what the paper's remarks state."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailproof import theory

alphas = st.floats(0.05, 1.0)
smoothness = st.floats(0.5, 20.0)
dims = st.integers(1, 5)
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
    tgp = float(theory.regret_exponent(1, alpha, "matern", dim, nu))
    if abs(tgp - 1) > 1e-9:
        assert bool(theory.matern_is_sublinear(alpha, nu, dim, theorem=1)) == (tgp < 1)
        assert (nu > float(theory.matern_least_smoothness(alpha, dim, theorem=1))) == (tgp < 1)


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.regret_exponent(5, 1.0, "se"), r"`theorem` must be 1, 2, 3 or 4"),
        (lambda: theory.regret_exponent(3, 1.0, "matern", 1, 2.5), r"for Theorem 3"),
        (lambda: theory.regret_exponent(4, 1.0, "matern"), r"`nu` must be given"),
        (lambda: theory.regret_exponent(4, 1.5, "se"), r"`0 < alpha <= 1` must hold"),
        (lambda: theory.regret_exponent(4, 0.0, "se"), r"`alpha > 0` must hold"),
        (lambda: theory.matern_is_sublinear(1.0, -1.0, 1), r"`nu > 0` must hold"),
        (lambda: theory.matern_is_sublinear(1.0, 1.0, 1, theorem=3), r"`theorem` must be 1 or 4"),
        (lambda: theory.matern_least_smoothness(1.0, 0), r"`dim >= 1` must hold"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
