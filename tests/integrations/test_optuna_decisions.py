"""Baseline, confirmation, stopping and failures of Optuna studies, also across workers."""

import numpy as np
import pytest

from optuna_studies import a_study, bowl, distance, optuna
from tailproof.integrations.optuna import (
    SQLiteStorage,
    StoppingCallback,
    TailproofSampler,
    confirm,
    enqueue_baseline,
    optimizer_of_study,
    recommend,
    resume_search,
)

CORNER = {"x": 1.0, "y": 0.0}


def noisy(trial):
    return bowl(trial) + 0.01 * np.random.default_rng([2, trial.number]).standard_t(2.0)


def baseline_study(trials=30, **more):
    study = a_study(**more)
    enqueue_baseline(study, CORNER)
    study.optimize(noisy, n_trials=trials)
    return study


def test_the_baseline_runs_first_and_now_and_then_and_is_compared_with():
    study = baseline_study(40)
    runs = [t.number for t in study.trials if t.params == CORNER]
    assert runs[0] == 0
    assert 3 <= len(runs) <= 6
    assert study.trials[0].user_attrs == {"tailproof:baseline": True}
    best = recommend(study)
    assert best.baseline.params == CORNER
    assert best.baseline.payoffs == len(runs)
    assert best.baseline.probability > 0.95
    assert best.baseline.improvement == pytest.approx(best.baseline.mean - best.mean)
    for wrong in (None, {}, "x"):
        with pytest.raises(ValueError, match="`params`"):
            enqueue_baseline(study, wrong)


def test_the_last_baseline_counts():
    study = baseline_study(12)
    enqueue_baseline(study, {"x": 0.0, "y": 0.0})
    study.optimize(noisy, n_trials=8)
    assert recommend(study).baseline.params == {"x": 0.0, "y": 0.0}


def test_a_race_runs_in_blocks_and_what_is_recommended_was_run():
    study = baseline_study(25)
    candidates = confirm(study, 3)
    assert candidates[-1] == CORNER
    study.optimize(noisy, n_trials=len(candidates))
    block = [t.params for t in study.trials[25:]]
    assert all(block.count(params) == 1 for params in candidates)
    study.optimize(noisy, n_trials=12)
    assert all(t.params in candidates for t in study.trials[25:])
    best = recommend(study)
    assert best.params in candidates
    assert best.payoffs >= 2
    resume_search(study)
    study.optimize(noisy, n_trials=3)
    assert any(t.params not in candidates for t in study.trials[-3:])


def test_a_race_goes_on_in_other_workers(tmp_path):
    storage = SQLiteStorage(tmp_path / "study.db")
    study = baseline_study(25, storage=storage, study_name="s")
    candidates = confirm(study, 3)
    running = [study.ask() for _ in range(len(candidates))]
    for trial in running:
        trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    other = optuna.load_study(study_name="s", storage=storage, sampler=TailproofSampler(seed=9))
    trial = other.ask()
    params = {name: trial.suggest_float(name, 0.0, 1.0) for name in ("x", "y")}
    assert params in candidates
    # Together they are a block and the first run of the next.
    everyone = [t.params for t in running] + [params]
    assert max(everyone.count(c) for c in candidates) == 2
    assert min(everyone.count(c) for c in candidates) == 1
    storage.remove_session()
    storage.engine.dispose()


def test_a_callback_stops_the_study_after_it_was_confirmed():
    study = a_study()
    study.optimize(noisy, n_trials=300, callbacks=[StoppingCallback(until=0.1)])
    searched = study.user_attrs["tailproof:race"]["start"]
    assert 20 <= searched < 200
    assert len(study.trials) == searched + round(searched / 4)
    best = recommend(study)
    assert best.payoffs >= 2
    assert distance(best.params, {"x": 0.3, "y": 0.6}) < 0.32
    # After a restart there is nothing left to do: one more trial, and it stops.
    study.optimize(noisy, n_trials=50, callbacks=[StoppingCallback(until=0.1)])
    assert len(study.trials) == searched + round(searched / 4) + 1


def test_a_callback_stops_when_the_baseline_is_beaten():
    study = a_study()
    enqueue_baseline(study, CORNER)
    callback = StoppingCallback(until_better=True, level=0.95, confirm=0.0)
    study.optimize(noisy, n_trials=200, callbacks=[callback])
    assert len(study.trials) <= 40
    assert recommend(study).baseline.probability >= 0.95


@pytest.mark.parametrize(
    "wrong", [{}, {"until": "x"}, {"until": 1.0, "level": 1.0}, {"until": 1.0, "confirm": 1.0}]
)
def test_callbacks_of_wrong_arguments_are_refused(wrong):
    with pytest.raises(ValueError, match="`"):
        StoppingCallback(**wrong)


def test_other_samplers_cannot_run_a_race():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(bowl, n_trials=5)
    with pytest.raises(ValueError, match="must have a TailproofSampler, but got one with Random"):
        confirm(study)


def test_failed_trials_are_avoided_if_asked_for():
    def crashing(trial):
        value = -trial.suggest_float("x", 0.0, 1.0) + trial.suggest_float("y", 0.0, 1.0) ** 2
        if trial.params["x"] > 0.6:
            raise RuntimeError
        return value

    counts = []
    for careful in (False, True):
        study = a_study(TailproofSampler(seed=0, avoid_failures=careful))
        study.optimize(crashing, n_trials=50, catch=RuntimeError)
        counts.append(sum(t.state.name == "FAIL" for t in study.trials))
        assert recommend(study).params["x"] <= 0.65  # never where trials fail
    assert counts[1] < 0.7 * counts[0]


def test_a_failed_trial_with_a_payoff_is_one_trial():
    def objective(trial):  # as `tailproof tune --fail-value` stores what failed
        x = trial.suggest_float("x", 0.0, 1.0)
        if x > 0.6:
            trial.set_user_attr("outcome", {"kind": "failed"})
            return 1e6
        return -x

    study = a_study(TailproofSampler(seed=0, avoid_failures=True))
    study.optimize(objective, n_trials=30)
    failed = {t.number for t in study.trials if t.value == 1e6}
    told, _ = optimizer_of_study(study)
    assert len(told) == 30
    assert len(told.failures) == len(failed) > 0
    inside, outside = told.failure_probability([{"x": 0.3}, {"x": 0.9}])
    assert inside < 0.1
    assert outside > 0.5
    best = recommend(study)
    assert best.upper - best.lower < 1.0
