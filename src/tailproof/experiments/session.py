"""One session of `tailproof reproduce`: choose panels, run what is missing, write everything."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailproof._util import checks
from tailproof.environments import load_light, load_stand_in_stocks, load_stocks
from tailproof.experiments import figure, panels, results, runner, store
from tailproof.experiments._optional import need
from tailproof.experiments.plan import Plan, Size, make_plan
from tailproof.experiments.progress import Progress, duration
from tailproof.experiments.report import report

QUICK = Size(rounds=1_000, trials=4, further_trials=2)
QUICK_TRUNCATION = Size(rounds=None, trials=8, further_trials=4)
INTERRUPTED = 130  # what a shell expects after Ctrl-C
REPORT = "report.html"


@dataclass(frozen=True)
class Chosen:
    """The panels to run, and what a reader must be told about them."""

    panels: dict[str, panels.Panel]
    notices: tuple[str, ...]


def choose(names: Sequence[str], data: Path | None) -> Chosen:
    """Return the panels named, loading what data they need.

    Without `data`, panel d runs on the open stand-in where that is installed; panel e has none,
    and neither has d then: left out under "all", an error where named.
    """
    for name in names:
        checks.choice("panel", name, (*panels.LETTERS, "all"))
    everything = "all" in names
    letters = panels.LETTERS if everything else tuple(dict.fromkeys(names))
    found = {key: one for key, one in panels.synthetic_panels().items() if key in letters}
    notices: list[str] = []
    if data is not None:
        if "d" in letters:
            found["d"] = panels.stocks_panel(load_stocks(data))
        if "e" in letters:
            found["e"] = panels.light_panel(load_light(data))
        return Chosen(found, tuple(notices))
    if "d" in letters:
        try:
            found["d"] = panels.stocks_panel(load_stand_in_stocks(), stand_in=True)
            notices.append(
                "Panel d runs on an open stand-in (six stocks that come with plotly), not on the "
                "paper's 29 stocks: its figures are not comparable with the paper's. The paper's "
                "need --data DIR with stocks.csv."
            )
        except ModuleNotFoundError as error:
            _leave_out(everything, notices, "d", f"--data DIR with stocks.csv ({error})")
    if "e" in letters:
        needed = "--data DIR with light_train.csv, light_test.csv and light_coords.csv"
        _leave_out(everything, notices, "e", needed)
    return Chosen(found, tuple(notices))


def _leave_out(everything: bool, notices: list[str], letter: str, needed: str) -> None:
    if not everything:
        raise ValueError(f"panel {letter} needs {needed}.")
    notices.append(f"Panel {letter} is left out: it needs {needed}.")


@dataclass(frozen=True)
class Request:
    """What the command line asks for; None leaves it to the panel, or to the machine."""

    panels: tuple[str, ...]
    out: Path
    data: Path | None = None
    rounds: int | None = None
    trials: int | None = None
    quick: bool = False
    seed: int = 0
    policies: tuple[str, ...] | None = None
    workers: int | None = None
    scheduler: str | None = None

    def size(self, letter: str) -> Size:
        """Return the size of a panel."""
        if not self.quick:
            return Size(self.rounds, self.trials)
        base = QUICK_TRUNCATION if letter == "f" else QUICK
        return Size(
            base.rounds if self.rounds is None else self.rounds,
            base.trials if self.trials is None else self.trials,
            base.further_trials,
        )


def run(request: Request) -> int:
    """Run, write and print what is asked for; return the exit code."""
    started = time.perf_counter()
    chosen = choose(request.panels, request.data)
    sizes = {letter: request.size(letter) for letter in chosen.panels}
    plan = make_plan(chosen.panels, sizes, seed=request.seed, policies=request.policies)
    notices = [*chosen.notices, *_size_notices(plan, chosen)]
    for notice in notices:
        print(notice)
    pool, workers, where = _pool(request)
    out = request.out
    try:
        with runner.interruptible(), store.opened(out, plan):
            records = runner.run(plan, out, pool, _progress(workers))
            summary = write_all(plan, records, out, where, notices)
    except KeyboardInterrupt:
        done, left = store.split(out, plan.tasks())
        print(
            f"Stopped with {len(done)} of {len(done) + len(left)} trials in {out}; "
            "the same command goes on from there.",
            file=sys.stderr,
        )
        return INTERRUPTED
    print(digest(summary))
    print(f"Report: {out / REPORT}   ({duration(time.perf_counter() - started)})")
    return 0


def _pool(request: Request) -> tuple[runner.Pool, int, str]:
    """Return the pool, how many workers it has, and what to call it."""
    for module in ("matplotlib", "joblib", "threadpoolctl"):
        need(module, "experiments")  # better missing now than after the work
    if request.scheduler is not None:
        pool, workers = runner.cluster_pool(request.scheduler)
        return pool, workers, f"{workers} threads of the Dask cluster at {request.scheduler}"
    workers = runner.default_workers()
    if request.workers is not None:
        workers = checks.integer("workers", request.workers, low=1)
    return runner.local_pool(workers), workers, f"{workers} worker processes"


def _progress(workers: int) -> Callable[[int, int], Progress]:
    return lambda done, total: Progress(done, total, workers)


def _size_notices(plan: Plan, chosen: Chosen) -> list[str]:
    notices = []
    small = [one.panel.letter for one in plan.panels if not one.at_paper_size]
    if small:
        notices.append(
            f"Not at the paper's size: {', '.join(small)}. Where the rounds are fewer the paper's "
            "values do not apply, since the schedules depend on the horizon."
        )
    dropped = sorted(set(chosen.panels) - {one.panel.letter for one in plan.panels})
    if dropped:
        notices.append(f"Left out, since none of --policies is theirs: {', '.join(dropped)}.")
    return notices


def write_all(
    plan: Plan, records: Any, out: Path, where: str, notices: Sequence[str]
) -> Mapping[str, Any]:
    """Write tables, summary, timings, figures and the report; return the summary."""
    summary = results.write(plan, records, out)
    timings = results.timings(plan, records, where)
    store.write_json(out / results.TIMINGS, timings)
    drawn = {"figure": figure.paper_figure(plan, records)}
    further = figure.further_figure(plan, records)
    if further is not None:
        drawn["further"] = further
    images = {name: figure.image(one, "svg") for name, one in drawn.items()}
    store.write_bytes(out / "figure.png", figure.image(drawn["figure"], "png"))
    store.write_bytes(out / "figure.svg", images["figure"])
    figure.close(drawn.values())
    page = report(plan.manifest(), summary, timings, images, notices)
    store.write_bytes(out / REPORT, page.encode())
    return summary


def digest(summary: Mapping[str, Any]) -> str:
    """Return the last round of every policy, and the statements, as text for a terminal."""
    lines = [f"{'panel':<6}{'policy':<30}{'rounds':>8}{'R_T/T':>9}{'sd':>8}{'paper':>8}"]
    for letter, panel in summary["panels"].items():
        for policy in panel["policies"].values():
            last = policy["marks"][-1]
            sd = "-" if last["sd"] is None else f"{last['sd']:.3f}"
            paper = "-" if last["paper"] is None else f"{last['paper']:g}"
            lines.append(
                f"{letter:<6}{policy['title']:<30}{last['round']:>8,}{last['mean']:>9.4f}"
                f"{sd:>8}{paper:>8}"
            )
        for key, band in panel.get("bands", {}).items():
            title = panel["policies"][key]["title"]
            lines.append(f"{letter:<6}{title:<30}largest |mean - f| {band['largest_error']:.3f}")
    statements = summary["statements"]
    if statements:
        hold = sum(one["holds"] for one in statements)
        lines.append(f"{hold} of {len(statements)} statements about the paper's figure hold.")
        lines += [
            f"  does not hold: ({one['panel']}) {one['text']}: {one['figures']}"
            for one in statements
            if not one["holds"]
        ]
    return "\n".join(lines)
