"""The trials of a study as CSV, and the result as JSON."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailproof._util.files import atomic_write
from tailproof._util.tables import spreadsheet_safe
from tailproof.search.space.space import Space
from tailproof.tune.analysis import Analysis, Slice, TrueMean
from tailproof.tune.command import text
from tailproof.tune.study import constants, planned_params
from tailproof.tune.trial_queue import outcome_of

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


def write_csv(
    trials: Sequence[FrozenTrial], space: Space, clipped: Mapping[int, bool], path: Path
) -> None:
    """Export trials as CSV, a line each, by number; text is made harmless for spreadsheets.

    `clipped` says by number which payoffs were clipped, of those that the model uses.
    """
    names = space.names
    fixed = constants(space)
    with atomic_write(path, "w") as stream:
        writer = csv.writer(stream)
        header = ["trial", "state", "payoff", "clipped", "seconds", "reason", *names]
        writer.writerow(map(spreadsheet_safe, header))
        for trial in map(_exported_trial, trials):
            params = fixed | trial["params"]
            number = trial["number"]
            values = [number, trial["state"], trial["payoff"], clipped.get(number)]
            values += [trial["seconds"], trial["reason"], *(params.get(name, "") for name in names)]
            cells = ["" if value is None else text(value) for value in values]
            writer.writerow(map(spreadsheet_safe, cells))


def result(
    analysis: Analysis, study: Mapping[str, Any], true_mean: TrueMean | None = None
) -> dict[str, Any]:
    """Return the exported result: plain dicts, lists and numbers; `study` says what was tuned."""
    best, observed = analysis.recommendation, analysis.best_observed
    shown = ("params", "mean", "lower", "upper", "level", "payoffs")
    recommendation: dict[str, Any] = {name: getattr(best, name) for name in shown}
    best_observed: dict[str, Any] = {
        "params": best.best_observed_params,
        "payoff": best.best_observed_value,
        "mean": float(observed.mean[0]),
        "lower": float(observed.lower[0]),
        "upper": float(observed.upper[0]),
    }
    settings = [recommendation, best_observed]
    baseline = None if best.baseline is None else asdict(best.baseline)
    if baseline is not None:
        settings.append(baseline)
    if true_mean is not None:
        for setting in settings:
            setting["true_mean"] = true_mean(setting["params"])
    return {
        "study": dict(study),
        "recommendation": recommendation,
        "baseline": baseline,
        "best_observed": best_observed,
        "confirmed": analysis.confirmed,
        "stopped_by": analysis.stopped_by or None,
        "payoffs": best.total_payoffs,
        "clipped": best.clipped,
        "failed": len(analysis.failed),
        "left_out": analysis.left_out,
        "tails": best.tails,
        "importance": [asdict(found) for found in analysis.importance],
        "slices": [_exported_slice(found) for found in analysis.slices],
        "trials": [_exported_trial(trial) for trial in analysis.trials],
    }


def _exported_slice(along: Slice) -> dict[str, Any]:
    """Return a slice of the model as result.json has it."""
    found = along.prediction
    return {
        "name": along.name,
        "values": along.values,
        "mean": found.mean.tolist(),
        "lower": found.lower.tolist(),
        "upper": found.upper.tolist(),
    }


def result_without_payoff(
    trials: Sequence[FrozenTrial], study: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the exported result if no trial gave a payoff: there is no recommendation."""
    return {
        "study": dict(study),
        "recommendation": None,
        "payoffs": 0,
        "failed": len(trials),
        "trials": [_exported_trial(trial) for trial in trials],
    }


def _exported_trial(trial: FrozenTrial) -> dict[str, Any]:
    """Return a trial as result.json has it."""
    noted = outcome_of(trial)
    return {
        "number": trial.number,
        "state": trial.state.name.lower(),
        "params": planned_params(trial),
        "payoff": trial.value,
        "seconds": noted.get("seconds"),
        "reason": noted.get("reason"),
    }
