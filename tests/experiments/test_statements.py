"""The paper's statements are decided by the records, also where they speak against the paper."""

import numpy as np
import pytest
from scipy import stats

from figure_records import LAST, falling, plan_of, truncated
from tailproof.environments import DataArms
from tailproof.experiments.panels import stocks_panel
from tailproof.experiments.plan import Size, make_plan
from tailproof.experiments.statements import check_statements

PAPERS = ("tgp", "qff", "nystrom")


def test_the_papers_statements_hold_where_the_records_say_so():
    plan = plan_of("a", PAPERS)
    statements = check_statements(plan, falling(plan, common=0.1))
    assert len(statements) == 6
    assert all(statement.holds for statement in statements)


def test_a_wrong_order_an_early_crossing_and_a_distant_mean_do_not_hold():
    plan = plan_of("a", PAPERS)
    wrong = falling(plan, last=LAST | {"qff": 0.29})
    assert not check_statements(plan, wrong)[0].holds
    early = check_statements(plan, falling(plan, cross=2_000))
    assert [s.holds for s in early if "for good" in s.text] == [False, False]
    distant = check_statements(plan, falling(plan))
    assert not any(s.holds for s in distant if "standard deviation" in s.text)


def test_values_read_off_the_plot_are_checked_at_both_rounds():
    plan = plan_of("d", ("tgp", "nystrom"))
    records = falling(plan, last={"tgp": 0.386, "nystrom": 0.28}, cross=2_000)
    found = {statement.text: statement for statement in check_statements(plan, records)}
    assert len(found) == 6  # with two on the tails of the payoffs
    assert found["TGP-UCB at round 10,000 within 0.015 of the paper's value"].holds
    bad = found["ATA-GP-UCB-Nyström at round 10,000 within 0.015 of the paper's value"]
    assert not bad.holds
    assert "+0.017" in bad.numbers


def test_nothing_is_stated_at_another_size_or_without_a_policy_of_the_paper():
    plan = plan_of("a", PAPERS, Size(rounds=2_000))
    assert check_statements(plan, falling(plan, cross=1_000)) == []
    partial = plan_of("a", ("tgp", "nystrom"))
    assert check_statements(partial, falling(partial)) == []


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ({}, [True, True, True]),
        ({"error": 0.06, "std": 0.1}, [False, True, True]),
        ({"std": 0.005}, [True, False, True]),
        ({"plain": 0.2}, [True, True, False]),
    ],
)
def test_panel_f_is_judged_by_its_bands(errors, expected):
    plan = plan_of("f", None)
    statements = check_statements(plan, truncated(plan, **errors))
    assert [statement.holds for statement in statements] == expected


def test_both_halves_of_the_papers_statement_on_the_recorded_tails_are_checked():
    """Neither law is Gaussian; the uniform one has lighter tails, Student-t(3) heavier ones."""
    uniform = np.linspace(0.0, 1.0, 2_000)
    heavy = stats.t(3).ppf((np.arange(2_000) + 0.5) / 2_000)
    arms = DataArms("made up", ("u", "t"), np.concatenate([uniform, heavy]), [2_000] * 2, np.eye(2))
    panels = {"d": stocks_panel(arms)}
    plan = make_plan(panels, {"d": Size()}, seed=0, policies=("tgp", "nystrom"))
    found = [s for s in check_statements(plan, falling(plan, cross=1_000)) if "every arm" in s.text]
    assert [(s.panel, s.holds) for s in found] == [("d", True), ("d", False)]
    assert found[0].numbers == "rejected at 2 of 2 arms"
    assert found[1].numbers == "positive at 1 of 2 arms"
