"""The report of a comparison: an HTML page, the same tables as Markdown, the numbers as data."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rivals.analysis import POOL_DESCRIPTIONS, Results
from rivals.claims import claims, methods_with_all_seeds
from rivals.plan import SEEDS, Plan
from rivals.records import RunResult
from rivals.sections import Section
from tailproof._util.html import svg_uri
from tailproof._util.optional import require

TITLE = "Comparison with rivals"


def summary(runs: Sequence[RunResult]) -> dict[str, Any]:
    """Return the numbers of the report, ready for JSON, without times."""
    results = Results(runs)
    entries = [asdict(entry) for entry in results.entries()]
    for entry in entries:
        for name in ("simple_regret_error", "cumulative_regret_error"):
            entry[name] = None if math.isnan(entry[name]) else entry[name]
    paired = {
        pool: [
            asdict(found)
            for rival in results.rivals
            if (found := results.paired(pool, rival)) is not None
        ]
        for pool in POOL_DESCRIPTIONS
    }
    return {
        "pools": POOL_DESCRIPTIONS,
        "standard_seeds": SEEDS,
        "claims": [asdict(claim) | {"outcome": claim.outcome} for claim in claims(results)],
        "mean_ranks": {
            pool: [asdict(rank) for rank in results.mean_ranks(pool)] for pool in POOL_DESCRIPTIONS
        },
        "mean_ranks_with_standard_seeds": {
            pool: [asdict(rank) for rank in results.mean_ranks(pool, methods)]
            for pool in POOL_DESCRIPTIONS
            if (methods := methods_with_all_seeds(results, pool))
        },
        "paired": paired,
        "trap": results.trap_shares(),
        "problems": entries,
    }


def html(parts: Iterable[Section], plan: Plan, notices: Sequence[str] = ()) -> str:
    """Return the report as one HTML page with everything inside."""
    text: str = _template().render(
        title=TITLE, lead=_lead(plan), notices=notices, sections=list(parts), svg_uri=svg_uri
    )
    return text


@functools.cache
def _template() -> Any:
    jinja2 = require("jinja2", "report")
    loaders = {
        "_util": jinja2.PackageLoader("tailproof._util"),
        "rivals": jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    }
    environment = jinja2.Environment(
        loader=jinja2.PrefixLoader(loaders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("rivals/report.html")


def markdown(parts: Iterable[Section], plan: Plan, notices: Sequence[str] = ()) -> str:
    """Return the report's text and tables as Markdown."""
    lines = [f"# {TITLE}", "", _lead(plan), *(line for text in notices for line in ("", text))]
    for part in parts:
        if part.image is None:
            lines += ["", f"## {part.heading}", ""]
            lines += [part.text, ""] if part.text else []
            lines += part.table() if part.rows else []
    return "\n".join(lines).rstrip() + "\n"


def _lead(plan: Plan) -> str:
    text = (
        f"{plan.evaluations} evaluations a run; simple regret: best mean minus the mean at the "
        "final recommendation; cumulative regret: summed over the evaluated points. All methods "
        "have the same function and the same noise on a problem and seed. The unit is the "
        "function's range: from a low value (for the standard functions the 5 % quantile over the "
        "domain) to the maximum; for the trap that of its payoffs."
    )
    if plan.family == "tune":
        text += " These are the objectives for choosing constants, not those for measuring."
    return text
