"""Which parameters are modeled together, which are drawn at random, and how values convert."""

import warnings

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

optuna = pytest.importorskip("optuna", minversion="5.0", reason="the sampler is for Optuna 5")

from optuna.distributions import (  # noqa: E402
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState  # noqa: E402

from optuna_studies import (  # noqa: E402
    a_sampler,
    a_study,
    bowl,
    bowl_study,
    frozen,
    optimizer_of,
    stepwise_bowl,
)
from tailproof.integrations._optuna_space import SpaceAdapter, modeled  # noqa: E402
from tailproof.integrations.optuna import recommend  # noqa: E402


def test_conditional_parameters_are_left_out_of_the_common_space():
    def branched(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        if trial.suggest_categorical("c", ["a", "b"]) == "a":
            return x + trial.suggest_float("only a", 0.0, 1.0)
        return x + trial.suggest_int("only b", 1, 5)

    study = a_study()
    with pytest.warns(UserWarning, match="only a, only b") as warned:
        study.optimize(branched, n_trials=14)
    assert len(warned) == 1  # once a study
    trial = frozen(study, study.ask())
    assert list(study.sampler.infer_relative_search_space(study, trial)) == ["c", "x"]


def test_recommended_configurations_of_conditional_spaces_are_whole():
    def branched(trial):
        x, noise = trial.suggest_float("x", 0.0, 1.0), 0.01 * (trial.number % 7)
        if trial.suggest_categorical("c", ["a", "b", "d"]) == "a":
            return x + trial.suggest_float("only a", 0.0, 1.0) + noise
        return 1.0 + x + trial.suggest_int("only b and d", 1, 5) + noise

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(branched, n_trials=40)
    best = recommend(study)
    assert best.params.keys() == {"c", "x", "only a"}
    assert best.params["c"] == "a"  # not an option that was seen in the other branch only
    assert best.params["only a"] + best.params["x"] < 0.5
    worst = optuna.create_study(direction="maximize", sampler=study.sampler)
    worst.add_trials(study.trials)
    most = recommend(worst)
    assert most.params.keys() == {"c", "x", "only b and d"}
    assert most.params["only b and d"] == 5
    assert most.best_observed_value == worst.best_value
    assert most.best_observed_params == worst.best_params


def test_a_parameter_that_changes_its_range_is_left_to_chance():
    study = bowl_study(6)

    def wider(trial):
        return trial.suggest_float("x", 0.0, 2.0) + trial.suggest_float("y", 0.0, 1.0)

    with pytest.warns(UserWarning, match=r"share with one distribution \(x\)"):
        study.optimize(wider, n_trials=4)
    trial = frozen(study, study.ask())
    assert list(study.sampler.infer_relative_search_space(study, trial)) == ["y"]
    best = recommend(study)
    assert best.total_payoffs == 10
    assert list(best.params) == ["x", "y"]
    assert best.params["x"] in [trial.params["x"] for trial in study.trials[:10]]


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
    assert recommend(study).params.keys() == {"huge", "tiny", "x"}  # as some trial had them


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
        assert SpaceAdapter({"a": one}).from_optuna({"a": value}) is not None
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
    assume(list(modeled({"a": one})))
    value = study.ask({"a": one}).params["a"]
    adapter = SpaceAdapter({"a": one})
    assert adapter.from_optuna({"a": value}) == {"a": value}
    assert adapter.to_optuna({"a": value}) == {"a": value}


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
    study = a_study(pruner=pruner, study_name="a")

    study.optimize(stepwise_bowl, n_trials=10)
    expected = optimizer_of(study).propose(10)
    study.optimize(stepwise_bowl, n_trials=1)
    assert study.trials[10].params == expected
