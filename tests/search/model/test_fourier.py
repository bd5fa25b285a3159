"""Fourier features of the surrogate: within 1e-6 of the correlation, on the whole unit cube."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import literal_process as slow
import tailproof as tp
from tailproof._compiled import correlation as engine
from tailproof.search.model import fourier as fourier_basis
from tailproof.search.model.fourier import FourierBasis
from tailproof.search.model.gp import Layout, PointBasis, Process, Shape, choose_basis

lengthscales = st.floats(0.03, 20.0)


def matrix(X, inverse, group, groups):
    return engine.matrix(engine.SQUARED_EXPONENTIAL, X, X, inverse, group, groups)


def points(columns, seed=0):
    """Points of the cube with its corners among them: there differences are largest."""
    corners = np.array(list(itertools.product([0.0, 1.0], repeat=columns)))[:16]
    return np.vstack([corners, np.random.default_rng(seed).random((25, columns))])


@given(st.lists(lengthscales, min_size=1, max_size=2))
@settings(derandomize=True, max_examples=25, deadline=None)
def test_inner_products_are_the_correlation(scales):
    inverse, group = 1.0 / np.array(scales), np.zeros(len(scales), dtype=np.int64)
    basis = FourierBasis(inverse, group, 1)
    X = points(len(scales))
    phi = basis.features(X)
    np.testing.assert_allclose(phi @ phi.T, matrix(X, inverse, group, 1), rtol=0.0, atol=1e-6)
    assert phi.shape == (len(X), basis.count)
    assert basis.count == fourier_basis.size(inverse, group, 1)


@given(st.lists(lengthscales.filter(lambda one: one > 0.1), min_size=5, max_size=5))
@settings(derandomize=True, max_examples=10, deadline=None)
def test_groups_are_averaged(scales):
    inverse, group = 1.0 / np.array(scales), np.array([2, 0, 1, 2, 0])
    basis = FourierBasis(inverse, group, 3)
    phi = basis.features(points(5))
    exact = matrix(points(5), inverse, group, 3)
    np.testing.assert_allclose(phi @ phi.T, exact, rtol=0.0, atol=1e-6)
    assert basis.count == fourier_basis.size(inverse, group, 3)


@given(st.lists(lengthscales, min_size=1, max_size=2))
@settings(derandomize=True, max_examples=15, deadline=None)
def test_a_process_is_never_told_more_than_there_is(scales):
    inverse, group = 1.0 / np.array(scales), np.zeros(len(scales), dtype=np.int64)
    phi = FourierBasis(inverse, group, 1).features(points(len(scales)))
    norms = np.square(phi).sum(axis=1)
    assert (norms <= 1.0 + 1e-12).all()
    assert (norms >= 1.0 - 1e-6).all()


def test_gradients():
    inverse, group = 1.0 / np.array([0.2, 0.7, 0.4]), np.array([0, 0, 1])
    basis = FourierBasis(inverse, group, 2)
    for c in points(3)[-4:]:
        phi, slope = basis.at(c)
        np.testing.assert_allclose(phi, basis.features(c[None])[0], atol=1e-14)
        numeric = slow.slope(lambda x: basis.features(x[None])[0], c)
        np.testing.assert_allclose(slope, numeric, atol=1e-7)


def test_shorter_lengthscales_need_more_features():
    one = np.zeros(1, dtype=np.int64)
    sizes = [fourier_basis.size(np.array([1.0 / scale]), one, 1) for scale in (5.0, 1.0, 0.2, 0.05)]
    assert sizes == sorted(sizes)
    assert sizes[0] < 8
    assert sizes[-1] < 80


@pytest.mark.parametrize(
    ("group", "groups", "expected"),
    [([0], 1, True), ([0, 0], 1, True), ([0, 0, 0], 1, False), ([0, 1, 0, 1], 2, True)],
)
def test_groups_of_at_most_two_columns_suit(group, groups, expected):
    inverse = np.ones(len(group))
    assert fourier_basis.suits(inverse, np.array(group), groups) is expected


def test_no_columns_and_tiny_lengthscales_do_not_suit():
    none = np.empty(0, dtype=np.int64)
    assert not fourier_basis.suits(np.empty(0), none, 1)
    assert not fourier_basis.suits(np.array([1e3]), np.zeros(1, dtype=np.int64), 1)


@pytest.mark.parametrize(
    ("kind", "group", "scale", "sites", "expected"),
    [
        (engine.SQUARED_EXPONENTIAL, [0, 0], 0.5, 200, FourierBasis),
        (engine.SQUARED_EXPONENTIAL, [0, 0], 0.5, 40, PointBasis),  # fewer points than features
        (engine.SQUARED_EXPONENTIAL, [0, 0], 0.05, 300, PointBasis),  # features beyond the limit
        (engine.SQUARED_EXPONENTIAL, [0, 0, 0], 0.5, 300, PointBasis),
        (engine.SQUARED_EXPONENTIAL, [0, 1, 1], 0.5, 300, FourierBasis),
        (engine.MATERN, [0, 0], 0.5, 300, PointBasis),
    ],
)
def test_the_smaller_basis_is_chosen(kind, group, scale, sites, expected):
    layout = Layout(np.arange(len(group)), np.array(group), kind)
    X = np.random.default_rng(0).random((sites, len(group)))
    basis = choose_basis(layout, np.full(len(group), scale), X, 256)
    assert type(basis) is expected
    assert basis.count <= min(sites, 256)


def test_a_process_on_fourier_features_is_the_exact_one():
    rng = np.random.default_rng(1)
    layout = Layout(np.arange(3), np.array([0, 1, 1]), engine.SQUARED_EXPONENTIAL)
    shape = Shape(np.array([0.3, 0.5, 0.8]), 0.8, 0.2)
    X, waiting, C = rng.random((150, 3)), rng.random((2, 3)), rng.random((10, 3))
    payoffs, scales = rng.standard_normal(150), rng.uniform(0.5, 2.0, 150)
    basis = choose_basis(layout, shape.lengthscales, np.vstack([X, waiting]), 256)
    assert type(basis) is FourierBasis
    fast = Process(basis, shape, basis.features(X), 1.0 / scales**2, basis.features(waiting))
    fast.learn(payoffs)
    mean, variance = fast.predict(C)
    expected = slow.posterior(layout, shape, X, payoffs, scales, waiting, C)
    np.testing.assert_allclose(mean, expected[0], atol=1e-4)
    np.testing.assert_allclose(variance, expected[1], atol=1e-5)
    for c in C[:3]:
        _, _, mean_slope, variance_slope = fast.predict_gradient(c)
        numeric = slow.slope(lambda x: [one[0] for one in fast.predict(x[None])], c)
        np.testing.assert_allclose(mean_slope, numeric[0], atol=1e-6)
        np.testing.assert_allclose(variance_slope, numeric[1], atol=1e-6)


def test_an_optimizer_uses_them_and_finds_the_best():
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
    assert type(opt._believe([]).pilot.basis) is FourierBasis
    assert mean(**opt.recommend().params) > -0.1
    for a, b in zip(opt.ask().params.values(), opt.propose(0).values(), strict=True):
        assert 0.0 <= a <= 1.0
        assert 0.0 <= b <= 1.0
