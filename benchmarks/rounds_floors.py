"""A lower bound of a round's cost: the bare LAPACK and BLAS calls its policy needs. For rounds.py.

Calls go through scipy's thin wrappers, in place, on arrays allocated beforehand in Fortran order.
Searching, sorting, square roots and the choice of the arm are left out, so that a floor is below
what any program made of these calls can reach. Matrices to be decomposed are those of the run
itself, since LAPACK's time depends on how their eigenvalues lie. Two floors are given:

    lapack   V's symmetric eigendecomposition comes from dsyevd, the way LAPACK offers
    update   it is updated by rank one, at the cost of one r x r product alone

Notation as in `tailproof.bandits.posterior.features`: A (n, r) coordinates, W (u, r) directions,
V = A^T N A + ridge = Q^T L Q of size r.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from tailproof.bandits.arm_optimizer import ArmOptimizer

Array = NDArray[np.float64]
Call = Callable[[], object]


@dataclass(frozen=True)
class Sizes:
    """What a round works with, on average over the rounds that are timed."""

    arms: int  # n
    rank: int  # r
    dense: bool = False  # ridge regression on the n x n covariance instead of r coordinates
    directions: int = 0  # u, distinct; 0 where W is the identity
    searched: int = 0  # arms with a payoff that some direction may truncate
    payoff_blocks: int = 0  # of the median of means
    dictionary: int = 0  # |D|, Nystrom
    span: int = 0  # rank of the arms' kernel matrix, Nystrom
    changed: float = 0.0  # share of rounds that change the dictionary


@dataclass(frozen=True, eq=False)
class Observed:
    """A running optimizer, as far as its floor depends on it."""

    sizes: Sizes
    inner: Array  # V at the end, (r, r)
    gram: Array  # of the dictionary, the smaller of its two forms


@dataclass(frozen=True)
class Floor:
    """Rounds of bare calls: those of most rounds, and those of a share of rounds."""

    usual: Call
    rare: Call | None = None
    share: float = 0.0


def _matrix(rng: np.random.Generator, rows: int, columns: int) -> Array:
    return np.asfortranarray(rng.standard_normal((rows, columns)))


def _gemv(a: Array, trans: int = 0) -> Call:
    x, y = np.ones(a.shape[0 if trans else 1]), np.empty(a.shape[1 if trans else 0])
    return lambda: blas.dgemv(1.0, a, x, 0.0, y, overwrite_y=1, trans=trans)


def _gemm(a: Array, b: Array) -> Call:
    c = np.empty((a.shape[0], b.shape[1]), order="F")
    return lambda: blas.dgemm(1.0, a, b, 0.0, c, overwrite_c=1)


def _syrk(a: Array) -> Call:
    """a^T a, one triangle."""
    c = np.empty((a.shape[1], a.shape[1]), order="F")
    return lambda: blas.dsyrk(1.0, a, 0.0, c, trans=1, overwrite_c=1)


def _rank_one(rows: int, columns: int) -> Call:
    a, x, y = np.zeros((rows, columns), order="F"), np.full(rows, 1e-3), np.full(columns, 1e-3)
    return lambda: blas.dger(1.0, x, y, a=a, overwrite_a=1)


def _eigen(matrix: Array) -> Call:
    held, work = np.asfortranarray(matrix), np.empty(matrix.shape, order="F")

    def call() -> object:
        np.copyto(work, held)  # dsyevd writes over its argument
        return lapack.dsyevd(work, compute_v=1, lower=1, overwrite_a=1)

    return call


def _all(calls: list[Call]) -> Call:
    def round_of_calls() -> None:
        for call in calls:
            call()

    return round_of_calls


def ridge_floor(s: Sizes) -> Floor:
    """GP-UCB and TGP-UCB: one payoff changes the posterior of all arms by rank one."""
    rng = np.random.default_rng(0)
    mean, column = np.zeros(s.arms), np.full(s.arms, 1e-3)
    step: Call = lambda: blas.daxpy(column, mean, a=1e-3)  # noqa: E731
    if s.dense:
        # The column of the arm is at hand; the covariance loses its outer product, the mean and
        # the variances (the diagonal) follow.
        return Floor(_all([_rank_one(s.arms, s.arms), step]))
    inverse, a = _matrix(rng, s.rank, s.rank), _matrix(rng, s.arms, s.rank)
    x, w = np.ones(s.rank), np.empty(s.rank)
    calls: list[Call] = [
        # V^-1 a_j, and from it the covariance of every arm with the one played.
        lambda: blas.dsymv(1.0, inverse, x, 0.0, w, overwrite_y=1),
        _gemv(a),
        # V^-1 loses an outer product; the mean moves along the column.
        _rank_one(s.rank, s.rank),
        step,
    ]
    return Floor(_all(calls))


def feature_floor(observed: Observed, eigen: str) -> Floor:
    """ATA-GP-UCB and MoMA-GP-UCB, `eigen` one of "lapack", "update"; with Nystrom if `dictionary`.

    Where nothing is truncated the directions W cancel (W^T W = I), so they cost nothing.
    """
    rng = np.random.default_rng(0)
    s = observed.sizes
    n, r = s.arms, s.rank
    a, q = _matrix(rng, n, r), _matrix(rng, r, r)
    estimate = _estimate_calls(s, rng, a, q)
    # Line 7, from round to round: leverages fall by the square of A V^-1 a_j.
    variance = [_gemv(q), _gemv(q, trans=1), _gemv(a)]
    # V gains an outer product; V^(-1/2) needs its eigenvectors.
    follow = [_rank_one(r, r), _eigen(observed.inner)] if eigen == "lapack" else [_gemm(q, q)]
    usual = _all([*estimate, *variance, *follow])
    if not s.dictionary:
        return Floor(usual)
    rare = _all([*estimate, *_dictionary_calls(observed, rng, a, q)])
    return Floor(usual, rare, s.changed)


def _estimate_calls(s: Sizes, rng: np.random.Generator, a: Array, q: Array) -> list[Call]:
    """Lines 5 and 6 of Algorithm 2: from sums of payoffs to the mean of every arm."""
    r, u = s.rank, s.directions
    w = _matrix(rng, u, r) if u else None
    # V^(-1/2) r_hat into coordinates, and the mean of all arms.
    last = [_gemv(q), _gemv(q, trans=1), _gemv(a)]
    if s.payoff_blocks:
        # Block sums, kept in coordinates, under V^(-1/2) and into the directions; back again.
        sums = _matrix(rng, r, s.payoff_blocks)
        calls = [_gemm(q, sums), _gemm(q, sums)]
        return calls + ([_gemm(w, sums), _gemv(w, trans=1)] if w is not None else []) + last
    # Sums of the arms that lose nothing, one product.
    calls = [_gemv(a, trans=1)]
    if s.searched:
        # u_ij of the arms that may lose a payoff: A_c V^(-1/2) W^T, in the cheaper order.
        some = _matrix(rng, s.searched, r)
        calls += [_gemm(q, q), _gemm(some, q)] if s.searched > r else 2 * [_gemm(some, q)]
        if w is not None:
            calls += [_gemm(some, np.asfortranarray(w.T)), _gemv(w, trans=1)]
        calls += [_gemv(q)]
    return calls + last


def _dictionary_calls(
    observed: Observed, rng: np.random.Generator, a: Array, q: Array
) -> list[Call]:
    """A round with a new dictionary: features, V and leverages from nothing."""
    s = observed.sizes
    rows = _matrix(rng, s.dictionary, s.span)
    small = min(s.dictionary, s.span)
    if s.span > s.dictionary:
        rows = np.asfortranarray(rows.T)
    return [
        # K_D, or the smaller matrix with the same eigenvalues, and its eigendecomposition: the
        # pseudo-inverse root of Alg. 3.
        _syrk(rows),
        _eigen(observed.gram),
        # The other side's eigenvectors, and the arms in the new coordinates.
        _gemm(rows, _matrix(rng, small, s.rank)),
        _gemm(_matrix(rng, s.arms, s.span), _matrix(rng, s.span, s.rank)),
        # V = A^T N A + ridge, its eigendecomposition, and all leverages.
        _syrk(a),
        _eigen(observed.inner),
        _gemm(a, q),
    ]


# -- what a running optimizer works with


def observe(optimizer: ArmOptimizer, step: Callable[[], None], rounds: int) -> Observed:
    """Play `rounds` rounds with `step` and return what was met on the way."""
    posterior: Any = optimizer.posterior
    n, none = len(optimizer.space), np.empty((0, 0))
    if optimizer.config.policy in ("gp_ucb", "tgp_ucb"):
        rank = posterior._coordinates.shape[1]
        return Observed(Sizes(n, rank, dense=posterior._dense), none, none)
    nystrom = hasattr(posterior, "dictionary")
    met = []
    for _ in range(rounds):
        before = getattr(posterior, "dictionary", none)
        step()
        changed = not np.array_equal(before, getattr(posterior, "dictionary", none))
        met.append((*_feature_sizes(optimizer), float(changed)))
    directions, searched, payoff_blocks, dictionary, changes = np.mean(met, axis=0)
    inner = _inner_matrix(optimizer)
    sizes = Sizes(
        arms=n,
        rank=len(inner),
        directions=round(directions),
        searched=round(searched),
        payoff_blocks=round(payoff_blocks),
        dictionary=round(dictionary),
        span=posterior.kernel_coordinates.shape[1] if nystrom else 0,
        changed=float(changes),
    )
    if not nystrom:
        return Observed(sizes, inner, none)
    rows = posterior.kernel_coordinates[posterior.dictionary]
    gram = rows.T @ rows if len(rows) >= rows.shape[1] else rows @ rows.T
    return Observed(sizes, inner, gram)


def _inner_matrix(optimizer: ArmOptimizer) -> Array:
    posterior: Any = optimizer.posterior
    a = posterior.embedding.coordinates
    counts = np.bincount(optimizer.history.indices, minlength=len(a))
    return (a.T * counts) @ a + optimizer.config.options["ridge"] * np.eye(a.shape[1])


def _feature_sizes(optimizer: ArmOptimizer) -> tuple[int, int, int, int]:
    """Return distinct directions (0 if W is the identity), arms searched, payoff blocks, |D|."""
    posterior: Any = optimizer.posterior
    w = posterior.embedding.directions
    identity = w.shape[0] == w.shape[1] and np.array_equal(w, np.eye(len(w)))
    directions = 0 if identity else len(w)
    dictionary = len(getattr(posterior, "dictionary", ()))
    estimator = posterior.estimator
    if optimizer.config.policy == "moma_gp_ucb":
        return directions, 0, estimator.max_blocks, dictionary
    threshold = optimizer.schedule.truncation(len(optimizer), posterior.directions)
    bites = np.sqrt(np.maximum(posterior.leverage, 0.0)) * estimator.store.largest > threshold
    return directions, int(bites.sum()), 0, dictionary
