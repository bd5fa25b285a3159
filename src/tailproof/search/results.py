"""What the practical optimizer answers: predictions, comparisons and recommendations, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailproof.search.trials import CompletedTrial, FailedTrial

if TYPE_CHECKING:
    from tailproof.search.optimizer import Optimizer

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Prediction:
    """Robust means with intervals at k configurations, in units of the payoff.

    Arrays (k,), or () for one configuration.
    """

    mean: Array
    lower: Array
    upper: Array
    level: float

    def _without_axis(self) -> Prediction:
        """Return a prediction at one configuration, (1,), as arrays without dimensions."""
        mean, lower, upper = (x.reshape(()) for x in (self.mean, self.lower, self.upper))
        return Prediction(mean, lower, upper, self.level)


@dataclass(frozen=True)
class BaselineComparison:
    """How much better a configuration is than the baseline.

    Attributes
    ----------
    params, mean, lower, upper, payoffs
        The baseline, its mean payoff with an interval, and the number of its payoffs.
    improvement, improvement_lower, improvement_upper
        By how much the mean payoff is better than the baseline's, positive if it is, whichever
        direction is better, with an interval; in units of the payoff.
    level
        Confidence level of the intervals.
    probability
        That the configuration is better than the baseline, under the model.
    """

    params: dict[str, Any]
    mean: float
    lower: float
    upper: float
    payoffs: int
    improvement: float
    improvement_lower: float
    improvement_upper: float
    level: float
    probability: float

    def __str__(self) -> str:
        """Return the baseline and the improvement over it in words."""
        if self.improvement_lower == self.improvement_upper == 0.0:
            return f"the baseline itself (mean {self.mean:.4g})"
        word = "better" if self.improvement >= 0.0 else "worse"
        ends = (self.improvement_lower, self.improvement_upper)
        low, high = ends if self.improvement >= 0.0 else (-ends[1], -ends[0])
        share = f" ({100 * abs(self.improvement / self.mean):.3g} %)" if self.mean else ""
        return (
            f"{word} than the baseline's {self.mean:.4g} by {abs(self.improvement):.4g}{share}, "
            f"{100 * self.level:.3g} % interval {low:.4g} to {high:.4g}; better with probability "
            f"{_probability_text(self.probability)}"
        )


@dataclass(frozen=True)
class Recommendation:
    """The configuration with the best robust mean, or the one confirmed, and how sure that is.

    Attributes
    ----------
    params
        The configuration.
    mean, lower, upper
        Its mean payoff, and an interval that holds it with probability about `level`.
    level
        Confidence level of the interval: empirical, not a theorem's (docs/rivals.md states the
        coverage).
    payoffs
        Number of payoffs of this very configuration.
    total_payoffs
        Number of payoffs told in all.
    clipped
        How many of all payoffs have a residual that the robust loss limits.
    tails
        How heavy the tails look, in words.
    best_observed_params, best_observed_value
        The configuration with the best single payoff, and that payoff: luck more than merit.
    baseline
        How much better it is than the baseline; None if there is none.
    """

    params: dict[str, Any]
    mean: float
    lower: float
    upper: float
    level: float
    payoffs: int
    total_payoffs: int
    clipped: int
    tails: str
    best_observed_params: dict[str, Any]
    best_observed_value: float
    baseline: BaselineComparison | None = None

    def __str__(self) -> str:
        """Return the recommendation of a search in words."""
        setting = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        compared = "" if self.baseline is None else f"; {self.baseline}"
        return (
            f"{setting}: mean {self.mean:.4g} ({100 * self.level:.3g} % interval {self.lower:.4g} "
            f"to {self.upper:.4g}; {self.total_payoffs} payoffs, {self.clipped} clipped; "
            f"{self.tails}){compared}"
        )

    def _repr_html_(self) -> str:
        """Return the recommendation of a search as a table, for notebooks."""
        from tailproof.search import views

        return views.recommendation_html(self)


def _probability_text(probability: float) -> str:
    """Return a result's probability from draws; extreme ones say less than their digits.

    Examples
    --------
    >>> _probability_text(0.9234), _probability_text(1.0), _probability_text(0.0)
    ('0.923', 'above 0.999', 'below 0.001')
    """
    if probability > 0.999:
        return "above 0.999"
    return "below 0.001" if probability < 0.001 else f"{probability:.3g}"


@dataclass(frozen=True)
class Result:
    """The outcome of `maximize` or `minimize`.

    Attributes
    ----------
    recommendation
        The configuration with the best robust mean, or the one confirmed, with its interval; None
        if nothing was told.
    trials
        Every payoff told, in order.
    optimizer
        To go on with: ask, tell, predict, save.
    interrupted
        Whether Ctrl-C ended the loop early.
    stopped
        Why the search ended: "evaluations", "until", "until_better" or "interrupted".
    failures
        Evaluations that raised an error and were skipped.
    seconds
        Duration of the evaluation of each payoff of `trials`.
    """

    recommendation: Recommendation | None
    trials: list[CompletedTrial]
    optimizer: Optimizer
    interrupted: bool
    stopped: str = "evaluations"
    failures: list[FailedTrial] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the recommendation of a Result in words."""
        return "nothing was measured" if self.recommendation is None else str(self.recommendation)

    def to_frame(self) -> Any:
        """Return the trials of a Result as a pandas DataFrame: see `Optimizer.to_frame`."""
        return self.optimizer.to_frame()

    def _repr_html_(self) -> str:
        """Return a Result as HTML, that of its optimizer, for notebooks."""
        return self.optimizer._repr_html_()
