"""The surrogate against a dense Gaussian process written out, and its gradients."""

import numpy as np
import pytest

import literal_process as slow
from tailproof._compiled import correlation as engine
from tailproof.search.model import gp as surrogate
from tailproof.search.model.gp import Layout, PointBasis, Process, Shape, Varying, choose_basis

ARD = Layout(np.arange(3), np.zeros(3, dtype=np.int64))
SMOOTH = Layout(np.arange(3), np.zeros(3, dtype=np.int64), engine.SQUARED_EXPONENTIAL)
# Two numbers in one group; a choice of three options, with one lengthscale, in another.
ADDITIVE = Layout(np.array([0, 1, 2, 2, 2]), np.array([0, 0, 1, 1, 1]))
LAYOUTS = pytest.mark.parametrize(
    "layout", [ARD, SMOOTH, ADDITIVE], ids=["matern", "se", "additive"]
)


def case(layout, seed=0, n=25, pending=3, repeats=4):
    """Points (some seen twice), payoffs, noise scales, pending points, queries and a shape."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, len(layout.owner)))
    points[-repeats:] = points[:repeats]
    payoffs = np.sin(4.0 * points[:, 0]) + 0.3 * rng.standard_normal(n)
    scales = rng.uniform(0.5, 2.0, n)
    waiting = rng.random((pending, len(layout.owner)))
    C = np.vstack([points[:3], waiting, rng.random((10, len(layout.owner)))])
    shape = Shape(rng.uniform(0.3, 1.0, layout.owners), 0.8, 0.2)
    return points, payoffs, scales, waiting, C, shape


def process(layout, shape, points, scales, pending, Z):
    basis = PointBasis(layout, shape.lengthscales, Z)
    return Process(basis, shape, basis.features(points), 1.0 / scales**2, basis.features(pending))


@pytest.fixture
def no_jitter(monkeypatch):
    """The term that keeps nearly equal sites apart, for comparisons that sites do not need."""
    monkeypatch.setattr(surrogate, "_JITTER", 1e-13)


@LAYOUTS
@pytest.mark.parametrize("pending", [0, 3])
@pytest.mark.usefixtures("no_jitter")
def test_all_sites_as_basis_give_the_exact_process(layout, pending):
    points, payoffs, scales, waiting, C, shape = case(layout, pending=pending)
    Z = np.unique(np.vstack([points, waiting]), axis=0)
    fast = process(layout, shape, points, scales, waiting, Z)
    fast.learn(payoffs)
    mean, variance = fast.predict(C)
    expected = slow.posterior(layout, shape, points, payoffs, scales, waiting, C)
    np.testing.assert_allclose(mean, expected[0], atol=1e-8)
    np.testing.assert_allclose(variance, expected[1], atol=1e-8)


@LAYOUTS
def test_the_jitter_changes_next_to_nothing(layout):
    points, payoffs, scales, waiting, C, shape = case(layout)
    Z = np.unique(np.vstack([points, waiting]), axis=0)
    fast = process(layout, shape, points, scales, waiting, Z)
    fast.learn(payoffs)
    expected = slow.posterior(layout, shape, points, payoffs, scales, waiting, C)
    for found, exact in zip(fast.predict(C), expected[:2], strict=True):
        np.testing.assert_allclose(found, exact, atol=1e-5)


def test_sites_that_nearly_coincide_are_no_trouble():
    layout, rng = SMOOTH, np.random.default_rng(1)
    base = rng.random((10, 3))
    points = np.vstack([base, base + 1e-13, base + 1e-9])
    shape = Shape(np.full(3, 20.0), 1.0, 1e-4)
    fast = process(layout, shape, points, np.ones(30), points[:0], points)
    fast.learn(np.ones(30))
    mean, variance = fast.predict(base)
    np.testing.assert_allclose(mean, 1.0, atol=1e-4)
    assert ((variance >= 0.0) & (variance < 1e-3)).all()


@LAYOUTS
@pytest.mark.parametrize("basis", [1, 4, 12])
def test_few_basis_points_keep_what_they_do_not_explain_in_the_variance(layout, basis):
    points, payoffs, scales, waiting, C, shape = case(layout)
    Z = points[:basis]
    fast = process(layout, shape, points, scales, waiting, Z)
    fast.learn(payoffs)
    mean, variance = fast.predict(C)
    # s (k - |phi|^2) + phi~' (I + sum phi~ phi~' / noise)^-1 phi~, with the constant in phi~
    both = np.vstack([points, waiting])
    inner = slow.correlations(layout, shape.lengthscales, Z, Z) + 1e-8 * np.eye(basis)
    L = np.linalg.cholesky(inner)

    def features(X):
        return np.linalg.solve(L, slow.correlations(layout, shape.lengthscales, Z, X)).T

    def rows(X):
        return np.hstack([np.sqrt(shape.signal) * features(X), np.ones((len(X), 1))])

    precision = np.append(1.0 / scales**2, np.ones(len(waiting)))
    V = np.eye(basis + 1) + rows(both).T @ np.diag(precision / shape.noise) @ rows(both)
    q = rows(C)
    gap = 1.0 - np.sum(features(C) ** 2, axis=1)
    expected = shape.signal * gap + np.einsum("ij,ij->i", q, np.linalg.solve(V, q.T).T)
    np.testing.assert_allclose(variance, expected, atol=1e-8)
    assert (variance >= shape.signal * gap - 1e-9).all()
    # The mean is ridge regression on the same features.
    seen = rows(points)
    V = np.eye(basis + 1) + seen.T @ np.diag(scales**-2.0 / shape.noise) @ seen
    weights = np.linalg.solve(V, seen.T @ (payoffs / scales**2) / shape.noise)
    np.testing.assert_allclose(mean, q @ weights, atol=1e-8)


@LAYOUTS
def test_telling_basis_points_bring_the_variance_to_the_exact_one(layout):
    # Payoffs off the basis points count as if the basis explained them, so that a poor basis may
    # give a variance below the exact one (by a seventh in cases like these); a good one does not.
    points, payoffs, scales, waiting, C, shape = case(layout, n=60)
    shape = Shape(np.full(layout.owners, 2.0), shape.signal, shape.noise)
    exact = slow.posterior(layout, shape, points, payoffs, scales, waiting, C)
    sites = np.unique(np.vstack([points, waiting]), axis=0)
    errors = []
    for limit in (5, 10, 25):
        basis = choose_basis(layout, shape.lengthscales, sites, limit)
        rows, few = basis.features(points), basis.features(waiting)
        fast = Process(basis, shape, rows, 1.0 / scales**2, few)
        errors.append(float(np.abs(fast.predict(C)[1] / exact[1] - 1.0).max()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02


@LAYOUTS
@pytest.mark.parametrize("basis", [5, None])
def test_gradients_are_those_of_mean_and_variance(layout, basis):
    points, payoffs, scales, waiting, C, shape = case(layout, repeats=1)
    fast = process(layout, shape, points, scales, waiting, points[:basis][:24])
    fast.learn(payoffs)
    for c in C[6:10]:
        mean, variance, mean_slope, variance_slope = fast.predict_gradient(c)
        both = fast.predict(c[None])
        assert (mean, variance) == pytest.approx((both[0][0], both[1][0]), abs=1e-10)
        numeric = slow.slope(lambda x: [one[0] for one in fast.predict(x[None])], c)
        np.testing.assert_allclose(mean_slope, numeric[0], atol=1e-5)
        np.testing.assert_allclose(variance_slope, numeric[1], atol=1e-5)


def test_leverage_is_how_far_a_payoff_pulls_its_own_fit():
    points, payoffs, scales, waiting, _, shape = case(ARD)
    fast = process(ARD, shape, points, scales, waiting, np.unique(points, axis=0))
    leverage = fast.leverage()
    assert ((leverage > 0.0) & (leverage < 1.0)).all()
    smoother = fast.smoother(shape.noise)
    for i in range(len(points)):
        moved = payoffs.copy()
        moved[i] += 1.0
        pull = smoother.fit(moved)[i] - smoother.fit(payoffs)[i]
        assert pull == pytest.approx(leverage[i], abs=1e-9)


def test_a_smoother_is_the_posterior_mean_with_its_noise():
    points, payoffs, scales, waiting, _, shape = case(ADDITIVE)
    Z = np.unique(points, axis=0)
    fast = process(ADDITIVE, shape, points, scales, waiting, Z)
    for noise in (0.03, 2.0):
        other = Shape(shape.lengthscales, shape.signal, noise)
        alone = process(ADDITIVE, other, points, scales, waiting, Z)
        alone.learn(payoffs)
        found = fast.smoother(noise).fit(payoffs)
        np.testing.assert_allclose(found, alone.predict(points)[0], atol=1e-9)


def test_pending_points_leave_the_mean_alone():
    points, payoffs, scales, waiting, C, shape = case(ARD)
    Z = np.vstack([np.unique(points, axis=0), waiting])
    alone = process(ARD, shape, points, scales, waiting[:0], Z)
    batch = process(ARD, shape, points, scales, waiting, Z)
    for one in (alone, batch):
        one.learn(payoffs)
    np.testing.assert_array_equal(alone.predict(C)[0], batch.predict(C)[0])
    assert (batch.predict(waiting)[1] < alone.predict(waiting)[1]).all()


@LAYOUTS
def test_pivots_are_sites_that_say_most(layout):
    sites = np.random.default_rng(2).random((80, len(layout.owner)))
    lengthscales = np.full(layout.owners, 0.5)
    R = slow.correlations(layout, lengthscales, sites, sites)
    taken = engine.pivots(
        layout.kind, sites, layout.columns(lengthscales), layout.group, layout.groups, 20, 1e-6
    )
    assert len(set(taken.tolist())) == 20
    left = R.copy()  # the same greedy choice by Schur complements
    for one in taken:
        assert left[one, one] == pytest.approx(np.diag(left).max(), abs=1e-9)
        left -= np.outer(left[:, one], left[one]) / left[one, one]


def test_pivots_stop_when_nothing_is_left_to_say():
    sites = np.repeat(np.random.default_rng(3).random((4, 3)), 5, axis=0)
    args = (ARD.columns(np.full(3, 0.2)), ARD.group, 1)
    taken = engine.pivots(ARD.kind, sites, *args, 20, 1e-6)
    assert len(np.unique(sites[taken], axis=0)) == len(taken) == 4


def test_a_basis_is_all_sites_while_they_are_few():
    sites, lengthscales = np.random.default_rng(4).random((30, 3)), np.full(3, 0.1)
    assert choose_basis(ARD, lengthscales, sites, 30).count == 30
    assert choose_basis(ARD, lengthscales, sites, 29).count == 29


def test_a_constant_that_does_not_vary_is_the_same_everywhere():
    found = Varying(1.5, 0.25)
    mean, variance = found.predict(np.zeros((2, 3)))
    assert mean.tolist() == [1.5, 1.5]
    assert variance.tolist() == [0.0, 0.0]  # the constant's own is the same everywhere


def test_a_deviation_that_may_be_there_is_a_mixture():
    points, payoffs, scales, waiting, C, shape = case(ARD)
    inner = process(ARD, shape, points, scales, waiting, np.unique(points, axis=0))
    inner.learn(payoffs)
    inner.center()
    found = Varying(1.5, 0.25, inner, 2.0, 0.3)
    mean, variance = found.predict(C)
    away, doubt = inner.predict(C)
    away = 2.0 * away
    np.testing.assert_allclose(mean, 1.5 + 0.3 * away)
    # E[x^2] - E[x]^2 of 0.7 (away: 0) + 0.3 (away, with its own variance)
    second = 0.3 * (away**2 + 4.0 * doubt)
    np.testing.assert_allclose(variance, second - (0.3 * away) ** 2)


@LAYOUTS
@pytest.mark.usefixtures("no_jitter")
def test_a_centerd_process_is_the_process_less_its_mean_over_the_points(layout):
    points, payoffs, scales, waiting, C, shape = case(layout)
    sites = np.unique(np.vstack([points, C]), axis=0)
    found = process(layout, shape, points, scales, waiting, sites)
    found.learn(payoffs)
    everywhere = np.vstack([C, points])
    mean, _ = found.predict(everywhere)
    rows = found._scaled(found.basis.features(everywhere))
    half = rows @ found._shrink.T
    covariance = half @ half.T  # every point is in the basis: nothing is left unexplained
    lift = np.vstack([np.eye(len(C)), np.zeros((len(points), len(C)))]) - np.vstack(
        [np.zeros((len(C), len(C))), np.full((len(points), len(C)), 1.0 / len(points))]
    )
    found.center()
    np.testing.assert_allclose(found.predict(C)[0], lift.T @ mean, atol=1e-9)
    exact = np.diag(lift.T @ covariance @ lift)
    np.testing.assert_allclose(found.predict(C)[1], exact, atol=1e-6)
    one = found.predict_gradient(C[-1])
    assert one[:2] == pytest.approx((found.predict(C)[0][-1], found.predict(C)[1][-1]), abs=1e-9)


def test_an_offset_that_all_points_share_is_no_deviation():
    rng = np.random.default_rng(0)
    points = rng.random((100, 3))
    shape = Shape(np.full(3, 0.5), 0.4, 0.6)
    found = process(ARD, shape, points, np.ones(100), points[:0], points)
    found.learn(np.full(100, 0.5))
    found.center()
    assert float(np.abs(found.predict(points)[0]).max()) < 0.02
