"""The bump function of Appendix C and its inverse Fourier transform, radial in d dimensions.

H(u) = exp(-1 / (1 - |u|^2)) on the unit ball, zero outside, and with frequencies in cycles (the
convention the widths w of the appendix need)::

    h(x) = int H(u) exp(2 pi i u . x) du = |S^(d-1)| int_0^1 H(s) s^(d-1) A_d(2 pi s |x|) ds

where A_d(z) = Gamma(d/2) (2/z)^(d/2-1) J_(d/2-1)(z) is the average of exp(i z . ) over the unit
sphere: cos z in one dimension, J_0(z) in two, sin(z)/z in three. Gauss-Legendre quadrature on
[0, 1] converges fast because every derivative of H vanishes at 1.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, j0, jv

from tailproof.environments._laws import Array

BASE_NODES = 200  # give h(0) to 1e-14; an oscillation of r cycles needs a few nodes more a cycle
NODES_A_CYCLE = 4
BLOCK = 4_000_000  # entries of the (points, nodes) matrix held at once: 32 MB


def bump(radius: Array) -> Array:
    """Return H at distances `radius >= 0` from the center, any shape."""
    inside = radius < 1.0
    squared = np.where(inside, radius, 0.0) ** 2
    return np.where(inside, np.exp(-1.0 / (1.0 - squared)), 0.0)


@lru_cache(maxsize=32)
def radial_rule(dim: int, nodes: int) -> tuple[Array, Array]:
    """Nodes s, weights for bumps: sum(weights * F(s)) = int over the unit ball of F(|u|) du."""
    t, weights = np.polynomial.legendre.leggauss(nodes)
    s = (t + 1.0) / 2.0
    sphere = 2.0 * math.pi ** (dim / 2.0) / math.gamma(dim / 2.0)
    rule = s, sphere * (weights / 2.0) * s ** (dim - 1)
    for array in rule:
        array.flags.writeable = False
    return rule


def sphere_average(dim: int, z: Array) -> Array:
    """A_d(z), the mean of cos(z . e) over unit vectors e of R^dim, for the bump's transform."""
    if dim == 1:
        return np.cos(z)
    if dim == 2:
        return np.asarray(j0(z))
    if dim == 3:
        return np.sinc(z / math.pi)
    order = dim / 2.0 - 1.0
    # Below 1e-4 the series 1 - z^2 / (2 d) is exact to rounding and avoids 0 / 0.
    safe = np.maximum(z, 1e-4)
    factor = np.exp(gammaln(dim / 2.0) + order * np.log(2.0 / safe))
    return np.where(z < 1e-4, 1.0 - z * z / (2.0 * dim), factor * jv(order, safe))


def bump_transform(dim: int, radius: Array) -> Array:
    """Return h at distances `radius` (n,) from the origin of R^dim, shape (n,).

    Absolute error below 1e-12 h(0), so relative accuracy is lost only where h has decayed.
    """
    values = np.empty(radius.shape)
    if radius.size == 0:
        return values
    nodes = BASE_NODES + NODES_A_CYCLE * math.ceil(float(radius.max()))
    # Rounded up so that nearby calls share a cached rule.
    s, weights = radial_rule(dim, 100 * math.ceil(nodes / 100))
    weighted = weights * bump(s)
    step = max(1, BLOCK // s.size)
    for start in range(0, radius.size, step):
        part = slice(start, start + step)
        values[part] = sphere_average(dim, 2.0 * math.pi * radius[part, None] * s) @ weighted
    return values


@lru_cache(maxsize=32)
def peak(dim: int) -> float:
    """Return h(0), the peak of the bump's transform: the integral of H over the unit ball."""
    return float(bump_transform(dim, np.zeros(1))[0])


@lru_cache(maxsize=32)
def half_height_radius(dim: int) -> float:
    """Return the smallest zeta with h(x) < h(0) / 2 for the bump's h whenever |x|_inf > zeta.

    h depends on |x|_2 alone and |x|_2 >= |x|_inf, with equality on the axes, so this is the
    largest distance at which h reaches h(0) / 2; beyond it the side lobes are below h(0) / 10.
    """

    def excess(r: float) -> float:
        return float(bump_transform(dim, np.array([r]))[0]) - peak(dim) / 2.0

    outside = 0.5
    while excess(outside) >= 0.0:
        outside *= 1.25
    return float(brentq(excess, 0.0, outside, xtol=1e-14))
