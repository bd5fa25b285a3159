"""The command end to end: its files, continuing after a kill, workers, a cluster, missing data."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tailproof._util.files import TEMPORARY_PREFIX
from tailproof.cli import main
from tailproof.experiments import run_files, runner
from tailproof.experiments.problems import ARMS

SAME = ("results.csv", "panel_f.csv", "summary.json", "manifest.json", "figure.svg", "figure.png")


def start(command, out, *more, program=(sys.executable, "-m", "tailproof")):
    """Start a command in a session of its own."""
    return subprocess.Popen(
        [*program, *command, "--out", str(out), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(out):
    return {path: path.stat().st_mtime_ns for path in (out / run_files.RUNS).rglob("*.json")}


def wait_for_runs(process, out, count):
    while len(finished(out)) < count and process.poll() is None:
        time.sleep(0.005)


def assert_same(out, expected):
    for name in SAME:
        assert (out / name).read_bytes() == (expected / name).read_bytes(), name


def test_a_run_leaves_every_file(uninterrupted):
    for name in (*SAME, "timings.json", "report.html"):
        assert (uninterrupted / name).stat().st_size > 0
    with (uninterrupted / "results.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    found = {(row["panel"], row["policy"], row["schedule"]) for row in rows}
    assert found == {
        *(("a", key, "authors") for key in ("tgp", "qff", "nystrom", "qff-folded")),
        *(("c", key, "authors") for key in ("tgp", "nystrom")),
        *(("f", key, "ln t") for key in ("gp", "gp-truncated")),
    }
    assert len(rows) == 8 * 2 * 40
    last = next(row for row in rows if row["repetition"] == "1" and row["round"] == "40")
    kept = json.loads((uninterrupted / "runs/a/tgp/0001.json").read_text())
    assert float(last["regret_per_round"]) == kept["regret_per_round"][-1]
    with (uninterrupted / "panel_f.csv").open(newline="") as stream:
        curves = list(csv.DictReader(stream))
    assert len(curves) == 2 * 2 * len(ARMS)
    assert set(curves[0]) == {"policy", "schedule", "repetition", "x", "f", "mean", "std"}


def test_summary_and_tables_hold_no_times(uninterrupted):
    for name in ("results.csv", "summary.json", "manifest.json"):
        assert "seconds" not in (uninterrupted / name).read_text()
    content = json.loads((uninterrupted / "timings.json").read_text())
    assert set(content["rounds_per_second"]) == {"a", "c", "f"}
    assert content["last_session_on"] == "1 worker processes"


def test_a_finished_run_is_not_run_again(command, uninterrupted, monkeypatch, capsys):
    before = finished(uninterrupted)
    monkeypatch.setattr(runner, "run_repetition", None)
    assert main([*command, "--out", str(uninterrupted), "--workers", "1"]) == 0
    assert finished(uninterrupted) == before
    assert "Report:" in capsys.readouterr().out


def test_only_missing_and_damaged_runs_are_done(command, uninterrupted, tmp_path, monkeypatch):
    out = tmp_path / "out"
    subprocess.run(["cp", "-r", str(uninterrupted), str(out)], check=True)
    (out / "runs/a/qff/0001.json").unlink()
    (out / "runs/f/gp/0000.json").write_bytes(b"")
    ran = []

    def counted(task):
        ran.append(task.name)
        return original(task)

    original = runner.run_repetition
    monkeypatch.setattr(runner, "run_repetition", counted)
    assert main([*command, "--out", str(out), "--workers", "1"]) == 0
    assert sorted(ran) == [("a", "qff", 1), ("f", "gp", 0)]
    assert_same(out, uninterrupted)


# The command, which waits for its end after a number of runs: on a busy machine it could otherwise
# finish before it is killed.
WITHOUT_AN_END = """
import sys, time
from tailproof.cli import main
from tailproof.experiments import run_files
left, write_run = [int(sys.argv[1])], run_files.write_run
def write_few(*arguments):
    while not left[0]:
        time.sleep(1.0)
    left[0] -= 1
    write_run(*arguments)
run_files.write_run = write_few
main(sys.argv[2:])
"""


def test_killed_at_a_random_moment_it_ends_with_the_same_bytes(
    command, uninterrupted, tmp_path, capsys
):
    out, rng = tmp_path / "out", random.Random(20)
    endless = (sys.executable, "-c", WITHOUT_AN_END, "12")
    process = start(command, out, "--workers", "2", program=endless)
    wait_for_runs(process, out, rng.randint(1, 3))
    time.sleep(0.02 * rng.random())
    process.kill()
    _, messages = process.communicate()
    assert process.returncode == -signal.SIGKILL, messages
    before = finished(out)
    assert 0 < len(before) < 16
    assert main([*command, "--out", str(out), "--workers", "1"]) == 0
    assert capsys.readouterr().err.startswith(f"{len(before)} of 16 runs")
    after = finished(out)
    assert {path: after[path] for path in before} == before  # nothing was repeated
    assert not list(out.rglob(f"{TEMPORARY_PREFIX}*"))
    assert_same(out, uninterrupted)  # and neither the kill nor the workers show


@pytest.mark.skipif(
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
    reason="SIGINT is ignored here, as in the background of a script",
)
def test_ctrl_c_stops_at_once_and_says_how_to_continue(command, tmp_path):
    out = tmp_path / "out"
    # So many repetitions that no machine finishes them before the signal comes.
    process = start(command, out, "--workers", "2", "--rounds", "1500", "--repetitions", "2000")
    wait_for_runs(process, out, 1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
    printed, messages = process.communicate()
    assert process.returncode == 130
    assert f"in {out}; the same command continues from there." in messages.splitlines()[-1]
    assert "Traceback" not in messages + printed
    assert not list(out.rglob(f"{TEMPORARY_PREFIX}*"))
    for path in finished(out):
        assert len(json.loads(path.read_text())["regret_per_round"]) == 100


CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", host="127.0.0.1",
        scheduler_port=0, dashboard_address=None,
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


def test_a_dask_cluster_gives_the_same_bytes(command, uninterrupted, tmp_path):
    pytest.importorskip("distributed", reason="Dask is not installed")
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    cluster = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        address = cluster.stdout.readline().strip()
        assert address.startswith("tcp://127.0.0.1:")
        process = start(command, tmp_path / "out", "--scheduler", address)
        _, messages = process.communicate()
        assert process.returncode == 0, messages
    finally:
        cluster.stdin.close()
        cluster.stdout.close()
        cluster.wait()
    assert_same(tmp_path / "out", uninterrupted)


def test_a_scheduler_that_does_not_answer_is_an_error_of_one_line():
    pytest.importorskip("distributed", reason="Dask is not installed")
    with pytest.raises(OSError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        runner.cluster_pool("tcp://127.0.0.1:9", patience=0.2)


def test_other_parameters_are_refused(command, uninterrupted, capsys):
    assert main([*command, "--out", str(uninterrupted), "--seed", "1"]) == 2
    assert "seed is 0 there, 1 here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["q"], "`panel` must be one of"),
        (["e"], "panel e needs --data DIR with light_train.csv"),
        (["a", "--rounds", "0"], "`rounds >= 1` must hold"),
        (["a", "--workers", "0"], "`workers >= 1` must hold"),
        (["a", "--policies", "ucb"], "`policies` must be one of"),
        (["d", "--data", "nowhere"], "stocks.csv"),
    ],
)
def test_an_impossible_request_is_refused_in_one_line(arguments, message, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["reproduce", *arguments, "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tailproof reproduce: ")
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_all_without_data_says_what_it_does_instead(tmp_path, capsys):
    out = tmp_path / "out"
    command = ["reproduce", "all", "--rounds", "20", "--repetitions", "1", "--workers", "1"]
    command += ["--policies", "tgp", "gp", "--out", str(out)]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "Panel e is left out: it needs --data DIR" in printed
    manifest = json.loads((out / "manifest.json").read_text())
    if "d" in manifest["panels"]:
        assert "Panel d runs on an open stand-in" in printed
        assert "stand-in" in manifest["panels"]["d"]["title"]
    else:
        assert "Panel d is left out" in printed
    assert "Panel e is left out" in (out / "report.html").read_text()


def test_the_data_panels_run_and_panels_without_the_policies_are_named(data, tmp_path, capsys):
    out = tmp_path / "out"
    command = [
        "reproduce",
        "d",
        "e",
        "f",
        "--data",
        str(data),
        "--rounds",
        "30",
        "--repetitions",
        "2",
    ]
    command += ["--policies", "tgp", "qff", "nystrom", "exact", "--workers", "1"]
    assert main([*command, "--out", str(out)]) == 0
    assert "Left out, since they have none of --policies: f." in capsys.readouterr().out
    manifest = json.loads((out / "manifest.json").read_text())
    assert list(manifest["panels"]["d"]["policies"]) == ["tgp", "nystrom", "exact"]
    assert list(manifest["panels"]["e"]["policies"]) == ["tgp", "qff", "nystrom", "exact"]


def test_quick_is_small_and_may_be_made_smaller(tmp_path):
    out = tmp_path / "out"
    command = ["reproduce", "a", "f", "--quick", "--policies", "tgp", "gp", "--workers", "1"]
    assert main([*command, "--repetitions", "1", "--out", str(out)]) == 0
    panels = json.loads((out / "manifest.json").read_text())["panels"]
    assert (panels["a"]["rounds"], panels["a"]["repetitions"]) == (1_000, 1)
    assert (panels["f"]["rounds"], panels["f"]["repetitions"]) == (10_000, 1)
