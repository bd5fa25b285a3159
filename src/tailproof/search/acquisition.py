"""Where a trial is: points of the initial design, and the highest upper confidence bound.

To maximize the bound, Sobol points, points near the best ones seen, and the points seen are
compared first; the best few are then improved in turns: continuous coordinates by L-BFGS-B with
exact gradients, discrete ones by single moves. Integers and options are evaluated where they lie.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from tailproof.search.space.context import ContextSpace
from tailproof.search.space.encodings import EncodedSpace

if TYPE_CHECKING:
    from tailproof.search.options import Options
    from tailproof.search.payoff_model import PayoffModel
    from tailproof.search.trials import TrialLog

Array = NDArray[np.float64]

# Points of a Sobol design beyond this number are random: they are generated all at once.
_LONGEST_DESIGN = 4096
_SOBOL = 512
# Of pending trials about one in so many may be this close to each other, as a share of the cube's
# side: pending trials do not move the mean, which would send all of them to one place.
_SHARE, _CLOSE = 4, 0.01
_NEAR = 64  # points around each of the best few points seen
_STARTS = 2
_ROUNDS = 6
_LEAST_DISTANCE = 0.03  # of the cube's side: closer starts would climb the same hill
_ENUMERATE = 4096  # spaces of at most that many configurations are searched in full
_MOST_SEEN = 256  # the latest: a search comes back to the good ones


class UpperBound(Protocol):
    """What is maximized: see `tailproof.search.model.posterior.Posterior`."""

    def ucb(self, X: Array, kappa: float) -> Array:
        """Return the upper confidence bound at the rows of X (n, p), (n,)."""

    def ucb_gradient(self, X: Array, kappa: float) -> tuple[Array, Array]:
        """Return the upper confidence bounds (n,) and their gradients (n, p)."""


@functools.cache
def _sobol_candidates(dimension: int, count: int) -> Array:
    """Return the first points of the Sobol sequence, (count, dimension); kept."""
    from scipy.stats import qmc  # loading scipy.stats is slow

    points = np.asarray(qmc.Sobol(dimension, scramble=False).random(count))
    points.flags.writeable = False
    return points


def sobol(dimension: int, count: int, rng: np.random.Generator) -> Array:
    """Return Sobol points in [0, 1)^dimension under a random shift, (count, dimension)."""
    if dimension == 0:
        return np.zeros((count, 0))
    return (_sobol_candidates(dimension, count) + rng.random(dimension)) % 1.0


def sobol_point(space: EncodedSpace, index: int, stream: list[int]) -> Array:
    """Return point `index` of a Sobol sequence, (d,); each stream has a random shift of its own.

    Examples
    --------
    >>> import tailproof as tp
    >>> space = tp.Space(x=tp.Float(0, 1))
    >>> sorted(int(4 * sobol_point(space, index, [0])[0]) for index in range(4))
    [0, 1, 2, 3]
    """
    if index >= _LONGEST_DESIGN:
        return random_point(space, index, stream)
    rng = np.random.default_rng(stream)
    points = sobol(space.dimension, 1 << max(index, 1).bit_length(), rng)
    return space.snap(points[index][None])[0]


def random_point(space: EncodedSpace, index: int, stream: list[int]) -> Array:
    """Return point `index` of a random design, (d,), whose parts are random designs, too.

    Trials in one context are such a part. A regular subsequence of Sobol points is not evenly
    spread, and contexts that come in turns would make one.
    """
    rng = np.random.default_rng([*stream, index, 2])
    return space.snap(rng.random((1, space.dimension)))[0]


@dataclass(frozen=True)
class Proposer:
    """Proposes where the next trial of an optimizer is."""

    log: TrialLog
    model: PayoffModel
    options: Options
    n_initial: int  # trials of the initial design

    def place(self, space: EncodedSpace, number: int, pending: list[Array], seed: int) -> Array:
        """Return the place (d,) of trial `number`: of the design, or with the highest UCB.

        `space` is that of the model, or its part in a context.
        """
        design = random_point if isinstance(space, ContextSpace) else sobol_point
        if number < self.n_initial or len(self.log.completed) < self.model.first_fit:
            return design(space, number, [seed])
        posterior = self.model.posterior(pending)
        every = self.options.second_opinion
        if every and number % every == 0 and posterior.rests_on_tails:
            posterior = self.model.posterior_of_truncated_payoffs(pending)
        U = space.stack(pending)
        seen = np.vstack([np.array(self.log.places), U])
        rng = np.random.default_rng([seed, number])
        # Whether outliers are more frequent in some places is not known: it is supposed as often as
        # it is probable (Thompson sampling of the hypothesis).
        posterior = posterior.suppose(rng.random())
        u = maximize_ucb(space, posterior, self.options.kappa, seen, rng)
        crowded = len(U) and space.count is None and _count_near(U, u) > 1 + len(U) // _SHARE
        return design(space, number, [seed, 0, 5]) if crowded else u


def maximize_ucb(
    space: EncodedSpace, posterior: UpperBound, kappa: float, seen: Array, rng: np.random.Generator
) -> Array:
    """Return the position (dimension,) with the highest upper confidence bound.

    The bound has `kappa` standard deviations, 0 for the best mean. Positions `seen` before,
    (n, dimension), and their surroundings are candidates, besides those that `rng` draws.
    """

    def ucb(U: Array) -> Array:
        return posterior.ucb(space.encode(U), kappa)

    if space.count is not None and space.count <= _ENUMERATE:
        everything = space.enumerate(_ENUMERATE)
        return everything[int(np.argmax(ucb(everything)))]
    candidates = space.snap(sobol(space.dimension, _SOBOL, rng))
    if len(seen):
        distinct = np.unique(space.snap(seen[-_MOST_SEEN:]), axis=0)
        candidates = np.vstack([candidates, distinct])
    values = ucb(candidates)
    if len(seen):
        best = distinct[np.argsort(-values[_SOBOL:], kind="stable")[:_STARTS]]
        near = space.snap(_points_around(best, rng))
        candidates = np.vstack([candidates, near])
        values = np.append(values, ucb(near))
    taken = _spaced_starts(candidates, values, _STARTS)
    U, values = candidates[taken], values[taken]
    free = np.flatnonzero(~space.discrete)
    for _ in range(_ROUNDS):
        if len(free):
            U, values = _climb_ucb(space, posterior, kappa, U, values, free)
        moved = False
        if len(free) < space.dimension:
            U, values, moved = _best_neighbors(space, posterior, kappa, U, values)
        if not moved:
            break
    return U[int(np.argmax(values))]


def _points_around(best: Array, rng: np.random.Generator) -> Array:
    """Return points near the best, at scales from a fifth to a thousandth of the cube."""
    reach = 10.0 ** rng.uniform(-3.0, -0.7, size=(len(best), _NEAR, 1))
    moves = rng.standard_normal((len(best), _NEAR, best.shape[1])) * reach
    # Some moves change only a few coordinates, so that discrete ones can stay.
    moves *= rng.random(moves.shape) < rng.choice([0.3, 1.0], size=(len(best), _NEAR, 1))
    return np.clip((best[:, None, :] + moves).reshape(-1, best.shape[1]), 0.0, 1.0)


def _spaced_starts(points: Array, values: Array, count: int) -> list[int]:
    """Return the rows of the `count` best points that are not close to a better one taken."""
    order = np.argsort(-values, kind="stable")
    taken = [int(order[0])]
    while len(taken) < count:
        distance = np.abs(points[:, None, :] - points[taken]).max(axis=2).min(axis=1)
        apart = order[distance[order] > _LEAST_DISTANCE]
        if not len(apart):
            break
        taken.append(int(apart[0]))
    return taken


def _best_neighbors(
    space: EncodedSpace, posterior: UpperBound, kappa: float, U: Array, values: Array
) -> tuple[Array, Array, bool]:
    """Return the rows of U moved to better discrete neighbors, and whether any was moved.

    With the bounds there; `values` (n,) are those of U.
    """
    neighbors = [space.neighbors(u) for u in U]
    everywhere = np.vstack(neighbors)
    U, values, moved = U.copy(), values.copy(), False
    found = posterior.ucb(space.encode(everywhere), kappa) if len(everywhere) else np.empty(0)
    ends = np.cumsum([len(each) for each in neighbors])
    for row, (near, bounds) in enumerate(zip(neighbors, np.split(found, ends[:-1]), strict=True)):
        if bounds.max(initial=-np.inf) > values[row]:
            best = int(np.argmax(bounds))
            U[row], values[row], moved = near[best], bounds[best], True
    return U, values, moved


def _climb_ucb(
    space: EncodedSpace,
    posterior: UpperBound,
    kappa: float,
    U: Array,
    values: Array,
    free: NDArray[np.int64],
) -> tuple[Array, Array]:
    """Improve the continuous coordinates of all rows of U in one search: their sum is separable.

    Return the rows and their bounds; `values` (n,) are those of U.
    """
    X = space.encode(U)
    columns, count = space.encoded_columns[free], len(free)

    def negative(x: Array) -> tuple[float, Array]:
        X[:, columns] = x.reshape(len(U), count)
        bounds, gradients = posterior.ucb_gradient(X, kappa)
        return -float(bounds.sum()), -gradients[:, columns].ravel()

    found = scipy.optimize.minimize(
        negative,
        U[:, free].ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=scipy.optimize.Bounds(0.0, 1.0),
        options={"maxiter": 15},
    )
    climbed = U.copy()
    climbed[:, free] = np.clip(found.x, 0.0, 1.0).reshape(len(U), count)
    climbed = space.snap(climbed)
    X[:, columns] = climbed[:, free]
    after = posterior.ucb(X, kappa)
    better = after > values
    return np.where(better[:, None], climbed, U), np.where(better, after, values)


def _count_near(U: Array, u: Array) -> int:
    """Return how many trials, at the rows of U (n, d), are close to u (d,)."""
    return int(np.sum(np.abs(U - u).max(axis=1) < _CLOSE))
