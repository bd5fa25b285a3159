"""Statistics and requirements, from runs made by hand."""

import math

import pytest

from practical import page
from practical.analysis import Results, geometric_mean
from practical.catalog import REPORTING, SEEDS, entries
from practical.methods import METHODS, suits
from practical.records import RunResult
from practical.requirements import requirements
from practical.run import RunSpec
from rivals.claims import FAILS, HOLDS, OPEN

FIELDS = {"seconds": 1.0, "error": None, "covered": None, "broken": None, "hill": None}


def result(family, problem, method, seed, regret, **more):
    record = {"simple_regret": regret, "cumulative_regret": 2.0 * regret, **FIELDS, **more}
    return RunResult(RunSpec(family, problem, method, seed), "1.0", record)


def all_runs(families, ours, theirs, seeds=None, **of_ours):
    """Runs of all methods on all problems, with our regret and the rivals'."""
    return [
        result(
            entry.family,
            entry.name,
            method,
            seed,
            (ours if method == "tailproof" else theirs) * (1.0 + 0.01 * seed),
            **(of_ours if method == "tailproof" else {}),
        )
        for entry in entries(REPORTING, families)
        for method in METHODS
        if suits(method, entry.family == "revenue")
        for seed in range(seeds or SEEDS[entry.family])
    ]


def outcomes(runs):
    return {claim.text: claim.outcome for claim in requirements(Results(runs))}


def test_geometric_means_have_a_floor_and_need_every_problem():
    assert geometric_mean([0.0]) == pytest.approx(1e-4)
    assert math.isnan(geometric_mean([]))
    assert math.isnan(geometric_mean([1.0, math.nan]))
    runs = [result("tables", "a", "tpe", 0, 0.1), result("tables", "b", "tpe", 0, 10.0)]
    runs.append(result("tables", "a", "random", 0, 1.0))
    results = Results(runs)
    assert results.family_mean("tables", "tpe") == pytest.approx(1.0)
    assert math.isnan(results.family_mean("tables", "random"))
    assert results.best_rival("tables")[0] == "tpe"


@pytest.mark.parametrize(
    ("family", "good", "bad"),
    [
        ("tables", 0.79, 0.81),
        ("programs", 0.79, 0.81),
        ("noise-0.03", 1.09, 1.11),
        ("noise-free", 1.09, 1.11),
        ("stalls", 0.49, 0.51),
    ],
)
def test_regret_is_held_against_the_best_rival_s(family, good, bad):
    def first(ours):
        return next(iter(outcomes(all_runs((family,), ours, 1.0)).values()))

    assert first(good) == HOLDS
    assert first(bad) == FAILS


def test_no_table_may_be_lost_and_cumulative_regret_is_held_against_tpe():
    runs = all_runs(("tables",), 0.5, 1.0)
    text = "tables: on none more than 1.2 times the best rival's simple regret"
    assert outcomes(runs)[text] == HOLDS
    lost = [
        result(*(r.spec.family, r.spec.problem, "tailproof", r.spec.seed), 1.5)
        if (r.spec.method, r.spec.problem) == ("tailproof", "kc1-val_acc")
        else r
        for r in runs
    ]
    assert outcomes(lost)[text] == FAILS
    cumulative = "tables: geometric mean of cumulative regret at most TPE's"
    assert outcomes(lost)[cumulative] == HOLDS
    assert outcomes(all_runs(("tables",), 1.1, 1.0))[cumulative] == FAILS


def test_under_heavy_noise_ours_must_be_better_than_each_rival():
    found = outcomes(all_runs(("noise-1",), 0.5, 1.0))
    heavy = {text: outcome for text, outcome in found.items() if text.startswith("heavy noise")}
    assert len(heavy) == 1 + sum(m.rival and m.chooses for m in METHODS.values())
    assert set(heavy.values()) == {HOLDS}
    found = outcomes(all_runs(("noise-1",), 1.0, 0.9))
    assert {o for t, o in found.items() if t.startswith("heavy noise")} == {FAILS}


def test_fewer_seeds_problems_or_rivals_leave_a_requirement_open():
    complete = all_runs(("stalls",), 0.1, 1.0)
    (text,) = outcomes(complete)
    assert outcomes(complete) == {text: HOLDS}
    for keep in (
        lambda r: r.spec.seed < 5,
        lambda r: r.spec.method != "gp-5",
    ):
        assert outcomes([r for r in complete if keep(r)]) == {text: OPEN}
    tables = [r for r in all_runs(("tables",), 0.1, 1.0) if r.spec.problem != "kc1-val_acc"]
    assert set(outcomes(tables).values()) == {OPEN}


def test_the_trap_needs_sixteen_of_twenty_seeds():
    for found, expected in ((16, HOLDS), (15, FAILS)):
        runs = [
            result("trap", "trap", "tailproof", seed, 0.1, hill="mean" if seed < found else None)
            for seed in range(20)
        ]
        assert outcomes(runs)["trap: the best mean in at least 16 of 20 seeds"] == expected


def test_revenue_estimates_worst_variants_and_the_sample_mean():
    good = {"ratios": [1.0] * 9 + [2.0], "worst": False}
    assert set(outcomes(all_runs(("revenue",), 0.1, 0.2, **good)).values()) == {HOLDS}
    bad = {"ratios": [1.0] * 8 + [2.0, 0.5], "worst": True}
    assert set(outcomes(all_runs(("revenue",), 0.3, 0.2, **bad)).values()) == {FAILS}


@pytest.mark.parametrize(
    ("covered", "broken", "expected"),
    [(18, 0, (HOLDS, HOLDS)), (20, 0, (FAILS, HOLDS)), (16, 1, (FAILS, FAILS))],
)
def test_intervals_cover_in_about_ninety_percent_and_promises_are_kept(covered, broken, expected):
    runs = [
        result("stalls", "stalls", "tailproof", s, 0.1, covered=s < covered, broken=s < broken)
        for s in range(20)
    ]
    assert tuple(outcomes(runs).values()) == expected


def test_the_page_shows_every_problem_also_the_lost_ones():
    results = Results(all_runs(("tables", "noise-1", "revenue"), 3.0, 1.0, seeds=2))
    text = page.report(results, REPORTING, ["a notice"])
    for family in ("tables", "noise-1", "revenue"):
        for entry in entries(REPORTING, (family,)):
            assert f"| {entry.name} |" in text
    assert "a notice" in text
    assert "open, points to no" in text
    assert "6 of 6" in text
