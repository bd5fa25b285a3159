"""The kernel prior against the dense Gaussian process it stands for."""

import numpy as np
import pytest

import tailproof as tp
from tailproof._compiled import arm_statistics as compiled
from tailproof.kernels import Matern


def told(seed=0, rounds=400, n=30):
    """Return a bandit on a line and its points after some rounds of light noise."""
    X = np.linspace(0.0, 1.0, n)[:, None]
    bandit = tp.Bandit(X, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        arm = bandit.ask_index()
        bandit.tell_index(arm, float(np.sin(5.0 * X[arm, 0]) + 0.3 * rng.standard_normal()))
    return bandit, X


def dense_posterior(prior, statistics, X):
    """Mean and standard deviation of the same model, from its n x n covariance."""
    p = prior.parameters
    K = p.smooth_variance * Matern(2.5, p.lengthscale).matrix(X, X) + p.nugget * np.eye(len(X))
    means, error, played = prior._scaled(statistics)
    noise = np.diag(error[played])
    gain = np.linalg.solve(K[np.ix_(played, played)] + noise, K[played]).T
    mean = gain @ means[played]
    variance = np.diag(K - gain @ K[played])
    return prior.mean + prior.unit * mean, prior.unit * np.sqrt(variance)


def test_the_posterior_is_that_of_the_dense_process():
    bandit, X = told()
    prior, statistics = bandit._prior, bandit._statistics
    mean, std = dense_posterior(prior, statistics, X)
    found_mean, found_std = prior.posterior(statistics)
    assert found_mean == pytest.approx(mean, abs=1e-3)
    assert found_std == pytest.approx(std, rel=0.02)


def test_updates_by_one_arm_are_those_of_all_arms():
    bandit, _ = told()
    prior, statistics = bandit._prior, bandit._statistics
    before = prior.posterior(statistics)
    prior.condition(statistics)
    for one, other in zip(before, prior.posterior(statistics), strict=True):
        assert one == pytest.approx(other, abs=1e-6)


def test_pending_payoffs_lower_deviations_as_told_ones_would():
    """Payoffs at the posterior mean change no mean; the noise of an arm is kept as it is."""
    bandit, _ = told(rounds=60)
    prior, statistics = bandit._prior, bandit._statistics
    pending = np.zeros(30, dtype=np.int64)
    pending[[2, 11]] = 1, 5
    mean, std = prior.posterior(statistics)
    same, lower = prior.posterior(statistics, pending)
    assert (same == mean).all()
    assert (lower < std * (1.0 + 1e-9)).all()
    assert (lower[[2, 11]] < std[[2, 11]]).all()
    weight = statistics.stats[:, compiled.WEIGHT]
    noise = np.where(
        weight > 0.0,
        statistics.stats[:, compiled.NOISE],
        statistics.shared[compiled.TYPICAL_NOISE],
    )
    statistics.stats[:, compiled.NOISE] = noise
    weight += pending
    prior.condition(statistics)
    assert prior.posterior(statistics)[1] == pytest.approx(lower, rel=1e-6)


def test_draws_have_the_posterior_s_mean_and_deviation():
    """4,000 draws: within five standard errors at each of 30 arms."""
    bandit, _ = told(rounds=100)
    prior, statistics = bandit._prior, bandit._statistics
    rng = np.random.default_rng(1)
    draws = np.array([prior.draw(statistics, rng) for _ in range(4_000)])
    mean, std = prior.posterior(statistics)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * std / np.sqrt(4_000)).all()
    assert draws.std(axis=0) == pytest.approx(std, rel=5 / np.sqrt(2 * 4_000))


def test_smooth_means_are_recognized_and_independent_ones_too():
    bandit, X = told()
    p = bandit._prior.parameters
    assert p.smooth_variance > 5 * p.nugget
    rng = np.random.default_rng(0)
    f = rng.standard_normal(len(X)) * 2.0
    rough = tp.Bandit(X, seed=0)
    for arm in range(len(X)):
        rough.tell_index([arm] * 30, f[arm] + 0.3 * rng.standard_normal(30))
    assert np.abs(rough.predict().mean - f).max() < 0.5
    assert rough._prior.parameters.lengthscale[0] < 0.1 < p.lengthscale[0]


def test_arms_tell_of_their_neighbors():
    bandit, X = told(n=200)
    unplayed = bandit.counts == 0
    assert unplayed.any()
    mean, _ = bandit._prior.posterior(bandit._statistics)
    near_the_best = np.abs(X[:, 0] - np.pi / 10) < 0.1
    assert np.abs(mean - np.sin(5.0 * X[:, 0]))[near_the_best].max() < 0.4
    assert bandit._statistics.stats[:, compiled.COUNT].sum() == len(bandit)
