"""Inverse roots of a matrix with known eigenvalues after few rank-one changes: all shifts at once.

With A = V^T diag(values) V, columns z_i (rows of `border`: V z_i) and noise J,

    (A + s)^(-1) - (A + s)^(-1) Z (Z^T (A + s)^(-1) Z + J)^(-1) Z^T (A + s)^(-1)

is the inverse of A + s + sum z_i z_i^T / J_i by Woodbury's formula, on the complement of the
columns with J_i = 0 (an observation without noise fixes a direction). Sums over the shifts are
what inverse roots need. Arrays have the shifts (p,) last: loops over them run on vector units.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# A column of which a smaller share is outside the span of those before it adds nothing.
DEPENDENT = 1e-13


@njit(cache=True, error_model="numpy")
def shifted_inverses(values, shifts):  # type: ignore[no-untyped-def]
    """Return 1 / (values + shift), (r, p)."""
    result = np.empty((values.size, shifts.size))
    for c in range(values.size):
        for p in range(shifts.size):
            result[c, p] = 1.0 / (values[c] + shifts[p])
    return result


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def factor_border(inverses, border, noise):  # type: ignore[no-untyped-def]
    """Return the Cholesky factors of Z^T (A + s)^(-1) Z + J: L below the diagonal, 1 / L_ii on it.

    `inverses` (r, p) are those of `shifted_inverses`, `border` (q, r), `noise` (q,); the result is
    (q, q, p). A column in the span of earlier ones without noise changes nothing: it has 0 for
    1 / L_ii.
    """
    q, r = border.shape
    count = inverses.shape[1]
    products = np.empty((q * (q + 1) // 2, r))
    row = 0
    for i in range(q):
        for k in range(i + 1):
            for c in range(r):
                products[row, c] = border[i, c] * border[k, c]
            row += 1
    grams = np.dot(products, inverses)
    factor = np.zeros((q, q, count))
    first = 0
    for i in range(q):
        for k in range(i + 1):
            entry = factor[i, k]
            for p in range(count):
                entry[p] = grams[first + k, p]
            if i == k:
                for p in range(count):
                    entry[p] += noise[i]
            for b in range(k):
                left, right = factor[i, b], factor[k, b]
                for p in range(count):
                    entry[p] -= left[p] * right[p]
            if i > k:
                inverse = factor[k, k]
                for p in range(count):
                    entry[p] *= inverse[p]
        pivot = factor[i, i]
        for p in range(count):
            least = DEPENDENT * (grams[first + i, p] + noise[i])
            pivot[p] = 1.0 / np.sqrt(pivot[p]) if pivot[p] > least else 0.0
        first += i + 1
    return factor


# The sums over the shifts may be taken in any order: that lets them run on vector units.
@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def border_correction(inverses, border, factor, weights, columns):  # type: ignore[no-untyped-def]
    """Return sum_p weights_p (A + s_p)^(-1) Z (Z^T (A + s_p)^(-1) Z + J)^(-1) Z^T (A + s_p)^(-1) B.

    `columns` are those of B as rows (k, r), in the basis of the eigenvectors as the result (k, r).
    """
    q, r = border.shape
    number, count = columns.shape[0], weights.size
    scaled = np.empty((q * number, r))
    for i in range(q):
        for b in range(number):
            for c in range(r):
                scaled[i * number + b, c] = border[i, c] * columns[b, c]
    solved = np.dot(scaled, inverses).reshape((q, number, count))
    for i in range(q):
        inverse = factor[i, i]
        for b in range(number):
            own = solved[i, b]
            for k in range(i):
                share, above = factor[i, k], solved[k, b]
                for p in range(count):
                    own[p] -= share[p] * above[p]
            for p in range(count):
                own[p] *= inverse[p]
    for i in range(q - 1, -1, -1):
        inverse = factor[i, i]
        for b in range(number):
            own = solved[i, b]
            for k in range(i + 1, q):
                share, below = factor[k, i], solved[k, b]
                for p in range(count):
                    own[p] -= share[p] * below[p]
            for p in range(count):
                own[p] *= inverse[p]
    for i in range(q):
        for b in range(number):
            for p in range(count):
                solved[i, b, p] *= weights[p]
    spread = np.dot(border.T, solved.reshape((q, number * count)))
    result = np.empty((number, r))
    for c in range(r):
        for b in range(number):
            total = 0.0
            for p in range(count):
                total += spread[c, b * count + p] * inverses[c, p]
            result[b, c] = total
    return result


# The sums along rows may be taken in any order: that lets them run on vector units.
@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def border_rows(values, border, noise):  # type: ignore[no-untyped-def]
    """Return S (q, r) and ln |G|, G = Z^T A^(-1) Z + J, with S^T S = A^(-1) Z G^(-1) Z^T A^(-1).

    The rows of a column in the span of earlier ones without noise are zero, and the determinant
    leaves it out.
    """
    q, r = border.shape
    rows = border / values
    factor = np.zeros((q, q))
    log_det = 0.0
    for i in range(q):
        row, own = rows[i], border[i]
        square = noise[i]
        for c in range(r):
            square += row[c] * own[c]
        left = square
        for k in range(i):
            if factor[k, k] == 0.0:
                continue
            product, other = 0.0, border[k]
            for c in range(r):
                product += row[c] * other[c]
            for b in range(k):
                product -= factor[i, b] * factor[k, b]
            factor[i, k] = product / factor[k, k]
            left -= factor[i, k] * factor[i, k]
        if not left > DEPENDENT * square:
            row[:] = 0.0
            continue
        factor[i, i] = np.sqrt(left)
        log_det += np.log(left)
        for k in range(i):
            share, above = factor[i, k], rows[k]
            for c in range(r):
                row[c] -= share * above[c]
        for c in range(r):
            row[c] /= factor[i, i]
    return rows, log_det
