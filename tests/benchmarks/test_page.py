"""The page that compares says what the published matches say."""

import pytest

from rivals.analysis import Table
from rivals.claims import claims
from rivals.plan import SEEDS
from rivals.records import Run


@pytest.fixture
def bench(benchmark_module):
    return benchmark_module("arena_page")


@pytest.fixture
def runs(bench):
    return bench.published(bench.RUNS)


def test_the_figures_are_those_of_the_published_matches(bench, runs):
    text = bench.PAGE.read_text(encoding="utf-8")
    assert bench.page(text, Table(runs)) == text


def test_every_figure_has_its_place_on_the_page(bench):
    text = bench.PAGE.read_text(encoding="utf-8")
    assert sorted(found[2] for found in bench.BLOCK.finditer(text)) == sorted(bench.BLOCKS)


def test_a_match_that_comes_out_otherwise_changes_the_page(bench, runs):
    text = bench.PAGE.read_text(encoding="utf-8")
    first = runs[0]
    other = Run(first.problem, first.law, first.contestant, first.seed, (9.0,), (999.0,))
    assert bench.page(text, Table([other, *runs[1:]])) != text


def test_every_cell_and_claim_is_shown(bench, runs):
    told = Table(runs)
    text = bench.PAGE.read_text(encoding="utf-8")
    assert len(told.cells) == 36
    for cell in told.cells:
        assert len(told.of(cell, "tailproof")) >= SEEDS
        name = "trap" if cell[0] == "trap" else ", ".join(cell)
        assert f"\n| {name} | " in text
    for one in claims(told):
        assert f"| {one.text} | {one.verdict} |" in text


def match(seed=0, simple=0.25, **more):
    return Run("rkhs", "t3", "tailproof", seed, (0.5, simple), (9.0, 12.5), **more)


def test_what_is_published_can_be_read_back(bench, tmp_path):
    failed = Run("trap", "trap", "random", 3, (0.125,), (7.0,), "ValueError: a, b", "mean")
    bench.publish([failed, match()], tmp_path / "runs.csv")
    one, other = bench.published(tmp_path / "runs.csv")
    assert (one.simple, one.cumulative) == ((0.25,), (12.5,))
    assert (other.cell, other.seed, other.place) == (("trap", "trap"), 3, "mean")
    assert other.error == "ValueError: a, b"


def test_matches_add_up_and_those_by_other_code_give_way(bench, tmp_path):
    path = tmp_path / "runs.csv"
    bench.publish([match(0), match(1)], path)
    bench.publish([match(1, 0.125), match(2)], path)
    assert [(run.seed, run.simple[-1]) for run in bench.published(path)] == [
        (0, 0.25),
        (1, 0.125),
        (2, 0.25),
    ]
    other = Run("rkhs", "t3", "random", 0, (0.5,), (9.0,))
    bench.publish([other], path)
    path.write_text(path.read_text().replace(bench._code("tailproof"), "by other code"))
    bench.publish([match(5)], path)
    assert [(run.contestant, run.seed) for run in bench.published(path)] == [
        ("tailproof", 5),
        ("random", 0),
    ]
