from types import SimpleNamespace

import numpy as np
import pytest

import tailproof as tp
from searches import LINE, MIXED, line, run
from tailproof.search.decision.stopping import (
    RemainingGain,
    StoppingRule,
    Until,
    gain_of_draws,
)


def quadratic(params, i):
    return -((params["x"] - 0.3) ** 2) + 0.05 * np.random.default_rng([5, i]).standard_normal()


def test_the_remaining_gain_falls_with_more_trials():
    opt = tp.Optimizer(LINE)
    run(opt, 12, quadratic)
    early = opt.remaining_gain()
    run(opt, 60, quadratic)
    late = opt.remaining_gain()
    assert 0.0 <= late.expected < early.expected
    assert late.upper < early.upper
    assert late.expected <= late.upper <= opt.remaining_gain(level=0.99).upper


@pytest.mark.parametrize("space", [LINE, MIXED, tp.Configurations([{"x": 0.1}, {"x": 0.2}])])
def test_one_payoff_and_every_kind_of_space_have_a_remaining_gain(space):
    opt = tp.Optimizer(space)
    opt.tell(opt.ask(), 3.0)
    gain = opt.remaining_gain()
    assert np.isfinite([gain.expected, gain.upper]).all()
    assert gain.unit == pytest.approx(3.0, abs=0.5)


def test_extreme_payoffs_have_a_finite_remaining_gain():
    opt = line(tp.Optimizer(LINE), [0.0] * 19 + [1e150])
    assert np.isfinite(opt.remaining_gain().upper)
    opt = line(tp.Optimizer(LINE), [7.0] * 25)
    assert opt.remaining_gain().upper <= 1e-3


def test_the_upper_end_of_the_gain_is_never_below_what_is_expected():
    draws = np.zeros((100, 2))
    draws[:5, 1] = 1000.0  # a gain in one draw of twenty: the 90 % quantile is 0
    gain = gain_of_draws(draws, slice(0, 2), 0.9, 50, 1.0)
    assert gain.expected == gain.upper == 50.0


class _Looked:
    """What a rule asks of an optimizer, with remaining gains given in advance."""

    def __init__(self, uppers):
        self.uppers, self.count, self.levels = list(uppers), 18, []

    def __len__(self):
        return self.count

    def recommend(self, level):
        return SimpleNamespace(baseline=None)

    def remaining_gain(self, level):
        self.levels.append(level)
        return RemainingGain(0.0, self.uppers.pop(0), level, self.count, 1.0)


def test_a_rule_stops_at_the_second_look_in_a_row_at_half_of_the_error():
    rule = StoppingRule(Until.parse(0.1), until_better=False, level=0.9)
    optimizer = _Looked([0.05, 0.2, 0.05, 0.05])
    stops = []
    while optimizer.uppers:
        optimizer.count += 2
        stops.append(rule.look(optimizer).stop)
        assert rule.look(optimizer) is None  # a moment ago
    assert stops == ["", "", "", "until"]
    assert optimizer.levels == [pytest.approx(0.95)] * 4


def test_relative_limits_are_shares_of_the_payoff():
    gain = RemainingGain(0.1, 0.3, 0.9, 100, 10.0)
    assert Until.parse("3.1%").holds(gain)
    assert not Until.parse("2.9 %").holds(gain)
    assert Until.parse(0.31).holds(gain)
    assert not Until.parse("0.29").holds(gain)
    assert not Until.parse("50%").holds(RemainingGain(0.1, 0.3, 0.9, 10, 10.0))  # too few payoffs


@pytest.mark.parametrize("wrong", ["two", "2%%", 0, -1.0, "0%", float("nan"), True, [2]])
def test_limits_that_are_none_are_named(wrong):
    with pytest.raises(ValueError, match="`until"):
        tp.maximize(lambda x: x, LINE, 30, until=wrong)


def test_a_search_stops_when_little_is_left_to_gain():
    calls = []

    def objective(x):
        calls.append(x)
        return quadratic({"x": x}, len(calls))

    result = tp.maximize(objective, LINE, 400, until=0.05, progress=False)
    assert result.stopped == "until"
    assert 20 <= len(result.trials) < 300
    assert (result.recommendation.params["x"] - 0.3) ** 2 < 0.05
    assert calls.count(result.recommendation.params["x"]) >= 2  # it was confirmed


def test_a_search_stops_when_something_is_better_than_the_baseline():
    calls = []

    def objective(x):
        calls.append(x)
        return quadratic({"x": x}, len(calls))

    result = tp.maximize(objective, LINE, 400, baseline={"x": 1.0}, until_better=True, level=0.95)
    assert result.stopped == "until_better"
    assert len(result.trials) < 60
    assert result.recommendation.baseline.probability >= 0.95
    assert result.recommendation.baseline.improvement > 0.3
    with pytest.raises(ValueError, match="needs a `baseline`"):
        tp.maximize(objective, LINE, 30, until_better=True)


def test_a_search_that_no_rule_ends_uses_all_evaluations():
    result = tp.minimize(lambda x: x, LINE, 25, until=1e-300, progress=False)
    assert (result.stopped, len(result.trials)) == ("evaluations", 25)
