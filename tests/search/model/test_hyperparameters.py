"""The marginal likelihood of kernel parameters against densities written out."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import literal_process as slow
from tailproof.search.model.correlation import KernelLayout, KernelParameters
from tailproof.search.model.hyperparameters import (
    Prior,
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
        negative_log_posterior(point, layout, C, payoffs, relative, prior)[0]
        for point in (theta, other)
    ]
    assert change[0] - change[1] == pytest.approx(density(other) - density(theta), abs=1e-8)
    # Only constants in theta are left out.
    left_out = (2 + len(C)) * 0.5 * np.log(2.0 * np.pi)
    left_out += np.log([prior.signal[1], prior.noise[1]]).sum()
    assert change[0] + left_out == pytest.approx(-density(theta), abs=1e-8)


@LAYOUTS
@pytest.mark.parametrize("seed", [0, 1])
def test_gradient_of_negative_log_posterior(layout, seed):
    C, payoffs, relative, theta = case(layout, seed=seed)

    def value(theta):
        return negative_log_posterior(theta, layout, C, payoffs, relative, Prior())[0]

    gradient = negative_log_posterior(theta, layout, C, payoffs, relative, Prior())[1]
    np.testing.assert_allclose(gradient, slow.slope(value, theta), atol=1e-5)


@LAYOUTS
@pytest.mark.parametrize("start", [(0.05, 0.01, 0.01), (5.0, 10.0, 1.0), (0.4, 0.5, 0.5)])
@pytest.mark.parametrize("steps", [1, 25])
def test_maximize_posterior_is_never_worse_than_the_start(layout, start, steps):
    C, payoffs, relative, _ = case(layout)
    begin = KernelParameters(np.full(layout.n_lengthscales, start[0]), start[1], start[2])
    found = maximize_posterior(layout, C, payoffs, relative, Prior(), begin, steps)

    def value(kernel):
        theta = np.log(np.append(kernel.lengthscales, [kernel.signal_var, kernel.noise_var]))
        return negative_log_posterior(theta, layout, C, payoffs, relative, Prior())[0]

    assert value(found) <= value(begin)


def test_maximize_posterior_recovers_what_payoffs_were_drawn_from():
    # Standard errors of logarithms here are below 0.35; the seed is fixed.
    layout, rng = CASES["matern"], np.random.default_rng(3)
    C = rng.random((250, 2))
    K = 1.0 * slow.correlations(layout, np.array([0.2, 1.5]), C, C) + 0.1 * np.eye(250)
    payoffs = np.linalg.cholesky(K) @ rng.standard_normal(250)
    start = prior_median(Prior(), 2)
    found = maximize_posterior(layout, C, payoffs, np.ones(250), Prior(), start, 100)
    assert np.log(found.lengthscales[0] / 0.2) == pytest.approx(0.0, abs=0.5)
    assert found.lengthscales[1] > 3.0 * found.lengthscales[0]
    assert np.log(found.noise_var / 0.1) == pytest.approx(0.0, abs=0.5)


def test_maximize_posterior_sees_the_noise_of_repeated_points():
    layout, rng = CASES["se"], np.random.default_rng(4)
    C = np.repeat(rng.random((60, 2)), 2, axis=0)
    payoffs = np.repeat(np.sin(5.0 * C[::2, 0]), 2) + 0.5 * rng.standard_normal(120)
    found = maximize_posterior(layout, C, payoffs, np.ones(120), Prior(), prior_median(Prior(), 2))
    assert found.noise_var == pytest.approx(0.25, rel=0.5)


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
