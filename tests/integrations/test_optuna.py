"""TailproofSampler: suggestions, also to many workers, and recommendations."""

import math
import pickle
import warnings

import numpy as np
import pytest

optuna = pytest.importorskip("optuna", minversion="5.0", reason="the sampler is for Optuna 5")

from optuna.distributions import FloatDistribution  # noqa: E402
from optuna.trial import TrialState, create_trial  # noqa: E402

from optuna_studies import (  # noqa: E402
    EARLY,
    SQUARE,
    a_sampler,
    a_study,
    bowl,
    bowl_study,
    distance,
    frozen,
    optimizer_of,
    suggested,
)
from tailproof import Float, Optimizer, Space  # noqa: E402
from tailproof.integrations import _optuna_model  # noqa: E402
from tailproof.integrations.optuna import (  # noqa: E402
    TailproofSampler,
    recommend,
)

# What a suggestion depends on.


def test_minimizing_and_maximizing_are_mirror_images():
    down, up = a_study(), a_study(direction="maximize")
    down.optimize(bowl, n_trials=12)
    up.optimize(lambda trial: -bowl(trial), n_trials=12)
    assert suggested(down) == suggested(up)
    low, high = recommend(down), recommend(up)
    assert low.params == high.params
    assert (low.mean, low.lower, low.upper) == pytest.approx((-high.mean, -high.upper, -high.lower))


def test_a_suggestion_is_what_the_optimizer_proposes():
    study = bowl_study(12)
    optimizer = Optimizer(
        Space(x=Float(0.0, 1.0), y=Float(0.0, 1.0)), seed=0, minimize=True, options=EARLY
    )
    for trial in study.trials:
        if trial.number > 0:  # the first has no space yet
            assert trial.params == optimizer.propose(trial.number)
        optimizer.add(trial.params, trial.value)
    best = recommend(study)
    assert best == optimizer.recommend()
    assert distance(best.params, {"x": 0.3, "y": 0.6}) < 0.3


def test_a_new_sampler_of_the_same_seed_goes_on_as_the_old_one_would_have(tmp_path):
    whole = suggested(bowl_study(12))
    for _ in range(4):  # as a new process each time
        storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path / 'a.db'}")
        study = optuna.create_study(
            storage=storage, study_name="a", sampler=a_sampler(), load_if_exists=True
        )
        study.optimize(bowl, n_trials=3)
        seen = suggested(study)
        storage.remove_session()
        storage.engine.dispose()
    assert seen == whole


def test_restarting_early_repeats_no_point():
    study = a_study()
    for _ in range(6):
        study.sampler = a_sampler()
        study.optimize(bowl, n_trials=1)
    points = suggested(study)
    assert len({tuple(point.values()) for point in points}) == len(points)


def test_seeds_tell_samplers_apart():
    assert suggested(bowl_study(6)) == suggested(bowl_study(6))
    assert suggested(bowl_study(6)) != suggested(bowl_study(6, a_sampler(seed=1)))
    no_seed = [suggested(bowl_study(2, a_sampler(seed=None))) for _ in range(2)]
    assert no_seed[0] != no_seed[1]


def test_reseeding_changes_what_comes_next():
    study = bowl_study(1)
    space = study.trials[0].distributions
    trial = frozen(study, study.ask())
    sampler = a_sampler()
    points = []
    for _ in range(3):
        together = sampler.sample_relative(study, trial, space)
        alone = sampler.sample_independent(study, trial, "z", FloatDistribution(0.0, 1.0))
        points += [together["x"], alone]
        sampler.reseed_rng()
    assert len(set(points)) == len(points)


def test_reseeding_and_recommending_keep_the_optimizer(monkeypatch):
    built = []

    class Counted(Optimizer):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            built.append(self)

    monkeypatch.setattr(_optuna_model, "Optimizer", Counted)
    study = bowl_study(7)
    study.sampler.reseed_rng()
    study.optimize(bowl, n_trials=1)
    recommend(study)
    assert len(built) == 1
    assert len(built[0]) == 8


def test_a_pickled_sampler_goes_on_alike():
    study = bowl_study(12)
    trial = frozen(study, study.ask())
    trial.system_attrs.clear()  # as if it had not been asked for a point before
    space = study.sampler.infer_relative_search_space(study, trial)
    samplers = (study.sampler, pickle.loads(pickle.dumps(study.sampler)), a_sampler(seed=999))
    points = [sampler.sample_relative(study, trial, space) for sampler in samplers]
    assert points[0] == points[1] != points[2]


@pytest.mark.parametrize("seed", [-1, 0.5, "a", True])
def test_a_bad_seed_is_refused(seed):
    with pytest.raises(ValueError, match="seed"):
        TailproofSampler(seed=seed)


# Many workers.


def test_running_trials_are_pending_points():
    study = bowl_study(10)
    points = []
    for _ in range(4):
        study.sampler = a_sampler()  # a worker of its own, which knows what the storage says
        trial = study.ask()
        trial.suggest_float("x", 0.0, 1.0)  # y is not stored yet
        points.append(trial.relative_params)
    pairs = [(a, b) for i, a in enumerate(points) for b in points[:i]]
    assert min(distance(a, b) for a, b in pairs) > 1e-3


def test_a_running_trial_is_pending_where_it_was_enqueued():
    study = bowl_study(10)
    study.enqueue_trial({"x": 0.9, "y": 0.1})
    study.ask()  # it has not stored its parameters yet, and was sent elsewhere
    second = study.ask()
    expected = optimizer_of(study).propose(second.number, pending=[{"x": 0.9, "y": 0.1}])
    assert second.relative_params == expected


def test_workers_that_choose_at_the_same_moment_choose_apart(monkeypatch):
    # Neither sees the other's choice.
    storage = optuna.storages.InMemoryStorage()
    monkeypatch.setattr(storage, "set_trial_system_attr", lambda *_: None)
    study = bowl_study(10, storage=storage)
    trials = [frozen(study, trial) for trial in (study.ask(), study.ask())]
    space = study.sampler.infer_relative_search_space(study, trials[0])
    chosen = [a_sampler().sample_relative(study, trial, space) for trial in trials]
    assert distance(*chosen) > 1e-3
    # The second took the first for being just where it is.
    assert chosen[1] == optimizer_of(study).propose(trials[1].number, pending=[chosen[0]])


def test_threads_share_a_sampler():
    study = a_study()
    study.optimize(bowl, n_trials=16, n_jobs=4)
    trials = study.get_trials()
    assert [trial.state for trial in trials] == [TrialState.COMPLETE] * 16
    assert len({tuple(trial.params.values()) for trial in trials}) == 16


def test_a_trial_that_is_run_again_goes_where_it_was_sent_first():
    study = bowl_study(8)
    dead = study.ask()
    x = dead.suggest_float("x", 0.0, 1.0)  # killed before y was stored
    y = dead.relative_params["y"]
    study.tell(dead, state=TrialState.FAIL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        retry = optuna.storages.RetryHeartbeatStaleTrialCallback()
    retry(study, study.trials[-1])
    study.sampler = a_sampler()
    study.optimize(bowl, n_trials=1)
    assert study.trials[-1].params == {"x": x, "y": y}
    assert study.trials[-1].state == TrialState.COMPLETE


# Trials that are not payoffs.


def test_failed_pruned_nan_and_infinite_trials_cost_nothing_but_themselves():
    def eventful(trial):
        value = bowl(trial)
        if trial.number % 7 == 1:
            raise RuntimeError
        if trial.number % 7 == 2:
            trial.report(-1e9, 0)
            raise optuna.TrialPruned
        odd = {3: math.nan, 4: math.inf, 5: -math.inf, 6: 1e300}
        return odd.get(trial.number % 7, value)

    study = a_study()
    study.optimize(eventful, n_trials=42, catch=(RuntimeError,))
    assert len(study.trials) == 42
    usual = [t for t in study.trials if t.number % 7 == 0]
    assert all(trial.state == TrialState.COMPLETE for trial in usual)
    best = recommend(study, sampler=study.sampler)
    assert best.total_payoffs == len(usual)
    assert best.best_observed_value == min(trial.value for trial in usual)
    assert abs(best.mean) < 1.0


def test_enqueued_trials_are_run_as_they_are():
    study = bowl_study(6)
    study.enqueue_trial({"x": 0.125, "y": 0.25})
    study.enqueue_trial({"x": 0.5})
    study.enqueue_trial({"x": 7.0, "y": 0.25})
    study.optimize(bowl, n_trials=2)
    with pytest.warns(UserWarning, match="out of range"):
        study.optimize(bowl, n_trials=1)
    inside, partly, outside = suggested(study)[6:]
    assert inside == {"x": 0.125, "y": 0.25}
    assert partly["x"] == 0.5
    assert outside == {"x": 7.0, "y": 0.25}
    study.optimize(bowl, n_trials=1)
    # The one out of range stays in the study and out of the model.
    assert recommend(study).total_payoffs == len(study.trials) - 1


def test_added_trials_are_learnt_from():
    study = a_study()
    for x in (0.1, 0.3, 0.5, 0.7, 0.9):
        for y in (0.2, 0.6, 0.9):
            value = (x - 0.3) ** 2 + (y - 0.6) ** 2
            study.add_trial(
                create_trial(params={"x": x, "y": y}, distributions=SQUARE, value=value)
            )
    study.optimize(bowl, n_trials=1)
    assert recommend(study).total_payoffs == 16
    assert distance(recommend(study).params, {"x": 0.3, "y": 0.6}) < 0.15


# The recommendation.


def test_the_best_observed_payoff_is_not_recommended():
    noise = np.random.default_rng(1)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(lambda trial: 0.1 * noise.standard_t(1.5) - bowl(trial), n_trials=80)
    outlier = {"x": 1.0, "y": 0.0}
    study.add_trial(create_trial(params=outlier, distributions=SQUARE, value=1000.0))
    best = recommend(study)
    assert best.best_observed_params == study.best_params == outlier
    assert best.best_observed_value == study.best_value == 1000.0
    assert distance(best.params, {"x": 0.3, "y": 0.6}) < 0.3
    assert best.upper < 1.0


def test_a_study_of_any_sampler_gets_a_recommendation():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))
    study.optimize(bowl, n_trials=40)
    best = recommend(study, level=0.5)
    wide = recommend(study, level=0.99)
    assert distance(best.params, {"x": 0.3, "y": 0.6}) < 0.2
    assert wide.lower < best.lower < best.mean < best.upper < wide.upper
    assert wide.params == best.params


def test_a_recommendation_does_not_depend_on_the_seed_and_changes_no_suggestion():
    study = bowl_study(12)
    own = recommend(study)
    assert recommend(study, sampler=a_sampler(seed=9)) == own
    other = bowl_study(12)  # without a recommendation
    assert study.ask(SQUARE).params == other.ask(SQUARE).params


def test_nothing_to_recommend_is_said():
    study = a_study()
    with pytest.raises(ValueError, match=r"complete trial .* got 0 such"):
        recommend(study)
    study.optimize(lambda trial: 1.0, n_trials=2)
    with pytest.raises(ValueError, match=r"common parameters \[\]"):
        recommend(study)
    with pytest.raises(ValueError, match="level"):
        recommend(bowl_study(4), level=1.5)
