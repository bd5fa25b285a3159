"""Ctrl-C while a command starts: one line at most, and never a traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tune_studies import wait_for

# A test run in the background of a script ignores SIGINT, and so do all it starts.
pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="needs signals"),
    pytest.mark.skipif(
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="SIGINT is ignored here"
    ),
]

# Ctrl-C comes when a certain module is imported, from a destructor: where the interpreter would
# print a KeyboardInterrupt and go on.
INTERRUPTED_AMID_AN_IMPORT = """
import os, signal, sys
class Interrupt:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == module:
            Interrupt()
from tailproof.__main__ import run
module = sys.argv.pop(1)
sys.meta_path.insert(0, Finder)
run()
"""
TUNE = ("tune", "--minimize", "--int", "n", "1", "9", "--", "sh", "-c", "echo $1", "sh", "{n}")
REPRODUCE = ("reproduce", "f", "--rounds", "40", "--repetitions", "4")


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("tailproof.cli", ("--version",)),
        ("argparse", ("--version",)),
        ("tailproof.tune.session", TUNE),
        ("optuna", TUNE),
        ("scipy.linalg", REPRODUCE),
    ],
)
def test_a_command_interrupted_while_it_imports_says_so_and_nothing_else(
    module, arguments, tmp_path
):
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AMID_AN_IMPORT, module, *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 130, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert line.endswith(": interrupted.")


# Read by every interpreter at its start: a worker of the pool says so and waits there.
WAIT_IN_WORKERS = """
import os, sys, time
if any("loky" in argument for argument in sys.orig_argv) and "-m" in sys.orig_argv:
    open(os.path.join(os.environ["MARKS"], str(os.getpid())), "w").close()
    for _ in range(30_000):
        time.sleep(0.01)
"""


def test_workers_of_reproduce_that_still_import_are_silent_when_interrupted(tmp_path):
    pytest.importorskip("joblib", reason="joblib is not installed")
    marks, site = tmp_path / "marks", tmp_path / "site"
    marks.mkdir()
    site.mkdir()
    (site / "sitecustomize.py").write_text(WAIT_IN_WORKERS)
    source = str(Path(__file__).parents[1] / "src")
    process = subprocess.Popen(
        [sys.executable, "-m", "tailproof", *REPRODUCE, "--workers", "2", "--out", "o"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{source}", "MARKS": str(marks)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: len(list(marks.iterdir())) >= 2 or process.poll() is not None)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "Traceback" not in err, err
    assert "KeyboardInterrupt" not in err
    assert err.splitlines()[-1].endswith("the same command continues from there.")


LEAVING_SOMETHING = """
from tailproof.experiments import runner
list(runner.local_pool(2)([]))
from joblib.externals.loky.backend import resource_tracker
resource_tracker.register("/tmp/no such file of tailproof", "file")
print("the last message", flush=True)
"""


def test_the_resource_tracker_of_joblib_has_no_last_word():
    pytest.importorskip("joblib", reason="joblib is not installed")
    ended = subprocess.run(
        [sys.executable, "-c", LEAVING_SOMETHING], capture_output=True, text=True, check=True
    )
    assert (ended.stdout, ended.stderr) == ("the last message\n", "")
