"""The arena's report: one HTML page, the same tables as Markdown, and the numbers as data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from rivals.analysis import (
    POOL_WORDS,
    CellName,
    Entry,
    Ranked,
    Table,
    whole_pool,
)
from rivals.claims import (
    FAILS,
    HOLDS,
    LEVEL,
    MARGIN,
    OPEN,
    Claim,
    claims,
    steady,
)
from rivals.contestants import CONTESTANTS, OURS
from rivals.laws import LAWS
from rivals.picture import curves
from rivals.plan import SEEDS, Plan
from rivals.problems import TITLES
from rivals.records import Run, key_of, title_of
from tailproof.experiments.progress import duration
from tailproof.experiments.report import NONE, Mark, inline_image, page, table
from tailproof.experiments.words import listed

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Section:
    """A heading, a sentence or two, and a table; `image` is an SVG drawn before it."""

    heading: str
    text: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    image: bytes | None = None


def cell_title(cell: CellName) -> str:
    """Return a cell in words."""
    problem, law = cell
    return TITLES[problem] if law not in LAWS else f"{TITLES[problem]}, {LAWS[law].title}"


def sections(runs: Sequence[Run], plan: Plan) -> list[Section]:
    """Return the report's sections, whatever form they will take."""
    told = Table(runs)
    entries = told.entries()
    return [
        _claims(claims(told)),
        Section(
            "Regret of the recommendation as evaluations go by",
            "Mean simple regret; in each panel all problems under that law count the same.",
            image=curves(told, plan.evaluations),
        ),
        *_ranks(told),
        _paired(told),
        _overview(told),
        _trap(told),
        *_cells(told, entries),
        _failures(runs),
        _contestants(told),
        _time(runs),
        _versions(runs),
    ]


def _claims(found: Sequence[Claim]) -> Section:
    count = {kind: sum(one.outcome == kind for one in found) for kind in (HOLDS, FAILS, OPEN)}
    return Section(
        "What it must show",
        f"Of {len(found)} statements {count[HOLDS]} hold in these runs, {count[FAILS]} do not, and "
        f"{count[OPEN]} are open: they rest on fewer than {SEEDS} seeds in some cell. Heavy means "
        f"{POOL_WORDS['heavy']}. The best rival under Gaussian noise may be better by "
        f"{MARGIN:.0%}; tests are one-sided and paired, at {LEVEL}; the laws of one "
        "problem and seed count as one.",
        ("statement", "holds", "figures"),
        tuple(
            (one.text, one.verdict if one.outcome == OPEN else Mark(one.points_to_yes), one.figures)
            for one in found
        ),
    )


def _ranks(told: Table) -> list[Section]:
    """Return the ranking of those with the standard number of seeds, and that of everybody."""
    fields = {pool: steady(told, pool) for pool in POOL_WORDS}
    kept = {pool: told.mean_ranks(pool, field) for pool, field in fields.items() if field}
    everybody = _ranking(
        "Mean rank in simple regret, everybody" if kept else "Mean rank in simple regret",
        "Ranks in each cell by mean simple regret over the seeds that all contestants share, "
        "averaged over the cells that everybody has played",
        told,
        {pool: told.mean_ranks(pool) for pool in POOL_WORDS},
    )
    if not kept:
        return [everybody]
    heading = f"Mean rank in simple regret, those with {SEEDS} seeds"
    text = (
        f"Only those who have {SEEDS} seeds or more in every cell of the pool, ranked among "
        "themselves over the seeds they share; the next table has everybody"
    )
    return [_ranking(heading, text, told, kept), everybody]


def _ranking(heading: str, text: str, told: Table, pools: dict[str, list[Ranked]]) -> Section:
    shown = {
        pool: {one.contestant: one for one in ranked} for pool, ranked in pools.items() if ranked
    }
    found = {
        who: [one[who].mean_rank if who in one else math.nan for one in shown.values()]
        for who in told.contestants
    }
    kept = {who: ranks for who, ranks in found.items() if not all(map(math.isnan, ranks))}
    # A nan is neither above nor below a number: those who are not ranked come last.
    ordered = sorted(
        kept, key=lambda who: [math.inf if math.isnan(one) else one for one in kept[who]]
    )
    rows = tuple((title_of(who), *(number(one, 2) for one in kept[who])) for who in ordered)
    counts = "; ".join(
        f"{pool}: {pools[pool][0].cells} of {whole_pool(pool)} cells with "
        f"{pools[pool][0].seeds} or more seeds"
        for pool in shown
    )
    return Section(
        heading, f"{text} ({counts or 'none'}). 1 is best.", ("contestant", *shown), rows
    )


def _paired(told: Table) -> Section:
    rows: Rows = []
    for pool in POOL_WORDS:
        for rival in told.contestants:
            one = None if rival == OURS else told.paired(pool, rival)
            if one is not None:
                rows.append(
                    (
                        pool,
                        title_of(rival),
                        f"{one.ours:.4f}",
                        f"{one.theirs:.4f}",
                        f"{one.difference:+.4f}",
                        p_value(one.t),
                        p_value(one.wilcoxon),
                        one.wins,
                        one.losses,
                        one.pairs,
                        one.cells,
                        one.seeds,
                    )
                )
    pools = "; ".join(f"{pool}: {words}" for pool, words in POOL_WORDS.items())
    header = ("pool", "rival", "ours", "theirs", "difference", "t test p", "Wilcoxon p")
    return Section(
        "Ours against each rival, paired",
        "Mean simple regret over the (cell, seed) pairs both have played; seeds: the fewest they "
        f"share in one of the cells. {pools}.",
        (*header, "better", "worse", "pairs", "cells", "seeds"),
        tuple(rows),
    )


def p_value(value: float | None) -> str:
    """Return a p value as text; a dash where there is none."""
    return NONE if value is None else f"{value:.2g}"


def _overview(told: Table) -> Section:
    rows: Rows = []
    for cell in told.cells:
        ranks = told.ranks(cell)
        mine = ranks.pop(OURS, None)
        if mine is None or not ranks:
            continue
        best = min(ranks, key=lambda who: ranks[who])
        verdict = "lost" if mine > ranks[best] else "tied" if mine == ranks[best] else "won"
        rows.append(
            (
                cell_title(cell),
                verdict,
                f"{mine:g} of {len(ranks) + 1}",
                title_of(best),
                len(told.shared_seeds(cell)),
            )
        )
    won = sum(row[1] == "won" for row in rows)
    lost_count = sum(row[1] == "lost" for row in rows)
    return Section(
        "Cells won and lost",
        f"Ours has the lowest mean simple regret in {won} cells of {len(rows)} and loses "
        f"{lost_count}, over the seeds all contestants of a cell share.",
        ("cell", "ours", "rank", "best rival", "seeds"),
        tuple(rows),
    )


def _trap(told: Table) -> Section:
    rows = tuple(
        (
            title_of(who),
            *(f"{one[place]:.0%}" for place in ("mean", "median", "neither")),
            int(one["seeds"]),
        )
        for who, one in told.places().items()
    )
    return Section(
        "The trap: which hill is recommended",
        "Share of seeds whose recommendation lies on the hill with the best mean (payoffs mostly "
        "low, sometimes large), on the hill with the best median (steady payoffs), or on neither.",
        ("contestant", "best mean", "best median", "neither", "seeds"),
        rows,
    )


def _cells(told: Table, entries: Sequence[Entry]) -> list[Section]:
    result = []
    header = ("contestant", "rank", "simple regret", "s.e.", "cumulative regret", "s.e.", "seeds")
    for cell in told.cells:
        of_cell = [one for one in entries if (one.problem, one.law) == cell]
        of_cell.sort(key=lambda one: one.simple)
        rows = tuple(
            (
                title_of(one.contestant),
                NONE if one.rank is None else f"{one.rank:g}",
                f"{one.simple:.4f}",
                number(one.simple_error, 4),
                f"{one.cumulative:.2f}",
                number(one.cumulative_error, 2),
                one.seeds,
            )
            for one in of_cell
        )
        failures = sum(one.failures for one in of_cell)
        text = "" if not failures else f"{failures} matches failed and count as worst."
        result.append(Section(cell_title(cell), text, header, rows))
    return result


def number(value: float, digits: int) -> str:
    """Return a number as text; a dash where there is none."""
    return NONE if math.isnan(value) else f"{value:.{digits}f}"


def _failures(runs: Sequence[Run]) -> Section:
    played = [run for run in runs if run.contestant == key_of(run.contestant)]
    failed = [run for run in played if run.error is not None]
    return Section(
        "Matches that failed",
        f"{len(failed)} of {len(played)}. The rounds not played and recommendations not given "
        f"count as the worst there can be.{_failed_fits(played)}",
        ("contestant", "cell", "seed", "rounds", "error") if failed else (),
        tuple(
            (title_of(run.contestant), cell_title(run.cell), run.seed, run.rounds, run.error)
            for run in failed
        ),
    )


def _failed_fits(runs: Sequence[Run]) -> str:
    """Say how many fits failed within matches that went on, of those who had any."""
    fits: dict[str, int] = {}
    for run in runs:
        fits[run.contestant] = fits.get(run.contestant, 0) + run.failed_fits
    told = [f"{title_of(who)} {count}" for who, count in fits.items() if count]
    if not told:
        return ""
    return f" Fits that failed, where the model was used as it stood: {listed(told)}."


def _contestants(told: Table) -> Section:
    keys = dict.fromkeys(key_of(who) for who in told.contestants)
    rows = tuple((CONTESTANTS[key].title, CONTESTANTS[key].how) for key in keys)
    return Section(
        "Contestants",
        "Only the theory's policies are told anything of the noise or the function.",
        ("contestant", "how it plays"),
        rows,
    )


def _time(runs: Sequence[Run]) -> Section:
    times = timings(runs)
    rows = tuple(
        (title_of(who), f"{1e3 * one['per_round']:.1f}", duration(one["seconds"]), one["matches"])
        for who, one in times.items()
    )
    return Section(
        "Time",
        "Asking and telling, one match on one core, as it passed while other matches ran beside "
        "it: for a clean comparison see benchmarks/suggest_time.py.",
        ("contestant", "ms a round", "all matches", "matches"),
        rows,
    )


def timings(runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """Return seconds in all, seconds a round and the number of matches, by contestant."""
    result: dict[str, dict[str, Any]] = {}
    for run in runs:
        if run.contestant != key_of(run.contestant):
            continue
        one = result.setdefault(run.contestant, {"seconds": 0.0, "rounds": 0, "matches": 0})
        one["seconds"] += run.seconds
        one["rounds"] += run.rounds
        one["matches"] += 1
    for one in result.values():
        one["per_round"] = one["seconds"] / max(one["rounds"], 1)
    return result


def _versions(runs: Sequence[Run]) -> Section:
    found = dict.fromkeys((title_of(key_of(run.contestant)), run.made_with) for run in runs)
    return Section("Made with", "", ("contestant", "versions"), tuple(found))


def summary(runs: Sequence[Run]) -> dict[str, Any]:
    """Return everything the report says as data, ready for JSON; nothing about time."""
    told = Table(runs)
    entries = [asdict(one) for one in told.entries()]
    for one in entries:
        for name in ("simple_error", "cumulative_error"):
            one[name] = None if math.isnan(one[name]) else one[name]
    paired = {
        pool: [
            asdict(found)
            for rival in told.contestants
            if rival != OURS and (found := told.paired(pool, rival)) is not None
        ]
        for pool in POOL_WORDS
    }
    return {
        "pools": POOL_WORDS,
        "standard_seeds": SEEDS,
        "claims": [asdict(one) | {"outcome": one.outcome} for one in claims(told)],
        "mean_ranks": {pool: [asdict(one) for one in told.mean_ranks(pool)] for pool in POOL_WORDS},
        "mean_ranks_with_standard_seeds": {
            pool: [asdict(one) for one in told.mean_ranks(pool, field)]
            for pool in POOL_WORDS
            if (field := steady(told, pool))
        },
        "paired": paired,
        "trap": told.places(),
        "cells": entries,
    }


def html(parts: Iterable[Section], plan: Plan, notices: Sequence[str] = ()) -> str:
    """Return the report as one HTML page with everything inside."""
    body = [
        "<h1>The arena</h1>",
        f'<p class="lead">{escape(_lead(plan))}</p>',
        *(f'<p class="notice">{escape(one)}</p>' for one in notices),
    ]
    for part in parts:
        body.append(f"<h2>{escape(part.heading)}</h2>")
        if part.text:
            body.append(f"<p>{escape(part.text)}</p>")
        if part.image is not None:
            body.append(inline_image(part.image, part.heading))
        if part.rows:
            body.append(table(part.header, part.rows))
    return page("tailproof: the arena", body)


def _lead(plan: Plan) -> str:
    text = (
        f"{plan.evaluations} evaluations a match; simple regret: best mean minus the mean at the "
        "final recommendation; cumulative regret: summed over the points played. Every contestant "
        "of a cell and seed meets the same function and the same noise. The unit is the function's "
        "range: from a low value (5 % of the space lies below it, for the standard functions) to "
        "the maximum; the trap's is that of its payoffs."
    )
    if plan.family == "tune":
        text += " These are the problems for choosing constants, not those for measuring."
    return text


def markdown(parts: Iterable[Section], plan: Plan, notices: Sequence[str] = ()) -> str:
    """Return the report's text and tables as Markdown."""
    lines = ["# The arena", "", _lead(plan), *(line for one in notices for line in ("", one))]
    for part in parts:
        if part.image is not None:
            continue
        lines += ["", f"## {part.heading}", ""]
        if part.text:
            lines += [part.text, ""]
        if part.rows:
            rule = ["---"] * len(part.header)
            lines += [_row(row) for row in (part.header, rule, *part.rows)]
    return "\n".join(lines).rstrip() + "\n"


def _row(cells: Sequence[Any]) -> str:
    shown = (("yes" if one.yes else "no") if isinstance(one, Mark) else str(one) for one in cells)
    return "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in shown) + " |"
