"""What the arena must show: each holds, does not hold, or is open, with its figures.

A claim is open while it rests on fewer seeds than the arena's standard number. Some contestants may
have fewer than the others, so what is said of all is said of those with the standard number as
well: a single seed of one does not leave the rest undecided.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from rivals.analysis import (
    COVERAGE,
    Paired,
    Ranked,
    Table,
    regret_ratio,
    whole_pool,
)
from rivals.contestants import CONTESTANTS, OURS
from rivals.plan import SEEDS
from rivals.records import title_of
from tailproof.experiments.words import listed

LEVEL = 0.05
MARGIN = 0.15  # by which ours may be worse than the best rival under Gaussian noise
MOST = 0.5  # share of seeds from which "finds" is said of the trap
HOLDS, FAILS, OPEN = "holds", "does not hold", "open"
STEADY = f" with {SEEDS} seeds"  # said of a claim that leaves out those who have fewer


@dataclass(frozen=True)
class Claim:
    """A statement, what the figures point to, and the seeds they rest on.

    `seeds` is the smallest number in a cell; none where a cell of the pool is missing.
    """

    text: str
    points_to_yes: bool
    seeds: int
    figures: str

    @property
    def outcome(self) -> str:
        """Say "holds", "does not hold" or, on fewer seeds than the standard number, "open"."""
        if self.seeds < SEEDS:
            return OPEN
        return HOLDS if self.points_to_yes else FAILS

    @property
    def verdict(self) -> str:
        """Say the outcome, and of an open one what the figures point to.

        Examples
        --------
        >>> Claim("all is well", True, 2, "2 of 2").verdict
        'open, points to yes'
        """
        if self.outcome != OPEN:
            return self.outcome
        return f"{OPEN}, points to {'yes' if self.points_to_yes else 'no'}"


def claims(table: Table) -> list[Claim]:
    """Return every claim the runs can speak of: without ours and a rival, none."""
    rivals = [who for who in table.contestants if who != OURS]
    if OURS not in table.contestants or not rivals:
        return []
    return [
        *_ranks(table),
        *_paired(table, rivals),
        *_gaussian(table),
        *_trap(table),
    ]


def steady(table: Table, pool: str) -> tuple[str, ...]:
    """Return those with the standard number of seeds in all of a pool; none if that is everybody.

    Ranked among themselves they need company, so a single one is none as well.
    """
    kept = table.with_seeds(pool, SEEDS)
    return kept if 1 < len(kept) < len(table.contestants) else ()


def _fields(table: Table, pool: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the contestants a claim speaks of and what it says of them: the steady ones, all."""
    kept = steady(table, pool)
    return [*([(STEADY, kept)] if OURS in kept else []), ("", table.contestants)]


def _rests_on(pool: str, one: Ranked | Paired) -> int:
    """Return the seeds a claim about a whole pool rests on: none where cells are missing."""
    return one.seeds if one.cells == whole_pool(pool) else 0


def _cells(pool: str, one: Ranked | Paired) -> str:
    return f"{one.cells} of {whole_pool(pool)} cells with {one.seeds} or more shared seeds"


def _ranks(table: Table) -> list[Claim]:
    result = []
    for pool in ("heavy", "heavy without t(3)", "heavy without the trap"):
        for which, contestants in _fields(table, pool):
            ranked = table.mean_ranks(pool, contestants)
            if not ranked:
                continue
            ours = next(one for one in ranked if one.contestant == OURS)
            nearest = next(one for one in ranked if one.contestant != OURS)  # the best comes first
            result.append(
                Claim(
                    f"best mean rank of all{which} in simple regret, {pool}",
                    ours.mean_rank < nearest.mean_rank,
                    _rests_on(pool, ours),
                    f"{ours.mean_rank:.2f}; best rival {title_of(nearest.contestant)} "
                    f"{nearest.mean_rank:.2f}; {_cells(pool, ours)}, "
                    f"{len(ranked)} contestants",
                )
            )
    return result


def _paired(table: Table, rivals: Sequence[str]) -> list[Claim]:
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
                _rests_on("heavy", found),
                f"{found.ours:.4f} against {found.theirs:.4f}; {shown} over "
                f"{found.groups} problems and seeds; {found.pairs} pairs in "
                f"{_cells('heavy', found)}, {found.wins} better, {found.losses} worse",
            )
        )
    return result


def _gaussian(table: Table) -> list[Claim]:
    fields = _fields(table, "gaussian")
    found = [_within(table, which, contestants) for which, contestants in fields]
    return [one for one in found if one is not None]


def _within(table: Table, which: str, contestants: Collection[str]) -> Claim | None:
    """Return whether ours is within the margin of every rival among the contestants."""
    pool = "gaussian"
    rivals = [who for who in contestants if who != OURS]
    found = [one for rival in rivals if (one := table.paired(pool, rival)) is not None]
    if not found:
        return None
    # On the pairs each shares with ours: the ratio is what a rival with fewer seeds can be held to.
    ratios = regret_ratio(*np.array([(one.ours, one.theirs) for one in found]).T)
    worst = int(np.argmax(ratios))
    one = found[worst]
    interval = table.ratio_interval(pool, one.rival)
    around = (
        "too few problems and seeds for an interval"
        if interval is None
        else f"{COVERAGE:.0%} bootstrap interval {interval[0]:.3f} to {interval[1]:.3f} over "
        f"{one.groups} problems and seeds"
    )
    # With another seed any of the rivals could turn out to be the best one.
    fewest = min(_rests_on(pool, other) for other in found)
    seeds = fewest if len(found) == len(rivals) else 0
    return Claim(
        f"within {MARGIN:.0%} of the best rival{which} in mean simple regret, Gaussian",
        bool(ratios[worst] <= 1.0 + MARGIN),
        seeds,
        f"{one.ours:.4f} against {title_of(one.rival)} {one.theirs:.4f}, ratio "
        f"{ratios[worst]:.3f}, which decides ({around}); {one.pairs} pairs in {_cells(pool, one)}; "
        f"{len(found)} of {len(rivals)} rivals, the fewest seeds shared in a cell: {seeds}",
    )


def _trap(table: Table) -> list[Claim]:
    places = table.places()
    if OURS not in places:
        return []
    ours = places[OURS]
    result = [
        Claim(
            "the trap: finds the best mean in most seeds",
            ours["mean"] > MOST,
            int(ours["seeds"]),
            f"{ours['mean']:.0%} of {ours['seeds']:.0f} seeds",
        )
    ]
    robust = {who: one for who, one in places.items() if CONTESTANTS[who].robust}
    kept = {who: one for who, one in robust.items() if one["seeds"] >= SEEDS}
    for which, field in ((STEADY, kept if len(kept) < len(robust) else {}), ("", robust)):
        if not field:
            continue
        shares = [
            f"{title_of(who)} {one['median']:.0%} of {one['seeds']:.0f} seeds"
            for who, one in field.items()
        ]
        result.append(
            Claim(
                f"the trap: the likelihood-robust rivals{which} find the best median in most seeds",
                all(one["median"] > MOST for one in field.values()),
                int(min(one["seeds"] for one in field.values())),
                listed(shares),
            )
        )
    return result
