"""Execute the runs of a plan that are missing, then write the report."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from practical import page, records
from practical.analysis import Results
from practical.catalog import FAMILIES, REPORTING, SEEDS, SPLITS, Entry, entries, seeds_of
from practical.methods import METHODS, suits
from practical.requirements import requirements
from practical.run import RunSpec, execute
from reporting import fill_blocks
from rivals.comparison import INTERRUPTED, check_installed, default_workers, executed
from tailproof._util import checks, files
from tailproof._util.console import LiveDisplay, duration

REPORT = "report.md"


@dataclass(frozen=True)
class Plan:
    """Which problems, methods and seeds.

    Attributes
    ----------
    split
        "reporting" or "choosing".
    families, methods
        Keys of `FAMILIES` and `METHODS`.
    seeds
        Number of seeds; None for that of the full run, which depends on the family.
    problems
        Names of problems, of those of the split and the families; None for all.
    """

    split: str = REPORTING
    families: tuple[str, ...] = tuple(FAMILIES)
    methods: tuple[str, ...] = tuple(METHODS)
    seeds: int | None = None
    problems: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        checks.choice("split", self.split, SPLITS)
        for name, chosen, choices in (
            ("families", self.families, tuple(FAMILIES)),
            ("methods", self.methods, tuple(METHODS)),
        ):
            for key in chosen:
                checks.choice(name, key, choices)
        if self.seeds is not None:
            checks.integer("seeds", self.seeds, low=1)
        names = tuple(entry.name for entry in entries(self.split, self.families))
        for key in self.problems or ():
            checks.choice("problems", key, names)

    def entries(self) -> list[Entry]:
        """Return the problems."""
        found = entries(self.split, self.families)
        return [e for e in found if self.problems is None or e.name in self.problems]

    def seeds_of(self, family: str) -> range:
        """Return the seeds of a family."""
        return seeds_of(self.split, self.seeds or SEEDS[family])

    def runs(self) -> Iterator[RunSpec]:
        """Yield every run that can be made here, a seed of all problems before the next seed."""
        able = [entry for entry in self.entries() if entry.missing() is None]
        for seed in seeds_of(self.split, self.seeds or max(SEEDS.values())):
            for entry in able:
                for method in self.methods:
                    if seed in self.seeds_of(entry.family) and suits(
                        method, entry.family == "revenue"
                    ):
                        yield RunSpec(entry.family, entry.name, method, seed)

    def skipped(self) -> list[str]:
        """Return the problems that cannot be run here, each with its reason."""
        reasons = [(entry, entry.missing()) for entry in self.entries()]
        return [f"{e.family} {e.name} is skipped: {why}." for e, why in reasons if why is not None]


def compare(plan: Plan, out: Path, workers: int | None = None, write: Path | None = None) -> int:
    """Execute what is missing in `out`, write the report, and return the exit code.

    `write` is a page whose measured blocks are filled with the results.
    """
    started = time.perf_counter()
    check_installed(module for key in plan.methods for module in METHODS[key].needs)
    count = default_workers() if workers is None else checks.integer("workers", workers, low=1)
    for notice in plan.skipped():
        print(notice, file=sys.stderr)
    try:
        _execute_missing(plan, out, count)
    except KeyboardInterrupt:
        print(f"Stopped; the same command continues from {out}.", file=sys.stderr)
        return INTERRUPTED
    longest = seeds_of(plan.split, max(plan.seeds or 0, *SEEDS.values()))
    runs, notices = records.read_all(out, plan.entries(), longest, plan.methods)
    results = Results(runs)
    files.write_text(out / REPORT, page.report(results, plan.split, [*plan.skipped(), *notices]))
    if write is not None:
        parts = {name: lambda part=part: part(results) for name, (_, part) in page.PARTS.items()}
        files.write_text(write, fill_blocks(write.read_text(encoding="utf-8"), parts))
    print(page.families_part(results))
    for claim in requirements(results):
        print(f"{claim.verdict}: {claim.text}: {claim.figures}")
    print(f"Report: {out / REPORT}   ({duration(time.perf_counter() - started)})")
    return 0


def _execute_missing(plan: Plan, out: Path, workers: int) -> None:
    every = list(plan.runs())
    missing = [spec for spec in every if records.is_missing(out, spec)]
    done = len(every) - len(missing)

    def line() -> str:
        return f"{done} of {len(every)} runs"

    with LiveDisplay(lambda: Text(line()), line) as display:
        for spec, record in executed(execute, missing, workers):
            records.write(out, spec, record)
            done += 1
            display.update()
