"""The analysis of a study in words and as a table, for the terminal and the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailproof._util.console import text_table
from tailproof.tune.analysis import Analysis, TrueMean
from tailproof.tune.display import format_value


def summary_text(analysis: Analysis, true_mean: TrueMean | None, seconds: float) -> str:
    """Return the result of a session that took some seconds, as text for a terminal."""
    header, *rows = comparison_table(analysis, true_mean)
    clipped, n = int(analysis.clipped.sum()), len(analysis.values)
    return (
        f"{counts_text(analysis)}; this session took {seconds:.1f} s.\n\n"
        f"{text_table(header, rows, right=range(1, len(header)))}\n\n"
        f"{clipped} of {n} payoffs were clipped. Tails: {tails_text(analysis)}"
    )


def counts_text(analysis: Analysis) -> str:
    """Return how many trials there are of each kind."""
    text = f"{len(analysis.values):,} payoffs, {len(analysis.failed):,} failed trials"
    if analysis.left_out:
        text += f", {analysis.left_out:,} left out (outside the space, or of infinite value)"
    return text


def comparison_table(analysis: Analysis, true_mean: TrueMean | None) -> list[tuple[str, ...]]:
    """Return the recommended setting and that of the best observed payoff as rows, header first."""
    best, observed = analysis.recommendation, analysis.best_observed
    names = analysis.space.names
    level = f"{100 * best.level:g} % interval"
    header = ("", *names, "robust mean", level, "runs", "best payoff")
    recommended = (
        "recommended",
        *(format_value(best.params[name]) for name in names),
        f"{best.mean:.4g}",
        f"{best.lower:.4g} to {best.upper:.4g}",
        str(best.payoffs),
        _best_payoff(analysis, best.params),
    )
    best_observed = (
        "best observed",
        *(format_value(best.best_observed_params[name]) for name in names),
        f"{observed.mean[0]:.4g}",
        f"{observed.lower[0]:.4g} to {observed.upper[0]:.4g}",
        str(sum(setting == best.best_observed_params for setting in analysis.params)),
        f"{best.best_observed_value:.4g}",
    )
    if true_mean is None:
        return [header, recommended, best_observed]
    return [
        (*header, "true mean"),
        (*recommended, f"{true_mean(best.params):.4g}"),
        (*best_observed, f"{true_mean(best.best_observed_params):.4g}"),
    ]


def _best_payoff(analysis: Analysis, params: Mapping[str, Any]) -> str:
    settings = zip(analysis.params, analysis.values, strict=True)
    payoffs = [value for setting, value in settings if setting == params]
    if not payoffs:
        return "\N{EM DASH}"
    return f"{(min if analysis.minimize else max)(payoffs):.4g}"


def tails_text(analysis: Analysis) -> str:
    """Return how heavy the tails are."""
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
