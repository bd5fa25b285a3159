"""The examples of the page on decisions run as printed, from top to bottom."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCKS = re.findall(r"```python\n(.*?)```", (DOCS / "deciding.md").read_text(), re.DOTALL)


def run_blocks(blocks, names):
    """Run blocks in one namespace; return what each printed."""
    said = []
    for block in blocks:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(block, "deciding.md", "exec"), names)
        said.append(output.getvalue())
    return said


def test_the_page_runs_and_answers_its_questions(tmp_path):
    pytest.importorskip("optuna", reason="a part of the page is on Optuna")
    pytest.importorskip("matplotlib", reason="a part of the page is on pictures")
    with contextlib.chdir(tmp_path):
        said = run_blocks(BLOCKS, {})
    assert re.match(r"better than the baseline's .* by .*; better with probability", said[0])
    assert "than the baseline's" in said[1]
    assert said[2].split()[0] in ("until", "evaluations")
    assert "RemainingGain(expected=" in said[2]
    assert int(said[3].split()[0]) + int(said[3].split()[1]) == 60
    assert said[4] == "True\n"
    assert "than the baseline's" in said[5]
