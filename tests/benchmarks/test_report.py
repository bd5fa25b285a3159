"""What the arena's report says, on runs made by hand."""

import pytest

from rival_runs import ALL_HEAVY, ALL_LIGHT, CELLS, HEAVY, complete, peer, run, runs_of
from rivals.analysis import Table
from rivals.plan import SEEDS, Plan
from rivals.report import html, markdown, sections, summary


def test_lost_cells_and_failures_are_told_plainly():
    runs = runs_of({"tailproof": [0.9, 0.9], "random": [0.2, 0.2]})
    runs.append(run("gp-ucb", 0, 1.9, error="ValueError: no | good"))
    plan = Plan(evaluations=25 + 5)
    text = markdown(sections(runs, plan), plan, ["A notice."])
    assert "| Branin, Student-t 1.5 | lost | 2 of 3 | random search | 1 |" in text
    assert "ValueError: no \\| good" in text
    assert "A notice." in text
    page = html(sections(runs, plan), plan, ["A <notice>."])
    assert "A &lt;notice&gt;." in page
    assert "data:image/svg+xml;base64," in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert summary(runs)["cells"][0]["rank"] == 2.0


def test_failed_fits_are_told_and_matches_counted_once():
    plan, failed = Plan(evaluations=25 + 5), "ValueError: no fit"
    runs = runs_of({"tailproof": [0.9, 0.9], "random": [0.2, 0.2]})
    runs += [run("botorch-rrp", seed, 1.0, failed_fits=2) for seed in (0, 1)]
    names = ("optuna-gp", "optuna-gp: posterior mean")
    runs += [run(name, 0, 1.9, error=failed, failed_fits=1) for name in names]
    text = markdown(sections(runs, plan), plan)
    assert "\n1 of 7. The rounds not played" in text
    assert "as it stood: BoTorch RRP 4 and Optuna GPSampler 1." in text
    assert "as it stood" not in markdown(sections(runs[:4], plan), plan)


def test_the_report_tells_open_claims_from_those_that_hold():
    plan = Plan(evaluations=25 + 5)
    runs = complete() + peer("botorch-ucb", 1, CELLS, 0.05)
    parts = sections(runs, plan)
    text, page = markdown(parts, plan), html(parts, plan)
    assert "Of 12 statements 7 hold in these runs, 0 do not, and 5 are open" in text
    row = "| best mean rank of all{} in simple regret, heavy | {} |"
    assert row.format(" with 20 seeds", "yes") in text
    assert row.format("", "open, points to no") in text
    assert "<td>open, points to no</td>" in page
    assert '<td><span class="yes">yes</span></td>' in page
    found = {one["text"]: one for one in summary(runs)["claims"]}
    one = found["best mean rank of all in simple regret, heavy"]
    assert (one["outcome"], one["points_to_yes"], one["seeds"]) == ("open", False, 1)
    one = found["best mean rank of all with 20 seeds in simple regret, heavy"]
    assert (one["outcome"], one["points_to_yes"], one["seeds"]) == ("holds", True, 20)


def test_the_report_ranks_those_with_all_seeds_apart_from_everybody():
    plan = Plan(evaluations=25 + 5)
    runs = complete() + peer("botorch-ucb", 1, CELLS, 0.05)
    text = markdown(sections(runs, plan), plan)
    steady, rest = text.split("## Mean rank in simple regret, those with 20 seeds")[1].split(
        "## Mean rank in simple regret, everybody"
    )
    everybody = rest.split("## ")[0]
    assert "| tailproof | 1.00 | 1.00 | 1.00 | 2.00 |" in steady
    assert "heavy: 31 of 31 cells with 20 or more seeds" in steady
    assert "BoTorch" not in steady
    assert "| BoTorch UCB | 1.00 | 1.00 | 1.00 | 1.00 |" in everybody
    assert "heavy: 31 of 31 cells with 1 or more seeds" in everybody
    data = summary(runs)
    assert data["standard_seeds"] == 20
    ranked = data["mean_ranks_with_standard_seeds"]["heavy"]
    assert [(one["contestant"], one["seeds"]) for one in ranked] == [
        ("tailproof", 20),
        ("student-t-gp", 20),
    ]
    assert {one["seeds"] for one in data["mean_ranks"]["heavy"]} == {1}
    alone = markdown(sections(complete(), plan), plan)
    assert alone.count("## Mean rank in simple regret") == 1
    assert summary(complete())["mean_ranks_with_standard_seeds"] == {}


def test_who_is_steady_in_one_pool_only_has_no_rank_in_the_other():
    runs = complete() + peer("random", SEEDS, ALL_LIGHT, 0.05)
    runs += peer("random", 1, ALL_HEAVY, 0.05) + peer("gp-ucb", 1, CELLS, 0.05)
    plan = Plan(evaluations=25 + 5)
    text = markdown(sections(runs, plan), plan)
    steady = text.split("those with 20 seeds")[1].split("## ")[0]
    rows = [row.split(" | ")[0] for row in steady.splitlines() if row.startswith("| ")]
    assert rows == ["| contestant", "| ---", "| tailproof", "| Student-t GP", "| random search"]
    dash = "\N{EM DASH}"
    assert f"| random search | {dash} | {dash} | {dash} | 1.00 |" in steady


def test_the_report_s_curve_needs_every_cell_of_its_panel():
    runs = runs_of({"tailproof": [0.1], "random": [0.3]})
    runs += runs_of({"tailproof": [0.3]}, ("arms", "t1.5"))
    table = Table(runs)
    cells = (HEAVY, ("arms", "t1.5"))
    assert table.curve(cells, "tailproof") == pytest.approx([0.7, 0.2])
    assert table.curve(cells, "random") is None
