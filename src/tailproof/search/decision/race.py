"""Confirmation: a race between the few best configurations and the baseline.

Runs come in blocks: every configuration that is still in the race runs once in each block, in
random order, so that a slow drift of the payoffs affects all alike. A configuration leaves the race
when it is clearly worse than the leader. What is next depends on counts and on the model alone, so
that any number of workers can run a race, and one that was interrupted goes on.

The winner has the best lower quartile of its mean payoff under the model. The largest of several
uncertain means is mostly one that was overestimated: under heavy tails two large payoffs of a poor
configuration, in ten runs, were enough to win by the mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DRAWS = 1024
MOST_CANDIDATES = 4
# A configuration leaves the race if it is better than the leader with less than this probability.
_CLEARLY_WORSE = 0.05
_FEWEST_RUNS = 2  # of every configuration before one may leave
_RUNS_PER_CANDIDATE = 3  # that a budget should allow
_RECOMMENDED_QUANTILE = 0.25  # of the mean payoff, by which the winner is judged


@dataclass(frozen=True)
class Race:
    """Configurations in a race, by their places in the search cube.

    Attributes
    ----------
    places
        Canonical places, (c, d); that of the baseline, if there is one, is the last.
    has_baseline
        Whether the last place is the baseline's, which stays to the end.
    """

    places: Array
    has_baseline: bool

    def among(self, places: Array) -> Array:
        """Return those of the race's places that are among `places` (k, d), in their order."""
        found = [bool((places == place).all(axis=1).any()) for place in self.places]
        return self.places[np.array(found, dtype=bool)]

    def index(self, u: Array) -> int | None:
        """Return which place u (d,) is; None if it is not in the race."""
        equal = np.flatnonzero((self.places == u).all(axis=1))
        return int(equal[0]) if len(equal) else None


def candidates_for(runs: int) -> int:
    """Return how many configurations a race of `runs` runs can tell apart.

    Examples
    --------
    >>> [candidates_for(runs) for runs in (1, 5, 9, 100)]
    [1, 1, 3, 4]
    """
    return min(max(runs // _RUNS_PER_CANDIDATE, 1), MOST_CANDIDATES)


def search_runs(share: float, budget: int) -> int:
    """Return how many of `budget` runs the search has if a `share` of them is for the race.

    Examples
    --------
    >>> search_runs(0.2, 100), search_runs(0.0, 100), search_runs(0.9, 1)
    (80, 100, 1)
    """
    return max(budget - round(share * budget), 1)


def confirmation_runs(searched: int, share: float, budget: int) -> int:
    """Return how many runs the race has after `searched` runs of search, within the budget.

    A search that was stopped early is confirmed by the same share of all runs.

    Examples
    --------
    >>> confirmation_runs(80, 0.2, 100), confirmation_runs(40, 0.2, 100)
    (20, 10)
    """
    if searched >= search_runs(share, budget):
        return budget - searched
    return min(round(searched * share / (1.0 - share)), budget - searched)


def select_candidates(draws: Array, first: int, count: int) -> list[int]:
    """Return `count` candidates of a race: configurations whose best has the highest expected mean.

    Greedy: after `first`, each is the one that adds most to E[max of the chosen ones] over joint
    `draws` (s, k) of the mean payoffs. One that is almost certain to be as good as a chosen one
    adds nothing, so the chosen ones differ. Fewer are returned if no other adds anything.

    Examples
    --------
    >>> draws = np.array([[3.0, 3.0, 0.0, 1.0], [1.0, 1.0, 2.0, 0.0]])
    >>> select_candidates(draws, 0, 4)
    [0, 2]
    """
    chosen, best = [first], draws[:, first]
    while len(chosen) < min(count, draws.shape[1]):
        gains = np.maximum(draws - best[:, None], 0.0).mean(axis=0)
        index = int(np.argmax(gains))
        if gains[index] <= 0.0:
            break
        chosen.append(index)
        best = np.maximum(best, draws[:, index])
    return chosen


def in_race(draws: Array, runs: NDArray[np.int64], *, has_baseline: bool) -> NDArray[np.bool_]:
    """Tell which configurations are still in the race, (c,).

    `draws` (s, c) are joint draws of the mean payoffs, larger is better; `runs` (c,) counts runs of
    the race. None leaves before all have two runs; the baseline, the last one, never leaves.
    """
    alive = np.ones(draws.shape[1], dtype=bool)
    rivals = draws.shape[1] - has_baseline
    if rivals and runs[:rivals].min() >= _FEWEST_RUNS:
        leader = int(np.argmax(draws[:, :rivals].mean(axis=0)))
        better = (draws[:, :rivals] > draws[:, [leader]]).mean(axis=0)
        equal = (draws[:, :rivals] == draws[:, [leader]]).all(axis=0)
        equal[:leader] = False  # of configurations that are the same to the model, the first stays
        alive[:rivals] = (better >= _CLEARLY_WORSE) | (np.arange(rivals) == leader) | equal
    return alive


def next_in_race(
    runs: NDArray[np.int64], alive: NDArray[np.bool_], rng: np.random.Generator
) -> int:
    """Return which configuration runs next: one of the fewest runs in the race, at random.

    Examples
    --------
    >>> alive = np.array([True, True, False])
    >>> next_in_race(np.array([2, 1, 0]), alive, np.random.default_rng(0))
    1
    """
    fewest = runs[alive].min()
    return int(rng.choice(np.flatnonzero(alive & (runs == fewest))))


def winner(draws: Array) -> int:
    """Return which configuration to recommend after a race: that of the best lower quartile.

    `draws` (s, c) are joint draws of the mean payoffs, larger is better.

    Examples
    --------
    >>> known, hardly_known = np.full(8, 1.0), np.linspace(-2.0, 5.0, 8)
    >>> winner(np.column_stack([known, hardly_known]))
    0
    """
    return int(np.argmax(np.quantile(draws, _RECOMMENDED_QUANTILE, axis=0)))
