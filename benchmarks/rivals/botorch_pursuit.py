"""BoTorch's robust model, fitted by backward relevance pursuit, in closed form.

`RobustRelevancePursuitSingleTaskGP` gives every payoff a variance of its own, then takes it away
from all but a few: for one share of outliers after the other the model is fitted and those with the
least variance lose it; of the models on the way the most probable one stays. Here are its steps and
its numbers (`tests/experiments/test_arena_botorch.py`); its own code copies whole models on the way
and takes ten times as long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from rivals.botorch_fit import PARAMETERS, loss_of, shape, with_outliers
from rivals.botorch_posterior import Shape
from rivals.domains import Array

MOST = 1.0 - 1e-3  # of an outlier's raw parameter, to which its variance is 1 / (1 - raw) - 1
TOLERANCE = 1e-8  # of the relative fall of the loss, and of its gradient
PRIOR_SHARE = 0.2  # of outliers that is expected


def pursue(model: Any, shares: Sequence[float], iterations: int) -> Shape:
    """Fit a SingleTaskGP with outliers and return its hyperparameters.

    Parameters
    ----------
    model
        As BoTorch makes it: its payoffs, priors, bounds and starting values count.
    shares
        Of the payoffs that may be outliers, one model each, besides the one in which all may be.
    iterations
        At most, of each model's fit.
    """
    start, count = shape(model), len(model.train_targets)
    dense = np.array([*start.lengthscales, start.constant, *start.noise])
    bounds = _bounds(model)
    known = loss_of(model, (*PARAMETERS, "rho"), np.arange(count))
    size = len(dense)
    expected = max(int(PRIOR_SHARE * count), 1)
    support, raw = np.arange(count), np.zeros(count)
    best: tuple[float, Shape] | None = None
    for number in sorted({count, *(int(share * count) for share in shares)}, reverse=True):
        kept = np.sort(np.argsort(raw, kind="stable")[len(raw) - number :])
        support = support[kept]
        places = known.places | {"rho": slice(size, size + number)}
        found = minimize(
            replace(known, outliers=support, places=places),
            np.append(dense, np.zeros(number)),
            jac=True,
            method="L-BFGS-B",
            bounds=[*bounds, *[(0.0, MOST)] * number],
            options={"maxiter": iterations, "ftol": TOLERANCE, "gtol": TOLERANCE},
        )
        dense, raw = found.x[:size], found.x[size:]
        # An exponential law of the number of outliers.
        score = -float(found.fun) - number / expected - math.log(expected)
        if best is None or score > best[0]:
            best = score, _shape(dense, count, support, raw)
    assert best is not None
    return best[1]


def _bounds(model: Any) -> list[tuple[float | None, float | None]]:
    least = float(model.covar_module.raw_lengthscale_constraint.lower_bound)
    dimension = model.covar_module.raw_lengthscale.numel()
    noise = float(model.likelihood.noise_covar.raw_noise_constraint.lower_bound)
    return [*[(least, None)] * dimension, (None, None), (noise, None)]


def _shape(dense: Array, count: int, support: Any, raw: Array) -> Shape:
    noise = with_outliers(dense[-1:], count, support, raw)
    return Shape(dense[:-2].copy(), float(dense[-2]), noise)
