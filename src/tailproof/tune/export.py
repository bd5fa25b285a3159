"""The trials of a study as CSV, and the result as JSON."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailproof._util.files import atomic_write
from tailproof._util.tables import spreadsheet_safe
from tailproof.tune.analysis import Analysis, TrueMean
from tailproof.tune.command import text
from tailproof.tune.study import constants, planned_params
from tailproof.tune.trial_queue import OUTCOME

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


def outcome(trial: FrozenTrial) -> dict[str, Any]:
    """Return what was stored at the end of a trial."""
    return dict(trial.user_attrs.get(OUTCOME, {}))


def write_csv(analysis: Analysis, path: Path) -> None:
    """Write one line a trial, ordered by number; text is made harmless for spreadsheets."""
    clipped = dict(zip(analysis.numbers.tolist(), analysis.clipped.tolist(), strict=True))
    names = analysis.space.names
    fixed = constants(analysis.space)
    with atomic_write(path, "w") as stream:
        writer = csv.writer(stream)
        header = ["trial", "state", "payoff", "clipped", "seconds", "reason", *names]
        writer.writerow(map(spreadsheet_safe, header))
        for trial in analysis.trials:
            noted, params = outcome(trial), fixed | planned_params(trial)
            row = [
                str(trial.number),
                trial.state.name.lower(),
                "" if trial.value is None else repr(trial.value),
                "" if trial.number not in clipped else str(clipped[trial.number]).lower(),
                str(noted.get("seconds", "")),
                str(noted.get("reason", "")),
                *(text(params[name]) if name in params else "" for name in names),
            ]
            writer.writerow(map(spreadsheet_safe, row))


def result(
    analysis: Analysis, study: Mapping[str, Any], true_mean: TrueMean | None = None
) -> dict[str, Any]:
    """Return the result as plain dicts, lists and numbers.

    Parameters
    ----------
    analysis : Analysis
    study : mapping
        The study: name, storage, command and the like.
    true_mean : callable, optional
        The true mean payoff of a setting, where it is known.
    """
    best, observed = analysis.recommendation, analysis.best_observed
    recommendation: dict[str, Any] = {
        "params": best.params,
        "mean": best.mean,
        "lower": best.lower,
        "upper": best.upper,
        "level": best.level,
        "payoffs": best.payoffs,
    }
    best_observed: dict[str, Any] = {
        "params": best.best_observed_params,
        "payoff": best.best_observed_value,
        "mean": float(observed.mean[0]),
        "lower": float(observed.lower[0]),
        "upper": float(observed.upper[0]),
    }
    if true_mean is not None:
        recommendation["true_mean"] = true_mean(best.params)
        best_observed["true_mean"] = true_mean(best.best_observed_params)
    return {
        "study": dict(study),
        "recommendation": recommendation,
        "best_observed": best_observed,
        "payoffs": best.total_payoffs,
        "clipped": best.clipped,
        "failed": len(analysis.failed),
        "left_out": analysis.left_out,
        "tails": best.tails,
        "trials": [_trial(trial) for trial in analysis.trials],
    }


def _trial(trial: FrozenTrial) -> dict[str, Any]:
    noted = outcome(trial)
    return {
        "number": trial.number,
        "state": trial.state.name.lower(),
        "params": planned_params(trial),
        "payoff": trial.value,
        "seconds": noted.get("seconds"),
        "reason": noted.get("reason"),
    }
