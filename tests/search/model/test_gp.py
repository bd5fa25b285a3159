"""Sparse Gaussian processes against a dense one written out, and their gradients."""

import numpy as np
import pytest

import literal_process as slow
from tailproof.search.model import gp as module
from tailproof.search.model.correlation import KernelLayout, KernelParameters
from tailproof.search.model.gp import InducingPointBasis, SparseGP, choose_basis

ARD = KernelLayout(np.arange(3), np.zeros(3, dtype=np.int64))
SMOOTH = KernelLayout(np.arange(3), np.zeros(3, dtype=np.int64), "se")
# Two numbers in one group; a choice of three options, with one lengthscale, in another.
ADDITIVE = KernelLayout(np.array([0, 1, 2, 2, 2]), np.array([0, 0, 1, 1, 1]))
LAYOUTS = pytest.mark.parametrize(
    "layout", [ARD, SMOOTH, ADDITIVE], ids=["matern", "se", "additive"]
)


def case(layout, seed=0, n=25, pending=3, repeats=4):
    """Points (some seen twice), payoffs, noise scales, pending points, queries and a kernel."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, len(layout.parameter_of_column)))
    points[-repeats:] = points[:repeats]
    payoffs = np.sin(4.0 * points[:, 0]) + 0.3 * rng.standard_normal(n)
    scales = rng.uniform(0.5, 2.0, n)
    waiting = rng.random((pending, len(layout.parameter_of_column)))
    C = np.vstack([points[:3], waiting, rng.random((10, len(layout.parameter_of_column)))])
    kernel = KernelParameters(rng.uniform(0.3, 1.0, layout.n_lengthscales), 0.8, 0.2)
    return points, payoffs, scales, waiting, C, kernel


def sparse_gp(layout, kernel, points, scales, pending, Z):
    basis = InducingPointBasis(layout, kernel.lengthscales, Z)
    return SparseGP(basis, kernel, basis.features(points), 1.0 / scales**2, basis.features(pending))


@pytest.fixture
def no_jitter(monkeypatch):
    """The term that keeps nearly equal sites apart, for comparisons that sites do not need."""
    monkeypatch.setattr(module, "_JITTER", 1e-13)


@LAYOUTS
@pytest.mark.parametrize("pending", [0, 3])
@pytest.mark.usefixtures("no_jitter")
def test_all_sites_as_basis_give_the_exact_process(layout, pending):
    points, payoffs, scales, waiting, C, kernel = case(layout, pending=pending)
    Z = np.unique(np.vstack([points, waiting]), axis=0)
    fast = sparse_gp(layout, kernel, points, scales, waiting, Z).condition(payoffs)
    mean, variance = fast.predict(C)
    expected = slow.posterior(layout, kernel, points, payoffs, scales, waiting, C)
    np.testing.assert_allclose(mean, expected[0], atol=1e-8)
    np.testing.assert_allclose(variance, expected[1], atol=1e-8)


@LAYOUTS
def test_the_jitter_changes_next_to_nothing(layout):
    points, payoffs, scales, waiting, C, kernel = case(layout)
    Z = np.unique(np.vstack([points, waiting]), axis=0)
    fast = sparse_gp(layout, kernel, points, scales, waiting, Z).condition(payoffs)
    expected = slow.posterior(layout, kernel, points, payoffs, scales, waiting, C)
    for found, exact in zip(fast.predict(C), expected[:2], strict=True):
        np.testing.assert_allclose(found, exact, atol=1e-5)


def test_sites_that_nearly_coincide_are_no_trouble():
    layout, rng = SMOOTH, np.random.default_rng(1)
    base = rng.random((10, 3))
    points = np.vstack([base, base + 1e-13, base + 1e-9])
    kernel = KernelParameters(np.full(3, 20.0), 1.0, 1e-4)
    gp = sparse_gp(layout, kernel, points, np.ones(30), points[:0], points)
    fast = gp.condition(np.ones(30))
    mean, variance = fast.predict(base)
    np.testing.assert_allclose(mean, 1.0, atol=1e-4)
    assert ((variance >= 0.0) & (variance < 1e-3)).all()


@LAYOUTS
@pytest.mark.parametrize("basis", [1, 4, 12])
def test_few_inducing_points_keep_what_they_do_not_explain_in_the_variance(layout, basis):
    points, payoffs, scales, waiting, C, kernel = case(layout)
    Z = points[:basis]
    fast = sparse_gp(layout, kernel, points, scales, waiting, Z).condition(payoffs)
    mean, variance = fast.predict(C)
    # s (k - |phi|^2) + phi~' (I + sum phi~ phi~' / noise)^-1 phi~, with the constant in phi~
    both = np.vstack([points, waiting])
    inner = slow.correlations(layout, kernel.lengthscales, Z, Z) + 1e-8 * np.eye(basis)
    L = np.linalg.cholesky(inner)

    def features(X):
        return np.linalg.solve(L, slow.correlations(layout, kernel.lengthscales, Z, X)).T

    def rows(X):
        return np.hstack([np.sqrt(kernel.signal_var) * features(X), np.ones((len(X), 1))])

    precision = np.append(1.0 / scales**2, np.ones(len(waiting)))
    V = np.eye(basis + 1) + rows(both).T @ np.diag(precision / kernel.noise_var) @ rows(both)
    q = rows(C)
    gap = 1.0 - np.sum(features(C) ** 2, axis=1)
    expected = kernel.signal_var * gap + np.einsum("ij,ij->i", q, np.linalg.solve(V, q.T).T)
    np.testing.assert_allclose(variance, expected, atol=1e-8)
    assert (variance >= kernel.signal_var * gap - 1e-9).all()
    # The mean is ridge regression on the same features.
    seen = rows(points)
    V = np.eye(basis + 1) + seen.T @ np.diag(scales**-2.0 / kernel.noise_var) @ seen
    weights = np.linalg.solve(V, seen.T @ (payoffs / scales**2) / kernel.noise_var)
    np.testing.assert_allclose(mean, q @ weights, atol=1e-8)


@LAYOUTS
def test_selected_inducing_points_bring_the_variance_to_the_exact_one(layout):
    # Payoffs off the basis points count as if the basis explained them, so that a poor basis may
    # give a variance below the exact one (by a seventh in cases like these); a good one does not.
    points, payoffs, scales, waiting, C, kernel = case(layout, n=60)
    kernel = KernelParameters(
        np.full(layout.n_lengthscales, 2.0), kernel.signal_var, kernel.noise_var
    )
    exact = slow.posterior(layout, kernel, points, payoffs, scales, waiting, C)
    sites = np.unique(np.vstack([points, waiting]), axis=0)
    errors = []
    for limit in (5, 10, 25):
        basis, _ = choose_basis(layout, kernel.lengthscales, sites, limit)
        rows, few = basis.features(points), basis.features(waiting)
        fast = SparseGP(basis, kernel, rows, 1.0 / scales**2, few).condition(payoffs)
        errors.append(float(np.abs(fast.predict(C)[1] / exact[1] - 1.0).max()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02


@LAYOUTS
@pytest.mark.parametrize("basis", [5, None])
def test_gradients_are_those_of_mean_and_variance(layout, basis):
    points, payoffs, scales, waiting, C, kernel = case(layout, repeats=1)
    Z = points[:basis][:24]
    fast = sparse_gp(layout, kernel, points, scales, waiting, Z).condition(payoffs)
    for c in C[6:10]:
        mean, variance, mean_slope, variance_slope = fast.predict_gradient(c)
        both = fast.predict(c[None])
        assert (mean, variance) == pytest.approx((both[0][0], both[1][0]), abs=1e-10)
        numeric = slow.slope(lambda x: [column[0] for column in fast.predict(x[None])], c)
        np.testing.assert_allclose(mean_slope, numeric[0], atol=1e-5)
        np.testing.assert_allclose(variance_slope, numeric[1], atol=1e-5)


def test_leverage_is_how_far_a_payoff_pulls_its_own_fit():
    points, payoffs, scales, waiting, _, kernel = case(ARD)
    fast = sparse_gp(ARD, kernel, points, scales, waiting, np.unique(points, axis=0))
    leverage = fast.leverage()
    assert ((leverage > 0.0) & (leverage < 1.0)).all()
    smoother = fast.smoother(kernel.noise_var)
    for i in range(len(points)):
        moved = payoffs.copy()
        moved[i] += 1.0
        pull = smoother.fit(moved)[i] - smoother.fit(payoffs)[i]
        assert pull == pytest.approx(leverage[i], abs=1e-9)


def test_a_smoother_is_the_posterior_mean_with_its_noise():
    points, payoffs, scales, waiting, _, kernel = case(ADDITIVE)
    Z = np.unique(points, axis=0)
    fast = sparse_gp(ADDITIVE, kernel, points, scales, waiting, Z)
    for noise in (0.03, 2.0):
        other = KernelParameters(kernel.lengthscales, kernel.signal_var, noise)
        alone = sparse_gp(ADDITIVE, other, points, scales, waiting, Z).condition(payoffs)
        found = fast.smoother(noise).fit(payoffs)
        np.testing.assert_allclose(found, alone.predict(points)[0], atol=1e-9)


def test_pending_points_leave_the_mean_alone():
    points, payoffs, scales, waiting, C, kernel = case(ARD)
    Z = np.vstack([np.unique(points, axis=0), waiting])
    alone = sparse_gp(ARD, kernel, points, scales, waiting[:0], Z).condition(payoffs)
    batch = sparse_gp(ARD, kernel, points, scales, waiting, Z).condition(payoffs)
    np.testing.assert_array_equal(alone.predict(C)[0], batch.predict(C)[0])
    assert (batch.predict(waiting)[1] < alone.predict(waiting)[1]).all()


def test_a_basis_is_all_sites_while_they_are_few():
    sites, lengthscales = np.random.default_rng(4).random((30, 3)), np.full(3, 0.1)
    basis, phi = choose_basis(ARD, lengthscales, sites, 30)
    assert basis.count == 30
    np.testing.assert_allclose(phi, basis.features(sites), atol=1e-6)
    assert choose_basis(ARD, lengthscales, sites, 29)[0].count == 29


@LAYOUTS
@pytest.mark.usefixtures("no_jitter")
def test_a_centered_process_is_the_process_less_its_mean_over_the_points(layout):
    points, payoffs, scales, waiting, C, kernel = case(layout)
    sites = np.unique(np.vstack([points, C]), axis=0)
    gp = sparse_gp(layout, kernel, points, scales, waiting, sites)
    whole, found = gp.condition(payoffs), gp.condition(payoffs, centered=True)
    everywhere = np.vstack([C, points])
    mean, _ = whole.predict(everywhere)
    phi = whole.basis.features(everywhere)
    rows = np.hstack([np.sqrt(kernel.signal_var) * phi, np.ones((len(phi), 1))])
    half = rows @ whole.inverse_factor.T
    covariance = half @ half.T  # every point is in the basis: nothing is left unexplained
    lift = np.vstack([np.eye(len(C)), np.zeros((len(points), len(C)))]) - np.vstack(
        [np.zeros((len(C), len(C))), np.full((len(points), len(C)), 1.0 / len(points))]
    )
    np.testing.assert_allclose(found.predict(C)[0], lift.T @ mean, atol=1e-9)
    exact = np.diag(lift.T @ covariance @ lift)
    np.testing.assert_allclose(found.predict(C)[1], exact, atol=1e-6)
    at_last = found.predict_gradient(C[-1])
    assert at_last[:2] == pytest.approx(
        (found.predict(C)[0][-1], found.predict(C)[1][-1]), abs=1e-9
    )


def test_an_offset_that_all_points_share_is_no_deviation():
    rng = np.random.default_rng(0)
    points = rng.random((100, 3))
    kernel = KernelParameters(np.full(3, 0.5), 0.4, 0.6)
    gp = sparse_gp(ARD, kernel, points, np.ones(100), points[:0], points)
    found = gp.condition(np.full(100, 0.5), centered=True)
    assert float(np.abs(found.predict(points)[0]).max()) < 0.02
