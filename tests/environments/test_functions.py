"""Random RKHS functions: value, norm, where the support lies, what normalizing promises."""

import numpy as np
import pytest

from tailproof.environments import RKHSFunction, ShiftedFunction, sample_rkhs_function
from tailproof.kernels import Matern, Precomputed, SquaredExponential

KERNELS = [SquaredExponential(0.2), Matern(2.5, 0.2), SquaredExponential((0.2, 0.4))]


def grid(dim, n=100):
    rng = np.random.default_rng(0)
    return np.linspace(0.01, 1.0, n)[:, None] if dim == 1 else rng.random((n, dim))


def dimension(kernel):
    return 2 if isinstance(kernel.lengthscale, tuple) else 1


@pytest.mark.parametrize("kernel", KERNELS)
def test_values_are_the_weighted_kernels(kernel):
    d = dimension(kernel)
    arms = grid(d)
    f = sample_rkhs_function(kernel, arms, np.random.default_rng(1), support="cube", terms=7)
    by_hand = sum(
        a * kernel.matrix(arms, x[None])[:, 0]
        for a, x in zip(f.coefficients, f.support, strict=True)
    )
    np.testing.assert_allclose(f(arms), by_hand, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_norm_is_reproducing(kernel):
    """|f|^2 = <f, f> = sum_i a_i f(x_i), and |f(x)| <= |f| sqrt(k(x, x))."""
    arms = grid(dimension(kernel))
    f = sample_rkhs_function(kernel, arms, np.random.default_rng(2)).scaled_to_unit_max(arms)
    inner = f.scale * float(f.coefficients @ f(f.support))
    assert f.norm**2 == pytest.approx(inner, rel=1e-9)
    assert f.max_abs(arms) <= f.norm * (1.0 + 1e-9)


def test_norm_is_above_every_interpolants_and_scales_with_the_function():
    kernel, arms = Matern(1.5, 0.3), grid(1, 40)
    f = sample_rkhs_function(kernel, arms, np.random.default_rng(3), terms=5)
    values = f(arms)
    interpolant = float(values @ np.linalg.solve(kernel.matrix(arms, arms), values)) ** 0.5
    # The support lies among the arms, so the minimum-norm interpolant is f itself.
    assert interpolant == pytest.approx(f.norm, rel=1e-6)
    twice = RKHSFunction(kernel, f.support, f.coefficients, 2.0)
    assert twice.norm == pytest.approx(2.0 * f.norm)
    np.testing.assert_allclose(twice(arms), 2.0 * values)


def test_support_lies_among_the_arms_or_in_the_cube():
    kernel, arms = SquaredExponential(0.2), grid(1)
    on_arms = sample_rkhs_function(kernel, arms, np.random.default_rng(4))
    assert on_arms.support.shape == (100, 1)
    assert np.isin(on_arms.support, arms).all()
    in_cube = sample_rkhs_function(kernel, arms, np.random.default_rng(4), support="cube")
    assert not np.isin(in_cube.support, arms).any()
    assert in_cube.support.min() >= 0.0
    assert in_cube.support.max() <= 1.0


def test_coefficients_stay_in_their_range():
    kernel, arms = SquaredExponential(0.2), grid(1)
    f = sample_rkhs_function(kernel, arms, np.random.default_rng(5), coefficients=(0.0, 1.0))
    assert f.coefficients.min() >= 0.0
    assert f.coefficients.max() <= 1.0
    assert f(arms).min() > 0.0


def test_normalized_functions_have_the_promised_range():
    kernel, arms = SquaredExponential(0.2), grid(1)
    plain = sample_rkhs_function(kernel, arms, np.random.default_rng(6))
    scaled, ranged = plain.scaled_to_unit_max(arms), plain.scaled_to_unit_range(arms)
    assert scaled.max_abs(arms) == pytest.approx(1.0)
    np.testing.assert_allclose(scaled(arms) * plain.max_abs(arms), plain(arms), rtol=1e-9)
    assert ranged(arms).min() == pytest.approx(0.0, abs=1e-9)
    assert ranged(arms).max() == pytest.approx(1.0)


def test_a_shifted_function_claims_no_norm():
    arms = grid(1)
    f = sample_rkhs_function(SquaredExponential(0.2), arms, np.random.default_rng(7))
    f = f.scaled_to_unit_range(arms)
    assert isinstance(f, ShiftedFunction)
    assert not hasattr(f, "norm")


def test_a_kernel_matrix_over_arms_will_do():
    gram = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.5], [0.2, 0.5, 1.0]])
    arms = np.arange(3.0)[:, None]
    f = sample_rkhs_function(Precomputed(gram), arms, np.random.default_rng(8), terms=10)
    weights = np.bincount(f.support[:, 0].astype(int), f.coefficients, minlength=3)
    np.testing.assert_allclose(f(arms), gram @ weights)
    assert f.norm == pytest.approx(float(weights @ gram @ weights) ** 0.5)


def test_draws_are_reproducible_and_frozen():
    kernel, arms = SquaredExponential(0.2), grid(1)
    first, second = (sample_rkhs_function(kernel, arms, np.random.default_rng(9)) for _ in range(2))
    assert np.array_equal(first(arms), second(arms))
    with pytest.raises(ValueError, match="read-only"):
        first.coefficients[0] = 0.0


ARM, RNG = np.array([[0.5]]), np.random.default_rng(0)
SE = SquaredExponential(0.2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sample_rkhs_function(SE, ARM, RNG, terms=0), "`terms >= 1` must hold"),
        (lambda: sample_rkhs_function(SE, ARM, RNG, support="box"), "`support` must be one of"),
        (
            lambda: sample_rkhs_function(SE, ARM, RNG, coefficients=(1, 1)),
            "with low < high",
        ),
        (lambda: sample_rkhs_function(SE, ARM, RNG, coefficients=(1, 2, 3)), "must be a pair"),
        (lambda: RKHSFunction(SE, ARM, [1.0]).scaled_to_unit_range(ARM), "max f - min f > 0"),
        (lambda: RKHSFunction(SE, ARM, [0.0]).scaled_to_unit_max(ARM), r"max \|f\| > 0"),
        (lambda: sample_rkhs_function(SE, ARM, 3), "`rng` must be a numpy.random.Generator"),
        (lambda: sample_rkhs_function(SE, ARM[:0], RNG), "`arms` must hold at least one arm"),
        (lambda: RKHSFunction(SE, ARM, [1.0, 2.0]), "must have the same length"),
        (lambda: RKHSFunction("se", ARM, [1.0]), "`kernel` must be a kernel"),
        (lambda: RKHSFunction(SE, ARM, [1.0]).max_abs(ARM[:0]), "at least one point"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
