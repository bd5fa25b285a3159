"""The shape of the tail by a generalized Pareto fit: the statistic behind "heavy" and "light".

The excesses y = z_j - z_{k+1} of the k largest deviations over the next one follow, for large
thresholds, P(y > t) = (1 + xi t / sigma)^(-1/xi) (Balkema and de Haan 1974, Pickands 1975). The
shape xi separates classes that tests of normality cannot: xi > 0 is a power law (heavy), xi = 0 an
exponential tail, xi < 0 a finite endpoint or a tail that decays faster than any exponential. At
finite thresholds the Gaussian has xi < 0, because its hazard rate rises (see `gaussian_shape`), and
so has every log-concave density: a test of xi <= 0 keeps its error rate for all of them at any k,
which is why it may use twice as many order statistics as an index estimate.

The fit is made at k = 2 n^(2/3) and again at k/2 and k/4. The shape at finite thresholds need not
be constant, nor its limit be reached: heavy tails here are those that decay more slowly than any
exponential over this whole range of thresholds, whether or not some bound, such as the limit of an
insurance policy, cuts off the very largest. A second mode at large deviations, which looks heavy at
k, shows a shape below zero at k/4.

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

from tailproof.tails.order_statistics import OrderStatistics, standard_k

_SHARE = 2.0  # of n^(2/3)
_EXPONENTIAL = 1e-7  # |theta| below which the fit is exponential to all digits that matter


@dataclass(frozen=True)
class ShapeFit:
    """A generalized Pareto fit to the k excesses over a high threshold.

    Attributes
    ----------
    shape, shape_lower, shape_upper : float
        xi and its two-sided confidence limits, widened by the design effect of the series.
    scale, threshold : float
        sigma and z_{k+1}, the deviation beyond which the fit holds, in units of the payoffs.
    gaussian : float
        The shape of a Gaussian at the same threshold; at higher thresholds it is nearer to 0, so
        that a fit below this one is lighter than a Gaussian.
    inner : tuple of (int, float, float, float)
        (k, shape, shape_lower, shape_upper) at half and at a quarter of the excesses.
    """

    shape: float
    shape_lower: float
    shape_upper: float
    scale: float
    threshold: float
    k: int
    gaussian: float
    inner: tuple[tuple[int, float, float, float], ...]

    @property
    def turns(self) -> bool:
        """Whether the shape is below 0, with confidence, at half or a quarter of the excesses."""
        return any(upper < 0.0 for _, _, _, upper in self.inner)


def gaussian_shape(share: float) -> float:
    """Return the local shape of |x|, x Gaussian, where a `share` of the values lies beyond.

    The local shape is the derivative of the reciprocal hazard rate (1 - F) / f; for the Gaussian at
    u it is u M(u) - 1 with Mills' ratio M.

    Examples
    --------
    >>> round(gaussian_shape(0.05), 3)
    -0.162
    """
    from scipy.stats import norm

    u = float(norm.isf(0.5 * share))
    return u * math.exp(float(norm.logsf(u)) - float(norm.logpdf(u))) - 1.0


class _Profile:
    """The profile likelihood of excesses of mean one along theta = (e^t - 1) / max(y)."""

    def __init__(self, y: NDArray[np.float64]) -> None:
        """Take excesses whose generalized Pareto likelihood is profiled."""
        self.y = y
        self.top = float(y.max())

    def at(self, t: float) -> tuple[float, float]:
        """Return (shape, log-likelihood / k) at the point `t` of the profile."""
        theta = math.expm1(t) / self.top
        if abs(theta) < _EXPONENTIAL:  # exponential: the limit, where the formulas below cancel
            return theta, -1.0
        scaled = theta * self.y
        g = float((scaled / (1.0 + scaled)).mean())
        shape = g / float((1.0 / (1.0 + scaled)).mean())  # g / (1 - g), also where g rounds to 1
        value = math.log(theta / shape) - float(np.log1p(scaled).mean()) / g
        return shape, value

    def likelihood(self, t: float) -> float:
        """Return the profile log likelihood of the generalized Pareto law."""
        return self.at(t)[1]

    def maximum(self) -> float:
        """Return the `t` of the highest profile: a grid, then a search between neighbors."""
        grid = np.concatenate([np.linspace(-14.0, -2.0, 13), np.linspace(-1.5, 24.0, 36)])
        values = [self.likelihood(float(t)) for t in grid]
        i = int(np.argmax(values))
        bounds = float(grid[max(i - 1, 0)]), float(grid[min(i + 1, grid.size - 1)])
        refined = minimize_scalar(
            lambda t: -self.likelihood(t), bounds=bounds, method="bounded", options={"xatol": 1e-7}
        )
        return float(refined.x) if -float(refined.fun) >= values[i] else float(grid[i])

    def limit(self, t: float, allowed: float, end: float) -> float:
        """Return the shape between `t` and `end` where the profile has fallen by `allowed`."""
        target = self.likelihood(t) - allowed

        def margin(s: float) -> float:
            return self.likelihood(s) - target

        step, start = math.copysign(0.25, end - t), t
        while start != end:
            stop = start + step if abs(end - start) > abs(step) else end
            if margin(stop) < 0.0:
                return self.at(float(brentq(margin, start, stop, xtol=1e-9)))[0]
            start, step = stop, 1.5 * step
        return self.at(end)[0]


def _shape_interval(
    top: OrderStatistics, k: int, level: float, design_effect: float
) -> tuple[float, float, float, float]:
    """Return (shape, its lower and upper limit, scale) from the `k` largest deviations."""
    from scipy.stats import chi2

    y = top.z[:k] - top.z[k]
    mean = float(y.mean())
    profile = _Profile(y / mean)
    t = profile.maximum()
    shape = profile.at(t)[0]
    allowed = 0.5 * float(chi2.ppf(level, 1)) * design_effect / k
    theta = math.expm1(t) / profile.top
    scale = mean * (shape / theta if abs(theta) >= _EXPONENTIAL else 1.0)
    return shape, profile.limit(t, allowed, -30.0), profile.limit(t, allowed, 60.0), scale


def fit_shape(top: OrderStatistics, level: float, *, design_effect: float = 1.0) -> ShapeFit | None:
    """Fit a generalized Pareto distribution to the largest deviations.

    `level` is the two-sided confidence of the shape's interval, `design_effect` the factor by which
    dependence inflates variances. The result is None if the deviations are too few or tied.

    Examples
    --------
    >>> from tailproof.tails.order_statistics import largest
    >>> z = np.abs(np.random.default_rng(0).standard_normal(5_000))
    >>> fit_shape(largest(z), 0.9).shape_upper < 0
    True
    """
    k = top.usable(standard_k(top.n, _SHARE))
    if not top.sufficient(k):
        return None
    fewer = [m for m in (top.usable(k // 2), top.usable(k // 4)) if top.sufficient(m)]
    return ShapeFit(
        *_shape_interval(top, k, level, design_effect),
        threshold=float(top.z[k]),
        k=k,
        gaussian=gaussian_shape(k / top.n),
        inner=tuple((m, *_shape_interval(top, m, level, design_effect)[:3]) for m in fewer),
    )
