"""The summary holds means, deviations and the paper's values; timings are kept apart."""

import pytest

from figure_records import falling, plan_of
from tailproof.experiments.measures import regrets
from tailproof.experiments.results import summary, timings


def test_the_summary_has_mean_deviation_paper_and_difference():
    plan = plan_of("a", ("tgp", "qff", "nystrom"))
    records = falling(plan)
    panel = summary(plan, records)["panels"]["a"]
    curve = panel["policies"]["tgp"]["curve"]
    values = regrets(plan.panels[0], records, "tgp")[:, -1]
    assert curve[-1] == {
        "round": 20_000,
        "mean": pytest.approx(values.mean()),
        "sd": pytest.approx(values.std(ddof=1)),
        "paper": 0.35,
        "difference": pytest.approx(values.mean() - 0.35),
    }
    assert curve[0]["paper"] is None
    assert panel["crossings"]["nystrom"]["paper"] == 10_000


def test_timings_are_rounds_per_second_and_end_with_the_last_run():
    plan = plan_of("a", ("tgp",))
    records = falling(plan)
    records["a", "tgp", 0]["cpu_seconds"] = 500.0  # it compiled
    content = timings(plan, records, "2 worker processes")
    assert content["rounds_per_second"]["a"]["tgp"] == pytest.approx(10_000.0)
    assert content["seconds"] == 20.0
