"""What the further columns change, in words made from their figures and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from tailproof.experiments.columns import COLUMNS
from tailproof.experiments.comparisons import Change, Records, changes, truncation_fit
from tailproof.experiments.plan import PanelPlan, Plan

Told = tuple[PanelPlan, Change]
_VERDICTS = {
    "lower": "lower (better)",
    "higher": "higher (worse)",
    "no different": "not to be told from the base",
}


def further_in_words(plan: Plan, records: Records) -> dict[str, str]:
    """Return a few sentences for each further column, over all panels that have it."""
    told: dict[str, list[Told]] = {}
    for one in plan.panels:
        for change in changes(one, records):
            told.setdefault(change.column, []).append((one, change))
    return {
        key: _band_sentence(*cases[0], records)
        if cases[0][0].panel.letter == "f"
        else _sentences(cases)
        for key, cases in told.items()
    }


def _sentences(cases: Sequence[Told]) -> str:
    column = COLUMNS[cases[0][1].column]
    base = COLUMNS[cases[0][1].base].title
    text = f"{column.title}: {column.change}. Against {base}, R_T/T at the last round is "
    text += "; ".join(
        f"{words} in " + listed([_figures(*case) for case in chosen])
        for verdict, words in _VERDICTS.items()
        if (chosen := [case for case in cases if case[1].verdict == verdict])
    )
    ratios = [change.width / change.base_width for _, change in cases]
    low, high = min(ratios), max(ratios)
    span = f"{low:.2g}" if f"{low:.2g}" == f"{high:.2g}" else f"{low:.2g} to {high:.2g}"
    text += f". The last round's width is {span} times the base's."
    flat = [one.panel.letter for one, change in cases if change.flat]
    if flat:
        text += (
            f" In {listed(flat)} the curve is flat from a tenth of the rounds on: "
            "nothing more is learnt."
        )
    return text


def _figures(one: PanelPlan, change: Change) -> str:
    text = f"{one.panel.letter} ({change.mean:.3f} against {change.base_mean:.3f}"
    if change.low is None or change.high is None:
        return text + ", one trial)"
    return text + f"; difference {change.low:+.3f} to {change.high:+.3f})"


def _band_sentence(one: PanelPlan, change: Change, records: Records) -> str:
    column, base = COLUMNS[change.column], COLUMNS[change.base]
    ours, theirs = (truncation_fit(one, records, key) for key in (change.column, change.base))
    inside = "holds" if ours.holds_f else "does not hold"
    return (
        f"{column.title}: {column.change}. The mean over {one.trials_of(column.key)} "
        f"randomizations is off by at most {ours.error:.3f}, against {theirs.error:.3f} for "
        f"{base.title} over {one.trials_of(base.key)}, and its band {inside} f everywhere."
    )


def listed(items: Sequence[str]) -> str:
    """Join items as a sentence does.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"
