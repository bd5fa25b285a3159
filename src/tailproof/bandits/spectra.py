"""Discrete spectra of stationary kernels: k(x, x') close to sum_j w_j cos(omega_j . (x - x')).

A stationary kernel is the Fourier transform of a symmetric measure (Bochner). Sums of kernels have
sums of measures (additive models), products have convolutions, and a kernel on some columns has a
measure on these; so every kernel made from one-dimensional parts gets a discrete measure:

    squared exponential   Gauss-Hermite nodes on a tensor grid (section 5 (a))
    Matern, one column    the trapezoidal rule on equidistant frequencies

The trapezoidal rule with step h has two errors, both explicit (Poisson summation; S decreases):
sum over n != 0 of k(x + 2 pi n / h), and the spectrum's mass beyond the last node.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailproof._util.quadrature import gauss_hermite, tensor_grid
from tailproof.kernels import (
    Columns,
    Kernel,
    Matern,
    Product,
    Scaled,
    SquaredExponential,
    Sum,
    matern_of_distance,
    scaled_inputs,
)

Array = NDArray[np.float64]
ALIASES = 50  # periods that are summed; the kernel has decayed long before
STEPS = 400  # frequency steps that are tried


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A discrete symmetric measure: frequencies (f, d) of both signs, and weights (f,)."""

    frequencies: Array
    weights: Array
    error: float  # uniform bound on |k - k~| over the box around the points

    @property
    def total(self) -> float:
        """k~(x, x), the sum of the weights of the frequencies."""
        return float(self.weights.sum())

    def halved(self) -> tuple[Array, Array]:
        """Return one of each pair +-omega, (g, d), and its weight nu(omega), (g,)."""
        first = (self.frequencies != 0.0).argmax(axis=1)
        leading = np.take_along_axis(self.frequencies, first[:, None], axis=1)[:, 0]
        keep = leading >= 0.0
        return self.frequencies[keep], self.weights[keep]


def spectrum(kernel: Kernel, X: Array, nodes: int) -> Spectrum:
    """Return a discrete spectrum with `nodes` nodes for each one-dimensional part of the kernel.

    `X` (n, d) are points of the domain; the error bound is for the box around them. Kernels that
    are not made from SquaredExponential, Matern in one column, sums, products, multiples and
    `Columns` are refused.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(size=(50, 3))
    >>> k = 0.5 * Columns(SquaredExponential(0.3), (0, 1)) + 0.5 * Columns(Matern(2.5, 0.3), 2)
    >>> found = spectrum(k, X, nodes=20)
    >>> found.frequencies.shape, round(found.total, 12), bool(found.error < 2e-3)
    ((420, 3), 1.0, True)
    """
    d = X.shape[1]
    if type(kernel) is Scaled:
        base = spectrum(kernel.base, X, nodes)
        return Spectrum(base.frequencies, kernel.factor * base.weights, kernel.factor * base.error)
    if type(kernel) is Columns:
        base = spectrum(kernel.base, kernel.chosen(X), nodes)
        frequencies = np.zeros((len(base.frequencies), d))
        frequencies[:, list(kernel.columns)] = base.frequencies  # type: ignore[arg-type]
        return Spectrum(frequencies, base.weights, base.error)
    if type(kernel) is Sum or type(kernel) is Product:
        left, right = (spectrum(part, X, nodes) for part in (kernel.left, kernel.right))
        if type(kernel) is Sum:
            frequencies = np.concatenate([left.frequencies, right.frequencies])
            weights = np.concatenate([left.weights, right.weights])
            return Spectrum(frequencies, weights, left.error + right.error)
        frequencies = (left.frequencies[:, None] + right.frequencies[None]).reshape(-1, d)
        weights = np.multiply.outer(left.weights, right.weights).ravel()
        # |k k' - l l'| <= |k - l| |k'| + |l| |k' - l'|, and |k'| <= |l'| + error.
        error = left.error * (right.total + right.error) + left.total * right.error
        return Spectrum(frequencies, weights, error)
    if type(kernel) is SquaredExponential:
        return _hermite_spectrum(kernel, X, nodes)
    if type(kernel) is Matern and d == 1:
        return _trapezoidal_spectrum(kernel, X, nodes)
    raise ValueError(
        "`kernel` must be SquaredExponential, Matern on one column, or Columns, sums, products and "
        f"multiples of these for QuadratureFourier features, but got {kernel!r} on {d} column(s)."
    )


def spectrum_size(kernel: Kernel, d: int, nodes: int) -> int:
    """Return the number of frequencies of `spectrum`, of both signs, before making it."""
    if type(kernel) is Scaled:
        return spectrum_size(kernel.base, d, nodes)
    if type(kernel) is Columns:
        assert isinstance(kernel.columns, tuple)
        return spectrum_size(kernel.base, len(kernel.columns), nodes)
    if type(kernel) is Sum:
        return spectrum_size(kernel.left, d, nodes) + spectrum_size(kernel.right, d, nodes)
    if type(kernel) is Product:
        return spectrum_size(kernel.left, d, nodes) * spectrum_size(kernel.right, d, nodes)
    if type(kernel) is SquaredExponential:
        return int(nodes**d)
    return nodes


def hermite_error(longest: float, d: int, nodes: int) -> float:
    """Bound on |k - k~| for Gauss-Hermite frequencies in d dimensions ("QFF error").

    d 2^(d-1) / sqrt(2) (e / (4 nodes l^2))^nodes with 1/l the longest side in lengthscales.
    """
    if longest == 0.0:
        return 0.0
    log_bound = nodes * (1.0 - math.log(4.0 * nodes) + 2.0 * math.log(longest))
    log_bound += math.log(d) + (d - 1) * math.log(2.0) - 0.5 * math.log(2.0)
    return math.exp(min(log_bound, 700.0))


def _hermite_spectrum(kernel: SquaredExponential, X: Array, nodes: int) -> Spectrum:
    """Return Gauss-Hermite frequencies of the squared exponential kernel."""
    grid, weights = tensor_grid([gauss_hermite(nodes)] * X.shape[1])
    frequencies = math.sqrt(2.0) * scaled_inputs(grid, kernel.lengthscale)
    longest = float(np.ptp(scaled_inputs(X, kernel.lengthscale), axis=0).max())
    return Spectrum(frequencies, weights, hermite_error(longest, X.shape[1], nodes))


def _trapezoidal_spectrum(kernel: Matern, X: Array, nodes: int) -> Spectrum:
    """Equidistant frequencies for a Matern kernel, in units of 1 / lengthscale; weights sum to 1.

    The spectral measure is a Student-t law with 2 nu degrees of freedom. An even number of nodes
    has none at zero.
    """
    from scipy.stats import t as student  # loading scipy.stats is slow

    (lengthscale,) = np.atleast_1d(np.asarray(kernel.lengthscale, dtype=np.float64))
    step, error = _best_step(kernel.nu, float(np.ptp(X)) / float(lengthscale), nodes)
    places = _symmetric_places(nodes)
    density = student.pdf(places * step, 2.0 * kernel.nu)
    mass = step * float(density.sum())
    frequencies = places * (step / float(lengthscale))
    return Spectrum(frequencies[:, None], step * density / mass, min(error, 2.0))


def _symmetric_places(nodes: int) -> Array:
    """Return the places of equidistant frequencies around zero, in steps."""
    places: Array = np.arange(nodes, dtype=np.float64) - (nodes - 1) / 2.0
    return places


@functools.lru_cache(maxsize=256)
def _best_step(nu: float, longest: float, nodes: int) -> tuple[float, float]:
    """Return the step between frequencies with the smallest error bound, and that bound.

    `longest` is the longest lag, in lengthscales.
    """
    from scipy.stats import t as student  # loading scipy.stats is slow

    places = _symmetric_places(nodes)
    best: tuple[float, float] | None = None
    for period in np.geomspace(longest + 0.1, 2.0 * longest + 200.0, STEPS):
        step = 2.0 * math.pi / float(period)
        mass = step * float(student.pdf(places * step, 2.0 * nu).sum())
        beyond = 2.0 * float(student.sf((nodes / 2.0 - 0.5) * step, 2.0 * nu))
        lags = np.arange(1, ALIASES) * period - longest
        # Midpoints (even numbers of nodes) alternate the signs of the aliases: no larger.
        aliases = 2.0 * float(matern_of_distance(lags, nu).sum())
        error = aliases + beyond + abs(1.0 - mass)
        if best is None or error < best[1]:
            best = step, error
    assert best is not None
    return best
