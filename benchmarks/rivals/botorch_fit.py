"""The marginal likelihood of BoTorch's models in closed form, for BoTorch's own fit.

`fit_gpytorch_mll` takes a closure for the loss and its gradient; without one it makes one that runs
gpytorch forwards and backwards. This one returns the same numbers
(`tests/experiments/test_arena_botorch.py`) in a tenth of the time. Models, priors, bounds, starts,
optimizer and retries stay BoTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from rivals.botorch_posterior import Shape, inverse, kernel
from rivals.domains import Array
from rivals.peers import load

# The parameters in the order of a fit with outliers, whose own come last.
PARAMETERS = ("lengthscale", "constant", "noise")
RAW = "raw_"  # how gpytorch calls a parameter; without a transform it is the parameter itself


def closure(mll: Any) -> Any:
    """Return a closure for `fit_gpytorch_mll` of a SingleTaskGP."""
    base: Any = load("botorch.optim.closures.core").NdarrayOptimizationClosure
    known, _ = load("botorch.optim.utils").get_parameters_and_bounds(mll)
    loss = loss_of(mll.model, [name.rpartition(RAW)[2] for name in known])

    class InClosedForm(base):  # type: ignore[misc]
        """What BoTorch's optimizer calls: parameters as a vector, loss and gradient of one."""

        def __call__(self, state: Array | None = None, **_: Any) -> tuple[float, Array]:
            return loss(self.state if state is None else state)

    return InClosedForm(None, known)


def loss_of(model: Any, order: Sequence[str] = PARAMETERS, outliers: Any = None) -> Loss:
    """Return the loss of a SingleTaskGP as a function of its parameters in an order."""
    model.train()  # then the inputs are as given, and the targets standardized
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


def shape(model: Any) -> Shape:
    """Return the hyperparameters a SingleTaskGP has now."""
    noise = model.likelihood.noise_covar.raw_noise.detach().numpy().ravel()
    lengthscales = model.covar_module.raw_lengthscale.detach().numpy().ravel()
    return Shape(lengthscales.copy(), float(model.mean_module.raw_constant), noise.copy())


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
        Location and scale of the log-normal laws of the lengthscales and of the noise.
    places
        Where in a vector of parameters each of them stands.
    outliers
        Numbers of the payoffs with a variance of their own, or None.
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
        away = self.targets - x[places["constant"]]
        pull = precision @ away
        loss = 0.5 * away @ pull + np.log(np.diag(factor)).sum() + 0.5 * n * math.log(2 * math.pi)
        between = precision - np.outer(pull, pull)
        own = np.diag(between)
        between = between * gram
        # sum_ij M_ij (x_i - x_j)^2 / 2 of a symmetric M, in every coordinate
        apart = between.sum(axis=1) @ points**2
        apart -= np.einsum("ij,ij->j", points, between @ points)
        lengthscale_loss, lengthscale_slope = _prior(lengthscales, self.priors[0])
        noise_loss, noise_slope = _prior(base, self.priors[1])
        gradient = np.empty(len(x))
        gradient[places["lengthscale"]] = apart / lengthscales**3 + lengthscale_slope
        gradient[places["constant"]] = -pull.sum()
        # An outlier's variance grows with the base, by 1 + rho.
        gradient[places["noise"]] = 0.5 * (own * (1.0 + noise)).sum() / (1.0 + base) + noise_slope
        if self.outliers is not None:
            gradient[places["rho"]] = 0.5 * own[self.outliers] * (1.0 + base) / (1.0 - raw) ** 2
        return (float(loss) + lengthscale_loss + noise_loss) / n, gradient / n


def with_outliers(base: Array, count: int, numbers: Any, raw: Array) -> Array:
    """Return the noise variances (n,) of payoffs of which some are outliers.

    BoTorch's convex parameters: rho = 1 / (1 - raw) - 1, in units of the variance without it.
    """
    extra = np.zeros(count)
    extra[numbers] = 1.0 / (1.0 - raw) - 1.0
    return np.asarray(base + extra * (1.0 + base))


def _log_normal(prior: Any) -> tuple[float, float]:
    return float(prior.loc), float(prior.scale)


def _prior(x: Array, prior: tuple[float, float]) -> tuple[float, Array]:
    """Return the negative log density of a log-normal law, summed, and its gradient."""
    loc, scale = prior
    away = (np.log(x) - loc) / scale
    constant = len(x) * math.log(scale * math.sqrt(2.0 * math.pi))
    return float((0.5 * away**2 + np.log(x)).sum()) + constant, (away / scale + 1.0) / x
