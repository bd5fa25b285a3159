"""The frequency of outliers: evidence and mode of a logistic Gaussian process."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import literal_process as slow
from tailproof.search.model.constants import CONSTANT_VAR, OUTLIER
from tailproof.search.model.correlation import KernelLayout, KernelParameters
from tailproof.search.model.outlier_rate import (
    OutlierRate,
    condition_rate,
    laplace,
    learn_rate,
    prior_log_odds,
)

LAYOUT = KernelLayout(np.arange(2), np.zeros(2, dtype=np.int64))
SCALES = np.array([0.3, 0.6])


def regional(n, seed, here=0.4, elsewhere=0.02):
    """Outliers that are frequent where the first coordinate is above 0.7."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    rates = np.where(points[:, 0] > 0.7, here, elsewhere)
    return points, (rng.random(n) < rates).astype(float)


def covariance(points, signal=2.0):
    return signal * slow.correlations(LAYOUT, SCALES, points, points) + CONSTANT_VAR


def test_the_evidence_is_laplace_s_written_out():
    points, outliers = regional(14, 0)
    weights, offset = np.random.default_rng(1).uniform(0.2, 1.0, 14), -1.5
    K = covariance(points)
    inverse = np.linalg.inv(K)

    def negative_log_density(eta):
        p = 1.0 / (1.0 + np.exp(-(offset + eta)))
        log = outliers * np.log(p) + (1.0 - outliers) * np.log(1.0 - p)
        return 0.5 * eta @ inverse @ eta - weights @ log

    mode = minimize(negative_log_density, np.zeros(14), tol=1e-12, options={"maxiter": 5000})
    p = 1.0 / (1.0 + np.exp(-(offset + mode.x)))
    W = np.diag(weights * p * (1.0 - p))
    expected = -mode.fun - 0.5 * np.linalg.slogdet(np.eye(14) + K @ W)[1]
    evidence, log_odds = laplace(K, outliers, weights, offset)
    assert evidence == pytest.approx(expected, abs=2e-3)
    np.testing.assert_allclose(log_odds, offset + mode.x, atol=0.02)


def test_the_evidence_of_one_payoff_is_near_its_integral():
    K, offset = np.array([[1.5]]), 0.3
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    p = 1.0 / (1.0 + np.exp(-(offset + math.sqrt(1.5) * nodes)))
    exact = math.log(float(weights @ p) / math.sqrt(2.0 * math.pi))
    assert laplace(K, np.ones(1), np.ones(1), offset)[0] == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_a_rate_that_varies_is_told_from_one_that_does_not(seed):
    weights = np.ones(200)
    varies = learn_rate(*regional(200, seed), weights, LAYOUT, (SCALES,))
    steady = learn_rate(*regional(200, seed, 0.1, 0.1), weights, LAYOUT, (SCALES,))
    assert varies.probability > 0.95
    assert steady.probability < 0.6


def test_rows_of_little_weight_tell_little():
    points, outliers = regional(200, 0)
    strong = learn_rate(points, outliers, np.ones(200), LAYOUT, (SCALES,))
    weak = learn_rate(points, outliers, np.full(200, 1e-5), LAYOUT, (SCALES,))
    assert strong.probability > 0.95
    # Next to no evidence either way: the prior remains.
    prior = 1.0 / (1.0 + math.exp(-OUTLIER.prior_log_odds))
    assert weak.probability == pytest.approx(prior, abs=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_the_evidence_of_many_payoffs_comes_from_a_part_that_stands_for_all(seed):
    # Counts keep the rate: with outliers as frequent everywhere the constant stays probable.
    points, outliers = regional(3000, seed, 0.1, 0.1)
    assert learn_rate(points, outliers, np.ones(3000), LAYOUT, (SCALES,)).probability < 0.9
    points, outliers = regional(3000, seed)
    assert learn_rate(points, outliers, np.ones(3000), LAYOUT, (SCALES,)).probability > 0.99


def test_conditioning_finds_the_mode():
    points, outliers = regional(40, 2)
    weights = np.random.default_rng(3).uniform(0.5, 1.0, 40)
    kernel = KernelParameters(SCALES, 2.0, 1.0)
    offset = prior_log_odds(outliers, weights)
    rate = OutlierRate(kernel, np.full(30, offset), 0.9)
    _, expected = laplace(covariance(points), outliers, weights, offset)
    nothing = np.zeros((0, 2))
    posterior, log_odds = condition_rate(
        points, outliers, weights, rate, LAYOUT, nothing, None, OUTLIER.newton_steps
    )
    np.testing.assert_allclose(log_odds, expected, atol=0.02)
    np.testing.assert_allclose(
        posterior.offset + posterior.deviation.predict(points)[0], log_odds, atol=1e-6
    )
    here, there = posterior.deviation.predict(np.array([[0.9, 0.5], [0.2, 0.5]]))[0]
    assert here > there + 1.0
