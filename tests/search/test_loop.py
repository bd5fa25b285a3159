"""The whole loop: what it returns, what ends it, and when it writes."""

import dataclasses
import io
from fractions import Fraction

import numpy as np
import pytest

import tailproof as tp

SPACE = tp.Space(x=tp.Float(0, 1), n=tp.Int(1, 3))


def payoff(x, n):
    return n - (x - 0.4) ** 2


def test_maximize_finds_the_best_mean():
    result = tp.maximize(payoff, SPACE, 25, seed=1)
    assert result.recommendation.params["n"] == 3
    assert result.recommendation.params["x"] == pytest.approx(0.4, abs=0.2)
    assert len(result.trials) == 25 == result.recommendation.total_payoffs
    assert [done.value for done in result.trials] == [
        payoff(**done.trial.params) for done in result.trials
    ]
    assert not result.interrupted
    assert str(result) == str(result.recommendation)


def test_minimize_is_maximize_of_the_negative():
    least = tp.minimize(lambda x, n: -payoff(x, n), SPACE, 20, seed=3)
    most = tp.maximize(payoff, SPACE, 20, seed=3)
    assert [done.trial for done in least.trials] == [done.trial for done in most.trials]
    assert least.recommendation.params == most.recommendation.params
    assert least.recommendation.mean == -most.recommendation.mean
    assert least.recommendation.lower == -most.recommendation.upper
    assert least.recommendation.best_observed_params == most.recommendation.best_observed_params


def test_the_optimizer_of_a_result_goes_on():
    result = tp.maximize(payoff, SPACE, 12, seed=2)
    longer = tp.maximize(payoff, SPACE, 13, seed=2)
    assert result.optimizer.ask() == longer.trials[-1].trial
    assert result.optimizer.space is SPACE


def test_an_interrupt_inside_the_objective_returns_what_is_known():
    calls = []

    def objective(x, n):
        calls.append(x)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return payoff(x, n)

    result = tp.maximize(objective, SPACE, 100)
    assert result.interrupted
    assert len(result.trials) == 5 == result.recommendation.total_payoffs
    assert [trial.number for trial in result.optimizer.pending] == [5]


def test_an_interrupt_before_the_first_payoff():
    def objective(x, n):
        raise KeyboardInterrupt

    result = tp.minimize(objective, SPACE)
    assert result.interrupted
    assert result.recommendation is None
    assert result.trials == []
    assert str(result) == "nothing was measured"


def test_what_the_objective_raises_is_passed_on():
    def objective(x, n):
        raise ZeroDivisionError("inside")

    with pytest.raises(ZeroDivisionError, match="inside"):
        tp.maximize(objective, SPACE, 5)


@pytest.mark.parametrize("value", [float("nan"), None, "3", {1.0}, []])
def test_a_payoff_that_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match="`value`"):
        tp.maximize(lambda x, n: value, SPACE, 5)


@pytest.mark.parametrize("evaluations", [0, -1, 2.5, None, True])
def test_evaluations_must_be_a_positive_integer(evaluations):
    with pytest.raises(ValueError, match="evaluations"):
        tp.maximize(payoff, SPACE, evaluations)


LINE_END = "\n\x1b[?25h"  # then the cursor is shown again


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_on_a_terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    tp.maximize(payoff, SPACE, 4)
    text = stream.getvalue()
    assert "4/4, last" in text
    assert "0 s left" in text
    assert text.endswith(LINE_END)


def test_a_bar_shows_every_kind_of_number(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    tp.maximize(lambda x, n: Fraction(n, 7), SPACE, 2)
    assert "2/2" in stream.getvalue()


def test_a_bar_ends_its_line_when_interrupted(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)

    evaluated = []

    def objective(x, n):
        evaluated.append(x)
        if len(evaluated) == 2:
            raise KeyboardInterrupt
        return x

    assert tp.maximize(objective, SPACE, 4).interrupted
    assert "1/4" in stream.getvalue()
    assert stream.getvalue().endswith(LINE_END)


def closed():
    stream = Terminal()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [None, closed()], ids=["none", "closed"])
def test_there_need_be_no_stream_for_errors(monkeypatch, stream):
    monkeypatch.setattr("sys.stderr", stream)
    assert len(tp.maximize(payoff, SPACE, 2).trials) == 2


@dataclasses.dataclass(frozen=True)
class Rigid(Exception):
    """An error that takes no attributes."""

    code: int


def test_what_a_function_raises_comes_through_with_what_was_told():
    def fails(kind):
        def objective(x, n):
            if len(told) == 2:
                raise kind(7)
            told.append(x)
            return x

        told = []
        return objective

    with pytest.raises(KeyError) as caught:
        tp.maximize(fails(KeyError), SPACE, 4)
    assert len(caught.value.optimizer) == 2
    assert "2 payoffs were told before" in caught.value.__notes__[0]
    with pytest.raises(Rigid):
        tp.maximize(fails(Rigid), SPACE, 4)


@pytest.mark.parametrize(
    ("name", "given"), [("objective", {"objective": 3}), ("progress", {"progress": "no"})]
)
def test_what_is_no_function_or_flag_is_named(name, given):
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        tp.maximize(**{"objective": payoff, "space": SPACE, "evaluations": 2} | given)


@pytest.mark.parametrize("progress", [True, False])
def test_no_bar_elsewhere(capsys, progress):
    tp.maximize(payoff, SPACE, 3, progress=progress)
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err == ""


def test_no_bar_on_a_terminal_if_none_is_wanted(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    tp.minimize(payoff, SPACE, 3, progress=False)
    assert stream.getvalue() == ""


def test_numpy_numbers_and_integers_are_payoffs():
    for convert in (np.float32, np.float64, int, np.array):
        result = tp.maximize(lambda x, n, c=convert: c(n), SPACE, 4)
        assert all(type(done.value) is float for done in result.trials)


def test_names_that_are_no_identifiers_reach_a_function_of_keywords():
    space = tp.Space({"learning rate": tp.Float(0, 1)})
    result = tp.maximize(lambda **params: params["learning rate"], space, 4)
    assert set(result.recommendation.params) == {"learning rate"}


def test_options_and_seed_are_handed_on():
    options = tp.Options(n_initial=3, kappa=1.0)
    result = tp.maximize(payoff, SPACE, 4, seed=9, options=options)
    assert result.optimizer.options is options
    assert result.optimizer.seed == 9
