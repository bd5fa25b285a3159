"""Panel g: runs at every horizon, on the instance made for it, beside what is proven."""

import numpy as np
import pytest

from figure_panels import PANELS, tasks
from tailproof.experiments import lower_bound
from tailproof.experiments.plan import Size, make_plan
from tailproof.experiments.repetition import run_repetition
from tailproof.experiments.statements import check_statements

PANEL = PANELS["g"]
KEYS = ("tgp", "nystrom", "gp")


@pytest.fixture(scope="module")
def small():
    plan = make_plan({"g": PANEL}, {"g": Size(300, 2)}, seed=0, policies=KEYS)
    return plan, {task.name: run_repetition(task) for task in plan.tasks()}


def test_horizons_are_a_hundredth_of_the_rounds_up_to_all():
    assert PANEL.recorded_rounds.tolist() == [100, 251, 631, 1585, 3981, 10_000]
    assert PANEL.rounds_in_all == sum(PANEL.recorded_rounds)
    assert PANEL.at_paper_size


def test_a_problem_has_its_peak_among_the_arms_and_norm_b():
    source = PANEL.source
    task = tasks("g")[0]
    problem = source.problem_at(1000, task.generator)
    hard = source.instance(1000)
    assert hard.norm == pytest.approx(source.norm_bound)
    assert problem.gap.min() == pytest.approx(0.0, abs=1e-12)
    assert problem.gap.max() <= 2 * hard.gap * 1.3  # side lobes of the bump are below a tenth
    assert problem.moment.v == source.v


def test_regret_is_between_nothing_and_what_no_policy_can_exceed(small):
    plan, records = small
    panel = plan.panels[0]
    found = lower_bound.growth(panel, panel.source, records)
    largest = np.array(found.largest) / panel.recorded_rounds
    for record in records.values():
        regret = np.array(record["regret_per_round"])
        assert (regret >= 0.0).all()
        assert (regret <= 1.3 * largest).all()
    assert set(found.slopes) == set(KEYS)
    assert found.upper_slopes["Theorem 1"] == pytest.approx(2.5 / 3)
    np.testing.assert_allclose(np.array(found.proven) * 2, found.largest)


def test_the_same_task_gives_the_same_record():
    task = tasks("g", rounds=100)[0]
    first, second = run_repetition(task), run_repetition(task)
    assert first["regret_per_round"] == second["regret_per_round"]


def test_the_statement_of_the_proof_is_checked_at_full_size():
    plan = make_plan({"g": PANEL}, {}, seed=0, policies=("tgp",))
    panel = plan.panels[0]
    gaps = np.array([panel.source.instance(int(T)).gap for T in panel.recorded_rounds])
    for factor, holds in ((1.5, True), (0.9, False)):
        record = {"regret_per_round": (factor * gaps).tolist(), "beta": 1.0}
        records = {task.name: record for task in plan.tasks()}
        (statement,) = check_statements(plan, records)
        assert statement.holds is holds
        assert "at least T Delta" in statement.text


def test_the_figure_shows_policies_and_rates(small):
    plan, records = small
    panel = plan.panels[0]
    figure = lower_bound.draw(panel, panel.source, records)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    for words in ("TGP-UCB, slope", "2 T", "C = 1", "Theorem 2's rate", "Theorem 1: upper rate"):
        assert any(words in label for label in labels), words
