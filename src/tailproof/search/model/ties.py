"""Whether payoffs are sparse: most of them equal to one value, the tie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tailproof.search.model.constants import TWO_PART
from tailproof.search.model.parameters import Observations
from tailproof.search.model.warp import location_and_spread


def tied_value(observations: Observations) -> float | None:
    """Return the value that most single payoffs have if they are sparse, and None otherwise.

    Payoffs of one place that are all equal, but for rounding, count once: a noise-free objective
    that is evaluated again and again at its optimum is not sparse.

    Examples
    --------
    >>> points, sem = np.array([[0.1], [0.2], [0.3], [0.3]]), np.full(4, np.nan)
    >>> tied_value(Observations(points, np.array([0.0, 0.0, 0.0, 7.0]), sem))
    0.0
    >>> tied_value(Observations(points, np.array([7.0, 1.0, 0.0, 0.0]), sem)) is None
    True
    """
    single = observations.single
    payoffs = observations.payoffs[single]
    values, ties = np.unique(payoffs, return_counts=True)
    if len(values) < 2 or 2 * int(ties.max()) <= len(payoffs):
        return None
    tie = float(values[np.argmax(ties)])
    _, which = np.unique(observations.points[single], axis=0, return_inverse=True)
    which = which.reshape(-1)
    lowest = np.full(int(which.max()) + 1, np.inf)
    highest = -lowest
    half = 0.5 * payoffs  # differences of these do not overflow
    np.minimum.at(lowest, which, half)
    np.maximum.at(highest, which, half)
    same = highest - lowest <= TWO_PART.same * location_and_spread(half)[1]
    weights = np.where(same, 1.0 / np.bincount(which), 1.0)[which]
    tied = float(weights[payoffs == tie].sum())
    return tie if tied > 1.0 + 1e-9 and 2.0 * tied > float(weights.sum()) + 1e-9 else None


def tied_means_as_payoffs(observations: Observations, tie: float) -> Observations:
    """Return the observations; a mean of exactly the tie without error counts as one tied payoff.

    It is the mean of tied payoffs alone, and its standard error says nothing of others to come.
    """
    tied = (observations.payoffs == tie) & (observations.sem == 0.0)
    return replace(observations, sem=np.where(tied, np.nan, observations.sem))
