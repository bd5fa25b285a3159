import pytest

from rival_runs import ALL_HEAVY, ALL_LIGHT, HEAVY, PROBLEMS, all_runs, run, runs_of, runs_of_method
from rivals.analysis import Results
from rivals.plan import SEEDS, Plan
from rivals.report import html, markdown, summary
from rivals.sections import sections


def test_lost_problems_and_failures_are_shown():
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
    assert summary(runs)["problems"][0]["rank"] == 2.0


def test_failed_fits_are_shown_and_runs_counted_once():
    plan, failed = Plan(evaluations=25 + 5), "ValueError: no fit"
    runs = runs_of({"tailproof": [0.9, 0.9], "random": [0.2, 0.2]})
    runs += [run("botorch-rrp", seed, 1.0, failed_fits=2) for seed in (0, 1)]
    names = ("optuna-gp", "optuna-gp: posterior mean")
    runs += [run(name, 0, 1.9, error=failed, failed_fits=1) for name in names]
    text = markdown(sections(runs, plan), plan)
    assert "\n1 of 7. Missing evaluations" in text
    assert "hyperparameters were used: BoTorch RRP 4 and Optuna GPSampler 1." in text
    assert "hyperparameters were used" not in markdown(sections(runs[:4], plan), plan)


def test_the_report_distinguishes_open_claims_from_those_that_hold():
    plan = Plan(evaluations=25 + 5)
    runs = all_runs() + runs_of_method("botorch-ucb", 1, PROBLEMS, 0.05)
    parts = sections(runs, plan)
    text, page = markdown(parts, plan), html(parts, plan)
    assert "Of 12 statements 7 hold in these runs, 0 do not, and 5 are open" in text
    row = "| best mean rank of all{} in simple regret, heavy | {} |"
    assert row.format(" with 20 seeds", "holds") in text
    assert row.format("", "open, points to no") in text
    assert "<td>open, points to no</td>" in page
    assert "<td>holds</td>" in page
    found = {claim["text"]: claim for claim in summary(runs)["claims"]}
    claim = found["best mean rank of all in simple regret, heavy"]
    assert (claim["outcome"], claim["supported"], claim["seeds"]) == ("open", False, 1)
    claim = found["best mean rank of all with 20 seeds in simple regret, heavy"]
    assert (claim["outcome"], claim["supported"], claim["seeds"]) == ("holds", True, 20)


def test_the_report_ranks_methods_with_all_seeds_apart_from_all_methods():
    plan = Plan(evaluations=25 + 5)
    runs = all_runs() + runs_of_method("botorch-ucb", 1, PROBLEMS, 0.05)
    text = markdown(sections(runs, plan), plan)
    complete, after = text.split("## Mean rank in simple regret, methods with 20 seeds")[1].split(
        "## Mean rank in simple regret, all methods"
    )
    every = after.split("## ")[0]
    assert "| tailproof | 1.00 | 1.00 | 1.00 | 2.00 |" in complete
    assert "heavy: 31 of 31 problems with 20 or more seeds" in complete
    assert "BoTorch" not in complete
    assert "| BoTorch UCB | 1.00 | 1.00 | 1.00 | 1.00 |" in every
    assert "heavy: 31 of 31 problems with 1 or more seeds" in every
    data = summary(runs)
    assert data["standard_seeds"] == 20
    ranked = data["mean_ranks_with_standard_seeds"]["heavy"]
    assert [(rank["method"], rank["seeds"]) for rank in ranked] == [
        ("tailproof", 20),
        ("student-t-gp", 20),
    ]
    assert {rank["seeds"] for rank in data["mean_ranks"]["heavy"]} == {1}
    alone = markdown(sections(all_runs(), plan), plan)
    assert alone.count("## Mean rank in simple regret") == 1
    assert summary(all_runs())["mean_ranks_with_standard_seeds"] == {}


def test_a_method_with_all_seeds_in_one_pool_only_has_no_rank_in_the_other():
    runs = all_runs() + runs_of_method("random", SEEDS, ALL_LIGHT, 0.05)
    runs += runs_of_method("random", 1, ALL_HEAVY, 0.05) + runs_of_method(
        "gp-ucb", 1, PROBLEMS, 0.05
    )
    plan = Plan(evaluations=25 + 5)
    text = markdown(sections(runs, plan), plan)
    complete = text.split("regret, methods with 20 seeds")[1].split("## ")[0]
    rows = [row.split(" | ")[0] for row in complete.splitlines() if row.startswith("| ")]
    assert rows == ["| method", "| ---", "| tailproof", "| Student-t GP", "| random search"]
    dash = "\N{EM DASH}"
    assert f"| random search | {dash} | {dash} | {dash} | 1.00 |" in complete


def test_a_curve_needs_every_problem_of_its_panel():
    runs = runs_of({"tailproof": [0.1], "random": [0.3]})
    runs += runs_of({"tailproof": [0.3]}, ("arms", "t1.5"))
    results = Results(runs)
    problems = (HEAVY, ("arms", "t1.5"))
    assert results.curve(problems, "tailproof") == pytest.approx([0.7, 0.2])
    assert results.curve(problems, "random") is None
