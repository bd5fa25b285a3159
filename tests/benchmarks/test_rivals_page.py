"""The page on the comparison with rivals agrees with the published runs."""

import dataclasses

import pytest

import rivals_page
from reporting import blocks
from rivals.analysis import Results
from rivals.claims import claims
from rivals.plan import SEEDS
from rivals.records import RunResult


@pytest.fixture(scope="module")
def runs():
    return rivals_page.published(rivals_page.RUNS)


@pytest.fixture(scope="module")
def text():
    return rivals_page.PAGE.read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_published_runs(text, runs):
    assert rivals_page.page(text, Results(runs)) == text


def test_every_table_has_its_place_on_the_page(text):
    assert sorted(blocks(text)) == sorted(rivals_page.BLOCKS)


def test_a_run_with_another_regret_changes_the_page(text, runs):
    other = dataclasses.replace(runs[0], simple_regret=(9.0,), cumulative_regret=(999.0,))
    assert rivals_page.page(text, Results([other, *runs[1:]])) != text


def test_every_problem_and_claim_is_shown(text, runs):
    results = Results(runs)
    assert len(results.problems) == 36
    for problem in results.problems:
        assert len(results.runs(problem, "tailproof")) >= SEEDS
        name = "trap" if problem[0] == "trap" else ", ".join(problem)
        assert f"\n| {name} | " in text
    for claim in claims(results):
        assert f"| {claim.text} | {claim.verdict} |" in text


def run(seed=0, regret=0.25, version="1.0"):
    return RunResult("rkhs", "t3", "tailproof", version, seed, (0.5, regret), (9.0, 12.5))


def test_published_runs_can_be_read_back(tmp_path):
    failed = RunResult(
        "trap", "trap", "random", "2.0", 3, (0.125,), (7.0,), "ValueError: a, b", "mean"
    )
    rivals_page.publish([failed, run()], tmp_path / "runs.csv")
    first, second = rivals_page.published(tmp_path / "runs.csv")
    assert (first.simple_regret, first.cumulative_regret) == ((0.25,), (12.5,))
    assert second == failed


def test_runs_add_up_and_those_by_other_versions_are_removed(tmp_path):
    path = tmp_path / "runs.csv"
    rivals_page.publish([run(0), run(1)], path)
    rivals_page.publish([run(1, 0.125), run(2)], path)
    assert [(found.seed, found.simple_regret[-1]) for found in rivals_page.published(path)] == [
        (0, 0.25),
        (1, 0.125),
        (2, 0.25),
    ]
    rivals_page.publish([RunResult("rkhs", "t3", "random", "1.0", 0, (0.5,), (9.0,))], path)
    rivals_page.publish([run(5, version="2.0")], path)
    assert [(found.method, found.seed) for found in rivals_page.published(path)] == [
        ("tailproof", 5),
        ("random", 0),
    ]
