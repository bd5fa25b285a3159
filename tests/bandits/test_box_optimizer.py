"""Policies on a box: the literal transcription on a fine grid, ask and tell, state, bad input."""

import math
from functools import partial

import numpy as np
import pytest

import literal
import tailproof as tp

ROUNDS = 50
ALPHA, V, B, RIDGE, DELTA, T = 0.7, 3.0, 1.5, 0.5, 0.1, 300
MOMENTS = {"alpha": ALPHA, "v": V}
THEORY = {"B": B, "ridge": RIDGE, "delta": DELTA, **MOMENTS}
ROUGH = tp.Matern(0.5, 0.4)
KINDS = ["gp", "tgp", "qff", "qff-paper", "nystrom"]
pytestmark = pytest.mark.filterwarnings("ignore::tailproof.TheoryWarning")


def box(d):
    return tp.Box([-1.0] * d, [1.0] * d)


def policy(kind, d=1, seed=7, **changes):
    space = box(d)
    if kind == "gp":
        return tp.gp_ucb(space, ROUGH, tp.SubGaussian(0.7, B, RIDGE, DELTA), ridge=RIDGE, seed=seed)
    options = {"moment": tp.MomentBound(ALPHA, V), "norm_bound": B, "horizon": T}
    options |= {"failure_probability": DELTA, "ridge": RIDGE, "seed": seed} | changes
    if kind == "tgp":
        return tp.tgp_ucb(space, ROUGH, **options)
    if kind == "nystrom":
        features = tp.Nystrom(0.9, oversampling=3.0)
        return tp.ata_gp_ucb(space, ROUGH, features=features, **options)
    features = tp.QuadratureFourier(9, folded=kind == "qff")
    return tp.ata_gp_ucb(space, tp.SquaredExponential(0.8), features=features, **options)


def fine_grid(d):
    axis = np.linspace(-1.0, 1.0, 201 if d == 1 else 21)
    return np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)


def transcription(kind, arms):
    """The literal policy on finitely many arms, and its beta after t payoffs."""
    K = ROUGH.matrix(arms, arms)
    if kind == "gp":
        reference = literal.LiteralRidge(K=K, ridge=RIDGE, truncation=lambda t: math.inf)

        def beta(t):
            inner = reference.log_det + 2 * math.log(1 / DELTA)
            return B + 0.7 / math.sqrt(RIDGE) * math.sqrt(inner)
    elif kind == "tgp":
        truncation = partial(literal.theorem1_truncation, **MOMENTS)
        reference = literal.LiteralRidge(K=K, ridge=RIDGE, truncation=truncation)

        def beta(t):
            return literal.theorem1_beta(t, reference.log_det, **THEORY)
    elif kind == "nystrom":
        reference = literal.LiteralNystrom(
            K=K,
            ridge=RIDGE,
            oversampling=3.0,
            truncation=partial(literal.theorem4_truncation, delta=DELTA, T=T, **MOMENTS),
            variance="ii",
            once_per_arm=False,
            leverage="variance",
            cutoff=1e-10,
        )

        def beta(t):
            return literal.theorem4_beta(t, reference.directions, T=T, eps=0.9, **THEORY)
    else:
        kernel = tp.SquaredExponential(0.8)
        Phi = tp.QuadratureFourier(9, folded=kind == "qff").features(kernel, arms)
        reference = literal.LiteralFeatures(
            Phi=Phi,
            k_diag=kernel.diagonal(arms),
            ridge=RIDGE,
            truncation=partial(literal.theorem3_truncation, delta=DELTA, T=T, **MOMENTS),
            variance="i",
        )

        def beta(t):
            return literal.theorem3_beta(t, reference.directions, T=T, **THEORY)

    return reference, beta


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_policies_agree_with_the_literal_algorithms_on_a_fine_grid(kind, d):
    opt, grid, rng = policy(kind, d), fine_grid(d), np.random.default_rng(1)
    asked, payoffs, predictions, errors = [], [], [], []
    for _ in range(ROUNDS):
        predictions.append(opt.predict(grid))
        # Every fifth payoff is told at a point of the grid, so that points repeat.
        x = opt.ask() if len(asked) % 5 else grid[3]
        errors.append(opt.maximization_error)
        asked.append(x)
        payoffs.append(float(np.sin(3 * x[0]) + 0.5 * rng.standard_t(1.5)))
        opt.tell(x, payoffs[-1])
    history = opt.history
    sites = history.indices
    points = history.points[[sites.tolist().index(site) for site in range(sites.max() + 1)]]
    arms, n = np.concatenate([points, grid]), len(points)
    reference, beta_after = transcription(kind, arms)
    draws, told = np.random.default_rng(7), 0
    np.testing.assert_array_equal(history.points, np.array(asked))
    for t in range(ROUNDS):
        mean, variance, beta = reference.mean, np.maximum(reference.variance, 0.0), beta_after(t)
        scale = np.abs(mean).max() + np.sqrt(variance).max()
        assert predictions[t].beta == pytest.approx(beta, rel=1e-9), t
        np.testing.assert_allclose(predictions[t].mean, mean[n:], rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(
            predictions[t].std ** 2, variance[n:], rtol=0, atol=1e-9 * variance.max()
        )
        if t % 5:  # asked: no arm of the grid is better, and the error's bound is one
            ucb = mean + beta * np.sqrt(variance)
            assert ucb[sites[t]] >= ucb.max() - 1e-8 * (1 + abs(ucb.max())), t
            assert 0.0 <= errors[t] < 10.0 * beta
        told = max(told, sites[t] + 1)
        if kind == "nystrom":
            uniforms = np.ones(len(arms))
            uniforms[:told] = draws.random(told)
            reference.tell(int(sites[t]), payoffs[t], uniforms)
            dictionary = reference.dictionary
        else:
            reference.tell(int(sites[t]), payoffs[t])
    if kind == "nystrom":
        assert 0 < len(dictionary) < n  # some points are left out
        np.testing.assert_array_equal(opt.posterior.dictionary, dictionary)


def test_the_bound_on_the_maximization_error_holds_on_a_much_finer_grid():
    opt, rng = policy("gp"), np.random.default_rng(3)
    grid = np.linspace(-1, 1, 40_001)[:, None]
    for _ in range(15):
        best = opt.predict(grid).upper.max()
        x = opt.ask()
        played = opt.predict(x[None]).upper[0]
        assert best <= played + opt.maximization_error
        opt.tell(x, float(rng.standard_t(3)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("told", [0, 1, 30])
def test_a_run_on_a_box_continues_bit_for_bit(kind, told, tmp_path):
    opt, rng = policy(kind, d=2), np.random.default_rng(2)
    for _ in range(told):
        opt.tell(opt.ask(), float(rng.standard_t(2)))
    opt.ask()
    opt.save(tmp_path / "run.npz")
    again = tp.load(tmp_path / "run.npz")
    assert repr(again) == repr(opt)
    assert again.guarantee == opt.guarantee
    for _ in range(10):
        x, payoff = opt.ask(), float(rng.standard_t(2))
        assert np.array_equal(again.ask(), x)
        assert np.array_equal(again.pending, opt.pending)
        for one in (opt, again):
            one.tell(x, payoff)
        assert np.array_equal(again.predict().mean, opt.predict().mean)
        assert np.array_equal(again.predict().std, opt.predict().std)
    assert np.array_equal(again.history.points, opt.history.points)


@pytest.mark.parametrize("kind", KINDS)
def test_pending_points_reduce_the_variance_as_if_told_and_spread_a_batch(kind):
    opt = policy(kind)
    opt.tell([[0.1], [0.4]], [1.0, -0.5])
    batch = np.array([opt.ask() for _ in range(6)])
    assert len(np.unique(batch.round(3))) > 1
    opt.withdraw(batch[0])
    assert len(opt.pending) == 5
    for x in batch[1:]:
        opt.tell(x, 0.0)
    assert len(opt.pending) == 0
    assert len(opt) == 7


@pytest.mark.parametrize("kind", ["tgp", "qff", "nystrom"])
def test_the_authors_schedule_begins_at_a_random_point(kind):
    first = [policy(kind, seed=seed, schedule="authors").ask()[0] for seed in (0, 0, 1)]
    assert first[0] == first[1] != first[2]


def test_recommendations_are_told_points_or_any():
    opt = policy("gp", d=2)
    with pytest.raises(ValueError, match="at least one payoff"):
        opt.recommend()
    opt.tell([[0.0, 0.0], [0.5, 0.5], [0.5, 0.5]], [1.0, 3.0, 3.0])
    best = opt.recommend()
    assert best.point.tolist() == [0.5, 0.5]
    assert best.payoffs == 2
    assert best.lower < best.mean < best.upper
    assert opt.recommend(among="all").mean >= best.mean


@pytest.mark.parametrize("kind", ["gp", "tgp", "qff"])
def test_theory_on_a_box_has_its_guarantee_and_says_what_the_search_costs(kind):
    opt = policy(kind) if kind != "qff" else wide_quadrature()
    text = str(opt.guarantee)
    assert opt.guarantee.holds, text
    assert "at all points of the box" in text
    assert "`maximization_error`" in text


def wide_quadrature():
    options = {"moment": tp.MomentBound(1.0, 2.0), "norm_bound": 1.0, "horizon": 100}
    return tp.ata_gp_ucb(
        tp.Box(0.0, 1.0),
        tp.SquaredExponential(0.5),
        features=tp.QuadratureFourier(60),
        **options,
    )


def test_extreme_payoffs_and_boxes_far_from_the_origin_work():
    opt = tp.tgp_ucb(
        tp.Box(1e6, 1e6 + 1e-3),
        tp.SquaredExponential(1e-4),
        moment=tp.MomentBound(1.0, 2.0),
        norm_bound=1.0,
    )
    for payoff in (1e150, 0.0, 0.0, -1e150):
        opt.tell(opt.ask(), payoff)
    assert np.isfinite(opt.predict().mean).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tp.Box([0.0, 1.0], [1.0]), "equally many"),
        (lambda: tp.Box(1.0, 1.0), "`lower < upper` must hold"),
        (lambda: tp.Box([], []), "at least one number"),
        (lambda: tp.Box(0.0, math.inf), "`upper` must be finite"),
        (lambda: policy("gp").tell([2.0], 1.0), "`x` must be in Box"),
        (lambda: policy("gp").tell([0.1, 0.2], 1.0), "1 coordinate"),
        (lambda: policy("gp").tell([[0.1], [0.2]], [1.0]), "one payoff a point"),
        (lambda: policy("gp").tell([0.1], math.nan), "`y` must be finite"),
        (lambda: policy("gp").withdraw([0.1]), "asked and not told"),
        (lambda: tp.gp_ucb(box(1), tp.Precomputed(np.eye(2)), tp.CustomSchedule(1.0)), "`kernel`"),
        (
            lambda: tp.ata_gp_ucb(
                box(1), ROUGH, features=tp.Exact(), schedule=tp.CustomSchedule(1.0)
            ),
            "`features` must be Nystrom",
        ),
        (
            lambda: tp.moma_gp_ucb(
                box(1), ROUGH, features=tp.Nystrom(), schedule=tp.CustomSchedule(1.0)
            ),
            "must be Finite",
        ),
    ],
)
def test_bad_input_is_refused_with_its_name(call, words):
    with pytest.raises(ValueError, match=words):
        call()
