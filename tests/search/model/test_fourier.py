"""Fourier features: within 1e-6 of the correlation, on the whole unit cube."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import literal_process as slow
import tailproof as tp
from tailproof.search.model import fourier
from tailproof.search.model.correlation import KernelLayout, KernelParameters
from tailproof.search.model.fourier import FourierBasis
from tailproof.search.model.gp import InducingPointBasis, choose_basis, compute_features

lengthscales = st.floats(0.03, 20.0)


def matrix(X, inverse, group, groups):
    layout = KernelLayout(np.arange(len(inverse)), group, "se")
    assert layout.n_groups == groups
    return layout.correlations(X, X, inverse)


def points(columns, seed=0):
    """Points of the cube with its corners among them: there differences are largest."""
    corners = np.array(list(itertools.product([0.0, 1.0], repeat=columns)))[:16]
    return np.vstack([corners, np.random.default_rng(seed).random((25, columns))])


@given(st.lists(lengthscales, min_size=1, max_size=2))
@settings(derandomize=True, max_examples=25, deadline=None)
def test_inner_products_of_features_are_the_correlation(scales):
    inverse, group = 1.0 / np.array(scales), np.zeros(len(scales), dtype=np.int64)
    basis = FourierBasis(inverse, group, 1)
    X = points(len(scales))
    phi = basis.features(X)
    np.testing.assert_allclose(phi @ phi.T, matrix(X, inverse, group, 1), rtol=0.0, atol=1e-6)
    assert phi.shape == (len(X), basis.count)
    assert basis.count == fourier.size(inverse, group, 1)


@given(st.lists(lengthscales.filter(lambda scale: scale > 0.1), min_size=5, max_size=5))
@settings(derandomize=True, max_examples=10, deadline=None)
def test_groups_are_averaged(scales):
    inverse, group = 1.0 / np.array(scales), np.array([2, 0, 1, 2, 0])
    basis = FourierBasis(inverse, group, 3)
    phi = basis.features(points(5))
    exact = matrix(points(5), inverse, group, 3)
    np.testing.assert_allclose(phi @ phi.T, exact, rtol=0.0, atol=1e-6)
    assert basis.count == fourier.size(inverse, group, 3)


@given(st.lists(lengthscales, min_size=1, max_size=2))
@settings(derandomize=True, max_examples=15, deadline=None)
def test_features_explain_at_most_the_variance(scales):
    inverse, group = 1.0 / np.array(scales), np.zeros(len(scales), dtype=np.int64)
    phi = FourierBasis(inverse, group, 1).features(points(len(scales)))
    norms = np.square(phi).sum(axis=1)
    assert (norms <= 1.0 + 1e-12).all()
    assert (norms >= 1.0 - 1e-6).all()


def test_features_vjp():
    inverse, group = 1.0 / np.array([0.2, 0.7, 0.4]), np.array([0, 0, 1])
    basis = FourierBasis(inverse, group, 2)
    for c in points(3)[-4:]:
        phi, vjp = basis.features_vjp(c)
        np.testing.assert_allclose(phi, basis.features(c[None])[0], atol=1e-14)
        numeric = slow.slope(lambda x: basis.features(x[None])[0], c)
        np.testing.assert_allclose(vjp(np.eye(basis.count)), numeric, atol=1e-7)


def test_shorter_lengthscales_need_more_features():
    group = np.zeros(1, dtype=np.int64)
    sizes = [fourier.size(np.array([1.0 / scale]), group, 1) for scale in (5.0, 1.0, 0.2, 0.05)]
    assert sizes == sorted(sizes)
    assert sizes[0] < 8
    assert sizes[-1] < 80


@pytest.mark.parametrize(
    ("group", "groups", "expected"),
    [([0], 1, True), ([0, 0], 1, True), ([0, 0, 0], 1, False), ([0, 1, 0, 1], 2, True)],
)
def test_groups_of_at_most_two_columns_suit(group, groups, expected):
    inverse = np.ones(len(group))
    assert fourier.suits(inverse, np.array(group), groups) is expected


def test_no_columns_and_tiny_lengthscales_do_not_suit():
    none = np.empty(0, dtype=np.int64)
    assert not fourier.suits(np.empty(0), none, 1)
    assert not fourier.suits(np.array([1e3]), np.zeros(1, dtype=np.int64), 1)


@pytest.mark.parametrize(
    ("kernel", "group", "scale", "sites", "expected"),
    [
        ("se", [0, 0], 0.5, 200, FourierBasis),
        ("se", [0, 0], 0.5, 40, InducingPointBasis),  # fewer points than features
        ("se", [0, 0], 0.05, 300, InducingPointBasis),  # features beyond the limit
        ("se", [0, 0, 0], 0.5, 300, InducingPointBasis),
        ("se", [0, 1, 1], 0.5, 300, FourierBasis),
        ("matern", [0, 0], 0.5, 300, InducingPointBasis),
    ],
)
def test_the_smaller_basis_is_chosen(kernel, group, scale, sites, expected):
    layout = KernelLayout(np.arange(len(group)), np.array(group), kernel)
    X = np.random.default_rng(0).random((sites, len(group)))
    basis, phi = choose_basis(layout, np.full(len(group), scale), X, 256)
    assert type(basis) is expected
    assert phi.shape == (sites, basis.count)
    assert basis.count <= min(sites, 256)


def test_a_process_on_fourier_features_is_the_exact_one():
    rng = np.random.default_rng(1)
    layout = KernelLayout(np.arange(3), np.array([0, 1, 1]), "se")
    kernel = KernelParameters(np.array([0.3, 0.5, 0.8]), 0.8, 0.2)
    X, waiting, C = rng.random((150, 3)), rng.random((2, 3)), rng.random((10, 3))
    payoffs, scales = rng.standard_normal(150), rng.uniform(0.5, 2.0, 150)
    features = compute_features(layout, kernel, X, waiting)
    assert type(features.basis) is FourierBasis
    fast = features.gp(scales).condition(payoffs)
    mean, variance = fast.predict(C)
    expected = slow.posterior(layout, kernel, X, payoffs, scales, waiting, C)
    np.testing.assert_allclose(mean, expected[0], atol=1e-4)
    np.testing.assert_allclose(variance, expected[1], atol=1e-5)
    for c in C[:3]:
        _, _, mean_slope, variance_slope = fast.predict_gradient(c)
        numeric = slow.slope(lambda x: [column[0] for column in fast.predict(x[None])], c)
        np.testing.assert_allclose(mean_slope, numeric[0], atol=1e-6)
        np.testing.assert_allclose(variance_slope, numeric[1], atol=1e-6)


def test_an_optimizer_with_an_additive_kernel_finds_the_best():
    rng = np.random.default_rng(2)
    space = tp.Space({name: tp.Float(0, 1) for name in "abcd"})
    options = tp.Options(kernel="se", additive_groups=(("a", "b"), ("c", "d")))
    opt = tp.Optimizer(space, seed=0, options=options)

    def mean(a, b, c, d):
        return -((a - 0.3) ** 2) - (b - 0.6) ** 2 - (c - 0.8) ** 2 - (d - 0.1) ** 2

    for _ in range(150):  # told from elsewhere: asking as often would take longer
        params = space.params(rng.random(4))
        opt.add(params, mean(**params) + 0.1 * rng.standard_t(2.0))
    for _ in range(5):
        trial = opt.ask()
        opt.tell(trial, mean(**trial.params) + 0.1 * rng.standard_t(2.0))
    assert mean(**opt.recommend().params) > -0.1
    for a, b in zip(opt.ask().params.values(), opt.propose(0).values(), strict=True):
        assert 0.0 <= a <= 1.0
        assert 0.0 <= b <= 1.0
