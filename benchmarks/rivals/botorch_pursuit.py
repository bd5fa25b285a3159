"""BoTorch's robust model, fitted by backward relevance pursuit, in closed form.

`RobustRelevancePursuitSingleTaskGP` gives every payoff a variance of its own and then removes it
from all but a few: for one fraction of outliers after the other the model is fitted and the payoffs
with the smallest variances lose theirs; the most probable of these models is kept. This module does
the same steps with the same numbers (`tests/benchmarks/rivals/test_botorch.py`) in a tenth of the
time: BoTorch's own code copies whole models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from rivals.botorch_fit import PARAMETERS, hyperparameters, loss_of, with_outliers
from rivals.botorch_posterior import Hyperparameters
from rivals.domains import Array

MAX_RAW = 1.0 - 1e-3  # of an outlier's raw parameter; its variance is 1 / (1 - raw) - 1
TOLERANCE = 1e-8  # of the relative decrease of the loss, and of its gradient
PRIOR_FRACTION = 0.2  # of outliers, the mean of the prior


def pursue(model: Any, fractions: Sequence[float], iterations: int) -> Hyperparameters:
    """Fit a SingleTaskGP with outliers and return its hyperparameters.

    Parameters
    ----------
    model
        As BoTorch makes it: its payoffs, priors, bounds and initial values are used.
    fractions
        Of payoffs that may be outliers, one model for each, besides the one in which all may be.
    iterations
        At most, of each model's fit.
    """
    start, count = hyperparameters(model), len(model.train_targets)
    dense = np.array([*start.lengthscales, start.constant, *start.noise])
    bounds = _bounds(model)
    full_loss = loss_of(model, (*PARAMETERS, "rho"), np.arange(count))
    size = len(dense)
    expected = max(int(PRIOR_FRACTION * count), 1)
    support, raw = np.arange(count), np.zeros(count)
    best: tuple[float, Hyperparameters] | None = None
    for number in sorted({count, *(int(fraction * count) for fraction in fractions)}, reverse=True):
        kept = np.sort(np.argsort(raw, kind="stable")[len(raw) - number :])
        support = support[kept]
        places = full_loss.places | {"rho": slice(size, size + number)}
        found = minimize(
            replace(full_loss, outliers=support, places=places),
            np.append(dense, np.zeros(number)),
            jac=True,
            method="L-BFGS-B",
            bounds=[*bounds, *[(0.0, MAX_RAW)] * number],
            options={"maxiter": iterations, "ftol": TOLERANCE, "gtol": TOLERANCE},
        )
        dense, raw = found.x[:size], found.x[size:]
        # The prior of the number of outliers is exponential.
        score = -float(found.fun) - number / expected - math.log(expected)
        if best is None or score > best[0]:
            best = score, _hyperparameters(dense, count, support, raw)
    assert best is not None
    return best[1]


def _bounds(model: Any) -> list[tuple[float | None, float | None]]:
    least = float(model.covar_module.raw_lengthscale_constraint.lower_bound)
    dimension = model.covar_module.raw_lengthscale.numel()
    noise = float(model.likelihood.noise_covar.raw_noise_constraint.lower_bound)
    return [*[(least, None)] * dimension, (None, None), (noise, None)]


def _hyperparameters(dense: Array, count: int, support: Any, raw: Array) -> Hyperparameters:
    noise = with_outliers(dense[-1:], count, support, raw)
    return Hyperparameters(dense[:-2].copy(), float(dense[-2]), noise)
