import contextlib
import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

BLANK = b'<svg xmlns="http://www.w3.org/2000/svg"/>'

# The command line with nothing but `tune`, so that these tests need no other command, and with
# reports whose pictures are blank.
RUN = f"""
import argparse, sys
from tailproof.tune import cli
if __name__ == "__main__":
    from tailproof.tune import report
    report.picture = lambda analysis, name: {BLANK!r}
    parser = argparse.ArgumentParser(prog="tailproof")
    cli.add_parser(parser.add_subparsers(dest="command", required=True))
    arguments = parser.parse_args()
    sys.exit(arguments.run(arguments))
"""


@pytest.fixture
def real_pictures():
    """Let the reports of a test have their pictures."""


@pytest.fixture(autouse=True)
def _blank_pictures(request, monkeypatch):
    """Draw nothing in reports, which takes half of the time of a small session, unless asked to."""
    if "real_pictures" not in request.fixturenames:
        from tailproof.tune import report

        monkeypatch.setattr(report, "picture", lambda analysis, name: BLANK)


@pytest.fixture
def program(tmp_path):
    """Return a function that writes a small Python program and gives its command."""

    def write(source, name="program.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return [sys.executable, "-I", "-S", str(path)]

    return write


@pytest.fixture
def shell(tmp_path):
    """Return a function that starts `tailproof tune` in a process of its own."""
    script = tmp_path / "tune_cli.py"
    script.write_text(RUN, encoding="utf-8")
    started = []

    def start(*arguments, own_group=False, **variables):
        process = subprocess.Popen(
            [sys.executable, str(script), "tune", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            start_new_session=own_group,
            env={
                **os.environ,
                "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src"),
                **variables,
            },
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def jumping_clock(monkeypatch, tmp_path):
    """Return a file: each byte in it lets the clock of `process` jump ahead by 1000 s.

    So a time limit is over when a program has come to where it waits, on every machine.
    """
    from tailproof.tune import process

    path = tmp_path / "clock"
    path.touch()
    real = time.perf_counter

    class Clock:
        @staticmethod
        def perf_counter():
            return real() + 1000.0 * path.stat().st_size

        sleep = staticmethod(time.sleep)

    monkeypatch.setattr(process, "time", Clock)
    return path


@pytest.fixture
def small_disk(tmp_path):
    """Return a folder that is a file system of 4 MiB, for tests that fill it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    options = ["-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if subprocess.run([mount, *options], capture_output=True).returncode != 0:
        pytest.skip("this machine lets nobody mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def fill():
    """Return a function that writes to a file until there is no space left."""

    def write(path):
        with path.open("wb", buffering=0) as file:
            for size in (4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(size))

    return write


@pytest.fixture
def tune(tmp_path, monkeypatch, capsys):
    """Return a function that runs `tailproof tune` here: (exit code, stdout, stderr)."""
    import argparse

    from tailproof.tune import cli

    monkeypatch.chdir(tmp_path)
    parser = argparse.ArgumentParser(prog="tailproof")
    cli.add_parser(parser.add_subparsers(dest="command", required=True))

    def run(*arguments):
        try:
            parsed = parser.parse_args(["tune", *map(str, arguments)])
            code = parsed.run(parsed)
        except SystemExit as exit_:
            code = exit_.code
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture(scope="session")
def study():
    """Return a study with heavy-tailed payoffs and failures."""
    from tune_studies import heavy_tailed_study

    return heavy_tailed_study()


@pytest.fixture(scope="session")
def analysis(study):
    """Return the analysis of this study."""
    from tailproof.tune.analysis import analyze
    from tune_studies import SPACE

    return analyze(study.trials, SPACE, minimize=True, level=0.9, seed=0)
