"""What the arena must show, each as a yes or no with its figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailproof.experiments.arena.analysis import Table
from tailproof.experiments.arena.contestants import CONTESTANTS, OURS
from tailproof.experiments.arena.records import title_of
from tailproof.experiments.words import listed

LEVEL = 0.05
MARGIN = 0.15  # by which ours may be worse than the best rival under Gaussian noise
MOST = 0.5  # share of seeds from which "finds" is said of the trap


@dataclass(frozen=True)
class Claim:
    """A statement, whether it holds, and the figures that decide."""

    text: str
    holds: bool
    figures: str


def claims(table: Table) -> list[Claim]:
    """Return every claim the runs can decide: without ours and a rival, none."""
    rivals = [who for who in table.contestants if who != OURS]
    if OURS not in table.contestants or not rivals:
        return []
    return [
        *_ranks(table),
        *_paired(table, rivals),
        *_gaussian(table, rivals),
        *_trap(table),
    ]


def _ranks(table: Table) -> list[Claim]:
    result = []
    for pool in ("heavy", "heavy without t(3)", "heavy without the trap"):
        ranked = table.mean_ranks(pool)
        if not ranked:
            continue
        ours = next(one for one in ranked if one.contestant == OURS)
        best = min(one.mean_rank for one in ranked if one.contestant != OURS)
        nearest = next(one for one in ranked if one.contestant != OURS and one.mean_rank == best)
        result.append(
            Claim(
                f"best mean rank of all in simple regret, {pool}",
                ours.mean_rank < best,
                f"{ours.mean_rank:.2f}; best rival {title_of(nearest.contestant)} {best:.2f}; "
                f"{ours.cells} of {len(table.pool(pool))} cells, {len(ranked)} contestants",
            )
        )
    return result


def _paired(table: Table, rivals: list[str]) -> list[Claim]:
    result = []
    for rival in rivals:
        found = table.paired("heavy", rival)
        if found is None:
            continue
        significant = found.t is not None and found.t < LEVEL
        shown = "too few pairs for a test" if found.t is None else f"t test p = {found.t:.2g}"
        if found.wilcoxon is not None:
            shown += f", Wilcoxon p = {found.wilcoxon:.2g}"
        result.append(
            Claim(
                f"lower mean simple regret than {title_of(rival)}, heavy (one-sided, p < {LEVEL})",
                found.difference > 0.0 and significant,
                f"{found.ours:.4f} against {found.theirs:.4f}; {shown} over "
                f"{found.groups} problems and seeds; {found.pairs} pairs in {found.cells} cells, "
                f"{found.wins} better, {found.losses} worse",
            )
        )
    return result


def _gaussian(table: Table, rivals: list[str]) -> list[Claim]:
    found = [one for rival in rivals if (one := table.paired("gaussian", rival)) is not None]
    if not found:
        return []
    # On the pairs each shares with ours: the ratio is what a rival with fewer seeds can be held to.
    ratios = [one.ours / one.theirs if one.theirs > 0.0 else np.inf for one in found]
    worst = int(np.argmax(ratios))
    one = found[worst]
    return [
        Claim(
            f"within {MARGIN:.0%} of the best rival in mean simple regret, Gaussian",
            bool(ratios[worst] <= 1.0 + MARGIN),
            f"{one.ours:.4f} against {title_of(one.rival)} {one.theirs:.4f}, ratio "
            f"{ratios[worst]:.3f}; {one.pairs} pairs in {one.cells} cells",
        )
    ]


def _trap(table: Table) -> list[Claim]:
    places = table.places()
    if OURS not in places:
        return []
    ours = places[OURS]
    result = [
        Claim(
            "the trap: finds the best mean in most seeds",
            ours["mean"] > MOST,
            f"{ours['mean']:.0%} of {ours['seeds']:.0f} seeds",
        )
    ]
    robust = {who: one for who, one in places.items() if CONTESTANTS[who].robust}
    if robust:
        shares = [f"{title_of(who)} {one['median']:.0%}" for who, one in robust.items()]
        result.append(
            Claim(
                "the trap: the likelihood-robust rivals find the best median in most seeds",
                all(one["median"] > MOST for one in robust.values()),
                listed(shares),
            )
        )
    return result
