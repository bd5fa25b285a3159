import os
import signal
import sys

import psutil
import pytest

from tailproof.tune import process
from tailproof.tune.process import run
from tune_studies import has_ended, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs a subreaper")

# A child in a session of its own, and its child in another one, whose parent ends at once.
LEAVING = """
import os, signal, sys, time
def leave():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            note()
            time.sleep(600)
        if sys.argv[3] == "orphan":
            os._exit(0)
        note()
        time.sleep(600)
def note():
    with open(sys.argv[1], "a") as file:
        file.write(f"{os.getpid()}\\n")
leave()
while len(open(sys.argv[1]).readlines()) < (1 if sys.argv[3] == "orphan" else 2):
    time.sleep(0.01)
open(sys.argv[2], "a").write("x")
time.sleep(float(sys.argv[4]))
"""


def start(program, tmp_path, clock, kind, seconds):
    pids = tmp_path / "pids"
    pids.touch()
    arguments = [*program(LEAVING), str(pids), str(clock), kind, str(seconds)]
    result = run(arguments, timeout=500.0)
    return result, [int(line) for line in pids.read_text().split()]


@pytest.mark.parametrize("kind", ["orphan", "chain"])
def test_what_left_the_group_is_killed_after_a_timeout(program, tmp_path, jumping_clock, kind):
    result, pids = start(program, tmp_path, jumping_clock, kind, 600)
    assert result.reason == "timeout"
    for pid in pids:
        wait_for(lambda pid=pid: has_ended(pid))
    left = {child.pid for child in psutil.Process().children(recursive=True)}
    assert not left.intersection(pids)  # not even to be waited for


def test_a_daemon_outlives_a_program_that_ends_by_itself(program, tmp_path):
    result, (daemon,) = start(program, tmp_path, tmp_path / "no clock", "orphan", 0)
    assert (result.reason, result.code) == ("", 0)
    try:
        assert not has_ended(daemon)
        assert run(program("pass", "other.py")).code == 0
        assert run(program("import time; time.sleep(600)", "third.py"), stop=stopped).reason
        assert not has_ended(daemon)  # it is not of that run
    finally:
        os.kill(daemon, signal.SIGKILL)
    wait_for(lambda: has_ended(daemon))
    assert run(program("pass", "other.py")).code == 0
    assert not psutil.pid_exists(daemon)  # it was reaped


def stopped():
    return process.Stop.AT_ONCE
