"""The timing benchmark runs and writes what it says; what it measures is not asserted."""

import json
import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "suggest_time.py"


def test_a_quick_run_measures_ours_at_every_mark(tmp_path):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick", "--contestants", "tailproof", "--out", tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "suggest_time.json").read_text())
    assert [row["payoffs"] for row in result["rows"]] == result["plan"]["marks"]
    assert all(0.0 < row["median"] <= row["largest"] for row in result["rows"])
    text = (tmp_path / "suggest_time.md").read_text()
    assert text == done.stdout.removesuffix("\n")
    assert "| tailproof | 15 |" in text
