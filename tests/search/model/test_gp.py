"""Sparse Gaussian processes against a dense one written out, and their gradients."""

from dataclasses import replace

import numpy as np
import pytest

import literal_process as slow
from tailproof.search.model import gp as module
from tailproof.search.model.correlation import KernelLayout, KernelParameters
from tailproof.search.model.gp import inducing_points_for, make_design

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


def precisions(kernel, scales):
    return 1.0 / (kernel.noise_var * scales**2)


def covariance(layout, kernel, X, Y):
    return kernel.signal_var * slow.correlations(layout, kernel.lengthscales, X, Y) + 1.0


@pytest.fixture
def no_jitter(monkeypatch):
    """Without the term that keeps nearly equal points apart: these cases do not need it."""
    monkeypatch.setattr(module, "SPARSE", replace(module.SPARSE, jitter=1e-13))


@LAYOUTS
@pytest.mark.usefixtures("no_jitter")
def test_a_fit_is_the_dense_process_at_the_payoffs(layout):
    points, payoffs, scales, waiting, _, kernel = case(layout)
    fit = make_design(layout, kernel, points, waiting).fit(precisions(kernel, scales), payoffs)
    expected = slow.posterior(layout, kernel, points, payoffs, scales, waiting[:0], points)
    np.testing.assert_allclose(fit.fitted, expected[0], atol=1e-8)
    np.testing.assert_allclose(fit.variance, expected[1], atol=1e-8)


@LAYOUTS
@pytest.mark.usefixtures("no_jitter")
def test_leave_one_out_is_the_prediction_without_the_payoff(layout):
    points, payoffs, scales, waiting, _, kernel = case(layout)
    fit = make_design(layout, kernel, points, waiting[:0]).fit(precisions(kernel, scales), payoffs)
    residuals, variances = fit.leave_one_out(payoffs)
    for i in range(len(points)):
        others = np.arange(len(points)) != i
        mean, variance, _ = slow.posterior(
            layout,
            kernel,
            points[others],
            payoffs[others],
            scales[others],
            waiting[:0],
            points[[i]],
        )
        assert residuals[i] == pytest.approx(payoffs[i] - mean[0], abs=1e-8)
        assert variances[i] == pytest.approx(variance[0], abs=1e-8)


@LAYOUTS
@pytest.mark.usefixtures("no_jitter")
def test_the_posterior_is_the_dense_one_anywhere(layout):
    points, payoffs, scales, waiting, C, kernel = case(layout)
    # Pending points count as if told, with the median precision of the payoffs.
    precision = precisions(kernel, scales)
    same = replace(kernel, noise_var=1.0 / float(np.median(precision)))
    relative = 1.0 / np.sqrt(precision * same.noise_var)
    for pending in (waiting[:0], waiting):
        found = make_design(layout, kernel, points, pending).fit(precision, payoffs).posterior()
        mean, variance = found.predict(C)
        expected = slow.posterior(layout, same, points, payoffs, relative, pending, C)
        np.testing.assert_allclose(mean, expected[0], atol=1e-8)
        np.testing.assert_allclose(variance, expected[1], atol=1e-8)


@LAYOUTS
@pytest.mark.usefixtures("no_jitter")
def test_joint_is_the_dense_covariance(layout):
    points, payoffs, scales, waiting, C, kernel = case(layout)
    precision = precisions(kernel, scales)
    design = make_design(layout, kernel, points, waiting[:0])
    mean, found = design.fit(precision, payoffs).posterior().joint(C)
    K = covariance(layout, kernel, points, points) + np.diag(1.0 / precision)
    k = covariance(layout, kernel, points, C)
    expected = covariance(layout, kernel, C, C) - k.T @ np.linalg.solve(K, k)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    np.testing.assert_allclose(mean, k.T @ np.linalg.solve(K, payoffs), atol=1e-8)


@LAYOUTS
def test_joint_agrees_with_predict_also_with_inducing_points(layout):
    points, payoffs, scales, waiting, C, kernel = case(layout, n=60)
    precision = precisions(kernel, scales)
    for design in (
        make_design(layout, kernel, points, waiting),
        make_design(layout, kernel, points, waiting, limit=12),
    ):
        for centered in (False, True):
            found = design.fit(precision, payoffs).posterior(centered=centered)
            mean, joint = found.joint(C)
            np.testing.assert_allclose(mean, found.predict(C)[0], atol=1e-10)
            np.testing.assert_allclose(np.diag(joint), found.predict(C)[1], atol=1e-7)


@LAYOUTS
def test_the_jitter_changes_next_to_nothing(layout):
    points, payoffs, scales, waiting, C, kernel = case(layout)
    precision = precisions(kernel, scales)
    design = make_design(layout, kernel, points, waiting[:0])
    found = design.fit(precision, payoffs).posterior()
    expected = slow.posterior(layout, kernel, points, payoffs, scales, waiting[:0], C)
    for value, exact in zip(found.predict(C), expected[:2], strict=True):
        np.testing.assert_allclose(value, exact, atol=1e-5)


def test_repeated_points_are_worth_their_weighted_mean():
    # n payoffs at a point and one with their precision-weighted mean and summed precision.
    points, payoffs, scales, waiting, C, kernel = case(ARD, repeats=8)
    precision = precisions(kernel, scales)
    sites, which = np.unique(points, axis=0, return_inverse=True)
    total = np.bincount(which.reshape(-1), weights=precision)
    means = np.bincount(which.reshape(-1), weights=precision * payoffs) / total
    expanded = make_design(ARD, kernel, points, waiting[:0]).fit(precision, payoffs).posterior()
    merged = make_design(ARD, kernel, sites, waiting[:0]).fit(total, means).posterior()
    for found, expected in zip(expanded.predict(C), merged.predict(C), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_points_that_nearly_coincide_are_no_trouble():
    base = np.random.default_rng(1).random((10, 3))
    points = np.vstack([base, base + 1e-13, base + 1e-9])
    kernel = KernelParameters(np.full(3, 20.0), 1.0, 1e-4)
    design = make_design(SMOOTH, kernel, points, points[:0])
    mean, variance = design.fit(np.full(30, 1e4), np.ones(30)).posterior().predict(base)
    np.testing.assert_allclose(mean, 1.0, atol=1e-4)
    assert ((variance >= 0.0) & (variance < 1e-3)).all()


def test_next_to_no_noise_is_no_trouble():
    points = np.random.default_rng(1).random((40, 3))
    kernel = KernelParameters(np.full(3, 20.0), 1e6, 1e-8)
    payoffs = points.sum(axis=1)
    fit = make_design(SMOOTH, kernel, points, points[:0]).fit(np.full(40, 1e8), payoffs)
    np.testing.assert_allclose(fit.fitted, payoffs, atol=1e-3)
    residuals, variances = fit.leave_one_out(payoffs)
    assert np.isfinite(residuals).all()
    assert (variances >= 0.0).all()


@LAYOUTS
@pytest.mark.parametrize("basis", [4, 12])
def test_few_inducing_points_keep_what_they_do_not_explain_in_the_variance(layout, basis):
    points, payoffs, scales, waiting, C, kernel = case(layout)
    design = make_design(layout, kernel, points, waiting[:0], limit=basis)
    found = design.fit(precisions(kernel, scales), payoffs).posterior()
    phi = found.basis.features(C)
    unexplained = 1.0 - np.sum(phi * phi, axis=1)
    assert (found.predict(C)[1] >= kernel.signal_var * unexplained - 1e-9).all()
    at_payoffs = found.basis.features(points)
    expected = kernel.signal_var * (1.0 - np.sum(at_payoffs**2, axis=1))
    np.testing.assert_allclose(design.unexplained, np.maximum(expected, 0.0), atol=1e-9)


@LAYOUTS
def test_more_inducing_points_bring_the_variance_to_the_exact_one(layout):
    points, payoffs, scales, waiting, C, kernel = case(layout, n=60)
    kernel = replace(kernel, lengthscales=np.full(layout.n_lengthscales, 2.0))
    exact = slow.posterior(layout, kernel, points, payoffs, scales, waiting[:0], C)
    errors = []
    for limit in (5, 10, 25):
        design = make_design(layout, kernel, points, waiting[:0], limit=limit)
        found = design.fit(precisions(kernel, scales), payoffs).posterior()
        errors.append(float(np.abs(found.predict(C)[1] / exact[1] - 1.0).max()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02


@LAYOUTS
@pytest.mark.parametrize("limit", [5, None])
@pytest.mark.parametrize("centered", [False, True])
def test_gradients_are_those_of_mean_and_variance(layout, limit, centered):
    points, payoffs, scales, waiting, C, kernel = case(layout, repeats=1)
    design = make_design(layout, kernel, points, waiting, limit=limit)
    found = design.fit(precisions(kernel, scales), payoffs).posterior(centered=centered)
    mean, variance, mean_slopes, variance_slopes = found.predict_gradient(C[6:10])
    np.testing.assert_allclose((mean, variance), found.predict(C[6:10]), atol=1e-10)
    for c, mean_slope, variance_slope in zip(C[6:10], mean_slopes, variance_slopes, strict=True):
        numeric = slow.slope(lambda x: [column[0] for column in found.predict(x[None])], c)
        np.testing.assert_allclose(mean_slope, numeric[0], atol=1e-5)
        np.testing.assert_allclose(variance_slope, numeric[1], atol=1e-5)


def test_pending_points_leave_the_mean_alone():
    points, payoffs, scales, waiting, C, kernel = case(ARD)
    precision = precisions(kernel, scales)
    alone = make_design(ARD, kernel, points, waiting[:0]).fit(precision, payoffs).posterior()
    batch = make_design(ARD, kernel, points, waiting).fit(precision, payoffs).posterior()
    np.testing.assert_allclose(alone.predict(C)[0], batch.predict(C)[0], atol=1e-6)
    assert (batch.predict(waiting)[1] < alone.predict(waiting)[1]).all()
    assert (batch.predict(C)[1] <= alone.predict(C)[1] + 1e-6).all()


@LAYOUTS
@pytest.mark.usefixtures("no_jitter")
def test_a_centered_process_is_the_process_less_its_mean_over_the_payoffs(layout):
    points, payoffs, scales, _, C, kernel = case(layout)
    fit = make_design(layout, kernel, points, C).fit(precisions(kernel, scales), payoffs)
    fit = replace(fit, design=replace(fit.design, pending=fit.design.pending[:0]))
    whole, found = fit.posterior(), fit.posterior(centered=True)
    mean, joint = whole.joint(np.vstack([C, points]))
    lift = np.vstack([np.eye(len(C)), np.full((len(points), len(C)), -1.0 / len(points))])
    np.testing.assert_allclose(found.predict(C)[0], lift.T @ mean, atol=1e-9)
    np.testing.assert_allclose(found.predict(C)[1], np.diag(lift.T @ joint @ lift), atol=1e-6)


def test_an_offset_that_all_points_share_is_no_deviation():
    points = np.random.default_rng(0).random((100, 3))
    kernel = KernelParameters(np.full(3, 0.5), 0.4, 0.6)
    design = make_design(ARD, kernel, points, points[:0])
    found = design.fit(np.full(100, 1.0 / 0.6), np.full(100, 0.5)).posterior(centered=True)
    assert float(np.abs(found.predict(points)[0]).max()) < 0.02


# ---- inducing points ----------------------------------------------------------------------------


def test_inducing_points_are_chosen_once_distinct_points_are_many():
    rng = np.random.default_rng(0)
    few = rng.random((10, 3))
    assert inducing_points_for(ARD, np.full(3, 0.1), few) is None
    assert inducing_points_for(ARD, np.full(3, 0.1), np.repeat(few, 100, axis=0)) is None
    many = rng.random((400, 3))
    found = inducing_points_for(ARD, np.full(3, 0.1), many)
    assert found is not None
    assert len(found) == module.SPARSE.inducing
    assert all((many == z).all(axis=1).any() for z in found)


def test_the_latest_points_are_in_the_basis():
    rng = np.random.default_rng(0)
    points, kernel = rng.random((400, 3)), KernelParameters(np.full(3, 0.05), 1.0, 0.1)
    inducing = inducing_points_for(ARD, kernel.lengthscales, points[:300])
    pending = rng.random((2, 3))
    design = make_design(ARD, kernel, points, pending, inducing)
    latest = np.vstack([points[-20:], pending])
    phi = design.basis.features(latest)
    np.testing.assert_allclose(np.sum(phi * phi, axis=1), 1.0, atol=1e-6)
    assert design.sites.shape[1] <= module.SPARSE.features + 1
