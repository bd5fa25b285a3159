"""Information gain of points, and its largest value gamma_t: exact, greedy, bounded from above.

The information gain of t points is 0.5 ln|I + K/lambda| (Appendix A, maximum information gain);
gamma_t is its maximum over t points. A policy may play an arm many times, so points repeat: the
maximum runs over multisets of arms, and with N_i plays of arm i and K the arms' kernel matrix

    0.5 ln|I + N^(1/2) K N^(1/2) / lambda|,   N = diag(N_1 .. N_n).

Three ways to gamma_t over finitely many arms::

    exact_maximum_gain    every multiset tried; for a handful of arms
    greedy_gain           a lower bound, and an upper one 1/(1 - 1/e) times larger
    gain_upper_bound      the concave relaxation, tight at any t

In all of them `kernel` is any kernel, `arms` are (n, d), `ridge` is lambda > 0 and `count` is
t >= 1; gains are in nats.

The relaxation: let psi_i be the arms' coordinates (K = Psi Psi^T). Over real plays w >= 0 with
sum w = t

    F(w) = 0.5 ln|I + sum_i w_i psi_i psi_i^T / lambda|

is concave and its maximum is at least gamma_t, the maximum over whole plays: the D-optimal design
with a ridge. With l_i = psi_i^T (lambda I + sum w psi psi^T)^-1 psi_i, the gradient is l / 2 and,
whatever w is,

    gamma_t <= max F <= F(w) + 0.5 (t max_i l_i - sum_i w_i l_i)                (certificate)

so the bound never rests on convergence; iterating only makes it tight. The multiplicative step
w_i <- w_i l_i t / sum w l raises F and needs a few dozen rounds for 1 percent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cholesky, solve_triangular

from tailproof._compiled import ridge as engine
from tailproof._util import checks
from tailproof.bandits.low_rank import kernel_coordinates
from tailproof.bandits.posterior.ridge import RidgePosterior
from tailproof.kernels import Kernel
from tailproof.theory.rounds import Array, round_numbers

# Greedy attains at least this share of the maximum (monotone submodular functions).
GREEDY_SHARE = 1.0 - math.exp(-1.0)
# Marginal gains that differ by less than this share differ by rounding: the first arm wins.
TIE = 1e-9
MOST_MULTISETS = 200_000
BATCH_ENTRIES = 2**21
MOST_STEPS = 1_000  # of the relaxation


def _checked_arms(kernel: Kernel, arms: ArrayLike) -> Array:
    """Return arms for a maximum gain as a non-empty (n, d) array; the kernel is finite there."""
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
    X = _checked_arms(kernel, points)
    sites, counts = np.unique(X, axis=0, return_counts=True)
    ridge = checks.positive("ridge", ridge)
    return float(_play_gains(kernel.matrix(sites, sites), counts[None, :].astype(float), ridge)[0])


def _play_gains(gram: Array, counts: Array, ridge: float) -> Array:
    """Information gain of each row of `counts` (b, n) plays of the arms with matrix `gram`."""
    root = np.sqrt(counts / ridge)
    inner = gram * root[:, :, None] * root[:, None, :]
    diagonal = np.arange(len(gram))
    inner[:, diagonal, diagonal] += 1.0
    return 0.5 * np.linalg.slogdet(inner)[1]


@dataclass(frozen=True, eq=False)
class ExactGain:
    """gamma_t, and how often each arm is played (n,) in a multiset that attains it."""

    gain: float
    counts: NDArray[np.int64]


def exact_maximum_gain(kernel: Kernel, arms: ArrayLike, ridge: float, count: int) -> ExactGain:
    """Return gamma_t over finitely many arms by trying all C(n + t - 1, t) multisets of plays.

    More than 200,000 multisets are refused.

    Examples
    --------
    >>> import tailproof as tp
    >>> best = exact_maximum_gain(tp.SquaredExponential(0.2), [[0.0], [0.5], [1.0]], 1.0, 4)
    >>> best.counts, round(best.gain, 4)
    (array([2, 1, 1]), 1.2419)
    """
    X, ridge = _checked_arms(kernel, arms), checks.positive("ridge", ridge)
    count, n = checks.integer("count", count, low=1), len(X)
    multisets = math.comb(n + count - 1, count)
    if multisets > MOST_MULTISETS:
        raise ValueError(
            f"`C(arms + count - 1, count) <= {MOST_MULTISETS}` must hold to try all, but got "
            f"{multisets} for {n} arms and count={count}; use greedy_gain or gain_upper_bound."
        )
    gram = kernel.matrix(X, X)
    best, best_counts = -math.inf, np.zeros(n)
    for counts in _play_count_batches(n, count):
        gains = _play_gains(gram, counts, ridge)
        top = int(np.argmax(gains))
        # Mirror images differ by rounding; the first of them stays.
        if gains[top] > best + TIE * max(abs(best), 1.0) or not math.isfinite(best):
            best, best_counts = float(gains[top]), counts[top]
    return ExactGain(best, best_counts.astype(np.int64))


def _play_count_batches(n: int, count: int) -> Iterator[Array]:
    """Yield all multisets of `count` out of n as plays (b, n) whose gain may be the maximum."""
    multisets = combinations_with_replacement(range(n), count)
    size = max(BATCH_ENTRIES // (n * n), 1)
    while chunk := list(islice(multisets, size)):
        members = np.array(chunk)
        counts = np.zeros((len(chunk), n))
        np.add.at(counts, (np.arange(len(chunk))[:, None], members), 1.0)
        yield counts


@dataclass(frozen=True, eq=False)
class GreedyGain:
    """A greedy sequence of plays (t,), each the arm with the largest posterior variance.

    `lower` (t,) is the information gain of the first s = 1 .. t plays: at most gamma_s.
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
    X, ridge = _checked_arms(kernel, arms), checks.positive("ridge", ridge)
    count = checks.integer("count", count, low=1)
    posterior = RidgePosterior(kernel, X, ridge, lambda t: math.inf)
    zero_mean = np.zeros(len(X))
    chosen, log_dets = np.empty(count, dtype=np.int64), np.empty(count)
    for t in range(count):
        arm = engine.ucb_argmax(zero_mean, posterior.variance(), 1.0, TIE)
        posterior.add(arm, 0.0)
        chosen[t], log_dets[t] = arm, posterior.log_det
    return GreedyGain(chosen, 0.5 * log_dets)


def gain_upper_bound(
    kernel: Kernel, arms: ArrayLike, ridge: float, rounds: ArrayLike, *, tolerance: float = 0.01
) -> Array:
    """Return an upper bound on gamma_t over finitely many arms for every t in `rounds`.

    The shape is that of `rounds`, integers; the bound does not fall with t and exceeds the maximum
    of the relaxation by at most the share `tolerance`.

    Examples
    --------
    >>> import tailproof as tp
    >>> X = np.linspace(0.0, 1.0, 100)[:, None]
    >>> gain_upper_bound(tp.SquaredExponential(0.2), X, 1.0, [1, 100, 100_000]).round(1)
    array([ 0.3,  7.5, 34.1])
    """
    X, ridge = _checked_arms(kernel, arms), checks.positive("ridge", ridge)
    t, tolerance = round_numbers(rounds), checks.positive("tolerance", tolerance)
    psi, diagonal = kernel_coordinates(kernel, X), kernel.diagonal(X)
    residual = max(float(np.max(diagonal - np.einsum("ij,ij->i", psi, psi))), 0.0)
    hadamard = float(np.log1p(float(diagonal.max()) / ridge))
    distinct, where = np.unique(t, return_inverse=True)
    upper = np.empty(distinct.size)
    for i, count in enumerate(distinct.tolist()):
        # K = Psi Psi^T + E with E >= 0: ln det grows by at most trace(E of the points) / lambda.
        relaxed = _relaxed_gain(psi, ridge, count, tolerance) + 0.5 * count * residual / ridge
        # Hadamard's inequality is the better bound while plays are fewer than arms.
        upper[i] = min(relaxed, 0.5 * count * hadamard)
    # gamma_t never falls with t, so a smaller bound at a later round bounds the earlier ones too.
    monotone = np.minimum.accumulate(upper[::-1])[::-1]
    return monotone[where].reshape(t.shape)


def _relaxed_gain(psi: Array, ridge: float, count: int, tolerance: float) -> float:
    """Return the certificate's bound on max F for coordinates `psi` (n, r) and t = `count`."""
    n, upper = len(psi), math.inf
    weights = np.full(n, count / n)
    for _ in range(MOST_STEPS):
        inner = (psi.T * (weights / ridge)) @ psi
        inner[np.diag_indices_from(inner)] += 1.0
        factor = cholesky(inner, lower=True)
        half = solve_triangular(factor, psi.T, lower=True)
        leverage = np.einsum("ij,ij->j", half, half) / ridge
        value, total = float(np.log(np.diagonal(factor)).sum()), float(weights @ leverage)
        upper = min(upper, value + 0.5 * (count * float(leverage.max()) - total))
        if upper - value <= tolerance * value:
            break
        weights = weights * leverage * (count / total)
    return upper
