"""Execute the runs of a plan that are missing, then write tables and the report."""

from __future__ import annotations

import csv
import importlib.util
import io
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from rich.text import Text

from rivals import records, report, sections
from rivals.analysis import Results, pool_size
from rivals.claims import OPEN, WITH_ALL_SEEDS, claims, methods_with_all_seeds
from rivals.methods import METHODS, method_title
from rivals.peers import INSTALL
from rivals.plan import SEEDS, Plan, guess_seconds
from rivals.records import RunResult
from rivals.run import RunSpec, checkpoints, execute
from tailproof._util import checks, files
from tailproof._util.console import LiveDisplay, duration

INTERRUPTED = 130  # the exit code that shells expect after Ctrl-C
REPORT, TEXT, RUNS = "report.html", "report.md", "runs.csv"
SUMMARY, TIMINGS = "summary.json", "timings.json"
Spec = TypeVar("Spec")
HEADER = ("objective", "law", "method", "version", "seed", "evaluations")
HEADER += ("simple_regret", "cumulative_regret", "error")


def compare(plan: Plan, out: Path, workers: int | None = None) -> int:
    """Execute what is missing in `out`, write and print the results; return the exit code."""
    started = time.perf_counter()
    check_modules(plan.methods)
    count = default_workers() if workers is None else checks.integer("workers", workers, low=1)
    records.claim_folder(out, plan)
    try:
        _execute_missing(plan, out, count)
    except KeyboardInterrupt:
        done, missing = records.split(out, plan.runs())
        print(
            f"Stopped with {len(done)} of {len(done) + len(missing)} runs in {out}; "
            "the same command continues from there.",
            file=sys.stderr,
        )
        return INTERRUPTED
    runs, notices = records.read_all(out, plan)
    write_all(plan, runs, out, notices)
    for notice in notices:
        print(notice)
    print(digest(runs))
    print(f"Report: {out / REPORT}   ({duration(time.perf_counter() - started)})")
    return 0


def check_modules(methods: Sequence[str]) -> None:
    """Raise an ImportError if a method needs something that is not installed."""
    check_installed(module for key in methods for module in METHODS[key].needs)


def check_installed(modules: Iterable[str]) -> None:
    """Raise an ImportError that names the modules that are not installed, if any."""
    needed = dict.fromkeys(modules)
    missing = [module for module in needed if importlib.util.find_spec(module) is None]
    if missing:
        raise ImportError(f"the rivals need {', '.join(missing)}: {INSTALL}")


def default_workers() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _execute_missing(plan: Plan, out: Path, workers: int) -> None:
    done, missing = records.split(out, plan.runs())
    # Seed by seed, so that a comparison that is stopped has whole tables; in each the long first.
    missing.sort(key=lambda spec: (spec.seed, -guess_seconds(spec)))
    progress = _Progress(len(done), missing, workers)
    if workers > 1:
        _compile_first(missing)
    with LiveDisplay(lambda: Text(progress.line()), progress.line) as display:
        for spec, record in executed(execute, missing, workers):
            records.write(out, spec, record)
            progress.count(spec, record["seconds"])
            display.update()


def executed(
    run: Callable[[Spec], dict[str, Any]], specs: Sequence[Spec], workers: int
) -> Iterator[tuple[Spec, dict[str, Any]]]:
    """Yield runs with their records as they finish; with one worker, in this process."""
    if workers == 1 or not specs:
        yield from ((spec, run(spec)) for spec in specs)
        return
    # Spawned, since libraries with threads do not survive a fork; Ctrl-C is for this process.
    pool = ProcessPoolExecutor(
        workers,
        multiprocessing.get_context("spawn"),
        signal.signal,
        (signal.SIGINT, signal.SIG_IGN),
    )
    try:
        futures = {pool.submit(run, spec): spec for spec in specs}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _compile_first(specs: Sequence[RunSpec]) -> None:
    """Execute a few rounds of each method of ours here, so that workers find compiled code."""
    own = {spec.method: spec for spec in specs if not METHODS[spec.method].needs}
    for spec in own.values():
        execute(replace(spec, evaluations=min(spec.evaluations, 12)))


class _Progress:
    """Number of finished runs and time left: rough guesses, scaled by how runs compare to them."""

    def __init__(self, done: int, missing: Sequence[RunSpec], workers: int) -> None:
        self._done, self._total, self._workers = done, done + len(missing), workers
        self._guess_left = sum(map(guess_seconds, missing))
        self._guess_done = self._seconds_done = 0.0

    def count(self, spec: RunSpec, seconds: float) -> None:
        self._done += 1
        self._guess_left -= guess_seconds(spec)
        self._guess_done += guess_seconds(spec)
        self._seconds_done += seconds

    def line(self) -> str:
        text = f"{self._done} of {self._total} runs"
        if self._done == self._total or not self._guess_done:
            return text
        left = self._guess_left * self._seconds_done / self._guess_done / self._workers
        return f"{text}, about {duration(left)} left"


def write_all(plan: Plan, runs: Sequence[RunResult], out: Path, notices: Sequence[str]) -> None:
    """Write every run, the summary, the timings and the report."""
    files.write_text(out / RUNS, _csv(HEADER, _rows(plan, runs)))
    files.write_json(out / SUMMARY, report.summary(runs))
    files.write_json(out / TIMINGS, sections.timings(runs))
    parts = sections.sections(runs, plan)
    files.write_text(out / REPORT, report.html(parts, plan, notices))
    files.write_text(out / TEXT, report.markdown(parts, plan, notices))


def _rows(plan: Plan, runs: Sequence[RunResult]) -> Iterator[tuple[Any, ...]]:
    for run in runs:
        name = (run.objective, run.law, run.method, run.version, run.seed)
        regrets = zip(run.simple_regret, run.cumulative_regret, strict=True)
        for stop, pair in zip(checkpoints(plan.evaluations), regrets, strict=True):
            yield (*name, stop, *pair, run.error or "")


def _csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return stream.getvalue()


def digest(runs: Sequence[RunResult]) -> str:
    """Return mean ranks and claims as text for a terminal."""
    results = Results(runs)
    lines = []
    for pool in ("heavy", "gaussian"):
        complete = methods_with_all_seeds(results, pool)
        for description, methods in ((WITH_ALL_SEEDS, complete), ("", results.methods)):
            ranks = results.mean_ranks(pool, methods)
            if ranks:
                lines.append(
                    f"mean rank of all{description}, {pool} ({ranks[0].problems} of "
                    f"{pool_size(pool)} problems with {ranks[0].seeds} or more seeds)"
                )
                lines += [
                    f"  {method_title(rank.method):<34}{rank.mean_rank:6.2f}" for rank in ranks
                ]
    found = claims(results)
    lines += [f"{claim.verdict}: {claim.text}: {claim.figures}" for claim in found]
    if any(claim.outcome == OPEN for claim in found):
        lines.append(f"A claim with fewer than {SEEDS} seeds on some problem is open.")
    return "\n".join(lines)
