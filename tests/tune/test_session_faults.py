"""Interrupted, killed, shared: `tailproof tune` in processes of its own."""

import contextlib
import os
import signal
import sqlite3
import time
from collections import Counter

import psutil
import pytest

from postgresql import a_server, start
from tailproof.tune import patience, session
from tailproof.tune.study import planned_params
from tailproof.tune.trial_queue import TrialCounts, count_trials
from tailproof.tune.urls import file_url
from tune_studies import has_ended, stored_trials, wait_for

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


def test_interrupted_once_it_stops_and_the_same_command_goes_on(shell, tune, program, tmp_path):
    command, notes, hold = noting(program, tmp_path, free=2)
    arguments = (
        *("--minimize", "--evaluations", 8, "--seed", 0, "--out", "o"),
        *("--int", "n", 1, 99, "--", *command, "{n}"),
    )
    process = shell(*arguments)
    wait_for(lambda: count(notes, "began") == 3)
    process.send_signal(INTERRUPT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "The same command goes on:" in err
    assert "recommended" in out
    assert "Traceback" not in err
    stopped = stored_trials(file_url(tmp_path / "o" / "study.db"))
    found = count_trials(stopped)
    assert found.running == 0
    assert found.failed == 0
    assert (found.complete, found.waiting) == (2, 1)  # what was interrupted is to run again
    hold.unlink()
    assert tune(*arguments)[0] == 0
    after = stored_trials(file_url(tmp_path / "o" / "study.db"))
    assert count_trials(after) == TrialCounts(complete=8)
    again = Counter(t.params["n"] for t in after if t.state.name == "COMPLETE")
    for trial in stopped:
        if trial.state.name == "WAITING":
            assert again[planned_params(trial)["n"]] >= 1
    assert count(notes, "ended") == 8


def test_killed_at_any_moment_nothing_is_stuck(shell, tune, program, tmp_path):
    command, notes, hold = noting(program, tmp_path, free=1)
    arguments = (
        *("--minimize", "--evaluations", 6, "--seed", 0, "--out", "o"),
        *("--int", "n", 1, 99, "--", *command, "{n}"),
    )
    process = shell(*arguments)
    wait_for(lambda: count(notes, "began") == 2)
    process.kill()
    process.wait()
    hold.unlink()
    code, _, err = tune(*arguments)
    assert code == 0, err
    found = count_trials(stored_trials(file_url(tmp_path / "o" / "study.db")))
    assert (found.complete, found.running, found.waiting) == (6, 0, 0)


def test_a_worker_that_dies_is_replaced_and_its_trial_run_again(shell, tune, program, tmp_path):
    # The third run kills its worker, once; the seventh waits to be interrupted, once: after another
    # worker has noticed what became of the third.
    killed, waits, study = tmp_path / "killed", tmp_path / "waits", tmp_path / "o" / "study.db"
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
        *("--minimize", "--evaluations", 12, "--workers", 2, "--seed", 0, "--out", "o"),
        *("--int", "n", 1, 99, "--", *command, "{n}"),
    )
    process = shell(*arguments)
    wait_for(lambda: waits.exists())
    with contextlib.closing(sqlite3.connect(study, timeout=300)) as trials:
        given_up = "SELECT COUNT(*) FROM trials WHERE number = 2 AND state = 'FAIL'"
        wait_for(lambda: trials.execute(given_up).fetchone() == (1,))
    process.send_signal(INTERRUPT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    stopped = stored_trials(file_url(study))
    assert stopped[2].user_attrs["outcome"]["reason"] == "its worker died"
    found = count_trials(stopped)
    assert (found.failed, found.running) == (0, 0)
    assert found.complete >= 2
    wait_for(lambda: has_ended(int(killed.read_text())))
    alone = list(arguments)
    alone[alone.index("--workers") + 1] = 1
    assert tune(*alone)[0] == 0
    found = count_trials(stored_trials(file_url(tmp_path / "o" / "study.db")))
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
            *("--minimize", "--evaluations", budget, "--workers", several, "--seed", 0),
            *("--out", f"o{i}", "--storage", url, "--int", "n", 1, 99, "--", *command, "{n}"),
            WHO=f"command{i}",
        )
        for i, several in enumerate(workers)
    ]
    for process in processes:
        _, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
        assert f"{budget} of {budget} evaluations" in err
    ran = [line.split() for line in notes.read_text().splitlines()]
    assert {who for who, _ in ran} == {"command0", "command1"}
    assert len(ran) == len({trial for _, trial in ran}) == budget  # no trial ran twice
    found = stored_trials(url)
    assert count_trials(found) == TrialCounts(complete=budget)
    assert (tmp_path / "o0" / "report.html").is_file()
    assert (tmp_path / "o1" / "report.html").is_file()


def test_two_commands_share_one_file_and_the_budget_is_exact(shell, program, tmp_path):
    shares_the_work(
        shell, program, tmp_path, file_url(tmp_path / "study.db"), budget=24, workers=(2, 1)
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Return a PostgreSQL server."""
    with a_server(tmp_path_factory.mktemp("pg") / "data") as started:
        yield started


@pytest.fixture
def postgresql(server, request):
    """Return the server, and the URL of a new database in it."""
    name = f"db{abs(hash(request.node.name))}"
    server.psql(f"create database {name}")
    return server, server.get_uri(database=name, driver="psycopg")


def test_two_commands_share_one_postgresql_and_the_budget_is_exact(
    shell, program, tmp_path, postgresql
):
    _, url = postgresql
    shares_the_work(shell, program, tmp_path, url, budget=16, workers=(1, 1))


def test_a_database_that_restarts_is_waited_for(shell, program, tmp_path, postgresql):
    server, url = postgresql
    command, notes, hold = noting(program, tmp_path, free=2)
    process = shell(
        *("--minimize", "--evaluations", 5, "--seed", 0, "--out", "o", "--storage", url),
        *("--int", "n", 1, 99, "--", *command, "{n}"),
    )
    wait_for(lambda: count(notes, "began") == 3)
    server.stop()
    hold.unlink()  # its payoff cannot be stored
    wait_for(lambda: count(notes, "ended") == 3)
    start(server)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert count_trials(stored_trials(url)) == TrialCounts(complete=5)
    assert count(notes, "ended") == 5


def test_a_database_that_restarts_while_a_session_starts_is_waited_for(
    tune, program, monkeypatch, postgresql
):
    server, url = postgresql
    away, stopped = [], set()

    class Clock:
        monotonic = staticmethod(time.monotonic)

        @staticmethod
        def sleep(seconds):
            if away:
                start(server)
                away.clear()

    def after_a_stop(function):
        def call(*arguments):
            if function not in stopped:
                stopped.add(function)
                server.stop()
                away.append(True)
            return function(*arguments)

        return call

    monkeypatch.setattr(patience, "time", Clock)
    monkeypatch.setattr(patience, "START_TIMEOUT", 600.0)
    for name in ("prepare", "run_workers", "_analyze_session"):
        monkeypatch.setattr(session, name, after_a_stop(getattr(session, name)))
    arguments = ("--minimize", "--evaluations", 2, "--storage", url, "--int", "n", 1, 9, "--")
    code, _, err = tune(*arguments, *program("print(1)"), "{n}")
    assert code == 0, err
    assert "waiting: cannot open the storage" in err
    assert err.count("going on after a wait") == 3, err
    assert count_trials(stored_trials(url)) == TrialCounts(complete=2)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_is_said_at_once_and_the_session_goes_on_when_there_is_space(
    shell, program, tmp_path, small_disk, fill, workers
):
    command, notes, hold = noting(program, tmp_path, free=2)
    process = shell(
        *("--minimize", "--evaluations", 6, "--seed", 0, "--workers", workers, "--quiet"),
        *("--out", small_disk / "o", "--int", "n", 1, 99, "--", *command, "{n}"),
    )
    wait_for(lambda: count(notes, "began") == 2 + workers)
    fill(small_disk / "stuffing")
    hold.unlink()  # its payoff cannot be stored
    said = process.stderr.readline()
    assert "waiting: no space left on device: the storage sqlite:///" in said, said
    (small_disk / "stuffing").unlink()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "going on after a wait" in err
    assert count_trials(stored_trials(small_disk / "o")) == TrialCounts(complete=6)
    assert (small_disk / "o" / "report.html").is_file()


def test_results_wait_for_space(shell, program, tmp_path, small_disk, fill):
    command, notes, hold = noting(program, tmp_path, free=1)
    process = shell(
        *("--minimize", "--evaluations", 2, "--seed", 0, "--quiet", "--out", small_disk / "o"),
        *("--storage", file_url(tmp_path / "study.db")),
        *("--int", "n", 1, 99, "--", *command, "{n}"),
    )
    wait_for(lambda: count(notes, "began") == 2)
    fill(small_disk / "stuffing")
    hold.unlink()
    said = process.stderr.readline()
    assert f"waiting: no space left on device: {small_disk}/o/trials.csv" in said, said
    (small_disk / "stuffing").unlink()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    written = {path.name for path in (small_disk / "o").iterdir()}
    assert written == {"report.html", "trials.csv", "result.json"}


def test_interrupted_while_it_waits_for_space_it_ends_at_once_and_goes_on_later(
    shell, tune, program, tmp_path, small_disk, fill
):
    command, notes, hold = noting(program, tmp_path, free=2)
    arguments = (
        *("--minimize", "--evaluations", 4, "--seed", 0, "--quiet", "--out", small_disk / "o"),
        *("--int", "n", 1, 99, "--", *command, "{n}"),
    )
    process = shell(*arguments)
    wait_for(lambda: count(notes, "began") == 3)
    fill(small_disk / "stuffing")
    hold.unlink()
    assert "waiting: no space left on device" in process.stderr.readline()
    process.send_signal(INTERRUPT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "no space left on device" in err
    assert "Traceback" not in err
    (small_disk / "stuffing").unlink()
    assert tune(*arguments)[0] == 0
    assert count_trials(stored_trials(small_disk / "o")) == TrialCounts(complete=4)


def test_interrupted_while_its_workers_start_it_ends_in_order(shell, program, tmp_path):
    command, _, _ = noting(program, tmp_path, free=0)
    process = shell(
        *("--minimize", "--evaluations", 4, "--workers", 2, "--out", "o"),
        *("--int", "n", 1, 9, "--", *command, "{n}"),
        own_group=True,
    )
    started = psutil.Process(process.pid)
    # Beside two helpers of multiprocessing, the first of them, or both.
    wait_for(lambda: len(started.children(recursive=True)) >= 3, pause=0.2)
    os.killpg(process.pid, INTERRUPT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "The same command goes on:" in err
    found = count_trials(stored_trials(file_url(tmp_path / "o" / "study.db")))
    assert (found.failed, found.running) == (0, 0)


def test_an_interruption_before_the_first_payoff_says_that_nothing_has_run(
    shell, program, tmp_path
):
    command, notes, _ = noting(program, tmp_path, free=0)
    arguments = ("--minimize", "--evaluations", 8, "--out", "o", "--int", "n", 1, 99, "--")
    process = shell(*arguments, *command, "{n}")
    wait_for(lambda: count(notes, "began") == 1)
    process.send_signal(INTERRUPT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert out == "Nothing has run yet: no program had ended.\n"
    assert "tailproof tune --minimize --evaluations 8 --out o --int n 1 99 -- " in err
    assert not (tmp_path / "o" / "report.html").exists()
