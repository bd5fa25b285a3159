"""Learn a calibration from the payoffs told so far, and from nothing else.

1. Location and scale: median and quartiles, so that all the rest is invariant to y -> a y + c.
2. The pilot's shape and the cut, in turns: the shape is the most likely for the tamed payoffs.
3. The spread: whether the size of the residuals grows with the pilot.
4. The remainder: whether what the cut takes off does.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from tailproof._engine import correlation as engine
from tailproof.calibration import Calibration, Data, Remainder, Settings, Spread
from tailproof.likelihood import log_evidence, most_likely, typical
from tailproof.robust_fit import anchors_for, left_out, process_on, settle
from tailproof.surrogate import CONSTANT, Process, Shape
from tailproof.taming import Cut, faded, tuning_free_bound

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


def refit(data: Data, previous: Calibration | None, settings: Settings) -> Calibration:
    """Learn a calibration from `data`; `previous` is where the search for the shape starts."""
    location, scale = location_and_scale(data.payoffs)
    shape = _start(previous, scale, settings)
    anchors = anchors_for(settings.layout, shape, data.points)
    known = Calibration(len(data), location, scale, shape, Cut(), Spread(), None, anchors)
    z = settings.taming.prepare(known.standardise(data.payoffs))
    scales, residuals = np.ones(len(data)), z
    for _ in range(3 if previous is None else 2):
        cut, fitted, residuals = _turns(data, z, scales, known, settings)
        if settings.taming.restores_mean:
            spread = _learn_spread(fitted, residuals * scales)
            known = replace(known, spread=spread)
            scales = spread.of(fitted)
            cut, fitted, residuals = _turns(data, z, scales, known, settings)
        known = replace(known, shape=_shape(data, z, scales, known, cut, fitted, settings))
    cut, fitted, residuals = _turns(data, z, scales, known, settings)
    known = replace(known, cut=cut)
    if not settings.taming.restores_mean:
        return known
    known = replace(known, remainder=_learn_remainder(data, residuals, known, settings))
    return _fade(data, z, scales, known, fitted, residuals, settings)


def _shape(
    data: Data,
    z: Array,
    scales: Array,
    known: Calibration,
    cut: Cut,
    fitted: Array,
    settings: Settings,
) -> Shape:
    """Return the shape that is most likely for the payoffs a cut has tamed around a fit."""
    rows = _likelihood_rows(len(data))
    tamed = fitted + scales * cut.psi((z - fitted) / scales) / cut.slope
    return most_likely(
        settings.layout,
        data.points[rows],
        tamed[rows],
        scales[rows] ** 2,
        settings.prior,
        known.shape,
    )


def _fade(
    data: Data,
    z: Array,
    scales: Array,
    known: Calibration,
    fitted: Array,
    residuals: Array,
    settings: Settings,
) -> Calibration:
    """Return the calibration with a cut that fades, where that estimates better and is no risk.

    It is one where what was cut off may vary over the space: gross outliers on one hill are how a
    best mean away from the best median shows itself.
    """
    if known.remainder is None or known.remainder.weight > 0.0:
        return known
    cut = faded(known.cut, residuals)
    if cut is known.cut:
        return known
    process = _process(data, scales, known, settings)
    fitted = settle(process, cut, z, scales, fitted)
    known = replace(known, cut=cut, shape=_shape(data, z, scales, known, cut, fitted, settings))
    process = _process(data, scales, known, settings)
    fitted = settle(process, cut, z, scales, fitted)
    residuals = left_out(cut, (z - fitted) / scales, process.leverage())
    rest = _learn_remainder(data, residuals, known, settings)
    return replace(known, remainder=rest and replace(rest, weight=0.0))


def _process(data: Data, scales: Array, known: Calibration, settings: Settings) -> Process:
    return process_on(
        settings.layout, known.shape, data.points, scales, data.points[:0], known.anchors
    )


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
    data: Data, z: Array, scales: Array, known: Calibration, settings: Settings
) -> tuple[Cut, Array, Array]:
    """Return cut, fitted values and left-out residuals for a known shape, found in turns.

    A window's place and the fit's constant could drift together for ever, so each turn begins with
    residuals of median zero.
    """
    process = _process(data, scales, known, settings)
    leverage = process.leverage()
    fitted = np.full(len(z), float(np.median(z)))
    residuals = (z - fitted) / scales
    cut = settings.taming.begin(residuals)
    for _ in range(_TURNS):
        fitted = settle(process, cut, z, scales, fitted)
        residuals = left_out(cut, (z - fitted) / scales, leverage)
        if settings.taming.restores_mean:
            middle = float(np.median(residuals))
            fitted, residuals = fitted + middle * scales, residuals - middle
        cut = settings.taming.learn(residuals)
    return cut, fitted, residuals


def _varying(data: Data, values: Array, shape: Shape, settings: Settings) -> tuple[Shape, float]:
    """Return the most likely shape of a process behind `values` (n,), and how likely there is one.

    Values have mean square 1. The rival is a constant; the evidence of the varying ones is their
    mean over signals and over the pilot's lengthscales and the usual ones.
    """
    rows = _likelihood_rows(len(data))
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
    # Cut off on both sides alike, payoffs hide no mean: the more so, the less it may vary.
    balance = 1.0 - abs(float(np.mean(x))) / float(np.mean(np.abs(x)))
    return best, float(expit(odds - settings.doubt * balance))


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
    """Return what the cut takes off on average, and whether that varies; None if it is nothing.

    How it varies is judged, and estimated, from where payoffs were cut off and on which side more
    than from how much, so that no single one decides: sizes are clipped at a quantile of theirs
    that tends to 1 slowly.
    """
    level, excess = settings.level, known.cut.excess(residuals)
    usual = 1.4826 * float(np.median(np.abs(residuals - np.median(residuals))))
    # A lone excess, however large, may move the mean by about two standard errors.
    few = 2.0 * math.sqrt(len(data)) * usual
    bound = tuning_free_bound(excess, level, few)
    scale = float(np.sqrt(np.mean(np.clip(excess, -bound, bound) ** 2)))
    if scale == 0.0:
        return None
    sizes = np.abs(excess[excess != 0.0])
    share = max(0.5, 1.0 - 2.0 / math.sqrt(len(sizes)))
    inner = min(float(np.quantile(sizes, share)), bound)
    marks = np.clip(excess, -inner, inner)
    inner_scale = float(np.sqrt(np.mean(marks**2)))
    found, weight = _varying(data, marks / inner_scale, known.shape, settings)
    if weight < _LEAST_WEIGHT:
        weight = 0.0
    return Remainder(bound, scale, bound * level / len(data), inner, inner_scale, found, weight)
