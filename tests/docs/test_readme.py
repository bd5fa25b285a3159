"""The first examples of the README and of the pages for a newcomer run as printed."""

import contextlib
import io
import re
import tomllib
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)


def printed(page, tmp_path):
    """Run the first block of a page; return what it printed, and its names."""
    block = PYTHON.search((ROOT / page).read_text())[1]
    names, output = {}, io.StringIO()
    with contextlib.chdir(tmp_path), warnings.catch_warnings():
        warnings.simplefilter("error")
        with contextlib.redirect_stdout(output):
            exec(compile(block, page, "exec"), names)
    return output.getvalue(), names


def test_the_output_shown_has_the_form_of_the_output(tmp_path):
    # Digits depend on the processor: rounding decides where a search ends.
    shown = re.search(r"^    (threads=\d+.*)$", (ROOT / "README.md").read_text(), re.MULTILINE)[1]
    parts = re.split(r"[-+]?\d[\d.e+-]*", shown)
    pattern = r"[-+]?\d[\d.e+-]*".join(re.escape(part) for part in parts)
    assert re.fullmatch(pattern, printed("README.md", tmp_path)[0].strip())


def test_ask_and_tell_recommends_and_names_the_best_observed(tmp_path):
    _, names = printed("docs/optimizer.md", tmp_path)
    assert names["best"].total_payoffs == 20
    assert names["best"].best_observed_value == min(t.value for t in names["opt"].trials)
    assert (tmp_path / "tuning.npz").exists()


def test_the_optuna_example_recommends(tmp_path):
    pytest.importorskip("optuna")
    assert "30 payoffs" in printed("docs/scaling.md", tmp_path)[0]


def test_every_extra_is_one_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs/getting-started.md").read_text()
    listed = re.search(r"\| extra \|.*?\n\n", page, re.DOTALL)[0]
    first = [row.split("|")[1] for row in listed.splitlines()[2:] if row]
    named = {name for cell in first for name in re.findall(r"`([^`]+)`", cell)}
    assert named == set(project["optional-dependencies"])


def test_links_on_the_first_page_lead_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target
