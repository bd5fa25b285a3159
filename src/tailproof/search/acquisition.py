"""Acquisition functions, and where in a mixed space they are largest.

To maximize one, Sobol points, points near the best ones seen, and the points seen are compared
first; the best few are then improved in turns: continuous coordinates by L-BFGS-B with exact
gradients, discrete ones by single moves. Integers and options are evaluated where they lie.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.optimize
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr

from tailproof.search.space.encodings import EncodedSpace

Array = NDArray[np.float64]

_SOBOL = 512
_NEAR = 64  # points around each of the best few points seen
_STARTS = 2
_ROUNDS = 6
_LEAST_DISTANCE = 0.03  # of the cube's side: closer starts would climb the same hill
_ENUMERATE = 4096  # spaces of at most that many configurations are searched in full
# An improvement of fewer deviations than that is not told apart from this one.
_LOWEST = -1e6
_MOST_SEEN = 256  # the latest: a search comes back to the good ones


class UpperBound(Protocol):
    """What acquisition functions are made of: see `search.model.posterior.Posterior`."""

    def ucb(self, X: Array, kappa: float) -> Array:
        """Return the acquisition's upper confidence bound at the rows of X (n, p), (n,)."""

    def ucb_gradient(self, X: Array, kappa: float) -> tuple[Array, Array]:
        """Return the acquisition's upper confidence bounds (n,) and their gradients (n, p)."""


class Acquisition(Protocol):
    """What is maximized over the search cube, in encoded points X (n, p)."""

    def value(self, X: Array) -> Array:
        """Return the acquisition's values at the rows of X, (n,)."""
        ...

    def value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Return the acquisition's values at few rows of X, (n,), and their gradients, (n, p)."""
        ...


@dataclass(frozen=True)
class UpperConfidenceBound:
    """The bound with `kappa` standard deviations; with none, the mean."""

    posterior: UpperBound
    kappa: float

    def value(self, X: Array) -> Array:
        """Return the bounds at the rows of X, (n,)."""
        return self.posterior.ucb(X, self.kappa)

    def value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Return the bounds at few rows of X, (n,), and their gradients, (n, p)."""
        return self.posterior.ucb_gradient(X, self.kappa)


@dataclass(frozen=True)
class LogImprovement:
    """The logarithm of the expected improvement on `best` by the posterior mean after one payoff.

    A payoff of noise variance tau moves the posterior mean, of variance s^2, by a normal variable
    of deviation d = s^2 / sqrt(s^2 + tau): next to nothing where the mean is known. With
    u = (mean - best) / d the improvement is d (u Phi(u) + phi(u)) (Huang et al., 2006, weigh the
    improvement of a payoff for the same reason).
    """

    posterior: UpperBound
    best: float
    noise_var: float

    def value(self, X: Array) -> Array:
        """Return the log improvements at the rows of X, (n,)."""
        mean = self.posterior.ucb(X, 0.0)
        return self._log_improvement(mean, self.posterior.ucb(X, 1.0) - mean)[0]

    def value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Return the log improvements at few rows of X, (n,), and their gradients, (n, p)."""
        mean, mean_in_x = self.posterior.ucb_gradient(X, 0.0)
        above, above_in_x = self.posterior.ucb_gradient(X, 1.0)
        value, by_mean, by_deviation = self._log_improvement(mean, above - mean)
        gradient = by_mean[:, None] * mean_in_x
        gradient += by_deviation[:, None] * (above_in_x - mean_in_x)
        return value, gradient

    def _log_improvement(self, mean: Array, deviation: Array) -> tuple[Array, Array, Array]:
        """Return the log improvement and its slopes in mean and deviation, (n,) each."""
        s = np.maximum(deviation, 1e-12)
        total = s * s + self.noise_var
        d = s * s / np.sqrt(total)
        u = np.maximum((mean - self.best) / d, _LOWEST)
        log_gain, log_density = _log_normal_gain(u), _log_normal_density(u)
        by_mean = np.exp(log_ndtr(u) - log_gain) / d  # the gain's slope is Phi
        by_d = np.exp(log_density - log_gain) / d  # gain - u Phi = phi
        return np.log(d) + log_gain, by_mean, by_d * (2.0 - s * s / total) * d / s


def _log_normal_density(u: Array) -> Array:
    """Return ln phi(u) of the standard normal law, for the log improvement."""
    return -0.5 * u * u - 0.5 * math.log(2.0 * math.pi)


def _log_normal_gain(u: Array) -> Array:
    """Return ln (u Phi(u) + phi(u)) for the log improvement, also far below zero.

    There it is ln phi(u) + ln (1 + u Phi(u) / phi(u)), and from -1e4 on the last term is -2 ln |u|.
    """
    low = np.minimum(u, -1.0)
    ratio = math.sqrt(0.5 * math.pi) * erfcx(-low / math.sqrt(2.0))
    below = np.where(low < -1e4, -2.0 * np.log(-low), np.log1p(np.maximum(low, -1e4) * ratio))
    high = np.maximum(u, -1.0)
    above = np.log(high * np.exp(log_ndtr(high)) + np.exp(_log_normal_density(high)))
    return np.where(u > -1.0, above, _log_normal_density(low) + below)


@functools.cache
def _sobol_candidates(dimension: int, count: int) -> Array:
    """Return Sobol candidates for an acquisition function's maximum, (count, dimension); kept."""
    from scipy.stats import qmc  # loading scipy.stats is slow

    points = np.asarray(qmc.Sobol(dimension, scramble=False).random(count))
    points.flags.writeable = False
    return points


def sobol(dimension: int, count: int, rng: np.random.Generator) -> Array:
    """Return Sobol candidates of an acquisition in [0, 1)^dimension.

    They are under a random shift, (count, dimension).
    """
    if dimension == 0:
        return np.zeros((count, 0))
    return (_sobol_candidates(dimension, count) + rng.random(dimension)) % 1.0


def maximize_acquisition(
    space: EncodedSpace, acquisition: Acquisition, seen: Array, rng: np.random.Generator
) -> Array:
    """Return the position (dimension,) with the highest value.

    Positions `seen` before, (n, dimension), and their surroundings are candidates, besides those
    that `rng` draws.
    """

    def value_at(U: Array) -> Array:
        return acquisition.value(space.encode(U))

    if space.count is not None and space.count <= _ENUMERATE:
        everything = space.enumerate(_ENUMERATE)
        return everything[int(np.argmax(value_at(everything)))]
    candidates = space.snap(sobol(space.dimension, _SOBOL, rng))
    if len(seen):
        distinct = np.unique(space.snap(seen[-_MOST_SEEN:]), axis=0)
        candidates = np.vstack([candidates, distinct])
    values = value_at(candidates)
    if len(seen):
        best = distinct[np.argsort(-values[_SOBOL:], kind="stable")[:_STARTS]]
        near = space.snap(_points_around(best, rng))
        candidates = np.vstack([candidates, near])
        values = np.append(values, value_at(near))
    taken = _spaced_starts(candidates, values, _STARTS)
    U, values = candidates[taken], values[taken]
    free = np.flatnonzero(~space.discrete)
    for _ in range(_ROUNDS):
        if len(free):
            U, values = _climb(space, acquisition, U, values, free)
        moved = False
        if len(free) < space.dimension:
            U, values, moved = _best_neighbors(space, acquisition, U, values)
        if not moved:
            break
    return U[int(np.argmax(values))]


def _points_around(best: Array, rng: np.random.Generator) -> Array:
    """Return candidates of an acquisition near its best, at scales of 1/5 to 1/1000 of the cube."""
    reach = 10.0 ** rng.uniform(-3.0, -0.7, size=(len(best), _NEAR, 1))
    moves = rng.standard_normal((len(best), _NEAR, best.shape[1])) * reach
    # Some moves change only a few coordinates, so that discrete ones can stay.
    moves *= rng.random(moves.shape) < rng.choice([0.3, 1.0], size=(len(best), _NEAR, 1))
    return np.clip((best[:, None, :] + moves).reshape(-1, best.shape[1]), 0.0, 1.0)


def _spaced_starts(points: Array, values: Array, count: int) -> list[int]:
    """Return the rows of `count` candidates of high acquisition, none close to a better one."""
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
    space: EncodedSpace, acquisition: Acquisition, U: Array, values: Array
) -> tuple[Array, Array, bool]:
    """Return the rows of U moved to better discrete neighbors, and whether any was moved.

    With the values there; `values` (n,) are those of U.
    """
    neighbors = [space.neighbors(u) for u in U]
    everywhere = np.vstack(neighbors)
    U, values, moved = U.copy(), values.copy(), False
    found = acquisition.value(space.encode(everywhere)) if len(everywhere) else np.empty(0)
    ends = np.cumsum([len(each) for each in neighbors])
    for row, (near, there) in enumerate(zip(neighbors, np.split(found, ends[:-1]), strict=True)):
        if there.max(initial=-np.inf) > values[row]:
            best = int(np.argmax(there))
            U[row], values[row], moved = near[best], there[best], True
    return U, values, moved


def _climb(
    space: EncodedSpace,
    acquisition: Acquisition,
    U: Array,
    values: Array,
    free: NDArray[np.int64],
) -> tuple[Array, Array]:
    """Climb the acquisition in the continuous coordinates of all rows of U: their sum is separable.

    Return the rows and their values; `values` (n,) are those of U.
    """
    X = space.encode(U)
    columns, count = space.encoded_columns[free], len(free)

    def negative(x: Array) -> tuple[float, Array]:
        X[:, columns] = x.reshape(len(U), count)
        there, gradients = acquisition.value_and_gradient(X)
        return -float(there.sum()), -gradients[:, columns].ravel()

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
    after = acquisition.value(X)
    better = after > values
    return np.where(better[:, None], climbed, U), np.where(better, after, values)
