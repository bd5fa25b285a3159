"""Robust losses: how far the residual of a single payoff may pull the fit.

A loss looks at the residuals e of the payoffs around a fit and returns a `PsiFunction`: a bounded
function psi(e), the derivative of the loss, with mean zero over the residuals (`center` is what is
subtracted for that), and its mean `slope`. The fit then solves the penalized equations of psi
(M-estimation, Huber 1964); its solution is least squares on pseudo-observations
m + psi(e) / slope, m the fitted values.

`AdaptiveWindow`, the default, chooses the window psi(e) = clip(e, lower, upper) - center with the
least asymptotic variance of the location estimate, Var(clip(e)) / P(lower <= e <= upper)^2. Light
tails keep every residual, heavy tails a narrow window, skewed laws a window on their steep side.
Where outliers lie on both sides, the psi of a Student-t likelihood takes its place if its variance
is smaller (`tailproof.search.model.fit.choose_psi`). Each estimates a location, not a mean: the
tail correction (`tailproof.search.model.parameters.TailCorrection`) adds an estimate of the clipped
excess back, with a bound that grows with the number of payoffs, so that the target is the mean.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tailproof._util import checks

# Fewest residuals that a window learnt from them may hold.
FEWEST = 15
# Residuals beyond this many scales of the payoffs count as being that large.
_LARGEST = 1e3
# Least half width of a window: residuals smaller than that are not treated as noise.
LEAST_HALF_WIDTH = 0.05
# `AdaptiveWindow.prepare`: one payoff in 20, and one more, may lie beyond the others on either
# side, but by at most one robust standard deviation.
_PAYOFFS_PER_EXTREME, _MOST_BEYOND = 20, 1.0
# Half widths of windows in robust standard deviations: of the usual one, for residuals, and of the
# first one, for payoffs.
_USUAL, _FIRST = 2.5, 5.0

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class WindowPsi:
    """psi(e) = clip(e, lower, upper) - center; by default the identity, which limits nothing."""

    lower: float = -math.inf
    upper: float = math.inf
    center: float = 0.0
    slope: float = 1.0

    @property
    def width(self) -> float:
        """The range of residuals that psi leaves nearly unchanged: that of the window."""
        return min(self.upper, _LARGEST) - max(self.lower, -_LARGEST)

    @property
    def start(self) -> WindowPsi:
        """The psi whose equations are solved first: the window itself, they have one solution."""
        return self

    def __call__(self, residuals: Array) -> Array:
        """Return psi of residuals, (n,)."""
        return np.clip(residuals, self.lower, self.upper) - self.center

    def widened(self, factor: float) -> WindowPsi:
        """Return the window, `factor` times as wide around its middle."""
        middle = 0.5 * (max(self.lower, -_LARGEST) + min(self.upper, _LARGEST))
        lower, upper = (middle + factor * (end - middle) for end in (self.lower, self.upper))
        return replace(self, lower=lower, upper=upper)

    def excess(self, residuals: Array) -> Array:
        """Return what psi clips: residuals - psi(residuals) - center, (n,)."""
        return residuals - np.clip(residuals, self.lower, self.upper)

    def clipped(self, residuals: Array) -> Mask:
        """Return which residuals psi limits: those outside the window, (n,)."""
        return (residuals < self.lower) | (residuals > self.upper)


@dataclass(frozen=True)
class StudentTPsi:
    """psi(e) = e / (1 + decay e^2) - center, redescending: far outliers count for nothing."""

    decay: float  # psi rises up to |e| = 1 / sqrt(decay) and falls beyond
    center: float = 0.0
    slope: float = 1.0
    # The window to start from: the equations of a redescending psi have several solutions. Without
    # one, wider psis of the same kind lead to the solution.
    window: WindowPsi | None = None

    @property
    def width(self) -> float:
        """The residual where psi is largest."""
        return 1.0 / math.sqrt(self.decay)

    @property
    def start(self) -> PsiFunction:
        """The psi function whose equations are solved first: the window, if there is one."""
        return self if self.window is None else self.window

    def __call__(self, residuals: Array) -> Array:
        """Return psi of residuals, (n,)."""
        return self._student_t_redescend(residuals) - self.center

    def _student_t_redescend(self, residuals: Array) -> Array:
        # For a huge residual this is 1 / (decay e); the square must not overflow.
        size = np.minimum(np.abs(residuals), 1e150)
        return residuals / (1.0 + self.decay * size * size)

    def widened(self, factor: float) -> StudentTPsi:
        """Return psi, `factor` times as wide."""
        return replace(self, decay=self.decay / factor**2)

    def excess(self, residuals: Array) -> Array:
        """Return the part of residuals that does not count, (n,)."""
        return residuals - self._student_t_redescend(residuals)

    def clipped(self, residuals: Array) -> Mask:
        """Return which residuals lie outside the window, or beyond psi's maximum, (n,)."""
        if self.window is None:
            return np.abs(residuals) > self.width
        return self.window.clipped(residuals)


PsiFunction = WindowPsi | StudentTPsi


@runtime_checkable
class RobustLoss(Protocol):
    """A robust loss, as a rule that chooses psi from residuals; by default the squared loss.

    `restores_mean` says whether the clipped excess is added back, so that the target is the mean.
    """

    restores_mean: ClassVar[bool] = False

    def prepare(self, payoffs: Array) -> Array:
        """Return standardized payoffs (n,) as the fit is to see them."""
        return payoffs

    def begin(self, payoffs: Array) -> PsiFunction:
        """Return psi for payoffs (n,) around their median, before there is a fit."""
        return self.learn(payoffs)

    def learn(self, residuals: Array) -> PsiFunction:
        """Return psi for residuals (n,) around a fit."""
        return WindowPsi()


@dataclass(frozen=True)
class Gaussian(RobustLoss):
    """The squared loss of the ordinary Gaussian process: nothing is clipped."""


@dataclass(frozen=True)
class Winsorize(RobustLoss):
    """Clip payoffs at `deviations` robust standard deviations around their median.

    The clipped excess is lost: the target is not the mean.
    """

    deviations: float = 3.0

    def __post_init__(self) -> None:
        checks.fields(self, deviations=checks.positive)

    def prepare(self, payoffs: Array) -> Array:
        """Return the payoffs clipped by the loss."""
        center = float(np.median(payoffs))
        reach = self.deviations * 1.4826 * float(np.median(np.abs(payoffs - center)))
        return np.clip(payoffs, center - reach, center + reach) if reach > 0.0 else payoffs


@dataclass(frozen=True)
class StudentT(RobustLoss):
    """A Student-t likelihood with `df` degrees of freedom, by its mode.

    The target is the mode of the likelihood: the median where noise is symmetric. The curvature of
    the posterior is the one that a sandwich estimate of its mode's variance has.
    """

    df: float = 4.0

    def __post_init__(self) -> None:
        checks.fields(self, df=checks.positive)

    def learn(self, residuals: Array) -> StudentTPsi:
        """Return psi at the scale that is most likely for the residuals."""
        squares = np.minimum(np.abs(residuals), 1e70) ** 2
        scale = max(float(np.median(squares)), 1e-12)
        for _ in range(30):  # expectation-maximization of the scale
            weights = (self.df + 1.0) / (self.df + squares / scale)
            scale = max(float(np.mean(weights * squares)), 1e-12)
        decay = 1.0 / (self.df * scale)
        ratio = np.minimum(decay * squares, 1e100)
        slope = float(np.mean((1.0 - ratio) / (1.0 + ratio) ** 2))
        return StudentTPsi(decay, slope=max(slope, 0.05))


@dataclass(frozen=True)
class AdaptiveWindow(RobustLoss):
    """The window of least asymptotic variance; the clipped excess is added back."""

    # Least share of the residuals that must lie inside.
    least: float = 0.4
    # By how many standard errors of that share a window must win: few residuals keep more.
    caution: float = 2.0
    # A window must bring the variance below this share of the usual window's, 2.5 robust standard
    # deviations around the median: the best of many windows looks good by chance too.
    gain: float = 0.8
    restores_mean: ClassVar[bool] = True

    def __post_init__(self) -> None:
        share = functools.partial(checks.in_unit_interval, closed_above=True)
        checks.fields(self, least=share, caution=checks.non_negative, gain=share)

    def prepare(self, payoffs: Array) -> Array:
        """Return the payoffs, the few largest and smallest not far beyond the others.

        A payoff that stands alone pulls the fit as far as psi allows, which is far while the noise
        looks small. What is removed here counts as clipped by psi.
        """
        e, extremes = np.sort(payoffs), 1 + len(payoffs) // _PAYOFFS_PER_EXTREME
        if len(e) <= 2 * extremes:
            return payoffs
        return np.clip(payoffs, e[extremes] - _MOST_BEYOND, e[-1 - extremes] + _MOST_BEYOND)

    def begin(self, payoffs: Array) -> WindowPsi:
        """Return a wide window: payoffs vary because their means do, and that is no noise."""
        return window_around_median(np.sort(payoffs), _FIRST)

    def learn(self, residuals: Array) -> WindowPsi:
        """Return the window of least asymptotic variance among those that end at quantiles."""
        # Extreme but legal residuals: sums must keep their digits, and no window keeps them.
        e = np.sort(residuals)
        low, middle, high = np.quantile(e, [0.25, 0.5, 0.75])
        reach = _LARGEST * max(float(high - low), LEAST_HALF_WIDTH)
        e = np.clip(e, middle - reach, middle + reach)
        n = len(e)
        usual = window_around_median(e)
        if n < FEWEST:
            return usual
        outside = _residuals_outside_window(n)
        low, high = e[outside][:, None], e[n - 1 - outside][None, :]
        sums, squares = np.append(0.0, np.cumsum(e)), np.append(0.0, np.cumsum(e * e))
        first, last = outside[:, None], n - outside[None, :]
        inside = np.maximum(last - first, 0)
        mean = (first * low + sums[last] - sums[first] + (n - last) * high) / n
        square = (first * low**2 + squares[last] - squares[first] + (n - last) * high**2) / n
        variance = np.maximum(square - mean**2, 0.0)
        # The residuals at the ends are inside; those beyond are not.
        share = inside / n
        sure_share = share - self.caution * np.sqrt(share * (1.0 - share) / n)
        allowed = (share >= self.least) & (inside >= FEWEST) & (sure_share > 0.0) & (high > low)
        allowed &= high - low >= 2.0 * LEAST_HALF_WIDTH
        if not allowed.any():
            return usual
        score = np.where(allowed, variance / np.maximum(sure_share, 1e-9) ** 2, np.inf)
        i, j = np.unravel_index(int(np.argmin(score)), score.shape)
        if score[i, j] > self.gain * asymptotic_variance(usual, e):
            return usual
        lower = -math.inf if outside[i] == 0 else float(e[outside[i]])
        upper = math.inf if outside[j] == 0 else float(e[n - 1 - outside[j]])
        return WindowPsi(lower, upper, float(mean[i, j]), float(share[i, j]))


def asymptotic_variance(psi: PsiFunction, e: Array) -> float:
    """Return the asymptotic variance, times n, of the location estimate of psi."""
    return float(np.var(psi(e))) / psi.slope**2


def window_around_median(e: Array, deviations: float = _USUAL) -> WindowPsi:
    """Return the psi of a window `deviations` robust sigmas around the median residual."""
    middle = float(np.median(e))
    reach = max(deviations * 1.4826 * float(np.median(np.abs(e - middle))), LEAST_HALF_WIDTH)
    psi = WindowPsi(middle - reach, middle + reach)
    return replace(psi, center=float(np.mean(psi(e))), slope=float(np.mean(~psi.clipped(e))))


def _residuals_outside_window(n: int) -> NDArray[np.int64]:
    """Return how many of n residuals a window may leave out on one side."""
    small = [0.0, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15]
    shares = np.array([*small, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6])
    return np.unique((shares * n).astype(np.int64))
