"""The demo: tune a program with heavy-tailed results, run the paper's panels, show both on a page.

Everything is written into one folder, and all of it anew each time:

    tune/         what `tailproof tune` leaves: study.db, report.html, trials.csv, result.json
    reproduce/    what `tailproof reproduce a b c f --quick` leaves
    report.html   one page: the summary, then both reports

The program tuned is `tailproof.tune.demo_program`, which documents the law of its run times. Its
true means are known, so that the summary can put them beside what was found.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailproof.experiments import session as reproduction
from tailproof.experiments import store
from tailproof.experiments._optional import need
from tailproof.experiments.report import NONE, page, table
from tailproof.tune import demo as tuning
from tailproof.tune import demo_program
from tailproof.tune.export import JSON_NAME
from tailproof.tune.live import setting
from tailproof.tune.report import REPORT_NAME

PANELS = ("a", "b", "c", "f")  # those without data files
BEST = {"threads": 16, "cache": "lru", "batch": 0.35}  # of all settings, as demo_program says
TUNE, REPRODUCE, REPORT = "tune", "reproduce", "report.html"
_MARK = "made-by-tailproof-demo"
_HEADER = ("", "setting", "that run, ms", "robust mean, ms", "interval, ms", "true mean, ms")
_WORDS = (
    "A small server was tuned for its mean latency from single requests, whose variance is "
    "infinite. The luckiest run is what a search for the best single result would have kept; the "
    "recommended setting has the best robust mean. The tuner never saw the true means."
)


@dataclass(frozen=True)
class Sizes:
    """How much the demo runs; None is `tailproof reproduce --quick`'s own.

    Attributes
    ----------
    runs
        Of the program that is tuned.
    rounds, trials
        Of the reproduction: rounds a trial, trials a policy.
    policies
        Of the reproduction.
    workers
        Processes of the reproduction.
    """

    runs: int = 200
    rounds: int | None = None
    trials: int | None = None
    policies: tuple[str, ...] | None = None
    workers: int | None = None


def main(out: Path, sizes: Sizes | None = None, seed: int = 0) -> int:
    """Run the demo into the folder `out`; return the exit code, 130 if it was interrupted."""
    try:
        return _main(out, Sizes() if sizes is None else sizes, seed)
    except KeyboardInterrupt:
        print("tailproof demo: interrupted.", file=sys.stderr)
        return 130


def _main(out: Path, sizes: Sizes, seed: int) -> int:
    need("optuna", "tune")  # better missing now than after the work
    need("joblib", "experiments")
    _start_afresh(out)
    code = tuning.main(out / TUNE, trials=sizes.runs, seed=seed)
    if code != 0:
        return code
    print(f"\nThe paper's panels {', '.join(PANELS)}, at a small size:\n", flush=True)
    code = reproduction.run(
        reproduction.Request(
            panels=PANELS,
            out=out / REPRODUCE,
            rounds=sizes.rounds,
            trials=sizes.trials,
            quick=True,
            seed=seed,
            policies=sizes.policies,
            workers=sizes.workers,
        )
    )
    if code != 0:
        return code
    found = json.loads((out / TUNE / JSON_NAME).read_text(encoding="utf-8"))
    rows = summary(found)
    store.write_bytes(out / REPORT, _page(rows, out).encode())
    print(f"\n{_text(rows)}\n\nEverything on one page: {out / REPORT}")
    return 0


def _start_afresh(out: Path) -> None:
    """Make the folder, or empty it of an earlier demo; a folder of anything else is refused."""
    mark = out / _MARK
    if out.exists() and not mark.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"`--out` must be a new or empty folder, or an earlier demo's: {out}.")
    for name in (TUNE, REPRODUCE):
        if (out / name).exists():
            shutil.rmtree(out / name)
    (out / REPORT).unlink(missing_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    mark.touch()


def summary(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return luckiest run, recommended setting and truth as rows of text under `_HEADER`.

    Parameters
    ----------
    found
        What `tailproof tune` wrote as result.json.
    """
    lucky, best = found["lucky"], found["recommended"]
    return [
        ("luckiest run", setting(lucky["params"]), f"{lucky['payoff']:.4g}", *_means(lucky)),
        ("recommended", setting(best["params"]), NONE, *_means(best)),
        ("truly best", setting(BEST), NONE, NONE, NONE, f"{demo_program.truth(BEST):.4g}"),
    ]


def _means(one: Mapping[str, Any]) -> tuple[str, str, str]:
    interval = f"{one['low']:.4g} to {one['high']:.4g}"
    return f"{one['mean']:.4g}", interval, f"{one['true_mean']:.4g}"


def _text(rows: Sequence[Sequence[str]]) -> str:
    """Return the summary for a terminal."""
    lines = [_HEADER, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEADER))]
    padded = (
        "  ".join(
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
    return "\n".join(line.rstrip() for line in padded)


def _page(rows: Sequence[Sequence[str]], out: Path) -> str:
    parts = [
        "<h1>tailproof: the demo</h1>",
        f'<p class="lead">{_WORDS}</p>',
        table(_HEADER, rows),
        "<p>How a run's latency is distributed stands in the docstring of "
        "<code>tailproof.tune.demo_program</code>.</p>",
        _inside(out, f"{TUNE}/{REPORT_NAME}"),
        _inside(out, f"{REPRODUCE}/{reproduction.REPORT}"),
    ]
    return page("tailproof: the demo", parts)


def _inside(out: Path, name: str) -> str:
    """Return the body of a report in `out`, its headings one step lower, with a link to it."""
    whole = (out / name).read_text(encoding="utf-8")
    body = whole.partition("<body>")[2].rpartition("</body>")[0]
    lower = re.sub(r"(</?h)([12])>", lambda found: f"{found[1]}{int(found[2]) + 1}>", body)
    return f'<hr><p>By itself, with its data beside it: <a href="{name}">{name}</a></p>{lower}'
