"""The shape of the tail by a generalized Pareto fit: the statistic behind "heavy" and "light".

The excesses y = z_j - z_{k+1} of the k largest deviations over the next one follow, for large
thresholds, P(y > t) = (1 + xi t / sigma)^(-1/xi) (Balkema and de Haan 1974, Pickands 1975). The
shape xi tells the classes apart that tests of normality cannot: xi > 0 is a power law (heavy), xi =
0 an exponential tail, xi < 0 a finite endpoint or a tail that thins out faster than any
exponential. Below the limit the Gaussian shows xi < 0 at every threshold, because its hazard rate
rises (see `gaussian_shape`), and so does every log-concave density: a test of xi <= 0 keeps its
error rate for all of them at any k, which is why it may use twice as many order statistics as an
index estimate.

The fit is made at k = 2 n^(2/3) and again at k/2 and k/4. The shape at finite thresholds need not
be constant, nor its limit be reached: heavy tails here are those that thin out more slowly than any
exponential over this whole range of thresholds, whether or not some bound, such as the limit of an
insurance policy, cuts off the very largest. A second mode far out, which looks heavy at k, is given
away at k/4 by a shape below zero.

Maximum likelihood, -1 < xi; its interval is the profile likelihood's. With theta = xi / sigma and
G(theta) = mean(theta y / (1 + theta y)), the sigma that maximizes the likelihood at a given xi
solves G(theta) = xi / (1 + xi), and G rises strictly, so that the whole profile is a curve in
theta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import chi2, norm

from tailproof.tails.indices import FEWEST
from tailproof.tails.order import Top, standard_k

_SHARE = 2.0  # of n^(2/3)
_EXPONENTIAL = 1e-7  # |theta| below which the fit is exponential to all digits that matter


@dataclass(frozen=True)
class ShapeFit:
    """A generalized Pareto fit to the excesses over a high threshold.

    Attributes
    ----------
    shape, shape_low, shape_high : float
        xi and its two-sided confidence limits, widened by the design effect of the series.
    scale : float
        sigma, in units of the payoffs.
    threshold : float
        z_{k+1}, the deviation from the center beyond which the fit holds.
    k : int
        Number of excesses.
    gaussian : float
        The shape a Gaussian shows at the same threshold; further out it is nearer to 0, so that a
        fit below this one is lighter than a Gaussian.
    inner : tuple of (int, float, float, float)
        (k, shape, shape_low, shape_high) at half and at a quarter of the excesses.
    """

    shape: float
    shape_low: float
    shape_high: float
    scale: float
    threshold: float
    k: int
    gaussian: float
    inner: tuple[tuple[int, float, float, float], ...]

    @property
    def turns(self) -> bool:
        """Whether the shape is below 0, with confidence, at half or a quarter of the excesses."""
        return any(high < 0.0 for _, _, _, high in self.inner)


def gaussian_shape(share: float) -> float:
    """Return the local shape of |x|, x Gaussian, where a `share` of the values lies beyond.

    The local shape is the derivative of the reciprocal hazard rate (1 - F) / f; for the Gaussian at
    u it is u M(u) - 1 with Mills' ratio M.

    Examples
    --------
    >>> round(gaussian_shape(0.05), 3)
    -0.162
    """
    u = float(norm.isf(0.5 * share))
    return u * math.exp(float(norm.logsf(u)) - float(norm.logpdf(u))) - 1.0


class _Profile:
    """The profile likelihood of excesses of mean one along theta = (e^t - 1) / max(y)."""

    def __init__(self, y: NDArray[np.float64]) -> None:
        self.y = y
        self.top = float(y.max())

    def at(self, t: float) -> tuple[float, float]:
        """Return (shape, log-likelihood / k) at the point `t` of the curve."""
        theta = math.expm1(t) / self.top
        if abs(theta) < _EXPONENTIAL:  # exponential: the limit, where the formulae below cancel
            return theta, -1.0
        scaled = theta * self.y
        g = float((scaled / (1.0 + scaled)).mean())
        shape = g / float((1.0 / (1.0 + scaled)).mean())  # g / (1 - g), also where g rounds to 1
        value = math.log(theta / shape) - float(np.log1p(scaled).mean()) / g
        return shape, value

    def likelihood(self, t: float) -> float:
        return self.at(t)[1]

    def best(self) -> float:
        """Return the `t` of the highest likelihood: a grid, then a search between neighbors."""
        grid = np.concatenate([np.linspace(-14.0, -2.0, 13), np.linspace(-1.5, 24.0, 36)])
        values = [self.likelihood(float(t)) for t in grid]
        i = int(np.argmax(values))
        low, high = float(grid[max(i - 1, 0)]), float(grid[min(i + 1, grid.size - 1)])
        found = minimize_scalar(
            lambda t: -self.likelihood(t),
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-7},
        )
        return float(found.x) if -float(found.fun) >= values[i] else float(grid[i])

    def limit(self, t: float, allowed: float, end: float) -> float:
        """Return the shape between `t` and `end` where the likelihood has fallen by `allowed`."""
        bottom = self.likelihood(t) - allowed

        def rest(s: float) -> float:
            return self.likelihood(s) - bottom

        step, near = math.copysign(0.25, end - t), t
        while near != end:
            far = near + step
            if (end - far) * step < 0.0:
                far = end
            if rest(far) < 0.0:
                return self.at(float(brentq(rest, near, far, xtol=1e-9)))[0]
            near, step = far, 1.5 * step
        return self.at(end)[0]


def _interval(
    top: Top, k: int, level: float, design_effect: float
) -> tuple[float, float, float, float]:
    """Return (shape, its lower and upper limit, scale) from the `k` largest deviations."""
    y = top.z[:k] - top.z[k]
    mean = float(y.mean())
    profile = _Profile(y / mean)
    t = profile.best()
    shape = profile.at(t)[0]
    allowed = 0.5 * float(chi2.ppf(level, 1)) * design_effect / k
    theta = math.expm1(t) / profile.top
    scale = mean * (shape / theta if abs(theta) >= _EXPONENTIAL else 1.0)
    return shape, profile.limit(t, allowed, -30.0), profile.limit(t, allowed, 60.0), scale


def fit_shape(top: Top, level: float, *, design_effect: float = 1.0) -> ShapeFit | None:
    """Fit a generalized Pareto distribution to the largest deviations.

    Parameters
    ----------
    top : Top
        The largest deviations of one side.
    level : float
        Two-sided confidence of the interval of the shape.
    design_effect : float
        By how much dependence inflates variances; 1 for independent payoffs.

    Returns
    -------
    ShapeFit or None
        None if the largest deviations are too few or tied.

    Examples
    --------
    >>> from tailproof.tails.order import largest
    >>> z = np.abs(np.random.default_rng(0).standard_normal(5_000))
    >>> fit_shape(largest(z), 0.9).shape_high < 0
    True
    """
    k = top.usable(standard_k(top.n, _SHARE))
    if not (k >= FEWEST and top.varied(k)):
        return None
    shape, low, high, scale = _interval(top, k, level, design_effect)
    fewer = [m for m in (top.usable(k // 2), top.usable(k // 4)) if m >= FEWEST and top.varied(m)]
    return ShapeFit(
        shape=shape,
        shape_low=low,
        shape_high=high,
        scale=scale,
        threshold=float(top.z[k]),
        k=k,
        gaussian=gaussian_shape(k / top.n),
        inner=tuple((m, *_interval(top, m, level, design_effect)[:3]) for m in fewer),
    )
