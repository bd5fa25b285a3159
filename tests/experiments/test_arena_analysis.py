"""The analysis, on runs made by hand."""

import numpy as np
import pytest
from scipy.stats import ttest_rel, wilcoxon

from tailproof.experiments.arena.analysis import Table, one_sided
from tailproof.experiments.arena.claims import claims
from tailproof.experiments.arena.plan import Plan
from tailproof.experiments.arena.records import Run
from tailproof.experiments.arena.report import html, markdown, sections, summary

HEAVY = ("branin", "t1.5")
LIGHT = ("branin", "gaussian")
TRAP = ("trap", "trap")


def run(contestant, seed, simple, cell=HEAVY, **more):
    return Run(*cell, contestant, seed, (simple + 0.5, simple), (1.0, 10.0 * simple), **more)


def runs_of(values, cell=HEAVY):
    return [
        run(who, seed, value, cell)
        for who, row in values.items()
        for seed, value in enumerate(row)
        if value is not None
    ]


def test_means_standard_errors_and_ranks_of_a_cell():
    table = Table(runs_of({"tailproof": [0.1, 0.3], "random": [0.5, 0.5], "gp-ucb": [0.0, 0.2]}))
    ours, random, plain = table.entries()
    assert (ours.simple, ours.simple_error) == pytest.approx((0.2, 0.1))
    assert (ours.cumulative, ours.cumulative_error) == pytest.approx((2.0, 1.0))
    assert (ours.rank, random.rank, plain.rank) == (2.0, 3.0, 1.0)
    assert random.simple_error == 0.0


def test_ties_share_their_rank():
    ranks = Table(runs_of({"tailproof": [0.1], "random": [0.1], "gp-ucb": [0.4]})).ranks(HEAVY)
    assert ranks == {"tailproof": 1.5, "random": 1.5, "gp-ucb": 3.0}


def test_ranks_come_from_the_seeds_all_share():
    values = {"tailproof": [0.1, 9.0, 9.0], "random": [0.2, None, None]}
    table = Table(runs_of(values))
    assert table.shared_seeds(HEAVY) == (0,)
    assert table.ranks(HEAVY)["tailproof"] == 1.0
    assert table.entries()[0].seeds == 3  # its own mean is over all it has


def test_mean_ranks_are_over_cells_everybody_has_played():
    runs = runs_of({"tailproof": [0.1], "random": [0.2]})
    runs += runs_of({"tailproof": [0.9], "random": [0.2]}, ("arms", "pareto"))
    runs += runs_of({"tailproof": [0.9]}, ("rkhs", "pareto"))
    ranked = {one.contestant: one for one in Table(runs).mean_ranks("heavy")}
    assert ranked["tailproof"].mean_rank == 1.5
    assert ranked["tailproof"].cells == 2


def test_the_pools_are_what_their_words_say():
    cells = [HEAVY, LIGHT, TRAP, ("arms", "t3")]
    table = Table([run("tailproof", 0, 0.1, cell) for cell in cells])
    assert set(table.pool("heavy")) == {HEAVY, TRAP, ("arms", "t3")}
    assert set(table.pool("heavy without t(3)")) == {HEAVY, TRAP}
    assert set(table.pool("heavy without the trap")) == {HEAVY, ("arms", "t3")}
    assert table.pool("gaussian") == (LIGHT,)


def test_paired_tests_use_the_pairs_both_have_and_agree_with_scipy():
    rng = np.random.default_rng(0)
    ours, theirs = rng.random(12), rng.random(12) + 0.3
    runs = runs_of({"tailproof": ours, "random": [*theirs[:10], None, None]})
    found = Table(runs).paired("heavy", "random")
    assert found is not None
    assert found.pairs == 10
    assert found.difference == pytest.approx((theirs[:10] - ours[:10]).mean())
    t = ttest_rel(theirs[:10], ours[:10], alternative="greater").pvalue
    signed = wilcoxon(theirs[:10] - ours[:10], alternative="greater").pvalue
    assert (found.t, found.wilcoxon) == pytest.approx((t, signed))
    assert found.wins + found.losses == 10


def test_a_worse_contestant_is_never_significantly_better():
    t, signed = one_sided(-np.array([0.1, 0.2, 0.3, 0.4]))
    assert t is not None
    assert signed is not None
    assert min(t, signed) > 0.9
    assert one_sided(np.array([0.5])) == (None, None)
    assert one_sided(np.full(3, 0.5))[0] == 0.0


def test_nothing_shared_is_nothing_compared():
    runs = [run("tailproof", 0, 0.1), run("random", 1, 0.2)]
    assert Table(runs).paired("heavy", "random") is None
    assert Table(runs).mean_ranks("heavy") == []


def claim(found, words):
    (one,) = [one for one in found if words in one.text]
    return one


def complete(better=0.2, gaussian=1.1, ours="mean", robust="median"):
    """Ours better by `better` under heavy tails; its Gaussian regret `gaussian` times random's."""
    noise = np.linspace(0.0, 0.05, 8)
    runs = runs_of({"tailproof": 0.3 + noise, "student-t-gp": 0.3 + better + noise[::-1]})
    runs += runs_of({"tailproof": [0.1 * gaussian] * 8, "student-t-gp": [0.1] * 8}, LIGHT)
    for seed in range(8):
        runs.append(run("tailproof", seed, 0.1, TRAP, place=ours))
        runs.append(run("student-t-gp", seed, 0.5, TRAP, place=robust))
    return runs


def test_the_claims_hold_where_they_should():
    found = claims(Table(complete()))
    assert all(one.holds for one in found)
    assert "ratio 1.100" in claim(found, "within 15%").figures


def test_each_claim_fails_on_its_own():
    worse = claims(Table(complete(better=-0.5)))
    assert not claim(worse, "lower mean simple regret than Student-t GP").holds
    assert not claim(claims(Table(complete(gaussian=1.2))), "within 15%").holds
    lost = claims(Table(complete(ours="median")))
    assert not claim(lost, "finds the best mean").holds
    assert claim(lost, "best median").holds
    assert not claim(claims(Table(complete(robust="mean"))), "best median").holds


def test_a_tie_is_not_the_best_rank():
    table = Table(runs_of({"tailproof": [0.1, 0.2], "random": [0.1, 0.2]}))
    assert not claim(claims(table), "simple regret, heavy without t(3)").holds


def test_without_ours_there_is_nothing_to_claim():
    assert claims(Table(runs_of({"random": [0.1], "gp-ucb": [0.2]}))) == []


def test_other_recommendations_are_compared_but_lie_on_no_hill():
    runs = [run("tailproof", 0, 0.1, TRAP, place="mean")]
    runs += [run("optuna-gp", 0, 0.4, TRAP, place="median")]
    runs += [run("optuna-gp: posterior mean", 0, 0.3, TRAP)]
    table = Table(runs)
    assert set(table.places()) == {"tailproof", "optuna-gp"}
    assert table.ranks(TRAP)["optuna-gp: posterior mean"] == 2.0


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


def test_the_report_s_curve_needs_every_cell_of_its_panel():
    runs = runs_of({"tailproof": [0.1], "random": [0.3]})
    runs += runs_of({"tailproof": [0.3]}, ("arms", "t1.5"))
    table = Table(runs)
    cells = (HEAVY, ("arms", "t1.5"))
    assert table.curve(cells, "tailproof") == pytest.approx([0.7, 0.2])
    assert table.curve(cells, "random") is None
