"""The marginal likelihood of BoTorch's models in closed form, for BoTorch's own fit.

`fit_gpytorch_mll` takes a closure that returns the loss and its gradients; without one it makes one
that runs gpytorch forwards and backwards. This one returns the same numbers
(`tests/experiments/test_arena_botorch.py`) in a tenth of the time. Models, priors, bounds, starts,
optimiser, retries and the choice of outliers stay BoTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from tailproof.experiments.arena.botorch_posterior import Shape, inverse, kernel
from tailproof.experiments.arena.domains import Array
from tailproof.experiments.arena.peers import load

RAW = "raw_"  # how gpytorch calls a parameter; without a transform it is the parameter itself


def closure(mll: Any) -> Callable[[], tuple[Any, list[Any]]]:
    """Return a closure for `fit_gpytorch_mll` of a SingleTaskGP, with outliers or without.

    Loss: -(ln N(y; c, A) + ln p(lengthscales) + ln p(noise)) / n. With W = A^-1 - a a^T and
    a = A^-1 (y - c), the gradient of -ln N with respect to a parameter is tr(W dA) / 2.
    """
    torch = load("torch")
    # In training mode the inputs are as given, and the targets standardised.
    mll.train()
    with torch.no_grad():
        points = mll.model.transform_inputs(mll.model.train_inputs[0]).numpy().copy()
    targets = mll.model.train_targets.numpy().copy()
    lengthscale_prior = mll.model.covar_module.lengthscale_prior
    base = _base_noise(mll.likelihood)
    priors = _log_normal(lengthscale_prior), _log_normal(base.noise_prior)
    # Relevance pursuit replaces the outliers' parameter between fits; the order stays.
    order = [name.rpartition(RAW)[2] for name, one in mll.named_parameters() if one.requires_grad]

    def evaluate() -> tuple[Any, list[Any]]:
        found = shape(mll.model)
        loss, gradients = _negative(points, targets, found, mll.likelihood, priors)
        return torch.tensor(loss, dtype=torch.double), [
            torch.from_numpy(gradients[name]) for name in order
        ]

    return evaluate


def shape(model: Any) -> Shape:
    """Return the hyperparameters a model has now; outliers have their own noise, (n,)."""
    likelihood = model.likelihood
    lengthscales = model.covar_module.raw_lengthscale.detach().numpy().ravel()
    constant = float(model.mean_module.raw_constant)
    noise = _base_noise(likelihood).raw_noise.detach().numpy().ravel()
    outliers = _outliers(likelihood)
    if outliers is not None:
        numbers, raw = outliers
        extra = np.zeros(likelihood.noise_covar.dim)
        extra[numbers] = 1.0 / (1.0 - raw) - 1.0
        noise = noise + extra * (1.0 + noise)
    return Shape(lengthscales.copy(), constant, noise.copy())


def _base_noise(likelihood: Any) -> Any:
    return getattr(likelihood.noise_covar, "base_noise", likelihood.noise_covar)


def _outliers(likelihood: Any) -> tuple[Any, Array] | None:
    """Return which payoffs may be outliers and their raw parameters, or None without any model."""
    noise = likelihood.noise_covar
    if not hasattr(noise, "raw_rho"):
        return None
    raw = noise.raw_rho.detach().numpy()
    numbers = np.array(noise.support, dtype=np.intp) if noise.is_sparse else np.arange(noise.dim)
    return numbers, raw


def _log_normal(prior: Any) -> tuple[float, float]:
    return float(prior.loc), float(prior.scale)


def _prior(x: Array, prior: tuple[float, float]) -> tuple[float, Array]:
    """Return the negative log density of a log-normal law, summed, and its gradient."""
    loc, scale = prior
    away = (np.log(x) - loc) / scale
    constant = len(x) * math.log(scale * math.sqrt(2.0 * math.pi))
    return float((0.5 * away**2 + np.log(x)).sum()) + constant, (away / scale + 1.0) / x


def _negative(
    points: Array, targets: Array, found: Shape, likelihood: Any, priors: tuple[Any, Any]
) -> tuple[float, dict[str, Array]]:
    """Return the loss, and its gradients by the names of the parameters."""
    n = len(targets)
    gram = kernel(points, points, found.lengthscales)
    covariance = gram.copy()
    covariance[np.diag_indices(n)] += found.noise
    try:
        factor, precision = inverse(covariance)
    except LinAlgError as error:
        raise load("linear_operator.utils.errors").NotPSDError(str(error)) from error
    away = targets - found.constant
    pull = precision @ away
    loss = 0.5 * away @ pull + np.log(np.diag(factor)).sum() + 0.5 * n * math.log(2.0 * math.pi)
    between = precision - np.outer(pull, pull)
    own = np.diag(between)
    between = between * gram
    sums = between.sum(axis=1)
    # sum_ij M_ij (x_i - x_j)^2 / 2 of a symmetric M, in every coordinate
    apart = sums @ points**2 - np.einsum("ij,ij->j", points, between @ points)
    base = _base_noise(likelihood).raw_noise.detach().numpy().ravel()
    ratio = (1.0 + found.noise) / (1.0 + base)  # 1 + rho: how the noise follows its base
    lengthscale_loss, lengthscale_slope = _prior(found.lengthscales, priors[0])
    noise_loss, noise_slope = _prior(base, priors[1])
    gradients = {
        "lengthscale": apart / found.lengthscales**3 + lengthscale_slope,
        "constant": -pull.sum(keepdims=True),
        "noise": 0.5 * (own * ratio).sum(keepdims=True) + noise_slope,
    }
    outliers = _outliers(likelihood)
    if outliers is not None:
        numbers, raw = outliers
        gradients["rho"] = 0.5 * own[numbers] * (1.0 + base) / (1.0 - raw) ** 2
    total = float(loss) + lengthscale_loss + noise_loss
    return total / n, {name: one / n for name, one in gradients.items()}
