"""Statistics of the runs: regrets on every problem, ranks, paired tests and intervals.

Methods are compared on the seeds they share. The ranks of a problem come from the seeds that all
ranked methods have; a paired test from the (problem, seed) pairs that ours and the rival have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, ttest_1samp, wilcoxon

from rivals.laws import LAWS
from rivals.methods import OURS, base_method
from rivals.problems import OBJECTIVES, ProblemName, problem_names
from rivals.records import RunResult
from rivals.trap import NAME as TRAP

Array = NDArray[np.float64]

CONFIDENCE = 0.9  # of the interval of a ratio
_RESAMPLES = 10_000


def is_gaussian(problem: ProblemName) -> bool:
    """Tell whether a problem's payoffs are light-tailed."""
    return problem != (TRAP, TRAP) and not LAWS[problem[1]].heavy


POOLS: dict[str, Callable[[ProblemName], bool]] = {
    "heavy": lambda problem: not is_gaussian(problem),
    "heavy without t(3)": lambda problem: not is_gaussian(problem) and problem[1] != "t3",
    "heavy without the trap": lambda problem: not is_gaussian(problem) and problem[1] != TRAP,
    "gaussian": is_gaussian,
}
POOL_DESCRIPTIONS = {
    "heavy": "all problems but the Gaussian ones: the six heavy-tailed laws and the trap",
    "heavy without t(3)": "the same without Student-t 3, whose variance is finite",
    "heavy without the trap": "the same without the trap",
    "gaussian": "the Gaussian problems",
}


def pool_size(pool: str) -> int:
    """Return how many problems of the comparison belong to a pool.

    Examples
    --------
    >>> pool_size("heavy"), pool_size("gaussian")
    (31, 5)
    """
    return sum(POOLS[pool](problem) for problem in problem_names())


@dataclass(frozen=True)
class Entry:
    """One method on one problem, over all its seeds.

    `rank` is that of its mean simple regret among the problem's methods, over the seeds that all of
    them have; None where they share none. Standard errors are nan for one seed.
    """

    objective: str
    law: str
    method: str
    seeds: int
    simple_regret: float
    simple_regret_error: float
    cumulative_regret: float
    cumulative_regret_error: float
    rank: float | None
    failures: int


@dataclass(frozen=True)
class MeanRank:
    """A method's mean rank over the problems of a pool that all ranked methods have runs of.

    `seeds` is the smallest number of seeds that they share on one of these problems.
    """

    method: str
    mean_rank: float
    problems: int
    seeds: int


@dataclass(frozen=True)
class PairedComparison:
    """Ours against a rival over shared (problem, seed) pairs: the rival's regret minus ours.

    `t` and `wilcoxon` are one-sided p values of "ours is lower" over `groups`, the pairs of one
    objective and seed summed; None for fewer than two groups. `seeds` is the smallest number of
    shared seeds on one of the `problems` where there are any.
    """

    rival: str
    pairs: int
    groups: int
    problems: int
    seeds: int
    ours: float
    theirs: float
    difference: float
    t: float | None
    wilcoxon: float | None
    wins: int
    losses: int


class Results:
    """Finished runs by problem, method and seed."""

    def __init__(self, runs: Iterable[RunResult]) -> None:
        self._runs: dict[ProblemName, dict[str, dict[int, RunResult]]] = {}
        for run in runs:
            by_method = self._runs.setdefault(run.problem, {})
            by_method.setdefault(run.method, {})[run.seed] = run

    @property
    def problems(self) -> tuple[ProblemName, ...]:
        """The problems with at least one run, in the order of objectives and laws."""
        order = {name: i for i, name in enumerate((*OBJECTIVES, *LAWS))}
        return tuple(sorted(self._runs, key=lambda name: (order[name[0]], order[name[1]])))

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods with at least one run, in the order they first appear."""
        return tuple(dict.fromkeys(key for name in self.problems for key in self._runs[name]))

    @property
    def rivals(self) -> tuple[str, ...]:
        """The methods other than ours."""
        return tuple(method for method in self.methods if method != OURS)

    def pool(self, name: str) -> tuple[ProblemName, ...]:
        """Return the problems of a pool with at least one run."""
        return tuple(problem for problem in self.problems if POOLS[name](problem))

    def runs(self, problem: ProblemName, method: str) -> dict[int, RunResult]:
        """Return the runs of a method on a problem, by seed."""
        return self._runs[problem].get(method, {})

    def methods_with_seeds(self, pool: str, seeds: int) -> tuple[str, ...]:
        """Return the methods with at least so many seeds on every problem of a pool."""
        problems = self.pool(pool)
        return tuple(
            method
            for method in self.methods
            if problems and all(len(self.runs(problem, method)) >= seeds for problem in problems)
        )

    def shared_seeds(
        self, problem: ProblemName, methods: Collection[str] | None = None
    ) -> tuple[int, ...]:
        """Return the seeds that all methods with runs on a problem, or all given ones, have."""
        names = self._runs[problem] if methods is None else methods
        seeds = [set(self.runs(problem, method)) for method in names]
        return tuple(sorted(set.intersection(*seeds))) if seeds else ()

    def entries(self) -> list[Entry]:
        """Return every method on every problem, won or lost."""
        return [
            self._entry(problem, method, ranks.get(method))
            for problem in self.problems
            for ranks in (self.ranks(problem),)
            for method in self._runs[problem]
        ]

    def _entry(self, problem: ProblemName, method: str, rank: float | None) -> Entry:
        runs = list(self.runs(problem, method).values())
        simple = np.array([run.simple_regret[-1] for run in runs])
        cumulative = np.array([run.cumulative_regret[-1] for run in runs])
        return Entry(
            *problem,
            method,
            len(runs),
            float(simple.mean()),
            standard_error(simple),
            float(cumulative.mean()),
            standard_error(cumulative),
            rank,
            sum(run.error is not None for run in runs),
        )

    def ranks(
        self, problem: ProblemName, methods: Collection[str] | None = None
    ) -> dict[str, float]:
        """Return ranks by mean simple regret over the shared seeds, 1 best; ties share theirs.

        Without `methods`, all methods with runs on the problem are ranked. With them, these are
        ranked among themselves over the seeds they share; none if one of them has no run.
        """
        seeds = self.shared_seeds(problem, methods)
        if not seeds:
            return {}
        names = list(self._runs[problem] if methods is None else methods)
        means = [
            float(np.mean([self.runs(problem, name)[seed].simple_regret[-1] for seed in seeds]))
            for name in names
        ]
        return dict(zip(names, rankdata(means).tolist(), strict=True))

    def mean_ranks(self, pool: str, methods: Collection[str] | None = None) -> list[MeanRank]:
        """Return mean ranks over a pool's problems that all methods have runs of, best first.

        Of all methods, or of given ones among themselves, over the seeds these share.
        """
        names = self.methods if methods is None else tuple(methods)
        ranks = {
            problem: found for problem in self.pool(pool) if (found := self.ranks(problem, names))
        }
        if not ranks:
            return []
        seeds = min(len(self.shared_seeds(problem, names)) for problem in ranks)
        found = [
            MeanRank(
                name, float(np.mean([rank[name] for rank in ranks.values()])), len(ranks), seeds
            )
            for name in names
        ]
        return sorted(found, key=lambda entry: entry.mean_rank)

    def paired(self, pool: str, rival: str, ours: str = OURS) -> PairedComparison | None:
        """Return ours against a rival in simple regret; None if they share no problem and seed.

        The laws of one objective and seed share its function, so the tests take their sum as one
        observation. Sums and not means, so that the mean over pairs is tested: an objective with
        one law, the trap, does not count as much as one with six.
        """
        shared = self._shared_regrets(pool, rival, ours)
        if not shared:
            return None
        own, other = np.array([pair for pairs in shared.values() for pair in pairs.values()]).T
        gap = other - own
        groups = _by_objective_and_seed(shared)
        sums = np.array([float(np.sum(group[:, 1] - group[:, 0])) for group in groups])
        t, wilcoxon_p = one_sided_p_values(sums)
        return PairedComparison(
            rival,
            len(gap),
            len(groups),
            len(shared),
            min(len(pairs) for pairs in shared.values()),
            float(own.mean()),
            float(other.mean()),
            float(gap.mean()),
            t,
            wilcoxon_p,
            int((gap > 0.0).sum()),
            int((gap < 0.0).sum()),
        )

    def ratio_interval(self, pool: str, rival: str, ours: str = OURS) -> tuple[float, float] | None:
        """Return a bootstrap interval of our mean simple regret divided by the rival's.

        The groups of the paired tests are resampled, ours and the rival's regret together; None
        for fewer than two of them.
        """
        groups = _by_objective_and_seed(self._shared_regrets(pool, rival, ours))
        return ratio_bootstrap(np.array([group.sum(axis=0) for group in groups]).reshape(-1, 2))

    def _shared_regrets(
        self, pool: str, rival: str, ours: str
    ) -> dict[ProblemName, dict[int, tuple[float, float]]]:
        """Return simple regrets of ours and a rival, by problem and seed, where both have runs."""
        result = {}
        for problem in self.pool(pool):
            own, other = self.runs(problem, ours), self.runs(problem, rival)
            seeds = self.shared_seeds(problem, (ours, rival))
            if seeds:
                result[problem] = {
                    seed: (own[seed].simple_regret[-1], other[seed].simple_regret[-1])
                    for seed in seeds
                }
        return result

    def trap_shares(self) -> dict[str, dict[str, float]]:
        """Return each method's share of seeds on the hills of the trap; a failure is on none."""
        result: dict[str, dict[str, float]] = {}
        for method, runs in self._runs.get((TRAP, TRAP), {}).items():
            if method != base_method(method):
                continue  # another recommendation, of which only the regret is kept
            hills = [run.hill for run in runs.values()]
            result[method] = {
                hill: hills.count(hill) / len(hills) for hill in ("mean", "median", "neither")
            } | {"seeds": float(len(hills))}
        return result

    def curve(self, problems: Sequence[ProblemName], method: str) -> Array | None:
        """Return mean simple regret at the checkpoints, every problem with equal weight.

        None unless the method has runs of all these problems.
        """
        means = [
            np.mean([run.simple_regret for run in runs.values()], axis=0)
            for problem in problems
            if (runs := self.runs(problem, method))
        ]
        return np.mean(means, axis=0) if means and len(means) == len(problems) else None


def _by_objective_and_seed(
    shared: dict[ProblemName, dict[int, tuple[float, float]]],
) -> list[Array]:
    """Return the pairs of each objective and seed, (laws, 2): they share a function."""
    groups: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for (objective, _), pairs in shared.items():
        for seed, pair in pairs.items():
            groups.setdefault((objective, seed), []).append(pair)
    return [np.array(group) for group in groups.values()]


def regret_ratio(ours: Array, theirs: Array) -> Array:
    """Return ours / theirs; where theirs is zero infinite, or 1 if ours is zero too.

    Examples
    --------
    >>> regret_ratio(np.array([1.0, 1.0, 0.0]), np.array([2.0, 0.0, 0.0])).tolist()
    [0.5, inf, 1.0]
    """
    without = np.where(ours > 0.0, np.inf, 1.0)
    return np.divide(ours, theirs, out=without, where=theirs > 0.0)


def ratio_bootstrap(sums: Array) -> tuple[float, float] | None:
    """Return the interval of a ratio of means from each group's sums, (groups, 2): ours, theirs.

    Equal sums give equal intervals: the resampling has a fixed seed. None for fewer than two
    groups.

    Examples
    --------
    >>> ratio_bootstrap(np.array([[1.0, 2.0], [3.0, 6.0], [2.0, 4.0]]))
    (0.5, 0.5)
    """
    if len(sums) < 2:
        return None
    rng = np.random.default_rng(0)
    drawn = sums[rng.integers(len(sums), size=(_RESAMPLES, len(sums)))].sum(axis=1)
    ends = [0.5 - CONFIDENCE / 2.0, 0.5 + CONFIDENCE / 2.0]
    ratios = regret_ratio(drawn[:, 0], drawn[:, 1])
    # No interpolation, which between a number and infinity would give nan.
    lower, upper = np.quantile(ratios, ends, method="inverted_cdf").tolist()
    return lower, upper


def standard_error(values: Array) -> float:
    """Return the standard error of a mean; nan for one value.

    Examples
    --------
    >>> standard_error(np.array([1.0, 3.0]))
    1.0
    """
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def one_sided_p_values(gap: Array) -> tuple[float | None, float | None]:
    """Return p values of "the mean gap is not above zero": t test, and Wilcoxon's signed ranks.

    Examples
    --------
    >>> t, w = one_sided_p_values(np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    >>> round(t, 4), round(w, 4)
    (0.0066, 0.0312)
    >>> one_sided_p_values(np.zeros(4))
    (1.0, 1.0)
    """
    if len(gap) < 2:
        return None, None
    if not gap.any():
        return 1.0, 1.0
    if np.ptp(gap) == 0.0:
        t = 0.0 if gap[0] > 0.0 else 1.0  # the limit as the spread goes to zero
    else:
        t = float(ttest_1samp(gap, 0.0, alternative="greater").pvalue)
    return t, float(wilcoxon(gap, alternative="greater", zero_method="zsplit").pvalue)
