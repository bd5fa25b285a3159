"""One session of `tailproof arena`: play what is missing, then write everything."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rivals import records, report
from rivals.analysis import Table, whole_pool
from rivals.claims import OPEN, STEADY, claims, steady
from rivals.contestants import CONTESTANTS
from rivals.match import Match, play
from rivals.peers import INSTALL
from rivals.plan import SEEDS, Plan, code, guess_seconds, made_with
from rivals.records import Run, title_of
from tailproof._util import checks
from tailproof.experiments import runner, store
from tailproof.experiments._optional import need
from tailproof.experiments.progress import Progress, duration
from tailproof.experiments.results import csv_bytes
from tailproof.experiments.session import INTERRUPTED

REPORT, TEXT, RUNS = "report.html", "report.md", "runs.csv"
SUMMARY, TIMINGS = "summary.json", "timings.json"
HEADER = ("problem", "law", "contestant", "seed", "round", "simple_regret", "cumulative_regret")


@dataclass(frozen=True)
class Request:
    """What the command line asks for."""

    plan: Plan
    out: Path
    workers: int | None = None


def run(request: Request) -> int:
    """Play, write and print what is asked for; return the exit code."""
    started, out, plan = time.perf_counter(), request.out, request.plan
    check_modules(plan.contestants)
    workers = runner.default_workers()
    if request.workers is not None:
        workers = checks.integer("workers", request.workers, low=1)
    try:
        with runner.interruptible(), store.opened(out, plan):
            _play_missing(plan, out, workers)
            runs, stale = records.all_runs(out, plan)
            notices = _notices(stale)
            write_all(plan, runs, out, notices)
    except KeyboardInterrupt:
        done, left = records.split(out, plan.matches())
        print(
            f"Stopped with {len(done)} of {len(done) + len(left)} matches in {out}; "
            "the same command goes on from there.",
            file=sys.stderr,
        )
        return INTERRUPTED
    for notice in notices:
        print(notice)
    print(digest(runs))
    print(f"Report: {out / REPORT}   ({duration(time.perf_counter() - started)})")
    return 0


def check_modules(contestants: Sequence[str]) -> None:
    """Raise if something a contestant needs is not installed: better now than in every match."""
    for module in ("matplotlib", "joblib", "threadpoolctl"):
        need(module, "experiments")
    needed = dict.fromkeys(module for key in contestants for module in CONTESTANTS[key].peer)
    missing = [module for module in needed if importlib.util.find_spec(module) is None]
    if missing:
        raise ImportError(f"The arena's peers need {', '.join(missing)}: {INSTALL}.")


def _play_missing(plan: Plan, out: Path, workers: int) -> None:
    done, todo = records.split(out, plan.matches())
    # Seed by seed, so that a run that is stopped has whole tables; in each the long ones first.
    todo.sort(key=lambda match: (match.seed, -guess_seconds(match)))
    pool = runner.process_pool(workers, _played, compile_first)
    with Progress(len(done), len(done) + len(todo), workers) as shown:
        shown.expect(todo, guess_seconds)
        for match, record in pool(todo) if todo else ():
            store.write_json(store.trial_path(out, match.name), record)
            shown.finished(match, record["seconds"])


def _played(match: Match) -> tuple[Match, dict[str, Any]]:
    """Play a match and return it with its record, in whatever process this is."""
    made = {"code": code(match.contestant), "made_with": made_with(match.contestant)}
    return match, made | play(match)


def compile_first(matches: Sequence[Match]) -> None:
    """Play a few rounds of ours here, so that the workers find the code compiled."""
    kinds = {match.contestant: match for match in matches if not CONTESTANTS[match.contestant].peer}
    for match in kinds.values():
        play(replace(match, evaluations=min(match.evaluations, 12)))


def _notices(stale: dict[str, int]) -> list[str]:
    return [
        f"{count} matches of {title_of(who)} in this directory are damaged or by other code than "
        "today's: they are left out, and played again where they are asked for."
        for who, count in stale.items()
    ]


def write_all(plan: Plan, runs: Sequence[Run], out: Path, notices: Sequence[str]) -> None:
    """Write every run, the summary, the timings and the report."""
    store.write_bytes(out / RUNS, csv_bytes((*HEADER, "error"), _rows(plan, runs)))
    store.write_json(out / SUMMARY, report.summary(runs))
    store.write_json(out / TIMINGS, report.timings(runs))
    parts = report.sections(runs, plan)
    store.write_bytes(out / REPORT, report.html(parts, plan, notices).encode())
    store.write_bytes(out / TEXT, report.markdown(parts, plan, notices).encode())


def _rows(plan: Plan, runs: Sequence[Run]) -> list[tuple[Any, ...]]:
    marks = plan.manifest()["marks"]
    return [
        (one.problem, one.law, one.contestant, one.seed, mark, simple, cumulative, one.error or "")
        for one in runs
        for mark, simple, cumulative in zip(marks, one.simple, one.cumulative, strict=True)
    ]


def digest(runs: Sequence[Run]) -> str:
    """Return mean ranks and claims as text for a terminal."""
    told = Table(runs)
    lines = []
    for pool in ("heavy", "gaussian"):
        kept = steady(told, pool)
        for which, contestants in ((STEADY, kept), ("", told.contestants)):
            ranked = told.mean_ranks(pool, contestants)
            if ranked:
                cells, seeds = ranked[0].cells, ranked[0].seeds
                lines.append(
                    f"mean rank of all{which}, {pool} "
                    f"({cells} of {whole_pool(pool)} cells with {seeds} or more seeds)"
                )
                lines += [f"  {title_of(one.contestant):<34}{one.mean_rank:6.2f}" for one in ranked]
    found = claims(told)
    lines += [f"{one.verdict}: {one.text}: {one.figures}" for one in found]
    if any(one.outcome == OPEN for one in found):
        lines.append(f"Open: on fewer than {SEEDS} seeds in some cell nothing is said to hold.")
    return "\n".join(lines)
