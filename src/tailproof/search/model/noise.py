"""RobustLoss: what is done to single payoffs so that no lucky one decides.

A strategy looks at the payoffs' residuals around a fit and returns a `Cut`: a bounded function psi
of a residual and its mean slope kappa. The fit then solves the penalized equations of psi, whose
solution is least squares on the tamed payoffs m + psi(e) / kappa.

`AdaptiveWindow`, the default, learns from the residuals which window to keep: the one whose
location estimate varies least, Var(clip(e)) / P(e in window)^2 (the asymptotic variance of an M-estimate).
Light tails keep everything, heavy ones little, skewed ones what lies on their steep side; where
outliers lie on both sides, Student-t's psi takes its place if it varies less (`softened`). Each
estimates a location, not a mean; what it cuts off is added back by the remainder (`calibration`),
whose bound grows with the number of payoffs, so that the target stays the mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tailproof._util import checks

# Fewest residuals that a window learnt from them may hold.
_FEW = 15
# Residuals beyond this, in units of the payoffs' scale, are as far away as any.
_FAR = 1e3
# A window is at least this wide on either side of its middle: what is left then is no noise.
_FINEST = 0.05
# One payoff in so many, and one more, may lie beyond the others on either side, but no further than
# so many robust standard deviations.
_FEW_IN, _BEYOND = 20, 1.0
# Robust standard deviations of the usual cut of residuals, and of the first one of payoffs.
_USUAL, _WIDE = 2.5, 5.0
# Beyond so many robust standard deviations an outlier is gross: it may be how a mean shows itself.
_GROSS = 6.0
# A soft psi is for outliers of which at least this share lies on either side.
_EITHER_SIDE = 0.25
# And of what gross ones add, this much must cancel (`balance`).
_CANCELS = 0.5

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Cut:
    """psi(e) = kept(e) - center: a window, finite or not, or Student-t's psi.

    A window keeps clip(e, low, high). Student-t's psi, e / (1 + softness e^2), rises to
    e = 1 / sqrt(softness) and falls back beyond: gross outliers count for nothing.

    Attributes
    ----------
    low, high
        The window. Of Student-t's psi it is the one to set out from: an equation of a psi that
        falls back has several solutions. If it is infinite, wider psis of its own lead there.
    center
        Mean of kept(e), subtracted so that psi has mean zero.
    slope
        kappa, the mean of psi's derivative.
    softness
        0 for a window.
    """

    low: float = -math.inf
    high: float = math.inf
    center: float = 0.0
    slope: float = 1.0
    softness: float = 0.0

    def psi(self, residuals: Array) -> Array:
        """Return psi of residuals, (n,)."""
        return self._kept(residuals) - self.center

    def _kept(self, residuals: Array) -> Array:
        if self.softness > 0.0:
            # For a huge residual this is 1 / (softness e); the square must not overflow.
            inner = np.minimum(np.abs(residuals), 1e150)
            return residuals / (1.0 + self.softness * inner * inner)
        return np.clip(residuals, self.low, self.high)

    @property
    def first(self) -> Cut:
        """The cut whose equations are solved first: its window, or itself."""
        if self.softness == 0.0 or math.isinf(self.high):
            return self
        return replace(self, softness=0.0, center=0.0)

    @property
    def width(self) -> float:
        """How far psi reaches, roughly: as far as a residual goes untamed."""
        if self.softness > 0.0:
            return 1.0 / math.sqrt(self.softness)
        return min(self.high, _FAR) - max(self.low, -_FAR)

    def wider(self, times: float) -> Cut:
        """Return the same cut, so many times as wide around its middle."""
        if self.softness > 0.0:
            return replace(self, softness=self.softness / times**2)
        middle = 0.5 * (max(self.low, -_FAR) + min(self.high, _FAR))
        return replace(
            self,
            low=middle + times * (self.low - middle),
            high=middle + times * (self.high - middle),
        )

    def excess(self, residuals: Array) -> Array:
        """Return what is cut off, (n,)."""
        return residuals - self._kept(residuals)

    def clipped(self, residuals: Array) -> Mask:
        """Return which residuals are outside the window, (n,)."""
        if self.softness > 0.0 and math.isinf(self.high):
            return np.abs(residuals) > 1.0 / math.sqrt(self.softness)
        return (residuals < self.low) | (residuals > self.high)


@runtime_checkable
class RobustLoss(Protocol):
    """A way to tame payoffs."""

    @property
    def restores_mean(self) -> bool:
        """Whether what is cut off is added back, smoothed, so that the target is the mean."""
        ...

    def prepare(self, payoffs: Array) -> Array:
        """Return standardized payoffs (n,) as the fit is to see them."""
        ...

    def begin(self, payoffs: Array) -> Cut:
        """Return the cut for payoffs (n,) around their median, before there is a fit."""
        ...

    def learn(self, residuals: Array) -> Cut:
        """Return the cut for residuals (n,) around a fit."""
        ...


@dataclass(frozen=True)
class Gaussian:
    """Leave payoffs as they are: the ordinary Gaussian process."""

    @property
    def restores_mean(self) -> bool:
        """Nothing is cut off."""
        return False

    def prepare(self, payoffs: Array) -> Array:
        """Return the payoffs."""
        return payoffs

    def begin(self, payoffs: Array) -> Cut:
        """Return the cut that does nothing."""
        return Cut()

    def learn(self, residuals: Array) -> Cut:
        """Return the cut that does nothing."""
        return Cut()


@dataclass(frozen=True)
class Winsorize:
    """Clip payoffs at `deviations` robust standard deviations around their median."""

    deviations: float = 3.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "deviations", checks.positive("deviations", self.deviations))

    @property
    def restores_mean(self) -> bool:
        """What is cut off is lost."""
        return False

    def prepare(self, payoffs: Array) -> Array:
        """Return the payoffs clipped."""
        center = float(np.median(payoffs))
        reach = self.deviations * 1.4826 * float(np.median(np.abs(payoffs - center)))
        return np.clip(payoffs, center - reach, center + reach) if reach > 0.0 else payoffs

    def begin(self, payoffs: Array) -> Cut:
        """Return the cut that does nothing."""
        return Cut()

    def learn(self, residuals: Array) -> Cut:
        """Return the cut that does nothing: the payoffs are clipped already."""
        return Cut()


@dataclass(frozen=True)
class StudentT:
    """A Student-t likelihood with `df` degrees of freedom, by its mode: robust, for the median.

    The curvature of the posterior is the one that a sandwich estimate of its mode's variance has.
    """

    df: float = 4.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "df", checks.positive("df", self.df))

    @property
    def restores_mean(self) -> bool:
        """Likelihood-robust: the target is the mode."""
        return False

    def prepare(self, payoffs: Array) -> Array:
        """Return the payoffs."""
        return payoffs

    def begin(self, payoffs: Array) -> Cut:
        """Return psi at the payoffs' own scale."""
        return self.learn(payoffs)

    def learn(self, residuals: Array) -> Cut:
        """Return psi at the scale that is most likely for the residuals."""
        squares = np.minimum(np.abs(residuals), 1e70) ** 2
        scale = max(float(np.median(squares)), 1e-12)
        for _ in range(30):  # expectation-maximization of the scale
            weights = (self.df + 1.0) / (self.df + squares / scale)
            scale = max(float(np.mean(weights * squares)), 1e-12)
        softness = 1.0 / (self.df * scale)
        ratio = np.minimum(softness * squares, 1e100)
        slope = float(np.mean((1.0 - ratio) / (1.0 + ratio) ** 2))
        return Cut(slope=max(slope, 0.05), softness=softness)


@dataclass(frozen=True)
class AdaptiveWindow:
    """Keep the window of residuals whose location estimate varies least; restore the mean.

    Parameters
    ----------
    least
        Least share of the residuals that must lie inside.
    caution
        By how many standard errors of that share a window must win: few residuals keep more.
    gain
        A window must bring the variance below this share of the usual cut's, 2.5 robust standard
        deviations around the median: the best of many windows looks good by chance too.
    """

    least: float = 0.4
    caution: float = 2.0
    gain: float = 0.8

    def __post_init__(self) -> None:
        least = checks.in_unit_interval("least", self.least, closed_above=True)
        object.__setattr__(self, "least", least)
        caution = checks.number("caution", self.caution)
        if caution < 0.0:
            raise ValueError(f"`caution >= 0` must hold, but got caution={self.caution!r}.")
        object.__setattr__(self, "caution", caution)
        gain = checks.in_unit_interval("gain", self.gain, closed_above=True)
        object.__setattr__(self, "gain", gain)

    @property
    def restores_mean(self) -> bool:
        """What is cut off is added back."""
        return True

    def prepare(self, payoffs: Array) -> Array:
        """Return the payoffs, the few largest and smallest not far beyond the others.

        A payoff that stands alone pulls the fit as far as a psi allows, which is far while the
        noise looks small. What is taken off here counts as taken off by the cut.
        """
        e, few = np.sort(payoffs), 1 + len(payoffs) // _FEW_IN
        if len(e) <= 2 * few:
            return payoffs
        return np.clip(payoffs, e[few] - _BEYOND, e[-1 - few] + _BEYOND)

    def begin(self, payoffs: Array) -> Cut:
        """Return a wide cut: payoffs vary because their means do, and that must not be tamed."""
        return _around_median(np.sort(payoffs), _WIDE)

    def learn(self, residuals: Array) -> Cut:
        """Return the window of least asymptotic variance among those with quantiles as ends."""
        # Extreme but legal residuals: sums must keep their digits, and no window keeps them.
        e = np.sort(residuals)
        low, middle, high = np.quantile(e, [0.25, 0.5, 0.75])
        reach = _FAR * max(float(high - low), _FINEST)
        e = np.clip(e, middle - reach, middle + reach)
        n = len(e)
        if n < _FEW:
            return _around_median(e)
        below, above = _shares(n)
        low, high = e[below], e[n - 1 - above]
        low, high = low[:, None], high[None, :]
        sums, squares = np.append(0.0, np.cumsum(e)), np.append(0.0, np.cumsum(e * e))
        first, last = below[:, None], n - above[None, :]
        inside = np.maximum(last - first, 0)
        mean = (first * low + sums[last] - sums[first] + (n - last) * high) / n
        square = (first * low**2 + squares[last] - squares[first] + (n - last) * high**2) / n
        variance = np.maximum(square - mean**2, 0.0)
        # The payoffs at the ends are inside; those beyond are not.
        share = inside / n
        sure = share - self.caution * np.sqrt(share * (1.0 - share) / n)
        allowed = (share >= self.least) & (inside >= _FEW) & (sure > 0.0) & (high > low)
        allowed &= high - low >= 2.0 * _FINEST
        if not allowed.any():
            return _around_median(e)
        score = np.where(allowed, variance / np.maximum(sure, 1e-9) ** 2, np.inf)
        i, j = np.unravel_index(int(np.argmin(score)), score.shape)
        usual = _around_median(e)
        if score[i, j] > self.gain * _variance(usual, e):
            return usual
        cut_low = -math.inf if below[i] == 0 else float(e[below[i]])
        cut_high = math.inf if above[j] == 0 else float(e[n - 1 - above[j]])
        return Cut(cut_low, cut_high, float(mean[i, j]), float(share[i, j]))


def softened(cut: Cut, residuals: Array) -> Cut:
    """Return Student-t's psi, of 4 degrees of freedom, if it estimates better than `cut`.

    Only where outliers lie on both sides, and gross ones do not outweigh those on the other side
    by more than chance may: those on one side are where the mean lies away from the median.

    Examples
    --------
    >>> e = np.sinh(np.linspace(-3.0, 3.0, 99))
    >>> softened(AdaptiveWindow().learn(e), e).softness > 0.0
    True
    """
    usual = _around_median(residuals)
    below, above = np.sum(residuals < usual.low), np.sum(residuals > usual.high)
    few = len(residuals) < _FEW or usual.width <= 2.0 * _FINEST
    if few or min(below, above) < max(_EITHER_SIDE * (below + above), 1.0):
        return cut
    far = gross(cut, residuals).excess(residuals)
    size = float(np.median(np.abs(far[far != 0.0]))) if far.any() else 0.0
    if balance(np.clip(far, -size, size)) < _CANCELS:
        return cut
    soft = StudentT().learn(residuals)
    center = float(np.mean(soft.psi(residuals)))
    soft = replace(soft, low=usual.low, high=usual.high, center=center)
    return soft if _variance(soft, residuals) < _variance(cut, residuals) else cut


def gross(cut: Cut, residuals: Array) -> Cut:
    """Return the window that only gross outliers among the residuals are outside of.

    It ends at 6 robust standard deviations from the median, and nowhere within a window of `cut`.
    """
    wide = _around_median(residuals, _GROSS)
    if cut.softness > 0.0:
        return Cut(wide.low, wide.high)
    return Cut(min(cut.low, wide.low), max(cut.high, wide.high))


def balance(values: Array) -> float:
    """Return how far the values (n,) cancel: from near 0, many of one sign, to 1.

    Few values are of one sign by chance, so two of the largest size are added, one of each sign.

    Examples
    --------
    >>> balance(np.array([0.0, 1.0])), balance(np.array([1.0, -1.0]))
    (0.6666666666666667, 1.0)
    """
    total, sizes = _sums(values)
    return 1.0 - total / (sizes + 2.0)


def one_sided(values: Array) -> float:
    """Return how little the values (n,) cancel: 1 for one sign, near 0 for many of both.

    Few values cancel by chance, so two of the largest size are added, both of one sign.

    Examples
    --------
    >>> one_sided(np.array([0.0, 1.0])), one_sided(np.array([1.0, -1.0]))
    (1.0, 0.5)
    """
    total, sizes = _sums(values)
    return (total + 2.0) / (sizes + 2.0)


def _sums(values: Array) -> tuple[float, float]:
    """Return the size of the values' sum, and the sum of their sizes, in units of the largest."""
    most = float(np.abs(values).max(initial=0.0))
    if most == 0.0:
        return 0.0, 0.0
    x = values / most
    return abs(float(np.sum(x))), float(np.sum(np.abs(x)))


def _variance(cut: Cut, e: Array) -> float:
    """Return the asymptotic variance, times n, of the location estimate that psi makes."""
    return float(np.var(cut.psi(e))) / cut.slope**2


def _around_median(e: Array, deviations: float = _USUAL) -> Cut:
    """Return a cut at some robust standard deviations around the median."""
    middle = float(np.median(e))
    reach = max(deviations * 1.4826 * float(np.median(np.abs(e - middle))), _FINEST)
    cut = Cut(middle - reach, middle + reach)
    slope = float(np.mean(~cut.clipped(e)))
    return replace(cut, center=float(np.mean(cut.psi(e))), slope=slope)


def _shares(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many residuals a window may leave out on either side."""
    shares = np.array([0.0, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3])
    shares = np.append(shares, [0.35, 0.4, 0.45, 0.5, 0.6])
    counts = np.unique((shares * n).astype(np.int64))
    return counts, counts


def tuning_free_bound(values: Array, level: float, most: float = math.inf) -> float:
    """Return b > 0 with sum_i min(x_i^2, b^2) / b^2 = level; 0 if all values are.

    The equation of adaptive truncation: about `level` values reach b, whatever their scale, so b
    grows with the number of values as their tail does. It has no solution unless more than
    `level` values differ from zero, and few say nothing of a tail: up to twice `level` of them,
    half their number takes the place of `level`, and the bound is at most `most`.

    Examples
    --------
    >>> tuning_free_bound(np.array([1.0, 1.0, 1.0, 1.0]), 2.0)
    1.4142135623730951
    """
    a = np.sort(np.abs(values))
    a = a[a > 0.0]
    n = len(a)
    if n == 0:
        return 0.0
    if n <= 2.0 * level:
        level = 0.5 * n
    else:
        most = math.inf
    top = a[-1]
    squares = (a / top) ** 2
    sums = np.cumsum(squares)
    # With the k smallest below b: b^2 = sums[k-1] / (level - (n - k)).
    k = np.arange(1, n + 1)
    room = level - (n - k)
    usable = room > 0.0
    b2 = np.where(usable, sums / np.where(usable, room, 1.0), np.inf)
    after = np.append(squares[1:], np.inf)
    fits = usable & (b2 >= squares) & (b2 <= after)
    if not fits.any():
        return min(float(top), most)
    return min(float(top * math.sqrt(b2[np.argmax(fits)])), most)
