"""RCGP-UCB: its formulas written out, state, and what an outlier can do."""

import numpy as np
import pytest

import literal
import tailproof as tp
from policy_setups import use_played_span

ARMS = np.random.default_rng(4).uniform(size=(20, 2))
KERNEL, RIDGE, SCALE, PRIOR = tp.Matern(0.5, 0.4), 0.3, 1.7, 0.6
SCHEDULE = tp.CustomSchedule(2.576)


def policy(scale=SCALE, prior=PRIOR):
    options = {"scale": scale, "prior_mean": prior, "ridge": RIDGE, "seed": 1}
    return tp.rcgp_ucb(tp.Finite(ARMS), KERNEL, SCHEDULE, **options)


def written_out(points, played, payoffs):
    """Mean and variance by the formula, with the derivative of W taken numerically."""

    def weight(e):
        return (1 + (e / SCALE) ** 2) ** -0.5

    e, h = np.array(payoffs) - PRIOR, 1e-6
    slope = (weight(e + h) - weight(e - h)) / (2 * h)
    A = KERNEL.matrix(ARMS[played], ARMS[played]) + RIDGE * np.diag(weight(e) ** -2)
    cross = KERNEL.matrix(ARMS[played], points)
    mean = PRIOR + cross.T @ np.linalg.solve(A, e - 2 * RIDGE * slope / weight(e))
    variance = KERNEL.diagonal(points) - (cross * np.linalg.solve(A, cross)).sum(axis=0)
    return mean, variance


@pytest.mark.parametrize("span", [False, True])
def test_rounds_agree_with_the_formulas(span, monkeypatch):
    if span:
        use_played_span(monkeypatch)
    opt, rng = policy(), np.random.default_rng(2)
    off = rng.uniform(size=(5, 2))
    played, payoffs = [], []
    for t in range(60):
        if t:
            mean, variance = written_out(ARMS, played, payoffs)
            prediction = opt.predict()
            np.testing.assert_allclose(prediction.mean, mean, rtol=0, atol=1e-8)
            np.testing.assert_allclose(prediction.std**2, variance, rtol=0, atol=1e-9)
            mean_off, variance_off = written_out(off, played, payoffs)
            np.testing.assert_allclose(opt.predict(off).mean, mean_off, rtol=0, atol=1e-8)
            np.testing.assert_allclose(opt.predict(off).std ** 2, variance_off, rtol=0, atol=1e-9)
        arm = opt.ask_index()
        if t:
            assert arm == literal.ucb_argmax(mean, variance, 2.576)
        played.append(arm)
        payoffs.append(float(rng.standard_t(1.3)))
        opt.tell_index(arm, payoffs[-1])


def test_a_large_scale_is_plain_ridge_regression():
    robust = policy(scale=1e9, prior=0.0)
    plain = tp.gp_ucb(tp.Finite(ARMS), KERNEL, SCHEDULE, ridge=RIDGE)
    rng = np.random.default_rng(3)
    arms, payoffs = rng.integers(20, size=700), rng.normal(size=700)
    for opt in (robust, plain):
        opt.tell_index(arms, payoffs)
    np.testing.assert_allclose(robust.predict().mean, plain.predict().mean, atol=1e-9)
    np.testing.assert_allclose(robust.predict().std, plain.predict().std, atol=1e-9)


@pytest.mark.parametrize("outlier", [1e3, 1e150, -1e280])
def test_one_outlier_moves_the_mean_no_further_the_larger_it_is(outlier):
    clean, dirty = policy(), policy()
    for opt in (clean, dirty):
        opt.tell_index([0, 1, 2, 3], [1.0, 0.5, 0.2, 0.9])
    dirty.tell_index(0, outlier)
    assert np.abs(dirty.predict().mean - clean.predict().mean).max() < 0.05
    assert not dirty.guarantee.holds


@pytest.mark.parametrize("told", [0, 3, 530])
def test_a_run_continues_bit_for_bit(told, tmp_path):
    opt, rng = policy(), np.random.default_rng(5)
    opt.tell_index(rng.integers(20, size=told), rng.standard_t(2, size=told))
    opt.save(tmp_path / "run.npz")
    again = tp.load(tmp_path / "run.npz")
    for _ in range(5):
        assert again.ask_index() == opt.ask_index()
        for one in (opt, again):
            one.tell_index(3, 0.7)
        assert np.array_equal(again.predict().mean, opt.predict().mean)
        assert np.array_equal(again.predict().std, opt.predict().std)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scale": 0.0}, "`scale > 0` must hold"),
        ({"prior_mean": np.inf}, "`prior_mean` must be finite"),
        ({"schedule": tp.CustomSchedule(1.0, truncation=2.0)}, "must not truncate"),
        ({"space": tp.Box(0.0, 1.0)}, "must be Finite"),
    ],
)
def test_bad_input_is_named(changes, words):
    options = {"space": tp.Finite(ARMS), "kernel": KERNEL, "schedule": SCHEDULE, "scale": 1.0}
    with pytest.raises(ValueError, match=words):
        tp.rcgp_ucb(**options | changes)
