"""The lower bound's hard instance (Theorem 2, Appendix C): M shifted copies of a bump on [0, 1]^d.

One bump g of height 2 gap is shifted to M cells of a grid; payoffs are rare jumps, so that many
rounds are needed to find out which f_j is played. Symbols: `gap` is the paper's Delta,
`norm_bound` B, `v` the bound on E|y|^(1+alpha), `width` w, `horizon` T, and::

    g(x) = (2 gap / h(0)) h(x zeta / w)                          h: `bump.bump_transform`
    SE      w = zeta pi l / sqrt(ln(B (2 pi l^2)^(d/4) h(0) / (2 gap)))
    Matern  w = zeta (2 gap (8 pi^2)^((nu + d/2)/2) / (B c^(-1/2) h(0)))^(1/nu)

Differences from the appendix as printed:

- The Matern formula prints tau for zeta and leaves c open. With S(u) = a (2 nu / l^2 +
  4 pi^2 |u|^2)^-(nu + d/2) the kernel's spectral density, |g| <= B follows for c = 1 / a.
- zeta is any number with h < h(0) / 2 outside |x|_inf <= zeta. With the smallest such number
  neighbors a step w apart share points where both exceed gap, half-way between their peaks, and
  the appendix's claim that no gap-optimal point of f_j is gap-optimal for another f_j' fails.
  A zeta of (just over) twice the smallest makes it true, g < gap holding from w / 2 on, and
  leaves every formula as printed.
- The grid has floor(1/w) cells a side, so M = floor(1/w)^d; the paper's floor((1/w)^d) is
  larger for d > 1, and so many points do not form a grid of step w.
- The norm bound holds for gap << B; here the norm is computed, and a gap too large is refused. The
  printed w leaves it far below B. With `exact_norm` w is the width at which the norm is B: smaller,
  so that M is larger and the instance harder, for the same gap, B and v.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from tailproof._util import checks
from tailproof.environments import bump
from tailproof.environments._laws import Array, law_generator
from tailproof.environments.payoffs import ROUNDING, TwoPoint
from tailproof.kernels import Matern, SquaredExponential

StationaryKernel = SquaredExponential | Matern

# Twice the smallest zeta makes neighbors' gap-optimal sets touch; slightly more separates them.
SEPARATION = 2.001


def log_spectral_density(kernel: StationaryKernel, dim: int, frequency: Array) -> Array:
    """Return ln S(u) for a hard instance at |u| = `frequency` (cycles a unit of length), any shape.

    k(x) = int S(u) exp(2 pi i u . x) du, with S = (2 pi l^2)^(d/2) exp(-2 pi^2 l^2 |u|^2) for
    the squared-exponential kernel and S = a (2 nu / l^2 + 4 pi^2 |u|^2)^-(nu + d/2),
    a = 2^d pi^(d/2) Gamma(nu + d/2) (2 nu)^nu / (Gamma(nu) l^(2 nu)), for Matern.
    """
    length = _scalar_lengthscale(kernel)
    squared = np.square(frequency)
    if isinstance(kernel, SquaredExponential):
        return (
            dim / 2.0 * math.log(2.0 * math.pi * length**2)
            - 2.0 * (math.pi * length) ** 2 * squared
        )
    power = kernel.nu + dim / 2.0
    tail: Array = np.log(2.0 * kernel.nu / length**2 + 4.0 * math.pi**2 * squared)
    return _log_matern_constant(kernel, dim) - power * tail


def _log_matern_constant(kernel: Matern, dim: int) -> float:
    """Return ln a of the Matern kernel in `log_spectral_density`."""
    nu, length = kernel.nu, _scalar_lengthscale(kernel)
    return (
        dim * math.log(2.0)
        + dim / 2.0 * math.log(math.pi)
        + math.lgamma(nu + dim / 2.0)
        - math.lgamma(nu)
        + nu * math.log(2.0 * nu / length**2)
    )


def _scalar_lengthscale(kernel: StationaryKernel) -> float:
    """Return the lengthscale of a kernel that a hard instance may have."""
    stationary = isinstance(kernel, (SquaredExponential, Matern))
    if not stationary or isinstance(kernel.lengthscale, tuple):
        raise ValueError(
            "`kernel` must be SquaredExponential or Matern with one lengthscale, "
            f"but got kernel={kernel!r}."
        )
    return kernel.lengthscale


def _bump_zeta(dim: int) -> float:
    """Return zeta, which sets the width of the bumps of a hard instance in `dim` dimensions."""
    return SEPARATION * bump.half_height_radius(dim)


def _width(kernel: StationaryKernel, dim: int, norm_bound: float, gap: float, zeta: float) -> float:
    """Width w of a hard instance's bump; infinity where gap is so large that it has no value."""
    length, ratio = _scalar_lengthscale(kernel), math.log(norm_bound * bump.peak(dim) / (2.0 * gap))
    if isinstance(kernel, SquaredExponential):
        log = ratio + dim / 4.0 * math.log(2.0 * math.pi * length**2)
        return zeta * math.pi * length / math.sqrt(log) if log > 0.0 else math.inf
    power = (kernel.nu + dim / 2.0) / 2.0 * math.log(8.0 * math.pi**2)
    exponent = (power - ratio - _log_matern_constant(kernel, dim) / 2.0) / kernel.nu
    return zeta * math.exp(min(exponent, 700.0))


def _bump_norm(kernel: StationaryKernel, dim: int, gap: float, zeta: float, width: float) -> float:
    """Norm of a hard instance's bump: |g|^2 = int |G|^2 / S.

    G(u) = (2 gap / h(0)) (w / zeta)^d H(w u / zeta).
    """
    s, weights = bump.radial_rule(dim, 2 * bump.BASE_NODES)
    logs = -log_spectral_density(kernel, dim, s * zeta / width)
    top = float(logs.max())
    integral = float(np.sum(weights * bump.bump(s) ** 2 * np.exp(logs - top)))
    log_norm = math.log(2.0 * gap / bump.peak(dim)) + 0.5 * (
        dim * math.log(width / zeta) + top + math.log(integral)
    )
    return math.exp(log_norm)


def _exact_width(
    kernel: StationaryKernel, dim: int, norm_bound: float, gap: float, zeta: float
) -> float:
    """Width of a hard instance's bump of norm B.

    It is below that of the formula, where the norm falls with the width.
    """
    upper = min(_width(kernel, dim, norm_bound, gap, zeta), 0.5)
    if _bump_norm(kernel, dim, gap, zeta, upper) > norm_bound:
        return math.inf
    lower = upper
    while _bump_norm(kernel, dim, gap, zeta, lower) <= norm_bound:
        lower /= 1.5
    for _ in range(100):
        middle = math.sqrt(lower * upper)
        fits = _bump_norm(kernel, dim, gap, zeta, middle) <= norm_bound
        lower, upper = (lower, middle) if fits else (middle, upper)
    return upper


@dataclass(frozen=True)
class HardInstance:
    """M functions f_j on [0, 1]^d with norm at most B, and their two-point payoffs.

    The kernel is `SquaredExponential(l)` or `Matern(nu, l)` with one lengthscale, 0 < alpha <= 1,
    and `gap` at most v^(1/(1+alpha)) / 2 and small enough against B for at least two functions of
    norm at most B. `for_horizon` chooses it as the paper does. With `exact_norm` the bumps are as
    narrow as norm B allows, instead of the appendix's width.

    Examples
    --------
    >>> from tailproof.kernels import SquaredExponential
    >>> hard = HardInstance(SquaredExponential(0.1), 1, norm_bound=1.0, alpha=1.0, v=1.0, gap=0.01)
    >>> hard.count, hard.norm <= 1.0
    (5, True)
    >>> f = hard.means(0, hard.centers)
    >>> float(f[0].round(9)), bool(np.all(f[1:] < hard.gap))
    (0.02, True)
    """

    kernel: StationaryKernel
    dim: int
    norm_bound: float
    alpha: float
    v: float
    gap: float
    exact_norm: bool = False

    def __post_init__(self) -> None:
        _scalar_lengthscale(self.kernel)
        object.__setattr__(self, "dim", checks.integer("dim", self.dim, low=1))
        object.__setattr__(self, "exact_norm", checks.flag("exact_norm", self.exact_norm))
        checks.fields(self, norm_bound=checks.positive)
        law = TwoPoint(self.alpha, self.v, self.gap)
        for name in ("alpha", "v", "gap"):
            object.__setattr__(self, name, getattr(law, name))
        if self.width > 0.5:
            raise ValueError(
                f"`gap` must be small enough against `norm_bound` for w <= 1/2 (at least two "
                f"functions), but got w={self.width:g} at gap={self.gap:g}, "
                f"norm_bound={self.norm_bound:g}."
            )
        if self.norm > self.norm_bound * (1.0 + ROUNDING):
            raise ValueError(
                f"`gap` must be small enough against `norm_bound` for |g| <= B, but got "
                f"|g|={self.norm:g} at gap={self.gap:g}, norm_bound={self.norm_bound:g}."
            )

    @classmethod
    def for_horizon(
        cls,
        kernel: StationaryKernel,
        dim: int,
        norm_bound: float,
        alpha: float,
        v: float,
        *,
        horizon: int,
        constant: float = 1.0,
        exact_norm: bool = False,
    ) -> HardInstance:
        """Choose Delta for T = `horizon` rounds as the proof does.

        The largest gap that the constructor accepts with
        gap <= (1/2) min(1/2, M / (4 C^2 T))^(alpha/(1+alpha)) v^(1/(1+alpha)),
        M being the number of functions at that gap: the condition under which the proof gives
        E[R_T] >= T gap, if C / M <= 1/2 besides. The paper leaves C, the `constant`, open; 1 is a
        convention, not a derived figure.

        Examples
        --------
        >>> from tailproof.kernels import Matern
        >>> hard = HardInstance.for_horizon(Matern(2.5, 0.2), 1, 1.0, 1.0, 1.0, horizon=10_000)
        >>> round(hard.gap, 4), hard.count
        (0.0056, 5)
        """
        _scalar_lengthscale(kernel)
        dim = checks.integer("dim", dim, low=1)
        horizon = checks.integer("horizon", horizon, low=1)
        norm_bound = checks.positive("norm_bound", norm_bound)
        alpha = checks.in_unit_interval("alpha", alpha, closed_above=True)
        v, constant = checks.positive("v", v), checks.positive("constant", constant)
        zeta = _bump_zeta(dim)
        width_at = _exact_width if checks.flag("exact_norm", exact_norm) else _width

        def allowed(gap: float) -> bool:
            width = width_at(kernel, dim, norm_bound, gap, zeta)
            if width > 0.5 or _bump_norm(kernel, dim, gap, zeta, width) > norm_bound * (
                1.0 + ROUNDING
            ):
                return False
            count = math.floor(1.0 / width) ** dim
            share = min(0.5, count / (4.0 * constant**2 * horizon))
            return gap <= 0.5 * share ** (alpha / (1.0 + alpha)) * v ** (1.0 / (1.0 + alpha))

        gap = _largest_allowed_gap(allowed, v ** (1.0 / (1.0 + alpha)) / 2.0)
        return cls(kernel, dim, norm_bound, alpha, v, gap, exact_norm)

    @cached_property
    def zeta(self) -> float:
        """The appendix's absolute constant, just over twice its smallest value."""
        return _bump_zeta(self.dim)

    @cached_property
    def width(self) -> float:
        """w, the step of the grid: g < gap outside |x|_inf <= w."""
        width_at = _exact_width if self.exact_norm else _width
        return width_at(self.kernel, self.dim, self.norm_bound, self.gap, self.zeta)

    @property
    def side(self) -> int:
        """Cells a side of the grid, floor(1 / w)."""
        return math.floor(1.0 / self.width)

    @property
    def count(self) -> int:
        """M = floor(1 / w)^d, the number of functions."""
        return self.side**self.dim

    @cached_property
    def norm(self) -> float:
        """The RKHS norm of g on R^d, by quadrature; restricting g to the cube cannot raise it."""
        return _bump_norm(self.kernel, self.dim, self.gap, self.zeta, self.width)

    @property
    def law(self) -> TwoPoint:
        """The law of a hard instance's payoffs given a mean."""
        return TwoPoint(self.alpha, self.v, self.gap)

    @property
    def centers(self) -> Array:
        """The peaks of f_0 .. f_(M-1), (M, d): the middles of the grid's cells."""
        ticks = (np.arange(self.side) + 0.5) / self.side
        grid = np.meshgrid(*[ticks] * self.dim, indexing="ij")
        return np.stack([axis.ravel() for axis in grid], axis=1)

    def g(self, points: ArrayLike) -> Array:
        """Return a hard instance's common bump at `points` (n, d) of R^d, shape (n,)."""
        x = self._cube_points(points)
        radius = np.linalg.norm(x, axis=1) * (self.zeta / self.width)
        height = 2.0 * self.gap / bump.peak(self.dim)
        return np.clip(height * bump.bump_transform(self.dim, radius), None, 2.0 * self.gap)

    def means(self, j: int, points: ArrayLike) -> Array:
        """Return f_j at `points` (n, d) of [0, 1]^d, shape (n,)."""
        x = self._cube_points(points)
        if x.size and (float(x.min()) < 0.0 or float(x.max()) > 1.0):
            raise ValueError(
                f"`0 <= points <= 1` must hold, but got values from {x.min():g} to {x.max():g}."
            )
        cell = np.unravel_index(checks.index("j", j, self.count), (self.side,) * self.dim)
        return self.g(x - (np.array(cell, dtype=np.float64) + 0.5) / self.side)

    def sample(self, j: int, points: ArrayLike, rng: np.random.Generator) -> Array:
        """Draw one payoff of f_j at each of `points` (n, d), shape (n,)."""
        return self.law.sample(self.means(j, points), law_generator(rng))

    def _cube_points(self, points: ArrayLike) -> Array:
        """Return points (n, dim) of the cube on which the hard instance lives."""
        x = checks.finite_array("points", points, ndim=2)
        if x.shape[1] != self.dim:
            raise ValueError(
                f"`points` must have {self.dim} column(s), but got an array of shape {x.shape}."
            )
        return x


def _largest_allowed_gap(allowed: Callable[[float], bool], upper: float) -> float:
    """Bisect for a hard instance's largest gap up to `upper` at which `allowed` still holds."""
    lower = upper
    while not allowed(lower):
        lower /= 2.0
        if lower < upper * 1e-200:
            raise ValueError(
                "`horizon`, `norm_bound` and `v` must allow a positive gap, but none fits."
            )
    if lower == upper:
        return upper
    log_lower, log_upper = math.log(lower), math.log(2.0 * lower)
    for _ in range(80):
        middle = (log_lower + log_upper) / 2.0
        fits = allowed(math.exp(middle))
        log_lower, log_upper = (middle, log_upper) if fits else (log_lower, middle)
    return math.exp(log_lower)
