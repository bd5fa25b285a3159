"""What the practical optimizer takes, however extreme, and what it refuses, unchanged."""

import math

import numpy as np
import pytest

import tailproof as tp
from searches import LINE, MIXED, OPTIONS, line, run, snapshot

ALL_OPTIONS = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


# ---- extreme but legal --------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 3.5, -1e16, 1e150, 1e280, 1e-300])
@ALL_OPTIONS
def test_constant_payoffs(options, value):
    opt = tp.Optimizer(LINE, options=options)
    run(opt, 14, lambda params, i: value)
    found = opt.recommend()
    assert found.mean == pytest.approx(value, abs=0.5)
    assert found.lower <= found.mean <= found.upper
    assert found.best_observed_value == value


@pytest.mark.parametrize("huge", [1e12, 1e150])
@ALL_OPTIONS
def test_huge_payoffs_of_both_signs(options, huge):
    opt = line(tp.Optimizer(LINE, options=options), np.linspace(0, 1, 10))
    for k in range(14):
        opt.tell(opt.ask(), [0.1, huge, 0.3, -huge][k % 4])
    found = opt.recommend()
    assert math.isfinite(found.mean)
    assert found.lower <= found.mean <= found.upper


def test_huge_payoffs_from_the_start():
    opt = tp.Optimizer(LINE)
    run(opt, 15, lambda params, i: 1e150 if i % 2 else -1e150)
    assert abs(opt.recommend().mean) <= 1e150


def test_scales_that_change_by_hundreds_of_digits():
    opt = tp.Optimizer(LINE)
    run(opt, 25, lambda p, i: [1e280, -1e280][i % 2] if i % 7 in (3, 5) else p["x"])
    assert math.isfinite(opt.recommend().mean)


@pytest.mark.parametrize(
    "space",
    [
        tp.Space(k=tp.Fixed("only")),
        tp.Configurations([{"a": 1}]),
        tp.Configurations([{"a": 1, "b": "x"}] * 3),
        tp.Space(c=tp.Choice("only one", "or two")),
        tp.Space(n=tp.Int(1, 2)),
    ],
    ids=["fixed", "one", "duplicates", "choice", "two integers"],
)
def test_spaces_of_hardly_any_configurations(space, tmp_path):
    opt = tp.Optimizer(space)
    run(opt, 14, lambda params, i: float(i % 3))
    found = opt.recommend()
    assert found.total_payoffs == 14
    assert found.payoffs > 0
    assert found.lower < found.mean < found.upper
    opt.save(tmp_path / "run.npz")
    again = tp.load(tmp_path / "run.npz")
    assert again.ask() == opt.ask()


@pytest.mark.parametrize("dimension", range(1, 9))
def test_dimensions(dimension):
    space = tp.Space({f"x{k}": tp.Float(0, 1) for k in range(dimension)})
    opt = tp.Optimizer(space)
    run(opt, 2 * dimension + 12, lambda params, i: sum(params.values()))
    assert opt.recommend().mean > 0.6 * dimension


def test_a_list_of_ten_thousand_configurations():
    rows = [{"a": k, "b": k % 7, "c": "xyz"[k % 3]} for k in range(10_000)]
    opt = tp.Optimizer(tp.Configurations(rows), seed=1)
    asked = run(opt, 20, lambda params, i: -abs(params["a"] - 5000) / 5000)
    assert all(params in rows for params in asked)
    assert abs(opt.recommend().params["a"] - 5000) < 1500


def test_repeated_configurations_are_replications():
    opt = tp.Optimizer(LINE)
    rng = np.random.default_rng(0)
    for x in (0.2, 0.5, 0.8):
        for _ in range(10):
            opt.add({"x": x}, -abs(x - 0.5) + 0.05 * rng.standard_normal())
    estimate = opt.predict([{"x": 0.5}, {"x": 0.0}])
    assert estimate.mean[0] == pytest.approx(0.0, abs=0.1)
    assert estimate.upper[0] - estimate.lower[0] < estimate.upper[1] - estimate.lower[1]


def zeros(params, i):
    """Nothing in 95 % of trials."""
    rng = np.random.default_rng([3, i])
    return float(rng.pareto(1.8) + 1.0) * params["x"] if rng.random() < 0.05 else 0.0


EXTREMES = {
    "95 % zeros": zeros,
    "ten decades": lambda params, i: -(10.0 ** (10.0 * params["x"])),
    "ten decades, positive": lambda params, i: 10.0 ** (10.0 * params["x"]),
    "ties": lambda params, i: float(round(3.0 * params["x"])),
    "two values": lambda params, i: float(params["x"] > 0.5),
    "tiny": lambda params, i: 1e-290 * params["x"],
    "huge": lambda params, i: 1e150 * (params["x"] - 0.5),
    "an offset of 1e15": lambda params, i: 1e15 + params["x"],
    "alternating sizes": lambda params, i: params["x"] * 10.0 ** (20 * (i % 3)),
}


@pytest.mark.parametrize("case", EXTREMES)
@pytest.mark.parametrize("minimize", [False, True])
def test_extreme_payoffs_give_finite_means_and_intervals(case, minimize):
    opt = tp.Optimizer(LINE, seed=1, minimize=minimize)
    for number in range(28):
        run(opt, 1, EXTREMES[case])
        if number < 3 or number == 27:
            found = opt.recommend()
            assert math.isfinite(found.lower)
            assert math.isfinite(found.upper)
            assert found.lower <= found.mean <= found.upper


@pytest.mark.parametrize("case", ["95 % zeros", "ties", "two values"])
def test_one_configuration_with_extreme_payoffs(case):
    opt = tp.Optimizer(tp.Configurations([{"x": 0.6}]))
    values = [EXTREMES[case]({"x": 0.6}, i) for i in range(60)]
    for value in values:
        opt.add({"x": 0.6}, value)
    found = opt.recommend()
    assert min(values) <= found.mean <= max(values)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_payoffs_have_a_mean_near_them(n):
    opt = line(tp.Optimizer(LINE), [10.0, 11.0, 12.0][:n])
    found = opt.recommend()
    assert 8.0 < found.mean < 14.0
    assert found.lower <= found.mean <= found.upper
    assert opt.ask().number == n


# ---- what is refused ----------------------------------------------------------------------------


def refuses(opt, name, call):
    before = snapshot(opt)
    with pytest.raises(ValueError, match=rf"`[^`]*{name}[^`]*`"):
        call(opt)
    assert snapshot(opt) == before


NOT_NUMBERS = [
    math.nan, math.inf, -math.inf, None, "3", b"3", True, 1j, [], [1.0, None], [1.0, math.nan],
    np.ones((1, 1)), ((1.0,),), {}, {1.0}, 10**400, 1e281, object(), math,
]  # fmt: skip


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=lambda value: repr(value)[:20])
def test_payoffs_that_are_no_finite_numbers_are_refused(value):
    opt = tp.Optimizer(LINE)
    run(opt, 2, lambda params, i: 0.0)
    opt.ask()
    refuses(opt, "value", lambda o: o.tell(2, value))
    refuses(opt, "value", lambda o: o.add({"x": 0.5}, value))
    opt.tell(2, 1.0)
    assert opt.ask().number == 3


@pytest.mark.parametrize(
    "trial", [99, -1, None, "0", 0.5, True, [0], {}, tp.Trial(7, {"x": 0.5})], ids=repr
)
def test_trials_that_were_not_asked_are_refused(trial):
    opt = tp.Optimizer(LINE)
    opt.ask(), opt.ask()
    refuses(opt, "trial", lambda o: o.tell(trial, 1.0))
    refuses(opt, "trial", lambda o: o.withdraw(trial))


def test_another_optimizers_trial_is_refused():
    opt, other = tp.Optimizer(LINE, seed=0), tp.Optimizer(LINE, seed=1)
    opt.ask()
    refuses(opt, "trial", lambda o: o.tell(other.ask(), 1.0))


def test_no_trial_is_told_or_withdrawn_twice():
    opt = tp.Optimizer(LINE)
    trial = opt.ask()
    opt.tell(trial, 1.0)
    refuses(opt, "trial", lambda o: o.tell(trial, 1.0))
    refuses(opt, "trial", lambda o: o.withdraw(trial))
    gone = opt.ask()
    opt.withdraw(gone)
    refuses(opt, "trial", lambda o: o.withdraw(gone))


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({}, "params"),
        ({"x": 0.5, "y": 1}, "params"),
        ({"x": 2.0}, "x"),
        ({"x": math.nan}, "x"),
        ({"x": "0.5"}, "x"),
        ({"x": None}, "x"),
        (None, "params"),
        ([0.5], "params"),
    ],
    ids=repr,
)
def test_configurations_outside_the_space_are_refused(params, name):
    opt = line(tp.Optimizer(LINE), [1.0, 2.0])
    refuses(opt, name, lambda o: o.add(params, 1.0))
    refuses(opt, name, lambda o: o.predict([params]))
    refuses(opt, name, lambda o: o.propose(0, [params]))


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 2.0, math.nan, None, "0.9", True], ids=repr)
def test_levels_lie_between_zero_and_one(level):
    opt = line(tp.Optimizer(LINE), [1.0, 2.0])
    refuses(opt, "level", lambda o: o.recommend(level=level))
    refuses(opt, "level", lambda o: o.predict([{"x": 0.5}], level=level))


@pytest.mark.parametrize("number", [-1, 1.5, None, "1", True], ids=repr)
def test_proposals_have_whole_numbers(number):
    refuses(tp.Optimizer(LINE), "number", lambda o: o.propose(number))


def test_nothing_is_recommended_before_the_first_payoff():
    opt = tp.Optimizer(LINE)
    opt.ask()
    refuses(opt, "tell", lambda o: o.recommend())
    refuses(opt, "tell", lambda o: o.predict([{"x": 0.5}]))
    assert opt.clipped.shape == (0,)
    assert opt.trials == []
    opt.tell(0, 2.0)
    assert opt.recommend().total_payoffs == 1


def test_no_configurations_are_predicted_as_none():
    estimate = line(tp.Optimizer(LINE), [1.0, 2.0]).predict([])
    assert estimate.mean.shape == estimate.lower.shape == estimate.upper.shape == (0,)


def additive(space, *groups):
    return tp.Optimizer(space, options=tp.Options(additive_groups=groups))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: tp.Optimizer({"x": tp.Float(0, 1)}), "space"),
        (lambda: tp.Optimizer(None), "space"),
        (lambda: tp.Optimizer(LINE, seed=-1), "seed"),
        (lambda: tp.Optimizer(LINE, seed=1.5), "seed"),
        (lambda: tp.Optimizer(LINE, seed=None), "seed"),
        (lambda: tp.Options(kappa=-1.0), "kappa"),
        (lambda: tp.Options(kappa=math.nan), "kappa"),
        (lambda: tp.Options(second_opinion=-1), "second_opinion"),
        (lambda: tp.Options(second_opinion=0.5), "second_opinion"),
        (lambda: tp.Options(kernel="rbf"), "kernel"),
        (lambda: tp.Options(kernel=None), "kernel"),
        (lambda: tp.Options(n_initial=0), "n_initial"),
        (lambda: tp.Options(n_initial=2.5), "n_initial"),
        (
            lambda: tp.Optimizer(LINE, options=tp.Options(additive_groups=(("y",),))),
            "additive_groups",
        ),
        (
            lambda: tp.Optimizer(LINE, options=tp.Options(additive_groups=(("x",), ("x",)))),
            "additive_groups",
        ),
        (
            lambda: tp.Optimizer(MIXED, options=tp.Options(additive_groups=(("lr", "n"),))),
            "additive_groups",
        ),
        (
            lambda: tp.Optimizer(
                tp.Configurations([{"a": 1}, {"a": 2}]),
                options=tp.Options(additive_groups=(("a",),)),
            ),
            "additive_groups",
        ),
    ],
)
def test_constructors_refuse_by_name(make, name):
    with pytest.raises(ValueError, match=f"`[^`]*{name}[^`]*`"):
        make()


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: tp.Options(warp="log"), "warp"),
        (lambda: tp.Options(warp=None), "warp"),
        (lambda: tp.Options(noise="cauchy"), "noise"),
        (lambda: tp.Options(corrects_mean="no"), "corrects_mean"),
        (lambda: tp.Options(additive_groups=3), "additive_groups"),
        (lambda: tp.Optimizer(LINE, options="fast"), "options"),
        (lambda: tp.Optimizer(LINE, minimize="no"), "minimize"),
    ],
)
def test_constructors_refuse_parts_of_the_wrong_kind(make, name):
    with pytest.raises(ValueError, match=f"`[^`]*{name}[^`]*`"):
        make()


def test_a_group_names_a_fixed_parameter_never():
    options = tp.Options(additive_groups=(("lr", "act"), ("n",)))
    opt = tp.Optimizer(MIXED, options=options)
    asked = run(opt, 14)
    assert all(set(params) == {"lr", "n", "act", "k"} for params in asked)


def test_what_is_handed_out_is_not_what_is_kept():
    opt = tp.Optimizer(LINE)
    run(opt, 3, lambda params, i: 1.0)
    before = snapshot(opt)
    opt.trials.clear()
    opt.pending.append("x")
    opt.clipped[:] = True
    opt.recommend().best_observed_params["x"] = 9.0
    opt.trials[0].trial.params["x"] = 9.0
    assert snapshot(opt) == before
    assert not opt.clipped.any()
    trial = opt.ask()
    opt.pending[0].params.clear()
    assert opt.pending == [trial]


@pytest.mark.parametrize("wrong", [None, 3, {"x": 0.5}])
def test_configurations_that_are_no_list_are_named(wrong):
    opt = tp.Optimizer(LINE)
    run(opt, 3, lambda params, i: 1.0)
    with pytest.raises(ValueError, match="`configurations` must be a list of dicts"):
        opt.failure_probability(wrong)
    with pytest.raises(ValueError, match="`pending` must be a list of dicts"):
        opt.propose(12, wrong)
    with pytest.raises(ValueError, match="`configurations` must be a list of dicts"):
        tp.Configurations(wrong)
    with pytest.raises(ValueError, match="`columns` must map"):
        tp.Configurations.from_table({"x": "abc"} if wrong == 3 else {"x": wrong})


NO_NUMBERS = {
    "a boolean array": np.array(True),
    "a text array": np.array("3"),
    "bytes": bytearray(b"7"),
    "a view of bytes": memoryview(b"7"),
    "thousands of digits": 10**5000,
}


@pytest.mark.parametrize("case", NO_NUMBERS)
def test_what_only_looks_like_a_number_is_no_payoff(case):
    opt = tp.Optimizer(LINE)
    trial = opt.ask()
    with pytest.raises(ValueError, match="`value` must be a finite number"):
        opt.tell(trial, NO_NUMBERS[case])
    assert opt.pending == [trial]


def test_a_payoff_measured_elsewhere_has_the_types_of_the_space():
    space = tp.Space(n=tp.Int(1, 4), x=tp.Float(0, 2), k=tp.Fixed(3))
    trial = tp.Optimizer(space).add({"n": 2.0, "x": 1, "k": 3.0}, 5.0)
    assert [type(value) for value in trial.params.values()] == [int, float, int]
    third = tp.Optimizer(space).add({"n": 2, "x": 1 / 3, "k": 3}, 5.0)
    assert third.params["x"] == 1 / 3


@pytest.mark.parametrize("path", [None, 3, ""])
def test_a_path_that_is_none_is_named(path):
    with pytest.raises(ValueError, match="`path` must name a file"):
        tp.Optimizer(LINE).save(path)
