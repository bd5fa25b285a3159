"""Designs that do not depend on the model: the initial trials, and trials that explore."""

import numpy as np
import pytest

import tailproof as tp
from searches import LINE, MIXED, line, payoff, run


def test_the_initial_design_is_spread_and_not_repeated():
    opt = tp.Optimizer(LINE, options=tp.Options(n_initial=16, exploration_rate=1.0))
    places = np.sort([params["x"] for params in run(opt, 16, lambda params, i: 0.0)])
    assert np.diff(places).max() < 0.15
    assert len(set(places)) == 16


def trials_that_explore(options, numbers):
    """Return which of the trials `numbers` are the same for payoffs of two functions."""
    told = []
    for sign in (-1.0, 1.0):
        opt = tp.Optimizer(LINE, seed=4, options=options)
        x = (0.618 * np.arange(1, 13)) % 1.0
        told.append(line(opt, sign * x))
    return [number for number in numbers if told[0].propose(number) == told[1].propose(number)]


def test_trials_at_square_numbers_explore():
    numbers = [*range(12, 28), 99, 100]
    assert trials_that_explore(tp.Options(exploration_rate=1.0), numbers) == [16, 25, 100]
    assert trials_that_explore(tp.Options(exploration_rate=0.0), numbers) == []
    assert trials_that_explore(tp.Options(exploration_rate=0.5), numbers) == [16, 100]


def test_twice_as_many_trials_explore_while_outliers_may_vary():
    rng = np.random.default_rng(2)
    x = rng.random(60)
    rare = np.where((x > 0.6) & (rng.random(60) < 0.4), 9.0, 0.0)
    told = []
    for sign in (-1.0, 1.0):
        opt = tp.Optimizer(LINE, seed=4, options=tp.Options(exploration_rate=1.0))
        for place, more in zip(x, rare, strict=True):
            opt.add({"x": place}, sign * np.sin(6.0 * place) + more + 0.1 * rng.standard_normal())
        told.append(opt)
    same = [number for number in range(61, 125) if len({told_x(o, number) for o in told}) == 1]
    # Squares, and halfway between them: 7.5 x 7.5 is 56.25, 8.5 x 8.5 is 72.25 ..
    assert same == [64, 73, 81, 91, 100, 111, 121]
    assert len({told_x(told[0], number) for number in same}) == len(same)


def told_x(opt, number):
    return opt.propose(number)["x"]


@pytest.mark.parametrize("rate", [20.0, 1e308])
def test_all_trials_explore_at_a_large_rate(rate):
    options = tp.Options(exploration_rate=rate)
    assert trials_that_explore(options, range(12, 60)) == list(range(12, 60))
    opt = tp.Optimizer(LINE, options=options)
    x = [opt.propose(number)["x"] for number in range(64)]
    assert len(set(x)) == 64
    assert max(np.diff(np.sort(x))) < 0.1


def test_exploratory_trials_do_not_repeat_the_initial_design():
    opt = tp.Optimizer(MIXED, seed=1)
    batch = [opt.ask() for _ in range(30)]
    for trial in batch:
        opt.tell(trial, payoff(trial.params, trial.number))
    started = [trial.params for trial in batch]
    assert all(opt.propose(number) not in started for number in (36, 49, 64))


def test_exploration_of_the_smallest_spaces():
    for space in (tp.Configurations([{"a": 1}]), tp.Space(a=tp.Fixed(1), b=tp.Choice("u", "v"))):
        opt = tp.Optimizer(space, options=tp.Options(n_initial=1, exploration_rate=3.0))
        run(opt, 20, lambda p, i: float(i % 3))
        assert opt.recommend().total_payoffs == 20


def test_a_trial_with_a_huge_number_is_proposed_without_a_huge_design():
    assert 0.0 <= tp.Optimizer(LINE).propose(2**40)["x"] <= 1.0
