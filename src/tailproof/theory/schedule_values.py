"""b_t and beta_t as arrays over rounds; `tailproof.bandits.schedules` has the formulas."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tailproof.bandits.schedules import Schedule
from tailproof.theory._rounds import Array, at_each_round, round_numbers


def truncation_thresholds(schedule: Schedule, rounds: ArrayLike, directions: int = 0) -> Array:
    """Return b_t of a schedule for every t in `rounds`, in units of payoff.

    Parameters
    ----------
    schedule
        Such as `tailproof.bandits.schedules.Theorem1(setting)`.
    rounds
        t, integers of any shape.
    directions
        m, the number of features truncated in (Theorems 3 and 4).

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
    """Return beta_T of a schedule at its largest, for every T in `rounds`.

    Round T plays after T - 1 payoffs, whose ln|I + K/lambda| is at most 2 gamma_T. (The paper's
    proof of Theorem 1 writes gamma_T there; the factor 2 of the definition got lost.)

    Parameters
    ----------
    schedule
        Such as `tailproof.bandits.schedules.Theorem1(setting)`.
    rounds
        T, integers of any shape.
    gain
        Upper bound on gamma_T, one number or one a round.
    directions
        m, or the most there can be, one number or one a round.

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
