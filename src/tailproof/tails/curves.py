"""Data of the diagnostic plots: Hill plot, mean excess, Gaussian quantiles; up to 100 points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tailproof.tails.indices import Spacings
from tailproof.tails.order_statistics import MIN_ORDER_STATISTICS, OrderStatistics

_POINTS = 100
_REDUCED_POINTS = 25  # each takes a maximum likelihood fit

Pairs = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Curves:
    """Plot data of one series, as pairs (horizontal, vertical).

    Attributes
    ----------
    hill, reduced_hill : pairs (k, tail index)
        Classical and bias-reduced Hill estimates.
    mean_excess : pairs (threshold, mean excess over it)
        Of the absolute deviations. It rises for heavy tails, is flat for exponential ones and
        falls for light ones.
    quantiles : pairs (Gaussian quantile, (payoff - center) / scale)
        The scale is the interquartile range over that of the Gaussian, 1.349.
    """

    hill: Pairs
    reduced_hill: Pairs
    mean_excess: Pairs
    quantiles: Pairs


def _curve_pairs(x: NDArray[np.float64], y: NDArray[np.float64]) -> Pairs:
    """Return the finite points of a curve of the diagnosis."""
    keep = np.isfinite(x) & np.isfinite(y)
    return tuple((float(a), float(b)) for a, b in zip(x[keep], y[keep], strict=True))


def _curve_orders(most: int, points: int) -> NDArray[np.int64]:
    """Return the numbers of order statistics at which a curve has tail indices."""
    if most < MIN_ORDER_STATISTICS:
        return np.empty(0, dtype=np.int64)
    return np.unique(np.geomspace(MIN_ORDER_STATISTICS, most, points).round().astype(np.int64))


def _hill_curve(top: OrderStatistics) -> Pairs:
    """Return the curve of classical Hill estimates of the tail index against k."""
    ks = _curve_orders(top.usable(top.z.size - 1), _POINTS)
    if not ks.size:
        return ()
    logs = np.log(top.z)
    gamma = np.cumsum(logs)[ks - 1] / ks - logs[ks]
    with np.errstate(divide="ignore"):
        return _curve_pairs(ks.astype(np.float64), 1.0 / gamma)


def _reduced_hill_curve(top: OrderStatistics) -> Pairs:
    """Return the curve of bias-reduced Hill estimates of the tail index against k."""
    ks = _curve_orders(top.usable(top.z.size - 1), _REDUCED_POINTS)
    fits = [(k, Spacings.of(top, int(k)).estimate()) for k in ks if top.varied(int(k))]
    return tuple((float(k), 1.0 / gamma) for k, gamma in fits if gamma > 0.0)


def _mean_excess_curve(top: OrderStatistics) -> Pairs:
    """Return the curve of the mean excess over thresholds that at least four deviations exceed."""
    z = top.z
    if z.size < 5:
        return ()
    spread = np.geomspace(4, z.size - 1, _POINTS).round().astype(np.int64)
    # Of equal deviations the first: those before it are the ones that exceed the threshold.
    counts = np.unique(np.searchsorted(-z, -z[spread]))
    counts = counts[counts >= 4]
    excess = np.cumsum(z)[counts - 1] / counts - z[counts]
    return _curve_pairs(z[counts][::-1], excess[::-1])


def _gaussian_quantile_curve(values: NDArray[np.float64], center: float) -> Pairs:
    """Return the curve of sample against Gaussian quantiles, denser near 0 and 1."""
    n = values.size
    half = np.geomspace(0.5 / n, 0.5, _POINTS // 2)
    p = np.concatenate([half, 1.0 - half[-2::-1]])
    lower, upper = np.quantile(values, [0.25, 0.75])
    scale = float(upper - lower) / (2.0 * float(ndtri(0.75)))
    if scale == 0.0:
        scale = float(values.std()) or 1.0
    return _curve_pairs(ndtri(p), (np.quantile(values, p) - center) / scale)


def curves(values: NDArray[np.float64], center: float, top: OrderStatistics) -> Curves:
    """Return all curves to plot of one series, `top` being its largest absolute deviations."""
    quantiles = _gaussian_quantile_curve(values, center)
    return Curves(_hill_curve(top), _reduced_hill_curve(top), _mean_excess_curve(top), quantiles)
