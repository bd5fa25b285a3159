import numpy as np
import pytest

import tailproof as tp
from searches import LINE, MIXED, run, snapshot
from tailproof.search.decision.race import in_race, select_candidates

BUMP = {"x": 0.9}


def noisy(params, i):
    return -((params["x"] - 0.3) ** 2) + 0.02 * np.random.default_rng([3, i]).standard_t(2.0)


def test_a_confirmation_runs_the_candidates_and_the_baseline_in_blocks():
    opt = tp.Optimizer(LINE, baseline=BUMP)
    run(opt, 25, noisy)
    candidates = opt.confirm(3)
    assert candidates[-1] == BUMP
    assert 2 <= len(candidates) <= 4
    block = run(opt, len(candidates), noisy)
    assert sorted(p["x"] for p in block) == sorted(p["x"] for p in candidates)
    asked = block + run(opt, 20, noisy)
    assert all(params in candidates for params in asked)
    assert opt.recommend().params in candidates
    assert opt.recommend().payoffs >= 2
    counts = [asked.count(params) for params in candidates]
    assert counts[-1] >= max(counts) - 1  # the baseline stays to the end


def test_clearly_worse_candidates_drop_out_and_what_is_left_gets_the_runs():
    draws = np.array([5.0, 4.9, 0.0, -9.0]) + np.random.default_rng(0).normal(size=(1000, 4))
    runs = np.array([2, 2, 2, 2])
    assert in_race(draws, runs, has_baseline=True).tolist() == [True, True, False, True]
    assert in_race(draws, runs, has_baseline=False).tolist() == [True, True, False, False]
    assert in_race(draws, np.array([2, 2, 1, 0]), has_baseline=True).all()


def test_candidates_that_the_model_takes_for_the_same_are_one():
    draws = np.random.default_rng(0).standard_normal((500, 1))
    assert select_candidates(np.hstack([draws, draws, draws]), 1, 3) == [1]


def test_a_configuration_of_which_little_is_known_must_be_better_by_more():
    known, hardly_known = {"a": 0}, {"a": 1}
    opt = tp.Optimizer(tp.Configurations([known, hardly_known, {"a": 2}]))
    opt.add(known, mean=1.0, sem=0.01, n=100)
    opt.add({"a": 2}, mean=0.0, sem=0.01, n=100)
    opt.add(hardly_known, mean=1.3, sem=0.3, n=4)
    opt.resume_confirmation([hardly_known, known], [2])
    assert opt.predict(hardly_known).mean > opt.predict(known).mean
    assert opt.recommend().params == known
    opt.add(hardly_known, mean=1.5, sem=0.01, n=100)
    assert opt.recommend().params == hardly_known


def test_pending_trials_count_as_runs_of_the_race():
    opt = tp.Optimizer(LINE, baseline=BUMP)
    run(opt, 25, noisy)
    candidates = opt.confirm(3)
    batch = opt.ask(2 * len(candidates))
    for params in candidates:
        assert [trial.params for trial in batch].count(params) == 2


def test_failed_runs_do_not_keep_a_race_from_going_on():
    opt = tp.Optimizer(LINE, baseline=BUMP)
    run(opt, 25, noisy)
    candidates = opt.confirm(2)
    for _ in range(3 * len(candidates)):
        trial = opt.ask()
        if trial.params == candidates[0]:
            opt.fail(trial, "it crashed")
        else:
            opt.tell(trial, noisy(trial.params, trial.number))
    assert len(opt.failures) >= 2
    assert opt.recommend().params != candidates[0] or opt.recommend().payoffs > 0


def test_after_a_confirmation_the_search_can_go_on():
    opt = tp.Optimizer(LINE)
    run(opt, 25, noisy)
    opt.confirm(2)
    run(opt, 6, noisy)
    opt.resume_search()
    asked = run(opt, 4, noisy)
    assert len({params["x"] for params in asked}) > 2


def test_saved_in_the_middle_of_a_race_it_goes_on_bit_for_bit(tmp_path):
    opt = tp.Optimizer(LINE, baseline=BUMP, minimize=False)
    run(opt, 25, noisy)
    opt.confirm(3)
    run(opt, 3, noisy)
    waiting = opt.ask()
    opt.save(tmp_path / "run.npz")
    again = tp.load(tmp_path / "run.npz")
    assert snapshot(again) == snapshot(opt)
    for o in (opt, again):
        o.tell(waiting, -0.1)
    assert run(again, 9, noisy) == run(opt, 9, noisy)
    assert again.recommend() == opt.recommend()


def test_a_race_over_configurations_and_of_one_payoff():
    opt = tp.Optimizer(tp.Configurations([{"a": i} for i in range(5)]), baseline={"a": 4})
    opt.tell(opt.ask(), 1.0)
    assert opt.confirm(3) == [{"a": 4}] or len(opt.confirm(3)) > 1
    run(opt, 4, lambda p, i: float(p["a"]))
    assert opt.recommend().payoffs >= 1


def test_confirming_needs_payoffs_and_a_count():
    opt = tp.Optimizer(MIXED)
    with pytest.raises(ValueError, match="no payoff is known"):
        opt.confirm()
    run(opt, 3)
    for wrong in (0, -1, 1.5, "2"):
        with pytest.raises(ValueError, match="`count"):
            opt.confirm(wrong)


def test_drift_that_is_the_same_for_all_cancels_in_the_race():
    # Payoffs rise by 1 in the course of the race: twice the difference of the two.
    chosen = []
    for seed in range(5):
        opt = tp.Optimizer(tp.Configurations([{"a": 0}, {"a": 1}]), baseline={"a": 0}, seed=seed)
        noise = np.random.default_rng(seed)
        for a in (0, 1) * 5:
            opt.add({"a": a}, 0.5 * a + 0.1 * noise.standard_normal())
        opt.confirm(1)
        run(opt, 40, lambda p, i, noise=noise: 0.5 * p["a"] + i / 50 + 0.1 * noise.normal())
        chosen.append(opt.recommend())
    assert all(best.params == {"a": 1} for best in chosen)
    assert np.mean([best.baseline.improvement for best in chosen]) == pytest.approx(0.5, abs=0.15)
