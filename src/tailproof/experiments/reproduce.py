"""The work of `tailproof reproduce`: choose panels, do the missing runs, write all results."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tailproof._util import checks
from tailproof._util.console import duration, text_table
from tailproof._util.files import write_bytes, write_json, write_text
from tailproof._util.html import render
from tailproof._util.interrupts import exit_on_interrupt
from tailproof._util.optional import require
from tailproof._util.plotting import image
from tailproof.environments import load_light, load_stand_in_stocks, load_stocks
from tailproof.experiments import figure, lower_bound, panels, results, run_files, runner
from tailproof.experiments.measures import Records
from tailproof.experiments.plan import Plan, Size, make_plan
from tailproof.experiments.policies import POLICIES
from tailproof.experiments.problems import LowerBound
from tailproof.experiments.report import report_values

QUICK = Size(rounds=1_000, repetitions=4, variant_repetitions=2)
QUICK_TRUNCATION = Size(repetitions=8, variant_repetitions=4)  # panel f
REPORT = "report.html"


@dataclass(frozen=True)
class Request:
    """The arguments of the command; None leaves the choice to the panel, or to the machine."""

    panels: Sequence[str]
    out: Path
    data: Path | None = None
    rounds: int | None = None
    repetitions: int | None = None
    quick: bool = False
    seed: int = 0
    policies: Sequence[str] | None = None
    workers: int | None = None
    scheduler: str | None = None

    def size(self, letter: str) -> Size:
        """Return the size of a panel that the request to reproduce asks for."""
        quick = QUICK_TRUNCATION if letter == "f" else QUICK
        size = quick if self.quick else Size()
        given = {"rounds": self.rounds, "repetitions": self.repetitions}
        return replace(size, **{name: n for name, n in given.items() if n is not None})


def reproduce(request: Request) -> dict[str, Any]:
    """Reproduce what `request` asks for, print a summary, and return the values of the report.

    Ctrl-C and SIGTERM raise KeyboardInterrupt once the number of finished runs has been printed.
    """
    started = time.perf_counter()
    out = request.out
    with exit_on_interrupt("tailproof reproduce"):  # nothing is written yet
        chosen, notices = choose_panels(request.panels, request.data)
        sizes = {letter: request.size(letter) for letter in chosen}
        plan = make_plan(chosen, sizes, seed=request.seed, policies=request.policies)
        notices += _notices_of_sizes(plan, chosen)
        for notice in notices:
            print(notice)
        pool, workers, description = _requested_pool(request)
    try:
        with runner.interruptible(), run_files.open_folder(out, plan.manifest()):
            records = runner.run_plan(plan, out, pool, workers)
            summary = results.write_results(plan, records, out)
            timings = results.timings(plan, records, description)
            write_json(out / results.TIMINGS, timings)
            images = _write_reproduced_figures(plan, records, out)
            values = report_values(plan.manifest(), summary, timings, images, notices)
            write_text(out / REPORT, render("experiments/report.html", heading=1, **values))
    except KeyboardInterrupt:
        done, todo = run_files.read_finished(out, plan.tasks())
        print(
            f"Stopped with {len(done)} of {len(done) + len(todo)} runs in {out}; "
            "the same command continues from there.",
            file=sys.stderr,
        )
        raise
    print(summary_text(summary))
    print(f"Report: {out / REPORT}   ({duration(time.perf_counter() - started)})")
    return values


def choose_panels(
    names: Sequence[str], data: Path | None
) -> tuple[dict[str, panels.Panel], list[str]]:
    """Return the panels to reproduce, by letter, with their data loaded, and notices about them.

    Without `data`, panel d runs on the open stand-in where that is installed. A panel whose data
    are missing is left out under "all", and an error where it is named.
    """
    for name in names:
        checks.choice("panel", name, (*panels.LETTERS, "all"))
    letters = panels.LETTERS if "all" in names else tuple(dict.fromkeys(names))
    found = {key: panel for key, panel in panels.synthetic_panels().items() if key in letters}
    notices: list[str] = []

    def leave_out(letter: str, needed: str) -> None:
        if "all" not in names:
            raise ValueError(f"panel {letter} needs {needed}.")
        notices.append(f"Panel {letter} is left out: it needs {needed}.")

    if "d" in letters and data is not None:
        found["d"] = panels.stocks_panel(load_stocks(data))
    elif "d" in letters:
        try:
            found["d"] = panels.stocks_panel(load_stand_in_stocks(), stand_in=True)
            notices.append(
                "Panel d runs on an open stand-in (six stocks that come with plotly), not on the "
                "paper's 29 stocks: its values are not comparable with the paper's. The paper's "
                "need --data DIR with stocks.csv."
            )
        except ModuleNotFoundError as error:
            leave_out("d", f"--data DIR with stocks.csv ({error})")
    if "e" in letters and data is not None:
        found["e"] = panels.light_panel(load_light(data))
    elif "e" in letters:
        leave_out("e", "--data DIR with light_train.csv, light_test.csv and light_coords.csv")
    return found, notices


def _notices_of_sizes(plan: Plan, chosen: Mapping[str, panels.Panel]) -> list[str]:
    """Return what a reader of the reproduction must know of sizes and panels left out."""
    notices = []
    small = [panel.letter for panel in plan.panels if not panel.at_paper_size]
    if small:
        notices.append(
            f"Not at the paper's size: {', '.join(small)}. Where the rounds are fewer the paper's "
            "values do not apply, since the schedules depend on the horizon."
        )
    dropped = sorted(set(chosen) - {panel.letter for panel in plan.panels})
    if dropped:
        notices.append(f"Left out, since they have none of --policies: {', '.join(dropped)}.")
    return notices


def _requested_pool(request: Request) -> tuple[runner.Pool, int, str]:
    """Return the pool to reproduce with, how many workers it has, and its description."""
    for module in ("jinja2", "matplotlib", "joblib", "threadpoolctl"):
        require(module, "experiments")  # better missing now than after the work
    if request.scheduler is not None:
        pool, workers = runner.cluster_pool(request.scheduler)
        return pool, workers, f"{workers} threads of the Dask cluster at {request.scheduler}"
    workers = require("joblib", "experiments").cpu_count()
    if request.workers is not None:
        workers = checks.integer("workers", request.workers, low=1)
    return runner.local_pool(workers), workers, f"{workers} worker processes"


def _write_reproduced_figures(plan: Plan, records: Records, out: Path) -> dict[str, bytes]:
    """Write the figure as PNG and SVG; return the SVG images of the report by name."""
    paper = figure.draw(plan, records)
    images = {"figure": image(paper, "svg")}
    if any(POLICIES[key].is_variant for panel in plan.panels for key in panel.policies):
        images["variants"] = image(figure.draw(plan, records, variants=True), "svg")
    for panel in plan.panels:
        if isinstance(panel.source, LowerBound):
            growth = lower_bound.draw(panel, panel.source, records)
            images["lower_bound"] = image(growth, "svg")
            write_bytes(out / "lower_bound.png", image(growth, "png"))
            write_bytes(out / "lower_bound.svg", images["lower_bound"])
    write_bytes(out / "figure.png", image(paper, "png"))
    write_bytes(out / "figure.svg", images["figure"])
    return images


def summary_text(summary: Mapping[str, Any]) -> str:
    """Return for the end of `tailproof reproduce` the last rounds and the statements, as text."""
    rows, bands = [], []
    for letter, panel in summary["panels"].items():
        for policy in panel["policies"].values():
            last = policy["curve"][-1]
            sd = "-" if last["sd"] is None else f"{last['sd']:.3f}"
            paper = "-" if last["paper"] is None else f"{last['paper']:g}"
            numbers = (f"{last['round']:,}", f"{last['mean']:.4f}", sd, paper)
            rows.append((letter, policy["title"], *numbers))
        for key, band in panel.get("bands", {}).items():
            title = panel["policies"][key]["title"]
            bands.append(f"{letter}: {title}: largest |mean - f| {band['largest_error']:.3f}")
    header = ("panel", "policy", "rounds", "R_T/T", "sd", "paper")
    lines = [text_table(header, rows, right=range(2, 6)), *bands]
    statements = summary["statements"]
    if statements:
        hold = sum(statement["holds"] for statement in statements)
        lines.append(f"{hold} of {len(statements)} statements about the paper hold.")
        lines += [
            f"  does not hold: ({statement['panel']}) {statement['text']}: {statement['numbers']}"
            for statement in statements
            if not statement["holds"]
        ]
    return "\n".join(lines)
