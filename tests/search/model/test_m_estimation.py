"""Fits to tamed payoffs: the minimum of the penalized criterion, and left-out residuals."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tailproof.search.model.gp import Layout, PointBasis, Shape
from tailproof.search.model.m_estimation import features_on, left_out, settle
from tailproof.search.model.noise import AdaptiveWindow, Cut, StudentT

LAYOUT = Layout(np.arange(2), np.zeros(2, dtype=np.int64))
SHAPE = Shape(np.array([0.4, 0.8]), 1.0, 0.3)
NONE = np.empty((0, 2))


def case(n=30, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    points[-5:] = points[:5]
    z = np.sin(5.0 * points[:, 0]) + 0.5 * rng.standard_t(1.5, n)
    return points, z, rng.uniform(0.5, 2.0, n)


def process_on(layout, shape, points, scales, pending):
    return features_on(layout, shape.lengthscales, points, pending).process(shape, scales)


def features(points):
    """Rows of the model: features of the process at its sites, and the constant."""
    basis = PointBasis(LAYOUT, SHAPE.lengthscales, np.unique(points, axis=0))
    return np.hstack([np.sqrt(SHAPE.signal) * basis.features(points), np.ones((len(points), 1))])


def rho(e, cut):
    """Integral of psi(e) = clip(e, low, high) - center."""
    inner = np.clip(e, cut.low, cut.high)
    return 0.5 * inner**2 + inner * (e - inner) - cut.center * e


def fitted_by_scipy(rows, z, scales, cut):
    """Minimize sum rho(e_i) + 1/2 kappa noise |w|^2 over weights w, e = (z - rows w) / scales."""

    def criterion(w):
        e = (z - rows @ w) / scales
        penalty = cut.slope * SHAPE.noise
        slope = penalty * w - rows.T @ (cut.psi(e) / scales)
        return rho(e, cut).sum() + 0.5 * penalty * (w @ w), slope

    start = np.zeros(rows.shape[1])
    found = minimize(
        criterion, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}
    )
    return rows @ found.x


CUTS = {
    "wide": Cut(-2.0, 2.5, 0.05, 0.9),
    "narrow": Cut(-0.4, 0.3, -0.02, 0.5),
    "one-sided": Cut(-np.inf, 0.5, -0.3, 0.7),
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("start", [0.0, 3.0])
def test_a_fit_is_the_minimum_of_the_penalized_criterion(cut, start):
    points, z, scales = case()
    process = process_on(LAYOUT, SHAPE, points, scales, NONE)
    fitted = settle(process, cut, z, scales, np.full(len(z), start))
    expected = fitted_by_scipy(features(points), z, scales, cut)
    np.testing.assert_allclose(fitted, expected, atol=5e-3)


SOFT = Cut(-1.5, 1.5, 0.02, 0.6, softness=0.5)


@pytest.mark.parametrize("start", [-3.0, 0.0, 3.0])
def test_a_soft_psi_is_solved_from_its_window_wherever_one_starts(start):
    points, z, scales = case()
    process = process_on(LAYOUT, SHAPE, points, scales, NONE)
    fitted = settle(process, SOFT, z, scales, np.full(len(z), start))
    smoother = process.smoother(SHAPE.noise * SOFT.slope)
    again = smoother.fit(fitted + scales * SOFT.psi((z - fitted) / scales))
    np.testing.assert_allclose(fitted, again, atol=1e-4)
    expected = settle(process, SOFT, z, scales, np.zeros(len(z)))
    np.testing.assert_allclose(fitted, expected, atol=1e-3)


def test_a_hill_seen_twice_is_not_taken_for_outliers():
    points = np.vstack([np.random.default_rng(3).random((30, 2)) * 0.4, [[0.95, 0.95]] * 2])
    z = np.append(np.zeros(30), [6.0, 6.0])
    process = process_on(LAYOUT, Shape(np.array([0.2, 0.2]), 20.0, 0.3), points, np.ones(32), NONE)
    fitted = settle(process, SOFT, z, np.ones(32), np.zeros(32))
    assert fitted[-1] > 5.0
    lost = settle(process, Cut(softness=8.0), z, np.ones(32), np.zeros(32))
    assert fitted[-1] > lost[-1]


@pytest.mark.parametrize("width", [1e-1, 1e-3])
def test_a_narrow_window_far_from_the_start_is_no_obstacle(width):
    # Payoffs with next to no noise have such windows.
    points, _, scales = case()
    shape = Shape(SHAPE.lengthscales, 1.0, 1e-4)
    z = 10.0 + np.sin(5.0 * points[:, 0])
    process = process_on(LAYOUT, shape, points, scales, NONE)
    fitted = settle(process, Cut(-width, width, 0.0, 0.6), z, scales, np.zeros(len(z)))
    np.testing.assert_allclose(fitted, z, atol=0.1)


def test_without_a_cut_it_is_least_squares():
    points, z, scales = case()
    process = process_on(LAYOUT, SHAPE, points, scales, NONE)
    rows = features(points)
    inner = (rows.T / scales**2) @ rows + SHAPE.noise * np.eye(rows.shape[1])
    expected = rows @ np.linalg.solve(inner, rows.T @ (z / scales**2))
    np.testing.assert_allclose(settle(process, Cut(), z, scales, z), expected, atol=1e-6)


@pytest.mark.parametrize("loss", [AdaptiveWindow(), StudentT()])
def test_the_fit_is_the_posterior_mean_of_the_tamed_payoffs(loss):
    points, z, scales = case(60)
    cut = loss.learn((z - np.median(z)) / scales)
    process = process_on(LAYOUT, SHAPE, points, scales, NONE)
    fitted = settle(process, cut, z, scales, np.zeros(len(z)))
    process.learn(fitted + scales * cut.psi((z - fitted) / scales) / cut.slope)
    np.testing.assert_allclose(process.predict(points)[0], fitted, atol=1e-2)


@pytest.mark.parametrize("huge", [1e6, 1e12, 1e100])
def test_a_huge_payoff_pulls_no_more_than_a_large_one(huge):
    points, z, scales = case()
    process = process_on(LAYOUT, SHAPE, points, scales, NONE)
    fits = []
    for value in (100.0, huge):
        z[7] = value
        fits.append(settle(process, CUTS["wide"], z, scales, np.zeros(len(z))))
    np.testing.assert_allclose(fits[0], fits[1], atol=1e-3)


def test_left_out_residuals_are_those_of_fits_without_the_payoff():
    points, z, scales = case()
    process = process_on(LAYOUT, SHAPE, points, scales, NONE)
    residuals = (z - settle(process, Cut(), z, scales, z)) / scales
    found = left_out(Cut(), residuals, process.leverage())
    assert process.leverage().max() < 0.8
    for i in range(len(z)):
        rest = np.arange(len(z)) != i
        alone = process_on(LAYOUT, SHAPE, points[rest], scales[rest], points[i : i + 1])
        alone.learn(z[rest])
        expected = (z[i] - alone.predict(points[i : i + 1])[0][0]) / scales[i]
        assert found[i] == pytest.approx(expected, abs=1e-5)


def test_a_payoff_that_stands_alone_is_not_taken_for_noise():
    found = left_out(Cut(), np.array([1.0]), np.array([1.0]))
    assert np.isfinite(found).all()


def test_many_sites_share_a_basis_and_are_still_fitted():
    rng = np.random.default_rng(3)
    points = rng.random((400, 2))
    z = np.sin(5.0 * points[:, 0]) + 0.1 * rng.standard_normal(400)
    shape = Shape(SHAPE.lengthscales, 1.0, 0.01)
    process = process_on(LAYOUT, shape, points, np.ones(400), NONE)
    assert process.basis.count < 400
    fitted = settle(process, Cut(), z, np.ones(400), z)
    assert float(np.abs(fitted - np.sin(5.0 * points[:, 0])).max()) < 0.15
