"""The state of a practical optimizer: all is kept, and unsound files are refused."""

import json

import numpy as np
import pytest

import tailproof as tp
from searches import LINE, MIXED, line, run, snapshot
from state_files import contents, write
from tailproof.search.state import from_state, to_state


def one_sided(rng):
    return 0.3 * (30.0 if rng.random() < 0.1 else 1.0) * rng.exponential()


def both_sides(rng):
    return 0.3 * (50.0 if rng.random() < 0.06 else 1.0) * rng.standard_normal()


@pytest.mark.parametrize("noise", [one_sided, both_sides])
def test_a_fitted_model_is_the_same_after_json(noise):
    rng = np.random.default_rng(2)
    opt = line(tp.Optimizer(LINE), [noise(rng) for _ in range(100)])
    opt.recommend()
    header, arrays = to_state(opt)
    again = from_state(json.loads(json.dumps(header, allow_nan=False)), arrays)
    assert snapshot(again) == snapshot(opt)
    assert again.recommend() == opt.recommend()
    assert again.ask() == opt.ask()


def test_places_in_the_cube_are_found_again_bit_for_bit(tmp_path):
    opt = tp.Optimizer(MIXED)
    run(opt, 12)
    opt.ask(context={"lr": 0.0123456789012345678})
    opt.add({"lr": 1 / 30, "n": 2, "act": "b", "k": 3}, 1.0)
    opt.save(tmp_path / "run.npz")
    again = tp.load(tmp_path / "run.npz")
    assert [trial for trial, _ in again._log.started.values()] == [
        t for t, _ in opt._log.started.values()
    ]
    for (_, u), (_, v) in zip(again._log.started.values(), opt._log.started.values(), strict=True):
        assert u.tobytes() == v.tobytes()


def test_payoffs_are_stored_as_an_array(tmp_path):
    opt = tp.Optimizer(MIXED)
    run(opt, 5)
    opt.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz", allow_pickle=False) as file:
        assert file["payoffs"].tolist() == [done.value for done in opt.trials]


def change(**fields):
    """Return a function that replaces fields of a header."""
    return lambda header, arrays: header.update(fields)


def change_array(name, value):
    return lambda header, arrays: arrays.__setitem__(name, value)


def change_first(position, value):
    """Return a function that replaces the name, type or value of the first trial's first value."""
    return lambda header, arrays: header["params"][0][0].__setitem__(position, value)


UNSOUND = {
    "payoffs too few": change_array("payoffs", np.zeros(3)),
    "payoffs that are not numbers": change_array("payoffs", np.full(12, np.nan)),
    "payoffs that are text": change_array("payoffs", np.full(12, "x")),
    "payoffs in a square": change_array("payoffs", np.zeros((12, 1))),
    "payoffs beyond all means": change_array("payoffs", np.full(12, 1e300)),
    "arrays of no use": change_array("positions", np.zeros((14, 2))),
    "trials told twice": change(completed=[0] * 12),
    "trials told that were not asked": change(completed=[*range(11), 99]),
    "numbers that are no integers": change(completed=[0.5, *range(1, 12)]),
    "a told trial that is pending": change(pending=[3, 12]),
    "a pending trial twice": change(pending=[12, 12]),
    "pending trials out of order": change(pending=[13, 12]),
    "a pending trial that was not asked": change(pending=[14]),
    "a pending trial before the first": change(pending=[-1]),
    "no parameters": lambda header, arrays: header["params"].__setitem__(0, []),
    "a parameter outside": change_first(2, 1.5),
    "a parameter that is not a number": change_first(2, "nan"),
    "a parameter of another type": change_first(1, "int"),
    "a parameter of another name": change_first(0, "z"),
    "no options": change(options=None),
    "no space": change(space=None),
    "a negative seed": change(seed=-1),
    "a seed that is true": change(seed=True),
    "a direction that is a number": change(minimize=1),
}


@pytest.mark.parametrize("case", UNSOUND)
def test_a_search_that_cannot_have_been_is_refused(case, tmp_path):
    opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1), n=tp.Int(1, 9)))
    for payoff in np.random.default_rng(1).standard_t(1.5, 12):
        opt.tell(opt.ask(), float(payoff))
    opt.ask(), opt.ask()
    opt.save(tmp_path / "good.npz")
    header, arrays = contents(tmp_path / "good.npz")
    write(tmp_path / "same.npz", header, arrays)
    assert len(tp.load(tmp_path / "same.npz")) == 12
    UNSOUND[case](header, arrays)
    write(tmp_path / "bad.npz", header, arrays)
    with pytest.raises(ValueError, match=r"`path` must be .*, but .*bad.npz"):
        tp.load(tmp_path / "bad.npz")
