"""Claims about the results: each holds, does not hold, or is open, with its figures.

A claim is open while it rests on fewer seeds than the standard number. Some methods may have fewer
seeds than others, so a claim about all methods is also made about those with the standard number:
a rival with a single seed does not leave everything undecided.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from rivals.analysis import (
    CONFIDENCE,
    MeanRank,
    PairedComparison,
    Results,
    pool_size,
    regret_ratio,
)
from rivals.methods import METHODS, OURS, method_title
from rivals.plan import SEEDS

SIGNIFICANCE = 0.05
MARGIN = 0.15  # by which ours may be worse than the best rival under Gaussian noise
MAJORITY = 0.5  # share of seeds above which a method "finds" a hill of the trap
HOLDS, FAILS, OPEN = "holds", "does not hold", "open"
WITH_ALL_SEEDS = f" with {SEEDS} seeds"  # in claims that leave out methods with fewer


@dataclass(frozen=True)
class Claim:
    """A statement, whether the figures support it, and the seeds they rest on.

    `seeds` is the smallest number on a problem; 0 where a problem of the pool is missing. With
    fewer than `needed` the claim is open.
    """

    text: str
    supported: bool
    seeds: int
    figures: str
    needed: int = SEEDS

    @property
    def outcome(self) -> str:
        """Return "holds", "does not hold" or, on fewer seeds than the standard number, "open"."""
        if self.seeds < self.needed:
            return OPEN
        return HOLDS if self.supported else FAILS

    @property
    def verdict(self) -> str:
        """Return the outcome, with what the figures point to if it is open.

        Examples
        --------
        >>> Claim("all is well", True, 2, "2 of 2").verdict
        'open, points to yes'
        """
        if self.outcome != OPEN:
            return self.outcome
        return f"{OPEN}, points to {'yes' if self.supported else 'no'}"


def claims(results: Results) -> list[Claim]:
    """Return every claim the runs allow; none without ours and a rival."""
    if OURS not in results.methods or not results.rivals:
        return []
    return [
        *_rank_claims(results),
        *_paired_claims(results),
        *_gaussian_claims(results),
        *_trap_claims(results),
    ]


def methods_with_all_seeds(results: Results, pool: str) -> tuple[str, ...]:
    """Return the methods with the standard number of seeds on all problems of a pool.

    None if these are all methods, or a single one, which has no one to be ranked against.
    """
    methods = results.methods_with_seeds(pool, SEEDS)
    return methods if 1 < len(methods) < len(results.methods) else ()


def _groups_of_methods(results: Results, pool: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the methods a claim is made about and their description: with all seeds, and all."""
    complete = methods_with_all_seeds(results, pool)
    return [*([(WITH_ALL_SEEDS, complete)] if OURS in complete else []), ("", results.methods)]


def _seeds_of_whole_pool(pool: str, found: MeanRank | PairedComparison) -> int:
    """Return the seeds a claim about a whole pool rests on: 0 where problems are missing."""
    return found.seeds if found.problems == pool_size(pool) else 0


def _coverage(pool: str, found: MeanRank | PairedComparison) -> str:
    return f"{found.problems} of {pool_size(pool)} problems with {found.seeds} or more shared seeds"


def _rank_claims(results: Results) -> list[Claim]:
    found = []
    for pool in ("heavy", "heavy without t(3)", "heavy without the trap"):
        for description, methods in _groups_of_methods(results, pool):
            ranks = results.mean_ranks(pool, methods)  # the best comes first
            if not ranks:
                continue
            ours = next(rank for rank in ranks if rank.method == OURS)
            rival = next(rank for rank in ranks if rank.method != OURS)
            found.append(
                Claim(
                    f"best mean rank of all{description} in simple regret, {pool}",
                    ours.mean_rank < rival.mean_rank,
                    _seeds_of_whole_pool(pool, ours),
                    f"{ours.mean_rank:.2f}; best rival {method_title(rival.method)} "
                    f"{rival.mean_rank:.2f}; {_coverage(pool, ours)}, {len(ranks)} methods",
                )
            )
    return found


def _paired_claims(results: Results) -> list[Claim]:
    compared = [results.paired("heavy", rival) for rival in results.rivals]
    return [_paired_claim(found) for found in compared if found is not None]


def _paired_claim(found: PairedComparison) -> Claim:
    p_values = "too few pairs for a test" if found.t is None else f"t test p = {found.t:.2g}"
    if found.wilcoxon is not None:
        p_values += f", Wilcoxon p = {found.wilcoxon:.2g}"
    return Claim(
        f"lower mean simple regret than {method_title(found.rival)}, heavy "
        f"(one-sided, p < {SIGNIFICANCE})",
        found.difference > 0.0 and found.t is not None and found.t < SIGNIFICANCE,
        _seeds_of_whole_pool("heavy", found),
        f"{found.ours:.4f} against {found.theirs:.4f}; {p_values} over "
        f"{found.groups} objectives and seeds; {found.pairs} pairs on "
        f"{_coverage('heavy', found)}, {found.wins} better, {found.losses} worse",
    )


def _gaussian_claims(results: Results) -> list[Claim]:
    groups = _groups_of_methods(results, "gaussian")
    found = [_within_margin(results, description, methods) for description, methods in groups]
    return [claim for claim in found if claim is not None]


def _within_margin(results: Results, description: str, methods: Collection[str]) -> Claim | None:
    """Return the claim that ours is within the margin of every rival among the methods."""
    pool = "gaussian"
    rivals = [method for method in methods if method != OURS]
    compared = [found for rival in rivals if (found := results.paired(pool, rival)) is not None]
    if not compared:
        return None
    # Each rival on the pairs it shares with ours, so that one with fewer seeds can be compared.
    ratios = regret_ratio(*np.array([(found.ours, found.theirs) for found in compared]).T)
    worst = int(np.argmax(ratios))
    rival = compared[worst]
    interval = results.ratio_interval(pool, rival.rival)
    uncertainty = (
        "too few objectives and seeds for an interval"
        if interval is None
        else f"{CONFIDENCE:.0%} bootstrap interval {interval[0]:.3f} to {interval[1]:.3f} over "
        f"{rival.groups} objectives and seeds"
    )
    # With another seed any of the rivals could turn out to be the best one.
    fewest = min(_seeds_of_whole_pool(pool, found) for found in compared)
    seeds = fewest if len(compared) == len(rivals) else 0
    return Claim(
        f"within {MARGIN:.0%} of the best rival{description} in mean simple regret, Gaussian",
        bool(ratios[worst] <= 1.0 + MARGIN),
        seeds,
        f"{rival.ours:.4f} against {method_title(rival.rival)} {rival.theirs:.4f}, ratio "
        f"{ratios[worst]:.3f}, which decides ({uncertainty}); {rival.pairs} pairs on "
        f"{_coverage(pool, rival)}; {len(compared)} of {len(rivals)} rivals, the fewest seeds "
        f"shared on a problem: {seeds}",
    )


def _trap_claims(results: Results) -> list[Claim]:
    shares = results.trap_shares()
    if OURS not in shares:
        return []
    ours = shares[OURS]
    found = [
        Claim(
            "the trap: finds the best mean in most seeds",
            ours["mean"] > MAJORITY,
            int(ours["seeds"]),
            f"{ours['mean']:.0%} of {ours['seeds']:.0f} seeds",
        )
    ]
    robust = {method: share for method, share in shares.items() if METHODS[method].robust}
    complete = {method: share for method, share in robust.items() if share["seeds"] >= SEEDS}
    for description, chosen in (
        (WITH_ALL_SEEDS, complete if len(complete) < len(robust) else {}),
        ("", robust),
    ):
        if not chosen:
            continue
        figures = [
            f"{method_title(method)} {share['median']:.0%} of {share['seeds']:.0f} seeds"
            for method, share in chosen.items()
        ]
        found.append(
            Claim(
                f"the trap: the likelihood-robust rivals{description} find the best median in most "
                "seeds",
                all(share["median"] > MAJORITY for share in chosen.values()),
                int(min(share["seeds"] for share in chosen.values())),
                join_words(figures),
            )
        )
    return found


def join_words(items: Sequence[str]) -> str:
    """Join items with commas and a final "and".

    Examples
    --------
    >>> join_words(["a", "b", "c"]), join_words(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))
