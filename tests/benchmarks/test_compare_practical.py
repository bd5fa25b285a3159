"""The yardstick by its command: resuming, the report, the quick form, and the published page."""

from pathlib import Path

import pytest

import compare_practical
from practical import comparison, page, records
from practical.catalog import FAMILIES, SEEDS
from practical.methods import METHODS
from reporting import blocks

SMALL = ("--families", "stalls", "trap", "--methods", "random", "--seeds", "2", "--workers", "1")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "practical.md"


def compare(*words):
    return compare_practical.main([str(word) for word in words])


def plan(*words):
    return compare_practical.make_plan(compare_practical.make_parser().parse_args(words))


def test_a_run_is_one_file_and_only_missing_or_damaged_ones_are_executed(tmp_path, monkeypatch):
    assert compare(*SMALL, "--out", tmp_path) == 0
    files = sorted(tmp_path.glob("*/*/*/*/*.json"))
    version = records.version_of("random")
    assert files == [
        tmp_path / family / family / "random" / version / f"{seed:04d}.json"
        for family in ("stalls", "trap")
        for seed in (0, 1)
    ]
    files[0].unlink()
    files[3].write_text("{")
    executed = []
    original = comparison.execute
    monkeypatch.setattr(comparison, "execute", lambda spec: executed.append(spec) or original(spec))
    assert compare(*SMALL, "--out", tmp_path) == 0
    assert [(spec.family, spec.seed) for spec in executed] == [("stalls", 0), ("trap", 1)]
    assert sorted(tmp_path.glob("*/*/*/*/*.json")) == files
    assert "| stalls |" in (tmp_path / comparison.REPORT).read_text()


def test_an_interrupted_comparison_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    def interrupt(spec):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "execute", interrupt)
    assert compare(*SMALL, "--out", tmp_path) == comparison.INTERRUPTED
    assert "the same command continues" in capsys.readouterr().err


def test_the_measured_blocks_of_a_page_are_filled(tmp_path):
    target = tmp_path / "page.md"
    target.write_text("Text.\n\n<!-- measured: practical-families -->\n<!-- end -->\n")
    assert compare(*SMALL, "--out", tmp_path / "out", "--write", target) == 0
    assert target.read_text().startswith("Text.\n")
    assert "| family | random search |" in target.read_text()


def test_problems_that_cannot_be_run_are_skipped_with_a_reason(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TAILPROOF_DATA", str(tmp_path / "nowhere"))
    words = ("--families", "payoffs", "stalls", *SMALL[3:])
    assert compare(*words, "--out", tmp_path / "out") == 0
    assert "payoffs latencies is skipped: " in capsys.readouterr().err
    assert "is missing (set TAILPROOF_DATA)" in (tmp_path / "out" / comparison.REPORT).read_text()


def test_the_quick_form_has_few_problems_methods_and_seeds_of_every_family():
    quick, full = plan("--quick"), plan()
    assert {entry.family for entry in quick.entries()} == set(FAMILIES)
    assert len(quick.entries()) < len(full.entries()) / 2
    assert quick.seeds == 3
    assert set(quick.methods) < set(METHODS)
    assert full.methods == tuple(METHODS)
    assert [len(full.seeds_of(family)) for family in FAMILIES] == list(SEEDS.values())
    assert len(plan("--quick", "--seeds", "5", "--methods", "gp").methods) == 1


def test_methods_run_only_on_problems_that_suit_them():
    specs = list(plan("--families", "revenue", "stalls", "--seeds", "1").runs())
    assert {s.method for s in specs if s.family == "revenue"} == {
        key for key, method in METHODS.items() if method.assigned
    }
    assert "sample-mean" not in {s.method for s in specs if s.family == "stalls"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--families", "arcade"), "`families` must be one of"),
        (("--methods", "simplex"), "`methods` must be one of"),
        (("--problems", "sphere"), "`problems` must be one of"),
        (("--seeds", "0"), "seeds >= 1"),
        ((*SMALL[:-1], "0"), "workers >= 1"),
    ],
)
def test_wrong_arguments_are_named(words, message, tmp_path, capsys):
    with pytest.raises(SystemExit):
        compare(*words, "--out", tmp_path / "out")
    assert message in capsys.readouterr().err


def test_the_published_page_has_every_part():
    assert blocks(PAGE.read_text(encoding="utf-8")) == list(page.PARTS)
