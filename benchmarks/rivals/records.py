"""What a directory holds: matches that are finished, by the code as it is now."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rivals.contestants import CONTESTANTS
from rivals.laws import LAWS
from rivals.match import Match
from rivals.plan import Plan, code
from rivals.problems import PROBLEMS, cell_names
from tailproof.experiments import store


@dataclass(frozen=True)
class Run:
    """One finished match, or one of the other recommendations that could have been given in it.

    `simple` and `cumulative` are regrets at the marks; `contestant` is the key, followed by the
    recommendation's name where it is another one.
    """

    problem: str
    law: str
    contestant: str
    seed: int
    simple: tuple[float, ...]
    cumulative: tuple[float, ...]
    error: str | None = None
    place: str | None = None
    seconds: float = 0.0
    rounds: int = 0
    failed_fits: int = 0
    made_with: str = ""

    @property
    def cell(self) -> tuple[str, str]:
        """Problem and law."""
        return self.problem, self.law


def key_of(contestant: str) -> str:
    """Return the contestant whose run it is, without the name of another recommendation."""
    return contestant.split(": ")[0]


def title_of(contestant: str) -> str:
    """Return a contestant's title for tables.

    Examples
    --------
    >>> title_of("optuna-gp: posterior mean"), title_of("random")
    ('Optuna GPSampler: posterior mean', 'random search')
    """
    key = key_of(contestant)
    return CONTESTANTS[key].title + contestant[len(key) :]


def read(out: Path, match: Match) -> dict[str, Any] | None:
    """Return a match's record; None if there is none, it is damaged, or by other code."""
    record = _parsed(store.trial_path(out, match.name))
    if record is None or record.get("code") != code(match.contestant):
        return None
    for name in ("simple", "cumulative"):
        values = record.get(name)
        if not isinstance(values, list) or len(values) != len(match.marks):
            return None
        if not all(isinstance(one, float | int) and math.isfinite(one) for one in values):
            return None
    return record


def _parsed(path: Path) -> dict[str, Any] | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def split(out: Path, matches: Iterable[Match]) -> tuple[list[Match], list[Match]]:
    """Return the matches that are finished, and those still to play."""
    finished: list[Match] = []
    todo: list[Match] = []
    for match in matches:
        (todo if read(out, match) is None else finished).append(match)
    return finished, todo


def all_runs(out: Path, plan: Plan) -> tuple[list[Run], dict[str, int]]:
    """Return every run of a directory, and how many of each contestant are by other code.

    Whatever earlier commands have left counts, in the order of problems, laws, contestants and
    seeds; matches by other code than today's are not mixed with the rest.
    """
    runs: list[Run] = []
    stale: dict[str, int] = {}
    for problem, law in cell_names(PROBLEMS, tuple(LAWS)):
        for contestant in CONTESTANTS:
            folder = store.trial_path(out, (f"{problem}.{law}", contestant, 0)).parent
            for path in sorted(folder.glob("[0-9]*.json")):
                seed = int(path.stem)
                match = Match(problem, law, contestant, seed, plan.evaluations, plan.family)
                record = read(out, match)
                if record is None:
                    stale[contestant] = stale.get(contestant, 0) + 1
                else:
                    runs += runs_of(match, record)
    return runs, stale


def runs_of(match: Match, record: dict[str, Any]) -> list[Run]:
    """Return a match as a run, with one more for each other recommendation."""
    shared: dict[str, Any] = {
        "problem": match.problem,
        "law": match.law,
        "seed": match.seed,
        "cumulative": tuple(record["cumulative"]),
        "error": record["error"],
        "seconds": float(record["seconds"]),
        "rounds": int(record["rounds"]),
        "failed_fits": int(record["failed_fits"]),
        "made_with": ", ".join(f"{name} {value}" for name, value in record["made_with"].items()),
    }
    result = [
        Run(
            contestant=match.contestant,
            simple=tuple(record["simple"]),
            place=record["place"],
            **shared,
        )
    ]
    for name, simple in record["alternatives"].items():
        other = f"{match.contestant}: {name}"
        result.append(Run(contestant=other, simple=tuple(simple), **shared))
    return result
