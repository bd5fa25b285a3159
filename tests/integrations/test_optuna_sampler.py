"""TailproofSampler: what it suggests, what it leaves alone, and what it recommends."""

import math
import pickle
import warnings
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

optuna = pytest.importorskip("optuna", minversion="5.0", reason="the sampler is for Optuna 5")

from optuna.distributions import (  # noqa: E402
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState, create_trial  # noqa: E402

from tailproof import Float, Optimizer, Options, Space  # noqa: E402
from tailproof.integrations import optuna as door  # noqa: E402
from tailproof.integrations._optuna_history import History  # noqa: E402
from tailproof.integrations._optuna_space import Translation, modelled  # noqa: E402
from tailproof.integrations.optuna import (  # noqa: E402
    TailproofSampler,
    recommend,
    release_overdue,
)

EARLY = Options(initial=4)  # so that few trials reach the model
SQUARE = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)


def a_sampler(seed=0):
    return TailproofSampler(seed=seed, options=EARLY)


def a_study(sampler=None, **more):
    return optuna.create_study(sampler=sampler or a_sampler(), **more)


def bowl(trial):
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    return (x - 0.3) ** 2 + (y - 0.6) ** 2 + 0.05 * math.sin(97.0 * x)


def bowl_study(trials=7, sampler=None, **more):
    study = a_study(sampler, **more)
    study.optimize(bowl, n_trials=trials)
    return study


def suggested(study):
    return [trial.params for trial in study.get_trials(deepcopy=False)]


def distance(a, b):
    return max(abs(a[name] - b[name]) for name in a)


# What a suggestion depends on.


def test_minimising_and_maximising_are_mirror_images():
    down, up = a_study(), a_study(direction="maximize")
    down.optimize(bowl, n_trials=12)
    up.optimize(lambda trial: -bowl(trial), n_trials=12)
    assert suggested(down) == suggested(up)
    low, high = recommend(down), recommend(up)
    assert low.params == high.params
    assert (low.mean, low.low, low.high) == pytest.approx((-high.mean, -high.high, -high.low))


def test_a_suggestion_is_what_the_optimizer_proposes():
    study = bowl_study(12)
    optimizer = Optimizer(
        Space(x=Float(0.0, 1.0), y=Float(0.0, 1.0)), seed=0, minimise=True, options=EARLY
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
    storage = f"sqlite:///{tmp_path / 'a.db'}"
    for _ in range(4):  # a new process each time, as it were
        study = optuna.create_study(
            storage=storage, study_name="a", sampler=a_sampler(), load_if_exists=True
        )
        study.optimize(bowl, n_trials=3)
        study._storage._backend.engine.dispose()
    assert suggested(study) == whole


def test_restarting_early_repeats_no_point():
    study = a_study()
    for _ in range(6):
        study.sampler = a_sampler()
        study.optimize(bowl, n_trials=1)
    points = suggested(study)
    assert len({tuple(one.values()) for one in points}) == len(points)


def test_seeds_tell_samplers_apart():
    assert suggested(bowl_study(6)) == suggested(bowl_study(6))
    assert suggested(bowl_study(6)) != suggested(bowl_study(6, a_sampler(seed=1)))
    no_seed = [suggested(bowl_study(2, a_sampler(seed=None))) for _ in range(2)]
    assert no_seed[0] != no_seed[1]


def test_reseeding_changes_what_comes_next():
    study = bowl_study(1)
    space = study.trials[0].distributions
    frozen = study.ask()._cached_frozen_trial
    sampler = a_sampler()
    points = []
    for _ in range(3):
        together = sampler.sample_relative(study, frozen, space)
        alone = sampler.sample_independent(study, frozen, "z", FloatDistribution(0.0, 1.0))
        frozen.system_attrs.clear()  # it has not been here before
        points += [together["x"], alone]
        sampler.reseed_rng()
    assert len(set(points)) == len(points)


def test_reseeding_forgets_nothing():
    study = bowl_study(7)
    optimizer = study.sampler._known[study.study_name]._model.optimizer
    study.sampler.reseed_rng()
    study.optimize(bowl, n_trials=1)
    assert study.sampler._known[study.study_name]._model.optimizer is optimizer


def test_a_pickled_sampler_goes_on_alike():
    study = bowl_study(8)
    trial = study.ask()
    space = study.sampler.infer_relative_search_space(study, trial._cached_frozen_trial)
    frozen = trial._cached_frozen_trial
    samplers = (study.sampler, pickle.loads(pickle.dumps(study.sampler)), a_sampler(seed=999))
    points = []
    for sampler in samplers:
        frozen.system_attrs.clear()  # it has not been here before
        points.append(sampler.sample_relative(study, frozen, space))
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
    known = study.sampler._read(study)
    model = known.model(SQUARE, True, 0, EARLY)
    expected = model.optimizer.propose(second.number, pending=[{"x": 0.9, "y": 0.1}])
    assert second.relative_params == expected


def test_workers_that_choose_at_the_same_moment_choose_apart(monkeypatch):
    study = bowl_study(10)
    first, second = study.ask(), study.ask()
    # Neither sees the other's choice.
    monkeypatch.setattr(study._storage, "set_trial_system_attr", lambda *_: None)
    space = study.sampler.infer_relative_search_space(study, first._cached_frozen_trial)
    chosen = [
        a_sampler().sample_relative(study, trial._cached_frozen_trial, space)
        for trial in (first, second)
    ]
    assert distance(*chosen) > 1e-3
    # The second took the first for being just where it is.
    study.sampler = a_sampler()
    known = study.sampler._read(study)
    model = known.model(space, True, 0, EARLY)
    expected = model.optimizer.propose(second.number, pending=[chosen[0]])
    assert chosen[1] == expected


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


def test_overdue_trials_are_failed_and_queued_again():
    study = bowl_study(3)
    lost = study.ask()
    x = lost.suggest_float("x", 0.0, 1.0)
    assert release_overdue(study, seconds=3600.0) == []
    assert release_overdue(study, seconds=1e-9) == [lost.number]
    assert release_overdue(study, seconds=1e-9) == []
    assert [trial.state for trial in study.trials[3:]] == [TrialState.FAIL, TrialState.WAITING]
    study.optimize(bowl, n_trials=1)
    assert study.trials[-1].params["x"] == x
    assert study.trials[-1].state == TrialState.COMPLETE
    with pytest.raises(ValueError, match="seconds > 0"):
        release_overdue(study, seconds=0.0)


def test_a_trial_that_two_workers_find_overdue_is_queued_once(monkeypatch):
    study = a_study()
    study.ask()
    stale = study.get_trials(states=(TrialState.RUNNING,))
    assert release_overdue(study, seconds=1e-9) == [0]
    with monkeypatch.context() as other:
        other.setattr(study, "get_trials", lambda **_: stale)  # what the other worker saw
        assert release_overdue(study, seconds=1e-9) == []
    assert len(study.trials) == 2


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
    assert best.payoffs == len(usual)
    assert best.lucky_value == min(trial.value for trial in usual)
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
    assert recommend(study).payoffs == len(study.trials) - 1


def test_added_trials_are_learnt_from():
    study = a_study()
    for x in (0.1, 0.3, 0.5, 0.7, 0.9):
        for y in (0.2, 0.6, 0.9):
            value = (x - 0.3) ** 2 + (y - 0.6) ** 2
            study.add_trial(
                create_trial(params={"x": x, "y": y}, distributions=SQUARE, value=value)
            )
    study.optimize(bowl, n_trials=1)
    assert recommend(study).payoffs == 16
    assert distance(recommend(study).params, {"x": 0.3, "y": 0.6}) < 0.15


# Spaces.


def test_conditional_parameters_are_left_out_of_the_common_space():
    def branched(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        if trial.suggest_categorical("c", ["a", "b"]) == "a":
            return x + trial.suggest_float("only a", 0.0, 1.0)
        return x + trial.suggest_int("only b", 1, 5)

    study = a_study()
    study.optimize(branched, n_trials=14)
    frozen = study.ask()._cached_frozen_trial
    assert list(study.sampler.infer_relative_search_space(study, frozen)) == ["c", "x"]
    assert list(recommend(study).params) == ["c", "x"]


def test_a_parameter_that_changes_its_range_is_left_to_chance():
    study = bowl_study(6)

    def wider(trial):
        return trial.suggest_float("x", 0.0, 2.0) + trial.suggest_float("y", 0.0, 1.0)

    study.optimize(wider, n_trials=4)
    frozen = study.ask()._cached_frozen_trial
    assert list(study.sampler.infer_relative_search_space(study, frozen)) == ["y"]
    assert recommend(study).payoffs == 10


def test_constants_appear_in_the_recommendation():
    def with_constants(trial):
        trial.suggest_categorical("one", ["only"])
        trial.suggest_float("same", 2.0, 2.0)
        return trial.suggest_float("x", 0.0, 1.0)

    study = a_study()
    study.optimize(with_constants, n_trials=6)
    best = recommend(study).params
    assert best["one"] == "only"
    assert best["same"] == 2.0
    assert list(best) == ["one", "same", "x"]


def test_ranges_the_model_cannot_resolve_are_left_to_chance():
    def odd(trial):
        trial.suggest_int("huge", 0, 2**62)
        trial.suggest_float("tiny", 1.0, 1.0 + 1e-13)
        return trial.suggest_float("x", 0.0, 1.0)

    study = a_study()
    study.optimize(odd, n_trials=7)
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert len({trial.params["huge"] for trial in study.trials}) == 7
    assert list(recommend(study).params) == ["x"]


def test_options_keep_their_identity():
    choices = [1, 1.5, "1", None, "", "b c", float("nan")]
    study = a_study()

    def objective(trial):
        value = trial.suggest_categorical("c", choices)
        assert any(value is one or (value == one and type(value) is type(one)) for one in choices)
        return float(value is None) + 0.01 * trial.suggest_float("x", 0.0, 1.0)

    study.optimize(objective, n_trials=16)
    assert {repr(trial.params["c"]) for trial in study.trials} > {"None"}
    assert recommend(study).params["c"] is not None


def test_true_and_one_are_two_options():
    study = a_study()
    seen = set()

    def objective(trial):
        value = trial.suggest_categorical("c", [1, "x", 2])
        seen.add(type(value))
        flag = trial.suggest_categorical("flag", [True, False])
        assert type(flag) is bool
        return float(flag)

    study.optimize(objective, n_trials=10)
    assert seen == {int, str}


@pytest.mark.parametrize(
    "one",
    [
        FloatDistribution(-10.2, 10.2, step=0.1),
        FloatDistribution(0.1, 0.9, step=0.2),
        FloatDistribution(1e-7, 10.0, log=True),
        IntDistribution(-7, 11, step=3),
        IntDistribution(1, 1000, log=True),
        CategoricalDistribution(["a", "b", "c"]),
    ],
    ids=repr,
)
def test_every_value_chosen_together_lies_in_its_distribution(one):
    study = a_study()
    space = {"a": one, "b": FloatDistribution(0.0, 1.0)}
    for _ in range(9):
        trial = study.ask(space)
        study.tell(trial, trial.params["b"])
        value = trial.params["a"]
        assert one._contains(one.to_internal_repr(value))
        if trial.number > 0:
            assert trial.relative_params["a"] == value  # Optuna did not fall back to chance


@settings(max_examples=60, deadline=None)
@given(
    low=st.floats(-1e4, 1e4).map(lambda x: round(x, 3)),
    step=st.sampled_from([0.001, 0.01, 0.1, 0.25, 1.0, 1.0 / 3.0, 7.0]),
    count=st.integers(1, 1000),
    seed=st.integers(0, 2**32 - 1),
)
def test_whatever_optuna_draws_in_steps_is_learnt_from(low, step, count, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the range is not divisible by the step
        one = FloatDistribution(low, low + count * step, step=step)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    assume(list(modelled({"a": one})))
    value = study.ask({"a": one}).params["a"]
    there = Translation({"a": one})
    assert there.inward({"a": value}) == {"a": value}
    assert there.outward({"a": value}) == {"a": value}


def test_several_objectives_are_refused():
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=a_sampler())
    with pytest.raises(ValueError, match=r"one objective, but got .*'minimize', 'maximize'"):
        study.optimize(lambda trial: (bowl(trial), 0.0), n_trials=1)
    with pytest.raises(ValueError, match="one objective"):
        recommend(study)


def test_constraints_are_refused_every_time():
    def constrained(trial):
        value = bowl(trial)
        trial.set_constraint("memory", 1.0)
        return value

    study = a_study()
    study.optimize(constrained, n_trials=1)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"no constraints, but trial 0 has .*memory"):
            study.optimize(bowl, n_trials=1)
    with pytest.raises(ValueError, match="no constraints"):
        recommend(study)


def test_brackets_of_a_pruner_share_one_model():
    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9)
    study = a_study(pruner=pruner)

    def stepwise(trial):
        value = bowl(trial)
        for step in range(9):
            trial.report(value, step)
        return value

    study.optimize(stepwise, n_trials=10)
    study.optimize(stepwise, n_trials=1)
    assert len(study.sampler._known[study.study_name].history.payoffs) == 10


# What is known, and what it costs.


class Counting(Sequence):
    """Trials, and how many were looked at."""

    def __init__(self, trials):
        self.trials, self.looked = trials, set()

    def __len__(self):
        return len(self.trials)

    def __getitem__(self, place):
        self.looked.add(place)
        return self.trials[place]


def test_a_finished_trial_is_looked_at_once():
    study = bowl_study(6)
    study.ask()
    study.optimize(bowl, n_trials=3)
    history = History()
    history.update(study.trials)
    assert [trial.number for trial in history.payoffs] == [0, 1, 2, 3, 4, 5, 7, 8, 9]
    assert [trial.number for trial in history.running] == [6]
    study.tell(6, 0.0)
    study.optimize(bowl, n_trials=1)
    trials = Counting(study.trials)
    history.update(trials)
    assert trials.looked == {6, 7, 8, 9, 10}
    assert [trial.number for trial in history.payoffs[-2:]] == [6, 10]
    trials = Counting(study.trials)
    history.update(trials)
    assert len(trials.looked) <= 1
    assert len(history.payoffs) == 11


def test_payoffs_come_in_the_order_of_completion():
    study = a_study()
    trials = [study.ask(SQUARE) for _ in range(4)]
    for index in (2, 0, 3, 1):
        study.tell(trials[index], float(index))
    history = History()
    history.update(study.trials)
    assert [trial.number for trial in history.payoffs] == [2, 0, 3, 1]


def test_another_study_under_the_same_name_is_another_study():
    sampler = a_sampler()
    for count in (8, 3):
        storage = optuna.storages.InMemoryStorage()
        study = optuna.create_study(storage=storage, study_name="a", sampler=sampler)
        study.optimize(bowl, n_trials=count)
        assert recommend(study, sampler=sampler).payoffs == count


def test_two_studies_may_share_a_sampler():
    sampler = a_sampler()
    studies = [a_study(sampler) for _ in range(2)]
    for _ in range(8):
        for study in studies:
            study.optimize(bowl, n_trials=1)
    alone = suggested(bowl_study(8))
    assert suggested(studies[0]) == suggested(studies[1]) == alone


def test_few_studies_are_kept_in_mind(monkeypatch):
    monkeypatch.setattr(door, "MOST_STUDIES", 2)
    sampler = a_sampler()
    studies = [bowl_study(2, sampler) for _ in range(3)]
    assert list(sampler._known) == [study.study_name for study in studies[1:]]


def test_a_trial_reads_the_study_once(monkeypatch):
    study = bowl_study(6)
    reads = []
    get_all_trials = study._storage.get_all_trials

    def counted(study_id, deepcopy=True, states=None):
        if states is None:
            reads.append(deepcopy)
        return get_all_trials(study_id, deepcopy=deepcopy, states=states)

    monkeypatch.setattr(study._storage, "get_all_trials", counted)
    study.optimize(bowl, n_trials=3)
    assert reads == [False] * 3


def test_a_journal_is_as_good_as_a_database(tmp_path):
    backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal"))
    study = bowl_study(10, storage=optuna.storages.JournalStorage(backend))
    assert suggested(study) == suggested(bowl_study(10))


# The recommendation.


def test_the_luckiest_payoff_is_not_recommended():
    noise = np.random.default_rng(1)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(lambda trial: 0.1 * noise.standard_t(1.5) - bowl(trial), n_trials=80)
    lucky = {"x": 1.0, "y": 0.0}
    study.add_trial(create_trial(params=lucky, distributions=SQUARE, value=1000.0))
    best = recommend(study)
    assert best.lucky_params == study.best_params == lucky
    assert best.lucky_value == study.best_value == 1000.0
    assert distance(best.params, {"x": 0.3, "y": 0.6}) < 0.3
    assert best.high < 1.0


def test_a_study_of_any_sampler_gets_a_recommendation():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))
    study.optimize(bowl, n_trials=40)
    best = recommend(study, level=0.5)
    wide = recommend(study, level=0.99)
    assert distance(best.params, {"x": 0.3, "y": 0.6}) < 0.2
    assert wide.low < best.low < best.mean < best.high < wide.high
    assert wide.params == best.params


def test_whoever_asks_gets_the_same_recommendation():
    study = bowl_study(12)
    own = recommend(study)
    assert recommend(study, sampler=a_sampler(seed=9)) == own
    next_trial = study.sampler.sample_relative(
        study, study.ask()._cached_frozen_trial, study.trials[0].distributions
    )
    study.tell(12, state=TrialState.FAIL)
    other = bowl_study(12)  # nobody asked for its recommendation
    assert next_trial == other.sampler.sample_relative(
        other, other.ask()._cached_frozen_trial, study.trials[0].distributions
    )


def test_nothing_to_recommend_is_said():
    study = a_study()
    with pytest.raises(ValueError, match=r"complete trial .* got 0 such"):
        recommend(study)
    study.optimize(lambda trial: 1.0, n_trials=2)
    with pytest.raises(ValueError, match=r"common parameters \[\]"):
        recommend(study)
    with pytest.raises(ValueError, match="level"):
        recommend(bowl_study(4), level=1.5)
