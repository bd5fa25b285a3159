"""Where a trial is: points of an initial design, then the largest of an acquisition function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tailproof.search.acquisition import (
    LogImprovement,
    UpperConfidenceBound,
    maximize_acquisition,
    sobol,
)
from tailproof.search.space.context import ContextSpace
from tailproof.search.space.encodings import EncodedSpace

if TYPE_CHECKING:
    from tailproof.search.options import Options
    from tailproof.search.payoff_model import AnyPosterior, PayoffModel
    from tailproof.search.trials import TrialLog

Array = NDArray[np.float64]

# Points of a Sobol design beyond this number are random: they are generated all at once.
_LONGEST_DESIGN = 4096
# The initial design has numbers in this share of their range, in its middle: extreme settings are
# the ones that cost a thousand times the others, and the bound leads to the ends soon enough.
_MIDDLE = 0.7
# So many trials after the initial design the search reaches the ends of the ranges: until then it
# is kept to a middle share that grows from `_MIDDLE` to the whole.
_GROWTH = 20
# The bound has the given number of deviations from so many payoffs on, a share of it before, which
# grows from `_FIRST_WIDTH` on: as long as little is known, the deviation is largest at the ends of
# the ranges, whatever the payoffs say of them.
_FULL_WIDTH, _FIRST_WIDTH = 40, 0.25
# Of pending trials about one in so many may be this close to each other, as a share of the cube's
# side: pending trials do not move the mean, which would send all of them to one place.
_SHARE, _CLOSE = 4, 0.01
# A mean is known if its deviation is at most this share of that of one payoff, or of the effects of
# the parameters: then another payoff there teaches nothing.
_KNOWN, _NEGLIGIBLE = 0.25, 0.01
# Expected improvement, in deviations of the effects of the parameters, that is worth a trial of
# another configuration than the best.
_WORTH = 1e-4


def sobol_point(space: EncodedSpace, index: int, stream: list[int]) -> Array:
    """Propose point `index` of a Sobol sequence, (d,); each stream has its own random shift.

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
    """Propose point `index` of a random design, (d,), whose parts are random designs, too.

    Trials in one context are such a part. A regular subsequence of Sobol points is not evenly
    spread, and contexts that come in turns would make one.
    """
    rng = np.random.default_rng([*stream, index, 2])
    return space.snap(rng.random((1, space.dimension)))[0]


def toward_middle(space: EncodedSpace, u: Array) -> Array:
    """Propose for u (d,) the place with its numbers moved into the middle of their ranges.

    Options of a Choice, rows of a list and numbers with few values have no middle and stay.

    Examples
    --------
    >>> import tailproof as tp
    >>> toward_middle(tp.Space(x=tp.Float(0, 1)), np.array([1.0])).round(9)
    array([0.85])
    """
    moved = np.where(space.has_middle, 0.5 + _MIDDLE * (u - 0.5), u)
    return space.snap(moved[None])[0]


def keep_to_middle(space: EncodedSpace, u: Array, share: float) -> Array:
    """Return the place u (d,) with its numbers limited to the middle `share` of their ranges.

    Examples
    --------
    >>> import tailproof as tp
    >>> space = tp.Space(x=tp.Float(0, 1), y=tp.Float(0, 1))
    >>> keep_to_middle(space, np.array([1.0, 0.4]), 0.7).round(9)
    array([0.85, 0.4 ])
    """
    half = 0.5 * share
    limited = np.where(space.has_middle, np.clip(u, 0.5 - half, 0.5 + half), u)
    return space.snap(limited[None])[0]


def width_of_bound(told: int) -> float:
    """Return the share of `kappa` that the upper confidence bound has after `told` payoffs.

    Examples
    --------
    >>> width_of_bound(0), width_of_bound(20), width_of_bound(100)
    (0.25, 0.625, 1.0)
    """
    return min(1.0, _FIRST_WIDTH + (1.0 - _FIRST_WIDTH) * told / _FULL_WIDTH)


@dataclass(frozen=True)
class Proposer:
    """Proposes where the next trial of an optimizer is."""

    log: TrialLog
    model: PayoffModel
    options: Options
    n_initial: int  # trials of the initial design

    def place(self, space: EncodedSpace, number: int, pending: list[Array], seed: int) -> Array:
        """Propose the place (d,) of trial `number`: of the design, or of the largest acquisition.

        `space` is that of the model, or its part in a context.
        """
        design = random_point if isinstance(space, ContextSpace) else sobol_point
        if number < self.n_initial or len(self.log.completed) < self.model.first_fit:
            return toward_middle(space, design(space, number, [seed]))
        posterior = self.model.posterior(pending)
        told, every = len(self.log.completed), self.options.second_opinion
        width = width_of_bound(told)
        if every and number % every == 0 and posterior.rests_on_tails:
            # Where it is uncertain the other model explores: this one is asked what it knows.
            posterior, width = self.model.posterior_of_truncated_payoffs(pending), _FIRST_WIDTH
        U = space.stack(pending)
        seen = np.vstack([np.array(self.log.places), U])
        rng = np.random.default_rng([seed, number])
        # Whether outliers are more frequent in some places is not known: it is supposed as often as
        # it is probable (Thompson sampling of the hypothesis).
        posterior = posterior.suppose(rng.random())
        bound = UpperConfidenceBound(posterior, width * self.options.kappa)
        u = maximize_acquisition(space, bound, seen, rng)
        share = _MIDDLE + (1.0 - _MIDDLE) * (told - self.n_initial) / _GROWTH
        if share < 1.0:
            u = keep_to_middle(space, u, share)
        improvement = self._improvement(posterior, space, u, seen)
        if improvement is not None:
            other = maximize_acquisition(space, improvement, seen, rng)
            gain = math.exp(improvement.value(space.encode(other[None]))[0])
            if gain >= _WORTH * math.sqrt(posterior.signal_var):
                u = other
        crowded = len(U) and space.count is None and _count_near(U, u) > 1 + len(U) // _SHARE
        return design(space, number, [seed, 0, 5]) if crowded else u

    def _improvement(
        self, posterior: AnyPosterior, space: EncodedSpace, u: Array, seen: Array
    ) -> LogImprovement | None:
        """Return what to maximize instead of the bound if another payoff at u teaches nothing.

        That is, if u was tried or is running and its mean is known far better than one payoff
        tells, or than the means of configurations differ. None otherwise.
        """
        if not (seen == u).all(axis=1).any():
            return None
        X = space.encode(np.vstack([u, space.snap(seen)]))  # in the context, if any
        means = posterior.ucb(X, 0.0)
        deviation = float(posterior.ucb(X[:1], 1.0)[0] - means[0])
        noise, effect = posterior.noise_var, posterior.signal_var
        known = deviation**2 < max(_KNOWN**2 * noise, _NEGLIGIBLE**2 * effect)
        if not known or math.isinf(noise):
            return None
        return LogImprovement(posterior, float(means.max()), noise)


def _count_near(U: Array, u: Array) -> int:
    """Return how many trials, at the rows of U (n, d), are close to a proposal u (d,)."""
    return int(np.sum(np.abs(U - u).max(axis=1) < _CLOSE))
