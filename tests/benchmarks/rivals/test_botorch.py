"""The closed forms of BoTorch's functions agree with BoTorch, where it is installed."""

import numpy as np
import pytest

from rivals import botorch_fit
from rivals.botorch_posterior import (
    Hyperparameters,
    LogNEI,
    Posterior,
    UpperConfidenceBound,
    candidates_for_best,
    plus,
)
from rivals.botorch_pursuit import pursue

torch = pytest.importorskip("torch", reason="benchmarks/requirements.txt is not installed")
pytest.importorskip("botorch", reason="benchmarks/requirements.txt is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch and of the fits


def data(d, n, seed=0, tail=1.5):
    rng = np.random.default_rng((seed, d, n))
    X = rng.random((n, d))
    X[-1] = X[0]  # a point evaluated twice
    return X, 3.0 + 2.0 * np.sin(5.0 * X).sum(axis=1) + rng.standard_t(tail, n)


SUPPORT, RAW = (2, 7, 5), (0.1, 0.5, 0.9)  # of outliers, with their raw parameters


def model_of(X, y, kind):
    """A model of BoTorch with given hyperparameters, without outliers or with some."""
    from botorch.models import SingleTaskGP
    from botorch.models.likelihoods.sparse_outlier_noise import SparseOutlierGaussianLikelihood

    model = SingleTaskGP(torch.tensor(X), torch.tensor(y)[:, None])
    with torch.no_grad():
        model.covar_module.raw_lengthscale.copy_(torch.linspace(0.3, 0.7, X.shape[1])[None, :])
        model.mean_module.raw_constant.fill_(0.2)
        model.likelihood.noise_covar.raw_noise.fill_(0.05)
    if kind == "rrp":
        model.likelihood = SparseOutlierGaussianLikelihood(
            base_noise=model.likelihood.noise_covar, dim=len(X), outlier_indices=list(SUPPORT)
        )
        raw = torch.tensor(RAW, dtype=torch.double)
        model.likelihood.noise_covar.set_sparse_parameter(torch.nn.Parameter(raw))
    return model


def hyperparameters_of(X, y, kind):
    """The hyperparameters of `model_of`."""
    found = botorch_fit.hyperparameters(model_of(X, y, "plain"))
    if kind == "plain":
        return found
    noise = botorch_fit.with_outliers(found.noise, len(X), np.array(SUPPORT), np.array(RAW))
    return Hyperparameters(found.lengthscales, found.constant, noise)


def likelihood_of(model):
    from gpytorch.mlls import ExactMarginalLogLikelihood

    return ExactMarginalLogLikelihood(model.likelihood, model)


@pytest.mark.parametrize("kind", ["plain", "rrp"])
@pytest.mark.parametrize(("d", "n"), [(1, 12), (3, 25), (6, 60)])
def test_loss_and_gradients_are_those_of_botorch(kind, d, n):
    from botorch.optim.closures import get_loss_closure_with_grads

    X, y = data(d, n)
    mll = likelihood_of(model_of(X, y, kind))
    mll.train()
    parameters = {name: one for name, one in mll.named_parameters() if one.requires_grad}
    theirs, slopes = get_loss_closure_with_grads(mll, parameters)()
    order = [name.rpartition("raw_")[2] for name in parameters]
    if kind == "plain":
        loss, gradient = botorch_fit.closure(mll)()
    else:
        model = model_of(X, y, "plain")
        ours = botorch_fit.loss_of(model, order, np.array(SUPPORT))
        x = np.concatenate([one.detach().numpy().ravel() for one in parameters.values()])
        loss, gradient = ours(x)
    assert loss == pytest.approx(float(theirs), rel=1e-8)
    assert len(order) == (4 if kind == "rrp" else 3)
    known = np.concatenate([one.numpy().ravel() for one in slopes])
    np.testing.assert_allclose(gradient, known, rtol=1e-7, atol=1e-10)


def assert_same_hyperparameters(ours, theirs):
    np.testing.assert_allclose(ours.lengthscales, theirs.lengthscales, rtol=1e-2)
    np.testing.assert_allclose(ours.noise, theirs.noise, rtol=2e-2)
    assert ours.constant == pytest.approx(theirs.constant, abs=1e-2)


def test_a_fit_ends_where_botorch_s_own_ends():
    from botorch.fit import fit_gpytorch_mll

    X, y = data(2, 40)
    found = []
    for own in (True, False):
        mll = likelihood_of(model_of(X, y, "plain"))
        fit_gpytorch_mll(mll, closure=botorch_fit.closure(mll) if own else None)
        found.append(botorch_fit.hyperparameters(mll.model))
    assert_same_hyperparameters(*found)


def test_relevance_pursuit_ends_where_botorch_s_own_ends():
    """To convergence: on the way there rounding decides."""
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.robust_relevance_pursuit_model import RobustRelevancePursuitSingleTaskGP

    X, y = data(2, 40, 3)
    shares = [0.0, 0.05, 0.1, 0.2, 0.3, 0.5]
    x, payoffs = torch.tensor(X), torch.tensor(y)[:, None]
    ours = pursue(SingleTaskGP(x, payoffs), shares, 10_000)
    model = RobustRelevancePursuitSingleTaskGP(x, payoffs)
    fit_gpytorch_mll(likelihood_of(model), fractions_of_outliers=shares)
    noise = model.likelihood.noise_covar
    base = noise.base_noise.raw_noise.detach().numpy()
    raw = noise.raw_rho.detach().numpy()
    assert 0 < len(noise.support) < 20
    assert set(np.flatnonzero(ours.noise > ours.noise.min())) <= set(noise.support)
    theirs = Hyperparameters(
        model.covar_module.raw_lengthscale.detach().numpy().ravel(),
        float(model.mean_module.raw_constant),
        botorch_fit.with_outliers(base, 40, np.array(noise.support), raw),
    )
    assert_same_hyperparameters(ours, theirs)


def both(kind, d, n):
    X, y = data(d, n)
    model = model_of(X, y, kind)
    ours = Posterior(X, y, hyperparameters_of(X, y, kind))
    mll = likelihood_of(model)
    mll.train()
    model(model.train_inputs[0])
    model.eval()
    return model, ours, X


@pytest.mark.parametrize("kind", ["plain", "rrp"])
@pytest.mark.parametrize(("d", "n"), [(1, 12), (3, 25), (6, 60)])
def test_bounds_are_those_of_botorch(kind, d, n):
    from botorch import acquisition

    model, posterior, _ = both(kind, d, n)
    at = np.random.default_rng(1).random((9, d))
    for ours, theirs in (
        (UpperConfidenceBound(posterior, 2.0), acquisition.UpperConfidenceBound(model, beta=4.0)),
        (UpperConfidenceBound(posterior, 0.0), acquisition.PosteriorMean(model)),
    ):
        compare(ours, theirs, at, 1e-7)
    mean, variance = posterior.moments(at)
    known = model.posterior(torch.tensor(at))
    np.testing.assert_allclose(mean, known.mean.detach()[:, 0], rtol=1e-9)
    np.testing.assert_allclose(variance, known.variance.detach()[:, 0], rtol=1e-7)


def compare(ours, theirs, at, tolerance):
    values, gradients = ours(at)
    x = torch.tensor(at, requires_grad=True)
    known = theirs(x[:, None, :])
    known.sum().backward()
    np.testing.assert_allclose(values, known.detach(), rtol=tolerance, atol=tolerance)
    size = float(x.grad.abs().max())
    np.testing.assert_allclose(gradients, x.grad, rtol=tolerance, atol=tolerance * size)


@pytest.mark.parametrize("kind", ["plain", "rrp"])
@pytest.mark.parametrize(("d", "n"), [(1, 12), (3, 25), (6, 60)])
def test_log_nei_is_that_of_botorch(kind, d, n):
    from botorch.acquisition.logei import qLogNoisyExpectedImprovement
    from botorch.sampling import SobolQMCNormalSampler

    model, posterior, X = both(kind, d, n)
    baseline = np.array([1, 4, 6, 9])
    sampler = SobolQMCNormalSampler(torch.Size([64]), seed=5)
    theirs = qLogNoisyExpectedImprovement(
        model, torch.tensor(X[baseline]), sampler=sampler, prune_baseline=False
    )
    at = np.random.default_rng(1).random((9, d))
    theirs(torch.tensor(at)[:, None, :])  # its draws are made with the first call
    normal = theirs.sampler.base_samples.reshape(64, -1, len(baseline) + 1)[:, 0].numpy()
    compare(LogNEI(posterior, baseline, normal), theirs, at, 1e-5)


@pytest.mark.parametrize("kind", ["plain", "rrp"])
def test_the_same_points_are_pruned(kind):
    from botorch.acquisition.utils import prune_inferior_points

    model, posterior, X = both(kind, 3, 25)
    normal = np.random.default_rng(0).standard_normal((2048, 30))
    ours = candidates_for_best(posterior, normal)
    theirs = prune_inferior_points(model, torch.tensor(X)).numpy()
    known = {tuple(point) for point in theirs}
    # Points that are the best in a few draws only may stay in the one and not in the other.
    assert len(known ^ {tuple(X[i]) for i in ours}) <= 3
    assert 2 <= len(ours) < len(X) - 1


def test_the_smooth_maximum_has_fat_tails_and_the_right_slope():
    x = np.array([-1.0, -1e-5, -1e-7, 0.0, 1e-7, 1e-5, 1.0])
    value, slope = plus(x)
    assert (value > 0.0).all()
    assert value[-1] == pytest.approx(1.0)
    step = 1e-10
    np.testing.assert_allclose(
        (plus(x + step)[0] - plus(x - step)[0])[1:-1] / (2.0 * step), slope[1:-1], rtol=1e-3
    )
