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


@njit(cache=True, error_model="numpy")
def _secular_root(k, poles, weights, gaps):  # type: ignore[no-untyped-def]
    """Find the k-th root of 1 + sum_i weights_i / (poles_i - x); gaps_i becomes poles_i - x."""
    p = poles.size
    last = k == p - 1
    total = weights.sum()
    right = total if last else poles[k + 1] - poles[k]
    # Measure from the nearer pole, so that the small gap to it carries no cancellation.
    origin = k
    low, high = 0.0, right
    if not last:
        half = 0.5 * right
        value = 1.0
        for i in range(p):
            value += weights[i] / ((poles[i] - poles[k]) - half)
        if value >= 0.0:
            high = half
        else:
            origin = k + 1
            low, high = -half, 0.0
    base = poles[origin]
    x = 0.5 * (low + high)
    for _ in range(80):
        psi = 0.0
        dpsi = 0.0
        for i in range(k + 1):
            ratio = weights[i] / ((poles[i] - base) - x)
            psi += ratio
            dpsi += ratio / ((poles[i] - base) - x)
        phi = 0.0
        dphi = 0.0
        for i in range(k + 1, p):
            ratio = weights[i] / ((poles[i] - base) - x)
            phi += ratio
            dphi += ratio / ((poles[i] - base) - x)
        value = 1.0 + psi + phi
        if abs(value) <= 4.0 * _EPS * (1.0 + abs(psi) + abs(phi)):
            break
        if value < 0.0:
            low = x
        else:
            high = x
        if high - low <= 2.0 * _EPS * max(abs(low), abs(high)):
            break
        # Replace both sums by c + s / (pole - x) with the right value and slope, and solve that.
        left_gap = (poles[k] - base) - x
        if last:
            c = 1.0 + psi - dpsi * left_gap
            step = left_gap + dpsi * left_gap * left_gap / c if c > 0.0 else np.inf
        else:
            right_gap = (poles[k + 1] - base) - x
            c = value - dpsi * left_gap - dphi * right_gap
            a = (left_gap + right_gap) * value - left_gap * right_gap * (dpsi + dphi)
            b = left_gap * right_gap * value
            root = np.sqrt(max(a * a - 4.0 * b * c, 0.0))
            if a <= 0.0:
                step = (a - root) / (2.0 * c) if c != 0.0 else np.inf
            else:
                step = 2.0 * b / (a + root)
        new = x + step
        x = new if low < new < high else 0.5 * (low + high)
    for i in range(p):
        gaps[i] = (poles[i] - base) - x
    return base + x


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

    # Deflation: directions that do not move, and pairs of equal values turned so that one does not.
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
                    vj = vectors[j, q]
                    vi = vectors[i, q]
                    vectors[j, q] = c * vj + s * vi
                    vectors[i, q] = c * vi - s * vj
                vj = values[j]
                vi = values[i]
                values[j] = vj * c * c + vi * s * s
                values[i] = vj * s * s + vi * c * c
                p -= 1
        active[p] = i
        p += 1

    poles = np.empty(p)
    weights = np.empty(p)
    rows = np.empty((p, r))
    for i in range(p):
        poles[i] = values[active[i]]
        weights[i] = z[active[i]] ** 2
        rows[i] = vectors[active[i]]

    gaps = np.empty((p, p))  # gaps[k, i] = pole_i - root_k
    roots = np.empty(p)
    for k in range(p):
        roots[k] = _secular_root(k, poles, weights, gaps[k])

    # The weights for which these roots are exact; vectors built from them are orthogonal.
    exact = np.ones(p)
    for k in range(p):
        for i in range(p):
            if i == k:
                exact[i] *= -gaps[k, i]
            else:
                exact[i] *= gaps[k, i] / (poles[i] - poles[k])
    for i in range(p):
        exact[i] = np.copysign(np.sqrt(abs(exact[i])), z[active[i]])
    for k in range(p):
        length = 0.0
        for i in range(p):
            gaps[k, i] = exact[i] / gaps[k, i]
            length += gaps[k, i] ** 2
        length = 1.0 / np.sqrt(length)
        for i in range(p):
            gaps[k, i] *= length
    turned = np.dot(gaps, rows)
    for i in range(p):
        values[active[i]] = roots[i]
        vectors[active[i]] = turned[i]

    # Roots interlace with the poles, so the order is almost right: insertion sort.
    for i in range(1, r):
        j = i
        while j > 0 and values[j - 1] > values[j]:
            held = values[j]
            values[j] = values[j - 1]
            values[j - 1] = held
            for q in range(r):
                held = vectors[j, q]
                vectors[j, q] = vectors[j - 1, q]
                vectors[j - 1, q] = held
            j -= 1


@njit(cache=True, error_model="numpy")
def solved_column(roots, vectors, coordinates, j):  # type: ignore[no-untyped-def]
    """Return A V^(-1) a_j for the rows a of A, shape (n,); roots are 1/sqrt(values)."""
    turned = np.dot(vectors, coordinates[j]) * roots * roots
    return np.dot(coordinates, np.dot(turned, vectors))


@njit(cache=True, error_model="numpy")
def absorb(values, roots, vectors, leverage, coordinates, j):  # type: ignore[no-untyped-def]
    """Let V = A^T N A + ridge and the leverages a^T V^(-1) a follow one more payoff at arm j."""
    column = solved_column(roots, vectors, coordinates, j)
    gain = 1.0 / (1.0 + column[j])
    for i in range(leverage.size):
        leverage[i] -= column[i] * column[i] * gain
    add_outer(values, vectors, coordinates[j])
    for k in range(values.size):
        roots[k] = 1.0 / np.sqrt(values[k])
