"""What the practical optimizer must show, each with its figures: holds, does not hold, or open.

A requirement is open while it rests on fewer seeds than the full run has, or while a problem of the
family or a rival is missing. It then says what the figures point to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from practical.analysis import CUMULATIVE, SIMPLE, Results
from practical.catalog import REPORTING, SEEDS, entries
from practical.methods import METHODS, ORACLE, OURS, SAMPLE_MEAN, suits
from rivals.claims import SIGNIFICANCE, Claim

RATIO_TO_BEST, RATIO_ON_A_TABLE, MARGIN = 0.8, 1.2, 0.1
TRAP_SHARE, STALLS_RATIO = 16 / 20, 0.5
FACTOR, SHARE_WITHIN = 1.5, 0.9
COVERAGE = (0.85, 0.95)
BROKEN = 0.02
ORACLE_RATIO = 1.5
# Objectives in which the oracle's regret is compared: one or two dimensions, or arms.
SMALL = ("rkhs", "branin", "arms")
NOISE = ("noise-1", "noise-0.3", "noise-0.03")


def requirements(results: Results) -> list[Claim]:
    """Return every requirement that the runs say something about; none without ours."""
    if OURS not in results.methods:
        return []
    parts = (
        _tables_and_programs,
        _heavy,
        _low_noise,
        _trap_and_stalls,
        _revenue,
        _intervals,
        _oracle,
    )
    return [claim for part in parts for claim in part(results)]


def heavy_problems(results: Results) -> list[str]:
    """Return the problems with noise of the range under a heavy-tailed law."""
    return [name for name in results.problems("noise-1") if not name.endswith("-gaussian")]


def _claim(
    results: Results,
    family: str,
    text: str,
    supported: bool,
    figures: str,
    methods: Sequence[str] | None = None,
) -> Claim:
    """Return a claim that needs all problems of a family with all rivals, or with given methods."""
    every = entries(REPORTING, (family,))
    if methods is None:
        assigned = family == "revenue"
        methods = [m for m in METHODS if METHODS[m].rival and suits(m, assigned)]
    names = [entry.name for entry in every]
    seeds = results.fewest_seeds(family, names, (OURS, *methods))
    return Claim(text, supported, seeds, figures, SEEDS[family])


def _tables_and_programs(results: Results) -> Iterator[Claim]:
    for family in ("tables", "programs"):
        ours = results.family_mean(family, OURS)
        best = results.best_rival(family)
        if best is None or math.isnan(ours):
            continue
        yield _claim(
            results,
            family,
            f"{family}: geometric mean of simple regret at most {RATIO_TO_BEST} of the best rival",
            ours <= RATIO_TO_BEST * best[1],
            f"{ours:.4f} against {METHODS[best[0]].title} {best[1]:.4f}",
        )
        yield from _cumulative(results, family)
    yield from _every_table(results)


def _cumulative(results: Results, family: str) -> Iterator[Claim]:
    ours, tpe = (results.family_mean(family, m, CUMULATIVE) for m in (OURS, "tpe"))
    if not math.isnan(tpe):
        yield _claim(
            results,
            family,
            f"{family}: geometric mean of cumulative regret at most TPE's",
            ours <= tpe,
            f"{ours:.3f} against {tpe:.3f}",
            ("tpe",),
        )


def _every_table(results: Results) -> Iterator[Claim]:
    ratios = {}
    for problem in results.problems("tables"):
        best = results.best_rival("tables", SIMPLE, (problem,))
        if best is not None:
            ours = results.family_mean("tables", OURS, SIMPLE, (problem,))
            ratios[problem] = ours / best[1]
    if ratios:
        worst = max(ratios, key=lambda problem: ratios[problem])
        lost = sum(ratio > RATIO_ON_A_TABLE for ratio in ratios.values())
        yield _claim(
            results,
            "tables",
            f"tables: on none more than {RATIO_ON_A_TABLE} times the best rival's simple regret",
            lost == 0,
            f"on {lost} of {len(ratios)}; {ratios[worst]:.3g} times on {worst}",
        )


def _heavy(results: Results) -> Iterator[Claim]:
    family, problems = "noise-1", heavy_problems(results)
    rivals = results.rivals(family)
    ranks = results.mean_ranks(family, problems, (OURS, *rivals))
    if not ranks or not rivals:
        return
    best = min(rivals, key=lambda method: ranks[method])
    yield _claim(
        results,
        family,
        "heavy noise of the range: best mean rank",
        ranks[OURS] < ranks[best],
        f"{ranks[OURS]:.2f}; best rival {METHODS[best].title} {ranks[best]:.2f} on "
        f"{len(problems)} problems",
    )
    for rival in rivals:
        found = results.paired(family, problems, rival)
        if found is None:
            continue
        p_value = "too few runs for a test" if found.t is None else f"t test p = {found.t:.2g}"
        yield _claim(
            results,
            family,
            f"heavy noise of the range: less mean regret than {METHODS[rival].title} "
            f"(p < {SIGNIFICANCE})",
            found.ours < found.theirs and found.t is not None and found.t < SIGNIFICANCE,
            f"{found.ours:.4f} against {found.theirs:.4f}; {p_value}; {found.pairs} pairs",
            (rival,),
        )


def _low_noise(results: Results) -> Iterator[Claim]:
    for family in ("noise-0.03", "noise-free"):
        ours, best = results.family_mean(family, OURS), results.best_rival(family)
        if best is not None and not math.isnan(ours):
            yield _claim(
                results,
                family,
                f"{family}: within {MARGIN:.0%} of the best rival in geometric mean",
                ours <= (1.0 + MARGIN) * best[1],
                f"{ours:.4f} against {METHODS[best[0]].title} {best[1]:.4f}",
            )


def _trap_and_stalls(results: Results) -> Iterator[Claim]:
    hills = [run.record.get("hill") for run in results.all_runs("trap", OURS)]
    if hills:
        found = hills.count("mean")
        yield _claim(
            results,
            "trap",
            "trap: the best mean in at least 16 of 20 seeds",
            found >= TRAP_SHARE * len(hills),
            f"{found} of {len(hills)} seeds",
            (),
        )
    ours, best = results.family_mean("stalls", OURS), results.best_rival("stalls")
    if best is not None and not math.isnan(ours):
        yield _claim(
            results,
            "stalls",
            "stalls: at most half of every rival's simple regret",
            ours <= STALLS_RATIO * best[1],
            f"{ours:.3f} against {METHODS[best[0]].title} {best[1]:.3f}",
        )


def _revenue(results: Results) -> Iterator[Claim]:
    family = "revenue"
    ratios = [
        ratio
        for problem in results.problems(family)
        if problem.endswith("-20000")
        for run in results.runs(family, problem, OURS).values()
        for ratio in run.record.get("ratios") or ()
    ]
    if ratios:
        within = float(np.mean([1.0 / FACTOR <= ratio <= FACTOR for ratio in ratios]))
        yield _claim(
            results,
            family,
            f"revenue: estimates within a factor of {FACTOR} for {SHARE_WITHIN:.0%} of the "
            "variants at 20,000 payoffs",
            within >= SHARE_WITHIN,
            f"{within:.0%} of {len(ratios)}",
            (),
        )
    share, runs = results.share(family, OURS, "worst")
    if runs:
        yield _claim(
            results,
            family,
            "revenue: never the worst variant",
            share == 0.0,
            f"{round(share * runs)} of {runs} runs",
            (),
        )
    ours, plain = (_mean_over_problems(results, family, m) for m in (OURS, SAMPLE_MEAN))
    if not math.isnan(plain):
        yield _claim(
            results,
            family,
            "revenue: regret not above that of the largest sample mean",
            ours <= plain,
            f"mean {ours:.3f} against {plain:.3f}",
            (SAMPLE_MEAN,),
        )


def _mean_over_problems(results: Results, family: str, method: str) -> float:
    # Arithmetic: the regret is exactly zero in many runs.
    values = [results.mean(family, name, method) for name in results.problems(family)]
    return float(np.mean(values)) if values else math.nan


def _intervals(results: Results) -> Iterator[Claim]:
    low, high = COVERAGE
    for family in results.families:
        covered, runs = results.share(family, OURS, "covered")
        if runs:
            yield _claim(
                results,
                family,
                f"intervals, {family}: 90 % intervals cover in {low:.0%} to {high:.0%} of runs",
                low <= covered <= high,
                f"{covered:.0%} of {runs} runs",
                (),
            )
    for family in results.families:
        broken, runs = results.share(family, OURS, "broken")
        if runs:
            yield _claim(
                results,
                family,
                f"promises, {family}: broken in at most {BROKEN:.0%} of runs",
                broken <= BROKEN,
                f"{broken:.0%} of {runs} runs",
                (),
            )


def _oracle(results: Results) -> Iterator[Claim]:
    for family in NOISE:
        names = [n for n in results.problems(family) if n.split("-")[0] in SMALL]
        ours, oracle = (results.family_mean(family, m, SIMPLE, names) for m in (OURS, ORACLE))
        if not math.isnan(oracle):
            yield _claim(
                results,
                family,
                f"oracle, {family}: at most {ORACLE_RATIO} times its regret on 1-D, 2-D and arms",
                ours <= ORACLE_RATIO * oracle,
                f"{ours / oracle:.2f} times",
                (ORACLE,),
            )
