"""Compilation is announced on stderr where it is still to be done, and only there."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tailproof import _compiled
from tailproof._compiled import announce_compilation
from tailproof._compiled.ridge import ucb_argmax

PROGRAM = """
import tailproof as tp
opt = tp.gp_ucb(tp.Finite([[0.0], [1.0]]), tp.Linear(), tp.CustomSchedule(beta=1.0))
print(opt.ask())
tp.gp_ucb(tp.Finite([[0.0], [1.0]]), tp.Linear(), tp.CustomSchedule(beta=1.0))
"""


def stderr_of_program(**environment):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    ).stderr


def test_only_the_first_run_of_an_installation_announces_compilation(tmp_path):
    first = stderr_of_program(NUMBA_CACHE_DIR=str(tmp_path))
    assert first.startswith("tailproof: compiling the inner loops")
    assert first.count("\n") == 1
    assert stderr_of_program(NUMBA_CACHE_DIR=str(tmp_path)) == ""


@pytest.fixture
def announced(capsys):
    """Tell whether loops are announced, in a process that has announced nothing yet."""

    def announced(*loops):
        _compiled._announce_loop_compilation.cache_clear()
        announce_compilation(*loops)
        return "compiling" in capsys.readouterr().err

    return announced


def uncompiled(cache_path):
    return SimpleNamespace(
        signatures=[],
        py_func=ucb_argmax.py_func,
        stats=SimpleNamespace(cache_path=cache_path),
        __name__="ucb_argmax",
    )


def test_a_cache_that_is_missing_old_or_switched_off_is_announced(announced, tmp_path):
    assert announced(uncompiled(tmp_path))
    assert announced(uncompiled(tmp_path / "none"))
    assert announced(uncompiled(None))
    index = tmp_path / "ridge.ucb_argmax-65.py311.nbi"
    index.write_bytes(b"")
    assert not announced(uncompiled(tmp_path))
    assert announced(uncompiled(tmp_path), uncompiled(None))
    os.utime(index, (0, 0))  # older than the source
    assert announced(uncompiled(tmp_path))


def test_nothing_is_announced_where_nothing_is_compiled(announced, tmp_path):
    compiled = uncompiled(tmp_path)
    compiled.signatures = ["float64"]
    assert not announced(compiled)
    assert not announced(ucb_argmax.py_func)  # NUMBA_DISABLE_JIT=1


def test_a_process_without_stderr_is_left_alone(announced, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stderr", None)
    assert not announced(uncompiled(tmp_path))
