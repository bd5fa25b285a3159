import json
import os
import signal

import pytest

from tailproof.tune import process
from tailproof.tune.payoff import parse_reader
from tailproof.tune.process import excerpt, run
from tailproof.tune.signals import Stop
from tailproof.tune.worker import read_payoff
from tune_studies import has_ended, wait_for

PARENT = """
import os, signal, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", '''
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
'''], stdout=subprocess.PIPE)
child.stdout.readline()
open(sys.argv[1], "w").write(str(child.pid))
print("started", flush=True)
{rest}
open(sys.argv[2], "a").write("x")
{wait}
"""


IGNORE = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


@pytest.mark.parametrize(
    ("rest", "wait", "delay", "reason", "code"),
    [
        ("", "time.sleep(600)", 60.0, "timeout", -signal.SIGTERM),
        (IGNORE, "time.sleep(600)", 0.2, "timeout", -signal.SIGKILL),
        ("", "", 60.0, "", 0),
    ],
    ids=["asked to end", "forced to end", "ends by itself"],
)
def test_nothing_of_a_run_outlives_it(
    program, tmp_path, monkeypatch, jumping_clock, rest, wait, delay, reason, code
):
    monkeypatch.setattr(process, "KILL_DELAY", delay)
    mark, clock = tmp_path / "pid", jumping_clock if wait else tmp_path / "no clock"
    command = program(PARENT.replace("{rest}", rest).replace("{wait}", wait))
    result = run([*command, str(mark), str(clock)], timeout=500.0)
    assert (result.reason, result.code, result.stdout) == (reason, code, b"started\n")
    wait_for(lambda: has_ended(int(mark.read_text())))


def test_a_run_is_stopped_on_request(program, monkeypatch):
    monkeypatch.setattr(process, "KILL_DELAY", 60.0)
    levels = iter([Stop.NO, Stop.YES])
    result = run(program("import time; time.sleep(60)"), stop=lambda: next(levels, Stop.YES))
    assert result.reason == "interrupted"
    assert result.code == -signal.SIGTERM


def test_stopping_at_once_leaves_no_time(program, tmp_path, monkeypatch):
    # Were it given the time, it would end by itself.
    monkeypatch.setattr(process, "KILL_DELAY", 1200.0)
    ready = tmp_path / "ready"
    command = program(
        f"""
        import signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open({str(ready)!r}, "w")
        time.sleep(300)
        """
    )
    levels = iter([Stop.YES])

    def stop():
        return next(levels, Stop.AT_ONCE) if ready.exists() else Stop.NO

    result = run(command, stop=stop)
    assert (result.reason, result.code) == ("interrupted", -signal.SIGKILL)


def test_endless_output_is_stopped(program, monkeypatch):
    monkeypatch.setattr(process, "MAX_OUTPUT", 10_000)
    result = run(program("while True: print('x' * 1000)"))
    assert result.reason == "too much output"
    assert len(result.stdout) == 10_000


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_too_much_output_fails_also_if_the_program_ends_by_itself(program, monkeypatch, stream):
    monkeypatch.setattr(process, "MAX_OUTPUT", 10_000)
    monkeypatch.setattr(process, "_POLL", 600.0)  # its end is all that is seen
    command = program(f"import sys; print('1\\n' * 5000 + '999', file=sys.{stream})")
    result = run(command)
    assert (result.reason, result.code) == ("too much output", 0)
    assert read_payoff(result, parse_reader("last-line"), stream, None) == (None, "too much output")
    just = program(f"import sys; sys.{stream}.write('1' * 10_000)", "just.py")
    assert run(just).reason == ""


def test_a_program_reads_nothing_and_sees_the_environment(program):
    command = program("import os, sys; print(repr(sys.stdin.read()), os.environ['MINE'])")
    assert run(command, environment={"MINE": "yes"}).stdout == b"'' yes\n"


def test_output_is_kept_in_files_on_request(program, tmp_path):
    result = run(
        program("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"),
        folder=tmp_path / "kept",
    )
    assert (result.code, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
    assert (tmp_path / "kept" / "stdout").read_bytes() == b"out\n"
    assert (tmp_path / "kept" / "stderr").read_bytes() == b"err\n"


def test_a_program_that_cannot_start_is_a_result(tmp_path):
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x00\x01")
    broken.chmod(0o755)
    result = run([str(broken)])
    assert result.code is None
    assert result.reason.startswith("could not start")


def test_the_end_is_seen_without_help_of_the_kernel(program, monkeypatch):
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    assert run(program("print(7)")).stdout == b"7\n"
    assert run(program("import time; time.sleep(600)"), timeout=0.3).reason == "timeout"


def test_excerpts_are_short_in_every_encoding():
    for output in (b"x" * 10**6, b"\x00" * 10**6, "é😀".encode() * 10**5, b"\xff" * 10**6):
        shown = excerpt(output, 24_000)
        assert len(json.dumps(shown)) <= 24_100
        assert "bytes left out" in shown
    assert excerpt(b"whole", 100) == "whole"


def test_the_group_is_told(program):
    groups = []
    result = run(program("import os; print(os.getpgid(0))"), started=groups.append)
    assert groups == [int(result.stdout)]
    assert groups[0] != os.getpgid(0)


def test_a_run_does_not_begin_and_does_not_count_on_a_full_disk(
    program, small_disk, fill, tmp_path
):
    ran, stuffing = tmp_path / "ran", small_disk / "stuffing"
    command = program(f"open({str(ran)!r}, 'a').write('x'); print(7)")
    fill(stuffing)
    with pytest.raises(OSError, match="No space left on device") as caught:
        run(command, folder=small_disk / "kept")
    assert caught.value.filename == str(small_disk / "kept")
    assert not ran.exists()
    stuffing.unlink()
    assert run(command, folder=small_disk / "kept").stdout == b"7\n"
    # Filled by others while it runs: its output may be cut.
    filling = program(
        f"""
        print(123456, flush=True)
        with open({str(stuffing)!r}, "wb", buffering=0) as file:
            for size in (4096, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass
        """,
        "filling.py",
    )
    with pytest.raises(OSError, match="No space left on device"):
        run(filling, folder=small_disk / "kept")


def test_a_program_that_fills_the_disk_with_its_output_fails(program, small_disk):
    command = program("import sys\nwhile True: sys.stdout.write('1' * 1000 + '\\n')")
    result = run(command, folder=small_disk / "kept")
    assert result.reason == "no space left on device for its output"
    assert read_payoff(result, parse_reader("last-line"), "stdout", None)[0] is None
