"""A session of `tailproof tune`: checks everything, runs trials, writes and prints the results."""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailproof._util import checks
from tailproof._util.console import printable
from tailproof._util.files import write_json, write_text
from tailproof._util.optional import require
from tailproof._util.threads import single_thread
from tailproof.search.space.space import Space
from tailproof.tune import command, payoff
from tailproof.tune.analysis import Analysis, TrueMean, analyze
from tailproof.tune.display import ProgressDisplay
from tailproof.tune.export import CSV_NAME, JSON_NAME, outcome, result, write_csv
from tailproof.tune.report import REPORT_NAME, report_page, report_values
from tailproof.tune.signals import Stop, StopRequest, stop_requests
from tailproof.tune.study import Identity, first_line, open_study, opened_storage
from tailproof.tune.summary import summary_text
from tailproof.tune.trial_queue import count_trials
from tailproof.tune.urls import file_url, masked, without_secrets
from tailproof.tune.worker import End, Job
from tailproof.tune.worker_pool import run_workers

STUDY_FILE = "study.db"
OUTPUT_FOLDER = "output"
_EXIT = {End.COMPLETE: 0, End.BROKEN: 1, End.INTERRUPTED: 130}
_LINES_OF_OUTPUT = 5
_LONGEST_TITLE = 70


@dataclass(frozen=True)
class Request:
    """What is asked for; units are those of the command line.

    Attributes
    ----------
    command : tuple of str
        Program and arguments, with slots.
    space : Space
    minimize : bool
    evaluations : int
        Trials in all.
    value : str
        See `tailproof.tune.payoff`.
    stream : {"stdout", "stderr"}
        Where the payoff is read.
    timeout : float, optional
        Seconds a run.
    workers, retry, max_failures : int
    seed : int, optional
    level : float
        Of the intervals.
    storage : str, optional
        An Optuna URL; default: a SQLite file in `out`.
    study_name : str, optional
    out : Path
    keep_output, quiet : bool
    arguments : tuple of str
        The command line, to be given again.
    variables : tuple of (str, str)
        Environment variables to be set again with it.
    """

    command: tuple[str, ...]
    space: Space
    minimize: bool
    evaluations: int = 100
    value: str = "last-line"
    stream: str = "stdout"
    timeout: float | None = None
    workers: int = 1
    retry: int = 0
    max_failures: int = 10
    seed: int | None = None
    level: float = 0.9
    storage: str | None = None
    study_name: str | None = None
    out: Path = Path("tailproof-tune")
    keep_output: bool = False
    quiet: bool = False
    arguments: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class SessionResult:
    """How a session ended.

    Attributes
    ----------
    exit_code : int
        0 complete, 1 failed after it had begun, 130 interrupted.
    report : dict or None
        The values of the report, for `tailproof.tune.report.report_page`, if it was written.
    """

    exit_code: int
    report: dict[str, Any] | None = None


def run(request: Request, true_mean: TrueMean | None = None) -> SessionResult:
    """Tune a program, and write and print the results.

    Parameters
    ----------
    request : Request
    true_mean : callable, optional
        The true mean payoff of a setting, where it is known; it is put beside the estimates.

    Raises
    ------
    ValueError, OSError, ImportError
        If something is wrong with the request: before anything runs.
    """
    with single_thread():
        job = prepare(request)
        try:
            with stop_requests() as stop:
                return _run(job, request, true_mean, stop)
        except KeyboardInterrupt:
            print("tailproof tune: interrupted; nothing more is written.", file=sys.stderr)
            return SessionResult(_EXIT[End.INTERRUPTED])
        except Exception as error:
            if not is_expected(error):
                raise
            message = without_secrets(first_line(error), job.url)
            print(f"tailproof tune: {printable(message)}", file=sys.stderr)
            return SessionResult(1)


def is_expected(error: Exception) -> bool:
    """Return whether an error is to be shown in one line, because it does not look like a bug."""
    package = type(error).__module__.partition(".")[0]
    expected = (ValueError, OSError, ImportError, RuntimeError, sqlite3.Error)
    return isinstance(error, expected) or package in ("optuna", "sqlalchemy")


def _run(
    job: Job, request: Request, true_mean: TrueMean | None, stop_request: StopRequest
) -> SessionResult:
    begin = time.monotonic()
    with ProgressDisplay(request.evaluations, request.minimize, quiet=request.quiet) as display:

        def stop() -> Stop:
            display.update()
            return stop_request()

        end = run_workers(job, request.workers, display.event, stop)
    stop_request.programs_have_ended()
    _print_end(end, job)
    analysis = _analyze(job, request)
    if analysis is None:
        print("There is no payoff yet: nothing can be recommended.")
        return SessionResult(_EXIT[end] or 1)
    values = _write(analysis, job, request, true_mean)
    print(summary_text(analysis, true_mean, time.monotonic() - begin))
    print(f"Report: {request.out / REPORT_NAME}   trials: {request.out / CSV_NAME}")
    return SessionResult(_EXIT[end], values)


def prepare(request: Request) -> Job:
    """Check everything that can be checked before a program runs, and open the study."""
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
    checks.choice("stream", request.stream, ("stdout", "stderr"))
    reader = payoff.parse(request.value)
    template = command.parse(request.command, request.space.names)
    _check_program(template.program)
    _check_folder(request.out)
    identity = Identity(
        request.command, request.space.state(), str(reader), request.minimize, request.stream
    )
    url = request.storage or file_url(request.out / STUDY_FILE)
    name = request.study_name or identity.name()
    with opened_storage(url) as storage:
        study = open_study(storage, name, identity, request.seed)
        failed = count_trials(study.get_trials(deepcopy=False)).failed
    return Job(
        url=url,
        study_name=name,
        identity=identity,
        command=template,
        payoff=reader,
        stream=request.stream,
        timeout=request.timeout,
        evaluations=request.evaluations,
        retry=request.retry,
        max_failures=request.max_failures,
        failed_before=failed,
        seed=request.seed,
        output=request.out.absolute() / OUTPUT_FOLDER / name if request.keep_output else None,
    )


def _check_program(program: str) -> None:
    if shutil.which(program) is not None:
        return
    if os.sep in program and Path(program).exists():
        raise ValueError(f"the program {program} is not an executable file.")
    raise ValueError(f"there is no program {program}.")


def _check_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise ValueError(f"cannot write into the folder {out}: {error.strerror}.") from None


def _analyze(job: Job, request: Request) -> Analysis | None:
    with opened_storage(job.url) as storage:
        study = open_study(storage, job.study_name, job.identity, job.seed)
        trials = study.get_trials(deepcopy=False)
    analysis = analyze(
        trials,
        request.space,
        minimize=request.minimize,
        level=request.level,
        seed=request.seed,
    )
    if analysis is None:
        _print_last_failure(trials)
    return analysis


def _print_last_failure(trials: list[Any]) -> None:
    outcomes = (outcome(trial) for trial in reversed(trials))
    noted = next((found for found in outcomes if "reason" in found), None)
    if noted is None:
        return
    print(f"The last failure: {printable(str(noted['reason']))}", file=sys.stderr)
    output = str(noted.get("stderr") or noted.get("stdout") or "").strip().splitlines()
    for line in output[-_LINES_OF_OUTPUT:]:
        print(f"  | {printable(line)}", file=sys.stderr)


def _print_end(end: End, job: Job) -> None:
    if end is End.INTERRUPTED:
        print("tailproof tune: interrupted; the same command goes on.", file=sys.stderr)
    elif end is End.BROKEN:
        print(
            f"tailproof tune: stopped: {job.max_failures} trials failed and none gave a payoff; "
            "is the command right? (--max-failures 0 goes on regardless)",
            file=sys.stderr,
        )


def _study_values(job: Job, request: Request) -> dict[str, Any]:
    """Return what report and exports show of the study."""
    title = shlex.join([Path(job.command.program).name, *request.command[1:]])
    return {
        "name": job.study_name,
        "storage": masked(job.url),
        "title": title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…",
        "command": shlex.join(request.command),
        "value": str(job.payoff),
        "direction": "minimize" if request.minimize else "maximize",
        "resume": _resume_command(request),
    }


def _resume_command(request: Request) -> str:
    """Return the command line that goes on with the study, without secrets."""
    url = request.storage
    shown = [text.replace(url, masked(url)) if url else text for text in request.arguments]
    variables = [f"{name}={value}" for name, value in request.variables]
    return shlex.join([*(["env", *variables] if variables else []), "tailproof", "tune", *shown])


def _write(
    analysis: Analysis, job: Job, request: Request, true_mean: TrueMean | None
) -> dict[str, Any]:
    """Write all files; return the values of the report."""
    study = _study_values(job, request)
    write_csv(analysis, request.out / CSV_NAME)
    write_json(request.out / JSON_NAME, result(analysis, study, true_mean))
    values = report_values(analysis, study, true_mean)
    write_text(request.out / REPORT_NAME, report_page(values))
    return values
