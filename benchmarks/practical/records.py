"""Finished runs on disk: one JSON file for each.

OUT/tables/kc1-train_time/tpe/5.0.0/0003.json
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from practical.catalog import Entry
from practical.methods import METHODS
from practical.run import RunSpec
from rivals.records import choose_version
from rivals.versions import libraries_used, package_version
from tailproof._util import files


@dataclass(frozen=True)
class RunResult:
    """A finished run; the other attributes of its record are described by `run.execute`."""

    spec: RunSpec
    version: str
    record: dict[str, Any]

    @property
    def simple_regret(self) -> float:
        """Regret of the recommendation."""
        return float(self.record["simple_regret"])

    @property
    def cumulative_regret(self) -> float | None:
        """Mean regret of the evaluations; None for assigned payoffs."""
        return self.record["cumulative_regret"]


@functools.cache
def version_of(method: str) -> str | None:
    """Return the version of a method as it is installed; None if its package is not."""
    return package_version(METHODS[method].package)


def path_of(out: Path, spec: RunSpec, version: str) -> Path:
    """Return the file of a run by a version of its method."""
    folder = out / spec.family / spec.problem / spec.method / version
    return folder / f"{spec.seed:04d}.json"


def write(out: Path, spec: RunSpec, record: dict[str, Any]) -> None:
    """Keep the record of a run by the installed version of its method."""
    version = version_of(spec.method)
    assert version is not None
    environment = libraries_used(METHODS[spec.method].needs)
    files.write_json(path_of(out, spec, version), record | {"environment": environment})


def read(path: Path) -> dict[str, Any] | None:
    """Return the record in a file; None if there is none or it is damaged."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        regret = float(record["simple_regret"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return record if math.isfinite(regret) else None


def is_missing(out: Path, spec: RunSpec) -> bool:
    """Tell whether a run was not finished by the installed version of its method."""
    version = version_of(spec.method)
    return version is None or read(path_of(out, spec, version)) is None


def read_all(
    out: Path, entries: Iterable[Entry], seeds: range, methods: Iterable[str] = tuple(METHODS)
) -> tuple[list[RunResult], list[str]]:
    """Return the runs of some problems with seeds of one split, and notices about those left out.

    Runs by different versions of a method are not mixed, see `rivals.records.choose_version`.
    """
    results, notices = [], []
    names = list(entries)
    for method in methods:
        paths = out.glob(f"*/*/{method}/*/*.json")
        version, others = choose_version(paths, version_of(method))
        if version is None:
            continue
        if others:
            notices.append(
                f"{METHODS[method].title}: runs by version {version}; those by "
                f"{', '.join(others)} are left out."
            )
        for entry in names:
            for seed in seeds:
                spec = RunSpec(entry.family, entry.name, method, seed)
                record = read(path_of(out, spec, version))
                if record is not None:
                    results.append(RunResult(spec, version, record))
    return results, notices
