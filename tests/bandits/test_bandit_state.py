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
    "drifting line": lambda: tp.Bandit(np.linspace(0, 3, 9)[:, None], half_life=6, seed=1),
    "line": lambda: tp.Bandit(np.linspace(0, 3, 40)[:, None], seed=1),
    "plane": lambda: tp.Bandit(np.random.default_rng(0).random((120, 2)), seed=1),
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


# How many payoffs a run had been told when it was saved, and at which number the copy is compared.
# Meanwhile the kernel is learnt again (whenever the payoffs have grown by half), and arms decay.
SAVED = {0: 20, 1: 30, 30: 95, 157: 237}


@every_setup
def test_a_run_continues_bit_for_bit(setup, tmp_path):
    bandit, copies = SETUPS[setup](), {}
    for told in range(max(SAVED.values()) + 1):
        for other in [copy for end, copy in copies.items() if end == told]:
            one, same = bandit.predict(), other.predict()
            for name in ("mean", "lower", "upper", "probability", "payoffs"):
                assert np.array_equal(getattr(one, name), getattr(same, name)), name
            assert str(bandit.recommend()) == str(other.recommend())
            copies = {end: copy for end, copy in copies.items() if copy is not other}
        if told in SAVED:
            assert len({str(b.ask(2)) for b in (bandit, *copies.values())}) == 1
            bandit.save(tmp_path / "run.npz")
            again = copies[SAVED[told]] = tp.load(tmp_path / "run.npz")
            assert repr(again) == repr(bandit)
            assert again.pending == bandit.pending
            assert str(again.arms) == str(bandit.arms)
        play([bandit, *copies.values()], 1, seed=told)
    assert not copies


def arms_and_batches(bandit):
    bandit.add_arms(["d", "e"])
    play([bandit], 5)
    bandit.retire("a")
    bandit.tell_index(np.arange(20) % 5, np.random.default_rng(3).standard_t(2.0, 20))
    bandit.restore("a")


def merged(bandit):
    other = tp.Bandit(["c", "z"], half_life=bandit.half_life)
    play([other], 25, seed=4)
    bandit.merge(other)
    arms_and_batches(bandit)


def points(bandit):
    bandit.add_arms([[3.5], [4.0]])
    bandit.retire([0.0])
    play([bandit], 20)


def points_merged(bandit):
    other = tp.Bandit([[0.0], [7.0]], seed=2)
    play([other], 12)
    bandit.merge(other)
    points(bandit)


HISTORIES = {
    "arms and batches": ("labels", arms_and_batches),
    "merged": ("labels", merged),
    "drift": ("drift", arms_and_batches),
    "drift, merged": ("drift", merged),
    "line": ("line", points),
    "line, merged": ("line", points_merged),
    "drift on a line": ("drifting line", points),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_what_happened_between_the_payoffs_is_kept(name, tmp_path):
    setup, happen = HISTORIES[name]
    bandit = SETUPS[setup]()
    play([bandit], 40)
    happen(bandit)
    for again in range(2):  # what was read can be written again
        bandit.predict()  # looking changes nothing
        bandit.save(tmp_path / f"{again}.npz")
        bandit, before = tp.load(tmp_path / f"{again}.npz"), bandit
        play([bandit, before], 30, seed=again)
    assert str(bandit.predict()) == str(before.predict())


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
    "a source that is none": lambda h, a: a["log.sources"].__setitem__(0, 5),
    "an infinite payoff": lambda h, a: a["log.payoffs"].__setitem__(0, np.inf),
    "a source twice": lambda h, a: h.update(sources=["x", "x"]),
    "a clock that is ahead": lambda h, a: h.update(clock=31.0),
    "a start that was none": lambda h, a: h.update(restarted=4),
    "payoffs told together that are none": lambda h, a: h.update(events=[[25, "payoffs", 9]]),
    "events out of order": lambda h, a: h.update(events=[[9, "payoffs", 9], [8, "payoffs", 9]]),
    "an event that is none": lambda h, a: h.update(events=[[9, "noise", 9]]),
    "arms that came before they were there": lambda h, a: h.update(events=[[29, "arms", 2]]),
    "pending below zero": lambda h, a: a["pending"].__setitem__(0, -1),
    "other labels": lambda h, a: h.update(labels=["a", "b"]),
    "labels twice": lambda h, a: h.update(labels=["a", "b", "b"]),
    "no half-life": lambda h, a: h.update(half_life=-1.0),
    "a foreign generator": lambda h, a: h["random"].update(bit_generator="X"),
    "a first arm that is none": lambda h, a: a["design"].__setitem__(0, 3),
    "a first arm twice": lambda h, a: a["design"].__setitem__(slice(None), 1),
    "too few first arms": lambda h, a: a.update(design=a["design"][:2]),
    "estimates": lambda h, a: a.update(mean=np.zeros(3)),
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


@pytest.mark.parametrize(
    "edit",
    [
        lambda h, a: a["log.arms"].__setitem__(0, (a["log.arms"][0] + 1) % 3),
        lambda h, a: a["log.payoffs"].__setitem__(7, 1e6),
        lambda h, a: h.update(minimize=True),
        lambda h, a: h.update(half_life=11.0),
    ],
    ids=["another arm", "another payoff", "minimize", "half-life"],
)
def test_an_edited_run_is_one_that_could_have_been(edit, tmp_path):
    bandit = SETUPS["labels"]()
    play([bandit], 30)
    bandit.save(tmp_path / "run.npz")
    header, arrays = contents(tmp_path / "run.npz")
    edit(header, arrays)
    write(tmp_path / "run.npz", header, arrays)
    found = tp.load(tmp_path / "run.npz")
    told = tp.Bandit(found.arms, minimize=found.minimize, half_life=found.half_life)
    payoffs = -arrays["log.payoffs"] if found.minimize else arrays["log.payoffs"]
    for arm, payoff in zip(arrays["log.arms"].tolist(), payoffs.tolist(), strict=True):
        told.tell_index(arm, payoff)
    assert str(found.predict()) == str(told.predict())
