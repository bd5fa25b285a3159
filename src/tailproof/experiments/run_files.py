"""The output folder: the manifest of a reproduction, and one JSON file per finished run.

Every file is written atomically, so a reproduction can be killed at any moment and continued
later. JSON keeps every float to the last bit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tailproof._util.files import TEMPORARY_PREFIX, write_json
from tailproof.experiments.plan import Task

MANIFEST = "manifest.json"
RUNS = "runs"
LOCK = ".lock"


class FolderMismatchError(ValueError):
    """The output folder holds runs with other parameters."""


def run_path(out: Path, name: tuple[str, str, int]) -> Path:
    """Return the file of a run in the folder `out`; `name` is two words and a number."""
    panel, policy, repetition = name
    return out / RUNS / panel / policy / f"{repetition:04d}.json"


@contextmanager
def open_folder(out: Path, manifest: dict[str, Any]) -> Iterator[None]:
    """Lock the folder of run files; write `manifest` to it, or check that it holds the same one.

    Another manifest is a FolderMismatchError, another process that works in `out` a ValueError.
    """
    out.mkdir(parents=True, exist_ok=True)
    with _lock_run_folder(out):
        _check_folder_manifest(out, json.loads(json.dumps(manifest)))
        for leftover in out.rglob(f"{TEMPORARY_PREFIX}*"):
            leftover.unlink(missing_ok=True)
        yield


@contextmanager
def _lock_run_folder(out: Path) -> Iterator[None]:
    """Lock the run files; the operating system releases them however this process ends."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks: there it is up to the user
        yield
        return
    with (out / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ValueError(
                f"`--out {out}` must be used by one process, but another process works in it."
            ) from error
        yield


def _check_folder_manifest(out: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest beside the run files, or refuse a folder with another one."""
    path = out / MANIFEST
    if not path.exists():
        if (out / RUNS).exists():
            raise FolderMismatchError(
                f"`--out {out}` holds runs but no {MANIFEST} with their parameters; give another "
                "--out."
            )
        write_json(path, manifest)
        return
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FolderMismatchError(
            f"`--out {out}` must hold runs of tailproof, but its {MANIFEST} is not JSON "
            f"({error}); give another --out."
        ) from error
    changes = list(differences(found, manifest))
    if changes:
        more = f" (and {len(changes) - 3} more)" if len(changes) > 3 else ""
        raise FolderMismatchError(
            f"`--out {out}` holds runs with other parameters: {'; '.join(changes[:3])}{more}. "
            "Give the same parameters to continue, or another --out."
        )


def differences(found: Any, wanted: Any, where: str = "") -> Iterable[str]:
    """Yield a description of every place where the manifests of two folders of runs differ.

    Examples
    --------
    >>> list(differences({"seed": 0, "panels": {"a": 1}}, {"seed": 1, "panels": {"a": 1}}))
    ['seed is 0 there, 1 here']
    """
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in [*wanted, *(key for key in found if key not in wanted)]:
            place = f"{where}.{key}" if where else str(key)
            if key not in found:
                yield f"{place} is missing there"
            elif key not in wanted:
                yield f"{place} is missing here"
            else:
                yield from differences(found[key], wanted[key], place)
    elif found != wanted:
        yield f"{where} is {_short_json_value(found)} there, {_short_json_value(wanted)} here"


def _short_json_value(value: Any) -> str:
    """Return a value of a run folder's manifest as JSON, short enough for an error."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + ".."


def read_run(out: Path, task: Task) -> dict[str, Any] | None:
    """Return the record of a finished run; None if there is none, or its file is damaged."""
    try:
        record = json.loads(run_path(out, task.name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    regret = record.get("regret_per_round") if isinstance(record, dict) else None
    if not isinstance(regret, list) or len(regret) != len(task.panel.recorded_rounds):
        return None
    return record if all(math.isfinite(value) for value in regret) else None


def write_run(out: Path, task: Task, record: dict[str, Any]) -> None:
    """Write the record of a finished run to its file."""
    write_json(run_path(out, task.name), record)


def read_finished(out: Path, tasks: Iterable[Task]) -> tuple[dict[Any, dict[str, Any]], list[Task]]:
    """Return the records of the finished runs by name, and the tasks still to do."""
    found = [(task, read_run(out, task)) for task in tasks]
    finished = {task.name: record for task, record in found if record is not None}
    return finished, [task for task, record in found if record is None]
