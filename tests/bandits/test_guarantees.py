"""Guarantees: which set-ups a theorem covers, and the reasons given for the others."""

import numpy as np
import pytest

import tailproof as tp
from policy_setups import ARMS, KERNEL, SPACE, build
from tailproof.bandits.guarantees import theorem1_is_repaired
from tailproof.bandits.schedules import Setting, Theorem1, Theorem3, Theorem4

LINE = np.linspace(0, 1, 20)[:, None]
CUSTOM = tp.CustomSchedule(1.0)


def ata(**changes):
    return build("ata_gp_ucb theory exact", **changes)


def proper(**changes):
    options = {"horizon": 100, "features": tp.QuadratureFourier(80)}
    return ata(**(options | changes))


class Narrow(Theorem1):
    def beta(self, t, m, log_det):
        return 0.0


class OwnFeatures:
    def __repr__(self):
        return "OwnFeatures()"

    def embed(self, kernel, X, rng):
        return tp.Exact().embed(kernel, X, rng)


class OtherNodes(tp.QuadratureFourier):
    pass


SETTING = Setting(tp.MomentBound(0.5, 4.0), 1.0, 1.0, 0.1, 100)
SAYS = {
    "authors' schedule": (lambda: ata(schedule="authors"), "authors' constants"),
    "authors' TGP-UCB": (lambda: build("tgp_ucb authors"), "authors' constants"),
    "custom schedule": (lambda: ata(schedule=CUSTOM), "schedule is custom"),
    "custom beta": (lambda: tp.gp_ucb(SPACE, KERNEL, CUSTOM), "schedule is custom"),
    "medians": (lambda: build("moma_gp_ucb heuristic exact"), "no theorem"),
    "random features": (lambda: proper(features=tp.RandomFourier(9)), "Remark 3"),
    "custom features": (lambda: proper(features=OwnFeatures()), "custom features: OwnFeatures"),
    "a subclass of features": (lambda: proper(features=OtherNodes(80)), "custom features"),
    "too few nodes": (lambda: proper(features=tp.QuadratureFourier(2)), "kernel error below 1"),
    "a tiny lengthscale": (
        lambda: proper(kernel=tp.SquaredExponential(1e-170)),
        "features' error",
    ),
    "a subclass of Theorem 1": (
        lambda: build("tgp_ucb theory", schedule=Narrow(SETTING)),
        "schedule is custom",
    ),
    "Theorem 4 of a smaller accuracy": (
        lambda: proper(features=tp.Nystrom(0.5, oversampling=1e4), schedule=Theorem4(SETTING, 0.1)),
        "schedule is custom",
    ),
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
    "Lemma 1": proper,
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
    assert f"({theorem.strip()}" in str(guarantee)
    assert guarantee.rate_missing == ()


@pytest.mark.parametrize("theorem", [name for name in PROPER if name != "Lemma 1"])
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


@pytest.mark.parametrize(
    ("features", "schedule"),
    [(tp.Exact(), Theorem4(SETTING, 0.0)), (tp.QuadratureFourier(80), Theorem3(SETTING))],
    ids=str,
)
def test_a_theorem_given_as_a_schedule_is_the_theorem(features, schedule):
    given = proper(features=features, schedule=schedule).guarantee
    assert given == proper(features=features).guarantee
    assert given.holds


def test_a_band_may_hold_without_the_regret_rate():
    """Lemma 1 needs a kernel error below 1; the number of nodes matters for the rate."""
    few = proper(features=tp.QuadratureFourier(32)).guarantee
    assert few.holds
    assert "nodes >= 2 log" in few.rate_missing[0]
    assert f"widened by {few.widening:.3g}" in str(few)
    # Lemma 1's additive term at T = 100: eps (r + r^2) + sqrt(eps (1 + r)^2 + eps^2 r), r = 100.
    eps = tp.QuadratureFourier(32).error(KERNEL, ARMS)
    expected = eps * 10_100 + np.sqrt(eps * 101**2 + eps**2 * 100)
    np.testing.assert_allclose(few.widening, expected, rtol=1e-12)


def test_quadrature_features_depend_on_differences_of_the_arms_only():
    there = proper(space=tp.Finite(ARMS + 5.0)).guarantee
    assert there.holds
    assert there.rate_missing == ()


def test_nodes_below_the_inverse_squared_lengthscale_give_their_measured_error():
    X, kernel = np.linspace(0, 1, 60)[:, None], tp.SquaredExponential(0.1)
    features = tp.QuadratureFourier(80)
    phi = features.features(kernel, X)
    assert np.abs(phi @ phi.T - kernel.matrix(X, X)).max() <= features.error(kernel, X) < 1e-14
    guarantee = proper(features=features, space=tp.Finite(X), kernel=kernel).guarantee
    assert guarantee.holds
    assert "1 / l^2" in guarantee.rate_missing[0]


def test_the_cutoff_of_nystrom_features_widens_the_band():
    """The proof's bias is B (1 + sqrt(1/(1-eps) + residual T / ridge)) times sigma <= 1."""
    opt = proper(features=tp.Nystrom(0.5, cutoff=1e-3))
    residual = opt.posterior.residual
    assert 1e-5 < residual < 1e-2
    expected = np.sqrt(2.0 + residual * 100) - np.sqrt(2.0)
    np.testing.assert_allclose(opt.guarantee.widening, expected, rtol=1e-9)
    assert "widened" in str(opt.guarantee)


def test_the_steps_of_the_proofs_that_are_taken_as_they_are_are_named():
    assert "conditioning on later arms taken as it is" in str(proper().guarantee)
    assert "docs/proofs.md" in str(build("tgp_ucb theory").guarantee)
    large = build("tgp_ucb theory", ridge=50.0, failure_probability=0.3).guarantee
    assert "growing sub-Gaussian constant taken as it is" in str(large)


@pytest.mark.parametrize(("delta", "ridge", "repaired"), [(0.17, 12.0, True), (0.2, 12.0, False)])
def test_theorem_1_is_repaired_where_the_epochs_inequality_holds(delta, ridge, repaired):
    assert theorem1_is_repaired(delta, ridge, 1.0) is repaired
    j = np.arange(121)
    s = np.sqrt(np.log(1 + 2.0**j / ridge) + 2 * np.log(1 / delta))
    left = np.sqrt(2) * (1 + np.sqrt(s**2 + 2 * np.log(np.pi**2 * (j + 1) ** 2 / 6)))
    assert bool((left <= 3 * s).all()) is repaired


def test_theorem_1_is_not_repaired_for_all_rounds_without_a_growing_determinant():
    """With k(x, x) = 0 somewhere, ln|I + K/lambda| need not grow, while the epochs' weights do."""
    assert theorem1_is_repaired(1e-6, 1.0, 1.0)
    assert not theorem1_is_repaired(1e-6, 1.0, 0.0)
    assert not theorem1_is_repaired(1e-6, 1.0, 2.0**-130)


def test_the_last_condition_carries_over_to_later_epochs():
    j = np.arange(120, 100_000)
    weight = 2 * np.log(np.pi**2 * (j + 1.0) ** 2 / 6)
    s2 = weight[0] + np.log(1.5) * (j - 120)  # the least that the condition leaves
    assert (s2 >= weight).all()
    assert (np.sqrt(2) * (1 + np.sqrt(s2 + weight)) <= 3 * np.sqrt(s2)).all()
