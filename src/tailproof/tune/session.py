"""A session of `tailproof tune`: checks everything, runs trials, writes and prints the results."""

from __future__ import annotations

import shlex
import sqlite3
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailproof._util.console import printable
from tailproof._util.files import write_json, write_text
from tailproof._util.interrupts import exit_on_interrupt
from tailproof._util.threads import single_thread
from tailproof.tune.analysis import Analysis, TrueMean, analyze
from tailproof.tune.display import ProgressDisplay
from tailproof.tune.export import outcome, result, write_csv
from tailproof.tune.patience import Patience, WaitNotice, cause, is_disk_full
from tailproof.tune.report import report_page, report_values
from tailproof.tune.request import CSV_NAME, JSON_NAME, REPORT_NAME, Job, Request, prepare
from tailproof.tune.signals import Stop, StopRequest, stop_requests
from tailproof.tune.study import first_line, open_study, opened_storage
from tailproof.tune.summary import summary_text
from tailproof.tune.urls import masked, without_secrets
from tailproof.tune.worker import End
from tailproof.tune.worker_pool import run_workers

_EXIT = {End.COMPLETE: 0, End.BROKEN: 1, End.INTERRUPTED: 130}
_LINES_OF_OUTPUT = 5
_LONGEST_LINE = 200  # characters of a line of output, or of an error
_LONGEST_TITLE = 70


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
    """Tune a program in a session, and write and print the results.

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
        with exit_on_interrupt("tailproof tune"):  # no program runs yet
            job = prepare(request)
        try:
            with stop_requests() as stop:
                try:
                    return _run_session(job, true_mean, stop)
                except Exception as error:
                    if not is_expected(error):
                        raise
                    _print_session_error(error, job)
                    return SessionResult(_EXIT[End.INTERRUPTED] if stop() is not Stop.NO else 1)
        except KeyboardInterrupt:
            print("tailproof tune: interrupted; nothing more is written.", file=sys.stderr)
            return SessionResult(_EXIT[End.INTERRUPTED])


def _print_session_error(error: Exception, job: Job) -> None:
    full = is_disk_full(error, job.url)
    message = cause(error, job.url) if full else without_secrets(first_line(error), job.url)
    print(f"tailproof tune: {printable(message, 5 * _LONGEST_LINE)}", file=sys.stderr)


def is_expected(error: Exception) -> bool:
    """Return whether an error is to be shown in one line, because it does not look like a bug."""
    package = type(error).__module__.partition(".")[0]
    expected = (ValueError, OSError, ImportError, RuntimeError, sqlite3.Error)
    return isinstance(error, expected) or package in ("optuna", "sqlalchemy")


def _run_session(job: Job, true_mean: TrueMean | None, stop_request: StopRequest) -> SessionResult:
    begin = time.monotonic()
    request = job.request
    with ProgressDisplay(request.evaluations, request.minimize, quiet=request.quiet) as display:

        def stop() -> Stop:
            display.update()
            return stop_request()

        end = run_workers(job, request.workers, display.event, stop)
    stop_request.programs_have_ended()
    _print_session_end(end, job)
    notice = WaitNotice(lambda line: print(f"tailproof tune: {line}", file=sys.stderr, flush=True))
    patiently = Patience(job.url, stop_request, notice.waiting, notice.resumed)
    analysis = patiently(lambda: _analyze_session(job))
    if analysis is None:
        print("There is no payoff yet: nothing can be recommended.")
        return SessionResult(_EXIT[end] or 1)
    values = _write_session_files(analysis, job, true_mean, patiently)
    print(summary_text(analysis, true_mean, time.monotonic() - begin))
    print(f"Report: {request.out / REPORT_NAME}   trials: {request.out / CSV_NAME}")
    return SessionResult(_EXIT[end], values)


def _analyze_session(job: Job) -> Analysis | None:
    request = job.request
    with opened_storage(job.url) as storage:
        study = open_study(storage, job.study_name, job.identity, request.seed)
        trials = study.get_trials(deepcopy=False)
    aim, level, seed = request.minimize, request.level, request.seed
    analysis = analyze(trials, request.space, minimize=aim, level=level, seed=seed)
    if analysis is None:
        _print_last_failed_trial(trials)
    return analysis


def _print_last_failed_trial(trials: list[Any]) -> None:
    outcomes = (outcome(trial) for trial in reversed(trials))
    noted = next((found for found in outcomes if "reason" in found), None)
    if noted is None:
        return
    reason = printable(str(noted["reason"]), _LONGEST_LINE)
    print(f"The last failure: {reason}", file=sys.stderr)
    output = str(noted.get("stderr") or noted.get("stdout") or "").strip().splitlines()
    for line in output[-_LINES_OF_OUTPUT:]:
        print(f"  | {printable(line, _LONGEST_LINE)}", file=sys.stderr)


def _print_session_end(end: End, job: Job) -> None:
    if end is End.INTERRUPTED:
        print("tailproof tune: interrupted; the same command goes on.", file=sys.stderr)
    elif end is End.BROKEN:
        print(
            f"tailproof tune: stopped: {job.request.max_failures} trials failed and none gave a "
            "payoff; is the command right? (--max-failures 0 goes on regardless)",
            file=sys.stderr,
        )


def _study_values(job: Job) -> dict[str, Any]:
    """Return what report and exports show of the study."""
    request = job.request
    command = [without_secrets(argument) for argument in request.command]
    title = shlex.join([Path(job.command.program).name, *command[1:]])
    return {
        "name": job.study_name,
        "storage": masked(job.url),
        "title": title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…",
        "command": shlex.join(command),
        "value": str(job.reader),
        "direction": "minimize" if request.minimize else "maximize",
        "resume": _resume_command(request),
    }


def _resume_command(request: Request) -> str:
    """Return the command line that goes on with the study, without secrets."""
    url = request.storage
    shown = [text.replace(url, masked(url)) if url else text for text in request.arguments]
    variables = [f"{name}={value}" for name, value in request.variables]
    again = [*(["env", *variables] if variables else []), "tailproof", "tune", *shown]
    return shlex.join(without_secrets(argument) for argument in again)


def _write_session_files(
    analysis: Analysis, job: Job, true_mean: TrueMean | None, patiently: Patience
) -> dict[str, Any]:
    """Write all files of the session; return the values of the report."""
    out, study = job.request.out, _study_values(job)
    patiently(lambda: write_csv(analysis, out / CSV_NAME))
    exported = result(analysis, study, true_mean)
    patiently(lambda: write_json(out / JSON_NAME, exported))
    values = report_values(analysis, study, true_mean)
    page = report_page(values)
    patiently(lambda: write_text(out / REPORT_NAME, page))
    return values
