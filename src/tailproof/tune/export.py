"""The trials of a study as CSV and JSON."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tailproof.tune.answer import Answer
from tailproof.tune.claims import OUTCOME
from tailproof.tune.study import constants, setting_of
from tailproof.tune.template import text

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

CSV_NAME, JSON_NAME = "trials.csv", "result.json"
Truth = Callable[[Mapping[str, Any]], float]


@contextlib.contextmanager
def whole(path: Path) -> Iterator[IO[str]]:
    """Open a file that appears complete or not at all: others may read or write it too."""
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=f".{path.name}.", newline="", encoding="utf-8", delete=False
    ) as file:
        try:
            yield file
            file.flush()
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def outcome(trial: FrozenTrial) -> dict[str, Any]:
    """Return what was noted at the end of a trial."""
    return dict(trial.user_attrs.get(OUTCOME, {}))


def write_csv(answer: Answer, path: Path) -> None:
    """Write one line a trial, ordered by number."""
    tamed = dict(zip(answer.numbers.tolist(), answer.tamed.tolist(), strict=True))
    names = list(answer.space.names)
    fixed = constants(answer.space)
    with whole(path) as file:
        writer = csv.writer(file)
        writer.writerow(["trial", "state", "payoff", "tamed", "seconds", "reason", *names])
        for one in answer.trials:
            noted, own = outcome(one), {**fixed, **setting_of(one)}
            writer.writerow(
                [
                    one.number,
                    one.state.name.lower(),
                    "" if one.value is None else repr(one.value),
                    "" if one.number not in tamed else str(tamed[one.number]).lower(),
                    noted.get("seconds", ""),
                    noted.get("reason", ""),
                    *(text(own[name]) if name in own else "" for name in names),
                ]
            )


def summary(answer: Answer, about: Mapping[str, Any], truth: Truth | None = None) -> dict[str, Any]:
    """Return the result as plain dicts, lists and numbers.

    Parameters
    ----------
    answer : Answer
    about : mapping
        The study: name, storage, command and the like.
    truth : callable, optional
        The true mean payoff of a setting, where it is known.
    """
    best = answer.recommended
    result: dict[str, Any] = {
        "study": dict(about),
        "recommended": {
            "params": best.params,
            "mean": best.mean,
            "low": best.lower,
            "high": best.upper,
            "level": best.level,
            "replications": best.payoffs,
        },
        "lucky": {
            "params": best.best_observed_params,
            "payoff": best.best_observed_value,
            "mean": float(answer.lucky.mean[0]),
            "low": float(answer.lucky.lower[0]),
            "high": float(answer.lucky.upper[0]),
        },
        "payoffs": best.total_payoffs,
        "tamed": best.clipped,
        "failed": len(answer.failed),
        "left_out": answer.left_out,
        "tails": best.tails,
        "trials": [_trial(one) for one in answer.trials],
    }
    if truth is not None:
        result["recommended"]["true_mean"] = truth(best.params)
        result["lucky"]["true_mean"] = truth(best.best_observed_params)
    return result


def _trial(one: FrozenTrial) -> dict[str, Any]:
    noted = outcome(one)
    return {
        "number": one.number,
        "state": one.state.name.lower(),
        "params": setting_of(one),
        "payoff": one.value,
        "seconds": noted.get("seconds"),
        "reason": noted.get("reason"),
    }


def write_json(result: Mapping[str, Any], path: Path) -> None:
    """Write a summary."""
    with whole(path) as file:
        file.write(json.dumps(_plain(result), indent=1, allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    """Return a value with infinities and NaN as text: JSON has no such numbers."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value
