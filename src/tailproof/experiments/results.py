"""A run's results: tidy tables, the summary against the paper, and, apart from both, timings.

Tables and summary hold nothing that differs between two runs of the same plan.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tailproof.experiments import comparisons as k
from tailproof.experiments import store
from tailproof.experiments.columns import COLUMNS
from tailproof.experiments.plan import PanelPlan, Plan
from tailproof.experiments.problems import ARMS
from tailproof.experiments.statements import statements
from tailproof.experiments.words import further_in_words

RESULTS, CURVES, SUMMARY, TIMINGS = "results.csv", "panel_f.csv", "summary.json", "timings.json"
RESULTS_HEADER = ("panel", "policy", "schedule", "trial", "round", "regret_per_round")
CURVES_HEADER = ("policy", "schedule", "trial", "x", "f", "mean", "std")


def write(plan: Plan, records: k.Records, out: Path) -> dict[str, Any]:
    """Write all tables to `out` and return the summary."""
    store.write_bytes(out / RESULTS, csv_bytes(RESULTS_HEADER, _regret_rows(plan, records)))
    if any(one.panel.letter == "f" for one in plan.panels):
        store.write_bytes(out / CURVES, csv_bytes(CURVES_HEADER, _curve_rows(plan, records)))
    content = summary(plan, records)
    store.write_json(out / SUMMARY, content)
    return content


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Return a table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def _regret_rows(plan: Plan, records: k.Records) -> Iterable[Sequence[Any]]:
    for task in plan.tasks():
        schedule = COLUMNS[task.column].schedule
        kept = records[task.name]["regret_per_round"]
        for mark, value in zip(task.marks.tolist(), kept, strict=True):
            yield task.letter, task.column, schedule, task.trial, mark, repr(value)


def _curve_rows(plan: Plan, records: k.Records) -> Iterable[Sequence[Any]]:
    for task in plan.tasks():
        if task.letter != "f":
            continue
        record = records[task.name]
        schedule = COLUMNS[task.column].schedule
        values = zip(ARMS[:, 0].tolist(), record["f"], record["mean"], record["std"], strict=True)
        for numbers in values:
            yield task.column, schedule, task.trial, *map(repr, numbers)


def summary(plan: Plan, records: k.Records) -> dict[str, Any]:
    """Return mean and standard deviation of R_T / T everywhere, against the paper where it can."""
    return {
        "panels": {one.panel.letter: _panel(one, records) for one in plan.panels},
        "statements": [asdict(one) for one in statements(plan, records)],
        "further": further_in_words(plan, records),
    }


def _panel(one: PanelPlan, records: k.Records) -> dict[str, Any]:
    result: dict[str, Any] = {
        "title": one.panel.title,
        "rounds": one.rounds,
        "at_paper_size": one.at_paper_size,
        "policies": {key: _policy(one, records, key) for key in one.columns},
    }
    if one.panel.letter == "f":
        result["bands"] = {key: _band(one, records, key) for key in one.columns}
    else:
        comparable = one.rounds == one.panel.rounds
        result["crossings"] = {
            key: {
                "round": at,
                "paper": one.panel.paper.crossing if comparable and key == "nystrom" else None,
            }
            for key, at in k.crossings(one, records).items()
        }
    result["further"] = {
        change.column: asdict(change)
        | {"difference": change.difference, "verdict": change.verdict, "flat": change.flat}
        for change in k.changes(one, records)
    }
    return result


def _policy(one: PanelPlan, records: k.Records, key: str) -> dict[str, Any]:
    curves = k.regrets(one, records, key)
    marks = []
    for mark, mean, sd in zip(
        one.marks.tolist(), curves.mean(axis=0).tolist(), k.spread(curves).tolist(), strict=True
    ):
        paper = one.paper_value(key, mark)
        marks.append(
            {
                "round": mark,
                "mean": mean,
                "sd": None if math.isnan(sd) else sd,
                "paper": paper,
                "difference": None if paper is None else mean - paper,
            }
        )
    return {
        "title": COLUMNS[key].title,
        "schedule": COLUMNS[key].schedule,
        "trials": len(curves),
        "marks": marks,
    }


def _band(one: PanelPlan, records: k.Records, key: str) -> dict[str, Any]:
    fit = k.truncation_fit(one, records, key)
    return {
        "largest_error": fit.error,
        "at": float(ARMS[fit.worst_arm, 0]),
        "error_there": float((fit.mean - fit.f)[fit.worst_arm]),
        "largest_mean": float(fit.mean.max()),
        "band_holds_f": fit.holds_f,
    }


def timings(plan: Plan, records: k.Records, workers: str) -> dict[str, Any]:
    """Return rounds a second for each policy, and how long the sessions of the run took.

    Speeds are by processor time, so that a busy machine does not change them; the median over
    trials leaves out what a process spends compiling in its first. A session's time ends with its
    last finished trial.
    """
    speeds: dict[str, dict[str, float]] = {}
    for one in plan.panels:
        letter = one.panel.letter
        for key in one.columns:
            taken = [records[letter, key, i]["cpu_seconds"] for i in range(one.trials_of(key))]
            speeds.setdefault(letter, {})[key] = one.rounds / max(float(np.median(taken)), 1e-9)
    sessions: dict[float, list[float]] = {}
    for record in records.values():
        session = record["session"]
        sessions.setdefault(session["started"], []).append(session["at"])
    return {
        "rounds_per_second": speeds,
        "sessions": [
            {"started": started, "seconds": max(ends), "trials": len(ends)}
            for started, ends in sorted(sessions.items())
        ],
        "seconds": sum(max(ends) for ends in sessions.values()),
        "cpu_seconds": sum(float(record["cpu_seconds"]) for record in records.values()),
        "last_session_on": workers,
    }
