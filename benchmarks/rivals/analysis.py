"""What the runs say: regrets in every cell, ranks, paired tests and intervals.

Contestants are compared on what they share. A cell's ranks come from the seeds that all of those
ranked have played; a paired test from the (cell, seed) pairs that ours and the rival have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, ttest_1samp, wilcoxon

from rivals.contestants import OURS
from rivals.laws import LAWS
from rivals.problems import PROBLEMS, cell_names
from rivals.records import Run, key_of
from rivals.trap import NAME as TRAP

Array = NDArray[np.float64]
CellName = tuple[str, str]

COVERAGE = 0.9  # of the interval of a ratio
_RESAMPLES = 10_000


def is_gaussian(cell: CellName) -> bool:
    """Tell whether a cell's payoffs are light-tailed."""
    return cell != (TRAP, TRAP) and not LAWS[cell[1]].heavy


POOLS: dict[str, Callable[[CellName], bool]] = {
    "heavy": lambda cell: not is_gaussian(cell),
    "heavy without t(3)": lambda cell: not is_gaussian(cell) and cell[1] != "t3",
    "heavy without the trap": lambda cell: not is_gaussian(cell) and cell[1] != TRAP,
    "gaussian": is_gaussian,
}
POOL_WORDS = {
    "heavy": "all cells but the Gaussian ones: the six heavy-tailed laws and the trap",
    "heavy without t(3)": "the same without Student-t 3, whose variance is finite",
    "heavy without the trap": "the same without the trap",
    "gaussian": "the Gaussian cells",
}


def whole_pool(name: str) -> int:
    """Return how many cells of the arena belong to a pool.

    Examples
    --------
    >>> whole_pool("heavy"), whole_pool("gaussian")
    (31, 5)
    """
    return sum(POOLS[name](cell) for cell in cell_names(PROBLEMS, tuple(LAWS)))


@dataclass(frozen=True)
class Entry:
    """One contestant in one cell, over all seeds it has played.

    `rank` is that of its mean simple regret among the cell's contestants, over the seeds all of
    them have; None where they share none. Standard errors are nan for one seed.
    """

    problem: str
    law: str
    contestant: str
    seeds: int
    simple: float
    simple_error: float
    cumulative: float
    cumulative_error: float
    rank: float | None
    failures: int


@dataclass(frozen=True)
class Ranked:
    """A contestant's mean rank over the cells of a pool that all of those ranked have played.

    `seeds` is the smallest number of seeds that they share in one of these cells.
    """

    contestant: str
    mean_rank: float
    cells: int
    seeds: int


@dataclass(frozen=True)
class Paired:
    """Ours against a rival over shared (cell, seed) pairs: rival's regret minus ours.

    `t` and `wilcoxon` are one-sided p values of "ours is lower" over `groups`, the pairs of one
    problem and seed taken together; None for fewer than two. `seeds` is the smallest number of
    shared seeds in one of the `cells` where there are any.
    """

    rival: str
    pairs: int
    groups: int
    cells: int
    seeds: int
    ours: float
    theirs: float
    difference: float
    t: float | None
    wilcoxon: float | None
    wins: int
    losses: int


class Table:
    """The runs of a directory, by cell, contestant and seed."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs: dict[CellName, dict[str, dict[int, Run]]] = {}
        for run in runs:
            cell = self._runs.setdefault(run.cell, {})
            cell.setdefault(run.contestant, {})[run.seed] = run

    @property
    def cells(self) -> tuple[CellName, ...]:
        """The cells that somebody has played, in the arena's order."""
        order = {name: i for i, name in enumerate((*PROBLEMS, *LAWS))}
        return tuple(sorted(self._runs, key=lambda cell: (order[cell[0]], order[cell[1]])))

    @property
    def contestants(self) -> tuple[str, ...]:
        """Everybody who has played, in the order they first appear."""
        return tuple(dict.fromkeys(who for cell in self.cells for who in self._runs[cell]))

    def pool(self, name: str) -> tuple[CellName, ...]:
        """Return the cells of a pool that somebody has played."""
        return tuple(cell for cell in self.cells if POOLS[name](cell))

    def of(self, cell: CellName, contestant: str) -> dict[int, Run]:
        """Return a contestant's runs in a cell, by seed."""
        return self._runs[cell].get(contestant, {})

    def with_seeds(self, pool: str, seeds: int) -> tuple[str, ...]:
        """Return those who have played at least so many seeds in every cell of a pool."""
        cells = self.pool(pool)
        return tuple(
            who
            for who in self.contestants
            if cells and all(len(self.of(cell, who)) >= seeds for cell in cells)
        )

    def shared_seeds(
        self, cell: CellName, contestants: Collection[str] | None = None
    ) -> tuple[int, ...]:
        """Return the seeds that every contestant of a cell, or each of some, has played."""
        names = self._runs[cell] if contestants is None else contestants
        played = [set(self.of(cell, who)) for who in names]
        return tuple(sorted(set.intersection(*played))) if played else ()

    def entries(self) -> list[Entry]:
        """Return every contestant in every cell: won or lost."""
        result = []
        for cell in self.cells:
            ranks = self.ranks(cell)
            for contestant in self._runs[cell]:
                runs = list(self.of(cell, contestant).values())
                simple, cumulative = (
                    np.array([getattr(run, name)[-1] for run in runs])
                    for name in ("simple", "cumulative")
                )
                result.append(
                    Entry(
                        *cell,
                        contestant,
                        len(runs),
                        float(simple.mean()),
                        standard_error(simple),
                        float(cumulative.mean()),
                        standard_error(cumulative),
                        ranks.get(contestant),
                        sum(run.error is not None for run in runs),
                    )
                )
        return result

    def ranks(self, cell: CellName, contestants: Collection[str] | None = None) -> dict[str, float]:
        """Return ranks by mean simple regret over the shared seeds, 1 best; ties share theirs.

        Of all the cell's contestants, or of some among themselves: then the seeds these share count
        and there are no ranks unless each of them has played the cell.
        """
        seeds = self.shared_seeds(cell, contestants)
        if not seeds:
            return {}
        names = list(self._runs[cell] if contestants is None else contestants)
        means = [float(np.mean([self.of(cell, who)[s].simple[-1] for s in seeds])) for who in names]
        return dict(zip(names, rankdata(means).tolist(), strict=True))

    def mean_ranks(self, pool: str, contestants: Collection[str] | None = None) -> list[Ranked]:
        """Return mean ranks over a pool's cells that all have played, best first.

        Of everybody, or of some among themselves, on the seeds these share.
        """
        names = self.contestants if contestants is None else tuple(contestants)
        ranks = {cell: one for cell in self.pool(pool) if (one := self.ranks(cell, names))}
        if not ranks:
            return []
        seeds = min(len(self.shared_seeds(cell, names)) for cell in ranks)
        found = [
            Ranked(who, float(np.mean([of[who] for of in ranks.values()])), len(ranks), seeds)
            for who in names
        ]
        return sorted(found, key=lambda one: one.mean_rank)

    def paired(self, pool: str, rival: str, ours: str = OURS) -> Paired | None:
        """Return ours against a rival in simple regret; None if they share nothing.

        The laws of one problem and seed share its function, so the tests see their sum as one: sums
        and not means, so that what is tested is the mean over pairs, a problem of one law no more.
        """
        shared = self._shared(pool, rival, ours)
        if not shared:
            return None
        own, other = np.array([pair for cell in shared.values() for pair in cell.values()]).T
        gap = other - own
        together = _grouped(shared)
        t, signed = one_sided(np.array([float(np.sum(one[:, 1] - one[:, 0])) for one in together]))
        return Paired(
            rival,
            len(gap),
            len(together),
            len(shared),
            min(len(cell) for cell in shared.values()),
            float(own.mean()),
            float(other.mean()),
            float(gap.mean()),
            t,
            signed,
            int((gap > 0.0).sum()),
            int((gap < 0.0).sum()),
        )

    def ratio_interval(self, pool: str, rival: str, ours: str = OURS) -> tuple[float, float] | None:
        """Return a bootstrap interval of ours' mean simple regret divided by the rival's.

        What is drawn anew are the groups of the paired tests, ours and the rival's together; None
        for fewer than two of them.
        """
        groups = _grouped(self._shared(pool, rival, ours))
        return ratio_bootstrap(np.array([one.sum(axis=0) for one in groups]).reshape(-1, 2))

    def _shared(
        self, pool: str, rival: str, ours: str
    ) -> dict[CellName, dict[int, tuple[float, float]]]:
        """Return simple regrets of ours and a rival, by cell and seed, where both have played."""
        result = {}
        for cell in self.pool(pool):
            mine, theirs = self.of(cell, ours), self.of(cell, rival)
            seeds = self.shared_seeds(cell, (ours, rival))
            if seeds:
                result[cell] = {s: (mine[s].simple[-1], theirs[s].simple[-1]) for s in seeds}
        return result

    def places(self) -> dict[str, dict[str, float]]:
        """Return each contestant's share of seeds on the trap's hills; a failure is on none."""
        result: dict[str, dict[str, float]] = {}
        for contestant, runs in self._runs.get((TRAP, TRAP), {}).items():
            if contestant != key_of(contestant):
                continue  # another recommendation, of which only the regret is kept
            places = [run.place for run in runs.values()]
            result[contestant] = {
                place: places.count(place) / len(places) for place in ("mean", "median", "neither")
            } | {"seeds": float(len(places))}
        return result

    def curve(self, cells: Sequence[CellName], contestant: str) -> Array | None:
        """Return mean simple regret at the marks, each cell counting the same, (marks,)."""
        means = [
            np.mean([run.simple for run in runs.values()], axis=0)
            for cell in cells
            if (runs := self.of(cell, contestant))
        ]
        return np.mean(means, axis=0) if len(means) == len(cells) and means else None


def _grouped(shared: dict[CellName, dict[int, tuple[float, float]]]) -> list[Array]:
    """Return the pairs of each problem and seed, (laws, 2): they share a function."""
    together: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for (problem, _), pairs in shared.items():
        for seed, pair in pairs.items():
            together.setdefault((problem, seed), []).append(pair)
    return [np.array(one) for one in together.values()]


def regret_ratio(ours: Array, theirs: Array) -> Array:
    """Return ours / theirs; where they have no regret left infinite, or 1 if ours has none either.

    Examples
    --------
    >>> regret_ratio(np.array([1.0, 1.0, 0.0]), np.array([2.0, 0.0, 0.0])).tolist()
    [0.5, inf, 1.0]
    """
    without = np.where(ours > 0.0, np.inf, 1.0)
    return np.divide(ours, theirs, out=without, where=theirs > 0.0)


def ratio_bootstrap(sums: Array) -> tuple[float, float] | None:
    """Return the interval of a ratio of means from each group's sums, (groups, 2): ours, theirs.

    The same sums give the same interval: the draws have a seed of their own. None for fewer than
    two groups.

    Examples
    --------
    >>> ratio_bootstrap(np.array([[1.0, 2.0], [3.0, 6.0], [2.0, 4.0]]))
    (0.5, 0.5)
    """
    if len(sums) < 2:
        return None
    rng = np.random.default_rng(0)
    drawn = sums[rng.integers(len(sums), size=(_RESAMPLES, len(sums)))].sum(axis=1)
    levels = [0.5 - COVERAGE / 2.0, 0.5 + COVERAGE / 2.0]
    # Between a number and infinity there is nothing to interpolate.
    ratios = regret_ratio(drawn[:, 0], drawn[:, 1])
    low, high = np.quantile(ratios, levels, method="inverted_cdf").tolist()
    return low, high


def standard_error(values: Array) -> float:
    """Return the standard error of a mean; nan for one value.

    Examples
    --------
    >>> standard_error(np.array([1.0, 3.0]))
    1.0
    """
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def one_sided(gap: Array) -> tuple[float | None, float | None]:
    """Return p values of "the mean gap is not above zero": t test, and Wilcoxon's signed ranks.

    Examples
    --------
    >>> t, w = one_sided(np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    >>> round(t, 4), round(w, 4)
    (0.0066, 0.0312)
    >>> one_sided(np.zeros(4))
    (1.0, 1.0)
    """
    if len(gap) < 2:
        return None, None
    if not gap.any():
        return 1.0, 1.0
    if np.ptp(gap) == 0.0:
        t = 0.0 if gap[0] > 0.0 else 1.0  # without spread the test has no other answer
    else:
        t = float(ttest_1samp(gap, 0.0, alternative="greater").pvalue)
    return t, float(wilcoxon(gap, alternative="greater", zero_method="zsplit").pvalue)
