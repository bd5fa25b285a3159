"""Information gain of points, and its largest value gamma_t: exact, greedy, bounded from above.

The information gain of t points is 0.5 ln|I + K/lambda| (Appendix A, maximum information gain);
gamma_t is its maximum over t points. A policy may play an arm many times, so points repeat: the
maximum runs over multisets of arms, and with N_i plays of arm i and K the arms' kernel matrix

    0.5 ln|I + N^(1/2) K N^(1/2) / lambda|,   N = diag(N_1 .. N_n).

Three ways to gamma_t over finitely many arms::

    exact_maximum_gain    every multiset tried; for a handful of arms
    greedy_gain           a lower bound, and an upper one 1/(1 - 1/e) times larger
    gain_upper_bound      the concave relaxation (module `gain_relaxation`), tight at any t

In all of them `kernel` is any kernel, `arms` are (n, d), `ridge` is lambda > 0 and `count` is
t >= 1; gains are in nats.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._compiled import ridge as engine
from tailproof._util import checks
from tailproof.bandits.posterior.ridge import RidgePosterior
from tailproof.kernels import Kernel
from tailproof.theory._rounds import Array

# Greedy attains at least this share of the maximum (monotone submodular functions).
GREEDY_SHARE = 1.0 - math.exp(-1.0)
# Marginal gains that differ by less than this share differ by rounding: the first arm wins.
TIE = 1e-9
MOST_MULTISETS = 200_000
BATCH_ENTRIES = 2**21


def checked_arms(kernel: Kernel, arms: ArrayLike) -> Array:
    """Return `arms` as a non-empty (n, d) array on which the kernel is finite."""
    checks.instance("kernel", kernel, Kernel, "a kernel")
    X = checks.finite_array("arms", arms, ndim=2)
    if X.size == 0:
        raise ValueError(f"`arms` must hold at least one point, but got shape {X.shape}.")
    if not np.isfinite(kernel.diagonal(X)).all():
        raise ValueError("`kernel` must be finite on the arms, but k(x, x) is not.")
    return X


def information_gain(kernel: Kernel, points: ArrayLike, ridge: float) -> float:
    """Return 0.5 ln|I + K/lambda| of given points (t, d), among which points may repeat.

    Examples
    --------
    >>> import tailproof as tp
    >>> k = tp.SquaredExponential(0.2)
    >>> round(information_gain(k, [[0.0]], 1.0), 4)  # 0.5 ln 2
    0.3466
    >>> round(information_gain(k, [[0.0], [100.0]], 1.0), 4)  # nothing in common
    0.6931
    """
    X = checked_arms(kernel, points)
    sites, counts = np.unique(X, axis=0, return_counts=True)
    ridge = checks.positive("ridge", ridge)
    return float(_gains(kernel.matrix(sites, sites), counts[None, :].astype(float), ridge)[0])


def _gains(gram: Array, counts: Array, ridge: float) -> Array:
    """Information gain of each row of `counts` (b, n) plays of the arms with matrix `gram`."""
    root = np.sqrt(counts / ridge)
    inner = gram * root[:, :, None] * root[:, None, :]
    diagonal = np.arange(len(gram))
    inner[:, diagonal, diagonal] += 1.0
    return 0.5 * np.linalg.slogdet(inner)[1]


@dataclass(frozen=True, eq=False)
class ExactGain:
    """gamma_t and a multiset that attains it.

    Attributes
    ----------
    gain
        gamma_t, in nats.
    counts : (n,)
        How often each arm is played.
    """

    gain: float
    counts: NDArray[np.int64]


def exact_maximum_gain(
    kernel: Kernel, arms: ArrayLike, ridge: float, count: int, *, most: int = MOST_MULTISETS
) -> ExactGain:
    """Return gamma_t over finitely many arms by trying every multiset of t = `count` plays.

    More than `most` multisets, of which there are C(n + t - 1, t), are refused.

    Examples
    --------
    >>> import tailproof as tp
    >>> best = exact_maximum_gain(tp.SquaredExponential(0.2), [[0.0], [0.5], [1.0]], 1.0, 4)
    >>> best.counts, round(best.gain, 4)
    (array([2, 1, 1]), 1.2419)
    """
    X, ridge = checked_arms(kernel, arms), checks.positive("ridge", ridge)
    count, most = checks.integer("count", count, low=1), checks.integer("most", most, low=1)
    n = len(X)
    multisets = math.comb(n + count - 1, count)
    if multisets > most:
        raise ValueError(
            f"`C(arms + count - 1, count) <= {most}` must hold to try every multiset, but got "
            f"{multisets} for {n} arms and count={count}; use greedy_gain or gain_upper_bound."
        )
    gram = kernel.matrix(X, X)
    best, best_counts = -math.inf, np.zeros(n)
    for counts in _count_batches(n, count):
        gains = _gains(gram, counts, ridge)
        top = int(np.argmax(gains))
        # Mirror images differ by rounding; the first of them stays.
        if gains[top] > best + TIE * max(abs(best), 1.0) or not math.isfinite(best):
            best, best_counts = float(gains[top]), counts[top]
    return ExactGain(best, best_counts.astype(np.int64))


def _count_batches(n: int, count: int) -> Iterator[Array]:
    """Yield all multisets of `count` out of n as plays (b, n), some at a time."""
    multisets = combinations_with_replacement(range(n), count)
    size = max(BATCH_ENTRIES // (n * n), 1)
    while chunk := list(islice(multisets, size)):
        members = np.array(chunk)
        counts = np.zeros((len(chunk), n))
        np.add.at(counts, (np.arange(len(chunk))[:, None], members), 1.0)
        yield counts


@dataclass(frozen=True, eq=False)
class GreedyGain:
    """A greedy sequence of plays, each the arm with the largest posterior variance.

    Attributes
    ----------
    arms : (t,)
        Arm numbers in order.
    lower : (t,)
        Information gain of the first s = 1 .. t plays, in nats: at most gamma_s.
    """

    arms: NDArray[np.int64]
    lower: Array

    @property
    def upper(self) -> Array:
        """lower / (1 - 1/e), (t,): at least gamma_s.

        The information gain is monotone and submodular in the multiset of plays (each arm taken
        as t copies), so greedy reaches (1 - 1/e) of the maximum.
        """
        return self.lower / GREEDY_SHARE


def greedy_gain(kernel: Kernel, arms: ArrayLike, ridge: float, count: int) -> GreedyGain:
    """Return bounds on gamma_1 .. gamma_t over finitely many arms from one greedy sequence.

    Each play costs one rank-one update of the posterior covariance: O(n^2), or O(n r) where the
    kernel matrix of n arms has numerical rank r.

    Examples
    --------
    >>> import tailproof as tp
    >>> greedy = greedy_gain(tp.SquaredExponential(0.2), [[0.0], [0.5], [1.0]], 1.0, 4)
    >>> greedy.arms, greedy.lower.round(3)
    (array([0, 2, 1, 0]), array([0.347, 0.693, 1.039, 1.242]))
    """
    X, ridge = checked_arms(kernel, arms), checks.positive("ridge", ridge)
    count = checks.integer("count", count, low=1)
    posterior = RidgePosterior(kernel, X, ridge, lambda t: math.inf)
    zero_mean = np.zeros(len(X))
    chosen, log_dets = np.empty(count, dtype=np.int64), np.empty(count)
    for t in range(count):
        arm = engine.ucb_argmax(zero_mean, posterior.variance(), 1.0, TIE)
        posterior.add(arm, 0.0)
        chosen[t], log_dets[t] = arm, posterior.log_det
    return GreedyGain(chosen, 0.5 * log_dets)
