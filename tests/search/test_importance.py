import numpy as np
import pytest

import tailproof as tp
from searches import LINE, MIXED, line, run
from tailproof.search.importance import importance

CUBE = tp.Space(a=tp.Float(0, 1), b=tp.Float(0, 1), c=tp.Choice("u", "v"), k=tp.Fixed(1))


def payoff(params, i):
    mean = 3.0 * params["a"] + 1.0 * (params["c"] == "u")
    return mean + 0.2 * np.random.default_rng([1, i]).standard_t(2.0)


def test_the_shares_are_those_of_the_function():
    opt = tp.Optimizer(CUBE)
    for trial in opt.ask(80):
        opt.tell(trial, payoff(trial.params, trial.number))
    found = {one.name: one for one in importance(opt)}
    assert list(found) == ["a", "b", "c"]
    # Variances: 9 / 12 of a, 1 / 4 of c.
    assert found["a"].share == pytest.approx(0.75, abs=0.12)
    assert found["c"].share == pytest.approx(0.25, abs=0.12)
    assert found["b"].share < 0.06
    for one in found.values():
        assert 0.0 <= one.lower <= one.share <= one.upper
    wide = importance(opt, level=0.99)
    assert all(w.upper >= one.upper for w, one in zip(wide, found.values(), strict=True))


def test_no_share_and_no_end_of_an_interval_exceeds_one():
    opt = tp.Optimizer(tp.Space(a=tp.Float(0, 1), b=tp.Float(0, 1)))
    for trial in opt.ask(12):
        opt.tell(trial, trial.params["a"])
    a, b = importance(opt, level=0.99)
    assert 0.0 <= b.lower <= b.share < a.share <= a.upper <= 1.0


def test_constant_and_few_payoffs_have_shares():
    assert importance(line(tp.Optimizer(LINE), [5.0] * 12))[0].share in (0.0, pytest.approx(1, 1))
    opt = tp.Optimizer(MIXED)
    run(opt, 1)
    assert len(importance(opt)) == 3


def test_what_has_no_parameters_or_payoffs_is_refused():
    with pytest.raises(ValueError, match="no payoff"):
        importance(tp.Optimizer(LINE))
    opt = tp.Optimizer(tp.Configurations([{"x": 1}, {"x": 2}]))
    opt.tell(opt.ask(), 1.0)
    with pytest.raises(ValueError, match="over a Space"):
        importance(opt)
