"""What the arena claims, on runs made by hand: holds, does not hold, or open."""

import numpy as np
import pytest

from rival_runs import (
    ALL_HEAVY,
    ALL_LIGHT,
    CELLS,
    HEAVY,
    LIGHT,
    TRAP,
    complete,
    everywhere,
    peer,
    run,
    runs_of,
)
from rivals.analysis import Table, one_sided
from rivals.claims import FAILS, HOLDS, LEVEL, OPEN, claims
from rivals.plan import SEEDS


def claim(found, words):
    (one,) = [one for one in found if words in one.text]
    return one


def test_the_claims_hold_where_they_should():
    found = claims(Table(complete()))
    assert len(found) == 7
    assert {one.outcome for one in found} == {HOLDS}
    assert {one.verdict for one in found} == {HOLDS}
    assert {one.seeds for one in found} == {SEEDS}
    assert "ratio 1.100" in claim(found, "within 15%").figures


def test_each_claim_fails_on_its_own():
    worse = claims(Table(complete(better=-0.5)))
    assert claim(worse, "lower mean simple regret than Student-t GP").outcome == FAILS
    assert claim(claims(Table(complete(gaussian=1.2))), "within 15%").outcome == FAILS
    lost = claims(Table(complete(ours="median")))
    assert claim(lost, "finds the best mean").outcome == FAILS
    assert claim(lost, "best median").outcome == HOLDS
    assert claim(claims(Table(complete(robust="mean"))), "best median").outcome == FAILS


def test_one_seed_short_of_the_standard_every_claim_is_open():
    found = claims(Table(complete(seeds=SEEDS - 1)))
    assert len(found) == 7
    assert {one.verdict for one in found} == {"open, points to yes"}
    assert {one.seeds for one in found} == {SEEDS - 1}  # no cell is missing
    other = claims(Table(complete(-0.5, 1.2, "median", "mean", seeds=SEEDS - 1)))
    assert {one.outcome for one in other} == {OPEN}
    assert claim(other, "lower mean simple regret").verdict == "open, points to no"
    assert claim(other, "within 15%").verdict == "open, points to no"
    assert claim(other, "finds the best mean").verdict == "open, points to no"
    assert claim(other, "best median").verdict == "open, points to no"


def test_the_figures_say_how_many_seeds_a_claim_rests_on():
    found = claims(Table(complete(seeds=3)))
    for words, cells in (
        ("best mean rank of all in simple regret, heavy without t(3)", "26 of 26 cells"),
        ("lower mean simple", "31 of 31 cells"),
    ):
        assert f"{cells} with 3 or more shared seeds" in claim(found, words).figures
    gaussian = claim(found, "within 15%").figures
    assert "5 of 5 cells with 3 or more shared seeds; 1 of 1 rivals" in gaussian
    assert claim(found, "finds the best mean").figures == "100% of 3 seeds"
    assert claim(found, "best median").figures == "Student-t GP 100% of 3 seeds"


def test_a_peer_s_single_seed_leaves_the_others_decided():
    runs = complete() + peer("botorch-ucb", 1, CELLS, 0.05)
    found = claims(Table(runs))
    steady = claim(found, "of all with 20 seeds in simple regret, heavy without t(3)")
    everybody = claim(found, "of all in simple regret, heavy without t(3)")
    assert (steady.outcome, steady.seeds) == (HOLDS, SEEDS)
    assert "1.00; best rival Student-t GP 2.00" in steady.figures
    assert "2 contestants" in steady.figures
    assert (everybody.verdict, everybody.seeds) == ("open, points to no", 1)
    assert "2.00; best rival BoTorch UCB 1.00" in everybody.figures
    assert claim(found, "regret than Student-t GP").outcome == HOLDS
    assert claim(found, "regret than BoTorch UCB").verdict == "open, points to no"
    assert claim(found, "best rival with 20 seeds").outcome == HOLDS
    assert claim(found, "best rival in mean").verdict == "open, points to no"


def test_a_rival_that_looks_weak_on_one_seed_still_leaves_the_claim_about_all_open():
    """Nearer to ours in the figures is the rival with all its seeds; the other may come closer."""
    runs = complete() + peer("botorch-ucb", 1, CELLS, 0.9)
    one = claim(claims(Table(runs)), "best rival in mean")
    assert "Student-t GP" in one.figures
    assert (one.verdict, one.seeds) == ("open, points to yes", 1)


def test_a_robust_peer_s_single_seed_leaves_the_trap_decided():
    runs = complete() + peer("botorch-rrp", 1, (TRAP,), 0.9, place="mean")
    found = claims(Table(runs))
    steady = claim(found, "rivals with 20 seeds find the best median")
    assert (steady.outcome, steady.figures) == (HOLDS, "Student-t GP 100% of 20 seeds")
    everybody = claim(found, "rivals find the best median")
    assert everybody.verdict == "open, points to no"
    assert "BoTorch RRP 0% of 1 seeds" in everybody.figures


def test_a_claim_about_a_pool_is_open_while_a_cell_is_missing():
    runs = complete() + peer("botorch-ucb", SEEDS, (TRAP,), 0.9)
    found = claims(Table(runs))
    one = claim(found, "regret than BoTorch UCB")
    assert (one.verdict, one.seeds) == ("open, points to yes", 0)
    assert "1 of 31 cells with 20 or more shared seeds" in one.figures
    assert claim(found, "of all in simple regret, heavy without t(3)").outcome == OPEN
    assert (
        claim(found, "of all with 20 seeds in simple regret, heavy without t(3)").outcome == HOLDS
    )
    # It has played no Gaussian cell at all, and could be the best there.
    assert claim(found, "best rival in mean").verdict == "open, points to yes"
    assert "1 of 2 rivals" in claim(found, "best rival in mean").figures


@pytest.mark.parametrize("cells", [(HEAVY,), [cell for cell in ALL_HEAVY if cell != HEAVY]])
def test_cells_that_nobody_has_played_leave_the_claims_about_the_pool_open(cells):
    """All seeds of one cell, or of all cells but one, do not speak of the whole arena."""
    values = {"tailproof": [0.1] * SEEDS, "random": [0.5] * SEEDS}
    found = claims(Table(everywhere(values, cells)))
    about = [one for one in found if "simple regret" in one.text]
    assert len(about) == 4  # ranks in three pools, and a pair
    assert {(one.verdict, one.seeds) for one in about} == {("open, points to yes", 0)}
    assert f"{len(cells)} of 31 cells with 20 or" in claim(found, "regret than random").figures
    whole = claims(Table(everywhere(values, ALL_HEAVY)))
    assert {one.outcome for one in whole if "simple regret" in one.text} == {HOLDS}


def test_a_large_gap_in_the_trap_does_not_outweigh_noise_everywhere_else():
    """The trap has one law and the others six: means of a problem's laws would count it sixfold."""
    noise, trap = np.tile([0.1, -0.1], SEEDS // 2), np.full(SEEDS, 0.3)
    others = [cell for cell in ALL_HEAVY if cell != TRAP]
    runs = everywhere({"tailproof": [0.5] * SEEDS, "random": 0.5 + noise}, others)
    runs += runs_of({"tailproof": [0.5] * SEEDS, "random": 0.5 + trap}, TRAP)
    table = Table(runs)
    found = table.paired("heavy", "random")
    assert (found.groups, found.cells) == (6 * SEEDS, 31)
    means, sums = (np.concatenate([*[laws * noise] * 5, trap]) for laws in (1, 6))
    assert one_sided(means)[0] < LEVEL < one_sided(sums)[0]
    assert (found.t, found.wilcoxon) == pytest.approx(one_sided(sums))
    assert found.difference == pytest.approx(sums.sum() / found.pairs)
    assert found.difference > 0.0
    assert claim(claims(table), "regret than random search").outcome == FAILS


def test_seeds_that_are_not_the_same_are_not_shared():
    runs = everywhere({"tailproof": [0.1] * SEEDS}, ALL_HEAVY)
    runs += everywhere({"random": [None] * 5 + [0.5] * SEEDS}, ALL_HEAVY)
    found = claims(Table(runs))
    assert claim(found, "regret than random search").seeds == SEEDS - 5
    assert claim(found, "simple regret, heavy without t(3)").outcome == OPEN


def test_the_gaussian_claim_shows_an_interval_and_is_decided_by_the_ratio():
    theirs = np.tile([0.1, 0.3], SEEDS // 2)
    ours = 1.14 * theirs.mean() + np.tile([-0.05, 0.05], SEEDS // 2)
    runs = everywhere({"tailproof": [0.1] * SEEDS, "random": [0.5] * SEEDS}, ALL_HEAVY)
    table = Table(runs + everywhere({"tailproof": ours, "random": theirs}, ALL_LIGHT))
    low, high = table.ratio_interval("gaussian", "random")
    assert low < 1.14 < 1.15 < high
    one = claim(claims(table), "best rival in mean")
    assert one.outcome == HOLDS
    words = f"90% bootstrap interval {low:.3f} to {high:.3f} over 100 problems and seeds"
    assert f"ratio 1.140, which decides ({words})" in one.figures
    few = Table(runs_of({"tailproof": [0.1], "random": [0.1]}, LIGHT))
    assert "too few problems and seeds for an interval" in claim(claims(few), "within 15%").figures


def test_the_interval_is_that_of_the_worst_rival():
    rng = np.random.default_rng(5)
    values = {"tailproof": 1.0 + 0.1 * rng.random(SEEDS), "random": 2.0 + rng.random(SEEDS)}
    values["gp-ucb"] = 0.9 + 0.1 * rng.random(SEEDS)
    table = Table(runs_of(values, LIGHT))
    low, high = table.ratio_interval("gaussian", "gp-ucb")
    figures = claim(claims(table), "within 15%").figures
    assert f"interval {low:.3f} to {high:.3f}" in figures
    assert low > 1.0


def test_where_nobody_has_gaussian_regret_left_the_ratio_is_one():
    none = {"tailproof": [0.0] * SEEDS, "random": [0.0] * SEEDS}
    one = claim(claims(Table(everywhere(none, ALL_LIGHT))), "within 15%")
    assert one.outcome == HOLDS
    assert "ratio 1.000, which decides" in one.figures
    assert "interval 1.000 to 1.000" in one.figures
    some = none | {"tailproof": [0.0] * (SEEDS - 1) + [0.1]}
    one = claim(claims(Table(everywhere(some, ALL_LIGHT))), "within 15%")
    assert one.outcome == FAILS
    assert "ratio inf, which decides" in one.figures


def test_a_tie_is_not_the_best_rank():
    values = {"tailproof": [0.1, 0.2] * 10, "random": [0.1, 0.2] * 10}
    table = Table(everywhere(values, ALL_HEAVY))
    assert claim(claims(table), "simple regret, heavy without t(3)").outcome == FAILS


def test_without_ours_there_is_nothing_to_claim():
    assert claims(Table(runs_of({"random": [0.1], "gp-ucb": [0.2]}))) == []


def test_other_recommendations_are_compared_but_lie_on_no_hill():
    runs = [run("tailproof", 0, 0.1, TRAP, place="mean")]
    runs += [run("optuna-gp", 0, 0.4, TRAP, place="median")]
    runs += [run("optuna-gp: posterior mean", 0, 0.3, TRAP)]
    table = Table(runs)
    assert set(table.places()) == {"tailproof", "optuna-gp"}
    assert table.ranks(TRAP)["optuna-gp: posterior mean"] == 2.0
