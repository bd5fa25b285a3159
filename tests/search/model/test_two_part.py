"""Sparse payoffs: how often they differ from the tied value, and how much."""

import numpy as np
import pytest

import tailproof as tp
from searches import single_payoffs
from tailproof.search.model.correlation import KernelLayout
from tailproof.search.model.link import Link
from tailproof.search.model.parameters import ModelConfig, ModelParameters, Observations
from tailproof.search.model.ties import tied_value
from tailproof.search.model.two_part import (
    TwoPartParameters,
    TwoPartPosterior,
    condition,
    fit_model,
)

LAYOUT = KernelLayout(np.arange(2), np.zeros(2, dtype=np.int64))
CONFIG = ModelConfig(LAYOUT)
NOTHING = np.zeros((0, 2))
CORNERS = np.array([[0.1, 0.1], [0.1, 0.9], [0.9, 0.1], [0.9, 0.9]])
SIDES = pytest.mark.parametrize("side", [1.0, -1.0, 0.0], ids=["above", "below", "both"])


def sparse(seed=0, n=800, side=1.0, tie=0.0, points=None, scale=10.0):
    """Payoffs of which about one in ten differs from the tie, by a log-normal amount or its minus.

    On the right of the first axis twice as many differ; amounts double along the second.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2)) if points is None else points[np.arange(n) % len(points)]
    chance, median = 0.06 * (1.0 + X[:, 0]), scale * 2.0 ** X[:, 1]
    signs = rng.choice([-1.0, 1.0, 1.0], n) if side == 0.0 else side
    amounts = signs * median * np.exp(0.7 * rng.standard_normal(n))
    return single_payoffs(X, tie + np.where(rng.random(n) < chance, amounts, 0.0))


def truth(X, scale=10.0):
    return 0.06 * (1.0 + X[:, 0]) * scale * 2.0 ** X[:, 1] * np.exp(0.245)


def posterior_of(told, pending=NOTHING, config=CONFIG):
    return condition(told, pending, fit_model(told, None, config), config)


def with_means(told, at, mean, sem):
    return Observations(
        np.vstack([told.points, np.atleast_2d(at)]),
        np.append(told.payoffs, mean),
        np.append(told.sem, sem),
    )


# ---- when payoffs are sparse ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("places", "payoffs", "tie"),
    [
        (range(20), [0.0] * 19 + [3.0], 0.0),
        ([0, 1] * 10, [5.0] * 19 + [3.0], 5.0),
        ([0] * 20, [0.0] * 19 + [3.0], 0.0),  # other values at the same place
        (range(3), [0.0, 1.0, 2.0], None),
        (range(9), [1.0] * 9, None),
        (range(4), [0.0, 0.0, 1.0, 2.0], None),
        ([0] * 20 + [1, 2, 3], [9.0] * 20 + [8.0, 7.0, 3.0], None),  # often at its optimum
        ([0] * 20 + [1], [9.0] * 20 + [8.0], None),
        ([0] * 20 + [1, 2, 3], [9.0] * 19 + [9.0 - 2e-15, 8.0, 7.0, 3.0], None),  # rounding
    ],
)
def test_payoffs_are_sparse_if_most_are_equal_at_several_places_or_beside_others(
    places, payoffs, tie
):
    points = np.array(list(places), dtype=float)[:, None]
    assert tied_value(single_payoffs(points, np.array(payoffs))) == tie


def test_payoffs_over_ten_decades_are_not_tied():
    x = np.linspace(0.0, 1.0, 60)
    assert tied_value(single_payoffs(x[:, None], -(10.0 ** (20.0 * x - 10.0)))) is None


def test_means_with_standard_errors_are_no_ties():
    points = np.linspace(0.0, 1.0, 10)[:, None]
    told = Observations(points, np.array([0.0] * 9 + [1.0]), np.full(10, 0.1))
    assert tied_value(told) is None


def test_truncated_payoffs_and_others_keep_the_usual_model():
    told = sparse(n=100)
    assert isinstance(fit_model(told, None, CONFIG), TwoPartParameters)
    assert isinstance(fit_model(told, None, CONFIG.direct()), ModelParameters)


# ---- the posterior -------------------------------------------------------------------------------


def test_estimates_are_near_the_truth_and_intervals_contain_it():
    # 6 sets of 2,000 payoffs in four places: 33 to 57 others each, so the sample mean of a place
    # has a relative error of 0.17 to 0.22; estimates that are equal everywhere have one of 0.35.
    # With a coverage of 90 %, fewer than 18 of 24 contain the truth in 1 % of such tests.
    ratios, covered = [], 0
    for seed in range(6):
        posterior = posterior_of(sparse(seed, 2000, points=CORNERS))
        mean, lower, upper = posterior.interval(CORNERS, 0.9)
        ratios.append(np.log(mean / truth(CORNERS)))
        covered += int(((lower <= truth(CORNERS)) & (truth(CORNERS) <= upper)).sum())
    assert np.abs(np.mean(ratios)) < 0.1
    assert np.std(ratios) < 0.25
    assert covered >= 18


@SIDES
def test_estimates_on_either_side_of_the_tie(side):
    posterior = posterior_of(sparse(1, 4000, side, tie=3.0, points=CORNERS))
    mean, lower, upper = posterior.interval(CORNERS, 0.9)
    effect = (side or 1.0 / 3.0) * truth(CORNERS)
    assert posterior.link == Link(3.0, side)
    assert (lower < mean).all()
    assert (mean < upper).all()
    assert np.abs((mean - 3.0) / effect - 1.0).max() < (0.5 if side else 2.0)
    if side:
        assert (np.sign(lower - 3.0) == side).all()
        assert (np.sign(upper - 3.0) == side).all()


def test_interval_is_wider_for_a_higher_level_and_shorter_for_more_payoffs():
    few, many = (posterior_of(sparse(2, n, points=CORNERS)) for n in (400, 8000))

    def width(posterior, level):
        _, lower, upper = posterior.interval(CORNERS, level)
        return np.log(upper / lower)

    assert (width(few, 0.9) > width(few, 0.5)).all()
    assert (width(few, 0.9) > 2.0 * width(many, 0.9)).all()


@SIDES
@pytest.mark.parametrize("kappa", [0.0, 2.0])
def test_ucb_gradient(side, kappa):
    told = sparse(3, 150, side)
    posterior = posterior_of(told, np.array([[0.3, 0.3]]))
    h = 1e-6
    points = np.random.default_rng(4).random((4, 2))
    values, gradients = posterior.ucb_gradient(points, kappa)
    np.testing.assert_allclose(values, posterior.ucb(points, kappa), rtol=1e-9, atol=1e-12)
    for x, gradient in zip(points, gradients, strict=True):
        for i, move in enumerate(np.eye(2) * h):
            up, down = posterior.ucb(np.array([x + move, x - move]), kappa)
            slope = (up - down) / (2.0 * h)
            assert gradient[i] == pytest.approx(slope, rel=1e-3, abs=1e-4)


@SIDES
def test_draws_have_the_mean_and_deviation_that_is_predicted(side):
    posterior = posterior_of(sparse(5, 2000, side, points=CORNERS))
    draws = posterior.sample_means(CORNERS, 4000, np.random.default_rng(0))
    mean, deviation = posterior.predict(CORNERS)
    low, middle, high = np.quantile(draws, [0.159, 0.5, 0.841], axis=0)
    expected = [posterior.payoff(mean + k * deviation) for k in (-1.0, 0.0, 1.0)]
    width = expected[2] - expected[0]
    assert (np.abs(middle - expected[1]) < 0.15 * width).all()
    # Draws of the amounts have the safety factor of intervals.
    assert ((high - low) / width > 0.9).all()
    assert ((high - low) / width < 1.4).all()


def test_pending_trials_lower_the_upper_bound_there_and_leave_the_mean():
    told, at = sparse(6, 200), np.array([[0.95, 0.95]])
    without, waiting = posterior_of(told), posterior_of(told, at)
    assert waiting.predict(at)[0] == pytest.approx(without.predict(at)[0], abs=1e-6)
    assert waiting.predict(at)[1][0] < without.predict(at)[1][0]
    assert waiting.ucb(at, 2.0)[0] < without.ucb(at, 2.0)[0]


@pytest.mark.parametrize(("a", "c"), [(1e-6, 0.0), (3.7, -120.0), (1e6, 1e6)])
@SIDES
def test_estimates_are_the_same_in_all_units(side, a, c):
    told = sparse(7, 300, side)
    usual = np.array(posterior_of(told).interval(CORNERS, 0.9))
    moved = np.array(
        posterior_of(single_payoffs(told.points, a * told.payoffs + c)).interval(CORNERS, 0.9)
    )
    np.testing.assert_allclose((moved - c) / a, usual, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n", [60, 400])
def test_one_huge_payoff_moves_means_by_less_than_half_the_interval(n):
    told = sparse(8, n)
    payoffs = told.payoffs.copy()
    payoffs[int(np.argmax(payoffs))] = 1e12
    usual = posterior_of(told).interval(CORNERS, 0.9)
    after = posterior_of(single_payoffs(told.points, payoffs)).interval(CORNERS, 0.9)
    assert (np.abs(after[0] - usual[0]) < 0.5 * (after[2] - after[1])).all()
    assert (after[0] < 5.0 * usual[0]).all()


def test_equal_amounts_are_a_probability():
    told = sparse(9, 2000, points=CORNERS)
    posterior = posterior_of(single_payoffs(told.points, (told.payoffs > 0.0).astype(float)))
    mean, lower, upper = posterior.interval(CORNERS, 0.9)
    assert mean == pytest.approx(0.06 * (1.0 + CORNERS[:, 0]), abs=0.03)
    assert (lower > 0.0).all()
    assert (upper < 0.3).all()


@pytest.mark.parametrize("others", [1, 2, 3])
def test_few_other_payoffs_are_enough(others):
    payoffs = np.zeros(30)
    payoffs[:others] = [5.0, 50.0, 7.0][:others]
    points = np.random.default_rng(0).random((30, 2))
    posterior = posterior_of(single_payoffs(points, payoffs))
    values = np.array(posterior.interval(points, 0.9))
    assert np.isfinite(values).all()
    assert (values > 0.0).all()
    assert posterior.clipped.shape == (30,)
    assert not posterior.clipped[others:].any()


def test_a_payoff_on_the_other_side_after_the_fit_counts_as_a_small_amount():
    told = sparse(10, 300)
    model = fit_model(told, None, CONFIG)
    points, payoffs = np.vstack([told.points, [[0.5, 0.5]]]), np.append(told.payoffs, -2.0)
    posterior = condition(single_payoffs(points, payoffs), NOTHING, model, CONFIG)
    usual = condition(told, NOTHING, model, CONFIG)
    assert isinstance(posterior, TwoPartPosterior)
    assert int(posterior.differs.sum()) == int(usual.differs.sum()) + 1
    assert np.isfinite(posterior.interval(CORNERS, 0.9)).all()
    both = fit_model(single_payoffs(points, payoffs), model, CONFIG)
    assert both.link.side == 0.0


# ---- means with standard errors ------------------------------------------------------------------


@SIDES
def test_a_precise_mean_moves_the_estimate_and_a_vague_one_does_not(side):
    told, at = sparse(11, 800, side, points=CORNERS), CORNERS[:1]
    usual = posterior_of(told).interval(at, 0.9)[0][0]
    goal = 1.5 * usual
    precise = posterior_of(with_means(told, at, goal, 0.01 * abs(usual))).interval(at, 0.9)
    vague = posterior_of(with_means(told, at, goal, 100.0 * abs(usual))).interval(at, 0.9)
    assert abs(precise[0][0] - goal) < 0.3 * abs(goal - usual)
    assert abs(vague[0][0] - usual) < 0.1 * abs(goal - usual)


@pytest.mark.parametrize(("mean", "sem"), [(0.0, 0.0), (0.0, 1.0), (-3.0, 2.0), (1e6, 1e5)])
def test_a_mean_at_or_beyond_the_tie_is_heard(mean, sem):
    told, at = sparse(12, 400), CORNERS[:1]
    usual = posterior_of(told).interval(at, 0.9)[0][0]
    values = np.array(posterior_of(with_means(told, at, mean, sem)).interval(at, 0.9))
    assert np.isfinite(values).all()
    assert (values > 0.0).all()
    assert (values[0][0] < usual) == (mean < usual)


# ---- the optimizer -------------------------------------------------------------------------------


def buy(params, number):
    rng = np.random.default_rng([3, number])
    chance = {"a": 0.05, "b": 0.1, "c": 0.4}[params["variant"]]
    return float(rng.exponential(20.0)) if rng.random() < chance else 0.0


def test_a_search_over_variants_finds_the_best_and_goes_on_after_loading(tmp_path):
    opt = tp.Optimizer(tp.Space(variant=tp.Choice("a", "b", "c")), seed=1)
    for _ in range(60):
        trial = opt.ask()
        opt.tell(trial, buy(trial.params, trial.number))
    opt.add({"variant": "a"}, [0.0, 0.0, 3.0])
    found = opt.recommend()
    assert found.params == {"variant": "c"}
    assert 0.0 < found.lower < found.mean < found.upper
    opt.save(tmp_path / "run.npz")
    again = tp.load(tmp_path / "run.npz")
    assert again.recommend() == found
    assert again.ask() == opt.ask()
