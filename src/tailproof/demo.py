"""The demo: tune a program with heavy-tailed results and run the paper's panels, on one page.

Everything is written into one folder, and all of it anew each time:

    tune/         the files of `tailproof tune`: study.db, report.html, trials.csv, result.json
    reproduce/    the files of `tailproof reproduce a b c f --quick`
    report.html   one page: a summary, then both reports

The program is `tailproof.tune.demo_program`, which documents the distribution of its run times.
Its true means are known, so the summary can show them beside the estimates.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailproof._util.console import text_table
from tailproof._util.files import write_text
from tailproof._util.html import render
from tailproof._util.interrupts import INTERRUPTED
from tailproof._util.optional import require
from tailproof.experiments import reproduce as reproduction
from tailproof.tune import demo as tuning
from tailproof.tune import demo_program
from tailproof.tune.display import format_params
from tailproof.tune.outputs import JSON_NAME, REPORT_NAME

PANELS = ("a", "b", "c", "f")  # those without data files
BEST = {"threads": 16, "cache": "lru", "batch": 0.35}  # of all settings, as demo_program says
TUNE, REPRODUCE, REPORT = "tune", "reproduce", "report.html"
HEADER = ("", "setting", "that run, ms", "robust mean, ms", "interval, ms", "true mean, ms")
_MARKER = "made-by-tailproof-demo"
_NUMBERS = range(2, len(HEADER))  # columns
_NONE = "\N{EM DASH}"


@dataclass(frozen=True)
class Sizes:
    """How much the demo runs; None leaves the choice to `tailproof reproduce --quick`.

    Attributes
    ----------
    evaluations
        Runs of the program that is tuned.
    rounds, repetitions, policies, workers
        Options of `tailproof reproduce`.
    """

    evaluations: int = 200
    rounds: int | None = None
    repetitions: int | None = None
    policies: tuple[str, ...] | None = None
    workers: int | None = None


def main(out: Path, sizes: Sizes | None = None, seed: int = 0) -> int:
    """Run `tailproof demo` into the folder `out`; return the exit code, 130 if interrupted."""
    try:
        return _run_demo(out, Sizes() if sizes is None else sizes, seed)
    except KeyboardInterrupt:
        print("tailproof demo: interrupted.", file=sys.stderr)
        return INTERRUPTED


def _run_demo(out: Path, sizes: Sizes, seed: int) -> int:
    """Tune a small program and reproduce two panels into a folder; return the exit code."""
    require("optuna", "tune")  # better missing now than after the work
    require("joblib", "experiments")
    _empty_demo_folder(out)
    tuned = tuning.run(out / TUNE, evaluations=sizes.evaluations, seed=seed)
    if tuned.exit_code != 0 or tuned.report is None:
        return tuned.exit_code
    print(f"\nThe paper's panels {', '.join(PANELS)}, at a small size:\n", flush=True)
    reproduced = reproduction.reproduce(
        reproduction.Request(
            panels=PANELS,
            out=out / REPRODUCE,
            rounds=sizes.rounds,
            repetitions=sizes.repetitions,
            quick=True,
            seed=seed,
            policies=sizes.policies,
            workers=sizes.workers,
        )
    )
    rows = summary_rows(json.loads((out / TUNE / JSON_NAME).read_text(encoding="utf-8")))
    page = render(
        "experiments/demo.html",
        title="tailproof: the demo",
        header=HEADER,
        rows=rows,
        right=_NUMBERS,
        reports=[
            (render("tune/content.html", heading=2, **tuned.report), f"{TUNE}/{REPORT_NAME}"),
            (
                render("experiments/content.html", heading=2, **reproduced),
                f"{REPRODUCE}/{reproduction.REPORT}",
            ),
        ],
    )
    write_text(out / REPORT, page)
    table = text_table(HEADER, rows, right=_NUMBERS)
    print(f"\n{table}\n\nEverything on one page: {out / REPORT}")
    return 0


def _empty_demo_folder(out: Path) -> None:
    """Make the demo's folder, or empty that of an earlier demo; anything else is refused."""
    marker = out / _MARKER
    if out.exists() and not marker.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"`--out` must be a new or empty folder, or an earlier demo's: {out}.")
    for name in (TUNE, REPRODUCE):
        if (out / name).exists():
            shutil.rmtree(out / name)
    (out / REPORT).unlink(missing_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    marker.touch()


def summary_rows(result: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the summary of `tailproof demo`: best observed, recommended, truly best setting.

    Parameters
    ----------
    result
        What `tailproof tune` wrote as result.json.
    """
    rows = [
        (
            name,
            format_params(setting["params"]),
            f"{setting['payoff']:.4g}" if "payoff" in setting else _NONE,
            f"{setting['mean']:.4g}",
            f"{setting['lower']:.4g} to {setting['upper']:.4g}",
            f"{setting['true_mean']:.4g}",
        )
        for name, setting in (
            ("best observed run", result["best_observed"]),
            ("recommended", result["recommendation"]),
        )
    ]
    true_mean = f"{demo_program.true_mean(BEST):.4g}"
    return [*rows, ("truly best", format_params(BEST), _NONE, _NONE, _NONE, true_mean)]
