"""Tables of regrets: mean over seeds, and paired comparisons with `Bandit`."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from scipy import stats

OURS = "tailproof.Bandit"
_HEAD = """# Regret of `Bandit`, cell by cell

Written by `benchmarks/bandit_regret.py`. Mean cumulative regret over the seeds: what always playing
the best arm would have earned more, in units of the payoff. Bold: the lowest of the row. The mark
behind a rival says what a paired two-sided Wilcoxon test of its regrets against `Bandit`'s finds at
the 5 % level, without correction for the number of cells: + it is worse than `Bandit`, - it is
better, no mark: undecided. Truncated UCB and median-of-means UCB are told the moments, the two GP
policies also the norm of the means and the horizon; Thompson (Beta) is told the middle of the
means, above which a payoff counts as a success. A number in parentheses: so many seeds were run,
fewer than the row says. An empty cell was not run.

"""


def tables(records: list[dict]) -> str:
    """Return the tables of all finished runs as Markdown."""
    cells = defaultdict(dict)
    for r in records:
        for checkpoint, regret in r["regret"].items():
            key = (r["arms"], int(checkpoint), r["law"])
            cells[key].setdefault(r["method"], {}).setdefault(r["seed"], {})[r["rounds"]] = regret
    methods = list(dict.fromkeys(r["method"] for r in records))
    methods.sort(key=lambda name: name != OURS)
    laws = list(dict.fromkeys(r["law"] for r in records))
    parts = []
    for arms, checkpoint in sorted({key[:2] for key in cells}):
        lines = [
            f"## {arms} arms, {checkpoint:,} rounds\n",
            f"| law | seeds | {' | '.join(methods)} |",
            f"| --- | --- |{' --- |' * len(methods)}",
        ]
        for law in laws:
            if (arms, checkpoint, law) in cells:
                lines.append(_row(law, methods, cells[arms, checkpoint, law]))
        parts.append("\n".join(lines))
    return "\n\n".join([*parts, _summary(cells, methods)]) + "\n"


def _paired(runs: dict) -> dict[int, float]:
    """Regret by seed; of runs of several lengths the longest counts."""
    return {seed: by_rounds[max(by_rounds)] for seed, by_rounds in runs.items()}


def _row(law: str, methods: list[str], cell: dict) -> str:
    regrets = {m: _paired(cell[m]) for m in methods if m in cell}
    lowest = min(np.mean(list(r.values())) for r in regrets.values())
    most = max(len(r) for r in regrets.values())
    shown = []
    for m in methods:
        if m not in regrets:
            shown.append("")
            continue
        mean = float(np.mean(list(regrets[m].values())))
        text = f"{mean:,.0f}" if mean >= 10 else f"{mean:.1f}"
        text = f"**{text}**" if mean == lowest else text
        if len(regrets[m]) < most:
            text += f" ({len(regrets[m])})"
        shown.append(text + (verdict(regrets[OURS], regrets[m]) if m != OURS else ""))
    return f"| {law} | {most} | {' | '.join(shown)} |"


def verdict(ours: dict[int, float], theirs: dict[int, float]) -> str:
    """Return " +" if theirs is significantly worse than ours, " -" if better, "" otherwise.

    Examples
    --------
    >>> ours = {seed: 10.0 + seed for seed in range(20)}
    >>> verdict(ours, {seed: 12.5 + seed for seed in range(20)}), verdict(ours, ours)
    (' +', '')
    """
    seeds = sorted(set(ours) & set(theirs))
    gap = np.array([theirs[s] - ours[s] for s in seeds])
    if len(seeds) < 6 or not gap.any():
        return ""
    p = stats.wilcoxon(gap).pvalue
    return "" if p >= 0.05 else " +" if np.median(gap) > 0 else " -"


def _summary(cells: dict, methods: list[str]) -> str:
    """Return in how many cells each method has the lowest mean regret, and Bandit's worst ratio."""
    lowest = dict.fromkeys(methods, 0)
    ratios = {}
    for key, cell in cells.items():
        means = {m: np.mean(list(_paired(cell[m]).values())) for m in methods if m in cell}
        lowest[min(means, key=means.get)] += 1
        if OURS in means and len(means) > 1:
            best = min(value for m, value in means.items() if m != OURS)
            ratios[key] = means[OURS] / best
    lost = sorted(((r, k) for k, r in ratios.items() if r > 1.0), reverse=True)
    lines = ["## Summary\n", f"Lowest mean regret, of {len(cells)} cells:\n"]
    lines += ["| method | cells |", "| --- | --- |"]
    lines += [f"| {m} | {lowest[m]} |" for m in methods]
    lines.append("\nCells that `Bandit` loses, and its regret over that of the best rival there:\n")
    lines += ["| arms | rounds | law | ratio |", "| --- | --- | --- | --- |"]
    lines += [f"| {k[0]} | {k[1]:,} | {k[2]} | {r:.2f} |" for r, k in lost] or ["| none | | | |"]
    return "\n".join(lines)


def page(text: str) -> str:
    """Return the page of the docs."""
    return _HEAD + text
