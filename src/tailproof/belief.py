"""What is believed about the mean payoff everywhere, under a calibration and all payoffs told."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailproof.calibration import Calibration, Data, Settings
from tailproof.robust_fit import left_out, process_on, settle
from tailproof.surrogate import Layout, Process, Varying

Array = NDArray[np.float64]

# Features of the remainder's process: it is known roughly only.
_REMAINDER_BASIS = 96


@dataclass(frozen=True)
class Belief:
    """Mean and standard deviation of f(x) = m(x) + s(x) (centre + remainder(x)), standardised.

    Attributes
    ----------
    calibration
        What the last refit learnt.
    pilot, remainder
        The two processes; their variances add up.
    tamed
        Which payoffs were tamed, (n,).
    residuals
        Of the payoffs around the pilot, in units of s(x), (n,).
    """

    calibration: Calibration
    pilot: Process
    remainder: Varying
    tamed: NDArray[np.bool_]
    residuals: Array

    def predict(self, C: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation at the rows of C (n, p)."""
        total, s, variance = self._moments(C)
        return total, np.sqrt(variance + s**2 * self.remainder.variance)

    def _moments(self, C: Array) -> tuple[Array, Array, Array]:
        """Return mean, scale s and the variance without that of the remainder's constant."""
        known = self.calibration
        mean, variance = self.pilot.predict(C)
        more, doubt = self.remainder.predict(C)
        s = known.spread.of(mean)
        return mean + s * (known.cut.centre + more), s, variance + s**2 * doubt

    def uppers(self, C: Array, width: float) -> Array:
        """Return what the search compares at the rows of C (n, p): mean + width x deviation.

        Not knowing the remainder's constant c leaves a doubt about s(x) c. What all points share
        of it says nothing about which is best, so here only (s(x) - 1) c is in doubt: under heavy
        tails the whole would hide how much better some points are known than others.
        """
        total, s, variance = self._moments(C)
        return total + width * np.sqrt(variance + (s - 1.0) ** 2 * self.remainder.variance)

    def bias(self, C: Array) -> Array:
        """Return how much of the mean the bound on single payoffs may hide, at the rows of C."""
        rest = self.calibration.remainder
        if rest is None:
            return np.zeros(len(C))
        return rest.bias * self.calibration.spread.of(self.pilot.predict(C)[0])

    def upper(self, c: Array, width: float) -> tuple[float, Array]:
        """Return `uppers` at one point c (p,), and its gradient."""
        known, common = self.calibration, self.remainder.variance
        mean, variance, mean_slope, variance_slope = self.pilot.predict_gradient(c)
        more, doubt, more_slope, doubt_slope = self.remainder.predict_gradient(c)
        s = float(known.spread.of(np.array([mean]))[0])
        s_slope = known.spread.slope(mean) * mean_slope
        offset = known.cut.centre + more
        total = mean + s * offset
        total_slope = mean_slope + s_slope * offset + s * more_slope
        deviation = math.sqrt(max(variance + s**2 * doubt + (s - 1.0) ** 2 * common, 1e-300))
        doubled = s * doubt + (s - 1.0) * common
        variance_slope = variance_slope + 2.0 * s_slope * doubled + s**2 * doubt_slope
        return total + width * deviation, total_slope + width * variance_slope / (2.0 * deviation)


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
    raw = calibration.standardise(data.payoffs)
    z = settings.taming.prepare(raw)
    scales, fitted = np.ones(len(z)), np.full(len(z), float(np.median(z)))
    if calibration.spread.rate != 0.0:  # the scales follow the pilot, which follows them
        rough = process_on(
            layout, calibration.shape, data.points, scales, pending, calibration.anchors
        )
        scales = calibration.spread.of(settle(rough, cut, z, scales, fitted))
    pilot = process_on(layout, calibration.shape, data.points, scales, pending, calibration.anchors)
    fitted = settle(pilot, cut, z, scales, fitted)
    residuals = (z - fitted) / scales
    pilot.learn(fitted + scales * cut.psi(residuals) / cut.slope)
    alone = left_out(cut, residuals, pilot.leverage())
    remainder = _remainder(data, cut.excess(alone), pending, calibration, layout)
    return Belief(calibration, pilot, remainder, cut.tamed(residuals) | (raw != z), residuals)


def _remainder(
    data: Data, excess: Array, pending: Array, calibration: Calibration, layout: Layout
) -> Varying:
    """Return what is believed about the mean of what the cut takes off."""
    rest = calibration.remainder
    if rest is None:
        return Varying(0.0, 0.0)
    mean = float(np.mean(np.clip(excess, -rest.bound, rest.bound)))
    variance = rest.scale**2 / len(data)
    if rest.weight == 0.0:
        return Varying(mean, variance)
    ones = np.ones(len(data))
    process = process_on(
        layout, rest.shape, data.points, ones, pending, calibration.anchors, _REMAINDER_BASIS
    )
    process.learn(np.clip(excess, -rest.inner_bound, rest.inner_bound) / rest.inner_scale)
    process.centre()
    return Varying(mean, variance, process, rest.inner_scale, rest.weight)
