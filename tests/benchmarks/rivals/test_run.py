"""A run: the same noise for all methods, regrets as defined, failures charged the worst regret."""

import numpy as np
import pytest

from rivals import run
from rivals.methods import METHODS, OURS, OWN, PEERS, Method
from rivals.problems import problem
from rivals.run import RunSpec, checkpoints, execute


class Scripted:
    """Asks for the same parameters all the time and keeps what it is told."""

    def __init__(self, params, fail_at=None):
        self.params, self.fail_at, self.told = params, fail_at, []

    def ask(self):
        if len(self.told) == self.fail_at:
            raise RuntimeError("no more ideas")
        return dict(self.params)

    def tell(self, params, value):
        self.told.append(value)

    def recommend(self):
        return dict(self.params)


def enter(monkeypatch, key, solver):
    method = Method(key, key, "scripted", lambda problem, seed, evaluations: solver)
    monkeypatch.setitem(METHODS, key, method)
    return solver


@pytest.mark.parametrize("law", ["t3", "pareto", "contaminated"])
def test_methods_of_a_seed_get_the_same_noise(monkeypatch, law):
    here, there = {"x0": 0.0, "x1": 1.0}, {"x0": 9.0, "x1": 14.0}
    first = enter(monkeypatch, "one", Scripted(here))
    other = enter(monkeypatch, "other", Scripted(there))
    again = enter(monkeypatch, "again", Scripted(here))
    for key, seed in (("one", 4), ("other", 4), ("again", 5)):
        execute(RunSpec("branin", law, key, seed, 6))
    means = [problem("branin", law).objective.value(params) for params in (here, there)]
    noise = np.array(first.told) - means[0]
    assert np.array(other.told) - means[1] == pytest.approx(noise)
    assert not np.isclose(np.array(again.told) - means[0], noise).any()


def test_multiplicative_noise_is_shared_as_well(monkeypatch):
    here, there = {"x0": 0.0, "x1": 1.0}, {"x0": 9.0, "x1": 14.0}
    first, other = (
        enter(monkeypatch, k, Scripted(p)) for k, p in (("one", here), ("other", there))
    )
    for key in ("one", "other"):
        execute(RunSpec("branin", "lognormal", key, 0, 5))
    ratios = np.array(first.told) / np.array(other.told)
    assert ratios == pytest.approx(np.full(5, ratios[0]))


def test_noise_does_not_depend_on_how_many_evaluations_there_are(monkeypatch):
    short = enter(monkeypatch, "short", Scripted({"x": 0.5}))
    execute(RunSpec("rkhs", "t1.5", "short", 0, 4))
    long = enter(monkeypatch, "long", Scripted({"x": 0.5}))
    execute(RunSpec("rkhs", "t1.5", "long", 0, 9))
    assert long.told[:4] == short.told


def test_regrets_are_those_of_what_was_evaluated_and_recommended(monkeypatch):
    params = {"x0": 0.0, "x1": 1.0}
    enter(monkeypatch, "one", Scripted(params))
    record = execute(RunSpec("branin", "gaussian", "one", 0, 60))
    regret = problem("branin", "gaussian").regret(params)
    assert checkpoints(60) == (25, 50, 60)
    assert record["simple_regret"] == pytest.approx([regret] * 3)
    assert record["cumulative_regret"] == pytest.approx([25 * regret, 50 * regret, 60 * regret])
    assert record["recommended"] == params
    assert record["error"] is None


def test_a_method_that_fails_is_recorded_and_charged_the_largest_regret(monkeypatch):
    params = {"x0": 0.0, "x1": 1.0}
    enter(monkeypatch, "one", Scripted(params, fail_at=30))
    record = execute(RunSpec("branin", "gaussian", "one", 0, 60))
    target = problem("branin", "gaussian")
    regret, worst = target.regret(params), target.largest_regret
    assert "RuntimeError: no more ideas" in record["error"]
    assert "/" not in record["error"]
    assert record["evaluations"] == 30
    assert record["simple_regret"] == pytest.approx([regret, worst, worst])
    assert record["cumulative_regret"][-1] == pytest.approx(30 * regret + 30 * worst)
    assert record["recommended"] is None
    assert record["hill"] is None


def test_a_method_that_cannot_start_is_recorded_too(monkeypatch):
    def broken(problem, seed, evaluations):
        raise ValueError("will not start")

    monkeypatch.setitem(METHODS, "one", Method("one", "one", "broken", broken))
    record = execute(RunSpec("trap", "trap", "one", 0, 3))
    assert record["error"].startswith("ValueError: will not start")
    assert record["evaluations"] == 0
    assert record["simple_regret"] == [problem("trap", "trap").largest_regret]


def test_methods_are_ours_the_theory_random_search_and_the_five_peers():
    assert OWN[0] == OURS
    assert set(OWN) == {
        "tailproof", "gp-ucb", "student-t-gp", "tgp-ucb", "ata-gp-ucb", "random",
    }  # fmt: skip
    assert set(PEERS) == {
        "optuna-tpe", "optuna-gp", "botorch-lognei", "botorch-ucb", "botorch-rrp",
    }  # fmt: skip
    assert {key for key, method in METHODS.items() if method.robust} == {
        "student-t-gp",
        "botorch-rrp",
    }


@pytest.mark.parametrize(
    ("method", "objective"),
    [(key, "ackley4") for key in OWN] + [("tailproof", "arms"), ("ata-gp-ucb", "arms")],
)
def test_every_method_of_ours_runs_without_failing_and_repeats_exactly(method, objective):
    spec = RunSpec(objective, "t1.5", method, 1, 12)
    first, second = execute(spec), execute(spec)
    assert first["error"] is None
    assert first["evaluations"] == 12
    for key in ("simple_regret", "cumulative_regret", "recommended"):
        assert first[key] == second[key]


def test_recommending_changes_nothing(monkeypatch):
    """Asked for recommendations after every evaluation or at the end, a method does the same."""
    once = execute(RunSpec("branin", "t3", "tailproof", 0, 14))
    monkeypatch.setattr(run, "CHECKPOINTS", tuple(range(1, 14)))
    often = execute(RunSpec("branin", "t3", "tailproof", 0, 14))
    assert often["cumulative_regret"][-1] == once["cumulative_regret"][-1]
    assert often["recommended"] == once["recommended"]


def test_random_search_recommends_the_largest_payoff():
    target = problem("arms", "t1.5")
    solver = METHODS["random"].start(target, 0, 20)
    told = []
    for _ in range(20):
        params = solver.ask()
        value = target.payoff(params, np.random.default_rng(len(told)))
        solver.tell(params, value)
        told.append((value, params))
    assert solver.recommend() == max(told, key=lambda pair: pair[0])[1]
