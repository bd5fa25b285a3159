"""Saved bandits continue bit for bit, and files that contradict themselves are refused."""

import numpy as np
import pytest

import tailproof as tp
from state_files import contents, write

GRID = tp.Space(x=tp.Float(0, 1), k=tp.Int(1, 3), mode=tp.Choice("a", "b"))
SETUPS = {
    "labels": lambda: tp.Bandit(["a", "b", "c"], seed=1),
    "integers": lambda: tp.Bandit([7, 5, 3], minimize=True, explore=0.5, seed=1),
    "drift": lambda: tp.Bandit(["a", "b", "c"], half_life=20, seed=1),
    "many": lambda: tp.Bandit([f"arm {i}" for i in range(300)], seed=1),
    "line": lambda: tp.Bandit(np.linspace(0, 3, 40)[:, None], seed=1),
    "plane": lambda: tp.Bandit(np.random.default_rng(0).random((200, 2)), seed=1),
    "grid": lambda: tp.Bandit(GRID, grid=4, seed=1),
    "similar": lambda: tp.Bandit(
        ["a", "b", "c"],
        similarity=tp.Precomputed([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 2]]),
        seed=np.random.Generator(np.random.MT19937(5)),
    ),
}
every_setup = pytest.mark.parametrize("setup", SETUPS)


def play(bandits, rounds, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        asked = {bandit.ask_index() for bandit in bandits}
        assert len(asked) == 1
        (arm,) = asked
        payoff = float(arm % 5 + rng.standard_t(1.5))
        for bandit in bandits:
            bandit.tell_index(arm, payoff)


@every_setup
@pytest.mark.parametrize("told", [0, 1, 30, 157])
def test_a_run_continues_bit_for_bit(setup, told, tmp_path):
    bandit = SETUPS[setup]()
    play([bandit], told)
    bandit.ask(2)
    bandit.save(tmp_path / "run.npz")
    again = tp.load(tmp_path / "run.npz")
    assert repr(again) == repr(bandit)
    assert again.pending == bandit.pending
    assert str(again.arms) == str(bandit.arms)
    play([bandit, again], 80, seed=1)
    for name in ("mean", "lower", "upper", "probability", "payoffs"):
        one, other = (getattr(b.predict(), name) for b in (bandit, again))
        assert np.array_equal(one, other), name
    assert str(bandit.recommend()) == str(again.recommend())


def test_retired_and_added_arms_are_kept(tmp_path):
    bandit = SETUPS["labels"]()
    play([bandit], 30)
    bandit.retire("b")
    bandit.add_arms(["d"])
    bandit.save(tmp_path / "run.npz")
    again = tp.load(tmp_path / "run.npz")
    assert again.active.tolist() == [True, False, True, True]
    play([bandit, again], 50)


EDITS = {
    "fewer payoffs": lambda h, a: h.update(payoffs=10),
    "an arm that is none": lambda h, a: a["log.arms"].__setitem__(0, 9),
    "an arm below zero": lambda h, a: a["log.arms"].__setitem__(0, -1),
    "another arm": lambda h, a: a["log.arms"].__setitem__(0, (a["log.arms"][0] + 1) % 3),
    "a source that is none": lambda h, a: a["log.sources"].__setitem__(0, 5),
    "an infinite payoff": lambda h, a: a["log.payoffs"].__setitem__(0, np.inf),
    "a statistic that is none": lambda h, a: a["stats"].__setitem__((0, 1), np.nan),
    "a mean that is none": lambda h, a: a["mean"].__setitem__(0, np.inf),
    "other labels": lambda h, a: h.update(labels=["a", "b"]),
    "labels twice": lambda h, a: h.update(labels=["a", "b", "b"]),
    "no half-life": lambda h, a: h.update(half_life=-1.0),
    "a foreign generator": lambda h, a: h["random"].update(bit_generator="X"),
    "a first arm that is none": lambda h, a: a["design"].__setitem__(0, 3),
    "a kernel": lambda h, a: h.update(kernel={"parameters": {}}),
}


@pytest.mark.parametrize("edit", EDITS)
def test_files_that_contradict_themselves_are_refused(edit, tmp_path):
    bandit = SETUPS["labels"]()
    play([bandit], 30)
    bandit.save(tmp_path / "run.npz")
    header, arrays = contents(tmp_path / "run.npz")
    EDITS[edit](header, arrays)
    write(tmp_path / "run.npz", header, arrays)
    with pytest.raises(ValueError, match=r"run\.npz"):
        tp.load(tmp_path / "run.npz")
