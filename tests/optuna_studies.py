"""Small studies with our sampler, for the tests of it."""

import math

import pytest

optuna = pytest.importorskip("optuna", minversion="5.0", reason="the sampler is for Optuna 5")

from optuna.distributions import FloatDistribution  # noqa: E402

from tailproof import Float, Optimizer, Options, Space  # noqa: E402
from tailproof.integrations.optuna import TailproofSampler  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.CRITICAL)

EARLY = Options(n_initial=4)  # so that few trials reach the model
SQUARE = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}


def a_sampler(seed=0):
    return TailproofSampler(seed=seed, options=EARLY)


def a_study(sampler=None, **more):
    return optuna.create_study(sampler=sampler or a_sampler(), **more)


def bowl(trial):
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    return (x - 0.3) ** 2 + (y - 0.6) ** 2 + 0.05 * math.sin(97.0 * x)


def stepwise_bowl(trial):
    """`bowl`, reported in nine steps, for a study with a pruner."""
    value = bowl(trial)
    for step in range(9):
        trial.report(value, step)
    trial.should_prune()  # lets the pruner set up its brackets
    return value


def bowl_study(trials=7, sampler=None, **more):
    study = a_study(sampler, **more)
    study.optimize(bowl, n_trials=trials)
    return study


def optimizer_of(study):
    """Return an optimizer that was told the payoffs of a study of `bowl`."""
    space = Space(x=Float(0.0, 1.0), y=Float(0.0, 1.0))
    optimizer = Optimizer(space, seed=0, minimize=True, options=EARLY)
    for trial in study.get_trials(states=(optuna.trial.TrialState.COMPLETE,)):
        optimizer.add(trial.params, trial.value)
    return optimizer


def frozen(study, trial):
    """Return what a sampler sees of a trial that runs."""
    return study.trials[trial.number]


def suggested(study):
    return [trial.params for trial in study.get_trials(deepcopy=False)]


def distance(a, b):
    """Return the largest difference of two configurations in one parameter."""
    return max(abs(a[name] - b[name]) for name in a)
