"""What is to be tuned and how: the request, and the checks before anything runs."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailproof._util import checks
from tailproof._util.optional import require
from tailproof.search.decision.stopping import StoppingRule
from tailproof.search.space.space import Space
from tailproof.tune import phases
from tailproof.tune.command import CommandTemplate, parse_command
from tailproof.tune.outputs import CSV_NAME, JSON_NAME, REPORT_NAME, results_folder
from tailproof.tune.patience import WaitNotice, start_patiently
from tailproof.tune.payoff import PayoffReader, parse_reader
from tailproof.tune.study import Identity, has_studies, open_study, opened_storage
from tailproof.tune.trial_queue import TrialCounts, count_trials
from tailproof.tune.urls import file_url, sqlite_file

STUDY_FILE = "study.db"  # in the folder given


@dataclass(frozen=True)
class Request:
    """What is asked for; units are those of the command line."""

    command: tuple[str, ...]  # program and arguments, with slots
    space: Space
    minimize: bool
    evaluations: int = 100  # trials in all
    value: str = "last-line"  # see `tailproof.tune.payoff`
    stream: str = "stdout"  # or "stderr": where the payoff is read
    timeout: float | None = None  # seconds a run
    workers: int = 1
    retry: int = 0  # how often a failed setting is tried again
    # Failures in a row, without a payoff in the study, that show a broken command; 0: any number.
    max_failures: int = 10
    baseline: Mapping[str, Any] | None = None  # the setting in use now
    confirm: float = 0.2  # share of the trials that runs the few best settings again
    until: str | float | None = None  # stop when no more than this may still be gained
    until_better: bool = False  # stop when a setting is better than the baseline
    fail_value: float | None = None  # payoff of failed trials
    avoid_failures: bool = False
    seed: int | None = None
    level: float = 0.9  # of the intervals
    storage: str | None = None  # an Optuna URL; default: a SQLite file in `out`
    study_name: str | None = None
    out: Path = Path("tailproof-tune")  # folder of study and results
    keep_output: bool = False
    quiet: bool = False
    arguments: tuple[str, ...] = ()  # the command line, to be given again
    variables: tuple[tuple[str, str], ...] = ()  # of the environment, to be set again with it


@dataclass(frozen=True)
class Job:
    """A request that was checked, and what follows from it; can be sent to another process."""

    request: Request
    url: str  # of the storage
    study_name: str
    identity: Identity
    command: CommandTemplate
    reader: PayoffReader
    failed_before: int  # failures in the study when the session began
    folder: Path  # of the results: `request.out`, or one inside it if that is another study's


def prepare(request: Request) -> Job:
    """Check all of a request that can be checked before a program runs, and open the study."""
    if not hasattr(os, "killpg"):
        raise OSError("tune needs process groups, which this system does not have.")
    for module in ("jinja2", "matplotlib", "psutil"):  # better missing now than after the work
        require(module, "tune")
    for name, low in (("evaluations", 1), ("workers", 1), ("retry", 0), ("max_failures", 0)):
        checks.integer(name, getattr(request, name), low=low)
    if request.seed is not None:
        checks.integer("seed", request.seed, low=0)
    if request.timeout is not None:
        checks.positive("timeout", request.timeout)
    checks.in_unit_interval("level", request.level, closed_above=False)
    checks.share("confirm", request.confirm)
    if request.fail_value is not None:
        checks.number("fail_value", request.fail_value)
    if request.baseline is not None:
        request.space.position(request.baseline)
    StoppingRule.parse(
        request.until,
        request.until_better,
        request.level,
        has_baseline=request.baseline is not None,
    )
    checks.choice("stream", request.stream, ("stdout", "stderr"))
    reader = parse_reader(request.value)
    command = parse_command(request.command, request.space.names)
    if shutil.which(program := command.program) is None:
        if os.sep in program and Path(program).exists():
            raise ValueError(f"the program {program} is not an executable file.")
        raise ValueError(f"there is no program {program}.")
    _check_output_folder(request.out)
    identity = Identity(
        request.command, request.space.state(), str(reader), request.minimize, request.stream
    )
    url = request.storage or file_url(request.out / STUDY_FILE)
    _check_study_file(sqlite_file(url), request.out)
    name = request.study_name or identity.name()

    def begin() -> tuple[TrialCounts, Path]:
        with opened_storage(url) as storage:
            study = open_study(storage, name, identity, request.seed)
            counts = count_trials(study.get_trials(deepcopy=False))
            phases.begin(study, request, counts)
            return counts, results_folder(request.out, name, None if request.storage else storage)

    notice = WaitNotice(lambda line: print(f"tailproof tune: {line}", file=sys.stderr, flush=True))
    counts, folder = start_patiently(begin, url, notice.waiting)
    notice.resumed()
    _check_output_folder(folder)
    return Job(request, url, name, identity, command, reader, counts.failed, folder)


def _check_study_file(path: Path | None, out: Path) -> None:
    """Check before a request runs that a file with results holds a study: else it was damaged."""
    written = [name for name in (REPORT_NAME, JSON_NAME, CSV_NAME) if (out / name).exists()]
    if path is not None and written and path.is_file() and not has_studies(path):
        raise ValueError(
            f"{path} holds no study, but {out / written[0]} is of an earlier session, and would be "
            "overwritten. Put the study back, or remove the file or give another --out to start "
            "afresh."
        )


def _check_output_folder(out: Path) -> None:
    """Check before a request runs that results can be written into the folder."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise ValueError(f"cannot write into the folder {out}: {error.strerror}.") from None
