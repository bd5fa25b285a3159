"""The marginal likelihood of BoTorch's models in closed form, for BoTorch's own fit.

`fit_gpytorch_mll` takes a closure for the loss and its gradient; without one it makes one that runs
gpytorch forwards and backwards. This one returns the same numbers
(`tests/benchmarks/rivals/test_botorch.py`) in a tenth of the time. Models, priors, bounds, initial
values, optimizer and retries are BoTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from rivals.botorch_posterior import Hyperparameters, inverse, kernel
from rivals.domains import Array
from rivals.peers import load

# In the order of a fit with outliers, whose parameters come last.
PARAMETERS = ("lengthscale", "constant", "noise")
RAW = "raw_"  # gpytorch's prefix; without a transform the raw parameter is the parameter


def closure(mll: Any) -> Any:
    """Return the closure for `fit_gpytorch_mll` of a SingleTaskGP."""
    base: Any = load("botorch.optim.closures.core").NdarrayOptimizationClosure
    parameters, _ = load("botorch.optim.utils").get_parameters_and_bounds(mll)
    loss = loss_of(mll.model, [name.rpartition(RAW)[2] for name in parameters])

    class ClosedForm(base):  # type: ignore[misc]
        """Interface to BoTorch's optimizer: loss and gradient at a vector of parameters."""

        def __call__(self, state: Array | None = None, **_: Any) -> tuple[float, Array]:
            return loss(self.state if state is None else state)

    return ClosedForm(None, parameters)


def loss_of(model: Any, order: Sequence[str] = PARAMETERS, outliers: Any = None) -> Loss:
    """Return the loss of a SingleTaskGP as a function of its parameters, in the given order."""
    model.train()  # so that inputs are as given and targets are standardized
    with load("torch").no_grad():
        points = model.transform_inputs(model.train_inputs[0]).numpy().copy()
    targets = model.train_targets.numpy().copy()
    sizes = {"lengthscale": points.shape[1], "constant": 1, "noise": 1}
    sizes["rho"] = 0 if outliers is None else len(outliers)
    ends = np.cumsum([0, *(sizes[name] for name in order)])
    places = {name: slice(ends[i], ends[i + 1]) for i, name in enumerate(order)}
    priors = (
        _log_normal(model.covar_module.lengthscale_prior),
        _log_normal(model.likelihood.noise_covar.noise_prior),
    )
    return Loss(points, targets, priors, places, outliers)


def hyperparameters(model: Any) -> Hyperparameters:
    """Return the present hyperparameters of a SingleTaskGP."""
    noise = model.likelihood.noise_covar.raw_noise.detach().numpy().ravel()
    lengthscales = model.covar_module.raw_lengthscale.detach().numpy().ravel()
    return Hyperparameters(lengthscales.copy(), float(model.mean_module.raw_constant), noise.copy())


@dataclass(frozen=True, eq=False)
class Loss:
    """-(ln N(y; c, A) + ln p(lengthscales) + ln p(noise)) / n, and its gradient.

    With W = A^-1 - a a^T and a = A^-1 (y - c), the gradient of -ln N with respect to a parameter is
    tr(W dA) / 2.

    Attributes
    ----------
    points, targets
        In the unit cube (n, d), and standardized (n,).
    priors
        Location and scale of the log-normal priors of the lengthscales and of the noise.
    places
        Positions of the parameters in a vector of all of them.
    outliers
        Indices of the payoffs with a variance of their own, or None.
    """

    points: Array
    targets: Array
    priors: tuple[tuple[float, float], tuple[float, float]]
    places: dict[str, slice]
    outliers: Any = None

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the loss and its gradient at parameters x, (p,); nan where there is none."""
        n, points, places = len(self.targets), self.points, self.places
        lengthscales, base = x[places["lengthscale"]], x[places["noise"]]
        gram = kernel(points, points, lengthscales)
        noise = base
        if self.outliers is not None:
            raw = x[places["rho"]]
            noise = with_outliers(base, n, self.outliers, raw)
        covariance = gram.copy()
        covariance[np.diag_indices(n)] += noise
        try:
            factor, precision = inverse(covariance)
        except LinAlgError:
            return math.nan, np.full(len(x), math.nan)
        residual = self.targets - x[places["constant"]]
        weights = precision @ residual
        fit = 0.5 * residual @ weights
        loss = fit + np.log(np.diag(factor)).sum() + 0.5 * n * math.log(2 * math.pi)
        W = precision - np.outer(weights, weights)
        diagonal = np.diag(W)
        W = W * gram
        # sum_ij W_ij (x_i - x_j)^2 / 2 of the symmetric W, in every coordinate
        squares = W.sum(axis=1) @ points**2
        squares -= np.einsum("ij,ij->j", points, W @ points)
        lengthscale_loss, lengthscale_slope = _prior(lengthscales, self.priors[0])
        noise_loss, noise_slope = _prior(base, self.priors[1])
        gradient = np.empty(len(x))
        gradient[places["lengthscale"]] = squares / lengthscales**3 + lengthscale_slope
        gradient[places["constant"]] = -weights.sum()
        # An outlier's variance grows with the base, by 1 + rho.
        shared = 0.5 * (diagonal * (1.0 + noise)).sum() / (1.0 + base)
        gradient[places["noise"]] = shared + noise_slope
        if self.outliers is not None:
            own = 0.5 * diagonal[self.outliers]
            gradient[places["rho"]] = own * (1.0 + base) / (1.0 - raw) ** 2
        return (float(loss) + lengthscale_loss + noise_loss) / n, gradient / n


def with_outliers(base: Array, count: int, outliers: Any, raw: Array) -> Array:
    """Return the noise variances (n,) of payoffs of which some are outliers.

    BoTorch's convex parameters: rho = 1 / (1 - raw) - 1, in units of the variance without it.
    """
    extra = np.zeros(count)
    extra[outliers] = 1.0 / (1.0 - raw) - 1.0
    return np.asarray(base + extra * (1.0 + base))


def _log_normal(prior: Any) -> tuple[float, float]:
    return float(prior.loc), float(prior.scale)


def _prior(x: Array, prior: tuple[float, float]) -> tuple[float, Array]:
    """Return the negative log density of a log-normal distribution, summed, and its gradient."""
    loc, scale = prior
    standardized = (np.log(x) - loc) / scale
    constant = len(x) * math.log(scale * math.sqrt(2.0 * math.pi))
    loss = float((0.5 * standardized**2 + np.log(x)).sum()) + constant
    return loss, (standardized / scale + 1.0) / x
