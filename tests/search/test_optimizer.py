"""The practical optimizer: its bookkeeping and its invariances."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailproof as tp
from searches import LINE, MIXED, OPTIONS, line, payoff, run, snapshot

ALL_OPTIONS = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


# ---- bookkeeping --------------------------------------------------------------------------------


def test_tells_come_in_any_order():
    opt = tp.Optimizer(MIXED)
    batch = [opt.ask() for _ in range(6)]
    assert opt.pending == batch
    for trial in reversed(batch):
        opt.tell(trial, payoff(trial.params, trial.number))
    assert opt.pending == []
    assert [done.trial.number for done in opt.trials] == [5, 4, 3, 2, 1, 0]
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
    most = max(int(np.sum(np.abs(x - center) < 0.01)) for center in x)
    assert most <= 20
    assert np.ptp(x) > 0.5


def test_a_pending_trial_moves_the_next_one():
    x = (0.618 * np.arange(1, 13)) % 1.0
    opt = line(tp.Optimizer(LINE), np.sin(6.0 * x))
    first = opt.propose(12)
    assert opt.propose(12, [first] * 3) != first


def test_a_withdrawn_trial_no_longer_counts():
    opt, other = tp.Optimizer(MIXED), tp.Optimizer(MIXED)
    for optimizer in (opt, other):
        run(optimizer, 12)
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
            assert len(curious.clipped) == number
        curious.propose(number + 3)
        asked += run(curious, 1)
    assert asked == plain


def test_propose_is_what_ask_would_say_and_changes_nothing():
    opt = tp.Optimizer(MIXED, seed=4)
    for number in range(24):
        waiting = [trial.params for trial in opt.pending]
        before = snapshot(opt)
        expected = opt.propose(number, waiting)
        assert snapshot(opt) == before
        trial = opt.ask()
        assert trial.params == expected
        if number % 5 != 4:  # every fifth stays pending
            opt.tell(trial, payoff(trial.params, number))


def test_a_rebuilt_optimizer_proposes_the_same():
    opt = tp.Optimizer(MIXED, seed=8)
    run(opt, 23)
    waiting = [opt.ask().params for _ in range(2)]
    again = tp.Optimizer(MIXED, seed=8)
    for done in opt.trials:
        again.add(done.trial.params, done.value)
    assert again.propose(25, waiting) == opt.ask().params


@ALL_OPTIONS
def test_a_saved_optimizer_goes_on_bit_for_bit(options, tmp_path):
    opt = tp.Optimizer(MIXED, seed=3, minimize=True, options=replace(options, n_initial=5))
    run(opt, 13)
    opt.tell(opt.ask(), [0.5, 1.5, 0.7])
    opt.tell(opt.ask(), mean=0.4, sem=0.2, n=12)
    run(opt, 2)
    opt.add({"lr": 0.01, "n": 2, "act": "a", "k": 3}, -1.0)
    lost, kept = opt.ask(), opt.ask()
    opt.withdraw(lost)
    opt.save(tmp_path / "run.npz")
    again = tp.load(tmp_path / "run.npz")
    assert snapshot(again) == snapshot(opt)
    assert (again.options, again.space, again.pending) == (opt.options, opt.space, [kept])
    for optimizer in (opt, again):
        optimizer.tell(kept.number, [0.25, 0.3])
        optimizer.tell(lost.number, 0.5)
    assert run(again, 6) == run(opt, 6)
    assert again.recommend() == opt.recommend()
    assert snapshot(again) == snapshot(opt)


def test_payoffs_from_elsewhere_count():
    opt = tp.Optimizer(LINE)
    trial = opt.add({"x": 0.25}, 3)
    assert trial == tp.Trial(0, {"x": 0.25})
    assert opt.trials[0].value == 3.0
    assert opt.ask().number == 1
    for x in np.linspace(0, 1, 20):
        opt.add({"x": float(x)}, -((x - 0.6) ** 2))
    assert opt.recommend().params["x"] == pytest.approx(0.6, abs=0.1)


def test_what_a_caller_does_to_a_trial_stays_with_the_caller():
    opt = tp.Optimizer(LINE)
    trial = opt.ask()
    trial.params.clear()
    opt.tell(trial.number, 1.0)
    assert opt.trials[0].trial.params["x"] == opt.recommend().best_observed_params["x"]


# ---- invariances --------------------------------------------------------------------------------


@given(
    st.floats(1e-6, 1e6),
    st.floats(-5.0, -3.0),
    st.integers(0, 50),
)
@settings(derandomize=True, max_examples=6, deadline=None)
def test_units_do_not_matter(a, c, seed):
    # Payoffs of both signs: means of payoffs that all have one sign keep it, in either unit.
    plain, other = tp.Optimizer(MIXED, seed=seed), tp.Optimizer(MIXED, seed=seed)
    asked = run(plain, 16, lambda params, i: payoff(params, i) - 4.0)
    assert run(other, 16, lambda params, i: a * (payoff(params, i) + c)) == asked
    c += 4.0
    usual, scaled = plain.recommend(), other.recommend()
    assert scaled.params == usual.params
    assert scaled.mean == pytest.approx(a * (usual.mean + c), rel=1e-6, abs=1e-6 * a)
    assert scaled.upper - scaled.lower == pytest.approx(a * (usual.upper - usual.lower), rel=1e-5)
    assert scaled.clipped == usual.clipped


@ALL_OPTIONS
def test_units_do_not_matter_whatever_is_modeled(options):
    asked = run(tp.Optimizer(MIXED, options=options), 16)
    other = tp.Optimizer(MIXED, options=options)
    assert run(other, 16, lambda params, i: 1e3 * payoff(params, i) - 77.0) == asked


@pytest.mark.parametrize(("a", "c"), [(3.7, 0.0), (0.01, -5.0), (1e6, 1e5)])
def test_units_do_not_matter_to_several_payoffs_and_means(a, c):
    asked = []
    for scale, offset in ((1.0, 0.0), (a, c)):
        opt, places = tp.Optimizer(MIXED, seed=2), []
        for i in range(18):
            trial = opt.ask()
            places.append(trial.params)
            y = scale * payoff(trial.params, i) + offset
            if i % 3 == 0:
                opt.tell(trial, mean=y, sem=scale * (0.1 + 0.01 * i), n=4 + i)
            else:
                opt.tell(trial, [y, y + 0.3 * scale] if i % 3 == 1 else y)
        found = opt.recommend()
        asked.append((places, found.params))
    assert asked[0] == asked[1]


def test_minimizing_is_maximizing_the_negative():
    most, least = tp.Optimizer(MIXED, seed=1), tp.Optimizer(MIXED, seed=1, minimize=True)
    assert run(most, 18) == run(least, 18, lambda params, i: -payoff(params, i))
    high, low = most.recommend(level=0.8), least.recommend(level=0.8)
    assert low.params == high.params
    assert (low.mean, low.lower, low.upper) == (-high.mean, -high.upper, -high.lower)
    assert low.best_observed_value == -high.best_observed_value
    assert low.tails == high.tails
