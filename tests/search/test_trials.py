"""What is told of a trial: single payoffs, several, and means with standard errors."""

import math

import numpy as np
import pytest

import tailproof as tp
from searches import LINE, snapshot
from tailproof.search.trials import CompletedTrial, Trial, any_by_trial, measured, observations

TRIAL = Trial(0, {"x": 0.5})


def told(value=None, mean=None, sem=None, n=None):
    return measured(TRIAL, value, mean, sem, n)


@pytest.mark.parametrize(
    "value", [3, 3.0, np.float64(3.0), np.array(3.0), [3.0], (3,), np.array([3])]
)
def test_one_payoff(value):
    assert told(value) == CompletedTrial(TRIAL, 3.0)
    assert told(value).payoffs == (3.0,)


@pytest.mark.parametrize("value", [[1.0, 2, 6.0], (1, 2, 6), np.array([1.0, 2.0, 6.0])])
def test_several_payoffs(value):
    done = told(value)
    assert done == CompletedTrial(TRIAL, 3.0, (1.0, 2.0, 6.0), None, 3)
    assert done.payoffs == (1.0, 2.0, 6.0)
    assert done.told == {"value": (1.0, 2.0, 6.0)}


def test_a_mean_of_payoffs_does_not_overflow():
    assert told([1e280, 1e280]).value == 1e280


def test_a_mean_with_its_standard_error():
    done = told(mean=3, sem=0.5, n=7)
    assert done == CompletedTrial(TRIAL, 3.0, (), 0.5, 7)
    assert done.payoffs == (3.0,)
    assert done.told == {"mean": 3.0, "sem": 0.5, "n": 7}
    assert told(mean=3, sem=0).n == 1


def test_what_was_told_can_be_told_again():
    for done in (told(2.0), told([1.0, 3.0]), told(mean=2.0, sem=0.1, n=5)):
        assert told(**done.told) == done


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({}, "value"),
        ({"value": []}, "value"),
        ({"value": [1.0, math.nan]}, r"value\[1\]"),
        ({"value": [1.0, 1e281]}, r"value\[1\]"),
        ({"value": [[1.0]]}, r"value\[0\]"),
        ({"value": np.ones((2, 2))}, r"value\[0\]"),
        ({"value": "12"}, "value"),
        ({"value": bytearray(b"12")}, "value"),
        ({"value": {1.0, 2.0}}, "value"),
        ({"value": 1.0, "mean": 1.0, "sem": 0.1}, "value"),
        ({"value": 1.0, "sem": 0.1}, "mean"),
        ({"value": 1.0, "n": 3}, "mean"),
        ({"mean": 1.0}, "sem"),
        ({"mean": 1.0, "n": 3}, "sem"),
        ({"mean": math.inf, "sem": 0.1}, "mean"),
        ({"mean": [1.0], "sem": 0.1}, "mean"),
        ({"mean": 1.0, "sem": -0.1}, "sem"),
        ({"mean": 1.0, "sem": math.nan}, "sem"),
        ({"mean": 1.0, "sem": 1e281}, "sem"),
        ({"mean": 1.0, "sem": 0.1, "n": 0}, "n"),
        ({"mean": 1.0, "sem": 0.1, "n": 2.5}, "n"),
        ({"mean": 1.0, "sem": 0.1, "n": True}, "n"),
    ],
    ids=repr,
)
def test_what_cannot_be_used_is_refused_by_name_and_changes_nothing(arguments, name):
    opt = tp.Optimizer(LINE)
    opt.tell(opt.ask(), 1.0)
    trial = opt.ask()
    before = snapshot(opt)
    with pytest.raises(ValueError, match=rf"`[^`]*{name}[^`]*`"):
        opt.tell(trial, **arguments)
    with pytest.raises(ValueError, match=rf"`[^`]*{name}[^`]*`"):
        opt.add({"x": 0.5}, **arguments)
    assert snapshot(opt) == before
    assert opt.pending == [trial]


def test_observations_have_a_row_for_each_payoff():
    completed = [told(2.0), told([1.0, 3.0]), told(mean=5.0, sem=0.2, n=9)]
    points = np.array([[0.1], [0.2], [0.3]])
    found = observations(completed, points, -1.0)
    assert found.points[:, 0].tolist() == [0.1, 0.2, 0.2, 0.3]
    assert found.payoffs.tolist() == [-2.0, -1.0, -3.0, -5.0]
    assert found.single.tolist() == [True, True, True, False]
    # The variance of a Student-t law with n - 1 degrees of freedom.
    assert found.sem[3] == pytest.approx(0.2 * math.sqrt(8.0 / 6.0))
    assert any_by_trial(completed, np.array([False, False, True, False])).tolist() == [
        False,
        True,
        False,
    ]


def test_counts_are_of_payoffs_and_flags_of_trials():
    opt = tp.Optimizer(LINE)
    opt.add({"x": 0.2}, [1.0, 1.1, 0.9])
    opt.add({"x": 0.8}, mean=0.2, sem=0.1, n=20)
    opt.add({"x": 0.5}, 0.5)
    found = opt.recommend()
    assert found.total_payoffs == 24
    assert found.params == {"x": pytest.approx(0.2, abs=0.3)}
    assert opt.clipped.shape == (3,)
    assert len(opt) == 3


@pytest.mark.parametrize("extreme", [0.0, 1e-300, 1e150, 1e280])
def test_extreme_standard_errors(extreme):
    opt = tp.Optimizer(LINE, seed=1)
    for i in range(16):
        trial = opt.ask()
        y = math.sin(5.0 * trial.params["x"])
        opt.tell(trial, mean=y, sem=extreme if i % 2 else 0.1, n=5)
    found = opt.recommend()
    assert math.isfinite(found.mean)
    assert found.lower <= found.mean <= found.upper


@pytest.mark.parametrize("value", [0.0, 2.0])
def test_means_that_are_all_equal(value):
    opt = tp.Optimizer(LINE)
    for _ in range(12):
        opt.tell(opt.ask(), mean=value, sem=0.0, n=5)
    assert opt.recommend().mean == pytest.approx(value, abs=1e-6)


def predictions(kind, seed, n=12, places=15):
    """Means and intervals from n payoffs a place, told one by one, together or as a mean."""
    rng = np.random.default_rng(seed)
    opt = tp.Optimizer(LINE)
    for x in rng.random(places):
        y = np.sin(5.0 * x) + 0.8 * rng.standard_normal(n)
        if kind == "mean":
            sem = float(np.std(y, ddof=1)) / math.sqrt(n)
            opt.add({"x": float(x)}, mean=float(np.mean(y)), sem=sem, n=n)
        elif kind == "several":
            opt.add({"x": float(x)}, y)
        else:
            for value in y:
                opt.add({"x": float(x)}, value)
    grid = np.linspace(0.05, 0.95, 19)
    return opt.predict([{"x": float(x)} for x in grid]), np.sin(5.0 * grid)


def test_several_payoffs_at_once_are_the_payoffs_one_by_one():
    one, truth = predictions("single", 0)
    several, _ = predictions("several", 0)
    np.testing.assert_array_equal(one.mean, several.mean)
    np.testing.assert_array_equal(one.upper, several.upper)
    assert float(np.abs(one.mean - truth).max()) < 1.0


def test_a_mean_with_its_error_is_worth_about_what_its_payoffs_are():
    # Gaussian noise, 8 seeds of 15 places: errors of both ways are within a factor of 1.5 of each
    # other, and so are their intervals; telling 12 times fewer single payoffs would double both.
    errors, widths, apart = {}, {}, []
    for kind in ("single", "mean"):
        found = [predictions(kind, seed) for seed in range(8)]
        errors[kind] = np.sqrt(np.mean([(p.mean - truth) ** 2 for p, truth in found]))
        widths[kind] = np.mean([p.upper - p.lower for p, _ in found])
        apart.append(np.array([p.mean for p, _ in found]))
    assert 1 / 1.5 < errors["mean"] / errors["single"] < 1.5
    assert 1 / 1.5 < widths["mean"] / widths["single"] < 1.5
    assert float(np.sqrt(np.mean((apart[0] - apart[1]) ** 2))) < errors["single"]
