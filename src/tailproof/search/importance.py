"""How much each parameter matters for the robust mean over the whole space.

The total-effect index of a parameter is the share of the variance of the mean payoff f, over
uniformly drawn configurations, that is left when all others are known (Sobol', 2001). With two
independent designs A and B, and A_j equal to A but for parameter j, which is that of B, Jansen's
estimate (1999) is

    T_j = mean (f(A) - f(A_j))^2 / (2 Var f(A)).

Shares of parameters that act together overlap, so they may add up to more than 1. The interval is
of joint draws of f from the posterior; it is practical.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailproof._util import checks
from tailproof.search.acquisition import sobol
from tailproof.search.optimizer import Optimizer
from tailproof.search.space.parameters import Fixed
from tailproof.search.space.space import Space

Array = NDArray[np.float64]

_POINTS, _DRAWS = 128, 96


@dataclass(frozen=True)
class Importance:
    """Total-effect index of one parameter, with an interval."""

    name: str
    share: float
    lower: float
    upper: float
    level: float


def importance(optimizer: Optimizer, *, level: float = 0.9) -> list[Importance]:
    """Return how much each parameter matters, in the order of the space.

    Parameters
    ----------
    optimizer
        Over a `Space`; at least one payoff was told.
    level
        Confidence level of the intervals.

    Examples
    --------
    >>> import tailproof as tp
    >>> opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1), y=tp.Float(0, 1)))
    >>> for trial in opt.ask(30):
    ...     opt.tell(trial, trial.params["x"])
    >>> x, y = importance(opt)
    >>> x.share > 0.9 > 0.1 > y.share
    True
    """
    level = checks.in_unit_interval("level", level, closed_above=False)
    space = optimizer.space
    if not isinstance(space, Space):
        raise ValueError(f"`optimizer` must be over a Space of parameters, but got {space!r}.")
    optimizer._log.require_payoffs()
    names = [name for name in space.names if not isinstance(space.parameters[name], Fixed)]
    rng = np.random.default_rng([optimizer.seed, len(optimizer), 13])
    both = sobol(2 * len(names), _POINTS, rng)
    designs = _designs(both[:, : len(names)], both[:, len(names) :])
    U = space.snap(np.vstack(designs))
    mean = optimizer._model.predict(U, level).mean[None]
    draws = optimizer._model.draw_means(U, _DRAWS, rng)
    shares, spread = _total_effects(mean, len(names))[0], _total_effects(draws, len(names))
    tail = (1.0 - level) / 2.0
    lower, upper = np.quantile(spread, [tail, 1.0 - tail], axis=0)
    lower, upper = np.minimum(lower, shares), np.maximum(upper, shares)
    # Estimates from samples can exceed 1, shares cannot.
    ends = np.minimum([shares, lower, upper], 1.0).T.tolist()
    return [
        Importance(name, share, low, high, level)
        for name, (share, low, high) in zip(names, ends, strict=True)
    ]


def _designs(A: Array, B: Array) -> list[Array]:
    """Return A (n, d), and for each column A with that column of B: designs for total effects."""
    designs = [A]
    for j in range(A.shape[1]):
        changed = A.copy()
        changed[:, j] = B[:, j]
        designs.append(changed)
    return designs


def _total_effects(f: Array, count: int) -> Array:
    """Return Jansen's estimates (s, count) from values (s, n (1 + count)) at all designs.

    Examples
    --------
    >>> _total_effects(np.array([[0.0, 1.0, 1.0, 0.0, 0.0, 1.0]]), 2).tolist()
    [[2.0, 0.0]]
    """
    parts = f.reshape(len(f), count + 1, -1)
    variance = parts[:, 0].var(axis=1)
    scale = np.abs(parts).max(axis=(1, 2))
    known = variance > (1e-9 * scale) ** 2  # else nothing varies, up to rounding
    squares = ((parts[:, 1:] - parts[:, :1]) ** 2).mean(axis=2)
    return np.where(known[:, None], squares / (2.0 * np.where(known, variance, 1.0))[:, None], 0.0)
