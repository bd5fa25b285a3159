"""What once went wrong, or would hurt most if it did."""

import threading
import time

import numpy as np
import pytest

import tailproof as tp

LINE = np.linspace(0, 1, 20)[:, None]


@pytest.mark.parametrize("period", [2, 4, 8, 7])
def test_medians_do_not_mind_arms_that_come_round_in_turn(period):
    """Groups by round number would hold one arm each, and every median would be zero."""
    labels = [f"arm {i}" for i in range(period)]
    opt = tp.moma_gp_ucb(
        tp.Finite(labels),
        tp.Precomputed(np.eye(period)),
        features=tp.Exact(),
        schedule=tp.CustomSchedule(1.0),
        seed=0,
    )
    rng = np.random.default_rng(0)
    index = np.tile(np.arange(period), 400)
    opt.tell_index(index, 5.0 + index + rng.standard_t(2, size=len(index)))
    np.testing.assert_allclose(opt.predict().mean, 5.0 + np.arange(period), atol=0.6)


@pytest.mark.parametrize("ridge", [1e-3, 1e-9, 1e-13])
@pytest.mark.parametrize("features", [tp.Exact(), tp.QuadratureFourier(40)], ids=str)
def test_no_outlier_slips_through_however_small_the_ridge(features, ridge):
    """Leverages kept by subtraction lose their digits there; the search must not trust them."""
    opt = tp.ata_gp_ucb(
        tp.Finite(LINE),
        tp.SquaredExponential(0.2),
        features=features,
        moment=tp.MomentBound(1.0, 2.0),
        norm_bound=1.0,
        ridge=ridge,
        seed=0,
    )
    rng = np.random.default_rng(1)
    for t in range(500):
        payoff = 1e150 if t % 40 == 39 else float(rng.normal())
        opt.tell_index(int(rng.integers(20)), payoff)
        assert np.abs(opt.predict().mean).max() < 1e100, t


@pytest.mark.parametrize("ridge", [1e-6, 1e-9, 1e-12])
def test_matrices_that_are_singular_to_rounding_never_stop_a_tell(ridge):
    twice = np.vstack([LINE[:5], LINE[:5]])
    nearly = np.ones((10, 10)) + np.diag(np.linspace(0, 1, 10))
    nearly -= 5e-9 * np.outer(*[np.linspace(-1, 1, 10)] * 2)
    for space, kernel in (
        (tp.Finite(twice), tp.Matern(0.5, 0.3)),
        (tp.Finite([f"arm {i}" for i in range(10)]), tp.Precomputed(nearly)),
    ):
        opt = tp.gp_ucb(space, kernel, tp.CustomSchedule(1.0), ridge=ridge)
        rng = np.random.default_rng(2)
        opt.tell_index(rng.integers(10, size=3000), rng.normal(size=3000))
        assert len(opt) == 3000
        assert np.isfinite(opt.predict().mean).all()


def test_the_information_gain_is_made_anew_with_the_rest():
    opt = tp.gp_ucb(tp.Finite(LINE), tp.SquaredExponential(0.2), tp.CustomSchedule(1.0), ridge=0.1)
    index = np.random.default_rng(3).integers(20, size=1024)  # ends on a refresh
    opt.tell_index(index, np.zeros(1024))
    counts = np.bincount(index, minlength=20)
    gram = tp.SquaredExponential(0.2).matrix(LINE, LINE)
    exact = np.linalg.slogdet(np.eye(20) + gram * counts / 0.1)[1]
    assert opt._posterior.log_det == pytest.approx(exact, rel=1e-11)


def test_an_interrupted_tell_keeps_history_and_posterior_together(tmp_path):
    opt = tp.gp_ucb(tp.Finite(LINE), tp.SquaredExponential(0.2), tp.CustomSchedule(1.0))
    opt.tell_index(0, 1.0)
    add = opt._posterior.add_one

    def interrupted(arm, payoff):
        if opt._posterior.count == 100:
            raise KeyboardInterrupt
        add(arm, payoff)

    opt._posterior.add_one = interrupted
    with pytest.raises(KeyboardInterrupt):
        opt.tell_index(np.arange(300) % 20, np.linspace(0, 1, 300))
    opt._posterior.add_one = add
    assert len(opt) == opt._posterior.count == 100
    again = tp.gp_ucb(tp.Finite(LINE), tp.SquaredExponential(0.2), tp.CustomSchedule(1.0))
    again.tell_index(opt.history.indices, opt.history.payoffs)
    assert np.array_equal(again.predict().mean, opt.predict().mean)
    opt.save(tmp_path / "run.npz")
    assert np.array_equal(tp.load(tmp_path / "run.npz").predict().mean, opt.predict().mean)


def test_many_pending_asks_cost_one_column_each():
    """The variance with p pending arms is built on that with p - 1, not from the start."""
    opt = tp.gp_ucb(tp.Finite(LINE), tp.SquaredExponential(0.2), tp.CustomSchedule(1.0))
    calls = []
    covariance = opt._posterior.covariance
    opt._posterior.covariance = lambda arm: calls.append(arm) or covariance(arm)
    asked = [opt.ask_index() for _ in range(50)]
    assert calls == asked[:-1]


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
    from tailproof.bandits.schedules import Setting, Theorem1

    schedule = Theorem1(Setting(tp.MomentBound(1.0, 4.0), 1.0, 1e4, 0.1, 1000))
    opt = tp.tgp_ucb(tp.Finite(LINE), tp.SquaredExponential(0.2), schedule=schedule, ridge=1.0)
    assert "ridge=10000" in str(opt.guarantee)


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
