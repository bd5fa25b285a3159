"""Kernels: agreement with scikit-learn, symmetry, definiteness, arithmetic."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import gamma, gammaln, kv
from sklearn.gaussian_process import kernels as sk

import tailproof as tp
from tailproof import kernels
from tailproof.kernels import matern_of_distance

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(-1, 2, (30, 3)), RNG.uniform(-1, 2, (20, 3))
SCALES = (0.3, 1.7, 0.8)
NUS = [0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.2, 7.5]
GRAM = np.array([[2.0, 0.5, -1.0], [0.5, 1.0, 0.0], [-1.0, 0.0, 1.0]])
LABELS = np.array([[0.0], [2.0], [1.0], [2.0]])

KERNELS = {
    "se": tp.SquaredExponential(0.7),
    "se ard": tp.SquaredExponential(SCALES),
    **{f"matern {nu}": tp.Matern(nu, 0.9) for nu in NUS},
    "matern 0.7 ard": tp.Matern(0.7, SCALES),
    "linear": tp.Linear(0.4),
    "sum": tp.SquaredExponential(0.7) + tp.Linear(0.1),
    "product": tp.SquaredExponential(0.7) * tp.Matern(1.5, 2.0),
    "scaled": 3.0 * tp.Matern(0.5, 1.0),
    "nested": (tp.Linear() + 0.5 * tp.Matern(2.5, SCALES))
    * (tp.SquaredExponential(1) + tp.Linear(2)),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


# ---- agreement ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.2, 1.0, SCALES], ids=str)
def test_squared_exponential_is_scikit_learns(scale):
    np.testing.assert_allclose(
        tp.SquaredExponential(scale).matrix(X, Y), sk.RBF(scale)(X, Y), rtol=1e-12, atol=1e-300
    )


@pytest.mark.parametrize("scale", [0.2, 1.0, SCALES], ids=str)
@pytest.mark.parametrize("nu", NUS)
def test_matern_is_scikit_learns(nu, scale):
    np.testing.assert_allclose(
        tp.Matern(nu, scale).matrix(X, Y), sk.Matern(scale, nu=nu)(X, Y), rtol=1e-10, atol=1e-300
    )


def test_linear_is_scikit_learns():
    expected = 0.4 * sk.DotProduct(sigma_0=0.0)(X, Y)
    np.testing.assert_allclose(tp.Linear(0.4).matrix(X, Y), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("nu", [0.3, 0.7, 1.2, 3.2, 9.9])
def test_matern_is_its_bessel_formula(nu):
    r = np.geomspace(1e-3, 20, 40)
    z = math.sqrt(2 * nu) * r
    expected = 2 ** (1 - nu) / gamma(nu) * z**nu * kv(nu, z)
    np.testing.assert_allclose(matern_of_distance(r, nu), expected, rtol=1e-10)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_closed_forms_are_the_limit_of_the_general_one(nu):
    r = np.concatenate([[0.0], np.geomspace(1e-8, 30, 50)])
    np.testing.assert_allclose(
        matern_of_distance(r, nu), matern_of_distance(r, nu * (1 + 1e-12)), rtol=1e-9, atol=1e-300
    )


@pytest.mark.parametrize("nu", [2.7, 20.0, 100.0, 140.0, 170.0])
def test_matern_is_its_mixture_of_squared_exponentials(nu):
    """k(r) = E exp(-r^2 nu / (2 g)) for g of a gamma law of shape nu; no Bessel function in it."""
    nodes, weights = np.polynomial.legendre.leggauss(600)
    low, high = max(nu - 12 * math.sqrt(nu), 0.0), nu + 40 * math.sqrt(nu)
    g = low + (nodes + 1) / 2 * (high - low)
    density = weights / 2 * (high - low) * np.exp((nu - 1) * np.log(g) - g - gammaln(nu))
    r = np.concatenate([[0.0], np.geomspace(1e-3, 4.0, 120)])
    expected = np.exp(-(r[:, None] ** 2) * nu / (2 * g)) @ density
    np.testing.assert_allclose(matern_of_distance(r, nu), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("nu", [0.05, 0.7, 3.2, 30.0, 90.0, 150.0, 200.0, 1000.0, 1e6])
def test_matern_falls_from_one_without_a_jump(nu):
    r = np.linspace(0.0, 6.0, 4001)
    k = matern_of_distance(r, nu)
    assert k[0] == 1.0
    assert (np.diff(k) <= 1e-12).all()
    if nu > 1.0:  # no rough start: the curve bends nowhere sharply
        assert np.abs(np.diff(k, 2)).max() < 1e-4


@pytest.mark.parametrize("nu", [50.0, 150.0, 200.0, 1000.0, 1e6])
def test_smooth_matern_nears_the_squared_exponential(nu):
    """The error of the limit nu -> infinity is r^2 (r^2 - 4) / (8 nu) exp(-r^2 / 2) + O(nu^-2)."""
    r = np.linspace(0.0, 5.0, 300)
    limit = np.exp(-(r**2) / 2)
    first = limit * (1.0 + r**2 * (r**2 - 4.0) / (8.0 * nu))
    assert np.abs(matern_of_distance(r, nu) - first).max() < 2.0 / nu**2 + 1e-9


@pytest.mark.parametrize("nu", NUS)
def test_matern_far_away_is_zero_and_very_near_is_one(nu):
    k = matern_of_distance(np.array([0.0, 1e-300, 1e-160, 1e4, 1e100, 1e200, np.inf]), nu)
    assert np.isfinite(k).all()
    np.testing.assert_allclose(k, [1, 1, 1, 0, 0, 0, 0], atol=1e-9)


# ---- what makes a kernel ------------------------------------------------------------------------


@every_kernel
def test_symmetric_with_its_own_diagonal(kernel):
    K = kernel.matrix(X, X)
    assert np.array_equal(K, K.T)
    np.testing.assert_allclose(np.diagonal(K), kernel.diagonal(X), rtol=1e-12)
    np.testing.assert_allclose(kernel.matrix(Y, X), kernel.matrix(X, Y).T, rtol=1e-12, atol=1e-15)


@every_kernel
def test_positive_semi_definite_even_with_repeated_points(kernel):
    points = np.vstack([X, X[:5], X[:5] + 1e-9])
    values = np.linalg.eigvalsh(kernel.matrix(points, points))
    assert values[0] >= -1e-12 * values[-1]


@pytest.mark.parametrize("nu", [90.0, 200.0])
def test_smooth_matern_is_positive_semi_definite(nu):
    points = np.linspace(0, 3, 60)[:, None]
    values = np.linalg.eigvalsh(tp.Matern(nu, 1.0).matrix(points, points))
    assert values[0] >= -1e-9 * values[-1]


@every_kernel
def test_shapes_and_types(kernel):
    assert kernel.matrix(X, Y).shape == (30, 20)
    assert kernel.diagonal(Y).shape == (20,)
    assert kernel.matrix(X[:0], Y).shape == (0, 20)
    assert kernel.diagonal(X[:0]).shape == (0,)
    assert kernel.matrix(X, Y).dtype == kernel.diagonal(X).dtype == np.float64


@every_kernel
def test_inputs_are_left_alone(kernel):
    a, b = X.copy(), Y.copy()
    a.flags.writeable = b.flags.writeable = False
    kernel.matrix(a, b)[...] = 7.0
    kernel.diagonal(a)[...] = 7.0
    assert np.array_equal(a, X)
    assert np.array_equal(b, Y)


points = arrays(np.float64, (6, 2), elements=st.floats(-1e3, 1e3))


@settings(derandomize=True, max_examples=40, deadline=None)
@given(points, st.floats(0.05, 20.0), st.floats(1e-3, 1e3))
def test_any_points_any_smoothness_any_scale(P, nu, scale):
    for kernel in (tp.Matern(nu, scale), tp.SquaredExponential(scale)):
        K = kernel.matrix(P, P)
        assert np.array_equal(K, K.T)
        assert (np.diagonal(K) == 1.0).all()
        assert ((K >= 0.0) & (K <= 1.0)).all()
        assert np.linalg.eigvalsh(K)[0] >= -1e-9


@settings(derandomize=True, max_examples=25, deadline=None)
@given(points, st.floats(0.3, 5.0), st.floats(-100, 100))
def test_stationary_kernels_see_differences_in_lengthscales_only(P, nu, shift):
    for make in (tp.SquaredExponential, lambda scale: tp.Matern(nu, scale)):
        K = make(3.0).matrix(P, P)
        np.testing.assert_allclose(make(3.0).matrix(P + shift, P + shift), K, atol=1e-9)
        np.testing.assert_allclose(make(6.0).matrix(2 * P, 2 * P), K, atol=1e-12)
        np.testing.assert_allclose(make((3.0, 3.0)).matrix(P, P), K, atol=1e-12)


def test_a_lengthscale_of_its_own_for_each_dimension():
    scaled = X / np.array(SCALES)
    for make in (tp.SquaredExponential, lambda scale: tp.Matern(3.2, scale)):
        np.testing.assert_allclose(
            make(SCALES).matrix(X, X), make(1.0).matrix(scaled, scaled), rtol=1e-12
        )
        assert make(list(SCALES)) == make(np.array(SCALES)) == make(SCALES)


# ---- arithmetic ---------------------------------------------------------------------------------


@pytest.mark.parametrize("a", ["se", "matern 0.7 ard", "linear", "nested"])
@pytest.mark.parametrize("b", ["matern 2.5", "linear", "sum"])
def test_sums_and_products_are_those_of_the_matrices(a, b):
    one, other = KERNELS[a], KERNELS[b]
    A, B = one.matrix(X, Y), other.matrix(X, Y)
    a_, b_ = one.diagonal(X), other.diagonal(X)
    np.testing.assert_allclose((one + other).matrix(X, Y), A + B, rtol=1e-14)
    np.testing.assert_allclose((one * other).matrix(X, Y), A * B, rtol=1e-14)
    np.testing.assert_allclose((one + other).diagonal(X), a_ + b_, rtol=1e-14)
    np.testing.assert_allclose((one * other).diagonal(X), a_ * b_, rtol=1e-14)


@pytest.mark.parametrize("factor", [2, 0.25, np.float64(3.0), np.int64(2)], ids=repr)
@every_kernel
def test_scaling_from_either_side(kernel, factor):
    expected = float(factor) * kernel.matrix(X, Y)
    for scaled in (factor * kernel, kernel * factor, tp.Scaled(kernel, factor)):
        assert isinstance(scaled, tp.Scaled)
        np.testing.assert_allclose(scaled.matrix(X, Y), expected, rtol=1e-14)
        np.testing.assert_allclose(
            scaled.diagonal(X), float(factor) * kernel.diagonal(X), rtol=1e-14
        )


@every_kernel
def test_equal_descriptions_are_equal_and_shown_in_full(kernel):
    again = eval(repr(kernel), vars(kernels))
    assert again == kernel
    assert hash(again) == hash(kernel)
    assert again != 2.0 * kernel


@every_kernel
def test_kernels_cannot_be_changed(kernel):
    field = next(iter(kernel.__dataclass_fields__))
    with pytest.raises(AttributeError):
        setattr(kernel, field, 1.0)


# ---- precomputed --------------------------------------------------------------------------------


def test_precomputed_looks_up_its_entries():
    kernel = tp.Precomputed(GRAM)
    i = LABELS[:, 0].astype(int)
    assert np.array_equal(kernel.matrix(LABELS, LABELS[:2]), GRAM[np.ix_(i, i[:2])])
    assert np.array_equal(kernel.diagonal(LABELS), np.diagonal(GRAM)[i])
    scaled = 2.0 * kernel + kernel * kernel
    assert np.array_equal(scaled.diagonal(LABELS), (2 * GRAM + GRAM**2)[i, i])


def test_precomputed_keeps_a_copy_that_nobody_can_change():
    gram = GRAM.copy()
    kernel = tp.Precomputed(gram)
    gram[...] = 9.0
    kernel.matrix(LABELS, LABELS)[...] = 9.0
    assert np.array_equal(kernel.gram, GRAM)
    with pytest.raises(ValueError, match="read-only"):
        kernel.gram[0, 0] = 9.0


def test_precomputed_kernels_are_equal_by_content():
    one, same, other = tp.Precomputed(GRAM), tp.Precomputed(GRAM), tp.Precomputed(2 * GRAM)
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert 2.0 * one == 2.0 * same


def test_precomputed_forgives_rounding_and_nothing_more():
    low_rank = np.outer(X[:, 0], X[:, 0])
    assert len(tp.Precomputed(low_rank + 1e-12).gram) == 30
    skew = GRAM.copy()
    skew[0, 1] += 1e-12
    kernel = tp.Precomputed(skew)
    assert np.array_equal(kernel.gram, kernel.gram.T)
    skew[0, 1] += 1e-6
    with pytest.raises(ValueError, match="`gram` must be symmetric, but got"):
        tp.Precomputed(skew)
    with pytest.raises(ValueError, match="`gram` must be positive semi-definite, but got"):
        tp.Precomputed(low_rank - 1e-6 * np.eye(30))


@pytest.mark.parametrize("bad", [[[0.5]], [[-1.0]], [[3.0]], [[0.0, 1.0]], [[1e30]]])
def test_precomputed_knows_no_other_points(bad):
    with pytest.raises(ValueError, match=r"`points` .* must be arm numbers 0 .. 2 .* but got"):
        tp.Precomputed(GRAM).matrix(np.array(bad), LABELS)


@pytest.mark.parametrize("n", [3, 700])
def test_precomputed_matrices_of_any_size_are_checked_for_negative_eigenvalues(n):
    rng = np.random.default_rng(3)
    factor = rng.normal(size=(n, 2))
    low_rank = factor @ factor.T  # singular, and far from diagonally dominant
    np.testing.assert_allclose(tp.Precomputed(low_rank).gram, low_rank, atol=1e-12)
    np.testing.assert_array_equal(tp.Precomputed(np.eye(n)).gram, np.eye(n))
    with pytest.raises(ValueError, match="positive semi-definite"):
        tp.Precomputed(low_rank - 1e-3 * np.abs(low_rank).max() * np.eye(n))
    lopsided = low_rank.copy()
    lopsided[-1, 0] += 1.0
    with pytest.raises(ValueError, match="symmetric"):
        tp.Precomputed(lopsided)
