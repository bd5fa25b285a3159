"""The page about a comparison: its parts as Markdown, for the report and for docs/practical.md."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from practical.analysis import CUMULATIVE, FLOOR, SIMPLE, Results
from practical.catalog import FAMILIES, REPORTING, SPLITS, entries, seeds_of
from practical.methods import METHODS, OURS
from practical.requirements import heavy_problems, requirements
from reporting import markdown_table


def _figure(value: float, digits: int = 3) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}g}"


def _titles(methods: Sequence[str]) -> list[str]:
    return [METHODS[method].title for method in methods]


def _least_in_bold(values: Sequence[float]) -> list[str]:
    """Return figures, the least in bold; regrets up to `FLOOR` are equal."""
    least = min((max(v, FLOOR) for v in values if not math.isnan(v)), default=math.nan)
    return [f"**{_figure(v)}**" if max(v, FLOOR) == least else _figure(v) for v in values]


def runs_part(results: Results) -> str:
    """Return which versions, problems and seeds the figures are of."""
    rows = []
    for family in results.families:
        problems = results.problems(family)
        used = {
            seed
            for name in problems
            for method in results.methods_of(family)
            for seed in results.runs(family, name, method)
        }
        total = len(entries(_split_of(used), (family,)))
        seeds = f"{min(used)} to {max(used)}" if len(used) > 1 else str(min(used))
        rows.append([family, FAMILIES[family], f"{len(problems)} of {total}", seeds])
    lines = markdown_table(("family", "what it is", "problems", "seeds"), rows, (0, 1))
    lines += ["", "Methods:", ""]
    versions = results.versions()
    lines += markdown_table(
        ("method", "version", "what it is"),
        [[METHODS[m].title, versions[m], METHODS[m].description] for m in results.methods],
        (0, 1, 2),
    )
    failures = Counter(run.spec.method for run in results.failures())
    if failures:
        counts = ", ".join(f"{METHODS[m].title} {count}" for m, count in failures.items())
        lines += ["", f"Runs that failed, counted with the regret of the median: {counts}."]
    return "\n".join(lines)


def _split_of(seeds: set[int]) -> str:
    return next(s for s in SPLITS if min(seeds) in seeds_of(s, 1000))


def families_part(results: Results) -> str:
    """Return geometric means of the regrets by family and method."""
    lines = []
    for title, measure in (("Simple regret", SIMPLE), ("Cumulative regret", CUMULATIVE)):
        rows = []
        for family in results.families:
            values = [results.family_mean(family, m, measure) for m in results.methods]
            if not all(map(math.isnan, values)):
                rows.append([family, *_least_in_bold(values)])
        lines += [f"{title}, geometric mean over the problems of a family:", ""]
        lines += [*markdown_table(("family", *_titles(results.methods)), rows), ""]
    return "\n".join(lines[:-1])


def promises_part(results: Results) -> str:
    """Return interval coverage, broken promises and processor time by family and method."""
    rows = []
    for family in results.families:
        for method in results.methods_of(family):
            cells = []
            for key in ("covered", "broken"):
                share, runs = results.share(family, method, key)
                cells.append(f"{share:.0%}" if runs else "-")
            seconds = _figure(results.seconds(family, method), 2)
            rows.append([family, METHODS[method].title, *cells, seconds])
    header = ("family", "method", "intervals that cover", "broken promises", "seconds a run")
    return "\n".join(markdown_table(header, rows, (0, 1)))


def requirements_part(results: Results) -> str:
    """Return the requirements with their outcomes."""
    found = requirements(results)
    rows = [[claim.text, claim.verdict, claim.figures, claim.seeds] for claim in found]
    header = ("requirement", "outcome", "figures", "seeds")
    outcomes = Counter(claim.outcome for claim in found)
    summary = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
    table = markdown_table(header, rows, (0, 1, 2))
    return "\n".join([f"{len(found)} requirements: {summary}.", "", *table])


def paired_part(results: Results) -> str:
    """Return paired tests on heavy-tailed noise of the range."""
    problems = heavy_problems(results)
    rows = []
    for rival in results.methods_of("noise-1"):
        found = None if rival == OURS else results.paired("noise-1", problems, rival)
        if found is not None:
            p_values = ["-" if p is None else f"{p:.2g}" for p in (found.t, found.wilcoxon)]
            rows.append(
                [
                    METHODS[rival].title,
                    f"{found.ours:.4f}",
                    f"{found.theirs:.4f}",
                    f"{found.better} / {found.worse} of {found.pairs}",
                    *p_values,
                ]
            )
    if not rows:
        return "No runs."
    header = ("against", "ours", "theirs", "better / worse", "t test p", "Wilcoxon p")
    return "\n".join(markdown_table(header, rows))


def problems_part(results: Results) -> str:
    """Return every problem with simple / cumulative regret of every method."""
    lines: list[str] = []
    for family in results.families:
        methods = results.methods_of(family)
        rows = []
        for name in results.problems(family):
            simple = [results.mean(family, name, m) for m in methods]
            cumulative = [results.mean(family, name, m, CUMULATIVE) for m in methods]
            cells = [
                left if math.isnan(right) else f"{left} / {_figure(right)}"
                for left, right in zip(_least_in_bold(simple), cumulative, strict=True)
            ]
            rows.append([name, *cells])
        lines += [f"{family}:", "", *markdown_table((family, *_titles(methods)), rows), ""]
    return "\n".join(lines[:-1])


PARTS: dict[str, tuple[str, Callable[[Results], str]]] = {
    "practical-runs": ("What was run", runs_part),
    "practical-families": ("Families", families_part),
    "practical-requirements": ("Requirements", requirements_part),
    "practical-promises": ("Intervals, promises and time", promises_part),
    "practical-paired": ("Paired tests under heavy noise", paired_part),
    "practical-problems": ("Every problem", problems_part),
}


def report(results: Results, split: str, notices: Sequence[str]) -> str:
    """Return all parts as one page."""
    purpose = "to report" if split == REPORTING else "to choose on, not to report"
    lines = ["# Yardstick of the practical optimizer", "", f"Problems and seeds {purpose}.", ""]
    lines += [line for notice in notices for line in (notice, "")]
    for title, part in PARTS.values():
        lines += [f"## {title}", "", part(results), ""]
    return "\n".join(lines)
