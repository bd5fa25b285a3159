"""The directory of a run: its manifest, and one small file for every finished trial.

A file is written beside its place and renamed into it, so that it is whole or not there: a run
can be killed at any moment and go on later. Files are JSON, and numbers in them come back as
they were to the last bit.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from tailproof.experiments.plan import Task

MANIFEST = "manifest.json"
TRIALS = "trials"
UNFINISHED = ".unfinished-"
LOCK = ".lock"


class Described(Protocol):
    """A plan that can say what defines its results."""

    def manifest(self) -> dict[str, Any]:
        """Return it, ready for JSON."""
        ...


class DirectoryMismatchError(ValueError):
    """The directory holds a run with other parameters."""


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file all at once: after a crash it is the old one or the new one, never half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=UNFINISHED, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o644)  # mkstemp's own mode keeps everybody else out
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, content: Any) -> None:
    """Write `content` as JSON, all at once; the same content gives the same bytes."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_bytes(path, text.encode())


def trial_path(out: Path, name: tuple[str, str, int]) -> Path:
    """Return where the trial (panel, column, number) is kept."""
    panel, column, trial = name
    return out / TRIALS / panel / column / f"{trial:04d}.json"


@contextmanager
def opened(out: Path, plan: Described) -> Iterator[None]:
    """Take `out` for this plan, new or made by the same plan before, for as long as it runs.

    Raises
    ------
    DirectoryMismatchError
        If another plan made it; the message names the first differences.
    ValueError
        If another process is at work in it.
    """
    out.mkdir(parents=True, exist_ok=True)
    with _alone(out):
        _take(out, plan)
        yield


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Hold a lock that the system takes back whenever, and however, this process ends."""
    try:
        import fcntl
    except ImportError:  # no such locks on Windows: two runs at once are the user's care there
        yield
        return
    with (out / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ValueError(
                f"`--out {out}` must be one run's alone, but another process is at work in it."
            ) from error
        yield


def _take(out: Path, plan: Described) -> None:
    wanted = json.loads(json.dumps(plan.manifest()))
    path = out / MANIFEST
    if path.exists():
        found = _read_manifest(path)
        changes = list(differences(found, wanted))
        if changes:
            more = f" (and {len(changes) - 3} more)" if len(changes) > 3 else ""
            raise DirectoryMismatchError(
                f"`--out {out}` holds a run with other parameters: "
                f"{'; '.join(changes[:3])}{more}. Give the same parameters to continue it, or "
                "another --out."
            )
    elif (out / TRIALS).exists():
        raise DirectoryMismatchError(
            f"`--out {out}` holds trials but no {MANIFEST} to say of what; give another --out."
        )
    else:
        write_json(path, wanted)
    for left in out.rglob(f"{UNFINISHED}*"):
        left.unlink(missing_ok=True)


def _read_manifest(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DirectoryMismatchError(
            f"`--out {path.parent}` must hold a run of tailproof, but its {path.name} is not "
            f"JSON ({error}); give another --out."
        ) from error


def differences(found: Any, wanted: Any, where: str = "") -> Iterable[str]:
    """Yield, in words, where two JSON values differ.

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
        yield f"{where} is {_short(found)} there, {_short(wanted)} here"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + ".."


def read_trial(out: Path, task: Task) -> dict[str, Any] | None:
    """Return a finished trial; None if there is none, or its file is damaged."""
    try:
        record = json.loads(trial_path(out, task.name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    regret = record.get("regret_per_round") if isinstance(record, dict) else None
    if not isinstance(regret, list) or len(regret) != len(task.marks):
        return None
    return record if all(math.isfinite(one) for one in regret) else None


def write_trial(out: Path, task: Task, record: dict[str, Any]) -> None:
    """Keep a finished trial."""
    write_json(trial_path(out, task.name), record)


def split(out: Path, tasks: Iterable[Task]) -> tuple[dict[Any, dict[str, Any]], list[Task]]:
    """Return the finished trials by name, and the tasks still to do."""
    finished, todo = {}, []
    for task in tasks:
        record = read_trial(out, task)
        if record is None:
            todo.append(task)
        else:
            finished[task.name] = record
    return finished, todo
