"""The report of a run: one HTML file with everything inside, to be opened from disk."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from tailproof.experiments.columns import COLUMNS
from tailproof.experiments.progress import duration

PAPER = (
    "Sayak Ray Chowdhury and Aditya Gopalan. Bayesian Optimization under Heavy-tailed Payoffs. "
    "Advances in Neural Information Processing Systems 32 (NeurIPS 2019)."
)
BIBTEX = """@inproceedings{chowdhury2019bayesian,
  title     = {Bayesian Optimization under Heavy-tailed Payoffs},
  author    = {Chowdhury, Sayak Ray and Gopalan, Aditya},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {32},
  year      = {2019}
}
@software{tailproof,
  title     = {tailproof},
  author    = {{The tailproof developers}},
  version   = {VERSION}
}"""

NONE = "\N{EM DASH}"
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2430; background: #fff;
       max-width: 66rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin-bottom: .3rem; }
h2 { font-size: 1.2rem; margin-top: 2.4rem; border-bottom: 1px solid #d5dbe3; }
p.lead { color: #4a5666; margin-top: 0; }
p.notice { background: #fff4d6; border-left: 4px solid #d99a00; padding: .6rem .9rem; }
img { max-width: 100%; height: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #e6eaef;
         vertical-align: top; }
td.n, th.n { text-align: right; white-space: nowrap; }
.yes { color: #14692e; font-weight: 600; } .no { color: #b3261e; font-weight: 600; }
pre { background: #f4f6f8; padding: .8rem; overflow-x: auto; font-size: .85rem; }
"""


def report(
    manifest: Mapping[str, Any],
    summary: Mapping[str, Any],
    timings: Mapping[str, Any],
    images: Mapping[str, bytes],
    notices: Sequence[str] = (),
) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    manifest, summary, timings
        As written beside it.
    images
        SVG by name: "figure", and "further" where there are further columns.
    notices
        What a reader must know first: a stand-in, a panel left out, a small run.
    """
    parts = [
        _lead(manifest, summary),
        *(f'<p class="notice">{escape(notice)}</p>' for notice in notices),
        inline_image(images["figure"], "The six panels with error bars and the paper's points"),
        "<p>Curves are means over trials, bars one standard deviation over trials. In panel f "
        "mean and band are averages over the randomizations of the noise: its arm and its sign, "
        "each drawn once.</p>",
        _statements(summary["statements"]),
        _against_paper(summary["panels"]),
        _crossings(summary["panels"]),
        _further(summary, images.get("further")),
        _time(timings),
        _citation(str(manifest["versions"]["tailproof"])),
        _files(),
    ]
    return page("tailproof: the paper's Figure 1", parts)


def page(title: str, parts: Iterable[str]) -> str:
    """Return a whole HTML page, in the style of all reports, from the parts of its body."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title, quote=False)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{chr(10).join(part for part in parts if part)}\n</body>\n</html>\n"
    )


def _lead(manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {value}" for name, value in manifest["versions"].items())
    sizes = "; ".join(
        f"{letter}: {manifest['panels'][letter]['trials']} trials of {panel['rounds']:,} rounds"
        for letter, panel in summary["panels"].items()
    )
    return (
        "<h1>Figure 1 of “Bayesian Optimization under Heavy-tailed Payoffs”, run again</h1>\n"
        f'<p class="lead">{escape(sizes)}.<br>Seed {manifest["seed"]}; {escape(versions)}.</p>'
    )


def _statements(statements: Sequence[Mapping[str, Any]]) -> str:
    title = "<h2>What the paper's figure says, checked</h2>"
    if not statements:
        return title + "<p>Nothing can be checked: no panel was run at the paper's size.</p>"
    hold = sum(one["holds"] for one in statements)
    rows = (
        (
            one["panel"],
            one["text"],
            Mark(one["holds"]),
            one["figures"],
        )
        for one in statements
    )
    return (
        f"{title}<p>{hold} of {len(statements)} statements hold in this run. The paper prints no "
        "numbers for the error bars of a, b and c; the standard deviation measured here stands in "
        "for them.</p>" + table(("panel", "statement", "holds", "figures"), rows)
    )


def _against_paper(panels: Mapping[str, Any]) -> str:
    rows = []
    for letter, panel in panels.items():
        for key, policy in panel["policies"].items():
            if COLUMNS[key].further or letter == "f":
                continue
            last = policy["marks"][-1]
            for mark in policy["marks"]:
                if mark is last or mark["paper"] is not None:
                    rows.append((letter, policy["title"], mark["round"], *_numbers(mark)))
    header = ("panel", "policy", "round", "mean R_T/T", "sd", "paper", "difference")
    text = "<h2>Against the paper</h2>"
    if not rows:
        return ""
    return text + table(header, rows)


def _numbers(mark: Mapping[str, Any]) -> tuple[Any, ...]:
    paper, difference = mark["paper"], mark["difference"]
    return (
        f"{mark['mean']:.4f}",
        NONE if mark["sd"] is None else f"{mark['sd']:.4f}",
        NONE if paper is None else f"{paper:g}",
        NONE if difference is None else f"{difference:+.4f}",
    )


def _crossings(panels: Mapping[str, Any]) -> str:
    rows = [
        (
            letter,
            COLUMNS[key].title,
            _crossing(found["round"], panel["policies"][key]["marks"][0]["round"]),
            NONE if found["paper"] is None else f"about {found['paper']:,}",
        )
        for letter, panel in panels.items()
        for key, found in panel.get("crossings", {}).items()
    ]
    if not rows:
        return ""
    return (
        "<h2>Where the curves cross</h2><p>The round from which the mean curve lies below that of "
        "TGP-UCB for good, to one hundredth of the rounds.</p>"
        + table(("panel", "policy", "round", "paper"), rows)
    )


def _crossing(at: int | None, first: int) -> str:
    if at is None:
        return "not within the run"
    return f"from the start ({at:,})" if at == first else f"{at:,}"


def _further(summary: Mapping[str, Any], image: bytes | None) -> str:
    if not summary["further"]:
        return ""
    rows = [
        (
            letter,
            COLUMNS[key].title,
            f"{one['mean']:.4f}",
            COLUMNS[one["base"]].title,
            f"{one['base_mean']:.4f}",
            f"{one['difference']:+.4f}",
            NONE if one["low"] is None else f"{one['low']:+.4f} to {one['high']:+.4f}",
            one["trials"],
        )
        for letter, panel in summary["panels"].items()
        for key, one in panel["further"].items()
    ]
    header = ("panel", "column", "mean R_T/T", "base", "its mean", "difference", "95 % interval")
    words = "".join(f"<li>{escape(text)}</li>" for text in summary["further"].values())
    shown = (
        "" if image is None else inline_image(image, "Further columns over the paper's policies")
    )
    return (
        "<h2>Further columns: theory schedule, folded and exact features</h2>"
        "<p>Each against its base on the trials they share: the same functions and the same noise, "
        "often fewer trials than above. Intervals are for the mean paired difference. The "
        "theory schedule keeps the panel's B = max |f|.</p>"
        f"<ul>{words}</ul>{shown}{table((*header, 'trials'), rows)}"
    )


def _time(timings: Mapping[str, Any]) -> str:
    sessions = timings["sessions"]
    several = f" in {len(sessions)} sessions" if len(sessions) > 1 else ""
    speeds = timings["rounds_per_second"]
    keys = [key for key in COLUMNS if any(key in panel for panel in speeds.values())]
    rows = (
        (
            COLUMNS[key].title,
            *(f"{panel[key]:,.0f}" if key in panel else NONE for panel in speeds.values()),
        )
        for key in keys
    )
    return (
        f"<h2>Time</h2><p>The rounds took {duration(timings['seconds'])}{several} "
        f"({escape(timings['last_session_on'])}); {duration(timings['cpu_seconds'])} of processor "
        "time, all trials together. Rounds a second of processor time, one trial on one core "
        "(median over trials):</p>" + table(("policy", *speeds), rows)
    )


def _citation(version: str) -> str:
    return (
        f"<h2>How to cite</h2><p>The paper: {escape(PAPER)}</p>"
        f"<pre>{escape(BIBTEX.replace('VERSION', version))}</pre>"
    )


def _files() -> str:
    return (
        "<h2>Files beside this report</h2><p>results.csv: R_T/T of every trial at every mark; "
        "panel_f.csv: the bands of panel f; summary.json: means, standard deviations and the "
        "paper's values; manifest.json: versions, seeds, every parameter and constant; "
        "timings.json; figure.png and figure.svg.</p>"
    )


def inline_image(svg: bytes, alternative: str) -> str:
    """Return an SVG picture as HTML that carries it inside."""
    data = base64.b64encode(svg).decode()
    return f'<p><img alt="{escape(alternative)}" src="data:image/svg+xml;base64,{data}"></p>'


class Mark:
    """A yes or no in a table."""

    def __init__(self, yes: bool) -> None:
        self.yes = yes

    def html(self) -> str:
        """Return it as HTML."""
        return '<span class="yes">yes</span>' if self.yes else '<span class="no">no</span>'


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return an HTML table; columns whose cells look like numbers are set to the right."""
    kept = [tuple(row) for row in rows]
    right = [all(_numeric(row[i]) for row in kept) for i in range(len(header))]
    head = "".join(_cell("th", name, right[i]) for i, name in enumerate(header))
    body = "".join(
        "<tr>" + "".join(_cell("td", value, right[i]) for i, value in enumerate(row)) + "</tr>\n"
        for row in kept
    )
    return f'<div class="wide"><table>\n<tr>{head}</tr>\n{body}</table></div>'


def _numeric(value: Any) -> bool:
    if isinstance(value, int):
        return True
    text = str(value)
    return text == NONE or text.lstrip("+-").replace(",", "").replace(".", "", 1).isdigit()


def _cell(tag: str, value: Any, right: bool) -> str:
    if isinstance(value, Mark):
        inner = value.html()
    else:
        inner = escape(f"{value:,}" if isinstance(value, int) else str(value))
    return f'<{tag} class="n">{inner}</{tag}>' if right else f"<{tag}>{inner}</{tag}>"
