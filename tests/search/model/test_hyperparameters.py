"""The marginal likelihood of kernel parameters against densities written out."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import literal_process as slow
from tailproof.search.model.constants import KERNEL
from tailproof.search.model.correlation import KernelLayout, KernelParameters
from tailproof.search.model.hyperparameters import (
    Prior,
    Sample,
    evenly_spaced,
    log_marginal_likelihood,
    maximize_posterior,
    negative_log_posterior,
    prior_median,
)

ZERO = np.zeros(2, dtype=np.int64)
CASES = {
    "matern": KernelLayout(np.arange(2), ZERO),
    "se": KernelLayout(np.arange(2), ZERO, "se"),
    "choice": KernelLayout(np.array([0, 1, 1, 1]), np.zeros(4, dtype=np.int64)),
    "groups": KernelLayout(np.array([0, 1, 2, 2]), np.array([0, 1, 1, 1])),
    "se groups": KernelLayout(np.arange(3), np.array([0, 1, 1]), "se"),
}
LAYOUTS = pytest.mark.parametrize("layout", CASES.values(), ids=CASES)


def case(layout, n=20, seed=0):
    rng = np.random.default_rng(seed)
    C = rng.random((n, len(layout.parameter_of_column)))
    payoffs = np.sin(5.0 * C[:, 0]) + 0.4 * rng.standard_normal(n)
    relative = rng.uniform(0.3, 3.0, n)
    theta = rng.normal(np.log(0.5), 0.4, layout.n_lengthscales + 2)
    return C, payoffs, relative, theta


@LAYOUTS
def test_negative_log_posterior_is_a_density_written_out(layout):
    C, payoffs, relative, theta = case(layout)
    prior = Prior()

    def density(theta):
        values = np.exp(theta)
        R = slow.correlations(layout, values[:-2], C, C)
        K = values[-2] * R + 1.0 + np.diag(values[-1] * relative + 1e-10)
        total = multivariate_normal.logpdf(payoffs, np.zeros(len(C)), K)
        mean, deviation = prior.lengthscale
        mean += 0.5 * np.log(layout.n_lengthscales)
        # Two halves of normal densities, as high as each other in the middle.
        away = (theta[:-2] - mean) / np.where(theta[:-2] < mean, prior.shorter, deviation)
        total -= 0.5 * float(away @ away)
        return total + norm.logpdf(theta[-2], *prior.signal) + norm.logpdf(theta[-1], *prior.noise)

    other = theta + 0.3
    change = [
        negative_log_posterior(point, layout, Sample(C, payoffs, relative), prior)[0]
        for point in (theta, other)
    ]
    assert change[0] - change[1] == pytest.approx(density(other) - density(theta), abs=1e-8)
    # Only constants in theta are left out.
    left_out = (2 + len(C)) * 0.5 * np.log(2.0 * np.pi)
    left_out += np.log([prior.signal[1], prior.noise[1]]).sum()
    assert change[0] + left_out == pytest.approx(-density(theta), abs=1e-8)


@pytest.mark.parametrize("share", [0.01, 0.4])
def test_a_nugget_is_variance_of_each_point_alone(share):
    # The same density as signal (1 - share) R + (noise D + signal share) I.
    layout = CASES["matern"]
    C, payoffs, relative, theta = case(layout)
    prior, nugget = Prior(), (np.log(share), 1.0)
    signal, noise = np.exp(theta[-2:])
    found = negative_log_posterior(
        np.append(theta, np.log(share)),
        layout,
        Sample(C, payoffs, relative),
        replace(prior, nugget=nugget),
    )[0]
    split = np.append(theta[:-2], np.log([signal * (1.0 - share), noise]))
    sample = Sample(C, payoffs, relative + signal * share / noise)
    expected = negative_log_posterior(split, layout, sample, prior)[0]
    # Prior of the signal variance: of all of it here, of the smooth part there.
    away = (np.array([theta[-2], split[-2]]) - prior.signal[0]) / prior.signal[1]
    expected += 0.5 * (away[0] ** 2 - away[1] ** 2)
    assert found == pytest.approx(expected, abs=1e-8)


NUGGETS = pytest.mark.parametrize("nugget", [None, (np.log(0.02), 1.5)], ids=["smooth", "nugget"])


@LAYOUTS
@NUGGETS
def test_gradient_of_negative_log_posterior(layout, nugget):
    C, payoffs, relative, theta = case(layout)
    prior = Prior(nugget=nugget)
    if nugget is not None:
        theta = np.append(theta, np.log(0.1))

    def value(theta):
        return negative_log_posterior(theta, layout, Sample(C, payoffs, relative), prior)[0]

    gradient = negative_log_posterior(theta, layout, Sample(C, payoffs, relative), prior)[1]
    np.testing.assert_allclose(gradient, slow.slope(value, theta), atol=1e-5)


@LAYOUTS
@pytest.mark.parametrize("start", [(0.05, 0.01, 0.01), (5.0, 10.0, 1.0), (0.4, 0.5, 0.5)])
@pytest.mark.parametrize("steps", [1, 25])
def test_maximize_posterior_is_never_worse_than_the_start(layout, start, steps):
    C, payoffs, relative, _ = case(layout)
    begin = KernelParameters(np.full(layout.n_lengthscales, start[0]), start[1], start[2])
    found = maximize_posterior(layout, Sample(C, payoffs, relative), Prior(), begin, steps)

    def value(kernel):
        theta = np.log(np.append(kernel.lengthscales, [kernel.signal_var, kernel.noise_var]))
        return negative_log_posterior(theta, layout, Sample(C, payoffs, relative), Prior())[0]

    assert value(found) <= value(begin)


def test_maximize_posterior_recovers_what_payoffs_were_drawn_from():
    # Standard errors of logarithms here are below 0.35; the seed is fixed.
    layout, rng = CASES["matern"], np.random.default_rng(3)
    C = rng.random((250, 2))
    K = 1.0 * slow.correlations(layout, np.array([0.2, 1.5]), C, C) + 0.1 * np.eye(250)
    payoffs = np.linalg.cholesky(K) @ rng.standard_normal(250)
    start = prior_median(Prior(), 2)
    found = maximize_posterior(layout, Sample(C, payoffs, np.ones(250)), Prior(), start, 100)
    assert np.log(found.lengthscales[0] / 0.2) == pytest.approx(0.0, abs=0.5)
    assert found.lengthscales[1] > 3.0 * found.lengthscales[0]
    assert np.log(found.noise_var / 0.1) == pytest.approx(0.0, abs=0.5)


def test_maximize_posterior_sees_the_noise_of_repeated_points():
    layout, rng = CASES["se"], np.random.default_rng(4)
    C = np.repeat(rng.random((60, 2)), 2, axis=0)
    payoffs = np.repeat(np.sin(5.0 * C[::2, 0]), 2) + 0.5 * rng.standard_normal(120)
    sample = Sample.summarize(C, payoffs, np.ones(120))
    found = maximize_posterior(layout, sample, Prior(), prior_median(Prior(), 2), 25)
    assert found.noise_var == pytest.approx(0.25, rel=0.5)


def test_maximize_posterior_tells_a_nugget_from_noise_by_repeated_points():
    layout, rng = CASES["se"], np.random.default_rng(4)
    C = np.repeat(rng.random((60, 2)), 4, axis=0)
    smooth, own = np.sin(5.0 * C[::4, 0]), 0.5 * rng.standard_normal(60)
    payoffs = np.repeat(smooth + own, 4) + 0.1 * rng.standard_normal(240)
    sample, prior = Sample.summarize(C, payoffs, np.ones(240)), Prior(nugget=KERNEL.nugget)
    found = maximize_posterior(layout, sample, prior, prior_median(prior, 2), 60)
    assert found.noise_var == pytest.approx(0.01, rel=0.5)
    assert found.nugget * found.signal_var == pytest.approx(0.25, rel=0.5)


def test_no_point_decides_the_noise_variance():
    layout, rng = CASES["se"], np.random.default_rng(4)
    C = np.vstack([rng.random((60, 2)), np.full((200, 2), 0.5)])
    payoffs = np.sin(5.0 * C[:, 0]) + np.append(np.full(60, 0.5), np.full(200, 0.01)) * (
        rng.standard_normal(260)
    )
    sample = Sample.summarize(C, payoffs, np.ones(260))
    assert sample.dof == KERNEL.dof_per_point
    found = maximize_posterior(layout, sample, Prior(), prior_median(Prior(), 2), 25)
    assert 0.1 < found.noise_var < 0.5


def test_prior_median_lengthscale_grows_as_distances_in_a_cube_do():
    single, four = prior_median(Prior(), 1), prior_median(Prior(), 4)
    assert four.lengthscales == pytest.approx(2.0 * single.lengthscales[0])
    assert len(prior_median(Prior(), 0).lengthscales) == 0


def test_log_marginal_likelihood_is_a_normal_density_without_its_constant():
    rng = np.random.default_rng(5)
    A, payoffs = rng.standard_normal((6, 6)), rng.standard_normal(6)
    K = A @ A.T + np.eye(6)
    expected = multivariate_normal.logpdf(payoffs, np.zeros(6), K) + 3.0 * np.log(2.0 * np.pi)
    assert log_marginal_likelihood(K, payoffs) == pytest.approx(expected)


# ---- payoffs summarized by distinct points ------------------------------------------------------


def repeated(layout, seed=0):
    rng = np.random.default_rng(seed)
    C = np.repeat(rng.random((9, len(layout.parameter_of_column))), rng.integers(1, 5, 9), axis=0)
    rng.shuffle(C)
    payoffs = np.sin(5.0 * C[:, 0]) + 0.4 * rng.standard_normal(len(C))
    return C, payoffs, rng.uniform(0.3, 3.0, len(C))


@LAYOUTS
def test_a_summary_has_the_likelihood_of_the_expanded_payoffs(layout):
    C, payoffs, relative = repeated(layout)
    sample = Sample.summarize(C, payoffs, relative)
    assert len(sample.points) == 9
    assert sample.dof == len(C) - 9
    thetas = np.random.default_rng(1).normal(np.log(0.5), 0.4, (4, layout.n_lengthscales + 2))

    def values(told):
        return [negative_log_posterior(theta, layout, told, Prior()) for theta in thetas]

    summarized, expanded = values(sample), values(Sample(C, payoffs, relative))
    # They differ by a term that no kernel parameter is in, but for the jitter of 1e-10.
    apart = [a[0] - b[0] for a, b in zip(summarized, expanded, strict=True)]
    assert np.ptp(apart) < 1e-6
    for (_, found), (_, expected) in zip(summarized, expanded, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_scatter_is_the_weighted_sum_of_squares_within_points():
    points = np.array([[0.0], [1.0], [0.0]])
    sample = Sample.summarize(points, np.array([1.0, 7.0, 4.0]), np.array([1.0, 1.0, 0.5]))
    assert sample.points.tolist() == [[0.0], [1.0]]
    assert sample.means.tolist() == pytest.approx([3.0, 7.0])
    assert sample.relative_var.tolist() == pytest.approx([1.0 / 3.0, 1.0])
    assert sample.scatter == pytest.approx(1.0 * 4.0 + 2.0 * 1.0)


def test_a_likelihood_is_computed_from_all_payoffs_or_from_some_over_all_time():
    assert evenly_spaced(7, KERNEL.rows).tolist() == list(range(7))
    count = 5 * KERNEL.rows
    rows = evenly_spaced(count, KERNEL.rows)
    assert len(rows) == len(set(rows.tolist())) == KERNEL.rows
    assert (rows[0], rows[-1]) == (0, count - 1)
    points = np.random.default_rng(0).random((count, 2))
    sample = Sample.summarize(points, points[:, 0], np.ones(count))
    assert len(sample.points) == KERNEL.rows
    # Evenly over time: about as many of the first half as of the second.
    first = {tuple(row) for row in points[: count // 2]}
    early = sum(tuple(row) in first for row in sample.points)
    assert early == pytest.approx(KERNEL.rows / 2, abs=2)
