"""Ask, tell, predict, recommend: what must hold for every policy and every feature map."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailproof as tp
from policy_setups import ARMS, LABELS, SETUPS, SPACE, assert_same, build, every_setup, rounds

LINE = np.linspace(0, 1, 20)[:, None]

# ---- telling ------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["points", "numbers"])
@every_setup
def test_telling_many_is_telling_one_by_one(setup, by):
    arms, payoffs = rounds(40)
    at_once, one_by_one = build(setup), build(setup)
    if by == "points":
        at_once.tell(ARMS[arms], payoffs)
    else:
        at_once.tell_index(np.array(arms), np.array(payoffs))
    for arm, payoff in zip(arms, payoffs, strict=True):
        one_by_one.tell(ARMS[arm], payoff)
    assert_same(at_once, one_by_one)


@every_setup
def test_many_payoffs_of_one_arm_go_in_one_call(setup):
    together, apart = build(setup), build(setup)
    together.tell([0.5], [3.0, -1.0, 7.0])
    together.tell_index(2, [0.25, 4])
    for arm, payoff in ((4, 3.0), (4, -1.0), (4, 7.0), (2, 0.25), (2, 4.0)):
        apart.tell_index(arm, payoff)
    assert_same(together, apart)


@every_setup
def test_the_index_api_is_the_point_api(setup):
    points, numbers = build(setup), build(setup)
    for payoff in rounds(25)[1]:
        x, i = points.ask(), numbers.ask_index()
        assert np.array_equal(x, ARMS[i])
        points.tell(x, payoff)
        numbers.tell_index(i, payoff)
    assert_same(points, numbers)


@every_setup
def test_arms_never_asked_may_be_told(setup):
    opt = build(setup)
    opt.tell([1.0], 2.0)
    opt.tell(ARMS[:3], [1.0, 0.0, -1.0])
    assert opt.history.indices.tolist() == [8, 0, 1, 2]
    assert opt.pending.size == 0
    assert 0 <= opt.ask_index() < 9


def test_telling_nothing_changes_nothing():
    opt, same = build("gp_ucb theory"), build("gp_ucb theory")
    opt.tell(np.empty((0, 1)), [])
    opt.tell([0.5], [])
    opt.tell_index([], [])
    assert_same(opt, same)


@pytest.mark.parametrize("number", [3, np.float32(3.0), np.int64(3), np.array(3.0), True + 2])
def test_payoffs_may_be_any_kind_of_real_number(number):
    opt, same = build("tgp_ucb theory"), build("tgp_ucb theory")
    opt.tell([0.5], number)
    opt.tell_index(np.int32(4), number)
    same.tell_index([4, 4], [3.0, 3.0])
    assert_same(opt, same)


# ---- history ------------------------------------------------------------------------------------


@settings(derandomize=True, max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.floats(-1e280, 1e280)), max_size=12))
def test_history_is_what_was_told_in_order(told):
    opt = build("tgp_ucb theory")
    for arm, payoff in told:
        opt.tell(ARMS[arm], payoff)
    history = opt.history
    assert len(opt) == len(history) == len(told)
    assert list(zip(history.indices.tolist(), history.payoffs.tolist(), strict=True)) == told
    assert history.points.shape == (len(told), 1)
    assert np.array_equal(history.points, ARMS[history.indices])


def test_history_beyond_its_first_memory():
    opt = build("gp_ucb theory")
    arms, payoffs = rounds(1500)
    opt.tell_index(arms, payoffs)
    assert opt.history.indices.tolist() == arms
    assert opt.history.payoffs.tolist() == payoffs


@every_setup
def test_what_is_handed_out_is_a_copy(setup):
    opt, same = build(setup), build(setup)
    for one in (opt, same):
        one.tell_index(*rounds(20))
        one.ask_index()
    history, prediction, pending = opt.history, opt.predict(), opt.pending
    for array in (history.indices, history.payoffs, history.points, pending, opt.recommend().point):
        array[...] = 0
    for array in (prediction.mean, prediction.std, prediction.lower, prediction.upper):
        array[...] = np.nan
    at_arms = opt.predict(ARMS)
    at_arms.mean[...] = np.nan
    assert_same(opt, same)


def test_the_arm_asked_is_a_copy():
    opt = build("gp_ucb theory")
    opt.ask()[...] = 7.0
    assert np.array_equal(opt.space.inputs, ARMS)


# ---- asking, and asks not yet told --------------------------------------------------------------


@every_setup
def test_asks_before_a_tell_shrink_the_variance_and_leave_the_mean(setup):
    opt = build(setup)
    opt.tell_index(*rounds(15))
    before, variance = opt.predict(), opt.pending_variance()
    for _ in range(6):
        asked = opt.ask_index()
        shrunk = opt.pending_variance()
        assert (shrunk >= 0.0).all()
        assert (shrunk <= variance + 1e-12).all()
        assert shrunk[asked] < variance[asked]
        variance = shrunk
    assert np.array_equal(opt.predict().mean, before.mean)
    assert np.array_equal(opt.predict().std, before.std)


def test_a_pending_arm_counts_as_one_told_its_own_mean():
    """A payoff equal to the mean leaves GP-UCB's mean alone and shrinks its variance."""
    opt, twin = (build("gp_ucb theory", schedule=tp.CustomSchedule(3.0)) for _ in range(2))
    for one in (opt, twin):
        one.tell_index(*rounds(10))
    for _ in range(12):
        arm = opt.ask_index()
        assert twin.ask_index() == arm
        twin.tell_index(arm, float(twin.predict().mean[arm]))
        np.testing.assert_allclose(
            opt.pending_variance(), twin.predict().std ** 2, rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(opt.predict().mean, twin.predict().mean, rtol=1e-9, atol=1e-12)


@every_setup
def test_asks_diversify(setup):
    """Three arms that say little about each other: the two unknown ones are asked, one each."""
    opt = build(setup, tp.Finite([[0.0], [0.5], [1.0]]))
    opt.tell_index([1] * 60, [0.0] * 60)
    assert {opt.ask_index(), opt.ask_index()} == {0, 2}


@pytest.mark.parametrize("variance", ["i", "ii"])
@pytest.mark.parametrize("features", ["exact", "nystrom", "reduced", "qff", "rff"])
def test_asks_diversify_before_the_first_payoff(features, variance):
    opt = build(
        f"ata_gp_ucb theory {features}", tp.Finite([[0.0], [0.5], [1.0]]), variance=variance
    )
    assert {opt.ask_index() for _ in range(3)} == {0, 1, 2}


@every_setup
def test_pending_arms_leave_as_they_are_told_in_any_order(setup):
    opt, direct = build(setup), build(setup)
    if setup.split()[1] == "authors":
        direct.withdraw(direct.ask())  # the authors' first arm is drawn at random
    asked = [opt.ask_index() for _ in range(5)]
    asked.append(asked[0])
    opt._pending.append(asked[0])  # the same arm asked twice, whatever the policy would do
    assert opt.pending.tolist() == asked
    left = list(asked)
    for arm in [asked[3], asked[0], asked[4], asked[1], asked[0], asked[2]]:
        for one in (opt, direct):
            one.tell_index(arm, 1.5)
        left.remove(arm)
        assert sorted(opt.pending.tolist()) == sorted(left)
    assert np.array_equal(opt.predict().mean, direct.predict().mean)
    assert np.array_equal(opt.pending_variance(), direct.pending_variance())


@every_setup
def test_telling_another_arm_leaves_the_pending_ones(setup):
    opt = build(setup)
    opt.tell_index(0, 1.0)
    asked = opt.ask_index()
    opt.tell_index((asked + 1) % 9, 1.0)
    assert opt.pending.tolist() == [asked]
    assert opt.pending_variance()[asked] < opt.predict().std[asked] ** 2


@every_setup
def test_withdrawing_undoes_an_ask(setup):
    opt = build(setup)
    opt.tell_index(*rounds(8))
    variance = opt.pending_variance().copy()
    x = opt.ask()
    opt.withdraw(x)
    assert opt.pending.size == 0
    assert np.array_equal(opt.pending_variance(), variance)
    assert np.array_equal(opt.ask(), x)


def test_only_an_asked_arm_can_be_withdrawn():
    opt = build("gp_ucb theory")
    asked = opt.ask()
    with pytest.raises(ValueError, match="`x` must be an arm that was asked and not told, but got"):
        opt.withdraw(ARMS[(SPACE.index(asked) + 1) % 9])
    opt.withdraw(asked)
    with pytest.raises(ValueError, match="`x` must be an arm that was asked"):
        opt.withdraw(asked)


# ---- reproducibility ----------------------------------------------------------------------------


@every_setup
def test_same_seed_same_run_whatever_numpys_global_state(setup):
    runs = []
    for noise_seed in (0, 1):
        np.random.seed(noise_seed)  # noqa: NPY002
        opt = build(setup, seed=11)
        arms = []
        for payoff in rounds(30)[1]:
            arms.append(opt.ask_index())
            opt.tell_index(arms[-1], payoff)
        runs.append((arms, opt.predict().mean.tolist()))
    assert runs[0] == runs[1]


def test_a_seed_may_be_a_sequence_or_a_generator():
    kinds = (7, np.random.SeedSequence(7), np.random.default_rng(7))
    first = [build("tgp_ucb authors", seed=kind).ask_index() for kind in kinds]
    assert len(set(first)) == 1
    assert len({build("tgp_ucb authors", seed=seed).ask_index() for seed in range(20)}) > 4


@pytest.mark.parametrize("setup", [name for name in SETUPS if "authors" not in name])
def test_ties_go_to_the_first_arm(setup):
    opt = build(setup, tp.Finite(np.repeat([[0.5], [0.0], [1.0]], 3, axis=0)))
    assert opt.ask_index() == 0  # nothing is known: all arms are alike
    opt.tell_index([0, 5, 7, 8], [0.5, 1.0, 2.0, 2.0])
    assert opt.recommend("all").index in (0, 3, 6)  # the first of three arms that coincide
    assert opt.ask_index() in (0, 3, 6)


def test_scores_equal_up_to_rounding_are_a_tie():
    opt = tp.gp_ucb(tp.Finite(list(LABELS)), tp.Precomputed(np.eye(4)), tp.CustomSchedule(0.0))
    opt.tell_index([0, 1, 2], [0.3, 0.1 + 0.2, 0.3 * (1 + 1e-6)])
    assert opt.recommend().index == opt.ask_index() == 2
    opt.tell_index([3] * 50, [2.0] * 50)
    opt.tell_index([1] * 50, [2.0 * (1 + 1e-14)] * 50)
    opt.tell_index(3, 0.30000000000000004)
    assert opt.recommend().index == opt.ask_index() == 1


# ---- predicting and recommending ----------------------------------------------------------------


@every_setup
def test_predicting_at_the_arms_as_points_is_predicting_at_the_arms(setup):
    opt = build(setup)
    for count in (0, 1, 30):
        opt.tell_index(*rounds(count))
        arms, points = opt.predict(), opt.predict(ARMS)
        for name in ("mean", "std", "lower", "upper"):
            one, other = getattr(arms, name), getattr(points, name)
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8, err_msg=name)
        assert points.beta == arms.beta


def test_one_point_may_be_given_flat():
    opt = build("gp_ucb theory")
    opt.tell_index(*rounds(10))
    assert opt.predict([0.3]).mean == opt.predict([[0.3]]).mean
    assert opt.predict(0.3).mean.shape == (1,)
    assert opt.predict(np.empty((0, 1))).mean.shape == (0,)


@every_setup
def test_recommend_is_the_arm_with_the_largest_mean(setup):
    opt = build(setup)
    opt.tell_index(*rounds(30))
    p, best = opt.predict(), opt.recommend("all")
    assert best.index == int(p.mean.argmax())
    assert np.array_equal(best.point, ARMS[best.index])
    assert (best.mean, best.lower, best.upper) == tuple(
        float(band[best.index]) for band in (p.mean, p.lower, p.upper)
    )
    assert best.payoffs == int((opt.history.indices == best.index).sum())


@every_setup
def test_recommend_among_the_played_leaves_out_the_others(setup):
    opt = build(setup, tp.Finite([[0.0], [0.5], [1.0]]))
    opt.tell_index([0] * 40 + [2] * 40, [-1.0] * 40 + [-3.0] * 40)
    played = opt.recommend()
    assert played.index == [0, 2][int(opt.predict().mean[[0, 2]].argmax())]
    assert played.payoffs == 40
    opt.tell_index(1, [-9.0] * 40)
    assert opt.recommend().index == opt.recommend("all").index


@every_setup
def test_the_band_is_the_mean_plus_and_minus_beta_times_the_deviation(setup):
    opt, wider = build(setup), build(setup, beta_multiplier=3.0)
    for one in (opt, wider):
        one.tell_index(*rounds(12))
    p = opt.predict()
    np.testing.assert_allclose(p.upper - p.mean, p.beta * p.std, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(p.mean - p.lower, p.beta * p.std, rtol=1e-9, atol=1e-12)
    assert p.beta == opt.beta > 0.0
    assert wider.beta == pytest.approx(3.0 * opt.beta, rel=1e-12)


# ---- interruptions, threads, cost ----------------------------------------------------------------


def test_an_interrupted_tell_keeps_history_and_posterior_together(tmp_path):
    opt = tp.gp_ucb(tp.Finite(LINE), tp.SquaredExponential(0.2), tp.CustomSchedule(1.0))
    opt.tell_index(0, 1.0)
    add = opt.posterior.add

    def interrupted(arm, payoff):
        if opt.posterior.count == 100:
            raise KeyboardInterrupt
        add(arm, payoff)

    opt.posterior.add = interrupted
    with pytest.raises(KeyboardInterrupt):
        opt.tell_index(np.arange(300) % 20, np.linspace(0, 1, 300))
    opt.posterior.add = add
    assert len(opt) == opt.posterior.count == 100
    again = tp.gp_ucb(tp.Finite(LINE), tp.SquaredExponential(0.2), tp.CustomSchedule(1.0))
    again.tell_index(opt.history.indices, opt.history.payoffs)
    assert np.array_equal(again.predict().mean, opt.predict().mean)
    opt.save(tmp_path / "run.npz")
    assert np.array_equal(tp.load(tmp_path / "run.npz").predict().mean, opt.predict().mean)


def test_many_pending_asks_cost_one_column_each():
    """The variance with p pending arms is built on that with p - 1, not from the start."""
    opt = tp.gp_ucb(tp.Finite(LINE), tp.SquaredExponential(0.2), tp.CustomSchedule(1.0))
    calls = []
    covariance = opt.posterior.covariance
    opt.posterior.covariance = lambda arm: calls.append(arm) or covariance(arm)
    asked = [opt.ask_index() for _ in range(50)]
    assert calls == asked[:-1]


def test_labels_and_their_kernel_matrix_are_the_same_problem_as_coordinates():
    kernel = tp.Matern(0.5, 0.4)
    gram = tp.Precomputed(kernel.matrix(LINE, LINE))
    common = {"moment": tp.MomentBound(1.0, 2.0), "norm_bound": 1.0, "seed": 0}
    for make in (
        lambda s, k: tp.tgp_ucb(s, k, **common),
        lambda s, k: tp.ata_gp_ucb(s, k, features=tp.Exact(), **common),
        lambda s, k: tp.ata_gp_ucb(s, k, features=tp.Nystrom(0.9), schedule="authors", **common),
        lambda s, k: tp.moma_gp_ucb(s, k, features=tp.Exact(), **common),
    ):
        pair = make(tp.Finite(LINE), kernel), make(tp.Finite([f"{x[0]}" for x in LINE]), gram)
        rng = np.random.default_rng(4)
        for _ in range(150):
            arms = [opt.ask_index() for opt in pair]
            assert arms[0] == arms[1]
            payoff = float(rng.standard_t(2))
            for opt in pair:
                opt.tell_index(arms[0], payoff)
        np.testing.assert_allclose(pair[0].predict().mean, pair[1].predict().mean, atol=1e-9)


def test_optimizers_in_several_threads_do_not_meet():
    """Compiled loops share no state: four runs at once give what they give alone."""

    def run(seed, out):
        opt = tp.ata_gp_ucb(
            tp.Finite(LINE),
            tp.SquaredExponential(0.2),
            features=tp.Exact(),
            moment=tp.MomentBound(1.0, 2.0),
            norm_bound=1.0,
            seed=seed,
        )
        rng = np.random.default_rng(seed)
        for _ in range(200):
            opt.tell_index(opt.ask_index(), float(rng.normal()))
            time.sleep(0)
        out[seed] = opt.predict().mean

    alone, together = {}, {}
    for seed in range(4):
        run(seed, alone)
    threads = [threading.Thread(target=run, args=(seed, together)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(4):
        assert np.array_equal(alone[seed], together[seed])
