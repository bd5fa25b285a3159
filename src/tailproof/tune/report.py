"""The report: one HTML file with everything inside, to be opened from disk or sent on."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from tailproof.tune import pictures
from tailproof.tune.answer import Answer
from tailproof.tune.export import CSV_NAME, JSON_NAME, Truth, outcome
from tailproof.tune.live import setting, shown

REPORT_NAME = "report.html"
_MOST_FAILED = 50
_MOST_TAMED = 10
_TAIL = 400  # characters of a failed trial's output
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2430; background: #fff;
       max-width: 66rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin-bottom: .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin-top: 2.4rem; border-bottom: 1px solid #d5dbe3; }
p.lead { color: #4a5666; margin-top: 0; }
img { max-width: 100%; height: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid #e6eaef;
         vertical-align: top; }
tr.best td { font-weight: 600; }
pre { background: #f4f6f8; padding: .8rem; overflow-x: auto; font-size: .85rem;
      white-space: pre-wrap; overflow-wrap: anywhere; margin: .2rem 0; }
td pre { padding: .2rem .5rem; max-height: 9rem; overflow-y: auto; }
"""


def report(answer: Answer, about: Mapping[str, Any], truth: Truth | None = None) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    answer : Answer
    about : mapping
        "name", "storage", "title", "command" (as shown), "value", "direction" and "go_on", the
        command line that goes on with the study.
    truth : callable, optional
        The true mean payoff of a setting, where it is known.
    """
    parts = [
        _lead(answer, about),
        _answer(answer, truth),
        "<h2>Convergence</h2><p>Single payoffs in the order they came, the luckiest so far, and "
        "the robust mean of what would have been recommended at the time. Triangles are payoffs "
        "beyond the scale.</p>",
        _image(pictures.convergence(answer), "Payoffs and the recommended setting's robust mean"),
        "<h2>Slices of the robust mean</h2><p>Through the recommended setting: one parameter "
        "varies, the others stay.</p>",
        _image(pictures.slices(answer), "Robust mean along each parameter"),
        "<h2>Payoffs by setting</h2>",
        _image(pictures.by_setting(answer), "Payoffs over each parameter"),
        _tamed(answer),
        _tails(answer),
        _failed(answer),
        _going_on(about),
    ]
    title = escape(f"tailproof tune: {about['name']}")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{chr(10).join(part for part in parts if part)}\n</body>\n</html>\n"
    )


def said_of(answer: Answer) -> str:
    """Return how many trials there are of each kind."""
    words = f"{len(answer.values):,} payoffs, {len(answer.failed):,} failed trials"
    if answer.left_out:
        words += f", {answer.left_out:,} left out (outside the space, or of infinite value)"
    return words


def _lead(answer: Answer, about: Mapping[str, Any]) -> str:
    return (
        f"<h1>Tuning {escape(about['title'])}</h1>\n"
        f'<p class="lead">{escape(said_of(answer))}; the mean payoff '
        f"({escape(about['value'])}) is to be {escape(about['direction'])}d.<br>"
        f"Study {escape(about['name'])} in {escape(about['storage'])}.</p>\n"
        f"<pre>{escape(about['command'])}</pre>"
    )


def rows(answer: Answer, truth: Truth | None) -> list[tuple[str, ...]]:
    """Return the comparison of the recommended with the luckiest setting, header first."""
    best, lucky = answer.recommended, answer.lucky
    names = list(answer.space.names)
    level = f"{100 * best.level:g} % interval"
    table = [("", *names, "robust mean", level, "runs", "luckiest payoff")]
    table.append(
        (
            "recommended",
            *_values(names, best.params),
            f"{best.mean:.4g}",
            f"{best.lower:.4g} to {best.upper:.4g}",
            str(best.payoffs),
            _luckiest(answer, best.params),
        )
    )
    table.append(
        (
            "luckiest payoff",
            *_values(names, best.best_observed_params),
            f"{lucky.mean[0]:.4g}",
            f"{lucky.lower[0]:.4g} to {lucky.upper[0]:.4g}",
            str(sum(one == best.best_observed_params for one in answer.params)),
            f"{best.best_observed_value:.4g}",
        )
    )
    if truth is not None:
        known = ("true mean", f"{truth(best.params):.4g}", f"{truth(best.best_observed_params):.4g}")
        table = [(*row, one) for row, one in zip(table, known, strict=True)]
    return table


def _values(names: Sequence[str], params: Mapping[str, Any]) -> list[str]:
    return [shown(params[name]) for name in names]


def _luckiest(answer: Answer, params: Mapping[str, Any]) -> str:
    own = [v for v, one in zip(answer.values, answer.params, strict=True) if one == params]
    if not own:
        return "\N{EM DASH}"
    return f"{(min if answer.minimize else max)(own):.4g}"


def _answer(answer: Answer, truth: Truth | None) -> str:
    header, *body = rows(answer, truth)
    return (
        "<h2>The recommended setting</h2>" + table(header, body, best=0) + "<p>The recommended "
        "setting has the best robust mean. The luckiest payoff is the best single one: under "
        "heavy tails that says little about the mean of its setting, which stands beside it."
        "</p>"
    )


def _tamed(answer: Answer) -> str:
    count = int(answer.tamed.sum())
    words = f"<h2>What was tamed</h2><p>{count:,} of {len(answer.values):,} payoffs"
    if not count:
        return words + ": none was extreme enough.</p>"
    words += " were tamed: their pull on the mean was limited."
    which = np.flatnonzero(answer.tamed)
    center = float(np.median(answer.values))
    farthest = which[np.argsort(-np.abs(answer.values[which] - center))][:_MOST_TAMED]
    listed = [
        (str(answer.numbers[i]), f"{answer.values[i]:.6g}", setting(answer.params[i]))
        for i in farthest
    ]
    words += " The farthest:</p>" if count > len(listed) else "</p>"
    return words + table(("trial", "payoff", "setting"), listed)


def tails(answer: Answer) -> str:
    """Return how heavy the tails are, in words."""
    found = answer.tails
    if found is None:
        return f"{answer.recommended.tails}."
    hill = found.pooled.both.hill
    index = ""
    if found.heavy and hill is not None:
        high = f"{hill.index_high:.2g}" if hill.index_high < 100 else "more than 100"
        index = (
            f" The tail index is about {hill.index:.2g} ({100 * found.level:g} % interval "
            f"{hill.index_low:.2g} to {high}); at 2 or below the variance is infinite."
        )
    return f"{found.verdict}: {found.pooled.reason}.{index}"


def _tails(answer: Answer) -> str:
    said = tails(answer)
    return f"<h2>Tails</h2><p>Payoffs less the robust means of their settings: {escape(said)}</p>"


def _failed(answer: Answer) -> str:
    failed = answer.failed
    if not failed:
        return ""
    listed = []
    for one in failed[-_MOST_FAILED:]:
        noted = outcome(one)
        said = str(noted.get("stderr") or noted.get("stdout") or "").strip()
        listed.append(
            (
                str(one.number),
                str(noted.get("reason", one.state.name.lower())),
                setting(one.params),
                Output(said[-_TAIL:]),
            )
        )
    more = f" The last {len(listed)} of them:" if len(failed) > len(listed) else ""
    return (
        f"<h2>Failed trials</h2><p>{len(failed):,} trials gave no payoff; they count towards "
        f"the number of trials and are left out of every mean.{more}</p>"
        + table(("trial", "reason", "setting", "end of its output"), listed)
    )


def _going_on(about: Mapping[str, Any]) -> str:
    return (
        "<h2>Going on</h2><p>The same command goes on with this study, here or on other machines "
        f"that reach its storage:</p><pre>{escape(about['go_on'])}</pre>"
        f"<p>Beside this report: {CSV_NAME}, one line a trial; {JSON_NAME}, everything above.</p>"
    )


class Output(str):
    """Text set as a program printed it."""

    __slots__ = ()


def table(header: Sequence[str], body: Iterable[Sequence[str]], best: int = -1) -> str:
    """Return an HTML table of text; row `best` stands out."""
    head = "".join(f"<th>{escape(one)}</th>" for one in header)
    lines = []
    for i, row in enumerate(body):
        cells = "".join(f"<td>{_cell(one)}</td>" for one in row)
        lines.append(f'<tr class="best">{cells}</tr>' if i == best else f"<tr>{cells}</tr>")
    inner = "\n".join(lines)
    return f'<div class="wide"><table>\n<tr>{head}</tr>\n{inner}\n</table></div>'


def _cell(one: str) -> str:
    if isinstance(one, Output):
        return f"<pre>{escape(one)}</pre>" if one else ""
    return escape(one)


def _image(svg: bytes, alternative: str) -> str:
    data = base64.b64encode(svg).decode()
    return f'<p><img alt="{escape(alternative)}" src="data:image/svg+xml;base64,{data}"></p>'
