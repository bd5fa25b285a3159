"""Finished runs on disk: one JSON file for each, by problem, method, version and seed.

    OUT/runs/branin.t1.5/optuna-tpe/5.0.0/0003.json

All runs of a folder belong to the same family of objectives and have the same number of
evaluations, which OUT/settings.json states.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rivals.methods import METHODS, method_title
from rivals.plan import Plan
from rivals.problems import ProblemName, problem_names
from rivals.run import RunSpec
from rivals.versions import environment, version_of
from tailproof._util import files

SETTINGS, RUNS = "settings.json", "runs"


@dataclass(frozen=True)
class RunResult:
    """A finished run, or another recommendation that could have been given in it.

    Regrets are at the checkpoints. `method` is the key of the method, followed by ": " and the
    name of the recommendation where it is not the method's own.
    """

    objective: str
    law: str
    method: str
    version: str
    seed: int
    simple_regret: tuple[float, ...]
    cumulative_regret: tuple[float, ...]
    error: str | None = None
    hill: str | None = None
    seconds: float = 0.0
    evaluations: int = 0
    failed_fits: int = 0
    environment: str = ""

    @property
    def problem(self) -> ProblemName:
        """Objective and law."""
        return self.objective, self.law


def claim_folder(out: Path, plan: Plan) -> None:
    """Make a folder for the runs of a plan, or check that it is one.

    Raises
    ------
    ValueError
        If its runs have another number of evaluations or are of another family.
    """
    settings = {"family": plan.family, "evaluations": plan.evaluations}
    path = out / SETTINGS
    if not path.exists():
        files.write_json(path, settings)
        return
    found = json.loads(path.read_text(encoding="utf-8"))
    for name, wanted in settings.items():
        if found.get(name) != wanted:
            raise ValueError(
                f"{out} holds runs with {name} {found.get(name)}, not {wanted}: give another --out."
            )


def path_of(out: Path, spec: RunSpec, version: str) -> Path:
    """Return the file of a run by a version of its method."""
    folder = out / RUNS / f"{spec.objective}.{spec.law}" / spec.method / version
    return folder / f"{spec.seed:04d}.json"


def write(out: Path, spec: RunSpec, record: dict[str, Any]) -> None:
    """Keep the record of a run by the installed version of its method."""
    version = version_of(spec.method)
    assert version is not None
    content = {"environment": environment(spec.method)} | record
    files.write_json(path_of(out, spec, version), content)


def read(path: Path, spec: RunSpec) -> dict[str, Any] | None:
    """Return the record of a run; None if there is none or it is damaged."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict):
        return None
    for name in ("simple_regret", "cumulative_regret"):
        values = record.get(name)
        if not isinstance(values, list) or len(values) != len(spec.checkpoints):
            return None
        if not all(isinstance(value, float | int) and math.isfinite(value) for value in values):
            return None
    return record


def split(out: Path, specs: Iterable[RunSpec]) -> tuple[list[RunSpec], list[RunSpec]]:
    """Return the runs finished by the installed versions of their methods, and those to do."""
    finished: list[RunSpec] = []
    missing: list[RunSpec] = []
    for spec in specs:
        version = version_of(spec.method)
        done = version is not None and read(path_of(out, spec, version), spec) is not None
        (finished if done else missing).append(spec)
    return finished, missing


def read_all(out: Path, plan: Plan) -> tuple[list[RunResult], list[str]]:
    """Return the runs of a folder, and notices about those left out.

    Runs by different versions of a method are not mixed: those by the installed version count, or
    by the version with the newest file where the installed one has none. The order is that of
    objectives, laws, methods and seeds.
    """
    versions, notices = {}, []
    for method in METHODS:
        paths = (out / RUNS).glob(f"*/{method}/*/*.json")
        versions[method], others = choose_version(paths, version_of(method))
        if others:
            notices.append(
                f"{method_title(method)}: runs by version {versions[method]}; those by "
                f"{', '.join(others)} are left out."
            )
    results: list[RunResult] = []
    damaged = 0
    for objective, law in problem_names():
        for method, version in versions.items():
            if version is None:
                continue
            first = RunSpec(objective, law, method, 0, plan.evaluations, plan.family)
            for path in sorted(path_of(out, first, version).parent.glob("[0-9]*.json")):
                spec = RunSpec(
                    objective, law, method, int(path.stem), plan.evaluations, plan.family
                )
                record = read(path, spec)
                if record is None:
                    damaged += 1
                else:
                    results += results_of(spec, version, record)
    if damaged:
        notices.append(f"{damaged} damaged files are left out.")
    return results, notices


def choose_version(paths: Iterable[Path], installed: str | None) -> tuple[str | None, list[str]]:
    """Return the version of a method whose runs count, and the others that its files are of.

    The files of a version are in a folder of its name. The installed version counts if it has any.
    """
    newest: dict[str, float] = {}
    for path in paths:
        version = path.parent.name
        newest[version] = max(newest.get(version, 0.0), path.stat().st_mtime)
    if not newest:
        return None, []
    chosen = installed if installed in newest else max(newest, key=lambda v: newest[v])
    return chosen, sorted(set(newest) - {chosen})


def results_of(spec: RunSpec, version: str, record: dict[str, Any]) -> list[RunResult]:
    """Return the result of a run, and one more for each other recommendation."""
    shared: dict[str, Any] = {
        "objective": spec.objective,
        "law": spec.law,
        "version": version,
        "seed": spec.seed,
        "cumulative_regret": tuple(record["cumulative_regret"]),
        "error": record["error"],
        "seconds": float(record["seconds"]),
        "evaluations": int(record["evaluations"]),
        "failed_fits": int(record["failed_fits"]),
        "environment": ", ".join(f"{k} {v}" for k, v in record["environment"].items()),
    }
    simple_regret, hill = tuple(record["simple_regret"]), record["hill"]
    return [
        RunResult(method=spec.method, simple_regret=simple_regret, hill=hill, **shared),
        *(
            RunResult(method=f"{spec.method}: {name}", simple_regret=tuple(values), **shared)
            for name, values in record["alternatives"].items()
        ),
    ]
