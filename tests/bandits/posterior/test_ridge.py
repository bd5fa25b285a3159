"""Kernel ridge regression: scikit-learn's Gaussian process, singular kernels, information gain."""

import numpy as np
import pytest
from hypothesis import given
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern

import tailproof as tp
from policy_setups import properties, random_arms, ridges, seeds

ARMS = np.random.default_rng(5).uniform(size=(25, 2))
LINE = np.linspace(0, 1, 20)[:, None]
KERNEL = tp.SquaredExponential(0.3)
RIDGE = 0.4


def told(opt, rounds=200):
    rng = np.random.default_rng(6)
    arms, payoffs = rng.integers(len(ARMS), size=rounds), rng.standard_t(1.2, size=rounds)
    opt.tell_index(arms, payoffs)
    return arms, payoffs


@pytest.mark.parametrize("policy", ["gp_ucb", "tgp_ucb"])
def test_ridge_policies_equal_scikit_learn_on_and_off_the_arms(policy):
    if policy == "gp_ucb":
        opt = tp.gp_ucb(tp.Finite(ARMS), KERNEL, tp.CustomSchedule(2.0), ridge=RIDGE)
    else:
        opt = tp.tgp_ucb(tp.Finite(ARMS), KERNEL, schedule=tp.CustomSchedule(2.0), ridge=RIDGE)
    arms, payoffs = told(opt)
    gp = GaussianProcessRegressor(RBF(0.3), alpha=RIDGE, optimizer=None)
    gp.fit(ARMS[arms], payoffs)
    other = np.random.default_rng(7).uniform(-0.5, 1.5, size=(40, 2))
    for points, prediction in ((ARMS, opt.predict()), (other, opt.predict(other))):
        mean, std = gp.predict(points, return_std=True)
        np.testing.assert_allclose(prediction.mean, mean, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(prediction.std, std, rtol=1e-9, atol=1e-10)


def test_many_arms_take_the_low_rank_form_and_give_the_same_posterior():
    arms = np.linspace(0, 1, 1500)[:, None]
    opt = tp.gp_ucb(
        tp.Finite(arms), tp.SquaredExponential(0.2), tp.CustomSchedule(2.0), ridge=RIDGE
    )
    assert len(opt.posterior._core) < 100
    rng = np.random.default_rng(8)
    index, payoffs = rng.integers(1500, size=700), rng.normal(size=700)
    opt.tell_index(index, payoffs)
    gp = GaussianProcessRegressor(RBF(0.2), alpha=RIDGE, optimizer=None)
    mean, std = gp.fit(arms[index], payoffs).predict(arms, return_std=True)
    np.testing.assert_allclose(opt.predict().mean, mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(opt.predict().std, std, rtol=1e-8, atol=1e-9)


def test_many_arms_under_a_rough_kernel_take_the_span_of_the_played_ones():
    grid = np.linspace(0, 1, 35)
    arms = np.array([(x, y) for x in grid for y in grid])
    opt = tp.gp_ucb(tp.Finite(arms), tp.Matern(0.5, 0.2), tp.CustomSchedule(2.0), ridge=RIDGE)
    rng = np.random.default_rng(8)
    index, payoffs = rng.integers(len(arms), size=600), rng.normal(size=600)
    opt.tell_index(index, payoffs)
    assert len(opt.posterior._core) == np.unique(index).size
    gp = GaussianProcessRegressor(Matern(0.2, nu=0.5), alpha=RIDGE, optimizer=None)
    gp.fit(arms[index], payoffs)
    other = rng.uniform(size=(20, 2))
    for points, prediction in ((arms, opt.predict()), (other, opt.predict(other))):
        mean, std = gp.predict(points, return_std=True)
        np.testing.assert_allclose(prediction.mean, mean, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(prediction.std, std, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("ridge", [1e-6, 1e-9, 1e-12])
def test_matrices_that_are_singular_to_rounding_never_stop_a_tell(ridge):
    twice = np.vstack([LINE[:5], LINE[:5]])
    nearly = np.ones((10, 10)) + np.diag(np.linspace(0, 1, 10))
    nearly -= 5e-9 * np.outer(*[np.linspace(-1, 1, 10)] * 2)
    for space, kernel in (
        (tp.Finite(twice), tp.Matern(0.5, 0.3)),
        (tp.Finite([f"arm {i}" for i in range(10)]), tp.Precomputed(nearly)),
    ):
        opt = tp.gp_ucb(space, kernel, tp.CustomSchedule(1.0), ridge=ridge)
        rng = np.random.default_rng(2)
        opt.tell_index(rng.integers(10, size=3000), rng.normal(size=3000))
        assert len(opt) == 3000
        assert np.isfinite(opt.predict().mean).all()


def test_the_information_gain_is_made_anew_with_the_rest():
    opt = tp.gp_ucb(tp.Finite(LINE), tp.SquaredExponential(0.2), tp.CustomSchedule(1.0), ridge=0.1)
    index = np.random.default_rng(3).integers(20, size=1024)  # ends on a refresh
    opt.tell_index(index, np.zeros(1024))
    counts = np.bincount(index, minlength=20)
    gram = tp.SquaredExponential(0.2).matrix(LINE, LINE)
    exact = np.linalg.slogdet(np.eye(20) + gram * counts / 0.1)[1]
    assert opt.posterior.log_det == pytest.approx(exact, rel=1e-11)


@properties
@given(seed=seeds, ridge=ridges)
def test_sum_of_predictive_variances_is_bounded_by_the_information_gain(seed, ridge):
    """Predictive variances: sum_s sigma_{s-1}^2(x_s) <= (1 + lambda) ln|I + K_t / lambda|."""
    rng = np.random.default_rng(seed)
    arms = random_arms(rng)
    opt = tp.gp_ucb(
        tp.Finite(arms), tp.SquaredExponential(0.3), tp.CustomSchedule(3.0), ridge=ridge
    )
    total = 0.0
    for _ in range(60):
        arm = opt.ask_index() if rng.random() < 0.5 else int(rng.integers(len(arms)))
        total += opt.predict().std[arm] ** 2
        opt.tell_index(arm, float(rng.normal()))
        log_det = opt.posterior.log_det
        assert total <= (1 + ridge) * log_det * (1 + 1e-9)
    played = opt.history.points
    gram = tp.SquaredExponential(0.3).matrix(played, played)
    assert log_det == pytest.approx(np.linalg.slogdet(np.eye(60) + gram / ridge)[1], rel=1e-9)
