"""Write the measured tables of docs/rivals.md from the published runs.

    python benchmarks/rivals_page.py out/rivals    # first publish the runs of a comparison
    python benchmarks/rivals_page.py               # write the tables from what is published

Published runs are the rows of benchmarks/results/rivals.csv, with their regrets after the last
evaluation. When a method is published again, its runs by another version are removed. Tables are
between `<!-- measured: NAME -->` and `<!-- end -->`; the text around them is written by hand.
tests/benchmarks/test_rivals_page.py checks that page and runs agree. Prints the claims.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import numpy as np

from reporting import fill_blocks
from rivals import records
from rivals.analysis import POOL_DESCRIPTIONS, Results, standard_error
from rivals.claims import claims
from rivals.laws import LAWS
from rivals.methods import METHODS, OURS, base_method, method_title
from rivals.plan import SEEDS, Plan
from rivals.problems import OBJECTIVES, ProblemName
from rivals.records import RunResult
from rivals.sections import Section, claims_section, ranks_section, trap_section
from rivals.trap import NAME as TRAP
from tailproof._util.files import atomic_write, write_text

HERE = Path(__file__).resolve().parent
PAGE, RUNS = HERE.parent / "docs" / "rivals.md", HERE / "results" / "rivals.csv"
COLUMNS = ("objective", "law", "method", "version", "seed", "simple_regret", "cumulative_regret")
COLUMNS += ("hill", "error")
EASY = ("rkhs", "branin", "arms", TRAP)  # objectives where 200 evaluations can find something
STUDENT_T = "student-t-gp"


def publish(runs: Iterable[RunResult], path: Path) -> None:
    """Add runs to the published ones; runs of the same methods by other versions are removed."""
    new = [_row(run) for run in runs]
    versions = {base_method(row["method"]): row["version"] for row in new}
    kept = [
        row
        for row in rows(path)
        if row["version"] == versions.get(base_method(row["method"]), row["version"])
    ]
    by_key = {_key(row): row for row in (*kept, *new)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "w") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(by_key[key] for key in sorted(by_key))


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a published file; none if there is no file yet."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def published(path: Path) -> list[RunResult]:
    """Return the runs of a published file."""
    return [
        RunResult(
            *(row["objective"], row["law"], row["method"], row["version"], int(row["seed"])),
            (float(row["simple_regret"]),),
            (float(row["cumulative_regret"]),),
            row["error"] or None,
            row["hill"] or None,
        )
        for row in rows(path)
    ]


def _row(run: RunResult) -> dict[str, str]:
    """Return a run as text; regrets to six digits, finer than anything the page says of them."""
    return {
        "objective": run.objective,
        "law": run.law,
        "method": run.method,
        "version": run.version,
        "seed": str(run.seed),
        "simple_regret": f"{run.simple_regret[-1]:.6g}",
        "cumulative_regret": f"{run.cumulative_regret[-1]:.6g}",
        "hill": run.hill or "",
        "error": run.error or "",
    }


def _key(row: dict[str, str]) -> tuple[int, int, int, str, int]:
    """Return what identifies a run, in the order of the file."""
    return (
        OBJECTIVES.index(row["objective"]),
        (*LAWS, TRAP).index(row["law"]),
        tuple(METHODS).index(base_method(row["method"])),
        row["method"],
        int(row["seed"]),
    )


def _complete(results: Results) -> tuple[str, ...]:
    """Return the methods with the standard number of seeds on every heavy problem."""
    return results.methods_with_seeds("heavy", SEEDS)


def _ranks(results: Results) -> Section:
    methods = _complete(results)
    return ranks_section("", "", {p: results.mean_ranks(p, methods) for p in POOL_DESCRIPTIONS})


def _gaussian(results: Results) -> Section:
    rows = []
    for rival in results.rivals:
        found = results.paired("gaussian", rival)
        if found is not None:
            ends = results.ratio_interval("gaussian", rival)
            interval = "-" if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"
            ratio = f"{found.ours / found.theirs:.3f}"
            rows.append((method_title(rival), ratio, interval, found.pairs))
    return Section("", "", ("rival", "ours / theirs", "90 % interval", "runs"), tuple(rows))


def _by_law(results: Results) -> Section:
    rows = []
    for law in (*LAWS, TRAP):
        gaps = [
            run.simple_regret[-1] - results.runs(problem, STUDENT_T)[seed].simple_regret[-1]
            for problem in results.problems
            if problem[1] == law
            for seed, run in results.runs(problem, OURS).items()
            if seed in results.runs(problem, STUDENT_T)
        ]
        title = LAWS[law].title if law in LAWS else law
        rows.append((title, f"{np.mean(gaps):+.3f}", f"{standard_error(np.array(gaps)):.3f}"))
    return Section("", "", ("law", "ours minus theirs", "s.e."), tuple(rows))


def _mean(
    results: Results, problem: ProblemName, method: str, regret: str = "simple_regret"
) -> float:
    runs = results.runs(problem, method).values()
    return float(np.mean([getattr(run, regret)[-1] for run in runs]))


def _problems(results: Results) -> Section:
    """Return every problem, with the number of seeds where it is below the standard number."""
    methods, complete = results.methods, _complete(results)
    rows = []
    for problem in results.problems:
        best = min(_mean(results, problem, method) for method in complete)
        title = TRAP if problem[0] == TRAP else ", ".join(problem)
        rows.append((title, *(_cell(results, problem, method, best) for method in methods)))
    heavy = results.pool("heavy")
    pools = {
        "heavy": heavy,
        "heavy, 1-D, 2-D, arms, trap": [problem for problem in heavy if problem[0] in EASY],
        "Gaussian": results.pool("gaussian"),
    }
    for name, problems in pools.items():
        for regret, digits in (("simple", 3), ("cumulative", 1)):
            means = {
                method: np.mean([_mean(results, p, method, f"{regret}_regret") for p in problems])
                for method in complete
            }
            cells = (f"{means[key]:.{digits}f}" if key in means else "-" for key in methods)
            rows.append((f"mean {regret}, {name}", *cells))
    return Section("", "", ("problem", *map(method_title, methods)), tuple(rows))


def _cell(results: Results, problem: ProblemName, method: str, best: float) -> str:
    seeds = len(results.runs(problem, method))
    if not seeds:
        return "-"
    mean = _mean(results, problem, method)
    if seeds < SEEDS:
        return f"{mean:.3f} ({seeds})"
    return f"**{mean:.3f}**" if mean == best else f"{mean:.3f}"


BLOCKS: dict[str, Callable[[Results], Section]] = {
    "claims": claims_section,
    "ranks": _ranks,
    "gaussian": _gaussian,
    "by-law": _by_law,
    "problems": _problems,
    "trap": trap_section,
}


def page(text: str, results: Results) -> str:
    """Return the page with its measured tables replaced."""

    def block(make: Callable[[Results], Section]) -> str:
        return "\n".join(make(results).table())

    return fill_blocks(text, {name: partial(block, make) for name, make in BLOCKS.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="a comparison to publish")
    folder = parser.parse_args().folder
    if folder is not None:
        runs, notices = records.read_all(folder, Plan())
        if not runs:
            raise SystemExit(f"{folder} holds no runs.")
        for notice in notices:
            print(notice)
        publish(runs, RUNS)
    results = Results(published(RUNS))
    write_text(PAGE, page(PAGE.read_text(encoding="utf-8"), results))
    for claim in claims(results):
        print(f"{claim.verdict}: {claim.text}")


if __name__ == "__main__":
    main()
