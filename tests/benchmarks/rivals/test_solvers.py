"""Solvers of the rivals, where these are installed."""

import numpy as np
import pytest

from rivals import botorch_solver, comparison, optuna_solver, peers
from rivals.methods import METHODS
from rivals.problems import objective
from rivals.run import RunSpec, execute


@pytest.mark.parametrize("name", ["ackley4", "arms"])
def test_tpe_runs_on_boxes_with_integers_and_on_arms(name):
    pytest.importorskip("optuna")
    record = execute(RunSpec(name, "t1.5", "optuna-tpe", 0, 15))
    assert record["error"] is None
    assert record == execute(RunSpec(name, "t1.5", "optuna-tpe", 0, 15)) | {
        key: record[key] for key in ("seconds", "recommend_seconds")
    }


def test_optuna_recommends_the_trial_with_the_largest_payoff():
    pytest.importorskip("optuna")
    domain = objective("arms").domain
    solver = optuna_solver.OptunaSolver(domain, 0, "tpe")
    told = []
    for value in (0.3, 5.0, -1.0):
        params = solver.ask()
        assert params == domain.params(domain.point(params))
        solver.tell(params, value)
        told.append(params)
    assert solver.recommend() == told[1]


@pytest.mark.parametrize("key", ["optuna-gp", "botorch-lognei", "botorch-ucb", "botorch-rrp"])
@pytest.mark.parametrize("name", ["ackley4", "arms"])
def test_rivals_with_models_run_without_failing(key, name):
    for module in METHODS[key].needs:
        pytest.importorskip(module, reason="benchmarks/requirements.txt is not installed")
    record = execute(RunSpec(name, "t3", key, 0, 13))
    assert record["error"] is None
    assert record["evaluations"] == 13
    if key == "optuna-gp":
        assert list(record["alternatives"]) == [optuna_solver.POSTERIOR_MEAN]


def test_missing_modules_are_named_before_anything_runs(monkeypatch):
    monkeypatch.setattr(comparison.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="rivals need optuna, torch: pip install"):
        comparison.check_modules(["random", "optuna-gp"])
    with pytest.raises(ImportError, match="rivals need no_such_module"):
        peers.load("no_such_module.part")


def test_optuna_s_integers_are_integers():
    pytest.importorskip("optuna")
    solver = optuna_solver.OptunaSolver(objective("ackley4").domain, 0, "tpe")
    params = solver.ask()
    assert [type(params[name]) for name in ("x0", "x1", "k0", "k1")] == [float, float, int, int]
    assert np.all(np.abs([params["k0"], params["k1"]]) <= 10)


@pytest.mark.filterwarnings("ignore")  # of BoTorch's fits
@pytest.mark.parametrize("kind", ["ucb", "rrp"])
def test_between_fits_botorch_keeps_its_hyperparameters_and_uses_every_payoff(kind):
    pytest.importorskip("torch")
    pytest.importorskip("botorch")
    solver = botorch_solver.BotorchSolver(objective("branin").domain, 0, kind)
    rng = np.random.default_rng(0)
    fits = []
    fitted = solver._fitted
    solver._fitted = lambda: fits.append(len(solver._values)) or fitted()
    for index in range(16):
        payoff = 50.0 if index == 4 else float(rng.standard_normal())
        solver.tell(solver._domain.params(solver._domain.draw(1, rng)[0]), payoff)
    before = solver._posterior()
    for count in (17, 18):
        params = solver._domain.params(solver._domain.draw(1, rng)[0])
        expected, _ = before.moments(solver._scaled([solver._domain.point(params)]))
        solver.tell(params, float(expected[0]))  # no surprise
        after = solver._posterior()
        assert after.points.shape == (count, 2)
        np.testing.assert_array_equal(after.parameters.lengthscales, before.parameters.lengthscales)
    assert fits == [16]
    if kind == "rrp":
        noise = before.parameters.noise
        assert noise[4] == noise.max() > 10.0 * noise.min()
        np.testing.assert_array_equal(after.parameters.noise, [*noise, noise.min(), noise.min()])
    solver.tell(params, 1e4)
    solver._posterior()
    assert fits == [16, 19]  # a surprising payoff triggers a fit
