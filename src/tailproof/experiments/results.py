"""The tables of a reproduction, the summary against the paper and, separately, the timings.

Tables and summary hold nothing that differs between two runs of the same plan.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tailproof._util.files import atomic_write, write_json
from tailproof.experiments import lower_bound, measures, variants
from tailproof.experiments.measures import Records
from tailproof.experiments.panels import Panel
from tailproof.experiments.plan import Plan
from tailproof.experiments.policies import POLICIES
from tailproof.experiments.problems import ARMS, LowerBound
from tailproof.experiments.statements import check_statements

RESULTS, CURVES, SUMMARY, TIMINGS = "results.csv", "panel_f.csv", "summary.json", "timings.json"
RESULTS_HEADER = ("panel", "policy", "schedule", "repetition", "round", "regret_per_round")
CURVES_HEADER = ("policy", "schedule", "repetition", "x", "f", "mean", "std")


def write_results(plan: Plan, records: Records, out: Path) -> dict[str, Any]:
    """Write the tables of the results and their summary to `out`, and return the summary."""
    _write_result_table(out / RESULTS, RESULTS_HEADER, _regret_table_rows(plan, records))
    if any(panel.letter == "f" for panel in plan.panels):
        _write_result_table(out / CURVES, CURVES_HEADER, _curve_table_rows(plan, records))
    content = summary(plan, records)
    write_json(out / SUMMARY, content)
    return content


def _write_result_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV table of the results."""
    with atomic_write(path, "w") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])


def _regret_table_rows(plan: Plan, records: Records) -> Iterable[Sequence[Any]]:
    """Yield for a table of the results R_t / t of every run at the recorded rounds."""
    for task in plan.tasks():
        panel, policy, repetition = task.name
        regret = records[task.name]["regret_per_round"]
        for t, value in zip(task.panel.recorded_rounds.tolist(), regret, strict=True):
            yield panel, policy, POLICIES[policy].schedule, repetition, t, repr(value)


def _curve_table_rows(plan: Plan, records: Records) -> Iterable[Sequence[Any]]:
    """Yield for a table of the results function, mean and deviation of panel f at every arm."""
    for task in plan.tasks():
        panel, policy, repetition = task.name
        if panel == "f":
            record = records[task.name]
            columns = (ARMS[:, 0].tolist(), record["f"], record["mean"], record["std"])
            for numbers in zip(*columns, strict=True):
                yield policy, POLICIES[policy].schedule, repetition, *map(repr, numbers)


def summary(plan: Plan, records: Records) -> dict[str, Any]:
    """Return the results in brief: mean and deviation of R_T / T, beside the paper's values."""
    return {
        "panels": {panel.letter: _panel_summary(panel, records) for panel in plan.panels},
        "statements": [asdict(statement) for statement in check_statements(plan, records)],
        "variants": variants.describe_variants(plan, records),
    }


def _panel_summary(panel: Panel, records: Records) -> dict[str, Any]:
    """Return the results of a panel, as the summary has them."""
    result: dict[str, Any] = {
        "title": panel.title,
        "rounds": panel.rounds,
        "at_paper_size": panel.at_paper_size,
        "policies": {key: _policy_summary(panel, records, key) for key in panel.policies},
    }
    if panel.letter == "f":
        result["bands"] = {key: _band_summary(panel, records, key) for key in panel.policies}
    elif isinstance(panel.source, LowerBound):
        result["lower_bound"] = asdict(lower_bound.growth(panel, panel.source, records))
    else:
        paper = panel.paper.crossing if panel.rounds == panel.paper.rounds else None
        result["crossings"] = {
            key: {"round": at, "paper": paper if key == "nystrom" else None}
            for key, at in measures.crossings(panel, records).items()
        }
    result["variants"] = {
        variant.policy: asdict(variant)
        | {"difference": variant.difference, "verdict": variant.verdict, "flat": variant.flat}
        for variant in variants.compare_variants(panel, records)
    }
    return result


def _policy_summary(panel: Panel, records: Records, key: str) -> dict[str, Any]:
    """Return for the results the mean curve of a policy in a panel, with the paper's values."""
    curves = measures.regrets(panel, records, key)
    means, deviations = curves.mean(axis=0).tolist(), measures.sample_std(curves).tolist()
    curve = []
    for t, mean, sd in zip(panel.recorded_rounds.tolist(), means, deviations, strict=True):
        paper = panel.paper_value(key, t)
        point = {"round": t, "mean": mean, "sd": None if math.isnan(sd) else sd}
        difference = None if paper is None else mean - paper
        curve.append(point | {"paper": paper, "difference": difference})
    return {
        "title": POLICIES[key].title,
        "schedule": POLICIES[key].schedule,
        "repetitions": len(curves),
        "curve": curve,
    }


def _band_summary(panel: Panel, records: Records, key: str) -> dict[str, Any]:
    """Return for the results how well the band of panel f holds the function."""
    fit = measures.truncation_fit(panel, records, key)
    return {
        "largest_error": fit.error,
        "at": float(ARMS[fit.worst_arm, 0]),
        "error_there": float((fit.mean - fit.f)[fit.worst_arm]),
        "largest_mean": float(fit.mean.max()),
        "band_holds_f": fit.band_holds_f,
    }


def timings(plan: Plan, records: Records, workers: str) -> dict[str, Any]:
    """Return for the results the rounds per second of each policy, and how long sessions took.

    Speeds are by processor time, so that a busy machine does not change them; the median over
    repetitions leaves out the time for compiling in the first run of a process. A session ends
    with its last finished run. `workers` describes who did the runs.
    """
    speeds: dict[str, dict[str, float]] = {}
    for panel in plan.panels:
        for key in panel.policies:
            runs = [records[panel.letter, key, i] for i in range(panel.repetitions_of(key))]
            taken = float(np.median([run["cpu_seconds"] for run in runs]))
            speed = panel.rounds_in_all / max(taken, 1e-9)
            speeds.setdefault(panel.letter, {})[key] = speed
    sessions: dict[float, list[float]] = {}
    for record in records.values():
        session = record["session"]
        sessions.setdefault(session["started"], []).append(session["at"])
    return {
        "rounds_per_second": speeds,
        "sessions": [
            {"started": started, "seconds": max(ends), "runs": len(ends)}
            for started, ends in sorted(sessions.items())
        ],
        "seconds": sum(max(ends) for ends in sessions.values()),
        "cpu_seconds": sum(float(record["cpu_seconds"]) for record in records.values()),
        "last_session_on": workers,
    }
