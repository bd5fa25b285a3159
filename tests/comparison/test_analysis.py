"""`compare`: forms of input, verdicts, correction, blocks, sequential intervals, wrong input."""

import json

import numpy as np
import pytest

import tailproof as tp
from tailproof._util import files


def two(seed=0, n=400, factor=1.5):
    rng = np.random.default_rng(seed)
    return {"control": 1.0 + rng.pareto(2.5, n), "blue": factor * (1.0 + rng.pareto(2.5, n))}


def test_the_result_has_what_was_asked_for():
    result = tp.compare(two(), baseline="control")
    blue, control = result["blue"], result["control"]
    assert list(result) == ["control", "blue"]
    assert blue.verdict == "better"
    assert blue.difference.lower > 0.0
    assert blue.ratio.lower < 1.5 < blue.ratio.upper
    assert blue.sentence.startswith("blue earns ")
    assert blue.sentence.endswith(" more than control; 95 % confidence")
    assert blue.probability_better > 0.99
    assert blue.probability_best + control.probability_best == pytest.approx(1.0)
    assert (control.difference, control.verdict) == (None, None)
    assert control.median == pytest.approx(float(np.median(two()["control"])))
    assert result.sentences == [blue.sentence]


def test_direction_turns_the_verdict_and_its_words():
    result = tp.compare(two(), lower_is_better=True)
    assert result["blue"].verdict == "worse"
    assert "blue costs" in result["blue"].sentence
    assert result["blue"].probability_better < 0.01
    assert result["control"].probability_best > 0.99


def test_sign_and_scale_do_not_matter():
    data = two(factor=1.1)
    plain = tp.compare(data)["blue"]
    turned = tp.compare({k: -1e6 * v for k, v in data.items()}, lower_is_better=True)["blue"]
    assert turned.verdict == plain.verdict
    assert turned.probability_better == pytest.approx(plain.probability_better)
    assert turned.difference.lower == pytest.approx(-1e6 * plain.difference.upper)


def test_arrays_and_mappings_say_the_same():
    data = two()
    named, listed = tp.compare(data), tp.compare(list(data.values()))
    assert listed["1"].difference == named["blue"].difference
    assert listed.baseline == "0"


def test_data_frames_long_and_wide_say_the_same():
    pandas = pytest.importorskip("pandas", reason="data frames need pandas")
    data = two()
    wide = tp.compare(pandas.DataFrame(data))
    long = pandas.DataFrame(data).melt(var_name="variant", value_name="revenue")
    found = tp.compare(long, by="variant", value="revenue", baseline="control")
    assert (
        found["blue"].difference == wide["blue"].difference == tp.compare(data)["blue"].difference
    )
    frame = found.to_frame()
    assert frame.loc["blue", "difference_lower"] == found["blue"].difference.lower
    assert frame.loc["blue", "verdict"] == "better"


def test_frames_are_recognized_by_their_columns():
    class Column:
        def __init__(self, values):
            self.values = values

        def to_numpy(self):
            return np.asarray(self.values)

    class Frame:
        columns = ("variant", "revenue", "day")

        def __getitem__(self, name):
            return Column(
                {
                    "variant": ["a", "b"] * 20,
                    "revenue": np.arange(40.0) % 7 + np.arange(40) % 2,
                    "day": np.arange(40) // 2,
                }[name]
            )

    result = tp.compare(Frame(), by="variant", value="revenue", pair="day")
    assert result.blocks == 20
    with pytest.raises(ValueError, match="`by` must be a column"):
        tp.compare(Frame(), by="arm", value="revenue")


def test_several_alternatives_are_corrected():
    rng = np.random.default_rng(1)
    data = {name: rng.normal(10.0, 1.0, 100) for name in "abcdef"}
    result = tp.compare(data, level=0.9)
    assert result.corrected_level == pytest.approx(0.98)
    assert result["b"].difference.level == pytest.approx(0.98)
    alone = tp.compare({k: data[k] for k in "ab"}, level=0.9)
    assert result["b"].difference.upper > alone["b"].difference.upper
    assert result["b"].mean == alone["b"].mean


def test_false_verdicts_between_equal_alternatives_are_rare():
    # Nominal error 5 % for any verdict; with 150 runs more than 15 have probability below 0.01.
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(150):
        result = tp.compare(list(rng.lognormal(0.0, 1.5, (4, 100))))
        wrong += any(a.verdict in ("better", "worse") for a in result.values())
    assert wrong <= 15


def test_close_alternatives_are_equivalent_or_not_decided():
    rng = np.random.default_rng(3)
    data = {"a": rng.normal(100.0, 5.0, 3000), "b": rng.normal(100.0, 5.0, 3000)}
    found = tp.compare(data)["b"]
    assert found.verdict == "equivalent"
    assert found.sentence.startswith("no difference of 5 % or more: b earns between ")
    few = tp.compare({k: v[:10] for k, v in data.items()}, minimum_effect=0.01)["b"]
    assert few.verdict == "not decided"
    assert few.more_payoffs > 100
    assert f"about {few.more_payoffs:,} more payoffs of each" in few.sentence


def test_the_number_of_payoffs_asked_for_suffices():
    # 80 % power at the effect; 60 runs, fewer than 39 have probability below 0.01.
    rng = np.random.default_rng(4)
    first = tp.compare(
        {"a": rng.normal(10, 2, 40), "b": rng.normal(10, 2, 40)}, minimum_effect=0.05
    )
    n = 40 + first["b"].more_payoffs
    seen = sum(
        tp.compare({"a": rng.normal(10, 2, n), "b": rng.normal(10.5, 2, n)})["b"].verdict
        == "better"
        for _ in range(60)
    )
    assert seen >= 39


@pytest.mark.parametrize("form", ["position", "labels", "mapping"])
def test_pairs_cancel_drift(form):
    rng = np.random.default_rng(5)
    drift = 10.0 + 3.0 * rng.random(100)
    data = {"a": drift, "b": drift * 1.02 + 0.01 * rng.normal(size=100)}
    pair = {
        "position": True,
        "labels": np.arange(100) * 2,
        "mapping": {k: [f"day {i}" for i in range(100)] for k in data},
    }[form]
    assert tp.compare(data)["b"].verdict != "better"
    result = tp.compare(data, pair=pair)
    assert result.blocks == 100
    assert result["b"].verdict == "better"
    assert result["b"].ratio.lower < 1.02 < result["b"].ratio.upper
    assert result["b"].probability_best > 0.99


def test_blocks_take_any_number_of_payoffs_and_leave_incomplete_ones_out():
    rng = np.random.default_rng(6)
    blocks = {"a": np.repeat(np.arange(30), 3), "b": np.repeat(np.arange(2, 32), 2)}
    level = 5.0 + rng.random(32)
    data = {
        "a": level[blocks["a"]] + 0.1 * rng.normal(size=90),
        "b": level[blocks["b"]] + 0.5 + 0.1 * rng.normal(size=60),
    }
    result = tp.compare(data, block=blocks)
    assert result.blocks == 28
    assert "4 blocks without payoffs of every alternative" in result.notes[0]
    assert result["b"].difference.lower < 0.5 < result["b"].difference.upper
    with pytest.raises(ValueError, match="a pair must have one payoff"):
        tp.compare(data, pair=blocks)


def test_sequential_intervals_are_wider_and_state_their_assumption():
    data = two()
    fixed, looked = tp.compare(data)["blue"], tp.compare(data, sequential=True)
    assert looked["blue"].difference.lower < fixed.difference.lower
    assert "more than two moments" in looked.assumption
    bounded = tp.compare(data, sequential=True, moment_bound=10.0)
    assert "E|payoff - mean|^2 <= 10" in bounded.assumption
    assert bounded["blue"].difference.lower < looked["blue"].difference.lower
    order = tp.compare(data, sequential=True, moment_bound=10.0, moment_order=1.5)
    assert "^1.5" in order.assumption


def test_heavy_tails_and_single_payoffs_are_named():
    rng = np.random.default_rng(7)
    result = tp.compare(
        {
            "light": rng.normal(5.0, 1.0, 500),
            "heavy": 1.0 + rng.pareto(1.2, 500),
            "few": np.where(np.arange(500) < 3, 50.0, 0.0) + 1e-9 * (np.arange(500) == 4),
            "drifting": np.cumsum(rng.normal(size=500)),
        }
    )
    assert result["light"].cautions == ()
    finite = {name for name, a in result.items() if a.finite_variance}
    assert "light" in finite
    assert not finite & {"heavy", "few"}
    assert any("infinite" in c for c in result["heavy"].cautions)
    assert any("4 of 500 payoffs differ from 0" in c for c in result["few"].cautions)
    assert any("depend on their predecessors" in c for c in result["drifting"].cautions)


def test_extreme_payoffs_work():
    rng = np.random.default_rng(8)
    for scale in (1e-200, 1e150, 1e279):
        data = {k: scale * rng.random(30) for k in "ab"}
        found = tp.compare(data)["b"]
        assert np.isfinite([found.difference.lower, found.difference.upper]).all()
        assert 0.3 < found.ratio.lower < found.ratio.upper < 3.0
    outlier = np.append(rng.random(40), 1e150)
    assert tp.compare({"a": outlier, "b": rng.random(40)})["b"].verdict == "not decided"


def test_equal_seeds_give_equal_results():
    data = {str(i): v for i, v in enumerate(np.random.default_rng(9).lognormal(0, 1, (5, 50)))}
    first, second = tp.compare(data, seed=1), tp.compare(data, seed=1)
    assert first.to_dict() == second.to_dict()
    json.dumps(files.json_safe(first.to_dict()), allow_nan=False)


def test_input_is_left_unmodified():
    data = two()
    before = {k: v.copy() for k, v in data.items()}
    tp.compare(data, pair=True)
    assert all(np.array_equal(before[k], data[k]) for k in data)


GOOD = [1.0, 2.0, 3.0, 5.0]


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ({"a": GOOD}, {}, "at least two alternatives, but got only 'a'"),
        ({}, {}, "at least two alternatives, but got none"),
        ({"a": GOOD, "b": [1.0]}, {}, "at least two payoffs, but 'b' has 1"),
        ({"a": GOOD, "b": [2.0, 2.0]}, {}, "the 2 payoffs of 'b' all equal 2"),
        ({"a": GOOD, "b": [1.0, np.nan]}, {}, "must be finite"),
        ({"a": GOOD, "b": ["x", "y"]}, {}, "must be an array of numbers"),
        ({"a": GOOD, "b": GOOD}, {"baseline": "c"}, "`baseline` must be an alternative"),
        ({"a": GOOD, "b": GOOD}, {"level": 1.0}, "level"),
        ({"a": GOOD, "b": GOOD}, {"moment_bound": 1.0}, "`moment_bound` needs `sequential`"),
        ({"a": GOOD, "b": GOOD}, {"moment_order": 1.5}, "`moment_order` needs `moment_bound`"),
        ({"a": GOOD, "b": GOOD}, {"minimum_effect": 0.0}, "minimum_effect > 0"),
        ({"a": GOOD, "b": GOOD}, {"by": "x"}, "name columns of a data frame"),
        ({"a": GOOD, "b": GOOD[:3]}, {"pair": True}, "equally many"),
        ({"a": GOOD, "b": GOOD}, {"pair": True}, "differences between 'b' and 'a' all equal 0"),
        ({"a": GOOD, "b": GOOD}, {"pair": [1, 2]}, "one block label a payoff"),
        ({"a": GOOD, "b": GOOD}, {"pair": True, "block": True}, "must not be given together"),
        ("payoffs.csv", {}, "`data` must be a mapping"),
        ([1.0, 2.0], {}, "one array an alternative"),
        (
            {"a": GOOD, "b": [4.0, 2.0, 9.0, 1.0]},
            {"pair": True, "sequential": True, "moment_bound": 1.0},
            "without blocks",
        ),
    ],
)
def test_wrong_input_is_named(data, options, message):
    with pytest.raises(ValueError, match=message):
        tp.compare(data, **options)
