"""Claims on runs made by hand: they hold, do not hold, or are open."""

import numpy as np
import pytest

from rival_runs import (
    ALL_HEAVY,
    ALL_LIGHT,
    HEAVY,
    LIGHT,
    PROBLEMS,
    TRAP,
    all_runs,
    run,
    runs_of,
    runs_of_method,
    runs_on,
)
from rivals.analysis import Results, one_sided_p_values
from rivals.claims import FAILS, HOLDS, OPEN, SIGNIFICANCE, claims
from rivals.plan import SEEDS


def claim_with(found, words):
    (match,) = [claim for claim in found if words in claim.text]
    return match


def test_the_claims_hold_where_they_should():
    found = claims(Results(all_runs()))
    assert len(found) == 7
    assert {claim.outcome for claim in found} == {HOLDS}
    assert {claim.verdict for claim in found} == {HOLDS}
    assert {claim.seeds for claim in found} == {SEEDS}
    assert "ratio 1.100" in claim_with(found, "within 15%").figures


def test_each_claim_fails_on_its_own():
    worse = claims(Results(all_runs(better=-0.5)))
    assert claim_with(worse, "lower mean simple regret than Student-t GP").outcome == FAILS
    assert claim_with(claims(Results(all_runs(gaussian=1.2))), "within 15%").outcome == FAILS
    lost = claims(Results(all_runs(ours="median")))
    assert claim_with(lost, "finds the best mean").outcome == FAILS
    assert claim_with(lost, "best median").outcome == HOLDS
    assert claim_with(claims(Results(all_runs(robust="mean"))), "best median").outcome == FAILS


def test_one_seed_short_of_the_standard_every_claim_is_open():
    found = claims(Results(all_runs(seeds=SEEDS - 1)))
    assert len(found) == 7
    assert {claim.verdict for claim in found} == {"open, points to yes"}
    assert {claim.seeds for claim in found} == {SEEDS - 1}  # no problem is missing
    other = claims(Results(all_runs(-0.5, 1.2, "median", "mean", seeds=SEEDS - 1)))
    assert {claim.outcome for claim in other} == {OPEN}
    assert claim_with(other, "lower mean simple regret").verdict == "open, points to no"
    assert claim_with(other, "within 15%").verdict == "open, points to no"
    assert claim_with(other, "finds the best mean").verdict == "open, points to no"
    assert claim_with(other, "best median").verdict == "open, points to no"


def test_the_figures_say_how_many_seeds_a_claim_rests_on():
    found = claims(Results(all_runs(seeds=3)))
    for words, count in (
        ("best mean rank of all in simple regret, heavy without t(3)", "26 of 26 problems"),
        ("lower mean simple", "31 of 31 problems"),
    ):
        assert f"{count} with 3 or more shared seeds" in claim_with(found, words).figures
    gaussian = claim_with(found, "within 15%").figures
    assert "5 of 5 problems with 3 or more shared seeds; 1 of 1 rivals" in gaussian
    assert claim_with(found, "finds the best mean").figures == "100% of 3 seeds"
    assert claim_with(found, "best median").figures == "Student-t GP 100% of 3 seeds"


def test_a_rival_with_a_single_seed_leaves_claims_about_the_others_decided():
    runs = all_runs() + runs_of_method("botorch-ucb", 1, PROBLEMS, 0.05)
    found = claims(Results(runs))
    complete = claim_with(found, "of all with 20 seeds in simple regret, heavy without t(3)")
    every = claim_with(found, "of all in simple regret, heavy without t(3)")
    assert (complete.outcome, complete.seeds) == (HOLDS, SEEDS)
    assert "1.00; best rival Student-t GP 2.00" in complete.figures
    assert "2 methods" in complete.figures
    assert (every.verdict, every.seeds) == ("open, points to no", 1)
    assert "2.00; best rival BoTorch UCB 1.00" in every.figures
    assert claim_with(found, "regret than Student-t GP").outcome == HOLDS
    assert claim_with(found, "regret than BoTorch UCB").verdict == "open, points to no"
    assert claim_with(found, "best rival with 20 seeds").outcome == HOLDS
    assert claim_with(found, "best rival in mean").verdict == "open, points to no"


def test_a_rival_that_looks_weak_on_one_seed_still_leaves_the_claim_about_all_open():
    """Nearer to ours in the figures is the rival with all its seeds; the other may come closer."""
    runs = all_runs() + runs_of_method("botorch-ucb", 1, PROBLEMS, 0.9)
    one = claim_with(claims(Results(runs)), "best rival in mean")
    assert "Student-t GP" in one.figures
    assert (one.verdict, one.seeds) == ("open, points to yes", 1)


def test_a_robust_rival_with_a_single_seed_leaves_the_trap_decided():
    runs = all_runs() + runs_of_method("botorch-rrp", 1, (TRAP,), 0.9, hill="mean")
    found = claims(Results(runs))
    complete = claim_with(found, "rivals with 20 seeds find the best median")
    assert (complete.outcome, complete.figures) == (HOLDS, "Student-t GP 100% of 20 seeds")
    every = claim_with(found, "rivals find the best median")
    assert every.verdict == "open, points to no"
    assert "BoTorch RRP 0% of 1 seeds" in every.figures


def test_a_claim_about_a_pool_is_open_while_a_problem_is_missing():
    runs = all_runs() + runs_of_method("botorch-ucb", SEEDS, (TRAP,), 0.9)
    found = claims(Results(runs))
    one = claim_with(found, "regret than BoTorch UCB")
    assert (one.verdict, one.seeds) == ("open, points to yes", 0)
    assert "1 of 31 problems with 20 or more shared seeds" in one.figures
    assert claim_with(found, "of all in simple regret, heavy without t(3)").outcome == OPEN
    assert (
        claim_with(found, "of all with 20 seeds in simple regret, heavy without t(3)").outcome
        == HOLDS
    )
    # It has no runs on Gaussian problems, and could be the best there.
    assert claim_with(found, "best rival in mean").verdict == "open, points to yes"
    assert "1 of 2 rivals" in claim_with(found, "best rival in mean").figures


@pytest.mark.parametrize("problems", [(HEAVY,), [name for name in ALL_HEAVY if name != HEAVY]])
def test_problems_without_runs_leave_claims_about_the_pool_open(problems):
    """All seeds of one problem, or of all problems but one, do not decide about the pool."""
    regrets = {"tailproof": [0.1] * SEEDS, "random": [0.5] * SEEDS}
    found = claims(Results(runs_on(regrets, problems)))
    about = [claim for claim in found if "simple regret" in claim.text]
    assert len(about) == 4  # ranks in three pools, and a pair
    assert {(claim.verdict, claim.seeds) for claim in about} == {("open, points to yes", 0)}
    assert (
        f"{len(problems)} of 31 problems with 20 or"
        in claim_with(found, "regret than random").figures
    )
    whole = claims(Results(runs_on(regrets, ALL_HEAVY)))
    assert {claim.outcome for claim in whole if "simple regret" in claim.text} == {HOLDS}


def test_a_large_gap_in_the_trap_does_not_outweigh_noise_everywhere_else():
    """With means over laws in place of sums, the trap's one law would weigh as much as six."""
    noise, trap = np.tile([0.1, -0.1], SEEDS // 2), np.full(SEEDS, 0.3)
    others = [name for name in ALL_HEAVY if name != TRAP]
    runs = runs_on({"tailproof": [0.5] * SEEDS, "random": 0.5 + noise}, others)
    runs += runs_of({"tailproof": [0.5] * SEEDS, "random": 0.5 + trap}, TRAP)
    results = Results(runs)
    found = results.paired("heavy", "random")
    assert (found.groups, found.problems) == (6 * SEEDS, 31)
    means, sums = (np.concatenate([*[laws * noise] * 5, trap]) for laws in (1, 6))
    assert one_sided_p_values(means)[0] < SIGNIFICANCE < one_sided_p_values(sums)[0]
    assert (found.t, found.wilcoxon) == pytest.approx(one_sided_p_values(sums))
    assert found.difference == pytest.approx(sums.sum() / found.pairs)
    assert found.difference > 0.0
    assert claim_with(claims(results), "regret than random search").outcome == FAILS


def test_seeds_that_are_not_the_same_are_not_shared():
    runs = runs_on({"tailproof": [0.1] * SEEDS}, ALL_HEAVY)
    runs += runs_on({"random": [None] * 5 + [0.5] * SEEDS}, ALL_HEAVY)
    found = claims(Results(runs))
    assert claim_with(found, "regret than random search").seeds == SEEDS - 5
    assert claim_with(found, "simple regret, heavy without t(3)").outcome == OPEN


def test_the_gaussian_claim_shows_an_interval_and_is_decided_by_the_ratio():
    theirs = np.tile([0.1, 0.3], SEEDS // 2)
    ours = 1.14 * theirs.mean() + np.tile([-0.05, 0.05], SEEDS // 2)
    runs = runs_on({"tailproof": [0.1] * SEEDS, "random": [0.5] * SEEDS}, ALL_HEAVY)
    results = Results(runs + runs_on({"tailproof": ours, "random": theirs}, ALL_LIGHT))
    low, high = results.ratio_interval("gaussian", "random")
    assert low < 1.14 < 1.15 < high
    one = claim_with(claims(results), "best rival in mean")
    assert one.outcome == HOLDS
    words = f"90% bootstrap interval {low:.3f} to {high:.3f} over 100 objectives and seeds"
    assert f"ratio 1.140, which decides ({words})" in one.figures
    few = Results(runs_of({"tailproof": [0.1], "random": [0.1]}, LIGHT))
    assert (
        "too few objectives and seeds for an interval"
        in claim_with(claims(few), "within 15%").figures
    )


def test_the_interval_is_that_of_the_worst_rival():
    rng = np.random.default_rng(5)
    regrets = {"tailproof": 1.0 + 0.1 * rng.random(SEEDS), "random": 2.0 + rng.random(SEEDS)}
    regrets["gp-ucb"] = 0.9 + 0.1 * rng.random(SEEDS)
    results = Results(runs_of(regrets, LIGHT))
    low, high = results.ratio_interval("gaussian", "gp-ucb")
    figures = claim_with(claims(results), "within 15%").figures
    assert f"interval {low:.3f} to {high:.3f}" in figures
    assert low > 1.0


def test_where_no_method_has_gaussian_regret_the_ratio_is_one():
    none = {"tailproof": [0.0] * SEEDS, "random": [0.0] * SEEDS}
    one = claim_with(claims(Results(runs_on(none, ALL_LIGHT))), "within 15%")
    assert one.outcome == HOLDS
    assert "ratio 1.000, which decides" in one.figures
    assert "interval 1.000 to 1.000" in one.figures
    some = none | {"tailproof": [0.0] * (SEEDS - 1) + [0.1]}
    one = claim_with(claims(Results(runs_on(some, ALL_LIGHT))), "within 15%")
    assert one.outcome == FAILS
    assert "ratio inf, which decides" in one.figures


def test_a_tie_is_not_the_best_rank():
    regrets = {"tailproof": [0.1, 0.2] * 10, "random": [0.1, 0.2] * 10}
    results = Results(runs_on(regrets, ALL_HEAVY))
    assert claim_with(claims(results), "simple regret, heavy without t(3)").outcome == FAILS


def test_without_ours_there_is_nothing_to_claim():
    assert claims(Results(runs_of({"random": [0.1], "gp-ucb": [0.2]}))) == []


def test_other_recommendations_are_compared_but_lie_on_no_hill():
    runs = [run("tailproof", 0, 0.1, TRAP, hill="mean")]
    runs += [run("optuna-gp", 0, 0.4, TRAP, hill="median")]
    runs += [run("optuna-gp: posterior mean", 0, 0.3, TRAP)]
    results = Results(runs)
    assert set(results.trap_shares()) == {"tailproof", "optuna-gp"}
    assert results.ranks(TRAP)["optuna-gp: posterior mean"] == 2.0
