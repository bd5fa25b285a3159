"""Contexts: parameters that are given when asking, and the others that are chosen to suit them."""

import numpy as np
import pytest

import tailproof as tp
from searches import MIXED, snapshot

SPACE = tp.Space(x=tp.Float(0, 1), day=tp.Choice("week", "weekend"), load=tp.Float(0, 10))
BEST = {"week": 0.2, "weekend": 0.8}


def cost(params, rng):
    away = params["x"] - BEST[params["day"]] - 0.01 * params["load"]
    return away**2 + 0.02 * float(rng.standard_t(2.0))


def optimized(seed=0, rounds=60):
    opt = tp.Optimizer(SPACE, seed=seed, minimize=True)
    rng = np.random.default_rng(seed)
    for index in range(rounds):
        context = {"day": ("week", "weekend")[index % 2], "load": float(rng.uniform(0, 10))}
        trial = opt.ask(context=context)
        assert {name: trial.params[name] for name in context} == context  # to the last digit
        opt.tell(trial, cost(trial.params, rng))
    return opt


@pytest.fixture(scope="module")
def opt():
    return optimized()


def test_what_is_best_depends_on_the_context(opt):
    for day, best in BEST.items():
        for load in (1.0, 9.0):
            found = opt.recommend(context={"day": day, "load": load})
            assert (found.params["day"], found.params["load"]) == (day, load)
            # Within 0.2 the cost is at most 0.04, two scales of the noise.
            assert found.params["x"] == pytest.approx(best + 0.01 * load, abs=0.2)
            assert found.lower < found.mean < found.upper


def test_without_a_context_everything_is_chosen(opt):
    assert opt.recommend(context={}).params == opt.recommend().params
    assert opt.propose(61, context={}).keys() == opt.propose(61).keys()


def test_where_nothing_is_left_to_choose_the_context_is_the_answer(opt):
    all_of_it = {"x": 0.1 + 0.2, "day": "week", "load": 1 / 3}
    assert opt.propose(61, context=all_of_it) == all_of_it
    assert opt.recommend(context=all_of_it).params == all_of_it
    assert opt.recommend(context=all_of_it).payoffs == 0


def test_a_measured_configuration_of_another_context_does_not_win_a_tie():
    opt = tp.Optimizer(tp.Space(x=tp.Int(0, 3), day=tp.Choice("a", "b")))
    for x in (0, 1, 2, 3):
        opt.add({"x": x, "day": "a"}, 1.0)
    assert opt.recommend(context={"day": "b"}).params["day"] == "b"
    assert opt.recommend(context={"day": "a"}).payoffs == 1


def test_the_same_seed_gives_the_same_run_also_when_saved_in_the_middle(tmp_path):
    first, second = optimized(rounds=20), optimized(rounds=20)
    pending = {"day": "week", "load": 2.5}
    assert first.ask(context=pending) == second.ask(context=pending)
    first.save(tmp_path / "search.npz")
    loaded = tp.load(tmp_path / "search.npz")
    for load in (0.0, 0.1 + 0.2, 10.0):
        asked = [o.ask(context={"load": load}) for o in (first, second, loaded)]
        assert asked[0] == asked[1] == asked[2]
    assert snapshot(first) == snapshot(loaded)
    assert first.recommend() == loaded.recommend()


def test_a_trial_and_its_params_are_one_configuration():
    opt = tp.Optimizer(SPACE)
    trial = opt.ask(context={"load": 0.1 + 0.2, "day": "week"})
    opt.tell(trial, 1.0)
    opt.add(trial.params, 1.0)
    assert opt.recommend(context=trial.params).payoffs == 2


def test_a_batch_in_one_context_is_of_different_configurations():
    opt = optimized(rounds=30)
    batch = [opt.ask(context={"day": "week", "load": 5.0}).params["x"] for _ in range(6)]
    assert len(set(batch)) == 6


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (
            {"hour": 3},
            r"must name parameters of the space \(x, day, load\), but got 'hour'",
        ),
        ({"x": 2.0}, r"`0.0 <= x <= 1.0` must hold, but got x=2.0"),
        ({"x": np.nan}, r"`x` must be"),
        ({"day": "Monday"}, "but got day='Monday'"),
        (["day"], r"`context` must map names to values, but got \['day'\]"),
    ],
)
def test_a_wrong_context_is_refused_and_changes_nothing(context, words):
    opt = optimized(rounds=4)
    before = snapshot(opt)
    for call in (opt.ask, lambda **more: opt.propose(9, **more), opt.recommend):
        with pytest.raises(ValueError, match=words):
            call(context=context)
    assert snapshot(opt) == before


def test_a_list_of_configurations_has_nothing_to_hold():
    opt = tp.Optimizer(tp.Configurations([{"a": 1}, {"a": 2}]))
    with pytest.raises(ValueError, match="`context` needs a Space of parameters, but got Config"):
        opt.ask(context={"a": 1})


def test_a_constant_may_stand_in_a_context_if_it_is_that():
    space = tp.Space(x=tp.Float(0, 1), seed=tp.Fixed(3))
    assert tp.Optimizer(space).ask(context={"seed": 3}).params["seed"] == 3
    with pytest.raises(ValueError, match="seed"):
        tp.Optimizer(space).ask(context={"seed": 4})


def test_mixed_spaces_are_searched_inside_the_context():
    opt = tp.Optimizer(MIXED, seed=2)
    for index in range(12):
        opt.tell(opt.ask(), float(index % 5))
    for n in (1, 4):
        for act in ("a", "b"):
            for _ in range(4):
                trial = opt.ask(context={"n": n, "act": act})
                assert (trial.params["n"], trial.params["act"]) == (n, act)


@pytest.mark.parametrize("period", [2, 3, 4])
def test_initial_designs_cover_every_context_that_comes_in_turns(period):
    """Every second Sobol point would cover half of an axis."""
    space = tp.Space(x=tp.Float(0, 1), y=tp.Float(0, 1), turn=tp.Int(0, 3))
    opt = tp.Optimizer(space, seed=1, options=tp.Options(n_initial=400))
    places = {turn: [] for turn in range(period)}
    for number in range(40 * period):
        params = opt.propose(number, context={"turn": number % period})
        places[params["turn"]].append((params["x"], params["y"]))
    for where in places.values():
        for axis in np.array(where).T:
            # Of 40 points fewer than 8 in a half: less than 1 in 30,000.
            assert 8 <= (axis < 0.5).sum() <= 32


def test_the_best_observed_payoff_is_of_the_context_where_one_was_measured():
    opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1), day=tp.Choice("low", "high", "new")))
    for x in np.linspace(0, 1, 10):
        opt.add({"x": x, "day": "low"}, x)
        opt.add({"x": x, "day": "high"}, 100.0 + x)
    assert opt.recommend(context={"day": "low"}).best_observed_value == 1.0
    assert opt.recommend(context={"day": "new"}).best_observed_value == 101.0


def test_a_step_is_handed_out_as_it_is():
    space = tp.Space(s=tp.Float(0, 1, step=0.1), x=tp.Float(0, 1))
    opt = tp.Optimizer(space)
    assert opt.ask(context={"s": 0.1 + 0.2}).params["s"] == 0.3
    assert opt.ask(context={"x": 0.1 + 0.2}).params["x"] == 0.1 + 0.2
