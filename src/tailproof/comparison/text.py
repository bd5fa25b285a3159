"""Comparisons as plain text, Markdown and a fragment of HTML."""

from __future__ import annotations

import textwrap
from collections import Counter
from html import escape

from tailproof._util.console import printable, text_table
from tailproof.comparison.results import Alternative, Comparison, Effect
from tailproof.comparison.samples import TIME
from tailproof.comparison.units import Unit
from tailproof.comparison.verdict import percent

_WIDTH = 100
_MOST_NAMES = 6
_MOST_LINES = 12  # verdicts or cautions; the table has all of them
_MEANS = ("alternative", "payoffs", "mean", "interval", "P(best)")
_AGAINST = ("difference", "interval", "ratio", "interval", "P(better)", "verdict")
_DATA = ("alternative", "plain mean", "median", "tail index", "largest payoff", "limited")
MEANS_RIGHT, DATA_RIGHT = tuple(range(1, 10)), (1, 2, 3, 4, 5)


def means_table(comparison: Comparison) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows of the text table of means, differences and ratios."""
    unit = comparison.unit
    rows = [
        (
            _shown_name(a.name),
            f"{a.count:,}",
            unit.number(a.mean.estimate),
            _ends(a.mean, unit),
            _probability(a.probability_best),
            *_against(a, unit),
        )
        for a in comparison.ranked
    ]
    return (*_MEANS, *_AGAINST), rows


def data_table(comparison: Comparison) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows of the text table of the payoffs themselves."""
    unit = comparison.unit
    rows: list[tuple[str, ...]] = [
        (
            _shown_name(a.name),
            unit.number(a.plain_mean),
            unit.number(a.median),
            _tail(a.tail_index),
            percent(a.largest_share),
            str(a.truncated),
        )
        for a in comparison.ranked
    ]
    return _DATA, rows


def _shown_name(name: str) -> str:
    """Return the name of an alternative, short enough for a text table."""
    return printable(name, 60)


def _against(a: Alternative, unit: Unit) -> tuple[str, ...]:
    """Return the cells of the text table on an alternative against the baseline."""
    if a.difference is None:
        return ("", "", "", "", "", "baseline")
    ratio = ("-", "-") if a.ratio is None else (f"{a.ratio.estimate:.3f}", _ratio_ends(a.ratio))
    return (
        unit.number(a.difference.estimate),
        _ends(a.difference, unit),
        *ratio,
        _probability(a.probability_better or 0.0),
        a.verdict or "",
    )


def _ends(effect: Effect, unit: Unit) -> str:
    """Return the ends of the interval of a difference as text for a comparison's table."""
    return f"{unit.number(effect.lower)} .. {unit.number(effect.upper)}"


def _ratio_ends(ratio: Effect) -> str:
    """Return the ends of the interval of a ratio as text for a comparison's table."""
    return f"{ratio.lower:.3f} .. {ratio.upper:.3f}"


def _tail(index: Effect | None) -> str:
    """Return a tail index with its interval, as a cell of a comparison's text table."""
    if index is None:
        return "-"
    estimate, lower, upper = (
        f"{x:.1f}" if x < 10.0 else ">10" for x in (index.estimate, index.lower, index.upper)
    )
    return f"{estimate} ({lower} .. {upper})"


def _probability(value: float) -> str:
    """Return the probability of being better as text for a comparison's table."""
    return "<0.001" if value < 5e-4 else ">0.999" if value >= 0.9995 else f"{value:.3f}"


def heading(comparison: Comparison) -> str:
    """Return above the text table how its numbers are to be read, in one line."""
    better = "lower is better" if comparison.lower_is_better else "higher is better"
    unit = f"times in {comparison.unit.name}" if comparison.kind == TIME else "payoffs"
    blocks = "" if comparison.blocks is None else f", within {comparison.blocks:,} blocks"
    return f"{unit}{blocks}; {better}; baseline {_shown_name(comparison.baseline)}"


def _titled(comparison: Comparison) -> str:
    """Return the heading of a comparison, after its title if it has one."""
    title = f"{printable(comparison.title)}: " if comparison.title else ""
    return title + heading(comparison)


def footnotes(comparison: Comparison) -> list[str]:
    """Return the text under the tables: level, correction, assumption, notes and cautions."""
    level, corrected = 100 * comparison.level, 100 * comparison.corrected_level
    single = "each mean's interval has"
    looks = " at every look" if comparison.sequential else ""
    lines = [
        f"{single} {level:g} % confidence{looks}; differences and ratios have {level:g} % together"
        + (f" ({corrected:.4g} % each, Bonferroni)" if corrected > level else "")
    ]
    lines.append(f"assumed: {comparison.assumption}")
    if comparison.sequential:
        lines.append("P(best) and P(better) are for a single look")
    lines += comparison.notes
    if any(a.ratio is None for a in comparison.values() if a.difference is not None):
        lines.append(
            "no ratio and no minimum effect in percent: the baseline's mean is not clearly above 0"
        )
    cautioned = [a for a in comparison.ranked if a.cautions]
    lines += [
        f"caution, {_shown_name(a.name)}: {'; '.join(a.cautions)}: intervals may cover less often "
        "than stated"
        for a in cautioned[:_MOST_LINES]
    ]
    if len(cautioned) > _MOST_LINES:
        lines.append(f"cautions for {len(cautioned) - _MOST_LINES} more alternatives")
    unknown = [_shown_name(a.name) for a in comparison.ranked if not a.finite_variance]
    if unknown and comparison.moment_bound is None:  # with a bound, that is what is assumed
        names = ", ".join(unknown[:_MOST_NAMES])
        if len(unknown) > _MOST_NAMES:
            names += f" and {len(unknown) - _MOST_NAMES} more"
        lines.append(
            f"too few payoffs to exclude an infinite variance: {names}; under one, intervals may "
            "cover less often than stated"
        )
    return lines


def verdict_lines(comparison: Comparison) -> list[tuple[str | None, str]]:
    """Return text lines with the verdicts on the best alternatives, and a count of the others."""
    others = comparison.ranked[1:]
    lines: list[tuple[str | None, str]] = [(a.verdict, a.sentence) for a in others[:_MOST_LINES]]
    if len(others) > _MOST_LINES:
        counts = Counter(a.verdict for a in others[_MOST_LINES:])
        text = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
        lines.append((None, f"{len(others) - _MOST_LINES} more alternatives: {text}"))
    return lines


def text_report(comparison: Comparison) -> str:
    """Return the text of a comparison: tables, verdicts and footnotes."""
    header, rows = means_table(comparison)
    parts = [_titled(comparison), "", text_table(header, rows, MEANS_RIGHT), ""]
    header, rows = data_table(comparison)
    parts += [text_table(header, rows, DATA_RIGHT), ""]
    parts += [_wrapped(sentence) for _, sentence in verdict_lines(comparison)]
    parts += ["", *(_wrapped(f"note: {line}") for line in footnotes(comparison))]
    return "\n".join(parts)


def _wrapped(line: str) -> str:
    """Return a sentence of a comparison, wrapped to the width of the text."""
    return textwrap.fill(
        printable(line), width=_WIDTH, subsequent_indent="  ", break_long_words=False
    )


def markdown_report(comparison: Comparison) -> str:
    """Return verdicts, a table and footnotes as Markdown, for a comment on a pull request."""
    lines = [f"**{_markdown(_titled(comparison))}**", ""]
    lines += [f"- {_markdown(sentence)}" for _, sentence in verdict_lines(comparison)]
    header, rows = means_table(comparison)
    rule = ["--:" if i in MEANS_RIGHT else "---" for i in range(len(header))]
    lines += ["", _row(header), _row(rule), *(_row([_markdown(c) for c in row]) for row in rows)]
    lines += ["", "<details><summary>Payoffs and assumptions</summary>", ""]
    header, rows = data_table(comparison)
    rule = ["--:" if i in DATA_RIGHT else "---" for i in range(len(header))]
    lines += [_row(header), _row(rule), *(_row([_markdown(c) for c in row]) for row in rows)]
    lines += ["", *(f"- {_markdown(line)}" for line in footnotes(comparison)), "", "</details>"]
    return "\n".join(lines)


def _row(cells: list[str] | tuple[str, ...]) -> str:
    """Return a row of a text table of a comparison."""
    return "| " + " | ".join(cells) + " |"


def _markdown(text: str) -> str:
    """Escape what Markdown would interpret; comparison names come from files."""
    escaped = escape(printable(text), quote=False)
    return "".join(f"\\{c}" if c in "\\`*_[]|#~" else c for c in escaped)


def html_report(comparison: Comparison) -> str:
    """Return text and table of a comparison as a fragment of HTML, for notebooks."""
    header, rows = means_table(comparison)

    def cells(row: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"

    body = "".join(cells(row, "td") for row in rows)
    verdicts = "".join(f"<li>{escape(text)}</li>" for _, text in verdict_lines(comparison))
    return (
        f"<p>{escape(_titled(comparison))}</p><ul>{verdicts}</ul>"
        f"<table><thead>{cells(header, 'th')}</thead><tbody>{body}</tbody></table>"
        f"<p>{'<br>'.join(escape(line) for line in footnotes(comparison))}</p>"
    )
