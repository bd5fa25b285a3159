"""The examples of the README run as printed, from top to bottom."""

import contextlib
import importlib.util
import io
import re
import tomllib
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Run every block in one namespace; return what each printed, None where Optuna is missing."""
    names, said = {}, []
    with contextlib.chdir(tmp_path_factory.mktemp("readme")), warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in BLOCKS:
            if "import optuna" in block and importlib.util.find_spec("optuna") is None:
                said.append(None)
                continue
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(block, "README.md", "exec"), names)
            said.append(output.getvalue())
    return dict(zip(BLOCKS, said, strict=True)), names


def said_by(printed, words):
    found = [text for block, text in printed[0].items() if words in block]
    assert len(found) == 1, words
    if found[0] is None:
        pytest.skip("the block needs optuna")
    return found[0]


def test_the_loop_recommends_a_setting_with_its_interval(printed):
    assert "90 % interval" in said_by(printed, "tp.minimize(")


def test_the_output_shown_has_the_form_of_the_output(printed):
    # Digits depend on the processor: rounding decides where a search ends.
    shown = re.search(r"^    (threads=\d+.*)$", (ROOT / "README.md").read_text(), re.MULTILINE)[1]
    parts = re.split(r"[-+]?\d[\d.e+-]*", shown)
    pattern = r"[-+]?\d[\d.e+-]*".join(re.escape(part) for part in parts)
    assert re.fullmatch(pattern, said_by(printed, "tp.minimize(").strip())


def test_ask_and_tell_recommends_and_names_the_best_observed(printed):
    said_by(printed, "opt.save(")
    best, opt = printed[1]["best"], printed[1]["opt"]
    assert best.total_payoffs == 20
    assert best.best_observed_value == min(trial.value for trial in opt.trials)


def test_the_optuna_example_recommends(printed):
    said = said_by(printed, "TailproofSampler(")
    assert "30 payoffs" in said


def test_the_policy_recommends_and_says_what_is_promised(printed):
    said = said_by(printed, "tp.ata_gp_ucb(")
    assert "Recommendation(" in said
    assert "No guarantee" in said


def test_every_extra_is_one_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = re.search(r"\| extra \|.*?\n\n", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    first = [row.split("|")[1] for row in listed.splitlines()[2:] if row]
    named = {name for cell in first for name in re.findall(r"`([^`]+)`", cell)}
    assert named == set(project["optional-dependencies"])


def test_links_on_the_first_page_lead_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target
