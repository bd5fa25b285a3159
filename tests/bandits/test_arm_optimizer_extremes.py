"""Extreme input that is legal: every policy and feature map answers, finitely and in range."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailproof as tp
from policy_setups import ANY_KERNEL, ARMS, KERNEL, SETUPS, SPACE, build, every_setup, rounds
from tailproof.bandits.posterior.base import REFRESH

pytestmark = pytest.mark.filterwarnings("ignore::tailproof.TheoryWarning")

FOUR = tp.Finite(list("abcd"))
VECTOR = np.array([1.0, 2.0, -1.0, 0.5])


def assert_sound(opt):
    """Everything finite, 0 <= variance <= prior, and all questions answered with an arm."""
    arms = opt.space.inputs if opt.space.labels is None else list(opt.space.labels)
    prior = opt.config.kernel.diagonal(opt.space.inputs)
    for prediction in (opt.predict(), opt.predict(arms)):
        assert math.isfinite(prediction.beta)
        assert prediction.beta >= 0.0
        for name in ("mean", "std", "lower", "upper"):
            assert np.isfinite(getattr(prediction, name)).all(), name
        assert (prediction.std >= 0.0).all()
        assert (prediction.std**2 <= prior + 1e-9 * prior.max()).all()
        assert (prediction.lower <= prediction.mean).all()
        assert (prediction.mean <= prediction.upper).all()
    for _ in range(3):
        assert 0 <= opt.ask_index() < len(opt.space)
    for among in ("all", "played"):
        best = opt.recommend(among)
        assert 0 <= best.index < len(opt.space)
        assert best.lower <= best.mean <= best.upper


def play(opt, payoffs):
    """Ask and tell by turns: what is asked depends on the extremes told before."""
    for payoff in payoffs:
        opt.tell_index(opt.ask_index(), float(payoff))
    return opt


STREAMS = {
    "1e150": [1e150, 1.0, 2.0] * 6,
    "-1e150": [-1e150, 1.0, 2.0] * 6,
    "1e150 and -1e150": [1e150, -1e150] * 9,
    "the largest": [1e280] * 18,
    "the largest, both signs": [1e280, -1e280, 0.0] * 6,
    "the smallest": [5e-324, -5e-324] * 9,
    "constant": [3.0] * 18,
    "all negative": [-3.0] * 18,
    "all zero": [0.0] * 18,
    "one": [1.0],
}


@pytest.mark.parametrize("stream", STREAMS)
@every_setup
def test_any_payoffs(setup, stream):
    assert_sound(play(build(setup), STREAMS[stream]))


@every_setup
def test_before_any_payoff(setup):
    opt = build(setup)
    prediction = opt.predict()
    assert (prediction.mean == 0.0).all()
    np.testing.assert_allclose(prediction.std, 1.0, rtol=1e-12)
    assert math.isfinite(prediction.beta)
    assert 0 <= opt.ask_index() < 9


CHANGES = {
    "alpha 0.01": {"moment": tp.MomentBound(0.01, 4.0)},
    "alpha 1": {"moment": tp.MomentBound(1.0, 4.0)},
    "v 1e-12": {"moment": tp.MomentBound(0.5, 1e-12)},
    "v 1e12": {"moment": tp.MomentBound(0.5, 1e12)},
    "alpha 0.01, v 1e-12": {"moment": tp.MomentBound(0.01, 1e-12)},
    "alpha 0.01, v 1e12": {"moment": tp.MomentBound(0.01, 1e12)},
    "ridge 1e-6": {"ridge": 1e-6},
    "ridge 1e6": {"ridge": 1e6},
    "horizon 1": {"horizon": 1},
    "horizon 10^18": {"horizon": 10**18},
    "beta 1e-9": {"beta_multiplier": 1e-9},
    "beta 1e9": {"beta_multiplier": 1e9},
}


@pytest.mark.parametrize("change", CHANGES)
@every_setup
def test_any_constants(setup, change):
    payoffs = [*rounds(24)[1], 1e150, -1e150, 0.0]
    assert_sound(play(build(setup, **CHANGES[change]), payoffs))


SINGULAR = {
    "rank 1": (FOUR, tp.Precomputed(np.outer(VECTOR, VECTOR))),
    "all ones": (FOUR, tp.Precomputed(np.ones((4, 4)))),
    "zero": (FOUR, tp.Precomputed(np.zeros((4, 4)))),
    "one zero arm": (FOUR, tp.Precomputed(np.diag([1.0, 0.0, 1.0, 1.0]))),
    "linear, origin": (tp.Finite([[0.0, 0.0], [1.0, 0.5], [-1.0, 2.0]]), tp.Linear()),
    "linear, origin alone": (tp.Finite([[0.0]]), tp.Linear()),
    "one arm": (tp.Finite([[0.3]]), tp.Matern(1.5, 0.2)),
    "all arms equal": (tp.Finite(np.full((5, 2), 0.3)), tp.Matern(1.5, 0.2)),
    "small diagonal": (FOUR, tp.Precomputed(1e-9 * np.ones((4, 4)))),
    "large diagonal": (FOUR, tp.Precomputed(1e9 * np.eye(4))),
}


@pytest.mark.parametrize("ridge", [1.0, 1e-6])
@pytest.mark.parametrize("case", SINGULAR)
@pytest.mark.parametrize("setup", ANY_KERNEL)
def test_singular_kernels(setup, case, ridge):
    space, kernel = SINGULAR[case]
    assert_sound(play(build(setup, space, kernel, ridge=ridge), [*rounds(20)[1], 1e150]))


SPACES = {
    "one arm": [[0.3]],
    "duplicates": np.vstack([ARMS, ARMS, ARMS[:3]]),
    "all equal": np.full((5, 1), 0.3),
    "nearly equal": 0.3 + 1e-15 * np.arange(5)[:, None],
    "a denormal apart": [[0.0], [5e-324]],
    "far from the origin": 1e12 + ARMS,
    "three dimensions": np.random.default_rng(0).uniform(0, 0.5, (7, 3)),
    "more than a dense matrix": np.linspace(0, 1, 1100)[:, None],
}


@pytest.mark.parametrize("case", SPACES)
@every_setup
def test_any_arms(setup, case):
    opt = build(setup, tp.Finite(SPACES[case]), tp.SquaredExponential(0.45))
    assert_sound(play(opt, [*rounds(12)[1], 1e150]))


@pytest.mark.parametrize("nu", [None, 0.5, 0.7, 1.5, 2.5, 3.2])
@pytest.mark.parametrize("arms", [[[-1e200], [1e200]], [[-1e308], [1e308]], [[0.0], [1e160]]])
def test_arms_too_far_apart_to_measure_are_unrelated(nu, arms):
    kernel = tp.SquaredExponential(1.0) if nu is None else tp.Matern(nu, 1.0)
    opt = play(build("tgp_ucb theory", tp.Finite(arms), kernel), [1.0, 2.0, 3.0])
    assert_sound(opt)


@every_setup
def test_ten_thousand_payoffs_at_one_arm(setup):
    opt = build(setup, moment=tp.MomentBound(1.0, 4.0))
    payoffs = 1.0 + np.random.default_rng(0).standard_t(2.5, 10_000)
    opt.tell(ARMS[4], payoffs)
    assert_sound(opt)
    assert len(opt) == 10_000
    # Ridge 1 and k = 1: the variance of an arm played N times is at most 1 / (N + 1).
    assert opt.predict().std[4] ** 2 == pytest.approx(1 / 10_001, rel=1e-3)
    # The bias of truncation included, the mean of ten thousand payoffs is near the true one.
    assert opt.predict().mean[4] == pytest.approx(1.0, abs=0.2)


def test_the_mean_of_many_equal_payoffs_is_the_closed_form():
    opt = build("gp_ucb theory", ridge=0.5)
    opt.tell(ARMS[0], [2.0] * (3 * REFRESH + 7))
    N = 3 * REFRESH + 7
    assert opt.predict().mean[0] == pytest.approx(2.0 * N / (N + 0.5), rel=1e-12)
    assert opt.predict().std[0] ** 2 == pytest.approx(0.5 / (N + 0.5), rel=1e-9)
    k = KERNEL.matrix(ARMS, ARMS)[0]
    np.testing.assert_allclose(opt.predict().mean, k * opt.predict().mean[0], rtol=1e-9)


@pytest.mark.parametrize("setup", ["ata_gp_ucb theory qff", "ata_gp_ucb theory exact"])
def test_one_outlier_of_any_size_is_without_influence_once_truncated(setup):
    """Alg. 2 leaves out what exceeds b_t in every direction: the size is then of no account."""
    means = []
    for outlier in (1e100, -1e150, 1e280):
        opt = build(setup)
        opt.tell_index(*rounds(30))
        opt.tell_index(3, outlier)
        means.append(opt.predict().mean)
    assert np.array_equal(means[0], means[1])
    assert np.array_equal(means[0], means[2])


@pytest.mark.parametrize("setup", ["tgp_ucb theory", "gp_ucb theory"])
@pytest.mark.parametrize("ridge", [1e-9, 1e-12, 1e-16, 1e-30, 1e-300, 1e30, 1e280])
def test_a_ridge_out_of_proportion_works_or_is_refused(setup, ridge):
    """Arms that coincide make the kernel matrix singular: the ridge alone keeps it invertible."""
    space = tp.Finite(np.vstack([ARMS, ARMS]))
    try:
        opt = build(setup, space, ridge=ridge)
    except ValueError as error:
        refusal = str(error)
    else:
        refusal = None
        opt.tell_index(*rounds(60, arms=18))
        assert_sound(opt)
    assert refusal is None or "`ridge" in refusal


payoff = st.one_of(
    st.floats(-1e280, 1e280), st.floats(-10, 10), st.sampled_from([0.0, 1e150, -1e150, 1e-300])
)


@settings(derandomize=True, max_examples=120, deadline=None)
@given(
    setup=st.sampled_from(SETUPS),
    told=st.lists(st.tuples(st.integers(0, 8), payoff), min_size=1, max_size=20),
    alpha=st.floats(0.01, 1.0),
    log_v=st.floats(-12, 12),
    log_ridge=st.floats(-6, 6),
    horizon=st.sampled_from([1, 7, 10_000]),
)
def test_any_combination(setup, told, alpha, log_v, log_ridge, horizon):
    opt = build(
        setup,
        SPACE,
        moment=tp.MomentBound(alpha, 10.0**log_v),
        ridge=10.0**log_ridge,
        horizon=horizon,
    )
    for arm, value in told:
        opt.tell_index(arm, value)
    assert_sound(opt)
