"""Crossings, statements and words follow the figures, also where they speak against the paper."""

import numpy as np
import pytest

from tailproof.environments import DataArms
from tailproof.experiments.comparisons import (
    changes,
    crossing,
    crossings,
    regrets,
    spread,
    truncation_fit,
)
from tailproof.experiments.panels import stocks_panel, synthetic_panels
from tailproof.experiments.plan import Size, make_plan
from tailproof.experiments.results import summary, timings
from tailproof.experiments.statements import statements
from tailproof.experiments.words import further_in_words

LAST = {"tgp": 0.36, "qff": 0.32, "nystrom": 0.30, "qff-folded": 0.25, "nystrom-theory": 0.5}
MARKS = np.array([10, 20, 30, 40])


def plan_of(letter, policies, size=None):
    panels = synthetic_panels()
    data = DataArms("made up", ("p", "q"), [1.0, 2.0, 3.0, 5.0], [2, 2], np.eye(2))
    panels["d"] = stocks_panel(data)
    return make_plan({letter: panels[letter]}, {letter: size or Size()}, seed=0, policies=policies)


def falling(plan, *, last=None, cross=10_000, common=0.0, own=0.0):
    """Records whose curves reach `last` and cross that of tgp at `cross`.

    Trials differ by up to `common`, the same for all columns and zero on average over 20, and by
    normal noise of size `own` for each column.
    """
    last = LAST if last is None else last
    rng = np.random.default_rng(0)
    records = {}
    for task in plan.tasks():
        share = task.marks / task.rounds
        gap = last[task.column] - last["tgp"]
        at = cross / task.rounds
        curve = last["tgp"] + 0.2 * (1.0 - share) + gap * (share - at) / (1.0 - at)
        if task.column.endswith("theory"):
            curve = np.full(len(share), last[task.column])
        shift = common * np.linspace(-1.0, 1.0, 20)[task.trial] + own * rng.standard_normal()
        records[task.name] = {
            "regret_per_round": (curve + shift).tolist(),
            "width": 30.0 if task.column == "qff-folded" else 60.0,
            "cpu_seconds": 2.0,
            "session": {"started": 5.0, "at": 1.0 + task.trial},
        }
    return records


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ([1, 1, 1, 1], 10),
        ([3, 1, 3, 1], 40),
        ([3, 2, 1, 1], 30),
        ([1, 1, 1, 2], None),
    ],
)
def test_a_crossing_is_for_good(ours, expected):
    assert crossing(MARKS, np.array(ours), np.full(4, 2)) == expected


def test_the_standard_deviation_is_the_samples_and_unknown_for_one_trial():
    np.testing.assert_allclose(spread(np.array([[1.0, 2.0], [3.0, 2.0]])), [np.sqrt(2.0), 0.0])
    assert np.isnan(spread(np.array([[1.0, 2.0]]))).all()


def test_the_papers_statements_hold_where_the_figures_say_so():
    plan = plan_of("a", ("tgp", "qff", "nystrom"))
    records = falling(plan, common=0.1)
    assert crossings(plan.panels[0], records)["nystrom"] == pytest.approx(10_000, abs=200)
    found = statements(plan, records)
    assert len(found) == 6
    assert all(one.holds for one in found)


def test_a_wrong_order_a_late_crossing_and_a_far_mean_are_told():
    plan = plan_of("a", ("tgp", "qff", "nystrom"))
    wrong = falling(plan, last=LAST | {"qff": 0.29})
    assert not statements(plan, wrong)[0].holds
    early = statements(plan, falling(plan, cross=2_000))
    assert [one.holds for one in early if "for good" in one.text] == [False, False]
    far = statements(plan, falling(plan))
    assert not any(one.holds for one in far if "standard deviation" in one.text)


def test_read_off_values_are_checked_at_both_marks():
    plan = plan_of("d", ("tgp", "nystrom"))
    records = falling(plan, last={"tgp": 0.386, "nystrom": 0.28}, cross=2_000)
    found = {one.text: one for one in statements(plan, records)}
    assert len(found) == 4
    good = found["TGP-UCB at round 10,000 within 0.015 of the paper's value"]
    assert good.holds
    bad = found["ATA-GP-UCB-Nyström at round 10,000 within 0.015 of the paper's value"]
    assert not bad.holds
    assert "+0.017" in bad.figures


def test_nothing_is_claimed_of_a_run_that_is_not_the_papers():
    plan = plan_of("a", ("tgp", "qff", "nystrom"), Size(rounds=2_000))
    assert statements(plan, falling(plan, cross=1_000)) == []
    partial = plan_of("a", ("tgp", "nystrom"))
    assert statements(partial, falling(partial)) == []


def truncated(plan, *, error=0.01, plain=0.6, std=0.05):
    f = np.linspace(0.0, 1.0, 100)
    off = {"gp": plain, "gp-truncated": error, "gp-redrawn": 0.02}
    return {
        task.name: {
            "regret_per_round": [0.1] * len(task.marks),
            "width": 9.0,
            "f": f.tolist(),
            "mean": (f + off[task.column] * (f > 0.8)).tolist(),
            "std": np.full(100, std).tolist(),
        }
        for task in plan.tasks()
    }


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ({}, [True, True, True]),
        ({"error": 0.06, "std": 0.1}, [False, True, True]),
        ({"std": 0.005}, [True, False, True]),
        ({"plain": 0.2}, [True, True, False]),
    ],
)
def test_panel_f_is_judged_by_its_bands(figures, expected):
    plan = plan_of("f", None)
    assert [one.holds for one in statements(plan, truncated(plan, **figures))] == expected


def test_bands_average_over_the_randomizations():
    plan = plan_of("f", ("gp",), Size(trials=2))
    records = truncated(plan)
    records["f", "gp", 1]["mean"] = records["f", "gp", 1]["f"]
    fit = truncation_fit(plan.panels[0], records, "gp")
    assert fit.error == pytest.approx(0.3)


def test_a_further_column_is_compared_on_the_trials_it_shares():
    plan = plan_of("a", ("tgp", "qff", "qff-folded"))
    records = falling(plan)
    for trial in range(5, 20):  # trials the further column does not have
        records["a", "qff", trial]["regret_per_round"] = [9.0] * 100
    (change,) = changes(plan.panels[0], records)
    assert (change.base, change.trials) == ("qff", 5)
    assert change.difference == pytest.approx(0.25 - 0.32)
    assert regrets(plan.panels[0], records, "qff").max() == 9.0


def test_words_say_lower_higher_or_neither():
    policies = ("tgp", "qff", "nystrom", "qff-folded", "nystrom-theory")
    plan = plan_of("a", policies)
    said = further_in_words(plan, falling(plan))
    assert set(said) == {"qff-folded", "nystrom-theory"}
    assert "lower (better) in a (0.250 against 0.320" in said["qff-folded"]
    assert "0.5 times the base's" in said["qff-folded"]
    assert "flat" not in said["qff-folded"]
    assert "higher (worse) in a (0.500 against 0.300" in said["nystrom-theory"]
    assert "In a the curve is flat" in said["nystrom-theory"]
    same = falling(plan, last=LAST | {"qff-folded": 0.32}, own=0.1)
    assert "not to be told from the base in a" in further_in_words(plan, same)["qff-folded"]


def test_words_about_panel_f_give_both_errors():
    plan = plan_of("f", None)
    said = further_in_words(plan, truncated(plan))["gp-redrawn"]
    assert "off by at most 0.020, against 0.600 for GP-UCB" in said
    assert "its band holds f" in said


def test_the_summary_has_mean_deviation_paper_and_difference():
    plan = plan_of("a", ("tgp", "qff", "nystrom"))
    records = falling(plan)
    panel = summary(plan, records)["panels"]["a"]
    last = panel["policies"]["tgp"]["marks"][-1]
    values = regrets(plan.panels[0], records, "tgp")[:, -1]
    assert last["round"] == 20_000
    assert last["mean"] == pytest.approx(values.mean())
    assert last["sd"] == pytest.approx(values.std(ddof=1))
    assert last["paper"] == 0.35
    assert last["difference"] == pytest.approx(values.mean() - 0.35)
    assert panel["policies"]["tgp"]["marks"][0]["paper"] is None
    assert panel["crossings"]["nystrom"]["paper"] == 10_000


def test_timings_are_rounds_a_second_and_end_with_the_last_trial():
    plan = plan_of("a", ("tgp",))
    records = falling(plan)
    records["a", "tgp", 0]["cpu_seconds"] = 500.0  # it compiled
    content = timings(plan, records, "2 worker processes")
    assert content["rounds_per_second"]["a"]["tgp"] == pytest.approx(10_000.0)
    assert content["seconds"] == 20.0
