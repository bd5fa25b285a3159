"""A session of `tailproof tune`: checks everything, runs trials, writes and prints the results."""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailproof._util.console import printable, terminal_width
from tailproof._util.files import write_json, write_text
from tailproof._util.interrupts import exit_on_interrupt
from tailproof._util.threads import single_thread
from tailproof.tune.analysis import Analysis, TrueMean, analyze
from tailproof.tune.display import TuneDisplay
from tailproof.tune.export import result, result_without_payoff, write_csv
from tailproof.tune.outputs import (
    CSV_NAME,
    JSON_NAME,
    REPORT_NAME,
    resume_command,
    study_values,
)
from tailproof.tune.patience import Patience, WaitNotice, cause, is_disk_full
from tailproof.tune.phases import budget_of
from tailproof.tune.report import page_without_payoff, report_page, report_values
from tailproof.tune.request import Job, Request, prepare
from tailproof.tune.signals import Stop, StopRequest, stop_requests
from tailproof.tune.study import first_line, open_study, opened_storage
from tailproof.tune.summary import summary_text
from tailproof.tune.trial_queue import counts_toward_budget, outcome_of
from tailproof.tune.urls import without_secrets
from tailproof.tune.worker import End
from tailproof.tune.worker_pool import run_workers

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

_EXIT = {End.COMPLETE: 0, End.BROKEN: 1, End.INTERRUPTED: 130}
_LINES_OF_OUTPUT = 5
_LONGEST_LINE = 200  # characters of a line of output, or of an error


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
    """Print what ended the session, in one line without secrets."""
    full = is_disk_full(error, job.url)
    message = cause(error, job.url) if full else without_secrets(first_line(error), job.url)
    print(f"tailproof tune: {printable(message, 5 * _LONGEST_LINE)}", file=sys.stderr)


def is_expected(error: Exception) -> bool:
    """Return whether an error that ends a session is no bug, so that one line shows it."""
    package = type(error).__module__.partition(".")[0]
    expected = (ValueError, OSError, ImportError, RuntimeError, sqlite3.Error)
    return isinstance(error, expected) or package in ("optuna", "sqlalchemy")


def _run_session(job: Job, true_mean: TrueMean | None, stop_request: StopRequest) -> SessionResult:
    """Run the workers, analyze the study, write and print the results."""
    begin = time.monotonic()
    request = job.request
    with TuneDisplay(request.evaluations, request.minimize, quiet=request.quiet) as display:

        def stop() -> Stop:
            display.update()
            return stop_request()

        end = run_workers(job, request.workers, display.event, stop)
    stop_request.programs_have_ended()
    if end is End.BROKEN:
        print(
            f"tailproof tune: stopped: {request.max_failures} trials failed and none gave a "
            "payoff; is the command right? (--max-failures 0 goes on regardless)",
            file=sys.stderr,
        )
    notice = WaitNotice(lambda line: print(f"tailproof tune: {line}", file=sys.stderr, flush=True))
    patiently = Patience(job.url, stop_request, notice.waiting, notice.resumed)
    trials, analysis = patiently(lambda: _analyze_session(job))
    study, values = study_values(job, complete=end is End.COMPLETE), None
    if analysis is not None:
        values = _write_session_files(analysis, job, study, true_mean, patiently)
        seconds, width = time.monotonic() - begin, terminal_width(sys.stdout)
        print(summary_text(analysis, true_mean, seconds, width))
    elif trials:
        _write_files_without_payoff(trials, job, study, patiently)
        _print_last_failed_trial(trials)
        which = "the only trial" if len(trials) == 1 else f"all of {len(trials):,} trials"
        print(f"No payoff: {which} failed, so nothing can be recommended.")
    else:
        print("Nothing has run yet: no program had ended.")
    if trials:
        print(f"Report: {job.folder / REPORT_NAME}   trials: {job.folder / CSV_NAME}")
    if end is End.INTERRUPTED:
        again = resume_command(request, complete=False)
        print(f"tailproof tune: interrupted. The same command goes on:\n  {again}", file=sys.stderr)
    return SessionResult(_EXIT[end] or (1 if analysis is None else 0), values)


def _analyze_session(job: Job) -> tuple[list[FrozenTrial], Analysis | None]:
    """Return the finished trials that count, and their analysis; None if there is no payoff."""
    from tailproof.integrations._optuna_decisions import StudyRace

    request = job.request
    with opened_storage(job.url) as storage:
        study = open_study(storage, job.study_name, job.identity, request.seed)
        trials = study.get_trials(deepcopy=False)
        race, rule = StudyRace.of(study), budget_of(study, request).rule
    aim, level, seed = request.minimize, request.level, request.seed
    analysis = analyze(
        trials, request.space, minimize=aim, level=level, seed=seed, race=race, stopped_by=rule
    )
    finished = [t for t in trials if t.state.is_finished() and counts_toward_budget(t)]
    return finished, analysis


def _print_last_failed_trial(trials: list[FrozenTrial]) -> None:
    """Print why the last trial failed, and the end of its output."""
    outcomes = (outcome_of(trial) for trial in reversed(trials))
    noted = next((found for found in outcomes if "reason" in found), None)
    if noted is None:
        return
    reason = printable(str(noted["reason"]), _LONGEST_LINE)
    print(f"The last failure: {reason}", file=sys.stderr)
    output = str(noted.get("stderr") or noted.get("stdout") or "").strip().splitlines()
    for line in output[-_LINES_OF_OUTPUT:]:
        print(f"  | {printable(line, _LONGEST_LINE)}", file=sys.stderr)


def _write_session_files(
    analysis: Analysis,
    job: Job,
    study: Mapping[str, Any],
    true_mean: TrueMean | None,
    patiently: Patience,
) -> dict[str, Any]:
    """Write all files of the session; return the values of the report."""
    values = report_values(analysis, study, true_mean)
    files = (analysis.trials, analysis.clipped_by_number, result(analysis, study, true_mean))
    _write_files(job, *files, report_page(values), patiently)
    return values


def _write_files_without_payoff(
    trials: list[FrozenTrial], job: Job, study: Mapping[str, Any], patiently: Patience
) -> None:
    """Write the files of a session in which every trial failed."""
    exported = result_without_payoff(trials, study)
    _write_files(job, trials, {}, exported, page_without_payoff(trials, study), patiently)


def _write_files(
    job: Job,
    trials: list[FrozenTrial],
    clipped: Mapping[int, bool],
    exported: dict[str, Any],
    page: str,
    patiently: Patience,
) -> None:
    """Write table, result and report of the session, waiting for space on the disk."""
    folder, space = job.folder, job.request.space
    patiently(lambda: write_csv(trials, space, clipped, folder / CSV_NAME))
    patiently(lambda: write_json(folder / JSON_NAME, exported))
    patiently(lambda: write_text(folder / REPORT_NAME, page))
