import numpy as np
import pytest

import tailproof as tp
from searches import LINE, MIXED, run, snapshot

SQUARE = tp.Space(x=tp.Float(0, 1), y=tp.Float(0, 1))


def crashing(opt, rounds, limit=0.6):
    """Ask and tell: beyond a limit in x every trial fails, and the payoff rises up to there."""
    failed = []
    for _ in range(rounds):
        trial = opt.ask()
        if trial.params["x"] > limit:
            opt.fail(trial, "out of memory")
            failed.append(trial.number)
        else:
            opt.tell(trial, trial.params["x"] - (trial.params["y"] - 0.5) ** 2)
    return failed


def test_failed_trials_are_counted_and_left_out_of_the_mean():
    opt = tp.Optimizer(SQUARE)
    failed = crashing(opt, 30)
    assert [failure.trial.number for failure in opt.failures] == failed
    assert {failure.reason for failure in opt.failures} == {"out of memory"}
    assert opt.recommend().total_payoffs == 30 - len(failed)
    assert opt.pending == []


def test_the_search_leaves_regions_that_fail_if_asked_to():
    careless, careful = tp.Optimizer(SQUARE), tp.Optimizer(SQUARE, avoid_failures=True)
    many, few = crashing(careless, 60), crashing(careful, 60)
    assert len(few) < 0.6 * len(many)
    assert len([number for number in few if number >= 30]) <= 8
    inside, outside = careful.failure_probability([{"x": 0.2, "y": 0.5}, {"x": 0.8, "y": 0.5}])
    assert inside < 0.1
    assert outside > 0.5
    assert 0.4 < careful.recommend().params["x"] < 0.65


def test_a_fail_value_is_the_payoff_of_failed_trials():
    opt = tp.Optimizer(SQUARE, fail_value=-5.0)
    failed = crashing(opt, 40)
    assert len(opt) == 40
    assert [t.value for t in opt.trials if t.trial.number in failed] == [-5.0] * len(failed)
    assert opt.recommend().params["x"] <= 0.6


def fail_beyond_a_hill(opt, trials, seed):
    """Run trials on a hill with light noise; those with x > 0.6 fail."""
    rng = np.random.default_rng(seed)
    for _ in range(trials):
        trial = opt.ask()
        x, y = trial.params["x"], trial.params["y"]
        if x > 0.6:
            opt.fail(trial)
        else:
            opt.tell(trial, 0.1 * rng.standard_normal() - (x - 0.4) ** 2 - (y - 0.5) ** 2)


@pytest.mark.parametrize("seed", range(3))
def test_a_far_fail_value_does_not_widen_the_intervals_of_what_runs(seed):
    def width(fail_value):
        opt = tp.Optimizer(SQUARE, fail_value=fail_value, seed=seed)
        fail_beyond_a_hill(opt, 40, seed)
        found = opt.predict({"x": 0.4, "y": 0.5})
        return found.upper - found.lower

    # As far as a value just below the payoffs; ten times wider if it were told as it is.
    assert width(-1e6) < 3.0 * width(-1.0)


def test_what_failed_trials_are_given_is_no_tail():
    opt = tp.Optimizer(SQUARE, fail_value=-1e6)
    fail_beyond_a_hill(opt, 60, 0)
    assert len(opt.failures) > 0
    assert "heavy-tailed" not in opt.recommend().tails


def test_the_limit_of_a_fail_value_survives_saving_amid_fits(tmp_path):
    opt = tp.Optimizer(SQUARE, fail_value=-1e5)
    crashing(opt, 23)
    opt.recommend()
    opt.save(tmp_path / "run.npz")
    again = tp.load(tmp_path / "run.npz")
    assert crashing(again, 20) == crashing(opt, 20)
    assert again.recommend() == opt.recommend()


def test_a_failure_elsewhere_may_have_a_payoff_of_its_own():
    opt = tp.Optimizer(SQUARE)
    params = {"x": 0.9, "y": 0.5}
    opt.add_failure(params, "crash", value=-3.0)
    opt.add_failure(params, "crash")
    assert [done.value for done in opt.trials] == [-3.0]
    assert [failure.reason for failure in opt.failures] == ["crash", "crash"]
    assert opt.failure_probability([params])[0] > 0.6  # both failed, none succeeded


def test_everything_may_fail():
    opt = tp.Optimizer(MIXED, avoid_failures=True)
    for trial in opt.ask(3):
        opt.fail(trial)
    for _ in range(12):
        opt.fail(opt.ask(), "no")
    assert len(opt.failures) == 15
    with pytest.raises(ValueError, match="no payoff"):
        opt.recommend()


def test_a_trial_fails_once_and_not_after_its_payoff():
    opt = tp.Optimizer(LINE)
    first, second = opt.ask(2)
    opt.tell(first, 1.0)
    opt.fail(second)
    before = snapshot(opt)
    for trial in (first, second, 7, "x"):
        with pytest.raises(ValueError, match="`trial` must"):
            opt.fail(trial)
    assert snapshot(opt) == before


def test_saved_and_loaded_the_failures_are_there(tmp_path):
    opt = tp.Optimizer(SQUARE, avoid_failures=True, fail_value=-1.0)
    crashing(opt, 20)
    opt.save(tmp_path / "run.npz")
    again = tp.load(tmp_path / "run.npz")
    assert again.failures == opt.failures
    assert snapshot(again) == snapshot(opt)
    assert crashing(again, 10) == crashing(opt, 10)


def test_a_loop_can_skip_errors():
    def objective(x, y):
        if x > 0.5:
            raise MemoryError("too large")
        return x - (y - 0.5) ** 2

    with pytest.raises(MemoryError):
        tp.maximize(objective, SQUARE, 20)
    result = tp.maximize(objective, SQUARE, 40, on_error="skip", avoid_failures=True)
    assert len(result.trials) + len(result.failures) == 40
    assert result.failures[0].reason == "MemoryError: too large"
    assert result.recommendation.params["x"] <= 0.5
    worst = tp.maximize(objective, SQUARE, 40, fail_value=-1.0)
    assert len(worst.trials) == 40
    assert len(worst.failures) > 0
    with pytest.raises(ValueError, match="`on_error` must be one of"):
        tp.maximize(objective, SQUARE, 20, on_error="ignore")


def test_a_loop_in_which_everything_fails_recommends_nothing():
    def objective(x):
        raise OSError

    result = tp.minimize(objective, LINE, 12, on_error="skip")
    assert result.recommendation is None
    assert 1 <= len(result.failures) <= 12


def test_ask_for_a_batch_is_asking_several_times():
    one, many = tp.Optimizer(MIXED, seed=4), tp.Optimizer(MIXED, seed=4)
    run(one, 12)
    run(many, 12)
    assert many.ask(3) == [one.ask() for _ in range(3)]
    for wrong in (0, -2, 1.5, "3", True):
        with pytest.raises(ValueError, match="`count"):
            one.ask(wrong)


def test_predict_takes_one_configuration_or_many():
    opt = tp.Optimizer(LINE)
    run(opt, 15, lambda p, i: p["x"])
    one, many = opt.predict({"x": 0.5}), opt.predict([{"x": 0.5}, {"x": 0.6}])
    assert one.mean.shape == one.lower.shape == ()
    assert float(one.mean) == pytest.approx(many.mean[0])
    assert float(one.upper) == pytest.approx(many.upper[0])
    assert f"{one.mean:.3f}" == f"{many.mean[0]:.3f}"
    assert np.shape(many.lower) == (2,)


def test_a_payoff_that_comes_after_a_failure_counts_as_told():
    opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1)), seed=0)
    trials = opt.ask(4)
    opt.fail(trials[0], "timeout")
    for trial, value in zip(trials, (-1000.0, 1.0, 2.0, 1.5), strict=True):
        opt.tell(trial, value)
    assert opt.failures == []
    found = opt.predict(trials[0].params)
    assert found.mean < -100.0
