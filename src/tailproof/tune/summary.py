"""The analysis of a study in words and as a table, for the terminal and the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailproof._util.console import table_for_width, wrapped
from tailproof.tune.analysis import Analysis, TrueMean
from tailproof.tune.display import format_value

Row = tuple[str, ...]


def summary_text(
    analysis: Analysis, true_mean: TrueMean | None, seconds: float, width: int | None = None
) -> str:
    """Return the summary of a session that took some seconds, as text for a terminal.

    It is not wider than `width` columns, unless None, as far as tables can be made so.
    """
    header, *rows = comparison_table(analysis, true_mean)
    clipped, n = int(analysis.clipped.sum()), len(analysis.values)
    tails = f"Tails: {tails_text(analysis).removeprefix('tails ')}"
    verb = "was" if clipped == 1 else "were"
    verdict = [*decision_lines(analysis), f"{clipped} of {n} payoffs {verb} clipped. {tails}"]
    return "\n".join(
        (
            wrapped(f"{counts_text(analysis)}; this session took {seconds:.1f} s.\n", width),
            f"{table_for_width(header, rows, width)}\n",
            *(wrapped(line, width) for line in verdict),
        )
    )


def decision_lines(analysis: Analysis) -> list[str]:
    """Return for the summary: compared with the baseline, what was confirmed, why it ended."""
    best, lines = analysis.recommendation, []
    if best.baseline is not None:
        lines.append(f"The recommended setting is {best.baseline}.")
    if analysis.confirmed:
        lines.append(_confirmation_text(analysis))
    if analysis.stopped_by:
        flag = analysis.stopped_by.replace("_", "-")
        lines.append(f"The search ended early, by --{flag}.")
    return lines


def _confirmation_text(analysis: Analysis) -> str:
    """Return for the summary which settings a race confirmed, and the recommended one's runs."""
    best = analysis.recommendation
    others = len(analysis.confirmed) - (best.baseline is not None)
    runs = f"{best.payoffs} run{'' if best.payoffs == 1 else 's'} in all"
    if others == 1 and best.baseline is None:
        return f"Confirmed by running the recommended setting again: {runs}."
    words = "1 setting" if others == 1 else f"{others} settings"
    words += " and the baseline" if best.baseline is not None else ""
    return f"Confirmed by a race of {words}. The recommended one has {runs}."


def counts_text(analysis: Analysis) -> str:
    """Return for the summary how many trials there are of each kind."""
    failed = f"{len(analysis.failed):,} failed trial{'' if len(analysis.failed) == 1 else 's'}"
    text = f"{len(analysis.values):,} payoff{'' if len(analysis.values) == 1 else 's'}, {failed}"
    if analysis.left_out:
        text += f", {analysis.left_out:,} left out (outside the space, or of infinite value)"
    return text


def comparison_table(analysis: Analysis, true_mean: TrueMean | None) -> list[Row]:
    """Return for the summary the recommended, baseline and best observed settings, header first."""
    best, observed = analysis.recommendation, analysis.best_observed
    names = analysis.space.names

    def payoffs(params: Mapping[str, Any]) -> list[float]:
        settings = zip(analysis.params, analysis.values, strict=True)
        return [value for setting, value in settings if setting == params]

    def row(title: str, params: Mapping[str, Any], estimates: Any, runs: int, payoff: str) -> Row:
        mean, lower, upper = (f"{float(estimate):.4g}" for estimate in estimates)
        setting = [format_value(params[name]) for name in names]
        truth = [] if true_mean is None else [f"{true_mean(params):.4g}"]
        return (title, *setting, mean, f"{lower} to {upper}", str(runs), payoff, *truth)

    level = f"{100 * best.level:g} % interval"
    header = ("", *names, "robust mean", level, "runs", "best payoff")
    found = payoffs(best.params)
    best_payoff = f"{(min if analysis.minimize else max)(found):.4g}" if found else "\N{EM DASH}"
    estimates = (best.mean, best.lower, best.upper)
    rows = [row("recommended", best.params, estimates, best.payoffs, best_payoff)]
    if (now := best.baseline) is not None:
        seen = payoffs(now.params)
        best_seen = f"{(min if analysis.minimize else max)(seen):.4g}" if seen else "\N{EM DASH}"
        rows.append(
            row("baseline", now.params, (now.mean, now.lower, now.upper), len(seen), best_seen)
        )
    return [
        header if true_mean is None else (*header, "true mean"),
        *rows,
        row(
            "best observed",
            best.best_observed_params,
            (observed.mean[0], observed.lower[0], observed.upper[0]),
            len(payoffs(best.best_observed_params)),
            f"{best.best_observed_value:.4g}",
        ),
    ]


def tails_text(analysis: Analysis) -> str:
    """Return for the summary how heavy the tails are."""
    diagnosis = analysis.tails
    if diagnosis is None:
        return f"{analysis.recommendation.tails}."
    hill = diagnosis.pooled.both.hill
    index = ""
    if diagnosis.heavy and hill is not None:
        upper = f"{hill.index_upper:.2g}" if hill.index_upper < 100 else "more than 100"
        index = (
            f" The tail index is about {hill.index:.2g} ({100 * diagnosis.level:g} % interval "
            f"{hill.index_lower:.2g} to {upper}); at 2 or below the variance is infinite."
        )
    return f"{diagnosis.verdict}: {diagnosis.pooled.reason}.{index}"
