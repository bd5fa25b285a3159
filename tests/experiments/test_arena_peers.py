"""The peers as their users run them, where they are installed."""

import numpy as np
import pytest

from tailproof.experiments.arena import peers, session
from tailproof.experiments.arena.match import Match, play
from tailproof.experiments.arena.problems import problem


@pytest.mark.parametrize("name", ["ackley4", "arms"])
def test_tpe_plays_boxes_with_integers_and_arms(name):
    pytest.importorskip("optuna")
    record = play(Match(name, "t1.5", "optuna-tpe", 0, 15))
    assert record["error"] is None
    assert record == play(Match(name, "t1.5", "optuna-tpe", 0, 15)) | {
        key: record[key] for key in ("seconds", "recommend_seconds")
    }


def test_optuna_recommends_the_trial_that_paid_best():
    pytest.importorskip("optuna")
    domain = problem("arms").domain
    player = peers.OptunaPlayer(domain, 0, "tpe")
    told = []
    for value in (0.3, 5.0, -1.0):
        params = player.ask()
        assert params == domain.params(domain.point(params))
        player.tell(params, value)
        told.append(params)
    assert player.recommend() == told[1]


@pytest.mark.parametrize("key", ["optuna-gp", "botorch-lognei", "botorch-ucb", "botorch-rrp"])
@pytest.mark.parametrize("name", ["ackley4", "arms"])
def test_the_peers_with_models_play_without_failing(key, name):
    for module in session.CONTESTANTS[key].peer:
        pytest.importorskip(module)
    record = play(Match(name, "t3", key, 0, 13))
    assert record["error"] is None
    assert record["rounds"] == 13
    if key == "optuna-gp":
        assert list(record["alternatives"]) == [peers.POSTERIOR_MEAN]


def test_what_is_missing_is_named_before_anything_is_played(monkeypatch):
    monkeypatch.setattr(session.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"peers need optuna, torch: pip install"):
        session.check_modules(["random", "optuna-gp"])
    with pytest.raises(ImportError, match="peers need no_such_module"):
        peers.load("no_such_module.part")


def test_optuna_s_integers_are_integers():
    pytest.importorskip("optuna")
    player = peers.OptunaPlayer(problem("ackley4").domain, 0, "tpe")
    params = player.ask()
    assert [type(params[name]) for name in ("x0", "x1", "k0", "k1")] == [float, float, int, int]
    assert np.all(np.abs([params["k0"], params["k1"]]) <= 10)
