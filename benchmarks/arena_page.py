"""The figures of docs/arena.md, from the matches themselves.

    python benchmarks/arena_page.py out/arena    # publish the matches of an arena's folder
    python benchmarks/arena_page.py              # write the page's figures from what is published

Published is docs/arena-runs.csv, one row a match with its regrets after the last round and the code
that decided it (`plan.code`): when a contestant plays anew, matches by other code give way. The
page's figures stand between `<!-- measured: NAME -->` and `<!-- end -->`; the words around them are
written by hand. tests/experiments/test_arena_page.py holds the page to the matches.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from rivals import records
from rivals.analysis import POOL_WORDS, CellName, Table, standard_error
from rivals.claims import LEVEL, claims
from rivals.contestants import CONTESTANTS, OURS
from rivals.laws import LAWS
from rivals.plan import SEEDS, Plan, code
from rivals.problems import PROBLEMS
from rivals.records import Run, key_of, title_of
from tables import table

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, RUNS = DOCS / "arena.md", DOCS / "arena-runs.csv"
COLUMNS = ("problem", "law", "contestant", "seed", "simple_regret", "cumulative_regret")
COLUMNS += ("place", "error", "code")
BLOCK = re.compile(r"(<!-- measured: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
LOW = ("rkhs", "branin", "arms", "trap")  # problems where 200 evaluations can find something
STUDENT = "student-t-gp"


def publish(runs: Iterable[Run], path: Path) -> None:
    """Add matches to those published; a contestant's by other code than the new ones' give way."""
    new = [_row(run) for run in runs]
    by = {key_of(one["contestant"]): one["code"] for one in new}
    known = [
        one for one in rows(path) if one["code"] == by.get(key_of(one["contestant"]), one["code"])
    ]
    kept = {_key(one): one for one in (*known, *new)}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept[key] for key in sorted(kept))


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a published file; none if there is no file yet."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def published(path: Path) -> list[Run]:
    """Return the matches of a published file; what a row does not tell is nan."""
    return [
        Run(
            *(row["problem"], row["law"], row["contestant"], int(row["seed"])),
            (float(row["simple_regret"]),),
            (float(row["cumulative_regret"] or "nan"),),
            row["error"] or None,
            row["place"] or None,
        )
        for row in rows(path)
    ]


def _row(run: Run) -> dict[str, str]:
    """Return a match as text; regrets to six digits, far finer than anything said of them."""
    return {
        "problem": run.problem,
        "law": run.law,
        "contestant": run.contestant,
        "seed": str(run.seed),
        "simple_regret": f"{run.simple[-1]:.6g}",
        "cumulative_regret": f"{run.cumulative[-1]:.6g}",
        "place": run.place or "",
        "error": run.error or "",
        "code": _code(run.contestant),
    }


def _code(contestant: str) -> str:
    return code(key_of(contestant))[:12]


def _key(row: dict[str, str]) -> tuple[int, int, int, str, int]:
    """Return what tells matches apart, in the arena's order."""
    laws, players = (*LAWS, "trap"), tuple(CONTESTANTS)
    return (
        PROBLEMS.index(row["problem"]),
        laws.index(row["law"]),
        players.index(key_of(row["contestant"])),
        row["contestant"],
        int(row["seed"]),
    )


def _title(cell: CellName) -> str:
    return "trap" if cell[0] == "trap" else ", ".join(cell)


def _field(told: Table) -> tuple[str, ...]:
    """Those with the standard number of seeds in every cell."""
    return told.with_seeds("heavy", SEEDS)


def _claims(told: Table) -> list[str]:
    rows = [[one.text, one.verdict, one.figures] for one in claims(told)]
    head, _, *body = table(["statement", "outcome", "figures"], rows)
    return [head, "| --- | --- | --- |", *body]  # words, all to the left


def _ranks(told: Table) -> list[str]:
    ranked = {
        pool: {one.contestant: one.mean_rank for one in told.mean_ranks(pool, _field(told))}
        for pool in POOL_WORDS
    }
    order = sorted(_field(told), key=lambda who: ranked["heavy"][who])
    rows = [[title_of(who), *(f"{one[who]:.2f}" for one in ranked.values())] for who in order]
    return table(["contestant", *ranked], rows)


def _gaussian(told: Table) -> list[str]:
    rows = []
    for rival in told.contestants:
        found = None if rival == OURS else told.paired("gaussian", rival)
        if found is None:
            continue
        interval = told.ratio_interval("gaussian", rival)
        around = "-" if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}"
        numbers = (f"{found.ours / found.theirs:.3f}", around, str(found.pairs))
        rows.append([title_of(rival), *numbers])
    return table(["rival", "ours / theirs", "90 % interval", "matches"], rows)


def _by_law(told: Table) -> list[str]:
    rows = []
    for law in (*LAWS, "trap"):
        gaps = [
            run.simple[-1] - told.of(cell, STUDENT)[seed].simple[-1]
            for cell in told.cells
            if cell[1] == law
            for seed, run in told.of(cell, OURS).items()
            if seed in told.of(cell, STUDENT)
        ]
        name = LAWS[law].title if law in LAWS else law
        rows.append([name, f"{np.mean(gaps):+.3f}", f"{standard_error(np.array(gaps)):.3f}"])
    return table(["law", "ours less theirs", "s.e."], rows)


def _mean(told: Table, cell: CellName, who: str, name: str = "simple") -> float:
    return float(np.mean([getattr(run, name)[-1] for run in told.of(cell, who).values()]))


def _cells(told: Table) -> list[str]:
    """Every cell; where a contestant has fewer seeds than the standard number, with theirs."""
    everybody, field = told.contestants, _field(told)
    rows = []
    for cell in told.cells:
        best = min(_mean(told, cell, who) for who in field)
        rows.append([_title(cell), *(_shown(told, cell, who, best) for who in everybody)])
    heavy, low = told.pool("heavy"), [one for one in told.pool("heavy") if one[0] in LOW]
    pools = {"heavy": heavy, "heavy, 1-D, 2-D, arms, trap": low, "Gaussian": told.pool("gaussian")}
    for name, cells in pools.items():
        for regret, digits in (("simple", 3), ("cumulative", 1)):
            means = [
                f"{np.mean([_mean(told, cell, who, regret) for cell in cells]):.{digits}f}"
                if who in field
                else "-"
                for who in everybody
            ]
            rows.append([f"mean {regret}, {name}", *means])
    return table(["cell", *(title_of(who) for who in everybody)], rows)


def _shown(told: Table, cell: CellName, who: str, best: float) -> str:
    seeds = len(told.of(cell, who))
    if not seeds:
        return "-"
    mean = _mean(told, cell, who)
    if seeds < SEEDS:
        return f"{mean:.3f} ({seeds})"
    return f"**{mean:.3f}**" if mean == best else f"{mean:.3f}"


def _trap(told: Table) -> list[str]:
    rows = [
        [title_of(who), f"{one['seeds']:.0f}"]
        + [f"{one[place]:.0%}" for place in ("mean", "median", "neither")]
        for who, one in told.places().items()
    ]
    return table(["contestant", "seeds", "best mean", "best median", "neither"], rows)


BLOCKS: dict[str, Callable[[Table], list[str]]] = {
    "claims": _claims,
    "ranks": _ranks,
    "gaussian": _gaussian,
    "by-law": _by_law,
    "cells": _cells,
    "trap": _trap,
}


def page(text: str, told: Table) -> str:
    """Return the page with its figures written anew."""

    def fresh(found: re.Match[str]) -> str:
        return found[1] + "\n" + "\n".join(BLOCKS[found[2]](told)) + "\n\n" + found[3]

    return BLOCK.sub(fresh, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="an arena's results, to be published")
    folder = parser.parse_args().folder
    if folder is not None:
        runs, stale = records.all_runs(folder, Plan())
        if not runs:
            raise SystemExit(f"{folder} holds no match by the code as it is.")
        for who, count in stale.items():
            print(f"{count} matches of {title_of(who)} are damaged or by other code: left out.")
        publish(runs, RUNS)
    told = Table(published(RUNS))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), told), encoding="utf-8")
    print(f"{PAGE.name}: at p < {LEVEL}, {SEEDS} seeds")
    for one in claims(told):
        print(f"  {one.verdict}: {one.text}")


if __name__ == "__main__":
    main()
