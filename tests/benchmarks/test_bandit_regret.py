"""The regret benchmark runs, continues where it stopped, and reports every cell."""

import json

import bandit_coverage
import bandit_regret
import bandit_smooth
import bandit_speed


def test_a_quick_comparison_and_its_continuation(tmp_path, capsys):
    options = ["--quick", "--laws", "zeros", "--out", str(tmp_path)]
    some = ["--methods", "tailproof.Bandit", "UCB1"]
    assert bandit_regret.main([*options, *some, "--seeds", "1"]) == 0
    first = (tmp_path / "runs.jsonl").read_text()
    page = tmp_path / "page.md"
    assert bandit_regret.main([*options, "--write", str(page)]) == 0
    runs = (tmp_path / "runs.jsonl").read_text()
    assert runs.startswith(first)
    records = [json.loads(line) for line in runs.splitlines()]
    assert len(records) == 2 * len(bandit_regret.METHODS)
    text = page.read_text()
    assert "## 6 arms, 1,000 rounds" in text
    assert "| zeros | 2 |" in text
    assert "Cells that `Bandit` loses" in text
    capsys.readouterr()


def test_the_other_benchmarks_run(capsys):
    for script in (bandit_coverage, bandit_speed, bandit_smooth):
        assert script.main(["--quick"]) == 0
    said = capsys.readouterr().out
    assert "practical 90 %" in said
    assert "ask, us" in said
    assert "gp_ucb, told kernel" in said
