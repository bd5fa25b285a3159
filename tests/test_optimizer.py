"""The practical optimizer: its bookkeeping, its invariances, and what luck cannot do to it."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailproof as tp
from searches import LINE, MIXED, facts, line, payoff, run
from tailproof.taming import Clip, StudentT, Untamed, Window

TAMINGS = [Window(), Untamed(), Clip(), StudentT()]
ALL_TAMINGS = pytest.mark.parametrize("taming", TAMINGS, ids=lambda one: type(one).__name__)


# ---- bookkeeping --------------------------------------------------------------------------------


def test_tells_come_in_any_order():
    opt = tp.Optimizer(MIXED)
    batch = [opt.ask() for _ in range(6)]
    assert opt.pending == batch
    for trial in reversed(batch):
        opt.tell(trial, payoff(trial.params, trial.number))
    assert opt.pending == []
    assert [one.trial.number for one in opt.trials] == [5, 4, 3, 2, 1, 0]
    assert len(opt) == 6
    opt.tell(opt.ask().number, 1.0)
    assert opt.trials[-1].value == 1.0


def test_a_batch_is_of_different_configurations():
    opt = tp.Optimizer(MIXED, seed=2)
    run(opt, 20)
    batch = [opt.ask().params for _ in range(4)]
    assert all(a != b for k, a in enumerate(batch) for b in batch[:k])


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_a_large_batch_does_not_go_to_one_place(noise):
    rng = np.random.default_rng(0)
    opt = tp.Optimizer(LINE, seed=0)
    run(opt, 30, lambda p, i: -((p["x"] - 0.4) ** 2) + noise * rng.standard_t(2))
    x = np.array([opt.ask().params["x"] for _ in range(40)])
    most = max(int(np.sum(np.abs(x - one) < 0.01)) for one in x)
    assert most <= 20
    assert np.ptp(x) > 0.5


def test_a_pending_trial_moves_the_next_one():
    x = (0.618 * np.arange(1, 13)) % 1.0
    opt = line(tp.Optimizer(LINE), np.sin(6.0 * x))
    first = opt.propose(12)
    assert opt.propose(12, [first] * 3) != first


def test_a_withdrawn_trial_no_longer_counts():
    opt, other = tp.Optimizer(MIXED), tp.Optimizer(MIXED)
    for one in (opt, other):
        run(one, 12)
    lost = opt.ask()
    opt.withdraw(lost)
    assert opt.pending == []
    number = lost.number + 1
    assert opt.ask().params == other.propose(number)
    opt.tell(lost, 2.0)  # it came after all
    assert opt.trials[-1].trial == lost


def test_the_same_seed_gives_the_same_run():
    runs = [run(tp.Optimizer(MIXED, seed=seed), 15) for seed in (5, 5, 6)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_looking_changes_nothing():
    quiet, curious = tp.Optimizer(MIXED), tp.Optimizer(MIXED)
    plain = run(quiet, 25)
    asked = []
    for number in range(25):
        if number:
            curious.recommend()
            curious.predict([plain[0]])
            assert len(curious.tamed) == number
        curious.propose(number + 3)
        asked += run(curious, 1)
    assert asked == plain


def test_propose_is_what_ask_would_say_and_changes_nothing():
    opt = tp.Optimizer(MIXED, seed=4)
    for number in range(24):
        waiting = [one.params for one in opt.pending]
        before = facts(opt)
        expected = opt.propose(number, waiting)
        assert facts(opt) == before
        trial = opt.ask()
        assert trial.params == expected
        if number % 5 != 4:  # every fifth stays pending
            opt.tell(trial, payoff(trial.params, number))


def test_a_rebuilt_optimizer_proposes_the_same():
    opt = tp.Optimizer(MIXED, seed=8)
    run(opt, 23)
    waiting = [opt.ask().params for _ in range(2)]
    again = tp.Optimizer(MIXED, seed=8)
    for one in opt.trials:
        again.add(one.trial.params, one.value)
    assert again.propose(25, waiting) == opt.ask().params


@ALL_TAMINGS
def test_a_saved_optimizer_goes_on_bit_for_bit(taming, tmp_path):
    options = tp.Options(taming=taming, initial=5)
    opt = tp.Optimizer(MIXED, seed=3, minimise=True, options=options)
    run(opt, 17)
    opt.add({"lr": 0.01, "n": 2, "act": "a", "k": 3}, -1.0)
    lost, kept = opt.ask(), opt.ask()
    opt.withdraw(lost)
    opt.save(tmp_path / "run.npz")
    again = tp.load(tmp_path / "run.npz")
    assert again.state() == opt.state()
    assert (again.options, again.space, again.pending) == (opt.options, opt.space, [kept])
    for one in (opt, again):
        one.tell(kept.number, 0.25)
        one.tell(lost.number, 0.5)
    assert run(again, 6) == run(opt, 6)
    assert again.recommend() == opt.recommend()
    assert again.state() == opt.state()


def test_states_are_copies():
    opt = tp.Optimizer(MIXED)
    run(opt, 3)
    state = opt.state()
    before = copy.deepcopy(state)
    run(opt, 3)
    assert state == before


def test_payoffs_from_elsewhere_count():
    opt = tp.Optimizer(LINE)
    trial = opt.add({"x": 0.25}, 3)
    assert trial == tp.Trial(0, {"x": 0.25})
    assert opt.trials[0].value == 3.0
    assert opt.ask().number == 1
    for x in np.linspace(0, 1, 20):
        opt.add({"x": float(x)}, -((x - 0.6) ** 2))
    assert opt.recommend().params["x"] == pytest.approx(0.6, abs=0.1)


def test_the_initial_design_is_spread_and_not_repeated():
    opt = tp.Optimizer(LINE, options=tp.Options(initial=16))
    places = np.sort([one["x"] for one in run(opt, 16, lambda params, i: 0.0)])
    assert np.diff(places).max() < 0.15
    assert len(set(places)) == 16


# ---- the survey ---------------------------------------------------------------------------------


def whatever_is_believed(options, numbers):
    """Return which of the trials `numbers` are the same for payoffs of two functions."""
    told = []
    for sign in (-1.0, 1.0):
        opt = tp.Optimizer(LINE, seed=4, options=options)
        x = (0.618 * np.arange(1, 13)) % 1.0
        told.append(line(opt, sign * x))
    return [number for number in numbers if told[0].propose(number) == told[1].propose(number)]


def test_trials_at_square_numbers_look_everywhere():
    numbers = [*range(12, 28), 99, 100]
    assert whatever_is_believed(tp.Options(), numbers) == [16, 25, 100]
    assert whatever_is_believed(tp.Options(survey=0.0), numbers) == []
    assert whatever_is_believed(tp.Options(survey=0.5), numbers) == [16, 100]


def test_while_gross_outliers_may_vary_twice_as_many_look_everywhere():
    rng = np.random.default_rng(2)
    x = rng.random(60)
    rare = np.where((x > 0.6) & (rng.random(60) < 0.4), 9.0, 0.0)
    told = []
    for sign in (-1.0, 1.0):
        opt = tp.Optimizer(LINE, seed=4)
        for one, more in zip(x, rare, strict=True):
            opt.add({"x": one}, sign * np.sin(6.0 * one) + more + 0.1 * rng.standard_normal())
        told.append(opt)
    same = [number for number in range(61, 125) if len({told_x(o, number) for o in told}) == 1]
    # Squares, and halfway between them: 7.5 x 7.5 is 56.25, 8.5 x 8.5 is 72.25 ..
    assert same == [64, 73, 81, 91, 100, 111, 121]
    assert len({told_x(told[0], number) for number in same}) == len(same)


def told_x(opt, number):
    return opt.propose(number)["x"]


@pytest.mark.parametrize("survey", [20.0, 1e308])
def test_a_large_survey_looks_everywhere_all_the_time(survey):
    options = tp.Options(survey=survey)
    assert whatever_is_believed(options, range(12, 60)) == list(range(12, 60))
    opt = tp.Optimizer(LINE, options=options)
    x = [opt.propose(number)["x"] for number in range(64)]
    assert len(set(x)) == 64
    assert max(np.diff(np.sort(x))) < 0.1


def test_a_survey_repeats_nothing_after_a_wide_start():
    opt = tp.Optimizer(MIXED, seed=1)
    batch = [opt.ask() for _ in range(30)]
    for trial in batch:
        opt.tell(trial, payoff(trial.params, trial.number))
    started = [trial.params for trial in batch]
    assert all(opt.propose(number) not in started for number in (36, 49, 64))


def test_a_survey_of_the_smallest_spaces():
    for space in (tp.Configurations([{"a": 1}]), tp.Space(a=tp.Fixed(1), b=tp.Choice("u", "v"))):
        opt = tp.Optimizer(space, options=tp.Options(initial=1, survey=3.0))
        run(opt, 20, lambda p, i: float(i % 3))
        assert opt.recommend().payoffs == 20


# ---- invariances --------------------------------------------------------------------------------


@given(
    st.floats(1e-6, 1e6),
    st.floats(-100.0, 100.0),
    st.integers(0, 50),
)
@settings(derandomize=True, max_examples=6, deadline=None)
def test_units_do_not_matter(a, c, seed):
    plain, other = tp.Optimizer(MIXED, seed=seed), tp.Optimizer(MIXED, seed=seed)
    asked = run(plain, 16)
    assert run(other, 16, lambda params, i: a * (payoff(params, i) + c)) == asked
    one, two = plain.recommend(), other.recommend()
    assert two.params == one.params
    assert two.mean == pytest.approx(a * (one.mean + c), rel=1e-6, abs=1e-6 * a)
    assert two.high - two.low == pytest.approx(a * (one.high - one.low), rel=1e-5)
    assert two.tamed == one.tamed


@pytest.mark.parametrize("taming", [Untamed(), Clip(), StudentT()], ids=lambda o: type(o).__name__)
def test_units_do_not_matter_to_other_tamings(taming):
    options = tp.Options(taming=taming)
    asked = run(tp.Optimizer(MIXED, options=options), 16)
    other = tp.Optimizer(MIXED, options=options)
    assert run(other, 16, lambda params, i: 1e3 * payoff(params, i) - 77.0) == asked


def test_minimising_is_maximising_the_negative():
    most, least = tp.Optimizer(MIXED, seed=1), tp.Optimizer(MIXED, seed=1, minimise=True)
    assert run(most, 18) == run(least, 18, lambda params, i: -payoff(params, i))
    high, low = most.recommend(level=0.8), least.recommend(level=0.8)
    assert low.params == high.params
    assert (low.mean, low.low, low.high) == (-high.mean, -high.high, -high.low)
    assert low.lucky_value == -high.lucky_value
    assert low.tails == high.tails


# ---- what luck cannot do ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("luck", [1e12, 1e100])
def test_one_huge_payoff_hardly_moves_the_recommendation(seed, luck):
    rng = np.random.default_rng(seed)
    opt = tp.Optimizer(LINE, seed=seed)
    x = rng.random(60)
    values = np.sin(5.0 * x) + 0.3 * rng.standard_t(1.5, 60)
    for place, value in zip(x, values, strict=True):
        opt.add({"x": float(place)}, value)
    before = opt.recommend()
    hit = tp.Optimizer(LINE, seed=seed)
    for k, (place, value) in enumerate(zip(x, values, strict=True)):
        hit.add({"x": float(place)}, luck if k == 40 else value)
    after = hit.recommend()
    assert abs(after.mean - before.mean) < 0.5 * (before.high - before.low)
    assert after.lucky_value == luck
    assert hit.tamed[40]


def test_the_luckiest_configuration_is_not_recommended_for_its_luck():
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
    assert found.lucky_params == {"c": "poor"}
    assert found.lucky_value == 500.0
    assert found.replications == 15
    assert found.payoffs == 46
    assert found.tamed >= 1
    assert found.low < found.mean < found.high
    assert "c='good': mean" in str(found)


def test_taming_finds_better_means_under_pareto_noise():
    # Symmetric Pareto(1.5) noise has no variance. Were the two alike, the tamed one would win 15
    # or more of 20 pairs with probability 0.021 (sign test).
    def mean(x):
        return math.exp(-(((x - 0.7) / 0.15) ** 2) / 2.0)

    wins = 0
    for seed in range(20):
        found = []
        for taming in (Window(), Untamed()):
            rng = np.random.default_rng(seed)  # the same noise for both
            opt = tp.Optimizer(LINE, seed=seed, options=tp.Options(taming=taming, initial=48))
            for _ in range(48):
                trial = opt.ask()
                noise = rng.choice([-1.0, 1.0]) * (1.0 + rng.pareto(1.5))
                opt.tell(trial, mean(trial.params["x"]) + 0.3 * noise)
            found.append(mean(opt.recommend().params["x"]))
        wins += found[0] > found[1]
    assert wins >= 15


def test_it_converges_without_noise():
    opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1), y=tp.Float(0, 1)), seed=0)
    run(opt, 40, lambda p, i: -((p["x"] - 0.3) ** 2) - (p["y"] - 0.8) ** 2)
    found = opt.recommend().params
    assert found["x"] == pytest.approx(0.3, abs=0.1)
    assert found["y"] == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize("taming", [Window(), Untamed()], ids=["Window", "Untamed"])
def test_payoffs_without_noise_are_predicted_where_they_were_seen(taming):
    opt = tp.Optimizer(LINE, seed=0, options=tp.Options(taming=taming))
    asked = run(opt, 60, lambda p, i: math.sin(6.0 * p["x"]))
    error = opt.predict(asked).mean - np.sin([6.0 * one["x"] for one in asked])
    assert float(np.abs(error).max()) < 0.05


# ---- levels, words ----------------------------------------------------------------


def test_wider_levels_give_wider_intervals_around_the_same_mean():
    opt = line(tp.Optimizer(LINE), np.random.default_rng(0).standard_normal(20))
    found = [opt.recommend(level=level) for level in (1e-6, 0.5, 0.9, 0.999999)]
    widths = [one.high - one.low for one in found]
    assert widths == sorted(widths)
    # What the most extreme payoff sways is doubted at every level.
    assert widths[0] < 0.1 * widths[2]
    assert len({one.mean for one in found}) == 1
    estimate = opt.predict([found[2].params], level=0.9)
    assert (estimate.low[0], estimate.high[0]) == (found[2].low, found[2].high)
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
        held.append(np.mean((estimate.low <= truth) & (truth <= estimate.high)))
    assert np.mean(held) > 0.75


def test_an_interval_is_finite_at_every_level():
    opt = line(tp.Optimizer(LINE), np.random.default_rng(0).standard_normal(20))
    surest = opt.recommend(level=math.nextafter(1.0, 0.0))
    assert math.isfinite(surest.low)
    assert math.isfinite(surest.high)


def test_of_equally_good_ones_a_configuration_that_was_measured_is_recommended():
    opt = tp.Optimizer(tp.Configurations([{"c": k} for k in range(5)]))
    opt.add({"c": 3}, 1.0)
    assert opt.recommend().params == {"c": 3}
    opt = tp.Optimizer(LINE)
    opt.add({"x": 0.637}, 1.0)
    found = opt.recommend()
    assert found.params["x"] == pytest.approx(0.637, abs=1e-12)
    assert found.replications == 1


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
    for lucky in (payoffs[n // 2], 1e12):
        payoffs[n // 2] = lucky
        opt = tp.Optimizer(LINE)
        for x, y in zip(points, payoffs, strict=True):
            opt.add({"x": float(x)}, y)
        found.append(opt.recommend())
    assert abs(found[1].mean - found[0].mean) < 0.5 * (found[1].high - found[1].low)
    assert abs(found[1].mean - 1.0) < 1.0


@pytest.mark.parametrize("n", [8, 12, 20])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_nor_does_it_in_more_dimensions_however_few_the_payoffs(dimension, n):
    space = tp.Space(**{f"x{k}": tp.Float(0, 1) for k in range(dimension)})
    for seed in range(4):
        rng = np.random.default_rng([seed, n])

        def measure(params, i, rng=rng):
            return sum(math.sin(5.0 * x) for x in params.values()) + 0.2 * rng.standard_normal()

        opt, other = tp.Optimizer(space, seed=seed), tp.Optimizer(space, seed=seed)
        run(opt, n, measure)
        for one in opt.trials:
            wild = one.trial.number == (n - 1 if seed % 2 else n // 2)
            other.add(one.trial.params, 1e12 if wild else one.value)
        usual, found = opt.recommend(), other.recommend()
        assert abs(found.mean - usual.mean) < 0.5 * (found.high - found.low)
        assert abs(found.mean - usual.mean) < 10.0  # and the interval does not owe it to its width


def test_what_a_caller_does_to_a_trial_stays_with_the_caller():
    opt = tp.Optimizer(LINE)
    trial = opt.ask()
    trial.params.clear()
    opt.tell(trial.number, 1.0)
    assert opt.trials[0].trial.params["x"] == opt.recommend().lucky_params["x"]


def test_payoffs_clipped_before_the_fit_count_as_tamed():
    opt = tp.Optimizer(LINE, options=tp.Options(taming=Clip(3.0)))
    line(opt, np.append(np.random.default_rng(0).standard_normal(30), 100.0))
    assert opt.tamed[-1]
    assert opt.recommend().tamed >= 1


def test_a_trial_with_a_huge_number_is_proposed_without_a_huge_design():
    assert 0.0 <= tp.Optimizer(LINE).propose(2**40)["x"] <= 1.0
