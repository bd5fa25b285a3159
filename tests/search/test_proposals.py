"""Where the trials of a search are: the initial design, and places worth another payoff."""

import numpy as np
import pytest

import tailproof as tp
from tailproof.search.proposals import keep_to_middle, toward_middle


def test_the_initial_design_keeps_away_from_the_ends_of_numbers():
    space = tp.Space(x=tp.Float(0, 1), n=tp.Int(1, 101), mode=tp.Choice(*"abcdefgh"))
    seen = []
    for seed in range(40):
        opt = tp.Optimizer(space, seed=seed)
        seen += [trial.params for trial in opt.ask(4)]
    x = np.array([params["x"] for params in seen])
    n = np.array([params["n"] for params in seen])
    assert 0.15 <= x.min() < 0.2
    assert 0.8 < x.max() <= 0.85
    assert 15 <= n.min() < 22
    assert 80 < n.max() <= 87
    # Options have no middle: 160 draws miss one of eight with probability 8 (7/8)^160 < 1e-8.
    assert {params["mode"] for params in seen} == set("abcdefgh")


@pytest.mark.parametrize("values", [2, 3, 5, 7])
def test_numbers_with_few_values_have_their_ends_in_the_design(values):
    space = tp.Space(n=tp.Int(1, values), x=tp.Float(0, 1))
    seen = {
        trial.params["n"] for seed in range(20) for trial in tp.Optimizer(space, seed=seed).ask(6)
    }
    assert seen == set(range(1, values + 1))


def test_rows_of_a_list_have_no_middle():
    space = tp.Configurations([{"a": k} for k in range(20)])
    for place in space.enumerate(20):
        np.testing.assert_array_equal(toward_middle(space, place), place)


@pytest.mark.parametrize("seed", range(3))
def test_a_configuration_that_is_known_is_not_run_again_and_again(seed):
    # 125 configurations without noise: the best one is clear after two dozen trials.
    space = tp.Space(a=tp.Int(0, 4), b=tp.Int(0, 4), c=tp.Choice(*"vwxyz"))
    opt, seen = tp.Optimizer(space, seed=seed), set()
    for _ in range(60):
        trial = opt.ask()
        p = trial.params
        value = -((p["a"] - 3) ** 2) - 0.5 * (p["b"] - 1) ** 2 - 2.0 * "wvxzy".index(p["c"])
        opt.tell(trial, float(value))
        seen.add(tuple(p.values()))
    assert opt.recommend().params == {"a": 3, "b": 1, "c": "w"}
    assert len(seen) > 20


def test_the_search_reaches_the_ends_of_numbers_step_by_step():
    # The best is at the end of both ranges: each trial may go a little further than those before.
    space = tp.Space(x=tp.Float(0, 1), y=tp.Float(0, 1))
    opt, largest = tp.Optimizer(space, seed=0), []
    for _ in range(40):
        trial = opt.ask()
        opt.tell(trial, trial.params["x"] + trial.params["y"])
        largest.append(max(trial.params.values()))
    design, growth = 6, 20
    for number in range(design, design + growth):
        limit = 0.85 + 0.15 * (number - design) / growth
        assert largest[number] <= limit + 1e-9
    assert max(largest[design : design + 5]) > 0.8
    assert max(largest[design + growth :]) == 1.0


def test_places_are_kept_to_the_middle_in_numbers_alone():
    space = tp.Space(x=tp.Float(0, 1), few=tp.Int(0, 3), mode=tp.Choice("a", "b"))
    for place in np.random.default_rng(0).random((20, 3)):
        u = space.snap(place[None])[0]
        kept = keep_to_middle(space, u, 0.7)
        assert 0.15 <= kept[0] <= 0.85
        assert kept[0] == u[0] or kept[0] in (0.15, 0.85)
        np.testing.assert_array_equal(kept[1:], u[1:])
        np.testing.assert_array_equal(keep_to_middle(space, u, 1.0), u)
