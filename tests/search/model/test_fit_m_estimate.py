"""M-estimates of the location: the minimum of the penalized criterion, and LOO residuals."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tailproof.search.model.correlation import KernelLayout, KernelParameters
from tailproof.search.model.fit import loo_residuals, pseudo_observations, solve_m_estimate
from tailproof.search.model.gp import InducingPointBasis, compute_features
from tailproof.search.model.robust_loss import AdaptiveWindow, StudentT, StudentTPsi, WindowPsi

LAYOUT = KernelLayout(np.arange(2), np.zeros(2, dtype=np.int64))
KERNEL = KernelParameters(np.array([0.4, 0.8]), 1.0, 0.3)
NONE = np.empty((0, 2))


def case(n=30, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    points[-5:] = points[:5]
    z = np.sin(5.0 * points[:, 0]) + 0.5 * rng.standard_t(1.5, n)
    return points, z, rng.uniform(0.5, 2.0, n)


def location_gp(points, scales, kernel=KERNEL):
    return compute_features(LAYOUT, kernel, points, NONE).gp(scales)


def features(points):
    """Rows of the model: features of the process at its sites, and the constant."""
    basis = InducingPointBasis(LAYOUT, KERNEL.lengthscales, np.unique(points, axis=0))
    return np.hstack(
        [np.sqrt(KERNEL.signal_var) * basis.features(points), np.ones((len(points), 1))]
    )


def rho(e, psi):
    """Integral of psi(e) = clip(e, low, high) - center."""
    inner = np.clip(e, psi.lower, psi.upper)
    return 0.5 * inner**2 + inner * (e - inner) - psi.center * e


def fitted_by_scipy(rows, z, scales, psi):
    """Minimize sum rho(e_i) + 1/2 kappa noise |w|^2 over weights w, e = (z - rows w) / scales."""

    def criterion(w):
        e = (z - rows @ w) / scales
        penalty = psi.slope * KERNEL.noise_var
        slope = penalty * w - rows.T @ (psi(e) / scales)
        return rho(e, psi).sum() + 0.5 * penalty * (w @ w), slope

    start = np.zeros(rows.shape[1])
    found = minimize(
        criterion, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}
    )
    return rows @ found.x


PSIS = {
    "wide": WindowPsi(-2.0, 2.5, 0.05, 0.9),
    "narrow": WindowPsi(-0.4, 0.3, -0.02, 0.5),
    "one-sided": WindowPsi(-np.inf, 0.5, -0.3, 0.7),
}


@pytest.mark.parametrize("psi", PSIS.values(), ids=PSIS)
@pytest.mark.parametrize("start", [0.0, 3.0])
def test_a_fit_is_the_minimum_of_the_penalized_criterion(psi, start):
    points, z, scales = case()
    gp = location_gp(points, scales)
    fitted = solve_m_estimate(gp, psi, z, scales, np.full(len(z), start))
    expected = fitted_by_scipy(features(points), z, scales, psi)
    np.testing.assert_allclose(fitted, expected, atol=5e-3)


REDESCENDING = StudentTPsi(0.5, 0.02, 0.6, window=WindowPsi(-1.5, 1.5))


@pytest.mark.parametrize("start", [-3.0, 0.0, 3.0])
def test_a_redescending_psi_is_solved_from_its_window_from_every_start(start):
    points, z, scales = case()
    gp = location_gp(points, scales)
    fitted = solve_m_estimate(gp, REDESCENDING, z, scales, np.full(len(z), start))
    smoother = gp.smoother(KERNEL.noise_var * REDESCENDING.slope)
    again = smoother.fit(fitted + scales * REDESCENDING((z - fitted) / scales))
    np.testing.assert_allclose(fitted, again, atol=1e-4)
    expected = solve_m_estimate(gp, REDESCENDING, z, scales, np.zeros(len(z)))
    np.testing.assert_allclose(fitted, expected, atol=1e-3)


def test_a_hill_seen_twice_does_not_count_as_outliers():
    points = np.vstack([np.random.default_rng(3).random((30, 2)) * 0.4, [[0.95, 0.95]] * 2])
    z = np.append(np.zeros(30), [6.0, 6.0])
    kernel = KernelParameters(np.array([0.2, 0.2]), 20.0, 0.3)
    gp = location_gp(points, np.ones(32), kernel)
    fitted = solve_m_estimate(gp, REDESCENDING, z, np.ones(32), np.zeros(32))
    assert fitted[-1] > 5.0
    lost = solve_m_estimate(gp, StudentTPsi(8.0), z, np.ones(32), np.zeros(32))
    assert fitted[-1] > lost[-1]


@pytest.mark.parametrize("width", [1e-1, 1e-3])
def test_a_narrow_window_far_from_the_start_is_no_obstacle(width):
    # Payoffs with next to no noise have such windows.
    points, _, scales = case()
    kernel = KernelParameters(KERNEL.lengthscales, 1.0, 1e-4)
    z = 10.0 + np.sin(5.0 * points[:, 0])
    gp = location_gp(points, scales, kernel)
    fitted = solve_m_estimate(gp, WindowPsi(-width, width, 0.0, 0.6), z, scales, np.zeros(len(z)))
    np.testing.assert_allclose(fitted, z, atol=0.1)


def test_the_identity_gives_least_squares():
    points, z, scales = case()
    gp = location_gp(points, scales)
    rows = features(points)
    inner = (rows.T / scales**2) @ rows + KERNEL.noise_var * np.eye(rows.shape[1])
    expected = rows @ np.linalg.solve(inner, rows.T @ (z / scales**2))
    np.testing.assert_allclose(solve_m_estimate(gp, WindowPsi(), z, scales, z), expected, atol=1e-6)


@pytest.mark.parametrize("loss", [AdaptiveWindow(), StudentT()])
def test_the_fit_is_the_posterior_mean_of_the_pseudo_observations(loss):
    points, z, scales = case(60)
    psi = loss.learn((z - np.median(z)) / scales)
    gp = location_gp(points, scales)
    fitted = solve_m_estimate(gp, psi, z, scales, np.zeros(len(z)))
    posterior = gp.condition(pseudo_observations(psi, z, scales, fitted))
    np.testing.assert_allclose(posterior.predict(points)[0], fitted, atol=1e-2)


@pytest.mark.parametrize("huge", [1e6, 1e12, 1e100])
def test_a_huge_payoff_pulls_no_more_than_a_large_one(huge):
    points, z, scales = case()
    gp = location_gp(points, scales)
    fits = []
    for value in (100.0, huge):
        z[7] = value
        fits.append(solve_m_estimate(gp, PSIS["wide"], z, scales, np.zeros(len(z))))
    np.testing.assert_allclose(fits[0], fits[1], atol=1e-3)


def test_loo_residuals_are_those_of_fits_without_the_payoff():
    points, z, scales = case()
    gp = location_gp(points, scales)
    residuals = (z - solve_m_estimate(gp, WindowPsi(), z, scales, z)) / scales
    found = loo_residuals(WindowPsi(), residuals, gp.leverage())
    assert gp.leverage().max() < 0.8
    for i in range(len(z)):
        others = np.arange(len(z)) != i
        without = location_gp(points[others], scales[others]).condition(z[others])
        expected = (z[i] - without.predict(points[i : i + 1])[0][0]) / scales[i]
        assert found[i] == pytest.approx(expected, abs=1e-5)


def test_a_payoff_that_stands_alone_does_not_count_as_noise():
    found = loo_residuals(WindowPsi(), np.array([1.0]), np.array([1.0]))
    assert np.isfinite(found).all()


def test_many_sites_share_a_basis_and_are_still_fitted():
    rng = np.random.default_rng(3)
    points = rng.random((400, 2))
    z = np.sin(5.0 * points[:, 0]) + 0.1 * rng.standard_normal(400)
    kernel = KernelParameters(KERNEL.lengthscales, 1.0, 0.01)
    gp = location_gp(points, np.ones(400), kernel)
    assert gp.basis.count < 400
    fitted = solve_m_estimate(gp, WindowPsi(), z, np.ones(400), z)
    assert float(np.abs(fitted - np.sin(5.0 * points[:, 0])).max()) < 0.15
