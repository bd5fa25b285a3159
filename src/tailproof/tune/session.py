"""One `tailproof tune`: everything is checked, trials run, then the answer is said and written."""

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
from tailproof.search.space.space import Space
from tailproof.tails.picture import figure_class
from tailproof.tune import payoff, template
from tailproof.tune.answer import Answer, conclude
from tailproof.tune.claims import tally
from tailproof.tune.crew import Interrupt, interrupts, one_thread, work
from tailproof.tune.export import (
    CSV_NAME,
    JSON_NAME,
    Truth,
    outcome,
    summary,
    whole,
    write_csv,
    write_json,
)
from tailproof.tune.live import Live, one_line
from tailproof.tune.process import Stop
from tailproof.tune.report import REPORT_NAME, report, rows, said_of, tails
from tailproof.tune.study import Identity, open_storage, open_study, reason
from tailproof.tune.urls import file_url, masked, without_secrets
from tailproof.tune.work import End, Job

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
    trials : int
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
    trials: int = 100
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


def run(request: Request, truth: Truth | None = None) -> int:
    """Tune, and return the exit code: 0 complete, 1 failed after it had begun, 130 interrupted.

    Parameters
    ----------
    request : Request
    truth : callable, optional
        The true mean payoff of a setting, where it is known; it is put beside the estimates.

    Raises
    ------
    ValueError, OSError, ImportError
        If something is wrong with the request: before anything runs.
    """
    with one_thread():
        job = prepare(request)
        try:
            with interrupts() as wish:
                return _run(job, request, truth, wish)
        except KeyboardInterrupt:
            print("tailproof tune: interrupted; nothing more is written.", file=sys.stderr)
            return _EXIT[End.INTERRUPTED]
        except Exception as error:
            if not is_expected(error):
                raise
            said = without_secrets(reason(error), job.url)
            print(f"tailproof tune: {one_line(said)}", file=sys.stderr)
            return 1


def is_expected(error: Exception) -> bool:
    """Return whether an error is one of the world, to be said in a line, and not one of ours."""
    whose = type(error).__module__.partition(".")[0]
    known = (ValueError, OSError, ImportError, RuntimeError, sqlite3.Error)
    return isinstance(error, known) or whose in ("optuna", "sqlalchemy")


def _run(job: Job, request: Request, truth: Truth | None, wish: Interrupt) -> int:
    begin = time.monotonic()
    with Live(request.trials, request.minimize, quiet=request.quiet) as live:

        def stop() -> Stop:
            live.tick()
            return wish()

        end = work(job, request.workers, live.event, stop)
    wish.programs_have_ended()
    _say_end(end, job)
    answer = _conclude(job, request)
    if answer is None:
        print("There is no payoff yet: nothing can be recommended.")
        return _EXIT[end] or 1
    _write(answer, job, request, truth)
    print(words(answer, truth, time.monotonic() - begin))
    print(f"Report: {request.out / REPORT_NAME}   trials: {request.out / CSV_NAME}")
    return _EXIT[end]


def prepare(request: Request) -> Job:
    """Check everything that can be checked before a program runs, and open the study."""
    if not hasattr(os, "killpg"):
        raise OSError("tune needs process groups, which this system does not have.")
    figure_class()  # better missing now than after the work
    for name, low in (("trials", 1), ("workers", 1), ("retry", 0), ("max_failures", 0)):
        checks.integer(name, getattr(request, name), low=low)
    if request.seed is not None:
        checks.integer("seed", request.seed, low=0)
    if request.timeout is not None:
        checks.positive("timeout", request.timeout)
    checks.in_unit_interval("level", request.level, closed_above=False)
    checks.choice("stream", request.stream, ("stdout", "stderr"))
    value = payoff.parse(request.value)
    command = template.parse(request.command, request.space.names)
    _find(command.program)
    _check_folder(request.out)
    identity = Identity(
        request.command, request.space.state(), str(value), request.minimize, request.stream
    )
    url = request.storage or file_url(request.out / STUDY_FILE)
    name = request.study_name or identity.name()
    storage = open_storage(url)
    try:
        study = open_study(storage, name, identity, request.seed)
        failed = tally(study.get_trials(deepcopy=False)).failed
    finally:
        storage.remove_session()
        storage.engine.dispose()
    return Job(
        url=url,
        study_name=name,
        identity=identity,
        command=command,
        value=value,
        stream=request.stream,
        timeout=request.timeout,
        trials=request.trials,
        retry=request.retry,
        most_failures=request.max_failures,
        failed_before=failed,
        seed=request.seed,
        output=request.out.absolute() / OUTPUT_FOLDER / name if request.keep_output else None,
    )


def _find(program: str) -> None:
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


def _conclude(job: Job, request: Request) -> Answer | None:
    storage = open_storage(job.url)
    try:
        study = open_study(storage, job.study_name, job.identity, job.seed)
        trials = study.get_trials(deepcopy=False)
    finally:
        storage.remove_session()
        storage.engine.dispose()
    answer = conclude(
        trials,
        request.space,
        minimize=request.minimize,
        level=request.level,
        seed=request.seed,
    )
    if answer is None:
        _say_last_failure(trials)
    return answer


def _say_last_failure(trials: list[Any]) -> None:
    noted = next((outcome(one) for one in reversed(trials) if "reason" in outcome(one)), None)
    if noted is None:
        return
    print(f"The last failure: {one_line(str(noted['reason']))}", file=sys.stderr)
    output = str(noted.get("stderr") or noted.get("stdout") or "").strip().splitlines()
    for line in output[-_LINES_OF_OUTPUT:]:
        print(f"  | {one_line(line)}", file=sys.stderr)


def _say_end(end: End, job: Job) -> None:
    if end is End.INTERRUPTED:
        print("tailproof tune: interrupted; the same command goes on.", file=sys.stderr)
    elif end is End.BROKEN:
        print(
            f"tailproof tune: stopped: {job.most_failures} trials failed and none gave a payoff; "
            "is the command right? (--max-failures 0 goes on regardless)",
            file=sys.stderr,
        )


def _about(job: Job, request: Request) -> dict[str, Any]:
    title = shlex.join([Path(job.command.program).name, *request.command[1:]])
    return {
        "name": job.study_name,
        "storage": masked(job.url),
        "title": title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…",
        "command": shlex.join(request.command),
        "value": str(job.value),
        "direction": "minimize" if request.minimize else "maximize",
        "go_on": _go_on(request),
    }


def _go_on(request: Request) -> str:
    """Return the command line that goes on, without secrets."""
    url = request.storage
    shown = [one.replace(url, masked(url)) if url else one for one in request.arguments]
    variables = [f"{name}={value}" for name, value in request.variables]
    return shlex.join([*(["env", *variables] if variables else []), "tailproof", "tune", *shown])


def _write(answer: Answer, job: Job, request: Request, truth: Truth | None) -> None:
    about = _about(job, request)
    write_csv(answer, request.out / CSV_NAME)
    write_json(summary(answer, about, truth), request.out / JSON_NAME)
    page = report(answer, about, truth)
    with whole(request.out / REPORT_NAME) as file:
        file.write(page)


def words(answer: Answer, truth: Truth | None, seconds: float) -> str:
    """Return the answer as text."""
    lines = [f"{said_of(answer)}; this session took {seconds:.1f} s.", ""]
    table = rows(answer, truth)
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    for row in table:
        cells = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    tamed = int(answer.tamed.sum())
    lines += ["", f"{tamed} of {len(answer.values)} payoffs were tamed. Tails: {tails(answer)}"]
    return "\n".join(lines)
