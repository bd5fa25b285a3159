"""Baseline, confirmation, stopping and failures of `tailproof tune`, end to end."""

import csv
import json

import pytest

from tailproof.search.space.parameters import Choice, Fixed, Float, Int
from tailproof.search.space.space import Space
from tailproof.tune.phases import parse_baseline, parse_share
from tailproof.tune.trial_queue import count_trials
from tune_studies import OUT, stored_trials

SPACE = Space(n=Int(1, 9), x=Float(0, 1), c=Choice("a", True, 3), k=Fixed("v"))

# A cost with a heavy right tail; the same trial has the same cost.
COST = """
import os, random, sys
x, c = float(sys.argv[1]), sys.argv[2]
draw = random.Random("cost" + os.environ["TAILPROOF_TRIAL"])
print((2 + 10 * (x - 0.3) ** 2 + (c != "lru")) * (0.7 + 0.36 * (draw.paretovariate(2.2) - 1)))
"""


# The same with little noise: how many trials a rule takes then hardly depends on their order, which
# is the machine's with several workers.
CALM_COST = COST.replace(
    "(0.7 + 0.36 * (draw.paretovariate(2.2) - 1))", "(0.95 + 0.1 * draw.random())"
)


def options(program, *more, evaluations=60, cost=COST):
    return (
        *("--minimize", "--evaluations", evaluations, "--seed", 0, "--quiet"),
        *("--float", "x", 0, 1, "--choice", "c", "none", "lru", *more),
        *("--", *program(cost), "{x}", "{c}"),
    )


def result(folder):
    return json.loads((folder / "result.json").read_text())


@pytest.mark.parametrize(
    ("entries", "params"),
    [
        (["n=4", "x=0.5", "c=a"], {"n": 4, "x": 0.5, "c": "a", "k": "v"}),
        (["c=true", "x=1", "n=9", "k=v"], {"n": 9, "x": 1.0, "c": True, "k": "v"}),
        (["c=3", "x=1e-3", "n=1"], {"n": 1, "x": 0.001, "c": 3, "k": "v"}),
    ],
)
def test_a_baseline_is_read_by_the_kind_of_its_parameters(entries, params):
    found = parse_baseline(entries, SPACE)
    assert found == params
    assert [type(value) for value in found.values()] == [type(v) for v in params.values()]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (["n=4", "x=0.5"], "a value for c"),
        (["n=4", "x=0.5", "c=a", "n=5"], "'n' twice"),
        (["n=4", "x=0.5", "c=b"], "one of a, true, 3"),
        (["n=4.5", "x=0.5", "c=a"], "an integer"),
        (["n=four", "x=0.5", "c=a"], "an integer"),
        (["n=4", "x=much", "c=a"], "a number"),
        (["n=40", "x=0.5", "c=a"], "n <= 9|n=40"),
        (["n=4", "x=0.5", "c=a", "k=w"], "`k"),
        (["m=4"], "NAME=VALUE"),
        (["n"], "NAME=VALUE"),
    ],
)
def test_a_wrong_baseline_is_named(tune, program, entries, said):
    with pytest.raises(ValueError, match=said):
        parse_baseline(entries, SPACE)
    code, _, err = tune(*options(program, "--baseline", "x=5", "c=lru"))
    assert code == 2
    assert "<= x <=" in err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--confirm", "120%"), "confirm"),
        (("--confirm", "much"), "confirm"),
        (("--until", "-2%"), "until"),
        (("--until", "soon"), "until"),
        (("--until-better",), "needs a `baseline`"),
        (("--fail-value", "inf"), "fail_value"),
    ],
)
def test_wrong_options_are_refused_before_anything_runs(tune, program, tmp_path, more, said):
    code, _, err = tune(*options(program, *more))
    assert code == 2
    assert said in err
    assert not (tmp_path / OUT / "study.db").exists()
    assert parse_share("confirm", " 5% ") == 0.05


def test_the_result_is_compared_with_the_baseline_and_was_run(tune, program, tmp_path):
    code, out, _ = tune(*options(program, "--baseline", "x=0.95", "c=none"))
    assert code == 0
    trials = stored_trials(tmp_path / OUT)
    now = {"x": 0.95, "c": "none"}
    runs = [t.number for t in trials if t.params == now]
    assert runs[0] == 0
    assert any(number >= 48 for number in runs)  # in the race, too
    found = result(tmp_path / OUT)
    assert found["baseline"]["params"] == now
    assert found["baseline"]["payoffs"] == len(runs)
    assert found["baseline"]["probability"] > 0.9
    assert found["baseline"]["improvement_lower"] > 0.0
    best = found["recommendation"]
    assert best["payoffs"] == sum(t.params == best["params"] for t in trials) >= 2
    assert best["params"] in found["confirmed"]
    assert {t.params["x"] for t in trials[48:]} <= {p["x"] for p in found["confirmed"]}
    assert "better than the baseline's" in out
    assert "Confirmed by a race of" in out
    page = (tmp_path / OUT / "report.html").read_text(encoding="utf-8")
    assert "better than the baseline&#39;s" in page
    # A larger budget goes on with the search, and confirms again.
    assert tune(*options(program, "--baseline", "x=0.95", "c=none", evaluations=80))[0] == 0
    trials = stored_trials(tmp_path / OUT)
    assert len(trials) == 80
    assert len({t.params["x"] for t in trials[60:]}) > 2
    assert result(tmp_path / OUT)["recommendation"]["payoffs"] >= 1


@pytest.mark.parametrize("workers", [1, 2])
def test_a_rule_ends_the_search_and_the_same_command_runs_nothing_more(
    tune, program, tmp_path, workers
):
    assert CALM_COST != COST
    more = ("--until", "40%", "--workers", workers)
    code, out, _ = tune(*options(program, *more, evaluations=200, cost=CALM_COST))
    assert code == 0
    ended = count_trials(stored_trials(tmp_path / OUT)).finished
    assert 24 <= ended < 150
    assert "The search ended early, by --until." in out
    found = result(tmp_path / OUT)
    assert found["stopped_by"] == "until"
    assert found["recommendation"]["payoffs"] >= 1
    assert tune(*options(program, *more, evaluations=200, cost=CALM_COST))[0] == 0
    assert count_trials(stored_trials(tmp_path / OUT)).finished == ended
    # Without the rule, it goes on.
    assert tune(*options(program, evaluations=ended + 10, cost=CALM_COST))[0] == 0
    assert count_trials(stored_trials(tmp_path / OUT)).finished == ended + 10


def test_it_stops_when_the_baseline_is_beaten(tune, program, tmp_path):
    more = ("--until-better", "--baseline", "x=1", "c=none", "--confirm", "10%")
    assert tune(*options(program, *more, evaluations=200))[0] == 0
    assert len(stored_trials(tmp_path / OUT)) < 80
    assert result(tmp_path / OUT)["stopped_by"] == "until_better"


CRASHING = """
import sys
x = float(sys.argv[1])
if x > 0.5:
    sys.exit("out of memory")
print(-x)
"""


def test_settings_that_fail_are_avoided_or_punished_on_request(tune, program, tmp_path):
    rest = ("--minimize", "--evaluations", 40, "--seed", 0, "--quiet", "--float", "x", 0, 1)
    command = ("--", *program(CRASHING), "{x}")
    failed = {}
    for name, more in (
        ("plain", ()),
        ("avoid", ("--avoid-failures",)),
        ("value", ("--fail-value", 9)),
    ):
        code, out, _ = tune(*rest, *more, "--out", name, *command)
        assert code == 0
        counts = count_trials(stored_trials(tmp_path / name))
        assert counts.finished == 40
        failed[name] = counts.failed
        found = result(tmp_path / name)
        assert found["failed"] == counts.failed
        assert f"{counts.failed} failed trial" in out
        assert found["recommendation"]["params"]["x"] <= 0.5
    assert failed["avoid"] < 0.7 * failed["plain"]
    assert failed["value"] < 0.7 * failed["plain"]
    punished = [t for t in stored_trials(tmp_path / "value") if t.params["x"] > 0.5]
    assert {t.value for t in punished} == {9.0}
    with (tmp_path / "value" / "trials.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if float(row["x"]) > 0.5]
    assert {row["payoff"] for row in rows} == {"9.0"}
    assert {row["reason"] for row in rows} == {"exit code 1"}


def test_a_far_fail_value_is_no_payoff_of_tails_and_pictures(tune, program, tmp_path):
    rest = ("--minimize", "--evaluations", 40, "--seed", 0, "--quiet", "--float", "x", 0, 1)
    code, _, _ = tune(*rest, "--fail-value", 1e6, "--", *program(CRASHING), "{x}")
    assert code == 0
    found = result(tmp_path / "tailproof-tune")
    assert found["failed"] > 0
    best = found["recommendation"]
    assert best["upper"] - best["lower"] < 10.0
    page = (tmp_path / "tailproof-tune" / "report.html").read_text(encoding="utf-8")
    assert "have in every mean the payoff that failed trials are given" in page


def test_a_broken_command_is_noticed_with_a_fail_value_too(tune, program, tmp_path):
    rest = ("--minimize", "--evaluations", 40, "--quiet", "--max-failures", 4, "--fail-value", 9)
    code, _, err = tune(*rest, "--int", "n", 1, 9, "--", *program("raise SystemExit(3)"), "{n}")
    assert code == 1
    assert "4 trials failed and none gave a payoff" in err
