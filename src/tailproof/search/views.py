"""Trials as a table for pandas; optimizers, results and recommendations as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from tailproof._util.optional import require
from tailproof.search.results import BaselineComparison, Recommendation

if TYPE_CHECKING:
    from tailproof.search.optimizer import Optimizer

_MOST_ROWS = 10  # latest trials in the HTML of an optimizer


def to_rows(optimizer: Optimizer) -> list[dict[str, Any]]:
    """Return the rows of a view, one a trial as asked: number, state, value, clipped, params.

    Names of parameters that would hide one of the other columns get "params_" in front.
    """
    values = {done.trial.number: done.value for done in optimizer.trials}
    clipped = dict(zip(values, optimizer.clipped.tolist(), strict=True))
    failed, pending = optimizer._log.failed, optimizer._log.pending
    rows = []
    for number, (trial, _) in optimizer._log.started.items():
        state = "complete" if number in values else "withdrawn"
        state = "failed" if number in failed else "pending" if number in pending else state
        row: dict[str, Any] = {
            "number": number,
            "state": state,
            "value": values.get(number),
            "clipped": clipped.get(number),
            "reason": failed.get(number, ""),
        }
        params = trial.params.items()
        rows.append(row | {f"params_{n}" if n in row else n: value for n, value in params})
    return rows


def to_frame(optimizer: Optimizer) -> Any:
    """Return the trials as a pandas DataFrame, one row each; see `to_rows` for the columns."""
    return require("pandas", "frame").DataFrame(to_rows(optimizer))


def recommendation_html(found: Recommendation) -> str:
    """Return the HTML view of a recommendation, a table, for notebooks."""
    rows = [("recommended", found.params, found.mean, found.lower, found.upper, found.payoffs)]
    now = found.baseline
    if now is not None:
        rows.append(("baseline", now.params, now.mean, now.lower, now.upper, now.payoffs))
    header = ("", *found.params, "robust mean", f"{100 * found.level:g} % interval", "payoffs")
    body = [
        (name, *_cells(params), f"{mean:.4g}", f"{lower:.4g} to {upper:.4g}", str(count))
        for name, params, mean, lower, upper, count in rows
    ]
    note = f"{found.total_payoffs:,} payoffs in all, {found.clipped:,} clipped; {found.tails}."
    return html_table(header, body) + f"<p>{_compared(now)}{escape(note)}</p>"


def _compared(now: BaselineComparison | None) -> str:
    """Return the comparison with the baseline as a line of an HTML view."""
    return "" if now is None else f"{escape(str(now)).capitalize()}.<br>"


def _cells(params: Mapping[str, Any]) -> list[str]:
    """Return the values of a configuration as cells of an HTML view."""
    shown = ("" if value is None else value for value in params.values())
    return [f"{value:.6g}" if isinstance(value, float) else str(value) for value in shown]


def optimizer_html(optimizer: Optimizer) -> str:
    """Return the HTML view of an optimizer: what it recommends, and its latest trials."""
    parts = [f"<p>{escape(repr(optimizer))}</p>"]
    if len(optimizer):
        parts.append(recommendation_html(optimizer.recommend()))
    rows = to_rows(optimizer)[-_MOST_ROWS:]
    if rows:
        parts.append(html_table(tuple(rows[0]), [_cells(row) for row in rows]))
    return "".join(parts)


def html_table(header: Any, rows: Any) -> str:
    """Return an HTML table of a view for notebooks, everything escaped.

    Examples
    --------
    >>> html_table(("a<b",), [("1",)])
    '<table><thead><tr><th>a&lt;b</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
