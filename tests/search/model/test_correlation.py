"""Correlation functions against loops over points, and their derivatives against differences."""

import numpy as np
import pytest

import literal_process as slow
from tailproof.search.model.correlation import KernelLayout

ZERO = np.zeros(3, dtype=np.int64)
CASES = {
    "matern": KernelLayout(np.arange(3), ZERO),
    "se": KernelLayout(np.arange(3), ZERO, "se"),
    # Two numbers in one group; a choice of three options, with one lengthscale, in another.
    "additive": KernelLayout(np.array([0, 1, 2, 2, 2]), np.array([0, 0, 1, 1, 1])),
    "additive se": KernelLayout(np.arange(3), np.array([1, 0, 1]), "se"),
}
LAYOUTS = pytest.mark.parametrize("layout", CASES.values(), ids=CASES)


def case(layout, n=40, seed=0):
    """Points, some of them equal, and lengthscales."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, len(layout.parameter_of_column)))
    X[-5:] = X[:5]
    return X, rng.uniform(0.1, 2.0, layout.n_lengthscales)


@LAYOUTS
def test_correlations(layout):
    X, lengthscales = case(layout)
    inverse = layout.inverse_lengthscales(lengthscales)
    found = layout.correlations(X, X[:7], inverse)
    np.testing.assert_allclose(found, slow.correlations(layout, lengthscales, X, X[:7]), atol=1e-14)
    everywhere = layout.correlations(X, X, inverse)
    np.testing.assert_array_equal(everywhere, everywhere.T)
    assert (np.diag(everywhere) == 1.0).all()


@LAYOUTS
def test_correlations_of_many_points_are_those_of_few(layout):
    X, lengthscales = case(layout, n=300)
    inverse = layout.inverse_lengthscales(lengthscales)
    rows = [layout.correlations(X[i : i + 1], X, inverse) for i in range(300)]
    np.testing.assert_allclose(layout.correlations(X, X, inverse), np.vstack(rows), atol=1e-15)


@LAYOUTS
def test_correlations_gradient(layout):
    X, lengthscales = case(layout)
    inverse = layout.inverse_lengthscales(lengthscales)
    places = X[:3] + 0.01
    values, gradients = layout.correlations_gradient(places, X, inverse)
    np.testing.assert_allclose(values, layout.correlations(places, X, inverse))
    for x, gradient in zip(places, gradients, strict=True):
        numeric = slow.slope(lambda x: layout.correlations(x[None], X, inverse)[0], x)
        np.testing.assert_allclose(gradient, numeric, atol=1e-7)


@LAYOUTS
@pytest.mark.parametrize("n", [20, 200])
def test_lengthscale_gradient_with_any_weights(layout, n):
    X, lengthscales = case(layout, n)
    weight = np.random.default_rng(1).standard_normal((n, n))
    weight += weight.T

    def total(logs):
        inverse = layout.inverse_lengthscales(np.exp(logs))
        return float((weight * layout.correlations(X, X, inverse)).sum())

    inverse = layout.inverse_lengthscales(lengthscales)
    R, vjp = layout.correlations_vjp(X, inverse)
    np.testing.assert_allclose(R, layout.correlations(X, X, inverse), atol=1e-15)
    found = vjp(weight)
    np.testing.assert_allclose(found, slow.slope(total, np.log(lengthscales)), atol=1e-5)


@LAYOUTS
def test_pivots_are_a_greedy_choice_by_variance(layout):
    X = np.random.default_rng(2).random((80, len(layout.parameter_of_column)))
    lengthscales = np.full(layout.n_lengthscales, 0.5)
    taken = layout.pivots(X, layout.inverse_lengthscales(lengthscales), 20, 1e-6)
    assert len(set(taken.tolist())) == 20
    left = slow.correlations(layout, lengthscales, X, X)
    for i in taken:  # the same choice by Schur complements
        assert left[i, i] == pytest.approx(np.diag(left).max(), abs=1e-9)
        left -= np.outer(left[:, i], left[i]) / left[i, i]


def test_pivots_stop_when_no_variance_is_left():
    layout = CASES["matern"]
    X = np.repeat(np.random.default_rng(3).random((4, 3)), 5, axis=0)
    taken = layout.pivots(X, layout.inverse_lengthscales(np.full(3, 0.2)), 20, 1e-6)
    assert len(np.unique(X[taken], axis=0)) == len(taken) == 4


def test_a_space_without_free_parameters_has_one_point():
    layout = KernelLayout(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    X, inverse = np.zeros((4, 0)), layout.inverse_lengthscales(np.zeros(0))
    assert (layout.correlations(X, X, inverse) == 1.0).all()
    assert layout.correlations_vjp(X, inverse)[1](np.ones((4, 4))).shape == (0,)
    value, gradient = layout.correlations_gradient(X[:1], X, inverse)
    assert value.tolist() == [[1.0] * 4]
    assert gradient.shape == (1, 4, 0)
