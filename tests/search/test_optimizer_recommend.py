"""Recommendations: single payoffs hardly move them, and their intervals."""

import math

import numpy as np
import pytest

import tailproof as tp
from searches import LINE, OPTIONS, line, run

# ---- single payoffs -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("huge", [1e12, 1e100])
def test_one_huge_payoff_hardly_moves_the_recommendation(seed, huge):
    rng = np.random.default_rng(seed)
    opt = tp.Optimizer(LINE, seed=seed)
    x = rng.random(60)
    values = np.sin(5.0 * x) + 0.3 * rng.standard_t(1.5, 60)
    for place, value in zip(x, values, strict=True):
        opt.add({"x": float(place)}, value)
    before = opt.recommend()
    hit = tp.Optimizer(LINE, seed=seed)
    for k, (place, value) in enumerate(zip(x, values, strict=True)):
        hit.add({"x": float(place)}, huge if k == 40 else value)
    after = hit.recommend()
    assert abs(after.mean - before.mean) < 0.5 * (before.upper - before.lower)
    assert after.best_observed_value == huge
    assert hit.clipped[40]


def test_the_best_observed_configuration_is_not_recommended_for_one_payoff():
    # "poor" has the best single payoff and, but for that one, the worst.
    opt = tp.Optimizer(tp.Configurations([{"c": "good"}, {"c": "fair"}, {"c": "poor"}]))
    rng = np.random.default_rng(0)
    means = {"good": 1.0, "fair": 0.5, "poor": 0.0}
    for _ in range(15):
        for name, mean in means.items():
            opt.add({"c": name}, mean + 0.3 * rng.standard_normal())
    opt.add({"c": "poor"}, 500.0)
    found = opt.recommend()
    assert found.params == {"c": "good"}
    assert found.best_observed_params == {"c": "poor"}
    assert found.best_observed_value == 500.0
    assert found.payoffs == 15
    assert found.total_payoffs == 46
    assert found.clipped >= 1
    assert found.lower < found.mean < found.upper
    assert "c='good': mean" in str(found)


def test_the_learnt_noise_law_finds_better_means_under_pareto_noise():
    # Symmetric Pareto(1.5) noise has no variance. Were the two alike, the robust one would win so
    # many of the pairs that are no ties with probability 0.03 at most (sign test).
    def mean(x):
        return math.exp(-(((x - 0.7) / 0.15) ** 2) / 2.0)

    wins, losses = 0, 0
    for seed in range(60):
        found = []
        for options in (OPTIONS["learnt"], OPTIONS["gaussian"]):
            rng = np.random.default_rng(seed)  # the same noise for both
            opt = tp.Optimizer(LINE, seed=seed, options=options)
            for x in (rng.random() + 0.6180339887 * np.arange(48)) % 1.0:  # evenly spread
                noise = rng.choice([-1.0, 1.0]) * (1.0 + rng.pareto(1.5))
                opt.add({"x": float(x)}, mean(x) + 0.3 * noise)
            found.append(mean(opt.recommend().params["x"]))
        wins += found[0] > found[1]
        losses += found[0] < found[1]
    assert wins - losses > 2.0 * math.sqrt(wins + losses)


def test_it_converges_without_noise():
    opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1), y=tp.Float(0, 1)), seed=0)
    run(opt, 40, lambda p, i: -((p["x"] - 0.3) ** 2) - (p["y"] - 0.8) ** 2)
    found = opt.recommend().params
    assert found["x"] == pytest.approx(0.3, abs=0.1)
    assert found["y"] == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize("name", ["learnt", "gaussian"])
def test_payoffs_without_noise_are_predicted_where_they_were_seen(name):
    opt = tp.Optimizer(LINE, seed=0, options=OPTIONS[name])
    asked = run(opt, 60, lambda p, i: math.sin(6.0 * p["x"]))
    error = opt.predict(asked).mean - np.sin([6.0 * params["x"] for params in asked])
    assert float(np.abs(error).max()) < 0.05


# ---- levels, words ----------------------------------------------------------------


def test_wider_levels_give_wider_intervals_around_the_same_mean():
    opt = line(tp.Optimizer(LINE), np.random.default_rng(0).standard_normal(20))
    found = [opt.recommend(level=level) for level in (1e-6, 0.5, 0.9, 0.999999)]
    widths = [best.upper - best.lower for best in found]
    assert widths == sorted(widths)
    # What truncation may hide of the mean is doubted at every level.
    assert widths[0] < 0.5 * widths[2]
    assert len({best.mean for best in found}) == 1
    estimate = opt.predict([found[2].params], level=0.9)
    assert (estimate.lower[0], estimate.upper[0]) == (found[2].lower, found[2].upper)
    assert estimate.level == 0.9
    assert opt.recommend().level == 0.9


def test_intervals_hold_the_mean_about_as_often_as_they_say():
    # At points drawn evenly, Gaussian noise: 12 runs of 20 points; 90 % intervals should hold about
    # 216 of 240 means, points of a run together. Fewer than 75 % would be 5 standard errors off.
    held = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        opt = tp.Optimizer(LINE)
        for x in rng.random(40):
            opt.add({"x": float(x)}, math.sin(5.0 * x) + 0.5 * rng.standard_normal())
        places = np.linspace(0.05, 0.95, 20)
        estimate = opt.predict([{"x": float(x)} for x in places])
        truth = np.sin(5.0 * places)
        held.append(np.mean((estimate.lower <= truth) & (truth <= estimate.upper)))
    assert np.mean(held) > 0.75


def test_an_interval_is_finite_at_every_level():
    opt = line(tp.Optimizer(LINE), np.random.default_rng(0).standard_normal(20))
    surest = opt.recommend(level=math.nextafter(1.0, 0.0))
    assert math.isfinite(surest.lower)
    assert math.isfinite(surest.upper)


def test_of_equally_good_ones_a_configuration_that_was_measured_is_recommended():
    opt = tp.Optimizer(tp.Configurations([{"c": k} for k in range(5)]))
    opt.add({"c": 3}, 1.0)
    assert opt.recommend().params == {"c": 3}
    opt = tp.Optimizer(LINE)
    opt.add({"x": 0.637}, 1.0)
    found = opt.recommend()
    assert found.params["x"] == pytest.approx(0.637, abs=1e-12)
    assert found.payoffs == 1


def test_tails_in_words():
    rng = np.random.default_rng(0)
    few = line(tp.Optimizer(LINE), np.zeros(5)).recommend().tails
    assert "fewer than" in few
    assert line(tp.Optimizer(LINE), np.ones(25)).recommend().tails == "no noise seen"
    heavy = line(tp.Optimizer(LINE), rng.standard_cauchy(150)).recommend().tails
    light = line(tp.Optimizer(LINE), rng.standard_normal(150)).recommend().tails
    assert "heavy" in heavy
    assert light.startswith("light")


@pytest.mark.parametrize("law", ["none", "gaussian", "heavy"])
@pytest.mark.parametrize("n", [12, 60])
def test_one_payoff_of_1e12_moves_the_recommended_value_by_less_than_half_its_interval(law, n):
    rng = np.random.default_rng(3)
    draw = {"none": lambda: 0.0, "gaussian": lambda: 0.1 * rng.standard_normal()}
    draw["heavy"] = lambda: 0.3 * rng.standard_t(1.5)
    points = rng.random(n)
    payoffs = [math.sin(5.0 * x) + draw[law]() for x in points]
    found = []
    for value in (payoffs[n // 2], 1e12):
        payoffs[n // 2] = value
        opt = tp.Optimizer(LINE)
        for x, y in zip(points, payoffs, strict=True):
            opt.add({"x": float(x)}, y)
        found.append(opt.recommend())
    assert abs(found[1].mean - found[0].mean) < 0.5 * (found[1].upper - found[1].lower)
    assert abs(found[1].mean - 1.0) < 1.0


@pytest.mark.parametrize("n", [8, 12, 20])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_nor_does_it_in_more_dimensions_however_few_the_payoffs(dimension, n):
    space = tp.Space(**{f"x{k}": tp.Float(0, 1) for k in range(dimension)})
    for seed in range(2):
        rng = np.random.default_rng([seed, n])

        def measure(params, i, rng=rng):
            return sum(math.sin(5.0 * x) for x in params.values()) + 0.2 * rng.standard_normal()

        opt, other = tp.Optimizer(space, seed=seed), tp.Optimizer(space, seed=seed)
        run(opt, n, measure)
        for done in opt.trials:
            wild = done.trial.number == (n - 1 if seed % 2 else n // 2)
            other.add(done.trial.params, 1e12 if wild else done.value)
        usual, found = opt.recommend(), other.recommend()
        assert abs(found.mean - usual.mean) < 0.5 * (found.upper - found.lower)
        assert abs(found.mean - usual.mean) < 10.0  # and the interval does not owe it to its width


# ---- the verdict on the noise -------------------------------------------------------------------


def wide_cost(params, i):
    """Never below 20, and 17,000 at the worst setting."""
    return 20.0 + 17_000.0 * math.exp(-6.0 * params["x"])


NOISE_FREE = {
    "wide cost": wide_cost,
    "sine": lambda params, i: math.sin(6.0 * params["x"]),
    "six decades": lambda params, i: 10.0 ** (6.0 * params["x"]),
    "a step": lambda params, i: float(params["x"] > 0.4) + 0.1 * params["x"],
    "a cliff": lambda params, i: 1e5 if params["x"] > 0.8 else params["x"],
}


@pytest.mark.parametrize("case", NOISE_FREE)
@pytest.mark.parametrize("minimize", [False, True])
def test_effects_of_parameters_are_not_called_heavy_tails(case, minimize):
    opt = tp.Optimizer(LINE, seed=0, minimize=minimize)
    for _ in range(3):
        run(opt, 20, NOISE_FREE[case])
        assert not opt.recommend().tails.startswith("heavy")


@pytest.mark.parametrize("case", ["wide cost", "sine"])
def test_a_smooth_objective_without_noise_is_recognized(case):
    opt = tp.Optimizer(LINE, seed=0, minimize=True)
    run(opt, 40, NOISE_FREE[case])
    found = opt.recommend()
    assert found.tails == "no noise seen"
    assert found.clipped <= 4


def test_heavy_tailed_noise_is_called_so_however_strong_the_effects():
    rng = np.random.default_rng(0)
    opt = tp.Optimizer(LINE, seed=0, minimize=True)
    run(opt, 120, lambda p, i: wide_cost(p, i) * (1.0 + rng.pareto(1.2)))
    assert "heavy" in opt.recommend().tails


def test_means_with_standard_errors_are_no_single_payoffs():
    opt = tp.Optimizer(LINE)
    rng = np.random.default_rng(0)
    for x in rng.random(40):
        opt.add({"x": float(x)}, mean=math.sin(5.0 * x), sem=0.1, n=10)
    assert "fewer than" in opt.recommend().tails


# ---- signs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 0.5, 1.6])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("minimize", [False, True])
def test_positive_payoffs_have_positive_means_and_intervals(noise, sign, minimize):
    rng = np.random.default_rng(1)
    opt = tp.Optimizer(LINE, minimize=minimize)

    def measure(params, i):
        return sign * math.exp(4.0 * params["x"] + noise * rng.standard_normal())

    for count in (2, 3, 7, 18):
        run(opt, count, measure)
        everywhere = opt.predict([{"x": x} for x in np.linspace(0, 1, 21)], level=0.99)
        for values in (everywhere.mean, everywhere.lower, everywhere.upper):
            assert (sign * values > 0.0).all()
        assert (everywhere.lower <= everywhere.mean).all()
        assert (everywhere.mean <= everywhere.upper).all()


@pytest.mark.parametrize("law", ["none", "gaussian", "heavy", "multiplicative"])
@pytest.mark.parametrize("dimension", [1, 3])
def test_one_payoff_of_1e12_among_120_moves_the_recommended_value_little(law, dimension):
    rng = np.random.default_rng([5, dimension])
    space = tp.Space(**{f"x{k}": tp.Float(0, 1) for k in range(dimension)})
    points = rng.random((120, dimension))
    mean = np.sin(5.0 * points).sum(axis=1)
    noise = {
        "none": np.zeros(120),
        "gaussian": 0.3 * rng.standard_normal(120),
        "heavy": 0.3 * rng.standard_t(1.5, 120),
    }
    payoffs = mean + noise[law] if law in noise else np.exp(mean + 0.5 * rng.standard_normal(120))
    found = []
    for hit in (None, 0, 60, 119):
        opt = tp.Optimizer(space)
        for k, (x, y) in enumerate(zip(points, payoffs, strict=True)):
            opt.add({f"x{i}": float(u) for i, u in enumerate(x)}, 1e12 if k == hit else y)
        found.append(opt.recommend())
    usual = found[0]
    for after in found[1:]:
        assert abs(after.mean - usual.mean) < 0.5 * (after.upper - after.lower)
        assert abs(after.mean - usual.mean) < 3.0 * max(usual.upper - usual.lower, 0.5)


# ---- sparse payoffs -----------------------------------------------------------------------------


def test_means_of_mostly_zero_payoffs_are_those_of_the_variants():
    # 95 % zeros, else exponential with mean 20 or 40; 2,000 payoffs a variant: the standard errors
    # of the means 1 and 2 are 0.14 and 0.28. A factor of 1.5 is at least 2.3 of them away.
    rng = np.random.default_rng(0)
    opt = tp.Optimizer(tp.Space(variant=tp.Choice("low", "high")))
    means = {"low": 20.0, "high": 40.0}
    for _ in range(2_000):
        for variant, mean in means.items():
            buys = rng.random() < 0.05
            opt.add({"variant": variant}, float(rng.exponential(mean)) if buys else 0.0)
    estimate = opt.predict([{"variant": variant} for variant in means])
    truth = np.array([1.0, 2.0])
    assert (estimate.mean / truth > 1.0 / 1.5).all()
    assert (estimate.mean / truth < 1.5).all()
    assert (estimate.lower <= truth).all()
    assert (truth <= estimate.upper).all()
    assert opt.recommend().params == {"variant": "high"}


def test_a_configuration_whose_only_payoff_is_a_bad_outlier_is_not_recommended():
    # Its neighbors say that its mean is the best of all; its own payoff is far worse.
    rng = np.random.default_rng(3)
    opt = tp.Optimizer(LINE, seed=0)
    for x in np.linspace(0.02, 0.98, 48):
        opt.add({"x": float(x)}, -40.0 * (x - 0.5) ** 2 + 0.05 * rng.standard_normal())
    opt.add({"x": 0.5}, -30.0)
    assert opt.clipped[-1]
    assert opt.predict({"x": 0.5}).mean > -1.0
    assert opt.recommend().params != {"x": 0.5}
    opt.add({"x": 0.5}, [0.1, 0.1, 0.1])
    opt.add({"x": 0.5}, [0.1, 0.1, 0.1])
    assert opt.recommend().params == {"x": 0.5}
