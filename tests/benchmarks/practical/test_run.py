"""Solvers of the yardstick, and the record of a run."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import tailproof as tp
from practical import run as run_module
from practical.methods import (
    METHODS,
    Adapted,
    ConfirmedSolver,
    OracleSolver,
    SampleMeanSolver,
    suits,
)
from practical.problem import Problem
from practical.programs import program
from practical.revenue import revenue
from practical.run import RunSpec, execute

SHORT = 12


class Recorder:
    """A rivals' solver that counts what it is asked and told."""

    def __init__(self):
        self.asked, self.told = 0, []

    def ask(self):
        self.asked += 1
        return {"x": float(self.asked)}

    def tell(self, params, value):
        self.told.append((params, value))

    def recommend(self):
        return max(self.told, key=lambda pair: pair[1])[0]


@pytest.fixture
def short(monkeypatch):
    """Runs of few evaluations."""
    original = RunSpec.make

    def make(spec):
        problem = original(spec)
        fields = {name: getattr(problem, name) for name in Problem.__dataclass_fields__}
        number = 600 if problem.assigned else SHORT
        return Problem(**fields | {"evaluations": min(problem.evaluations, number)})

    monkeypatch.setattr(RunSpec, "make", make)


def test_five_payoffs_of_a_configuration_are_told_as_their_mean():
    inner = Recorder()
    solver = Adapted(inner, program("queue", "none"), repeats=5, promise=lambda s: s.told[0][1])
    for value in range(10):
        solver.tell(solver.ask(), float(value))
    assert inner.asked == 2
    assert inner.told == [({"x": 1.0}, -2.0), ({"x": 2.0}, -7.0)]  # costs are maximized negatively
    stated = solver.state()
    assert (stated.params, stated.mean, stated.lower) == ({"x": 1.0}, 2.0, None)


def test_the_sample_mean_recommends_the_best_one():
    solver = SampleMeanSolver(revenue(6, 4000, 0))
    for name, value in (("v0", 1.0), ("v1", 5.0), ("v0", 3.0), ("v1", 0.0)):
        solver.add({"variant": name}, value)
    assert solver.state().params == {"variant": "v1"}
    assert solver.estimates([{"variant": "v0"}, {"variant": "v1"}]) == [2.0, 2.5]


def test_the_oracle_is_told_logarithms_where_the_noise_is_multiplicative():
    problem = program("queue", "lognormal-0.5")
    solver = OracleSolver(problem, 0)
    solver.tell(solver.ask(), 10.0)
    assert [trial.value for trial in solver.optimizer.trials] == [math.log(10.0)]


def test_the_confirmed_method_does_what_minimize_does():
    problem, told = program("queue", "lognormal-0.5"), []
    problem = replace(problem, evaluations=40)

    def payoff(**params):
        told.append(params)
        return problem.payoff(params, np.random.default_rng(len(told)))

    result = tp.minimize(payoff, problem.domain.space, 40, seed=3, progress=False)
    solver = ConfirmedSolver(problem, 3)
    for number, params in enumerate(told, start=1):
        assert solver.ask() == params
        solver.tell(params, problem.payoff(params, np.random.default_rng(number)))
    assert solver.state().params == result.recommendation.params
    assert solver.state().mean == result.recommendation.mean


PROBLEMS = {
    "programs": "solver-lognormal-0.5",
    "noise-1": "arms-t3",
    "revenue": "6-variants-4000",
}


@pytest.mark.parametrize(
    ("family", "problem", "method"),
    [
        (family, problem, method)
        for family, problem in PROBLEMS.items()
        for method in METHODS
        if suits(method, family == "revenue")
    ],
)
def test_every_method_runs_on_mixed_spaces_on_arms_and_on_assigned_payoffs(
    family, problem, method, short
):
    for module in METHODS[method].needs:
        pytest.importorskip(module, reason="benchmarks/requirements.txt is not installed")
    assigned = family == "revenue"
    spec = RunSpec(family, problem, method, 0)
    record = execute(spec)
    assert record["error"] is None
    assert record["simple_regret"] >= 0.0
    assert (record["cumulative_regret"] is None) == assigned
    assert json.loads(json.dumps(record)) == record
    again = execute(spec)
    assert {k: v for k, v in again.items() if k != "seconds"} == {
        k: v for k, v in record.items() if k != "seconds"
    }
    if method in ("tailproof", "student-t-gp"):
        assert record["covered"] == (record["lower"] <= record["truth"] <= record["upper"])
    if assigned:
        assert method == "random" or len(record["ratios"]) == 6


def test_a_promise_is_broken_if_the_mean_is_worse_by_thirty_percent():
    cost = program("queue", "none")
    params = cost.domain.params(cost.domain.draw(1, np.random.default_rng(0))[0])
    truth = cost.mean(params)
    assert cost.shortfall(params, truth / 1.4) == pytest.approx(0.4)  # a cost stated too low
    assert cost.shortfall(params, truth * 2.0) == pytest.approx(-0.5)
    assert cost.shortfall(params, 0.0) == math.inf
    sold = revenue(6, 4000, 0)
    stated = 2.0 * sold.mean(sold.assigned[0])
    assert sold.shortfall(sold.assigned[0], stated) == pytest.approx(0.5)


def test_a_method_that_fails_is_charged_the_median_s_regret(monkeypatch, short):
    def fail(problem, seed):
        raise RuntimeError("no")

    failing = run_module.METHODS["random"]
    fields = {name: getattr(failing, name) for name in failing.__dataclass_fields__}
    monkeypatch.setitem(run_module.METHODS, "random", type(failing)(**fields | {"start": fail}))
    record = execute(RunSpec("programs", "queue-none", "random", 0))
    assert record["error"].startswith("RuntimeError: no")
    assert record["simple_regret"] == record["cumulative_regret"] == 1.0


def test_all_methods_of_a_run_see_the_same_noise():
    one, other = (RunSpec("trap", "trap", method, 4) for method in ("tailproof", "random"))
    assert one.noise(3).random() == other.noise(3).random()
    assert one.noise(3).random() != one.noise(4).random()
    assert one.solver_seed() != other.solver_seed()
