"""Payoffs of each site (arm) sorted by |y|, with prefix sums, in one pool of memory.

Truncated sums `sum of y with |u y| <= b` become one search and one look-up. Sums run from the
smallest |y| upwards, so a payoff of 1e150 never touches the sum of those below it.

A site holds a sorted block and, once large, a small sorted buffer in front of it: a payoff goes
into the buffer, and the buffer is merged into the block when full. So the cost of an
insertion and of a search hardly grows with the number of payoffs.

    sites   (n, 5) int64    START, SIZE, CAPACITY of the block; SLOT, FILL of the buffer
    pool    (2, c) float64  payoffs and their prefix sums
    buffers (2, slots, BUFFER) float64, likewise
    used    (2,) int64      how much of the pool, how many buffer slots
    totals, largest (n,)    sum of y and maximum of |y| of each site
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

START, SIZE, CAPACITY, SLOT, FILL = 0, 1, 2, 3, 4
BUFFER = 512  # payoffs a buffer takes
LARGE = 1024  # block size from which a site uses a buffer
SMALLEST_BLOCK = 4


class PayoffStore(NamedTuple):
    """The arrays of a store, as the functions below take them."""

    sites: NDArray[np.int64]
    pool: NDArray[np.float64]
    buffers: NDArray[np.float64]
    used: NDArray[np.int64]
    totals: NDArray[np.float64]
    largest: NDArray[np.float64]

    @classmethod
    def empty(cls, n: int) -> PayoffStore:
        """Return a store of n sites without payoffs."""
        sites = np.zeros((n, 5), dtype=np.int64)
        sites[:, SLOT] = -1
        pool, buffers = np.empty((2, 4 * n + 1024)), np.empty((2, 1, BUFFER))
        used = np.zeros(2, dtype=np.int64)
        return cls(sites, pool, buffers, used, np.zeros(n), np.zeros(n))

    def enlarged(self) -> PayoffStore:
        """Return the store with twice the memory; doubling both is simple, and buffers are few."""

        def doubled_memory(memory: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([memory, np.empty_like(memory)], axis=1)

        return self._replace(pool=doubled_memory(self.pool), buffers=doubled_memory(self.buffers))


@njit(cache=True)
def _insert_sorted(payoffs, sums, size, y):  # type: ignore[no-untyped-def]
    """Insert y into the first `size` entries, sorted by |y|, and carry the prefix sums on."""
    k = size
    while k > 0 and abs(payoffs[k - 1]) > abs(y):
        payoffs[k] = payoffs[k - 1]
        sums[k] = sums[k - 1] + y
        k -= 1
    payoffs[k] = y
    sums[k] = y + (sums[k - 1] if k > 0 else 0.0)


@njit(cache=True)
def _merge_buffer(payoffs, sums, size, buffered, fill):  # type: ignore[no-untyped-def]
    """Merge the sorted buffer into the sorted block (from the top down), then redo its sums."""
    i = size - 1
    j = fill - 1
    for k in range(size + fill - 1, -1, -1):
        if j < 0:
            break
        if i >= 0 and abs(payoffs[i]) > abs(buffered[j]):
            payoffs[k] = payoffs[i]
            i -= 1
        else:
            payoffs[k] = buffered[j]
            j -= 1
    # Everything up to and including block entry i kept its place and its sum.
    for k in range(i + 1, size + fill):
        sums[k] = payoffs[k] + (sums[k - 1] if k > 0 else 0.0)


@njit(cache=True)
def _place_payoff(sites, pool, buffers, used, j, y):  # type: ignore[no-untyped-def]
    """Put a payoff into its arm's buffer or sorted site; return False if there is no space."""
    site = sites[j]
    if site[SLOT] < 0 and site[SIZE] >= LARGE:
        if used[1] == buffers.shape[1]:
            return False
        site[SLOT] = used[1]
        used[1] += 1
    if site[SLOT] >= 0 and site[FILL] < BUFFER:
        _insert_sorted(buffers[0, site[SLOT]], buffers[1, site[SLOT]], site[FILL], y)
        site[FILL] += 1
        return True
    wanted = site[SIZE] + max(site[FILL], 1)
    if wanted > site[CAPACITY]:
        capacity = max(SMALLEST_BLOCK, 2 * site[CAPACITY], wanted)
        if used[0] + capacity > pool.shape[1]:
            return False
        start = used[0]
        for k in range(site[SIZE]):
            pool[0, start + k] = pool[0, site[START] + k]
            pool[1, start + k] = pool[1, site[START] + k]
        site[START] = start
        site[CAPACITY] = capacity
        used[0] += capacity
    payoffs = pool[0, site[START] :]
    sums = pool[1, site[START] :]
    if site[SLOT] < 0:
        _insert_sorted(payoffs, sums, site[SIZE], y)
        site[SIZE] += 1
        return True
    _merge_buffer(payoffs, sums, site[SIZE], buffers[0, site[SLOT]], site[FILL])
    site[SIZE] += site[FILL]
    _insert_sorted(buffers[0, site[SLOT]], buffers[1, site[SLOT]], 0, y)
    site[FILL] = 1
    return True


@njit(cache=True)
def insert(sites, pool, buffers, used, totals, largest, j, y):  # type: ignore[no-untyped-def]
    """Insert payoff y at site j; return False, with nothing lost, where memory is short."""
    if not _place_payoff(sites, pool, buffers, used, j, y):
        return False
    site = sites[j]
    total = pool[1, site[START] + site[SIZE] - 1]
    if site[FILL] > 0:
        total += buffers[1, site[SLOT], site[FILL] - 1]
    totals[j] = total
    largest[j] = max(largest[j], abs(y))
    return True


@njit(cache=True)
def insert_many(  # type: ignore[no-untyped-def]
    sites, pool, buffers, used, totals, largest, arms, payoffs, first
):
    """Insert payoffs[first:] in order; return the number of the first that found no memory."""
    for t in range(first, arms.size):
        if not insert(sites, pool, buffers, used, totals, largest, arms[t], payoffs[t]):
            return t
    return arms.size


@njit(cache=True)
def _sum_within(payoffs, sums, size, u, b):  # type: ignore[no-untyped-def]
    """Sum of the payoffs with |u y| <= b: gallop down from the largest, then bisect."""
    if size == 0:
        return 0.0
    if abs(u * payoffs[size - 1]) <= b:
        return sums[size - 1]
    high = size - 1  # too large
    step = 1
    low = high - step
    while low >= 0 and abs(u * payoffs[low]) > b:
        high = low
        step *= 2
        low = high - step
    low = max(low, -1)  # within, or before the first
    while high - low > 1:
        middle = (low + high) // 2
        if abs(u * payoffs[middle]) > b:
            high = middle
        else:
            low = middle
    return sums[low] if low >= 0 else 0.0


@njit(cache=True)
def truncated_sum(sites, pool, buffers, j, u, b):  # type: ignore[no-untyped-def]
    """Sum of site j's payoffs y with |u y| <= b (Alg. 2, the indicator in r_i)."""
    site = sites[j]
    start = site[START]
    result = _sum_within(pool[0, start:], pool[1, start:], site[SIZE], u, b)
    if site[FILL] > 0:
        slot = site[SLOT]
        result += _sum_within(buffers[0, slot], buffers[1, slot], site[FILL], u, b)
    return result


@njit(cache=True, error_model="numpy")
def split_sites(totals, largest, leverage, slack, b, chosen):  # type: ignore[no-untyped-def]
    """Return the totals (n,) of the sites that surely lose no payoff, else 0, and how many others.

    Since |u_ij| <= sqrt(leverage_j), and leverages are good to within `slack`, a site with
    sqrt(leverage_j + slack_j) max|y| <= b loses none in any direction. The numbers of the others
    are written to `chosen` (n,) int64.
    """
    kept = np.zeros(totals.size)
    count = 0
    for j in range(totals.size):
        if np.sqrt(max(leverage[j], 0.0) + slack[j]) * largest[j] * 1.000001 <= b:
            kept[j] = totals[j]
        else:
            chosen[count] = j
            count += 1
    return kept, count


@njit(cache=True, error_model="numpy")
def add_truncated_sums(sites, pool, buffers, totals, largest, arms, u, b, sums):  # type: ignore[no-untyped-def]
    """Add sum_tau u_{i,tau} y_tau 1{|u_{i,tau} y_tau| <= b} over some arms to the sums (m,).

    `u` (c, m) holds the row entries of the arms (c,) in every direction.
    """
    for c in range(arms.size):
        j = arms[c]
        for i in range(sums.size):
            if abs(u[c, i]) * largest[j] <= b:  # few pairs of arm and direction lose anything
                sums[i] += u[c, i] * totals[j]
            else:
                sums[i] += u[c, i] * truncated_sum(sites, pool, buffers, j, u[c, i], b)


@njit(cache=True, error_model="numpy")
def truncated_direction_sums(  # type: ignore[no-untyped-def]
    sites, pool, buffers, used, totals, largest, leverage, slack, b, a, roots, vectors, w, chosen
):
    """Return r_i = sum_tau u_{i,tau} y_tau 1{|u_{i,tau} y_tau| <= b} for every direction i.

    u_i are the rows of V^(-1/2) Phi^T (Alg. 2, line 5). With Phi = A W^T, `a` (n, r) and `w`
    (u, r), the row entries at site j are W H^(-1/2) a_j, H = A^T N A + ridge with eigenvectors in
    the rows of `vectors` and 1/sqrt(eigenvalue) in `roots`.

    All sites that lose no payoff go through one product; only the others are searched. `chosen`
    (n,) int64 is scratch.
    """
    kept, count = split_sites(totals, largest, leverage, slack, b, chosen)
    p = np.dot(kept, a)
    sums = np.dot(w, np.dot(np.dot(vectors, p) * roots, vectors))
    if count == 0:
        return sums
    arms = chosen[:count]
    rotated = np.dot(a[arms], vectors.T) * roots
    u = np.dot(np.dot(rotated, vectors), w.T)
    add_truncated_sums(sites, pool, buffers, totals, largest, arms, u, b, sums)
    return sums
