"""The demo, small: both parts run, and one page shows what was observed, recommended and true."""

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("optuna")

from tailproof import demo
from tailproof.cli import main, parser
from tailproof.tune import cli as tune_cli
from tailproof.tune import demo_program
from tailproof.tune.demo import SPACE
from tailproof.tune.request import prepare
from tailproof.tune.session import SessionResult

SMALL = demo.Sizes(evaluations=12, rounds=20, repetitions=1, policies=("tgp", "gp"), workers=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the folder of a small demo, and what it printed."""
    out = tmp_path_factory.mktemp("demo") / "out"
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setenv(demo_program.SEED, "0")
        assert demo.main(out, SMALL) == 0
    return out, printed.getvalue()


def test_both_parts_leave_their_reports(made):
    out, _ = made
    assert (out / "tune/study.db").is_file()
    assert (out / "tune/report.html").is_file()
    assert (out / "reproduce/report.html").is_file()
    found = json.loads((out / "tune/result.json").read_text())
    assert found["payoffs"] == 12


def test_the_command_to_go_on_names_the_same_study(made):
    out, _ = made
    study = json.loads((out / "tune/result.json").read_text())["study"]
    env, seed, _, *rest = shlex.split(study["resume"])
    assert (env, seed) == ("env", f"{demo_program.SEED}=0")
    request = tune_cli.request(parser().parse_args(rest))
    assert prepare(request).study_name == study["name"]
    assert (request.seed, request.evaluations, request.out) == (0, 24, out / "tune")


def test_the_summary_shows_best_observed_recommended_and_true(made):
    out, printed = made
    found = json.loads((out / "tune/result.json").read_text())
    observed, best, truth = demo.summary_rows(found)
    payoffs = [trial["payoff"] for trial in found["trials"]]
    assert observed[2] == f"{min(payoffs):.4g}"
    assert observed[-1] == f"{demo_program.true_mean(found['best_observed']['params']):.4g}"
    assert best[-1] == f"{demo_program.true_mean(found['recommendation']['params']):.4g}"
    assert truth[-1] == "20"
    last = printed.splitlines()
    assert str(out / "report.html") in last[-1]
    for row, line in zip((observed, best, truth), last[-5:-2], strict=True):
        assert line.split("  ")[0].strip() == row[0]
        assert line.endswith(row[-1])


def test_the_page_opens_alone_and_its_links_lead_somewhere(made):
    out, _ = made
    page = (out / "report.html").read_text()
    assert page.count("<html") == page.count("<body>") == page.count("<h1>") == 1
    assert not re.findall(r'(?:src|href)="https?://', page)
    links = re.findall(r'href="([^"]+)"', page)
    assert links == ["tune/report.html", "reproduce/report.html"]
    assert all((out / link).is_file() for link in links)
    for words in ("best observed run", "Tuning ", "Figure 1 of"):
        assert words in page
    assert page.index("truly best") < page.index("Tuning ")
    assert page.count("data:image/svg+xml") >= 4


def test_no_setting_is_better_than_the_one_called_best():
    axes = np.meshgrid(*[np.linspace(0.0, 1.0, 21)] * SPACE.dimension)
    grid = SPACE.snap(np.stack(axes, axis=-1).reshape(-1, SPACE.dimension))
    lowest = min(demo_program.true_mean(SPACE.params(u)) for u in grid)
    assert lowest >= demo_program.true_mean(demo.BEST)
    assert SPACE.params(SPACE.position(demo.BEST)) == demo.BEST


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path, capsys):
    kept = tmp_path / "tune"
    kept.mkdir()
    (kept / "mine.txt").write_text("mine")
    assert main(["demo", "--out", str(tmp_path)]) == 2
    assert "must be a new or empty folder" in capsys.readouterr().err
    assert (kept / "mine.txt").read_text() == "mine"


def test_an_earlier_demo_is_made_anew(made, monkeypatch):
    out, _ = made
    existed = []

    def tune(folder, **options):
        existed.append(folder.exists())
        return SessionResult(7)

    monkeypatch.setattr(demo.tuning, "run", tune)
    copy = Path(str(out) + "-again")
    copy.mkdir()
    (copy / "made-by-tailproof-demo").touch()
    (copy / "tune").mkdir()
    (copy / "report.html").write_text("old")
    assert demo.main(copy) == 7  # what the tuning ended with
    assert existed == [False]
    assert not (copy / "report.html").exists()
