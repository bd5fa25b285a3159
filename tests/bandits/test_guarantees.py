"""Guarantees: which set-ups a theorem covers, and the reasons given for the others."""

import numpy as np
import pytest

import tailproof as tp
from policy_setups import ARMS, KERNEL, SPACE, build
from tailproof.bandits.schedules import Setting, Theorem1

LINE = np.linspace(0, 1, 20)[:, None]
CUSTOM = tp.CustomSchedule(1.0)


def ata(**changes):
    return build("ata_gp_ucb theory exact", **changes)


def proper(**changes):
    options = {"horizon": 100, "features": tp.QuadratureFourier(80)}
    return ata(**(options | changes))


SAYS = {
    "authors' schedule": (lambda: ata(schedule="authors"), "authors' constants"),
    "authors' TGP-UCB": (lambda: build("tgp_ucb authors"), "authors' constants"),
    "custom schedule": (lambda: ata(schedule=CUSTOM), "schedule is custom"),
    "custom beta": (lambda: tp.gp_ucb(SPACE, KERNEL, CUSTOM), "schedule is custom"),
    "medians": (lambda: build("moma_gp_ucb heuristic exact"), "no theorem"),
    "random features": (lambda: proper(features=tp.RandomFourier(9)), "no theorem covers"),
    "too few nodes": (lambda: proper(features=tp.QuadratureFourier(71)), "nodes >= 2 log"),
    "arms off the cube": (lambda: proper(space=tp.Finite(ARMS - 0.01)), "arms in [0, 1]^d"),
    "small ridge": (lambda: proper(features=tp.Nystrom(), ridge=0.99), "only if ridge >= 1"),
    "small oversampling": (
        lambda: proper(features=tp.Nystrom(oversampling=9.0)),
        "Theorem 4 asks for q",
    ),
    "draws by site": (lambda: proper(features=tp.Nystrom(draws="sites")), "every past round"),
    "variance (i)": (lambda: proper(features=tp.Nystrom(), variance="i"), "variance (ii)"),
    "coarse features": (lambda: proper(features=tp.Exact(0.1)), "leave out"),
    "smaller beta": (lambda: proper(beta_multiplier=0.5), "multiplied by 0.5"),
    "delta above 1/e": (lambda: build("tgp_ucb theory", failure_probability=0.4), "<= 1/e"),
    "other ridge": (
        lambda: build("gp_ucb theory", schedule=tp.SubGaussian(1, 1, 2, 0.1)),
        "made for ridge=2",
    ),
}


@pytest.mark.parametrize("case", SAYS)
def test_what_no_theorem_covers_has_no_guarantee_and_says_why(case):
    make, why = SAYS[case]
    guarantee = make().guarantee
    assert not guarantee.holds
    assert why in " ".join(guarantee.missing)
    assert str(guarantee).startswith("No guarantee: ")


PROPER = {
    "Theorem 1": lambda **c: build("tgp_ucb theory", **c),
    "Theorem 3": proper,
    "Theorem 4": lambda **c: proper(**({"features": tp.Nystrom()} | c)),
    "Theorem 4 ": lambda **c: proper(**({"features": tp.Exact()} | c)),
    "the self-normalized inequality of appendix B": lambda **c: build("gp_ucb theory", **c),
}


@pytest.mark.parametrize("theorem", PROPER)
def test_a_proper_setup_has_its_guarantee(theorem):
    guarantee = PROPER[theorem]().guarantee
    assert guarantee.holds
    assert guarantee.missing == ()
    assert "at least 0.9" in str(guarantee)
    assert f"({theorem.strip()})" in str(guarantee)


@pytest.mark.parametrize("theorem", [name for name in PROPER if name != "Theorem 3"])
def test_a_kernel_above_one_loses_the_guarantee_with_a_warning(theorem):
    with pytest.warns(tp.TheoryWarning, match=r"k\(x, x\) <= 1 must hold .*1.5"):
        opt = PROPER[theorem](kernel=1.5 * KERNEL)
    assert not opt.guarantee.holds
    assert "k(x, x) <= 1" in str(opt.guarantee)


def test_guarantees_end_with_the_horizon_and_say_none_where_something_is_missing():
    opt = tp.ata_gp_ucb(
        tp.Finite(LINE),
        tp.SquaredExponential(0.2),
        features=tp.Exact(),
        moment=tp.MomentBound(1.0, 2.0),
        norm_bound=1.0,
        horizon=10,
    )
    opt.tell_index(np.zeros(10, dtype=int), np.zeros(10))
    assert opt.guarantee.holds
    opt.tell_index(0, 0.0)
    assert not opt.guarantee.holds
    assert "horizon" in str(opt.guarantee)
    assert opt.guarantee.statement == "none"


@pytest.mark.parametrize(
    ("features", "ridge", "word"),
    [
        (tp.Nystrom(0.1, cutoff=0.5), 1.0, "cutoff"),
        (tp.Nystrom(0.1, oversampling=3.0), 1.0, "q ="),
        (tp.QuadratureFourier(110), 1e-9, "norm_bound"),
        (tp.Exact(tolerance=0.1), 1.0, "tolerance"),
    ],
    ids=str,
)
def test_guarantees_are_withheld_where_a_hypothesis_fails(features, ridge, word):
    opt = tp.ata_gp_ucb(
        tp.Finite(LINE),
        tp.SquaredExponential(0.096 if ridge < 1 else 0.2),
        features=features,
        moment=tp.MomentBound(1.0, 2.0),
        norm_bound=1.0,
        horizon=1000,
        ridge=ridge,
    )
    assert word in str(opt.guarantee)


def test_a_theorem_made_for_another_ridge_promises_nothing():
    schedule = Theorem1(Setting(tp.MomentBound(1.0, 4.0), 1.0, 1e4, 0.1, 1000))
    opt = tp.tgp_ucb(tp.Finite(LINE), tp.SquaredExponential(0.2), schedule=schedule, ridge=1.0)
    assert "ridge=10000" in str(opt.guarantee)
