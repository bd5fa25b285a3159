"""Small studies with our sampler, for the tests of it."""

import math

import pytest

optuna = pytest.importorskip("optuna", minversion="5.0", reason="the sampler is for Optuna 5")

from optuna.distributions import FloatDistribution  # noqa: E402

from tailproof import Options  # noqa: E402
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


def bowl_study(trials=7, sampler=None, **more):
    study = a_study(sampler, **more)
    study.optimize(bowl, n_trials=trials)
    return study


def suggested(study):
    return [trial.params for trial in study.get_trials(deepcopy=False)]


def distance(a, b):
    return max(abs(a[name] - b[name]) for name in a)
