import numpy as np
import pytest

import tailproof as tp
from searches import LINE, MIXED, payoff, run, snapshot

BASELINE = {"lr": 1e-4, "n": 1, "act": "a"}


def test_the_baseline_is_first_and_asked_now_and_then():
    opt = tp.Optimizer(MIXED, baseline=BASELINE)
    asked = run(opt, 60)
    runs = [i for i, params in enumerate(asked) if params == {**BASELINE, "k": 3}]
    assert runs[0] == 0
    assert 3 <= len(runs) <= 8


def test_pending_runs_of_the_baseline_count():
    opt = tp.Optimizer(LINE, baseline={"x": 0.25})
    batch = opt.ask(6)
    assert [trial.params["x"] == 0.25 for trial in batch] == [True] + 3 * [False] + [True, False]


def test_every_recommendation_says_how_much_better_it_is():
    opt = tp.Optimizer(MIXED, baseline=BASELINE)
    run(opt, 80)
    best = opt.recommend()
    found = best.baseline
    truth = payoff_mean(best.params) - payoff_mean({**BASELINE, "k": 3})
    assert found.params == {**BASELINE, "k": 3}
    assert found.improvement == pytest.approx(best.mean - found.mean)
    assert found.improvement_lower < found.improvement < found.improvement_upper
    assert found.improvement_lower < truth < found.improvement_upper
    assert found.probability > 0.95
    assert f"better than the baseline's {found.mean:.4g} by {found.improvement:.4g}" in str(best)


def payoff_mean(params):
    return payoff(params, 0) - 0.3 * np.random.default_rng([7, 0]).standard_t(1.5)


def test_the_better_direction_is_positive_when_minimizing_too():
    most, least = tp.Optimizer(LINE, baseline={"x": 0.9}), None
    least = tp.Optimizer(LINE, baseline={"x": 0.9}, minimize=True)
    run(most, 25, lambda p, i: -((p["x"] - 0.3) ** 2))
    run(least, 25, lambda p, i: (p["x"] - 0.3) ** 2)
    assert least.recommend().baseline.improvement == most.recommend().baseline.improvement > 0.2
    assert least.recommend().baseline.mean == -most.recommend().baseline.mean


def test_the_baseline_itself_is_no_better_than_itself():
    opt = tp.Optimizer(LINE, baseline={"x": 0.3})
    run(opt, 30, lambda p, i: -abs(p["x"] - 0.3))
    opt.confirm(1)
    run(opt, 6, lambda p, i: -abs(p["x"] - 0.3))
    best = opt.recommend()
    if best.params == {"x": 0.3}:
        assert (best.baseline.improvement, best.baseline.probability) == (0.0, 0.0)
        assert "the baseline itself" in str(best)
    else:
        assert abs(best.baseline.improvement) < 0.05


@pytest.mark.parametrize("wrong", [{"x": 2.0}, {"y": 0.5}, {}, 3, None])
def test_a_baseline_outside_the_space_is_refused_and_changes_nothing(wrong):
    opt = tp.Optimizer(LINE, baseline={"x": 0.5})
    before = snapshot(opt)
    with pytest.raises(ValueError, match=r"`"):
        opt.baseline(wrong)
    assert snapshot(opt) == before


def test_digits_of_the_baseline_are_kept():
    opt = tp.Optimizer(tp.Space(x=tp.Float(1e-5, 1.0, log=True)), baseline={"x": 1 / 30})
    assert opt.ask().params == {"x": 1 / 30}
    assert opt.propose(0) == {"x": 1 / 30}


def test_saved_and_loaded_it_goes_on_with_the_baseline(tmp_path):
    opt = tp.Optimizer(MIXED, baseline=BASELINE, minimize=True)
    run(opt, 15)
    opt.save(tmp_path / "run.npz")
    again = tp.load(tmp_path / "run.npz")
    assert snapshot(again) == snapshot(opt)
    assert again.recommend() == opt.recommend()
    assert run(again, 12) == run(opt, 12)
