"""What is believed about the mean payoff everywhere, under a calibration and all payoffs told."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

from tailproof.search.model.gp import Layout, Process, Varying
from tailproof.search.model.m_estimation import features_on, left_out, settle
from tailproof.search.model.parameters import Calibration, Data, Settings

Array = NDArray[np.float64]

# Features of the remainder's process: it is known roughly only.
_REMAINDER_BASIS = 96


@dataclass(frozen=True)
class Belief:
    """Mean and standard deviation of f(x) = m(x) + s(x) (center + remainder(x)), standardized.

    Attributes
    ----------
    calibration
        What the last refit learnt.
    pilot, remainder
        The two processes; their variances add up.
    clipped
        Which payoffs were clipped, (n,).
    residuals
        Of the payoffs around the pilot, in units of s(x), (n,).
    """

    calibration: Calibration
    pilot: Process
    remainder: Varying
    clipped: NDArray[np.bool_]
    residuals: Array

    def predict(self, C: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation at the rows of C (n, p)."""
        known = self.calibration
        mean, variance = self.pilot.predict(C)
        more, doubt = self.remainder.predict(C)
        s = known.spread.of(mean)
        doubt = doubt + self.remainder.variance
        return mean + s * (known.cut.center + more), np.sqrt(variance + s**2 * doubt)

    def uppers(self, C: Array, width: float) -> Array:
        """Return what the search compares at the rows of C (n, p): the mean, or an upper end of it.

        Whether the remainder varies is not known. An end is the higher one of the two that the
        answers have: `width` deviations above the mean if it does not, and if it does, the fewer
        the less probable that is (`_fewer`): what is improbable is looked at, too. For `width` 0
        it is the mean over both answers.

        Not knowing the remainder's constant c leaves a doubt about s(x) c. What all points share
        of it says nothing about which is best, so here only (s(x) - 1) c is in doubt: under heavy
        tails the whole would hide how much better some points are known than others.
        """
        known, rest = self.calibration, self.remainder
        mean, variance = self.pilot.predict(C)
        s = known.spread.of(mean)
        variance = variance + (s - 1.0) ** 2 * rest.variance
        mean = mean + s * (known.cut.center + rest.mean)
        if rest.process is None:
            return mean + width * np.sqrt(variance)
        away, doubt = rest.process.predict(C)
        away *= s * rest.scale
        if width == 0.0:
            return mean + rest.weight * away
        varying = np.sqrt(variance + (s * rest.scale) ** 2 * doubt)
        return np.maximum(
            mean + width * np.sqrt(variance), mean + away + _fewer(width, rest.weight) * varying
        )

    def bias(self, C: Array) -> Array:
        """Return how much of the mean the bound on single payoffs may hide, at the rows of C."""
        rest = self.calibration.remainder
        if rest is None:
            return np.zeros(len(C))
        return rest.bias * self.calibration.spread.of(self.pilot.predict(C)[0])

    def upper(self, c: Array, width: float) -> tuple[float, Array]:
        """Return `uppers` at one point c (p,), and its gradient."""
        known, rest = self.calibration, self.remainder
        mean, variance, mean_slope, variance_slope = self.pilot.predict_gradient(c)
        s = float(known.spread.of(np.array([mean]))[0])
        s_slope = known.spread.slope(mean) * mean_slope
        offset = known.cut.center + rest.mean
        mean_slope = mean_slope + s_slope * offset
        mean += s * offset
        variance += (s - 1.0) ** 2 * rest.variance
        variance_slope = variance_slope + 2.0 * s_slope * (s - 1.0) * rest.variance
        if rest.process is None:
            return _end(mean, mean_slope, variance, variance_slope, width)
        away, doubt, away_slope, doubt_slope = rest.process.predict_gradient(c)
        away_slope = rest.scale * (s_slope * away + s * away_slope)
        away *= s * rest.scale
        if width == 0.0:
            return mean + rest.weight * away, mean_slope + rest.weight * away_slope
        doubt_slope = rest.scale**2 * s * (2.0 * s_slope * doubt + s * doubt_slope)
        doubt *= (s * rest.scale) ** 2
        steady = _end(mean, mean_slope, variance, variance_slope, width)
        varying = _end(
            mean + away,
            mean_slope + away_slope,
            variance + doubt,
            variance_slope + doubt_slope,
            _fewer(width, rest.weight),
        )
        return max(steady, varying, key=lambda end: end[0])


def _end(
    mean: float, mean_slope: Array, variance: float, variance_slope: Array, width: float
) -> tuple[float, Array]:
    """Return mean + width x standard deviation, and its gradient."""
    deviation = math.sqrt(max(variance, 1e-300))
    return mean + width * deviation, mean_slope + width * variance_slope / (2.0 * deviation)


def _fewer(width: float, weight: float) -> float:
    """Return how many deviations above its own mean an answer of probability `weight` ends.

    Above `width` deviations a normal variable lies with probability q = P(Z > width). That this
    answer holds and its value lies above its end is to be as rare: P(Z > end) = q / weight. The end
    is not taken below the answer's mean.

    Examples
    --------
    >>> [round(_fewer(3.0, weight), 2) for weight in (1.0, 0.2, 0.001)]
    [3.0, 2.47, 0.0]
    """
    # In logarithms: P(Z > 40) is no number any more.
    log_share = min(float(log_ndtr(-width)) - math.log(weight), 0.0)
    return max(-float(ndtri_exp(log_share)), 0.0)


def believe(data: Data, pending: Array, calibration: Calibration, settings: Settings) -> Belief:
    """Return the belief from all payoffs told, under a calibration made from some of them.

    Parameters
    ----------
    data
        All payoffs.
    pending
        Model coordinates of trials still running, (k, p): they lower the variance alone.
    calibration
        The last refit's.
    settings
        As for the refit.
    """
    layout, cut = settings.layout, calibration.cut
    raw = calibration.standardize(data.payoffs)
    z = settings.loss.prepare(raw)
    scales, fitted = np.ones(len(z)), np.full(len(z), float(np.median(z)))
    features = features_on(
        layout, calibration.shape.lengthscales, data.points, pending, calibration.anchors
    )
    if calibration.spread.rate != 0.0:  # the scales follow the pilot, which follows them
        rough = features.process(calibration.shape, scales)
        scales = calibration.spread.of(settle(rough, cut, z, scales, fitted))
    pilot = features.process(calibration.shape, scales)
    fitted = settle(pilot, cut, z, scales, fitted)
    residuals = (z - fitted) / scales
    pilot.learn(fitted + scales * cut.psi(residuals) / cut.slope)
    alone = left_out(cut, residuals, pilot.leverage())
    if settings.loss.restores_mean:
        alone, residuals = alone + (raw - z) / scales, residuals + (raw - z) / scales
    remainder = _remainder(data, alone, pending, calibration, layout)
    return Belief(calibration, pilot, remainder, cut.clipped(residuals) | (raw != z), residuals)


def _remainder(
    data: Data, residuals: Array, pending: Array, calibration: Calibration, layout: Layout
) -> Varying:
    """Return what is believed about the mean of what the cut takes off the left-out residuals."""
    rest = calibration.remainder
    if rest is None:
        return Varying(0.0, 0.0)
    excess = calibration.cut.excess(residuals)
    mean = float(np.mean(np.clip(excess, -rest.bound, rest.bound)))
    variance, far = rest.scale**2 / len(data), rest.varying
    if far is None:
        return Varying(mean, variance)
    lengthscales, anchors = far.shape.lengthscales, calibration.anchors
    features = features_on(layout, lengthscales, data.points, pending, anchors, _REMAINDER_BASIS)
    process = features.process(far.shape, np.ones(len(data)))
    process.learn(far.marks(residuals, excess))
    process.center()
    return Varying(mean, variance, process, far.scale, far.weight)
