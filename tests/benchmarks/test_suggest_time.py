"""The benchmark of suggestions writes what it should; what it measures is not asserted."""

import json
import pathlib
import subprocess
import sys

import pytest

import suggest_time
from rivals.problems import problem
from tailproof.search import payoff_model

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "suggest_time.py"


def test_a_quick_run_measures_ours_at_every_size(tmp_path):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick", "--methods", "tailproof", "--out", tmp_path],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "suggest_time.json").read_text())
    plan = result["plan"]
    assert [row["payoffs"] for row in result["rows"]] == plan["sizes"] + plan["own_sizes"]
    for row in result["rows"]:
        assert plan["least_rounds"] <= row["rounds"] <= plan["rounds"]
        assert 0 <= row["refits"] <= row["rounds"]
        for clock in ("wall", "processor"):
            assert 0.0 < row[clock]["median"] <= row[clock]["largest"]
            assert row[clock]["first"] > 0.0
    text = (tmp_path / "suggest_time.md").read_text()
    assert text == done.stdout.removesuffix("\n")
    assert "| tailproof | 15 |" in text
    assert "| tailproof | 45 |" in text


def test_ten_thousand_payoffs_are_for_ours_alone(monkeypatch):
    asked = []
    monkeypatch.setattr(
        suggest_time,
        "measure",
        lambda target, method, size, plan: asked.append((method, size)) or {},
    )
    suggest_time.run(suggest_time.Plan(methods=("tailproof", "optuna-gp")))
    assert [method for method, size in asked if size == 10_000] == ["tailproof"]
    assert {size for method, size in asked if method == "optuna-gp"} == {100, 300, 1000}
    asked.clear()
    suggest_time.run(suggest_time.Plan(methods=("optuna-gp",)))
    assert all(method == "optuna-gp" for method, _ in asked)


class Clock:
    """A clock by which each round takes what it is told to: by the wall, and of the processor."""

    def __init__(self, monkeypatch):
        self.wall = self.processor = 0.0
        monkeypatch.setattr(suggest_time.time, "perf_counter", lambda: self.wall)
        monkeypatch.setattr(suggest_time.time, "process_time", lambda: self.processor)

    def spend(self, seconds):
        self.wall += 4.0 * seconds  # a busy machine
        self.processor += seconds


def measured(monkeypatch, seconds, counts, plan):
    """What is reported of rounds of `seconds`, after each of which `counts` payoffs were fitted."""
    clock = Clock(monkeypatch)
    last = [None if counts is None else 0]

    def step(index):
        clock.spend(seconds[index])
        if counts is not None:
            last[0] = counts[index]

    loop = suggest_time.Loop(step, lambda: last[0])
    monkeypatch.setitem(suggest_time.STARTS, "tailproof", lambda target, told: loop)
    return suggest_time.measure(problem("branin", "t3"), "tailproof", 10, plan)


def test_rounds_with_a_refit_are_counted_and_left_out_apart(monkeypatch):
    plan = suggest_time.Plan(rounds=5, budget=1e9)
    row = measured(monkeypatch, [50, 1, 2, 30, 4, 6], [10, 10, 10, 13, 13, 13], plan)
    assert (row["rounds"], row["refits"]) == (5, 1)  # the first, with its refit, is not among them
    assert row["processor"] == {
        "median": 4.0,
        "mean": 43.0 / 5.0,
        "largest": 30.0,
        "first": 50.0,
        "steady_median": 3.0,
        "steady_largest": 6.0,
    }
    assert row["wall"] == {name: 4.0 * value for name, value in row["processor"].items()}


def test_the_budget_begins_after_the_first_round(monkeypatch):
    plan = suggest_time.Plan(rounds=5, least_rounds=1, budget=10.0)
    row = measured(monkeypatch, [1000, 1, 1, 1, 1, 1], None, plan)
    assert row["rounds"] == 3  # of 4 seconds each by the wall


def test_the_table_distinguishes_unknown_from_none(monkeypatch):
    plan = suggest_time.Plan(rounds=2, budget=1e9)
    counts = ([10, 12, 14], [10, 10, 10], None)
    every, never, unknown = (measured(monkeypatch, [9, 1, 2], one, plan) for one in counts)
    rows = [row | {"payoffs": 10 * (i + 1)} for i, row in enumerate((every, never, unknown))]
    rows.append(unknown | {"method": "optuna-gp"})
    rows[-1]["processor"] = {
        name: value and 3.0 * value for name, value in unknown["processor"].items()
    }
    machine = {"processor": "it", "python": "3", "numpy": "2"}
    text = suggest_time.markdown(
        {"plan": {"objective": "branin"}, "machine": machine, "rows": rows}
    )
    start = "6,000.0 (1,500.0) | 6,000.0 (1,500.0) | 8,000.0 (2,000.0) | 36,000.0 (9,000.0)"
    assert f"| tailproof | 10 | {start} | 1.0 (1.0) | 2 | 2 | - | - |" in text
    steady = "6,000.0 (1,500.0) | 8,000.0 (2,000.0)"
    assert f"| tailproof | 20 | {start} | 1.0 (1.0) | 2 | 0 | {steady} |" in text
    assert f"| tailproof | 30 | {start} | 1.0 (1.0) | 2 | - | - | - |" in text
    assert "| Optuna GPSampler | 10 |" in text
    assert "| 1.0 (3.0) | 2 | - | - | - |" in text


def test_a_refit_of_ours_is_seen_exactly_where_it_happens(monkeypatch):
    calls, seen = [], []
    original = payoff_model.fit_model
    monkeypatch.setattr(
        payoff_model, "fit_model", lambda *arguments: calls.append(None) or original(*arguments)
    )
    target = problem("branin", "t3")
    loop = suggest_time.ours(target, suggest_time.history(target, 20))
    suggest_time.timed(loop, 0)
    for index in range(1, 7):
        before = len(calls)
        seen.append((suggest_time.timed(loop, index).refit, len(calls) > before))
    assert all(said == happened for said, happened in seen)
    assert {said for said, _ in seen} == {True, False}


@pytest.mark.filterwarnings("ignore")  # of BoTorch's fits
def test_botorch_is_timed_with_its_own_code(monkeypatch):
    pytest.importorskip("botorch", reason="benchmarks/requirements.txt is not installed")
    target = problem("branin", "t3")
    import botorch.optim

    calls, own = [], botorch.optim.optimize_acqf
    monkeypatch.setattr(
        botorch.optim, "optimize_acqf", lambda *a, **k: calls.append(a) or own(*a, **k)
    )
    loop = suggest_time.botorch(target, suggest_time.history(target, 12))
    rounds = [suggest_time.timed(loop, index) for index in range(2)]
    assert all(each.processor > 0.0 for each in rounds)
    assert len(calls) == 2
