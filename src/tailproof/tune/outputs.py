"""Where the results of a session go, what they say of the study, and how to go on with it."""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailproof._util.files import file_name
from tailproof.tune.urls import masked, without_secrets

if TYPE_CHECKING:
    from optuna.storages import RDBStorage

    from tailproof.tune.request import Job, Request

REPORT_NAME, CSV_NAME, JSON_NAME = "report.html", "trials.csv", "result.json"
STORAGE_VARIABLE = "TAILPROOF_STORAGE"
_LONGEST_TITLE = 70
_SLOT = re.compile(r"\{[^{}]*\}")


def results_folder(out: Path, study_name: str, storage: RDBStorage | None) -> Path:
    """Return where the outputs of a study go: `out`, or a folder of its own if `out` is another's.

    `out` belongs to the study that result.json there names. Before there is one, it belongs to the
    first study of `storage`, the one that is kept in `out`; None if it is kept elsewhere.
    """
    owner = _study_of_results(out / JSON_NAME)
    if owner is None and storage is not None:
        studies = sorted(storage.get_all_studies(), key=lambda study: study._study_id)
        owner = studies[0].study_name if studies else None
    return out if owner in (None, study_name) else out / file_name(study_name)


def _study_of_results(path: Path) -> str | None:
    """Return of which study the outputs in a folder are."""
    try:
        name = json.loads(path.read_text(encoding="utf-8"))["study"]["name"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return name if isinstance(name, str) else None


def study_values(job: Job, *, complete: bool) -> dict[str, Any]:
    """Return what all outputs show of the study; `complete` if its budget is used up."""
    request = job.request
    command = [without_secrets(argument) for argument in request.command]
    title = title_of((Path(job.command.program).name, *command[1:]))
    return {
        "name": job.study_name,
        "storage": masked(job.url),
        "title": title,
        "command": shlex.join(command),
        "value": str(job.reader),
        "direction": "minimize" if request.minimize else "maximize",
        "complete": complete,
        "seed": request.seed,
        "environment": environment(),
        "resume": resume_command(request, complete=complete),
    }


def title_of(command: Sequence[str]) -> str:
    """Return a command as the title of its report: on one line, the slots without quotes.

    Examples
    --------
    >>> title_of(("bench", "my file", "{threads}", "--cache={cache}"))
    "bench 'my file' {threads} --cache={cache}"
    """

    def shown(argument: str) -> str:
        rest = _SLOT.sub("", argument)
        return argument if shlex.quote(rest or "x") == (rest or "x") else shlex.quote(argument)

    title = " ".join(shown(argument) for argument in command)
    return title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…"


def environment() -> dict[str, str]:
    """Return for the results folder the machine and the versions that a session ran with."""
    packages = ("tailproof", "numpy", "scipy", "optuna")
    found = {name: str(importlib.import_module(name).__version__) for name in packages}
    return {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "Python": platform.python_version(),
        **found,
    }


def resume_command(request: Request, *, complete: bool) -> str:
    """Return for the outputs a command line that goes on with the study, without secrets.

    If the budget is used up, the command has twice as many evaluations.
    """
    url = request.storage
    given = _with_evaluations(request.arguments, 2 * request.evaluations if complete else None)
    shown = [text.replace(url, masked(url)) if url else text for text in given]
    variables = [f"{name}={value}" for name, value in request.variables]
    if url and url == os.environ.get(STORAGE_VARIABLE) and not any(url in a for a in given):
        variables.append(f"{STORAGE_VARIABLE}={masked(url)}")
    again = [*(["env", *variables] if variables else []), "tailproof", "tune", *shown]
    return shlex.join(without_secrets(argument) for argument in again)


def _with_evaluations(arguments: tuple[str, ...], evaluations: int | None) -> list[str]:
    """Return the output command's arguments with another number of evaluations.

    Examples
    --------
    >>> _with_evaluations(("--minimize", "--evaluations", "5", "--", "bench"), 10)
    ['--minimize', '--evaluations', '10', '--', 'bench']
    >>> _with_evaluations(("--minimize", "--", "bench"), 10)
    ['--minimize', '--evaluations', '10', '--', 'bench']
    """
    given = list(arguments)
    if evaluations is None:
        return given
    split = given.index("--") if "--" in given else len(given)
    own, command = given[:split], given[split:]
    for i, argument in enumerate(own):
        if argument == "--evaluations" and i + 1 < len(own):
            own[i + 1] = str(evaluations)
            return own + command
        if argument.startswith("--evaluations="):
            own[i] = f"--evaluations={evaluations}"
            return own + command
    return [*own, "--evaluations", str(evaluations), *command]
