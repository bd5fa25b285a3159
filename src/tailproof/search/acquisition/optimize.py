"""Find the point of a search space where a belief's upper end is highest.

Sobol points, points near the best seen, and the sites themselves are compared first; the best few
are then improved in turns: the continuous coordinates by L-BFGS-B with exact gradients, the
discrete ones by single moves. Integers and options are evaluated where they really lie.
"""

from __future__ import annotations

import functools
from typing import Protocol

import numpy as np
import scipy.optimize
from numpy.typing import NDArray
from scipy.stats import qmc

from tailproof.search.model.posterior import Belief

Array = NDArray[np.float64]

_SOBOL = 512
_NEAR = 64  # points around each of the best few sites
_STARTS = 2
_TURNS = 6
_APART = 0.03  # of the cube's side: starts closer than that would climb the same hill
_ENUMERATE = 4096  # spaces of at most that many configurations are searched in full
_MOST_SITES = 256  # the latest: a search comes back to the good ones


class SearchSpace(Protocol):
    """What the search asks of a space: see `tailproof.search.space.space.Space`."""

    @property
    def dimension(self) -> int: ...  # noqa: D102
    @property
    def count(self) -> int | None: ...  # noqa: D102
    @property
    def discrete(self) -> NDArray[np.bool_]: ...  # noqa: D102
    @property
    def encoded_columns(self) -> NDArray[np.int64]: ...  # noqa: D102
    def snap(self, U: Array) -> Array: ...  # noqa: D102
    def encode(self, U: Array) -> Array: ...  # noqa: D102
    def neighbors(self, u: Array) -> Array: ...  # noqa: D102
    def enumerate(self, limit: int) -> Array: ...  # noqa: D102


@functools.cache
def _sobol(dimension: int, count: int) -> Array:
    points = np.asarray(qmc.Sobol(dimension, scramble=False).random(count))
    points.flags.writeable = False
    return points


def sobol(dimension: int, count: int, rng: np.random.Generator) -> Array:
    """Return Sobol points in [0, 1)^dimension under a random shift, (count, dimension)."""
    if dimension == 0:
        return np.zeros((count, 0))
    return (_sobol(dimension, count) + rng.random(dimension)) % 1.0


def maximize(
    space: SearchSpace, belief: Belief, width: float, seen: Array, rng: np.random.Generator
) -> Array:
    """Return the position (dimension,) where `Belief.uppers` is highest.

    Parameters
    ----------
    space
        What is searched.
    belief
        Mean and standard deviation with their gradients.
    width
        How many standard deviations count; 0 for the best mean.
    seen
        Positions asked before, (n, dimension): they and their surroundings are candidates.
    rng
        Source of the candidates.
    """
    if space.count is not None and space.count <= _ENUMERATE:
        everything = space.enumerate(_ENUMERATE)
        return everything[int(np.argmax(_upper(space, belief, width, everything)))]
    candidates = [space.snap(sobol(space.dimension, _SOBOL, rng))]
    if len(seen):
        sites = np.unique(space.snap(seen[-_MOST_SITES:]), axis=0)
        candidates.append(sites)
    points = np.vstack(candidates)
    values = _upper(space, belief, width, points)
    if len(seen):
        best = sites[np.argsort(-values[_SOBOL:], kind="stable")[:_STARTS]]
        near = space.snap(_around(best, rng))
        points = np.vstack([points, near])
        values = np.append(values, _upper(space, belief, width, near))
    starts = _apart(points[np.argsort(-values, kind="stable")], _STARTS)
    for _ in range(_TURNS):
        starts, moved = _improve(space, belief, width, starts)
        if not moved:
            break
    return starts[int(np.argmax(_upper(space, belief, width, starts)))]


def _around(best: Array, rng: np.random.Generator) -> Array:
    """Return points near the best, at scales from a tenth to a thousandth of the cube."""
    reach = 10.0 ** rng.uniform(-3.0, -0.7, size=(len(best), _NEAR, 1))
    moves = rng.standard_normal((len(best), _NEAR, best.shape[1])) * reach
    # Some moves change only a few coordinates, so that discrete ones can stay.
    moves *= rng.random(moves.shape) < rng.choice([0.3, 1.0], size=(len(best), _NEAR, 1))
    return np.clip((best[:, None, :] + moves).reshape(-1, best.shape[1]), 0.0, 1.0)


def _apart(points: Array, count: int) -> Array:
    """Return the first `count` of `points`, best first, that are not close to one taken before."""
    taken = points[:1]
    while len(taken) < count:
        far = np.abs(points[:, None, :] - taken).max(axis=2).min(axis=1) > _APART
        if not far.any():
            break
        taken = np.vstack([taken, points[int(np.argmax(far))]])
    return taken


def _upper(space: SearchSpace, belief: Belief, width: float, points: Array) -> Array:
    return belief.uppers(space.encode(points), width)


def _improve(space: SearchSpace, belief: Belief, width: float, U: Array) -> tuple[Array, bool]:
    """Return better points reached from the rows of U, and whether a discrete move was made."""
    free = np.flatnonzero(~space.discrete)
    if len(free):
        U = _climb(space, belief, width, U, free)
    moved = False
    if len(free) < space.dimension:
        values = _upper(space, belief, width, U)
        for row in range(len(U)):
            around = space.neighbors(U[row])
            if len(around):
                near = _upper(space, belief, width, around)
                if near.max() > values[row]:
                    U[row], moved = around[int(np.argmax(near))], True
    return U, moved


def _climb(
    space: SearchSpace, belief: Belief, width: float, U: Array, free: NDArray[np.int64]
) -> Array:
    """Improve the continuous coordinates of all rows of U in one search: their sum is separable."""
    C = space.encode(U)
    columns, count = space.encoded_columns[free], len(free)

    def negative(x: Array) -> tuple[float, Array]:
        C[:, columns] = x.reshape(len(U), count)
        pairs = [belief.upper(c, width) for c in C]
        slopes = np.concatenate([slope[columns] for _, slope in pairs])
        return -sum(value for value, _ in pairs), -slopes

    found = scipy.optimize.minimize(
        negative,
        U[:, free].ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=scipy.optimize.Bounds(0.0, 1.0),
        options={"maxiter": 15},
    )
    moved = U.copy()
    moved[:, free] = np.clip(found.x, 0.0, 1.0).reshape(len(U), count)
    moved = space.snap(moved)
    better = _upper(space, belief, width, moved) > _upper(space, belief, width, U)
    return np.where(better[:, None], moved, U)
