"""What Optuna trials tell beyond their value: tailproof:payoffs, :sem and :n, end to end."""

import numpy as np
import pytest

from optuna_studies import EARLY, a_study, distance
from tailproof import Float, Optimizer, Space
from tailproof.integrations.optuna import recommend

RUNS = 5


def payoffs_at(params, number):
    rng = np.random.default_rng([7, number])
    noise = 0.1 * rng.standard_t(2.0, RUNS)
    return ((params["x"] - 0.3) ** 2 + (params["y"] - 0.6) ** 2 + noise).tolist()


def several(trial):
    """Run RUNS times; tell all payoffs, and as the value the plain mean."""
    params = {name: trial.suggest_float(name, 0.0, 1.0) for name in ("x", "y")}
    payoffs = payoffs_at(params, trial.number)
    trial.set_user_attr("tailproof:payoffs", payoffs)
    return float(np.mean(payoffs))


def a_mean(trial):
    """Run RUNS times elsewhere; tell the mean, its standard error and the number of payoffs."""
    params = {name: trial.suggest_float(name, 0.0, 1.0) for name in ("x", "y")}
    payoffs = np.array(payoffs_at(params, trial.number))
    trial.set_user_attr("tailproof:sem", float(payoffs.std(ddof=1) / RUNS**0.5))
    trial.set_user_attr("tailproof:n", RUNS)
    return float(payoffs.mean())


def told_directly(study, tell):
    """Return an optimizer that is told what `tell(optimizer, trial)` says of each trial."""
    space = Space(x=Float(0.0, 1.0), y=Float(0.0, 1.0))
    optimizer = Optimizer(space, seed=0, minimize=True, options=EARLY)
    for trial in study.trials:
        tell(optimizer, trial)
    return optimizer


def assert_same_answers(study, optimizer):
    found, expected = recommend(study), optimizer.recommend()
    assert distance(found.params, expected.params) < 1e-9
    for name in ("mean", "lower", "upper", "payoffs", "total_payoffs", "clipped"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9), name


def test_the_single_payoffs_of_a_trial_are_told_to_the_model():
    study = a_study()
    study.optimize(several, n_trials=9)
    assert recommend(study).total_payoffs == 9 * RUNS
    told = told_directly(study, lambda o, t: o.add(t.params, t.user_attrs["tailproof:payoffs"]))
    assert_same_answers(study, told)
    only_values = told_directly(study, lambda o, t: o.add(t.params, t.value))
    assert recommend(study).mean != only_values.recommend().mean
    # The next suggestion follows from the same payoffs.
    trial = study.ask()
    params = {name: trial.suggest_float(name, 0.0, 1.0) for name in ("x", "y")}
    assert distance(params, told.propose(trial.number, seed=0)) < 1e-9


def test_a_mean_with_its_standard_error_is_told_to_the_model():
    study = a_study()
    study.optimize(a_mean, n_trials=9)
    assert recommend(study).total_payoffs == 9 * RUNS

    def tell(optimizer, trial):
        sem, n = (trial.user_attrs[f"tailproof:{name}"] for name in ("sem", "n"))
        optimizer.add(trial.params, mean=trial.value, sem=sem, n=n)

    assert_same_answers(study, told_directly(study, tell))


@pytest.mark.parametrize(
    "attributes",
    [
        {"tailproof:payoffs": [1.0, "two"]},
        {"tailproof:payoffs": []},
        {"tailproof:payoffs": [1.0, float("inf")]},
        {"tailproof:sem": -1.0},
        {"tailproof:sem": 0.1, "tailproof:n": 0},
    ],
)
def test_attributes_that_cannot_be_used_are_named_and_the_value_counts(attributes):
    study = a_study()
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=3)
    trial = study.ask()
    trial.suggest_float("x", 0.0, 1.0)
    for name, value in attributes.items():
        trial.set_user_attr(name, value)
    study.tell(trial, 0.5)
    with pytest.warns(UserWarning, match=r"Trial 3: .* Its value is used\."):
        assert recommend(study).total_payoffs == 4
