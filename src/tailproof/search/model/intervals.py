"""Intervals for mean payoffs: practical ones, whose coverage was measured, not proved.

An interval is as wide as the posterior's, with some caution, and beyond that holds what taming may
hide of the mean and what the most extreme payoff sways.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from tailproof.search.model.parameters import Data, Settings
from tailproof.search.model.posterior import Belief, believe

Array = NDArray[np.float64]

# Intervals are this much wider than the posterior's, which knows neither that it was searched for
# its maximum nor that its shape is a guess; chosen by coverage on problems made for tuning.
_CAUTION = 1.3


def interval(
    belief: Belief, data: Data, settings: Settings, C: Array, level: float
) -> tuple[Array, Array]:
    """Return centers and half widths of intervals for the mean payoff at coordinates C (k, c).

    Parameters
    ----------
    belief
        What is believed, without pending trials.
    data, settings
        What it was made from.
    C
        Coordinates of the configurations, (k, c).
    level
        Probability with which an interval is to hold the mean, in (0, 1).

    Returns
    -------
    tuple
        Centers (k,) and half widths (k,), in units of the payoff, maximizing.
    """
    mean, deviation = belief.predict(C)
    calibration = belief.calibration
    width = _CAUTION * float(norm.isf((1.0 - level) / 2.0))
    sway = _sway(belief, data, settings, C, mean)
    half = calibration.scale * (width * deviation + belief.bias(C) + sway)
    return calibration.location + calibration.scale * mean, half


def _sway(belief: Belief, data: Data, settings: Settings, C: Array, mean: Array) -> Array:
    """Return how far the means (k,) at the rows of C move without the most extreme payoff.

    Only if it was clipped: one that is like the others is what the deviation is about.
    """
    extreme = int(np.argmax(np.abs(belief.residuals)))
    if not belief.clipped[extreme]:
        return np.zeros(len(C))
    others = np.arange(len(data)) != extreme
    without = believe(
        Data(data.points[others], data.payoffs[others]),
        data.points[:0],
        belief.calibration,
        settings,
    )
    return np.abs(without.predict(C)[0] - mean)
