"""Eigendecomposition of V + a a^T from that of V, in O(r^2) plus one r x r product.

The symmetric root V^(-1/2) of Algorithm 2 is needed every round; V changes by one outer product a
round, so its eigendecomposition is updated instead of recomputed. The method is the rank-one step
of divide and conquer: deflation, one secular equation a root, and weights rebuilt from the roots
so that the vectors stay orthogonal (Gu and Eisenstat, SIAM J. Matrix Anal. Appl. 15, 1994).

Vectors are ROWS of `vectors`, values ascend.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_EPS = np.finfo(np.float64).eps


# Sums over the poles may be taken in any order: that lets them run on vector units, and rounding of
# that size is corrected by the rebuilt weights.
@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _poles_below(offsets, weights, x, start, stop):  # type: ignore[no-untyped-def]
    """Sum and derivative of weights_i / (offsets_i - x), start <= i < stop, for the eigenvalues."""
    value = 0.0
    slope = 0.0
    for i in range(start, stop):
        inverse = 1.0 / (offsets[i] - x)
        ratio = weights[i] * inverse
        value += ratio
        slope += ratio * inverse
    return value, slope


@njit(cache=True, error_model="numpy")
def _two_pole_step(c, left, right, slope_left, slope_right, value):  # type: ignore[no-untyped-def]
    """Step toward an eigenvalue, the root of c + s_l / (left - h) + s_r / (right - h).

    The sum is `value` at h = 0.
    """
    a = (left + right) * value - left * right * (slope_left + slope_right)
    b = left * right * value
    root = np.sqrt(max(a * a - 4.0 * b * c, 0.0))
    if a <= 0.0:
        return (a - root) / (2.0 * c) if c != 0.0 else np.inf
    return 2.0 * b / (a + root)


@njit(cache=True, error_model="numpy")
def _secular_root(k, poles, weights, gaps):  # type: ignore[no-untyped-def]
    """Find the k-th eigenvalue, a root of 1 + sum_i weights_i / (poles_i - x).

    gaps_i becomes poles_i - x.
    """
    p = poles.size
    last = k == p - 1
    width = weights.sum() if last else poles[k + 1] - poles[k]
    # Measure from the nearer pole, so that the small gap to it carries no cancellation.
    origin = k
    low, high = 0.0, width
    x = 0.5 * width
    for i in range(p):
        gaps[i] = poles[i] - poles[k]
    if not last:
        psi, dpsi = _poles_below(gaps, weights, x, 0, k + 1)
        phi, dphi = _poles_below(gaps, weights, x, k + 1, p)
        value = 1.0 + psi + phi
        # First guess: the two nearest poles as they are, the others constant.
        constant = value + (weights[k] - weights[k + 1]) / x
        guess = x + _two_pole_step(
            constant, -x, x, weights[k] / (x * x), weights[k + 1] / (x * x), value
        )
        if value >= 0.0:
            high = x
            x = guess if 0.0 < guess < high else 0.5 * high
        else:
            origin = k + 1
            low, high = -x, 0.0
            guess -= width
            x = guess if low < guess < 0.0 else 0.5 * low
            for i in range(p):
                gaps[i] = poles[i] - poles[k + 1]
    for _ in range(80):
        psi, dpsi = _poles_below(gaps, weights, x, 0, k + 1)
        phi, dphi = _poles_below(gaps, weights, x, k + 1, p)
        value = 1.0 + psi + phi
        if abs(value) <= 8.0 * _EPS * (1.0 + abs(psi) + abs(phi)):
            break
        if value < 0.0:
            low = x
        else:
            high = x
        if high - low <= 2.0 * _EPS * max(abs(low), abs(high)):
            break
        # Replace both sums by c + s / (pole - x) with the right value and slope, and solve that.
        left = gaps[k] - x
        if last:
            c = 1.0 + psi - dpsi * left
            step = left + dpsi * left * left / c if c > 0.0 else np.inf
        else:
            right = gaps[k + 1] - x
            c = value - dpsi * left - dphi * right
            step = _two_pole_step(c, left, right, dpsi, dphi, value)
        new = x + step
        x = new if low < new < high else 0.5 * (low + high)
    gaps -= x
    return poles[origin] + x


@njit(cache=True, error_model="numpy")
def add_outer(values, vectors, a):  # type: ignore[no-untyped-def]
    """Turn the eigendecomposition (values, vectors) of V into that of V + a a^T, in place."""
    r = values.size
    z = np.dot(vectors, a)
    norm2 = np.dot(z, z)
    if norm2 == 0.0:
        return
    norm = np.sqrt(norm2)
    tolerance = 8.0 * _EPS * max(values[r - 1], norm2)

    # Deflation: skip directions that do not move; rotate pairs of equal values so that one stays.
    active = np.empty(r, np.int64)
    p = 0
    for i in range(r):
        if norm * abs(z[i]) <= tolerance:
            continue
        if p > 0:
            j = active[p - 1]
            tau = np.hypot(z[i], z[j])
            c = z[i] / tau
            s = -z[j] / tau
            if abs((values[i] - values[j]) * c * s) <= tolerance:
                z[i] = tau
                z[j] = 0.0
                for q in range(r):
                    vj, vi = vectors[j, q], vectors[i, q]
                    vectors[j, q] = c * vj + s * vi
                    vectors[i, q] = c * vi - s * vj
                vj, vi = values[j], values[i]
                values[j] = vj * c * c + vi * s * s
                values[i] = vj * s * s + vi * c * c
                p -= 1
        active[p] = i
        p += 1

    active = active[:p]
    poles, weights, rows = values[active], z[active] ** 2, vectors[active]
    gaps = np.empty((p, p))  # gaps[k, i] = pole_i - root_k
    roots = np.empty(p)
    for k in range(p):
        roots[k] = _secular_root(k, poles, weights, gaps[k])

    # The weights for which these roots are exact; vectors built from them are orthogonal.
    exact = np.ones(p)
    for k in range(p):
        for i in range(k):
            exact[i] *= gaps[k, i] / (poles[i] - poles[k])
        exact[k] *= -gaps[k, k]
        for i in range(k + 1, p):
            exact[i] *= gaps[k, i] / (poles[i] - poles[k])
    exact = np.copysign(np.sqrt(np.abs(exact)), z[active])
    for k in range(p):
        length = 0.0
        for i in range(p):
            gaps[k, i] = exact[i] / gaps[k, i]
            length += gaps[k, i] ** 2
        gaps[k] *= 1.0 / np.sqrt(length)
    rotated = np.dot(gaps, rows)
    values[active] = roots
    for i in range(p):
        vectors[active[i]] = rotated[i]

    # Roots interlace with the poles, so the order is almost right: insertion sort.
    for i in range(1, r):
        j = i
        while j > 0 and values[j - 1] > values[j]:
            values[j], values[j - 1] = values[j - 1], values[j]
            for q in range(r):
                vectors[j, q], vectors[j - 1, q] = vectors[j - 1, q], vectors[j, q]
            j -= 1


@njit(cache=True, error_model="numpy")
def solved_column(roots, vectors, coordinates, j):  # type: ignore[no-untyped-def]
    """Return A V^(-1) a_j, (n,), from V's eigendecomposition; roots are 1/sqrt(values)."""
    rotated = np.dot(vectors, coordinates[j]) * roots * roots
    return np.dot(coordinates, np.dot(rotated, vectors))


@njit(cache=True, error_model="numpy")
def add_payoff(values, roots, vectors, leverage, coordinates, j):  # type: ignore[no-untyped-def]
    """Update the eigendecomposition of V = A^T N A + ridge and the leverages for a payoff at arm j.

    Return ln(1 + leverage_j), the increase of ln |V|.
    """
    column = solved_column(roots, vectors, coordinates, j)
    gain = 1.0 / (1.0 + column[j])
    for i in range(leverage.size):
        leverage[i] -= column[i] * column[i] * gain
    add_outer(values, vectors, coordinates[j])
    roots[:] = 1.0 / np.sqrt(values)
    return np.log1p(column[j])


@njit(cache=True, error_model="numpy")
def mean_weights(directions, copies, sums, roots, vectors):  # type: ignore[no-untyped-def]
    """Return V^(-1/2) W^T r_hat, the weights of the mean, from V's eigendecomposition (Alg. 2)."""
    combined = np.dot(copies * sums, directions)
    return np.dot(np.dot(vectors, combined) * roots, vectors)


@njit(cache=True, error_model="numpy")
def direction_mean(coordinates, directions, copies, sums, roots, vectors):  # type: ignore[no-untyped-def]
    """Return the arms' mean A V^(-1/2) W^T r_hat from V's eigendecomposition (Alg. 2, line 6)."""
    return np.dot(coordinates, mean_weights(directions, copies, sums, roots, vectors))
