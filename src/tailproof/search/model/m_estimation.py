"""Fit a process to tamed payoffs: the penalized equations of a cut, and left-out residuals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailproof.search.model.gp import (
    Basis,
    Layout,
    Process,
    Shape,
    Smoother,
    choose_basis,
    most_telling,
)
from tailproof.search.model.noise import Cut

Array = NDArray[np.float64]

# A process is exact up to that many sites.
BASIS = 224
# Beyond, its features are of so many points chosen at a refit, and of the latest.
_ANCHORS, _LATEST = 160, 32
# A leverage near 1 says that the payoff stands alone: its residual says nothing.
_LARGEST_LEVERAGE = 0.8
# Most steps of the penalized equations for one cut, and the change at which they stop.
_STEPS, _STILL = 40, 1e-5
# A step moves no further than the cut is wide, so a cut is approached from wider ones, each so many
# times as wide as the next.
_WIDER = 4.0
_MOST_STAGES = 12


@dataclass(frozen=True)
class Features:
    """A basis, and the features of the points of payoffs seen (n, m) and expected (k, m)."""

    basis: Basis
    rows: Array
    pending: Array

    def process(self, shape: Shape, scales: Array) -> Process:
        """Return the process given payoffs whose noise has these relative scales, (n,)."""
        return Process(self.basis, shape, self.rows, 1.0 / scales**2, self.pending)


def features_on(
    layout: Layout,
    lengthscales: Array,
    points: Array,
    pending: Array,
    anchors: Array | None = None,
    limit: int = BASIS,
) -> Features:
    """Return basis and features for points of payoffs seen (n, p) and expected (k, p).

    Beyond `limit` sites the basis is made of the first of `anchors`, and of the latest points,
    which anchors chosen earlier cannot know.
    """
    everywhere = np.vstack([points, pending])
    sites, which = np.unique(everywhere, axis=0, return_inverse=True)
    if anchors is not None and len(sites) > limit:
        both = np.vstack([anchors[: limit - _LATEST], everywhere[-_LATEST:]])
        anchors = np.unique(both, axis=0)
    basis = choose_basis(layout, lengthscales, sites, limit, anchors)
    rows = basis.features(sites)[which.reshape(-1)]
    return Features(basis, rows[: len(points)], rows[len(points) :])


def anchors_for(layout: Layout, shape: Shape, points: Array) -> Array | None:
    """Return the points that a basis is made of until the next refit; None while sites are few."""
    sites = np.unique(points, axis=0)
    if len(sites) <= BASIS - _LATEST:
        return None
    return most_telling(layout, shape.lengthscales, sites, _ANCHORS)


def settle(process: Process, cut: Cut, z: Array, scales: Array, start: Array) -> Array:
    """Return fitted values that solve the penalized equations of `cut`, from `start`.

    Each step is least squares on m + psi(z - m) with noise kappa n^2: psi's slope is at most 1, so
    the penalized criterion falls at every step, and its minimum is the fit with noise n^2 to the
    tamed payoffs m + psi(z - m) / kappa. Steps are accelerated as Nesterov's.

    Where psi falls back, a hill seen once or twice could be taken for outliers: the solution is
    sought from that of the cut's window, which has only one.
    """
    smoother = process.smoother(process.shape.noise * cut.slope)
    if cut == Cut():
        return smoother.fit(z)
    far = float(np.median(np.abs(z - start) / scales))
    first, fitted = cut.first, start
    stages = max(math.ceil(math.log(max(4.0 * far / first.width, 1.0), _WIDER)), 0)
    for stage in range(min(stages, _MOST_STAGES), -1, -1):
        fitted = _descend(smoother, first.wider(_WIDER**stage), z, scales, fitted)
    return fitted if first is cut else _descend(smoother, cut, z, scales, fitted)


def _descend(smoother: Smoother, cut: Cut, z: Array, scales: Array, start: Array) -> Array:
    fitted, ahead, speed = start, start, 1.0
    for _ in range(_STEPS):
        new = smoother.fit(ahead + scales * cut.psi((z - ahead) / scales))
        faster = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * speed * speed))
        change = new - fitted
        if float((ahead - new) @ change) > 0.0:  # it went too far: start the acceleration anew
            faster = 1.0
        ahead = new + (speed - 1.0) / faster * change
        fitted, speed = new, faster
        if float(np.abs(change).max(initial=0.0)) < _STILL:
            break
    return fitted


def left_out(cut: Cut, residuals: Array, leverage: Array) -> Array:
    """Return what the residuals would be around fits that had not seen the payoff itself.

    The fit is linear in the tamed payoffs, so without payoff i it moves, at its point, by
    h_i / (1 - h_i) times psi(e_i) / kappa, h_i the leverage.
    """
    h = np.minimum(leverage, _LARGEST_LEVERAGE)
    return residuals + h / (1.0 - h) * cut.psi(residuals) / cut.slope
