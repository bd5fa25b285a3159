"""Arrays of rounds, checked once, and b_t and beta_t of a schedule over them.

`tailproof.bandits.schedules` has the formulas. `rounds` are integers of any shape; results have
this shape.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof.bandits.schedules import Schedule

Array = NDArray[np.float64]


def round_numbers(rounds: ArrayLike, horizon: int | None = None) -> NDArray[np.int64]:
    """Return `rounds` as an int64 array, each entry at least 1 and at most `horizon`."""
    t = np.asarray(rounds)
    if t.dtype.kind not in "iu":
        raise ValueError(f"`rounds` must be integers, but got rounds={rounds!r}.")
    t = t.astype(np.int64)
    if t.size and int(t.min()) < 1:
        raise ValueError(f"`rounds >= 1` must hold, but got rounds={int(t.min())}.")
    if horizon is not None and t.size and int(t.max()) > horizon:
        raise ValueError(
            f"`rounds <= horizon` must hold, but got rounds={int(t.max())} with horizon={horizon}."
        )
    return t


def at_each_round(name: str, value: ArrayLike, rounds: NDArray[np.int64]) -> Array:
    """Return `value`, one number or one a round, as a finite array of the rounds' shape, >= 0."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), rounds.shape):
        raise ValueError(
            f"`{name}` must be one number or one a round, but got shape {array.shape} for rounds "
            f"of shape {rounds.shape}."
        )
    array = np.broadcast_to(array, rounds.shape)
    if array.size and not (np.isfinite(array).all() and float(array.min()) >= 0.0):
        raise ValueError(f"`{name} >= 0` must hold and be finite, but got {name}={value!r}.")
    return array


def truncation_thresholds(schedule: Schedule, rounds: ArrayLike, directions: int = 0) -> Array:
    """Return b_t of a schedule, in units of payoff, for m = `directions` truncated features.

    Examples
    --------
    >>> from tailproof.bandits.schedules import MomentBound, Setting, Theorem1
    >>> setting = Setting(MomentBound(1.0, 1.0), 1.0, 1.0, 0.1, 10_000)
    >>> truncation_thresholds(Theorem1(setting), [1, 16, 10_000])
    array([ 1.,  2., 10.])
    """
    t = round_numbers(rounds)
    thresholds = [schedule.truncation(int(s), directions) for s in t.flat]
    return np.array(thresholds, dtype=np.float64).reshape(t.shape)


def largest_betas(
    schedule: Schedule, rounds: ArrayLike, gain: ArrayLike, directions: ArrayLike = 0
) -> Array:
    """Return beta_T of a schedule at its largest.

    Round T plays after T - 1 payoffs, whose ln|I + K/lambda| is at most 2 gamma_T. (The paper's
    proof of Theorem 1 writes gamma_T there; the factor 2 of the definition got lost.) `gain`, an
    upper bound on gamma_T, and `directions`, m or the most there can be, are one number or one a
    round.

    Examples
    --------
    >>> from tailproof.bandits.schedules import MomentBound, Setting, Theorem1
    >>> setting = Setting(MomentBound(1.0, 1.0), 1.0, 1.0, 0.1, 10_000)
    >>> largest_betas(Theorem1(setting), [1, 10_001], gain=[0.3, 10.0]).round(2)
    array([  1.  , 149.81])
    """
    t = round_numbers(rounds)
    log_det = 2.0 * at_each_round("gain", gain, t)
    m = at_each_round("directions", directions, t)
    betas = [
        schedule.beta(int(s) - 1, math.floor(count), float(log))
        for s, count, log in zip(t.flat, m.flat, log_det.flat, strict=True)
    ]
    return np.array(betas, dtype=np.float64).reshape(t.shape)
