"""The result of a comparison: one record an alternative, as tables, JSON, data frame and plots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailproof._util.optional import require
from tailproof.comparison.units import Unit, unit_for

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BETTER, WORSE, EQUIVALENT, UNDECIDED = "better", "worse", "equivalent", "not decided"


@dataclass(frozen=True)
class Effect:
    """An estimate with its interval: a difference in units of the payoffs, or a ratio."""

    estimate: float
    lower: float
    upper: float
    level: float


@dataclass(frozen=True)
class Alternative:
    """What is known about one alternative. Fields about the baseline are None for the baseline.

    Attributes
    ----------
    name : str
    count : int
        Number of payoffs.
    mean : Effect
        Robust mean and its interval at the level of the comparison (for this mean alone).
    difference, ratio : Effect or None
        Mean less that of the baseline, and over it. Their intervals hold for all alternatives at
        once. `ratio` is None also where the baseline's mean may be 0 or below.
    probability_better, probability_best : float
        Confidence that the mean is better than the baseline's, and the best of all.
    verdict : str or None
        "better", "worse", "equivalent" (closer than the minimum effect) or "not decided".
    sentence : str
        The verdict in words.
    more_payoffs : int or None
        About how many more payoffs of each would show the minimum effect, if not decided.
    plain_mean, median : float
        For orientation.
    truncated : int
        Number of payoffs whose influence on the robust mean is limited.
    largest_share : float
        Largest share of one payoff in the sum of squared deviations.
    tail_index : Effect or None
        Index of the heavier tail; below 2 the variance is infinite. None with too few payoffs.
    finite_variance : bool
        Whether the payoffs show that the variance is finite: by the interval of the tail index, or
        because a Student-t(2) law would have larger deviations among as many payoffs. If not, an
        infinite variance cannot be excluded, and intervals may cover less often than stated.
    cautions : tuple of str
        Why the intervals may not hold.
    """

    name: str
    count: int
    mean: Effect
    difference: Effect | None
    ratio: Effect | None
    probability_better: float | None
    probability_best: float
    verdict: str | None
    sentence: str
    more_payoffs: int | None
    plain_mean: float
    median: float
    truncated: int
    largest_share: float
    tail_index: Effect | None
    finite_variance: bool
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison(Mapping[str, Alternative]):
    """The alternatives by name, in the order they came; `comparison["blue"].difference.lower`.

    Attributes
    ----------
    title : str
    baseline : str
    level, corrected_level : float
        Confidence of all verdicts together, and of each single one (Bonferroni).
    lower_is_better : bool
    kind : str
        "payoff" or "time" (seconds).
    minimum_effect : float
        As a share of the baseline's mean.
    sequential : bool
        Whether the intervals hold at every look.
    blocks : int or None
        Number of complete blocks, if the payoffs come in blocks.
    assumption : str
        What the intervals rest on.
    moment_bound : float or None
        The bound on a moment of the payoffs that they rest on, if one was given.
    notes : tuple of str
    payoffs : dict of arrays
        What was compared, in the order it came.
    """

    title: str
    alternatives: dict[str, Alternative]
    baseline: str
    level: float
    corrected_level: float
    lower_is_better: bool
    kind: str
    minimum_effect: float
    sequential: bool
    blocks: int | None
    assumption: str
    moment_bound: float | None = None
    notes: tuple[str, ...] = ()
    payoffs: dict[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> Alternative:
        return self.alternatives[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.alternatives)

    def __len__(self) -> int:
        return len(self.alternatives)

    @property
    def unit(self) -> Unit:
        """The unit in which tables and plots of the comparison show payoffs."""
        return unit_for(self.kind, self[self.baseline].median)

    @property
    def ranked(self) -> list[Alternative]:
        """The baseline, then the other alternatives, the best mean first."""
        sign = 1.0 if self.lower_is_better else -1.0
        others = [a for a in self.values() if a.name != self.baseline]
        return [self[self.baseline], *sorted(others, key=lambda a: sign * a.mean.estimate)]

    @property
    def sentences(self) -> list[str]:
        """The verdicts in words, one an alternative but the baseline, the best mean first."""
        return [a.sentence for a in self.ranked[1:]]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the payoffs, as what JSON can hold (infinities aside)."""
        settings = {
            name: getattr(self, name)
            for name in (
                "title",
                "baseline",
                "level",
                "corrected_level",
                "lower_is_better",
                "kind",
                "minimum_effect",
                "sequential",
                "moment_bound",
                "blocks",
                "assumption",
            )
        }
        alternatives = [asdict(alternative) for alternative in self.values()]
        return {**settings, "notes": list(self.notes), "alternatives": alternatives}

    def to_frame(self) -> Any:
        """Return a comparison as a pandas data frame with one row an alternative."""
        pandas = require("pandas", "frame")
        rows = []
        for alternative in self.values():
            row: dict[str, Any] = {}
            for name, value in asdict(alternative).items():
                if isinstance(value, dict):
                    row |= {name: value["estimate"]}
                    row |= {f"{name}_{end}": value[end] for end in ("lower", "upper")}
                elif name != "cautions":
                    row[name] = value
            rows.append(row | {"cautions": "; ".join(alternative.cautions)})
        return pandas.DataFrame(rows).set_index("name")

    def table(self) -> str:
        """Return the comparison as plain text: the table and the verdicts."""
        from tailproof.comparison.text import text_report

        return text_report(self)

    __str__ = table

    def markdown(self) -> str:
        """Return the comparison as Markdown: the table and the verdicts."""
        from tailproof.comparison.text import markdown_report

        return markdown_report(self)

    def _repr_html_(self) -> str:
        """Return the comparison as tables, for notebooks."""
        from tailproof.comparison.text import html_report

        return html_report(self)

    def plot(self) -> Figure:
        """Return a matplotlib figure: distributions, differences, payoffs in their order."""
        from tailproof.comparison.plots import figure

        return figure(self)

    def html(self) -> str:
        """Return the comparison as a self-contained HTML page."""
        from tailproof.comparison.report import report_page

        return report_page([self])
