"""Noise laws: payoffs y = f + eta with E[eta] = 0.

Each law is a frozen description with two methods. `f_values` is (n,)::

    sample(f_values, rng)    -> (n,)          payoffs with these means
    moment_bound(alpha, f)   -> shape of f    an upper bound on E|y|^(1+alpha), 0 < alpha <= 1

The moment is the raw one of section 2, which grows with |f|. Unless a class says otherwise the
bound is exact at alpha = 1 and at f = 0, and an inequality in between
(`_laws.shifted_moment_bound`). Where the moment is infinite a ValueError is raised. Every `scale`
is positive, in the units of the payoff; G is the gamma function.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad
from scipy.special import beta as beta_function
from scipy.special import gamma, gammaln, hyp1f1, hyp2f1

from tailproof._util import checks
from tailproof.environments._laws import (
    Array,
    CheckedLaw,
    PayoffLaw,
    law_generator,
    mean_values,
    moment_order,
    require_moment,
    shifted_moment_bound,
    shifts,
    two_sided,
)


class _AdditiveNoise(CheckedLaw):
    """Noise whose law does not depend on f, given by its draws and its absolute moments."""

    _symmetric: bool = False

    @abstractmethod
    def _draw_noise(self, size: int, rng: np.random.Generator) -> Array:
        """Draw `size` values of the noise eta."""

    @abstractmethod
    def _noise_moment(self, p: float) -> float:
        """Return E|eta|^p, 1 < p <= 2, or raise a ValueError if it is infinite."""

    def _draw_payoffs(self, f: Array, rng: np.random.Generator) -> Array:
        """Return one payoff f + noise for each mean f (n,)."""
        return f + self._draw_noise(f.size, rng)

    def _payoff_moments(self, p: float, f: Array) -> Array:
        """Return bounds on E|f + e|^p, (n,)."""
        return shifted_moment_bound(p, f, self._noise_moment(p), symmetric=self._symmetric)


@dataclass(frozen=True)
class StudentT(_AdditiveNoise):
    """Student's t noise, `scale` times a t with `df` degrees of freedom (the paper: df = 3).

    E|eta|^p = scale^p df^(p/2) G((p+1)/2) G((df-p)/2) / (sqrt(pi) G(df/2)), finite for p < df,
    and df > 1; at df = 3, scale = 1, alpha = 1 the bound is 3 + f^2.

    Examples
    --------
    >>> float(StudentT(df=3.0).moment_bound(1.0, 2.0))
    7.0
    """

    df: float
    scale: float = 1.0
    _symmetric = True

    def _draw_noise(self, size: int, rng: np.random.Generator) -> Array:
        """Return Student-t noise, (size,)."""
        return self.scale * rng.standard_t(self.df, size)

    def _noise_moment(self, p: float) -> float:
        """Return E|e|^p of Student-t noise."""
        require_moment(p, "df", self.df)
        if p == 2.0:
            return self.scale**2 * self.df / (self.df - 2.0)
        log = gammaln((p + 1.0) / 2.0) + gammaln((self.df - p) / 2.0) - gammaln(self.df / 2.0)
        return (self.scale * math.sqrt(self.df)) ** p * math.exp(log) / math.sqrt(math.pi)


@dataclass(frozen=True)
class Gaussian(_AdditiveNoise):
    """Normal noise with standard deviation `scale`; the bound is exact for every f.

    Examples
    --------
    >>> float(Gaussian(scale=2.0).moment_bound(1.0, 1.0).round(9))
    5.0
    """

    scale: float = 1.0

    def _draw_noise(self, size: int, rng: np.random.Generator) -> Array:
        """Return Gaussian noise, (size,)."""
        return self.scale * rng.standard_normal(size)

    def _noise_moment(self, p: float) -> float:
        """Return E|e|^p of Gaussian noise."""
        moment = (self.scale * math.sqrt(2.0)) ** p * gamma((p + 1.0) / 2.0) / math.sqrt(math.pi)
        return float(moment)

    def _payoff_moments(self, p: float, f: Array) -> Array:
        """Return E|f + e|^p of Gaussian noise, exact, (n,)."""
        ratio = f / self.scale
        exact = self._noise_moment(p) * hyp1f1(-p / 2.0, 0.5, -0.5 * ratio * ratio)
        return np.asarray(exact, dtype=np.float64)


@dataclass(frozen=True)
class SymmetricPareto(_AdditiveNoise):
    """Pareto noise with a fair random sign: P(|eta| > x) = (scale / x)^shape for x >= scale.

    E|eta|^p = shape scale^p / (shape - p), finite for p < shape.

    Examples
    --------
    >>> float(SymmetricPareto(shape=3.0).moment_bound(1.0, 0.0).round(9))
    3.0
    """

    shape: float
    scale: float = 1.0
    _symmetric = True

    def _draw_noise(self, size: int, rng: np.random.Generator) -> Array:
        """Return symmetric Pareto noise, (size,)."""
        sizes = self.scale * (1.0 + rng.pareto(self.shape, size))
        return np.where(rng.random(size) < 0.5, sizes, -sizes)

    def _noise_moment(self, p: float) -> float:
        """Return E|e|^p of symmetric Pareto noise."""
        require_moment(p, "shape", self.shape)
        return self.shape * self.scale**p / (self.shape - p)


@dataclass(frozen=True)
class CenteredPareto(_AdditiveNoise):
    """One-sided Pareto noise minus its mean m = scale shape / (shape - 1).

    The law of the size has P(X > x) = (scale / x)^shape for x >= scale, and eta = X - m. With
    a = shape and B the beta function, for p < shape,
    E|eta|^p = a m^p (1 - 1/a)^a [B(p+1, a-p) + a^-(p+1) / (p+1) 2F1(a+1, p+1; p+2; 1/a)]:
    the first term from X above m, the second from X below it.

    Examples
    --------
    >>> float(CenteredPareto(shape=3.0).moment_bound(1.0, 0.0).round(9))
    0.75
    """

    shape: float
    scale: float = 1.0

    @property
    def center(self) -> float:
        """The mean of the uncentered law, subtracted from every draw."""
        return self.scale * self.shape / (self.shape - 1.0)

    def _draw_noise(self, size: int, rng: np.random.Generator) -> Array:
        """Return centered Pareto noise, (size,)."""
        return self.scale * (1.0 + rng.pareto(self.shape, size)) - self.center

    def _noise_moment(self, p: float) -> float:
        """Return E|e|^p of centered Pareto noise."""
        a = self.shape
        require_moment(p, "shape", a)
        above = beta_function(p + 1.0, a - p)
        below = a ** -(p + 1.0) / (p + 1.0) * hyp2f1(a + 1.0, p + 1.0, p + 2.0, 1.0 / a)
        return a * self.center**p * (1.0 - 1.0 / a) ** a * float(above + below)


@dataclass(frozen=True)
class AlphaStable(_AdditiveNoise):
    """Stable noise with index `alpha` in (1, 2], skewness `beta` in [-1, 1] and mean zero.

    Characteristic function exp(-|scale t|^alpha (1 - i beta sign(t) tan(pi alpha / 2))): in this
    parameterization the location is the mean. alpha = 2 is N(0, 2 scale^2); below 2 the moment of
    order p is finite only for p < alpha, and with h = beta tan(pi alpha / 2)
    E|eta|^p = scale^p G(1 - p/alpha) / (G(1-p) cos(pi p / 2))
    (1 + h^2)^(p / (2 alpha)) cos((p / alpha) arctan h).

    Examples
    --------
    >>> float(AlphaStable(alpha=2.0).moment_bound(1.0, 3.0).round(9))
    11.0
    """

    alpha: float
    beta: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameters of stable noise."""
        super().__post_init__()
        checks.fields(self, alpha=checks.number, beta=checks.number)
        if not 1.0 < self.alpha <= 2.0:
            raise ValueError(f"`1 < alpha <= 2` must hold, but got alpha={self.alpha!r}.")
        if not -1.0 <= self.beta <= 1.0:
            raise ValueError(f"`-1 <= beta <= 1` must hold, but got beta={self.beta!r}.")
        object.__setattr__(self, "_symmetric", self.beta == 0.0)  # the only law with a choice

    def _stable_skew(self) -> float:
        """Return beta tan(pi alpha / 2), the skewness of the stable law."""
        # At alpha = 2 skewness drops out of the law; the tangent is zero but for rounding.
        return 0.0 if self.alpha == 2.0 else self.beta * math.tan(math.pi * self.alpha / 2.0)

    def _draw_noise(self, size: int, rng: np.random.Generator) -> Array:
        """Draw stable noise by the method of Chambers, Mallows and Stuck."""
        angle = rng.uniform(-math.pi / 2.0, math.pi / 2.0, size)
        exponential = rng.standard_exponential(size)
        a, h = self.alpha, self._stable_skew()
        turned = a * (angle + math.atan(h) / a)
        # Both cosines are positive but for rounding at the ends of the interval.
        tiny = np.finfo(np.float64).tiny
        cosine = np.maximum(np.cos(angle), tiny)
        turned_cosine = np.maximum(np.cos(angle - turned), tiny)
        power = (exponential / turned_cosine) ** ((a - 1.0) / a)
        draws = np.sin(turned) / cosine ** (1.0 / a) * power
        return self.scale * (1.0 + h * h) ** (0.5 / a) * draws

    def _noise_moment(self, p: float) -> float:
        """Return E|e|^p of stable noise, p below alpha."""
        a, h = self.alpha, self._stable_skew()
        require_moment(p, "self.alpha", a)
        head = gamma(1.0 - p / a) / (gamma(1.0 - p) * math.cos(math.pi * p / 2.0))
        tilt = (1.0 + h * h) ** (p / (2.0 * a)) * math.cos(p / a * math.atan(h))
        return self.scale**p * float(head) * tilt

    def _payoff_moments(self, p: float, f: Array) -> Array:
        """Return bounds on E|f + e|^p of stable noise, (n,)."""
        if self.alpha == 2.0:
            return Gaussian(self.scale * math.sqrt(2.0))._payoff_moments(p, f)
        return super()._payoff_moments(p, f)


@dataclass(frozen=True)
class CenteredLogNormal(_AdditiveNoise):
    """Log-normal noise minus its mean: eta = scale (exp(sigma Z) - exp(sigma^2 / 2)), Z ~ N(0, 1).

    Every moment is finite, yet the tail is heavier than any exponential. E|eta|^p is closed at
    p = 2 and comes from numerical integration (relative error below 1e-9) otherwise.

    Examples
    --------
    >>> float(CenteredLogNormal(sigma=1.0).moment_bound(1.0, 0.0).round(4))
    4.6708
    """

    sigma: float
    scale: float = 1.0

    def _draw_noise(self, size: int, rng: np.random.Generator) -> Array:
        """Return centered log-normal noise, (size,)."""
        draws = np.exp(self.sigma * rng.standard_normal(size))
        return self.scale * (draws - math.exp(self.sigma**2 / 2.0))

    def _noise_moment(self, p: float) -> float:
        """Return E|e|^p of centered log-normal noise."""
        if p == 2.0:
            moment = math.exp(self.sigma**2) * math.expm1(self.sigma**2)
        else:
            moment = math.exp(p * self.sigma**2 / 2.0) * _lognormal_relative_moment(p, self.sigma)
        return self.scale**p * moment


def _lognormal_relative_moment(p: float, sigma: float) -> float:
    """E|exp(sigma Z - sigma^2 / 2) - 1|^p of log-normal noise, Z standard normal, by quadrature.

    The integrand has a kink at z = sigma / 2 and is negligible more than twelve units outside of
    [0, p sigma].
    """

    def integrand(z: float) -> float:
        x = sigma * z - sigma**2 / 2.0
        if x == 0.0:
            return 0.0
        # In logarithms: for a large sigma the power alone would overflow.
        log_size = x if x > 50.0 else math.log(abs(math.expm1(x)))
        return math.exp(p * log_size - z * z / 2.0)

    ends = (-12.0, 0.0, sigma / 2.0, p * sigma, p * sigma + 12.0)
    total = sum(quad(integrand, *piece, epsabs=0.0, epsrel=1e-10)[0] for piece in pairwise(ends))
    return float(total) / math.sqrt(2.0 * math.pi)


@dataclass(frozen=True)
class Contamination(CheckedLaw):
    """Another noise law, its draw replaced with probability `share` by +size or -size.

    The bound is exact where that of the base is.

    Examples
    --------
    >>> law = Contamination(Gaussian(1.0), share=0.1, size=10.0)
    >>> float(law.moment_bound(1.0, 0.0).round(9))
    10.9
    """

    base: PayoffLaw
    share: float
    size: float

    def __post_init__(self) -> None:
        """Check a law of noise with outliers."""
        super().__post_init__()
        if not isinstance(self.base, PayoffLaw) or isinstance(self.base, Spike):
            raise ValueError(
                f"`base` must be a noise law that does not depend on the arm, "
                f"but got base={self.base!r}."
            )
        share = checks.in_unit_interval("share", self.share, closed_above=False)
        object.__setattr__(self, "share", share)

    def _draw_payoffs(self, f: Array, rng: np.random.Generator) -> Array:
        """Return payoffs under the base noise, a share of them replaced by outliers."""
        payoffs = self.base.sample(f, rng)
        outlying = rng.random(f.size) < self.share
        signs = np.where(rng.random(f.size) < 0.5, 1.0, -1.0)
        return np.where(outlying, f + self.size * signs, payoffs)

    def _payoff_moments(self, p: float, f: Array) -> Array:
        """Return bounds on E|y|^p under noise with outliers, (n,)."""
        outlier = two_sided(p, f, self.size)
        return (1.0 - self.share) * self.base.moment_bound(p - 1.0, f) + self.share * outlier


@dataclass(frozen=True)
class Spike:
    """Noise of +size or -size, equally likely, at one arm and none elsewhere (Figure f: size 10).

    The law depends on the arm and not on the mean alone, so `sample` needs the arms. `arm` is the
    number of the noisy one, from 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Spike(arm=1).sample([0.5, 0.5], rng, arms=[0, 2])
    array([0.5, 0.5])
    """

    arm: int
    size: float = 10.0

    def __post_init__(self) -> None:
        """Check the noise of one arm."""
        object.__setattr__(self, "arm", checks.integer("arm", self.arm, low=0))
        checks.fields(self, size=checks.positive)

    def sample(self, f_values: ArrayLike, rng: np.random.Generator, arms: ArrayLike) -> Array:
        """Draw a payoff for each mean in `f_values` (n,) at `arms` (n,), of which one has noise."""
        f, rng = mean_values(f_values), law_generator(rng)
        numbers = np.asarray(arms)
        if numbers.shape != f.shape:
            raise ValueError(
                f"`arms` must have one entry a mean, but got shapes {numbers.shape} and {f.shape}."
            )
        signs = np.where(rng.random(f.size) < 0.5, 1.0, -1.0)
        return f + np.where(numbers == self.arm, self.size * signs, 0.0)

    def moment_bound(self, alpha: float, f: ArrayLike) -> Array:
        """E|y|^(1+alpha) under noise at one arm: exact there and above |f|^(1+alpha) elsewhere."""
        return two_sided(moment_order(alpha), shifts(f), self.size)
