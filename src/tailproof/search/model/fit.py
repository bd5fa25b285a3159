"""Learn a calibration from the payoffs told so far, and from nothing else.

1. Location and scale: median and quartiles, so that all the rest is invariant to y -> a y + c.
2. The pilot's shape and the cut, in turns: the shape is the most likely for the tamed payoffs.
3. The spread: whether the size of the residuals grows with the pilot.
4. The remainder: what the cut takes off, and whether gross outliers vary over the space.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from tailproof._compiled import correlation as engine
from tailproof.search.model.gp import CONSTANT, Process, Shape
from tailproof.search.model.hyperparameters import log_evidence, most_likely, typical
from tailproof.search.model.m_estimation import anchors_for, features_on, left_out, settle
from tailproof.search.model.noise import Cut, balance, gross, one_sided, softened, tuning_free_bound
from tailproof.search.model.parameters import Calibration, Data, Gross, Remainder, Settings, Spread

Array = NDArray[np.float64]

# Payoffs a likelihood is computed from: a shape is known well enough from that many.
_ROWS = 400
# Fewest payoffs that a growing scale of the noise is looked for in.
_FEWEST_FOR_SPREAD = 20
# Turns of fitting and cutting for one shape.
_TURNS = 5
# Shares of the variance that a varying remainder may explain.
_SIGNALS = (0.1, 0.2, 0.4)
# Less probable than this, a varying remainder is left out.
_LEAST_WEIGHT = 0.05


def next_refit(count: int) -> int:
    """Return the number of payoffs at which the refit after one at `count` is due."""
    return max(count + 2, math.ceil(1.2 * count))


def location_and_scale(payoffs: Array) -> tuple[float, float]:
    """Return the median and a robust standard deviation of payoffs in the order they came.

    A search that has found its place sees the same mean again and again: the quartiles of all its
    payoffs would shrink to the noise. So the largest of several counts: of all payoffs, and of the
    first half, quarter and so on, down to eight. Of the two quartiles' distances from the median
    the smaller one counts, so that penalties on one side do not. Should all coincide, the least
    distance from the median takes their place.

    Examples
    --------
    >>> location_and_scale(np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0]))
    (1.0, 8.0)
    """
    middle, count = float(np.median(payoffs)), len(payoffs)
    spreads = []
    while count >= min(8, len(payoffs)):
        low, half, high = np.quantile(payoffs[:count], [0.25, 0.5, 0.75])
        one, other = sorted([float(half - low), float(high - half)])
        spreads.append((one if one > 0.0 else other) / 0.6745)
        count //= 2
    if max(spreads) > 0.0:
        return middle, max(spreads)
    away = np.abs(payoffs - middle)
    wider = away[away > 0.0]
    return middle, float(wider.min()) if len(wider) else 1.0


@dataclass(frozen=True)
class _Fit:
    """Payoffs around a fit: (n,) each, with the cut that tames them.

    Attributes
    ----------
    z, beyond, scales
        Standardized payoffs as the fit sees them, what was taken off before, and the noise's
        scale s at their points.
    cut, fitted
        What tames the residuals, and the pilot's values m that they lie around.
    residuals
        Left out (`robust_fit.left_out`), in units of s.
    """

    z: Array
    beyond: Array
    scales: Array
    cut: Cut
    fitted: Array
    residuals: Array

    def tamed(self) -> Array:
        """Return the payoffs as the cut tames them, (n,)."""
        e = (self.z - self.fitted) / self.scales
        return self.fitted + self.scales * self.cut.psi(e) / self.cut.slope


def refit(data: Data, previous: Calibration | None, settings: Settings) -> Calibration:
    """Learn a calibration from `data`; `previous` is where the search for the shape starts."""
    location, scale = location_and_scale(data.payoffs)
    shape = _start(previous, scale, settings)
    anchors = anchors_for(settings.layout, shape, data.points)
    known = Calibration(len(data), location, scale, shape, Cut(), Spread(), None, anchors)
    raw, scales = known.standardize(data.payoffs), np.ones(len(data))
    z = settings.loss.prepare(raw)
    beyond = raw - z if settings.loss.restores_mean else np.zeros(len(z))
    for _ in range(3 if previous is None else 2):
        fit = _turns(data, z, beyond, scales, known, settings)
        if settings.loss.restores_mean:
            known = replace(known, spread=_learn_spread(fit.fitted, fit.residuals * scales))
            scales = known.spread.of(fit.fitted)
            fit = _turns(data, z, beyond, scales, known, settings)
        known = replace(known, shape=_shape(data, fit, known, settings))
    fit = _turns(data, z, beyond, scales, known, settings)
    if not settings.loss.restores_mean:
        return replace(known, cut=fit.cut)
    cut = softened(fit.cut, fit.residuals)
    if cut is not fit.cut:
        fit = _settled(data, replace(fit, cut=cut), known, settings)
        known = replace(known, shape=_shape(data, fit, known, settings))
        fit = _settled(data, fit, known, settings)
    known = replace(known, cut=cut)
    return replace(known, remainder=_learn_remainder(data, fit.residuals, known, settings))


def _shape(data: Data, fit: _Fit, known: Calibration, settings: Settings) -> Shape:
    """Return the shape that is most likely for tamed payoffs, searched from the known one."""
    rows = _likelihood_rows(len(data))
    return most_likely(
        settings.layout,
        data.points[rows],
        fit.tamed()[rows],
        fit.scales[rows] ** 2,
        settings.prior,
        known.shape,
    )


def _settled(data: Data, fit: _Fit, known: Calibration, settings: Settings) -> _Fit:
    """Return the fit for its cut and the known shape."""
    process = _process(data, fit.scales, known, settings)
    fitted = settle(process, fit.cut, fit.z, fit.scales, fit.fitted)
    residuals = left_out(fit.cut, (fit.z - fitted) / fit.scales, process.leverage())
    return replace(fit, fitted=fitted, residuals=residuals + fit.beyond / fit.scales)


def _process(data: Data, scales: Array, known: Calibration, settings: Settings) -> Process:
    lengthscales, nothing = known.shape.lengthscales, data.points[:0]
    features = features_on(settings.layout, lengthscales, data.points, nothing, known.anchors)
    return features.process(known.shape, scales)


def _start(previous: Calibration | None, scale: float, settings: Settings) -> Shape:
    """Return the shape to search from: the last one in the new units, or what is typical."""
    if previous is None:
        return typical(settings.prior, settings.layout.owners)
    # Rounded for the same reason as z.
    ratio = float(f"{min(max(previous.scale / scale, 1e-9), 1e9):.6g}") ** 2
    signal, noise = previous.shape.signal * ratio, previous.shape.noise * ratio
    return Shape(
        previous.shape.lengthscales, min(max(signal, 1e-3), 1e2), min(max(noise, 1e-3), 1e2)
    )


def _likelihood_rows(count: int) -> NDArray[np.int64]:
    """Return which payoffs the likelihood is computed from: all, or evenly spread over time."""
    if count <= _ROWS:
        return np.arange(count)
    return np.linspace(0, count - 1, _ROWS).round().astype(np.int64)


def _turns(
    data: Data, z: Array, beyond: Array, scales: Array, known: Calibration, settings: Settings
) -> _Fit:
    """Return cut and fit for a known shape, found in turns.

    A window's place and the fit's constant could drift together for ever, so each turn begins with
    residuals of median zero.
    """
    process = _process(data, scales, known, settings)
    leverage = process.leverage()
    fitted = np.full(len(z), float(np.median(z)))
    residuals = (z - fitted) / scales
    cut = settings.loss.begin(residuals)
    for _ in range(_TURNS):
        fitted = settle(process, cut, z, scales, fitted)
        residuals = left_out(cut, (z - fitted) / scales, leverage) + beyond / scales
        if settings.loss.restores_mean:
            middle = float(np.median(residuals))
            fitted, residuals = fitted + middle * scales, residuals - middle
        cut = settings.loss.learn(residuals)
    return _Fit(z, beyond, scales, cut, fitted, residuals)


def _varying(data: Data, values: Array, shape: Shape, settings: Settings) -> tuple[Shape, float]:
    """Return the most likely shape of a process behind `values` (n,), and how likely there is one.

    They are judged in units of their root mean square. The rival is a constant; the evidence of the
    varying ones is their mean over signals and over the pilot's lengthscales and the usual ones.
    """
    rows = _likelihood_rows(len(data))
    size = float(np.sqrt(np.mean(values[rows] ** 2)))
    if size == 0.0:  # all that is not zero is among those left out
        return shape, 0.0
    values = values / size
    x, C, layout = values[rows], np.ascontiguousarray(data.points[rows]), settings.layout
    unit = np.eye(len(C))
    found: list[tuple[float, Shape]] = []
    for lengthscales in (shape.lengthscales, typical(settings.prior, layout.owners).lengthscales):
        inverse = layout.columns(lengthscales)
        R = engine.matrix(layout.kind, C, C, inverse, layout.group, layout.groups)
        for signal in _SIGNALS:
            evidence = log_evidence(signal * R + CONSTANT + (1.0 - signal) * unit, x)
            found.append((evidence, Shape(lengthscales, signal, 1.0 - signal)))
    evidences = np.array([evidence for evidence, _ in found])
    odds = logsumexp(evidences) - math.log(len(found)) - log_evidence(CONSTANT + unit, x)
    best = found[int(np.argmax(evidences))][1]
    # Outliers on both sides alike hide no mean: the more so, the less it may vary.
    return best, float(expit(odds - settings.doubt * balance(values)))


def _learn_spread(fitted: Array, residuals: Array) -> Spread:
    """Return how the size of residuals grows with the fit: a line through ln |e|, shrunk.

    The logarithm of a residual's size has light tails whatever the noise; tiny ones are rounded up
    so that they do not weigh more than large ones. A slope within two standard errors of 0 is
    taken for 0, and larger ones are shrunk towards it.
    """
    size = np.abs(residuals - np.median(residuals))
    usual = float(np.median(size))
    away = fitted - np.mean(fitted)
    square = float(away @ away)
    if usual == 0.0 or square == 0.0 or len(fitted) < _FEWEST_FOR_SPREAD:
        return Spread()
    logs = np.log(np.clip(size / usual, 0.1, 1e3))
    logs -= np.mean(logs)
    rate = float(away @ logs) / square
    error = math.sqrt(float(np.mean((logs - rate * away) ** 2)) / square)
    kept = max(1.0 - (2.0 * error / rate) ** 2, 0.0) if rate != 0.0 else 0.0
    return Spread(rate * kept, float(np.mean(fitted)))


def _learn_remainder(
    data: Data, residuals: Array, known: Calibration, settings: Settings
) -> Remainder | None:
    """Return what the cut takes off on average, and how that varies; None if it is nothing."""
    level, excess = settings.level, known.cut.excess(residuals)
    usual = 1.4826 * float(np.median(np.abs(residuals - np.median(residuals))))
    # A lone excess, however large, may move the mean by about two standard errors.
    few = 2.0 * math.sqrt(len(data)) * usual
    bound = tuning_free_bound(excess, level, few)
    clipped = np.clip(excess, -bound, bound)
    scale = float(np.sqrt(np.mean(clipped**2)))
    if scale == 0.0:
        return None
    varying = _learn_gross(data, residuals, bound, known, settings)
    # What the bound hides below and above cancels as what it leaves does.
    bias = bound * level / len(data) * one_sided(clipped)
    return Remainder(bound, scale, bias, varying)


def _learn_gross(
    data: Data, residuals: Array, most: float, known: Calibration, settings: Settings
) -> Gross | None:
    """Return how gross outliers vary over the space; None if there are none, or they hardly do.

    Smaller ones follow every error of the pilot, and would vary as it does. Gross ones are judged
    by where they are and on which side more than by their size, so that no single one decides:
    sizes are clipped at a quantile of theirs that tends to 1 slowly, and at `most`.
    """
    window, excess = gross(known.cut, residuals), known.cut.excess(residuals)
    sizes = np.abs(excess[window.clipped(residuals)])
    if not len(sizes):
        return None
    share = max(0.5, 1.0 - 2.0 / math.sqrt(len(sizes)))
    bound = min(float(np.quantile(sizes, share)), most)
    far = Gross(window.low, window.high, bound, 1.0, known.shape, 0.0)
    marks = far.marks(residuals, excess)
    scale = float(np.sqrt(np.mean(marks**2)))
    shape, weight = _varying(data, marks, known.shape, settings)
    return None if weight < _LEAST_WEIGHT else replace(far, scale=scale, shape=shape, weight=weight)
