"""Designs that do not depend on the model: the initial trials."""

import numpy as np

import tailproof as tp
from searches import LINE, run


def test_the_initial_design_is_spread_and_not_repeated():
    opt = tp.Optimizer(LINE, options=tp.Options(n_initial=16))
    places = np.sort([params["x"] for params in run(opt, 16, lambda params, i: 0.0)])
    assert np.diff(places).max() < 0.15
    assert len(set(places)) == 16


def test_designs_of_the_smallest_spaces():
    for space in (tp.Configurations([{"a": 1}]), tp.Space(a=tp.Fixed(1), b=tp.Choice("u", "v"))):
        opt = tp.Optimizer(space, options=tp.Options(n_initial=1))
        run(opt, 20, lambda p, i: float(i % 3))
        assert opt.recommend().total_payoffs == 20


def test_a_trial_with_a_huge_number_is_proposed_without_a_huge_design():
    assert 0.0 <= tp.Optimizer(LINE).propose(2**40)["x"] <= 1.0
