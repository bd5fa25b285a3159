"""Without truncation every policy is kernel ridge regression, and GP-UCB is scikit-learn's GP."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

import tailproof as tp

ARMS = np.random.default_rng(5).uniform(size=(25, 2))
KERNEL = tp.SquaredExponential(0.3)
RIDGE = 0.4


def told(opt, rounds=200):
    rng = np.random.default_rng(6)
    arms, payoffs = rng.integers(len(ARMS), size=rounds), rng.standard_t(1.2, size=rounds)
    opt.tell_index(arms, payoffs)
    return arms, payoffs


def kernel_ridge(gram, diagonal, arms, payoffs):
    inner = np.linalg.inv(gram[np.ix_(arms, arms)] + RIDGE * np.eye(len(arms)))
    mean = gram[:, arms] @ inner @ payoffs
    variance = diagonal - np.einsum("ij,jk,ik->i", gram[:, arms], inner, gram[:, arms])
    return mean, variance


@pytest.mark.parametrize(
    ("features", "variance"),
    [
        (tp.QuadratureFourier(16), "i"),
        (tp.QuadratureFourier(16, folded=False), "i"),
        (tp.QuadratureFourier(16), "ii"),
        (tp.RandomFourier(40), "i"),
        (tp.Exact(1e-14), "ii"),
        (tp.Exact(1e-14), "i"),
        (tp.Nystrom(0.5, oversampling=1e9, cutoff=1e-14), "ii"),
        (tp.Nystrom(0.5, oversampling=1e9, cutoff=1e-14, reduced=True), "ii"),
    ],
    ids=str,
)
@pytest.mark.parametrize("median", [False, True])
def test_no_truncation_is_kernel_ridge_regression(features, variance, median):
    make = tp.moma_gp_ucb if median else tp.ata_gp_ucb
    more = {"groups": 1} if median else {}
    opt = make(
        tp.Finite(ARMS),
        KERNEL,
        features=features,
        variance=variance,
        schedule=tp.CustomSchedule(2.0),
        ridge=RIDGE,
        seed=3,
        **more,
    )
    arms, payoffs = told(opt)
    if isinstance(features, tp.RandomFourier):
        # The random map has its own kernel; ridge regression is to be done with that one.
        phi = opt._posterior.embedding.coordinates
        gram = phi @ phi.T
    else:
        gram = KERNEL.matrix(ARMS, ARMS)
    mean, variances = kernel_ridge(gram, np.diag(gram), arms, payoffs)
    got = opt.predict()
    np.testing.assert_allclose(got.mean, mean, atol=1e-6 * np.abs(mean).max())
    np.testing.assert_allclose(got.std**2, variances, atol=1e-6)


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
    assert not opt._posterior._dense
    rng = np.random.default_rng(8)
    index, payoffs = rng.integers(1500, size=700), rng.normal(size=700)
    opt.tell_index(index, payoffs)
    gp = GaussianProcessRegressor(RBF(0.2), alpha=RIDGE, optimizer=None)
    mean, std = gp.fit(arms[index], payoffs).predict(arms, return_std=True)
    np.testing.assert_allclose(opt.predict().mean, mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(opt.predict().std, std, rtol=1e-8, atol=1e-9)
