"""Times from JSON files of hyperfine and pytest-benchmark, matched across files by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._util.tables import DataFileError
from tailproof.comparison.samples import TIME, Samples
from tailproof.tails.series import Series, listed

Array = NDArray[np.float64]
_EXPECTED = "JSON of hyperfine (--export-json) or pytest-benchmark (--benchmark-json)"


@dataclass(frozen=True)
class BenchmarkFile:
    """The times in seconds in one file, by the name of the command or benchmark.

    `groups` has the benchmark group of each name, "" if it has none.
    """

    path: Path
    times: dict[str, Array]
    groups: dict[str, str]
    notes: list[str] = field(default_factory=list)


def read_benchmark_file(path: Path) -> BenchmarkFile:
    """Read one JSON file of hyperfine or pytest-benchmark."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        if not text.strip():
            raise DataFileError(f"{path}: expected {_EXPECTED}, but found an empty file.")
        content = json.loads(text)
    except OSError as error:
        raise DataFileError(
            f"{path}: expected {_EXPECTED}, but found no readable file ({error.strerror})."
        ) from error
    except DataFileError:
        raise
    except ValueError as error:  # not JSON, not UTF-8
        raise DataFileError(f"{path}: expected {_EXPECTED}, but found: {error}.") from error
    if isinstance(content, dict) and isinstance(content.get("results"), list):
        return _hyperfine_file(path, content["results"])
    if isinstance(content, dict) and isinstance(content.get("benchmarks"), list):
        return _pytest_benchmark_file(path, content["benchmarks"])
    raise DataFileError(f"{path}: expected {_EXPECTED}, but found neither results nor benchmarks.")


def _hyperfine_file(path: Path, results: list[Any]) -> BenchmarkFile:
    """Return the times in a JSON file of hyperfine."""
    times: dict[str, Array] = {}
    notes = []
    for entry in results:
        name = _benchmark_name(path, entry, "command", times)
        times[name] = _benchmark_times(path, name, entry.get("times"))
        failed = sum(1 for code in entry.get("exit_codes") or [] if code)
        if failed:
            notes.append(f"{path}: {failed} runs of {name!r} failed; their times are included")
    return _filled(BenchmarkFile(path, times, dict.fromkeys(times, ""), notes))


def _pytest_benchmark_file(path: Path, benchmarks: list[Any]) -> BenchmarkFile:
    """Return the times in a JSON file of pytest-benchmark."""
    times: dict[str, Array] = {}
    groups = {}
    for entry in benchmarks:
        name = _benchmark_name(path, entry, "fullname", times)
        stats = entry.get("stats")
        data = stats.get("data") if isinstance(stats, dict) else None
        if data is None:
            raise DataFileError(
                f"{path}: expected single times of {name!r}, but found only their summary; run "
                "pytest with --benchmark-json=FILE or --benchmark-save-data."
            )
        times[name] = _benchmark_times(path, name, data)
        groups[name] = str(entry.get("group") or "")
    return _filled(BenchmarkFile(path, times, groups))


def _benchmark_name(path: Path, entry: Any, key: str, taken: dict[str, Array]) -> str:
    """Return the name of an entry of a benchmark file; it must be new."""
    name = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(name, str):
        raise DataFileError(f"{path}: expected {_EXPECTED}, but found an entry without {key!r}.")
    if name in taken:
        raise DataFileError(f"{path}: expected distinct names, but found {name!r} twice.")
    return name


def _benchmark_times(path: Path, name: str, data: Any) -> Array:
    """Return the times of an entry of a benchmark file, (n,), in seconds."""
    try:
        times = np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError):
        times = np.empty((0, 0))
    if times.ndim != 1 or not np.isfinite(times).all():
        raise DataFileError(f"{path}: expected the times of {name!r} in seconds, but found others.")
    return times


def _filled(file: BenchmarkFile) -> BenchmarkFile:
    """Return a benchmark file, or raise an error if it holds no times."""
    if not file.times:
        raise DataFileError(f"{file.path}: expected {_EXPECTED}, but found no times.")
    return file


def benchmark_samples(files: Sequence[BenchmarkFile]) -> list[Samples]:
    """Return what is to be compared: the entries of one file, or equal names across files."""
    notes = [note for file in files for note in file.notes]
    if len(files) == 1:
        return _within_file(files[0], notes)
    labels = file_labels([file.path for file in files])
    if all(len(file.times) == 1 for file in files):
        series = [
            Series(label, next(iter(file.times.values())))
            for label, file in zip(labels, files, strict=True)
        ]
        names = {next(iter(file.times)) for file in files}
        return [Samples(names.pop() if len(names) == 1 else "", series, None, TIME, notes)]
    common = [name for name in files[0].times if all(name in file.times for file in files)]
    if not common:
        raise ValueError(
            "the files must have a benchmark in common, but got "
            f"{listed(list(files[0].times))} in {files[0].path} and none of them in all others."
        )
    every = {name for file in files for name in file.times}
    if len(common) < len(every):
        missing = sorted(every - set(common))
        notes.append(f"left out, not in every file: {listed(missing)}")
    return [
        Samples(
            name,
            [Series(label, f.times[name]) for label, f in zip(labels, files, strict=True)],
            None,
            TIME,
            notes if name == common[0] else [],
        )
        for name in common
    ]


def _within_file(file: BenchmarkFile, notes: list[str]) -> list[Samples]:
    """Return what one benchmark file compares: the entries of each of its groups."""
    found: list[Samples] = []
    for group in dict.fromkeys(file.groups.values()):
        series = [Series(n, t) for n, t in file.times.items() if file.groups[n] == group]
        if len(series) > 1:
            found.append(Samples(group, series, None, TIME, notes if not found else []))
        else:
            notes.append(f"left out, alone in its group: {series[0].name!r}")
    if not found:
        raise ValueError(
            f"{file.path} must hold at least two entries to compare, but got "
            f"{listed(list(file.times))}; name a second file."
        )
    return found


def file_labels(paths: Sequence[Path]) -> list[str]:
    """Return the names of files without their endings, or their paths where those are equal."""
    stems = [path.stem for path in paths]
    labels = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    if len(set(labels)) < len(labels):
        raise ValueError(f"files must be distinct, but got {listed(labels)}.")
    return labels
