"""The peers as their users run them, where they are installed."""

import numpy as np
import pytest

from rivals import botorch_player, optuna_player, peers, session
from rivals.match import Match, play
from rivals.problems import problem


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
    player = optuna_player.OptunaPlayer(domain, 0, "tpe")
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
        assert list(record["alternatives"]) == [optuna_player.POSTERIOR_MEAN]


def test_what_is_missing_is_named_before_anything_is_played(monkeypatch):
    monkeypatch.setattr(session.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"peers need optuna, torch: pip install"):
        session.check_modules(["random", "optuna-gp"])
    with pytest.raises(ImportError, match="peers need no_such_module"):
        peers.load("no_such_module.part")


def test_optuna_s_integers_are_integers():
    pytest.importorskip("optuna")
    player = optuna_player.OptunaPlayer(problem("ackley4").domain, 0, "tpe")
    params = player.ask()
    assert [type(params[name]) for name in ("x0", "x1", "k0", "k1")] == [float, float, int, int]
    assert np.all(np.abs([params["k0"], params["k1"]]) <= 10)


@pytest.mark.filterwarnings("ignore")  # the peers warn of what their fits do
@pytest.mark.parametrize("kind", ["ucb", "rrp"])
def test_between_fits_botorch_keeps_its_hyperparameters_and_takes_in_every_payoff(kind):
    pytest.importorskip("torch")
    pytest.importorskip("botorch")
    player = botorch_player.BotorchPlayer(problem("branin").domain, 0, kind)
    rng = np.random.default_rng(0)
    fits = []
    fitted = player._fitted
    player._fitted = lambda: fits.append(len(player._values)) or fitted()
    for index in range(16):
        payoff = 50.0 if index == 4 else float(rng.standard_normal())
        player.tell(player._domain.params(player._domain.draw(1, rng)[0]), payoff)
    before = player._posterior()
    for count in (17, 18):
        params = player._domain.params(player._domain.draw(1, rng)[0])
        expected, _ = before.moments(player._scaled([player._domain.point(params)]))
        player.tell(params, float(expected[0]))  # no surprise
        after = player._posterior()
        assert after.points.shape == (count, 2)
        np.testing.assert_array_equal(after.shape.lengthscales, before.shape.lengthscales)
    assert fits == [16]
    if kind == "rrp":
        noise = before.shape.noise
        assert noise[4] == noise.max() > 10.0 * noise.min()
        np.testing.assert_array_equal(after.shape.noise, [*noise, noise.min(), noise.min()])
    player.tell(params, 1e4)
    player._posterior()
    assert fits == [16, 19]  # a payoff that far off is a reason to fit
