"""Statistics of the runs: means by problem, geometric means by family, coverage and promises.

The regret of a method on a problem is its mean over the seeds. A family's figure is the geometric
mean over its problems, so that each counts by the ratio to others whatever its scale; regrets below
`FLOOR` count as that, because no ratio of them matters.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from practical.catalog import FAMILIES
from practical.methods import METHODS, OURS
from practical.records import RunResult
from rivals.analysis import one_sided_p_values

FLOOR = 1e-4
SIMPLE, CUMULATIVE = "simple_regret", "cumulative_regret"


@dataclass(frozen=True)
class Paired:
    """Ours against a rival on shared problems and seeds: mean regrets, one-sided p values.

    The problems of one function and seed share that function, so the tests take the sum of the
    differences over them as one observation, as in `rivals.analysis`.
    """

    rival: str
    ours: float
    theirs: float
    pairs: int
    better: int
    worse: int
    t: float | None
    wilcoxon: float | None


class Results:
    """Finished runs of one split, by family, problem, method and seed."""

    def __init__(self, runs: Iterable[RunResult]) -> None:
        self._runs: dict[str, dict[str, dict[str, dict[int, RunResult]]]] = {}
        for run in runs:
            by_problem = self._runs.setdefault(run.spec.family, {})
            by_method = by_problem.setdefault(run.spec.problem, {})
            by_method.setdefault(run.spec.method, {})[run.spec.seed] = run

    @property
    def families(self) -> list[str]:
        """Families with at least one run."""
        return [family for family in FAMILIES if family in self._runs]

    @property
    def methods(self) -> list[str]:
        """Methods with at least one run."""
        found = {m for problems in self._runs.values() for ms in problems.values() for m in ms}
        return [method for method in METHODS if method in found]

    def problems(self, family: str) -> list[str]:
        """Return a family's problems with at least one run."""
        return list(self._runs.get(family, {}))

    def methods_of(self, family: str) -> list[str]:
        """Return the methods with at least one run in a family."""
        found = {method for problem in self._runs.get(family, {}).values() for method in problem}
        return [method for method in METHODS if method in found]

    def runs(self, family: str, problem: str, method: str) -> dict[int, RunResult]:
        """Return the runs of a method on a problem, by seed."""
        return self._runs.get(family, {}).get(problem, {}).get(method, {})

    def all_runs(self, family: str, method: str) -> list[RunResult]:
        """Return the runs of a method in a family."""
        return [
            run
            for problem in self.problems(family)
            for run in self.runs(family, problem, method).values()
        ]

    def versions(self) -> dict[str, str]:
        """Return the version of each method's runs."""
        return {
            run.spec.method: run.version
            for family in self.families
            for method in self.methods_of(family)
            for run in self.all_runs(family, method)
        }

    def mean(self, family: str, problem: str, method: str, measure: str = SIMPLE) -> float:
        """Return the mean regret over the seeds; nan without runs or without that regret."""
        runs = self.runs(family, problem, method).values()
        values = [run.record[measure] for run in runs]
        if not values or None in values:
            return math.nan
        return float(np.mean(values))

    def family_mean(
        self,
        family: str,
        method: str,
        measure: str = SIMPLE,
        problems: Sequence[str] | None = None,
    ) -> float:
        """Return the geometric mean over a family's problems; nan if the method lacks one."""
        chosen = self.problems(family) if problems is None else problems
        return geometric_mean([self.mean(family, name, method, measure) for name in chosen])

    def share(self, family: str, method: str, key: str) -> tuple[float, int]:
        """Return the share of runs whose record has a true `key`, and how many state it."""
        values = [run.record.get(key) for run in self.all_runs(family, method)]
        stated = [bool(value) for value in values if value is not None]
        return (float(np.mean(stated)) if stated else math.nan), len(stated)

    def seconds(self, family: str, method: str) -> float:
        """Return the mean processor time of a run; nan without runs."""
        times = [run.record["seconds"] for run in self.all_runs(family, method)]
        return float(np.mean(times)) if times else math.nan

    def failures(self) -> list[RunResult]:
        """Return the runs in which the method failed."""
        every = (run for f in self.families for m in self.methods for run in self.all_runs(f, m))
        return [run for run in every if run.record.get("error")]

    def rivals(self, family: str) -> list[str]:
        """Return the rivals with runs in a family."""
        return [method for method in self.methods_of(family) if METHODS[method].rival]

    def best_rival(
        self, family: str, measure: str = SIMPLE, problems: Sequence[str] | None = None
    ) -> tuple[str, float] | None:
        """Return the rival with the least geometric mean in a family, and that mean."""
        means = {m: self.family_mean(family, m, measure, problems) for m in self.rivals(family)}
        known = {method: value for method, value in means.items() if not math.isnan(value)}
        if not known:
            return None
        best = min(known, key=lambda method: known[method])
        return best, known[best]

    def mean_ranks(
        self, family: str, problems: Sequence[str], methods: Collection[str]
    ) -> dict[str, float]:
        """Return mean ranks by mean simple regret over problems that all the methods have."""
        table = np.array([[self.mean(family, p, m) for m in methods] for p in problems])
        table = table.reshape(len(problems), len(methods))
        table = table[~np.isnan(table).any(axis=1)]
        if not len(table):
            return {}
        ranks = rankdata(table, axis=1).mean(axis=0)
        return dict(zip(methods, ranks.tolist(), strict=True))

    def paired(
        self, family: str, problems: Sequence[str], rival: str, ours: str = OURS
    ) -> Paired | None:
        """Return ours against a rival in simple regret; None if they share no run."""
        pairs: list[tuple[float, float]] = []
        groups: dict[tuple[str, int], float] = {}
        for problem in problems:
            own, other = self.runs(family, problem, ours), self.runs(family, problem, rival)
            for seed in sorted(set(own) & set(other)):
                pair = own[seed].simple_regret, other[seed].simple_regret
                pairs.append(pair)
                key = problem.split("-")[0], seed  # a problem is named by function and law
                groups[key] = groups.get(key, 0.0) + pair[1] - pair[0]
        if not pairs:
            return None
        own_regret, their_regret = np.array(pairs).T
        t, wilcoxon = one_sided_p_values(np.array(list(groups.values())))
        return Paired(
            rival,
            float(own_regret.mean()),
            float(their_regret.mean()),
            len(pairs),
            int((own_regret < their_regret).sum()),
            int((own_regret > their_regret).sum()),
            t,
            wilcoxon,
        )

    def fewest_seeds(self, family: str, problems: Sequence[str], methods: Collection[str]) -> int:
        """Return the fewest runs of one of the methods on one of the problems; 0 without any."""
        counts = [len(self.runs(family, p, m)) for p in problems for m in methods]
        return min(counts, default=0)


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of regrets, each at least `FLOOR`; nan for none or with a nan.

    Examples
    --------
    >>> round(geometric_mean([0.1, 10.0]), 9), round(geometric_mean([0.0, 1.0]), 9)
    (1.0, 0.01)
    """
    if not len(values):
        return math.nan
    return float(np.exp(np.log(np.maximum(values, FLOOR)).mean()))
