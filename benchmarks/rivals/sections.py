"""Sections of the report of a comparison: headings, paragraphs and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from reporting import markdown_table
from rivals.analysis import POOL_DESCRIPTIONS, Entry, MeanRank, Results, pool_size
from rivals.claims import (
    FAILS,
    HOLDS,
    MARGIN,
    OPEN,
    SIGNIFICANCE,
    claims,
    join_words,
    methods_with_all_seeds,
)
from rivals.laws import LAWS
from rivals.methods import METHODS, OURS, base_method, method_title
from rivals.plan import SEEDS, Plan
from rivals.plots import regret_curves
from rivals.problems import TITLES, ProblemName
from rivals.records import RunResult
from tailproof._util.console import duration

NONE = "\N{EM DASH}"  # in a table where there is no value


@dataclass(frozen=True)
class Section:
    """A heading, a paragraph, and a table; `image` is an SVG shown before it.

    The columns of the table in `left` hold text, the others numbers.
    """

    heading: str
    text: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    left: tuple[int, ...] = (0,)
    image: bytes | None = None

    @property
    def right(self) -> tuple[int, ...]:
        """The columns aligned to the right."""
        return tuple(i for i in range(len(self.header)) if i not in self.left)

    def table(self) -> list[str]:
        """Return the lines of the table in Markdown."""
        return markdown_table(self.header, self.rows, self.left)


def problem_title(problem: ProblemName) -> str:
    """Return the title of a problem for tables."""
    objective, law = problem
    return TITLES[objective] if law not in LAWS else f"{TITLES[objective]}, {LAWS[law].title}"


def sections(runs: Sequence[RunResult], plan: Plan) -> list[Section]:
    """Return the sections of the report."""
    results = Results(runs)
    return [
        claims_section(results),
        Section(
            "Regret of the recommendation by evaluations",
            "Mean simple regret; in each panel all objectives under that law have equal weight.",
            image=regret_curves(results, plan.evaluations),
        ),
        *_rank_sections(results),
        _paired_section(results),
        _wins_section(results),
        trap_section(results),
        *_problem_sections(results.problems, results.entries()),
        _failures_section(runs),
        _methods_section(results),
        _time_section(runs),
        _versions_section(runs),
    ]


def claims_section(results: Results) -> Section:
    """Return the claims with their verdicts and figures."""
    found = claims(results)
    count = {kind: sum(claim.outcome == kind for claim in found) for kind in (HOLDS, FAILS, OPEN)}
    return Section(
        "Claims",
        f"Of {len(found)} statements {count[HOLDS]} hold in these runs, {count[FAILS]} do not, and "
        f"{count[OPEN]} are open: they rest on fewer than {SEEDS} seeds on some problem. Heavy "
        f"means {POOL_DESCRIPTIONS['heavy']}. The best rival under Gaussian noise may be better by "
        f"{MARGIN:.0%}; tests are one-sided and paired, at {SIGNIFICANCE}; the laws of one "
        "objective and seed count as one observation.",
        ("statement", "outcome", "figures"),
        tuple((claim.text, claim.verdict, claim.figures) for claim in found),
        left=(0, 1, 2),
    )


def _rank_sections(results: Results) -> list[Section]:
    """Return the ranking of the methods with the standard number of seeds, and that of all."""
    complete = {
        pool: results.mean_ranks(pool, methods)
        for pool in POOL_DESCRIPTIONS
        if (methods := methods_with_all_seeds(results, pool))
    }
    heading = "Mean rank in simple regret"
    everything = ranks_section(
        f"{heading}, all methods" if complete else heading,
        "Ranks on each problem by mean simple regret over the seeds that all methods share, "
        "averaged over the problems that all methods have runs of",
        {pool: results.mean_ranks(pool) for pool in POOL_DESCRIPTIONS},
    )
    if not complete:
        return [everything]
    text = (
        f"Only methods with {SEEDS} seeds or more on every problem of the pool, ranked among "
        "themselves over the seeds they share; the next table has all methods"
    )
    return [ranks_section(f"{heading}, methods with {SEEDS} seeds", text, complete), everything]


def ranks_section(heading: str, text: str, pools: dict[str, list[MeanRank]]) -> Section:
    """Return mean ranks by method and pool, the best in the first pool first."""
    shown = {
        pool: {rank.method: rank.mean_rank for rank in ranks}
        for pool, ranks in pools.items()
        if ranks
    }
    methods = dict.fromkeys(method for ranks in shown.values() for method in ranks)
    # Methods without a rank in a pool come last.
    ordered = sorted(methods, key=lambda key: [rank.get(key, math.inf) for rank in shown.values()])
    rows = tuple(
        (method_title(key), *(_number(rank.get(key, math.nan), 2) for rank in shown.values()))
        for key in ordered
    )
    counts = "; ".join(
        f"{pool}: {pools[pool][0].problems} of {pool_size(pool)} problems with "
        f"{pools[pool][0].seeds} or more seeds"
        for pool in shown
    )
    return Section(heading, f"{text} ({counts or 'none'}). 1 is best.", ("method", *shown), rows)


def _paired_section(results: Results) -> Section:
    rows = [
        (
            pool,
            method_title(rival),
            f"{found.ours:.4f}",
            f"{found.theirs:.4f}",
            f"{found.difference:+.4f}",
            _p_value(found.t),
            _p_value(found.wilcoxon),
            found.wins,
            found.losses,
            found.pairs,
            found.problems,
            found.seeds,
        )
        for pool in POOL_DESCRIPTIONS
        for rival in results.rivals
        if (found := results.paired(pool, rival)) is not None
    ]
    pools = "; ".join(f"{pool}: {description}" for pool, description in POOL_DESCRIPTIONS.items())
    header = ("pool", "rival", "ours", "theirs", "difference", "t test p", "Wilcoxon p")
    return Section(
        "Ours against each rival, paired",
        "Mean simple regret over the (problem, seed) pairs of both; seeds: the fewest they share "
        f"on one of the problems. {pools}.",
        (*header, "better", "worse", "pairs", "problems", "seeds"),
        tuple(rows),
        left=(0, 1),
    )


def _p_value(value: float | None) -> str:
    return NONE if value is None else f"{value:.2g}"


def _number(value: float, digits: int) -> str:
    return NONE if math.isnan(value) else f"{value:.{digits}f}"


def _wins_section(results: Results) -> Section:
    rows = []
    for problem in results.problems:
        ranks = results.ranks(problem)
        ours = ranks.pop(OURS, None)
        if ours is None or not ranks:
            continue
        best = min(ranks, key=lambda method: ranks[method])
        outcome = "lost" if ours > ranks[best] else "tied" if ours == ranks[best] else "won"
        place = f"{ours:g} of {len(ranks) + 1}"
        seeds = len(results.shared_seeds(problem))
        rows.append((problem_title(problem), outcome, place, method_title(best), seeds))
    won, lost = (sum(row[1] == outcome for row in rows) for outcome in ("won", "lost"))
    return Section(
        "Problems won and lost",
        f"Ours has the lowest mean simple regret on {won} problems of {len(rows)} and loses "
        f"{lost}, over the seeds that all methods of a problem share.",
        ("problem", "ours", "rank", "best rival", "seeds"),
        tuple(rows),
        left=(0, 1, 2, 3),
    )


def trap_section(results: Results) -> Section:
    """Return the shares of seeds on the hills of the trap, by method."""
    return Section(
        "The trap: which hill is recommended",
        "Share of seeds whose recommendation lies on the hill with the best mean (payoffs mostly "
        "low, sometimes large), on the hill with the best median (steady payoffs), or on neither.",
        ("method", "seeds", "best mean", "best median", "neither"),
        tuple(
            (
                method_title(method),
                int(shares["seeds"]),
                *(f"{shares[hill]:.0%}" for hill in ("mean", "median", "neither")),
            )
            for method, shares in results.trap_shares().items()
        ),
    )


def _problem_sections(problems: Sequence[ProblemName], entries: Sequence[Entry]) -> list[Section]:
    found = []
    header = ("method", "rank", "simple regret", "s.e.", "cumulative regret", "s.e.", "seeds")
    for problem in problems:
        chosen = [entry for entry in entries if (entry.objective, entry.law) == problem]
        chosen.sort(key=lambda entry: entry.simple_regret)
        rows = tuple(
            (
                method_title(entry.method),
                NONE if entry.rank is None else f"{entry.rank:g}",
                f"{entry.simple_regret:.4f}",
                _number(entry.simple_regret_error, 4),
                f"{entry.cumulative_regret:.2f}",
                _number(entry.cumulative_regret_error, 2),
                entry.seeds,
            )
            for entry in chosen
        )
        failures = sum(entry.failures for entry in chosen)
        text = f"{failures} runs failed and count as worst." if failures else ""
        found.append(Section(problem_title(problem), text, header, rows))
    return found


def _own_recommendations(runs: Iterable[RunResult]) -> list[RunResult]:
    """Return the runs without the other recommendations that they could have given."""
    return [run for run in runs if run.method == base_method(run.method)]


def _failures_section(runs: Sequence[RunResult]) -> Section:
    every = _own_recommendations(runs)
    failed = [run for run in every if run.error is not None]
    return Section(
        "Failed runs",
        f"{len(failed)} of {len(every)}. Missing evaluations and recommendations count as the "
        f"largest possible regret.{_failed_fits(every)}",
        ("method", "problem", "seed", "evaluations", "error") if failed else (),
        tuple(
            (
                method_title(run.method),
                problem_title(run.problem),
                run.seed,
                run.evaluations,
                run.error,
            )
            for run in failed
        ),
        left=(0, 1, 4),
    )


def _failed_fits(runs: Sequence[RunResult]) -> str:
    """Return a sentence on the fits that failed within runs that went on."""
    fits: dict[str, int] = {}
    for run in runs:
        fits[run.method] = fits.get(run.method, 0) + run.failed_fits
    counts = [f"{method_title(method)} {count}" for method, count in fits.items() if count]
    if not counts:
        return ""
    return f" Fits that failed, where the initial hyperparameters were used: {join_words(counts)}."


def _methods_section(results: Results) -> Section:
    keys = dict.fromkeys(base_method(method) for method in results.methods)
    return Section(
        "Methods",
        "Only the policies of the theory are told anything about the noise or the function.",
        ("method", "description"),
        tuple((METHODS[key].title, METHODS[key].description) for key in keys),
        left=(0, 1),
    )


def _time_section(runs: Sequence[RunResult]) -> Section:
    rows = tuple(
        (
            method_title(method),
            f"{1e3 * times['seconds_per_evaluation']:.1f}",
            duration(times["seconds"]),
            times["runs"],
        )
        for method, times in timings(runs).items()
    )
    return Section(
        "Time",
        "Wall time of asking and telling, one run on one core while other runs used the other "
        "cores: benchmarks/suggest_time.py compares times properly.",
        ("method", "ms an evaluation", "all runs", "runs"),
        rows,
    )


def timings(runs: Sequence[RunResult]) -> dict[str, dict[str, Any]]:
    """Return seconds in all, seconds an evaluation and the number of runs, by method."""
    result: dict[str, dict[str, Any]] = {}
    for run in _own_recommendations(runs):
        times = result.setdefault(run.method, {"seconds": 0.0, "evaluations": 0, "runs": 0})
        times["seconds"] += run.seconds
        times["evaluations"] += run.evaluations
        times["runs"] += 1
    for times in result.values():
        times["seconds_per_evaluation"] = times["seconds"] / max(times["evaluations"], 1)
    return result


def _versions_section(runs: Sequence[RunResult]) -> Section:
    rows = dict.fromkeys(
        (method_title(run.method), run.version, run.environment)
        for run in _own_recommendations(runs)
    )
    header = ("method", "version", "environment")
    return Section("Versions", "", header, tuple(rows), left=(0, 1, 2))
