"""A match: the same noise for everybody, scores as defined, failures told and counted as worst."""

import numpy as np
import pytest

from rivals import contestants, match
from rivals.contestants import CONTESTANTS, OURS, OWN, PEERS, Contestant
from rivals.match import Match, marks, play
from rivals.problems import cell


class Scripted:
    """Plays the same parameters all the time and writes down what it is told."""

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


def enter(monkeypatch, key, player):
    one = Contestant(key, key, "scripted", lambda cell, start: player)
    monkeypatch.setitem(contestants.CONTESTANTS, key, one)
    return player


@pytest.mark.parametrize("law", ["t3", "pareto", "contaminated"])
def test_contestants_of_a_seed_meet_the_same_noise(monkeypatch, law):
    here, there = {"x0": 0.0, "x1": 1.0}, {"x0": 9.0, "x1": 14.0}
    one = enter(monkeypatch, "one", Scripted(here))
    other = enter(monkeypatch, "other", Scripted(there))
    again = enter(monkeypatch, "again", Scripted(here))
    for key, seed in (("one", 4), ("other", 4), ("again", 5)):
        play(Match("branin", law, key, seed, 6))
    means = [cell("branin", law).problem.mean(params) for params in (here, there)]
    noise = np.array(one.told) - means[0]
    assert np.array(other.told) - means[1] == pytest.approx(noise)
    assert not np.isclose(np.array(again.told) - means[0], noise).any()


def test_a_factor_is_shared_as_well(monkeypatch):
    here, there = {"x0": 0.0, "x1": 1.0}, {"x0": 9.0, "x1": 14.0}
    one, other = (enter(monkeypatch, k, Scripted(p)) for k, p in (("one", here), ("other", there)))
    for key in ("one", "other"):
        play(Match("branin", "lognormal", key, 0, 5))
    ratios = np.array(one.told) / np.array(other.told)
    assert ratios == pytest.approx(np.full(5, ratios[0]))


def test_noise_does_not_depend_on_how_many_evaluations_there_are(monkeypatch):
    short = enter(monkeypatch, "short", Scripted({"x": 0.5}))
    play(Match("rkhs", "t1.5", "short", 0, 4))
    long = enter(monkeypatch, "long", Scripted({"x": 0.5}))
    play(Match("rkhs", "t1.5", "long", 0, 9))
    assert long.told[:4] == short.told


def test_scores_are_the_regrets_of_what_was_played_and_recommended(monkeypatch):
    params = {"x0": 0.0, "x1": 1.0}
    enter(monkeypatch, "one", Scripted(params))
    record = play(Match("branin", "gaussian", "one", 0, 60))
    regret = cell("branin", "gaussian").regret(params)
    assert marks(60) == (25, 50, 60)
    assert record["simple"] == pytest.approx([regret] * 3)
    assert record["cumulative"] == pytest.approx([25 * regret, 50 * regret, 60 * regret])
    assert record["recommended"] == params
    assert record["error"] is None


def test_a_contestant_that_fails_says_so_and_counts_as_worst(monkeypatch):
    params = {"x0": 0.0, "x1": 1.0}
    enter(monkeypatch, "one", Scripted(params, fail_at=30))
    record = play(Match("branin", "gaussian", "one", 0, 60))
    one = cell("branin", "gaussian")
    regret, worst = one.regret(params), one.worst
    assert "RuntimeError: no more ideas" in record["error"]
    assert "/" not in record["error"]
    assert record["rounds"] == 30
    assert record["simple"] == pytest.approx([regret, worst, worst])
    assert record["cumulative"][-1] == pytest.approx(30 * regret + 30 * worst)
    assert record["recommended"] is None
    assert record["place"] is None


def test_a_contestant_that_cannot_start_is_recorded_too(monkeypatch):
    def broken(cell, start):
        raise ValueError("will not start")

    monkeypatch.setitem(contestants.CONTESTANTS, "one", Contestant("one", "one", "broken", broken))
    record = play(Match("trap", "trap", "one", 0, 3))
    assert record["error"].startswith("ValueError: will not start")
    assert record["rounds"] == 0
    assert record["simple"] == [cell("trap", "trap").worst]


def test_the_roster_is_ours_the_theory_random_search_and_the_five_peers():
    assert OWN[0] == OURS
    assert set(OWN) == {
        "tailproof", "gp-ucb", "clipped-gp-ucb", "student-t-gp", "tgp-ucb", "ata-gp-ucb", "random",
    }  # fmt: skip
    assert set(PEERS) == {
        "optuna-tpe", "optuna-gp", "botorch-lognei", "botorch-ucb", "botorch-rrp",
    }  # fmt: skip
    assert {key for key, one in CONTESTANTS.items() if one.robust} == {
        "student-t-gp",
        "botorch-rrp",
    }


@pytest.mark.parametrize(
    ("contestant", "problem"),
    [(key, "ackley4") for key in OWN] + [("tailproof", "arms"), ("ata-gp-ucb", "arms")],
)
def test_every_contestant_of_ours_plays_without_failing_and_again_the_same(contestant, problem):
    one = Match(problem, "t1.5", contestant, 1, 12)
    first, second = play(one), play(one)
    assert first["error"] is None
    assert first["rounds"] == 12
    for key in ("simple", "cumulative", "recommended"):
        assert first[key] == second[key]


def test_recommending_changes_nothing(monkeypatch):
    """Asked for recommendations at every round or at the end, a contestant plays the same."""
    once = play(Match("branin", "t3", "tailproof", 0, 14))
    monkeypatch.setattr(match, "MARKS", tuple(range(1, 14)))
    often = play(Match("branin", "t3", "tailproof", 0, 14))
    assert often["cumulative"][-1] == once["cumulative"][-1]
    assert often["recommended"] == once["recommended"]


def test_random_search_recommends_what_paid_best():
    one = cell("arms", "t1.5")
    player = CONTESTANTS["random"].start(one, contestants.Start(0, 20))
    told = []
    for _ in range(20):
        params = player.ask()
        value = one.payoff(params, np.random.default_rng(len(told)))
        player.tell(params, value)
        told.append((value, params))
    assert player.recommend() == max(told, key=lambda pair: pair[0])[1]
