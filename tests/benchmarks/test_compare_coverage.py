"""The coverage benchmark of compare: a small run fills its tables; the laws have their means."""

import sys

import numpy as np
import pytest

import compare_coverage
import mean_estimators


def test_a_small_run_writes_tables_and_fills_a_page(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text("<!-- measured: compare-looks -->\n<!-- end -->\n", encoding="utf-8")
    out = tmp_path / "out"
    arguments = ["--law", "exponential", "--n", "20", "--replications", "100", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["compare_coverage.py", *arguments, "--page", str(page)])
    compare_coverage.main()
    printed = capsys.readouterr().out
    assert printed.count("| exponential |") == 4
    assert "| exponential |" in page.read_text(encoding="utf-8")
    assert (out / "compare_coverage.json").is_file()


def test_cautions_alone_fill_their_table_and_leave_the_others(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    text = "<!-- measured: compare-looks -->\nold\n<!-- end -->\n"
    page.write_text(text + "<!-- measured: compare-cautions -->\n<!-- end -->\n", encoding="utf-8")
    arguments = ["--cautions", "--law", "Pareto(1.7)", "--n", "20", "--page", str(page)]
    monkeypatch.setattr(sys, "argv", ["compare_coverage.py", *arguments])
    monkeypatch.setattr(compare_coverage, "CAUTION_SAMPLES", 20)
    compare_coverage.main()
    filled = page.read_text(encoding="utf-8")
    assert filled.startswith(text)
    assert "| Pareto(1.7) | 20 |" in filled
    assert "| 100.0 |" in filled  # 20 payoffs cannot exclude an infinite variance


@pytest.mark.parametrize(
    ("module", "name"),
    [(m, name) for m in (compare_coverage, mean_estimators) for name in m.LAWS],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_laws_have_the_mean_they_state(module, name):
    # Medians of means of 40 blocks; within 15 % even for the heaviest law, 1.5.
    law = module.LAWS[name]
    y = law.draw(np.random.default_rng(0), (40, 20_000))
    scale = abs(law.mean) or 1.0
    assert np.median(y.mean(axis=1)) == pytest.approx(law.mean, abs=0.15 * scale)


def test_the_estimators_agree_on_gaussian_payoffs():
    y = np.random.default_rng(1).normal(3.0, 1.0, (20, 200))
    for estimate in mean_estimators.ESTIMATORS.values():
        assert np.abs(estimate(y) - y.mean(axis=1)).max() < 0.15
