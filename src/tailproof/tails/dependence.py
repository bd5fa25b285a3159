"""Serial dependence, by ranks: every interval of the diagnosis assumes independent payoffs.

The lag-1 autocorrelation of the ranks is not moved by single large payoffs, as that of the payoffs
is. It is taken of the payoffs (trends, cycles) and of their distances from the center (clusters of
large deviations, as in the returns of stocks); the larger of the two, r, gives the design effect

    (1 + r) / (1 - r),

the factor by which the variance of a mean exceeds that of independent payoffs if the dependence
decays geometrically. n payoffs then carry as much information as n / design effect independent
ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_LENGTH = 200_000  # consecutive payoffs used; of a longer series, the first ones
_SIGNIFICANT = 0.01


@dataclass(frozen=True)
class Dependence:
    """Serial dependence of a series of payoffs.

    Attributes
    ----------
    autocorrelation, autocorrelation_of_size : float
        Lag-1 autocorrelation of the ranks of the payoffs, and of their absolute deviations.
    p_value : float
        Of the hypothesis that both are zero (two-sided, Bonferroni over the two).
    across : float
        How much more the number of large deviations varies from row to row than if arms were
        independent (1 if so, or if arms are not observed together).
    design_effect : float
        At least 1; the factor by which variances grow.
    """

    autocorrelation: float
    autocorrelation_of_size: float
    p_value: float
    across: float
    design_effect: float

    @property
    def significant(self) -> bool:
        """Whether serial independence is rejected at 1 %."""
        return self.p_value < _SIGNIFICANT


def rank_autocorrelation(values: NDArray[np.float64]) -> float:
    """Return the serial dependence of ranks, their lag-1 autocorrelation; 0 for equal values."""
    from scipy.stats import rankdata

    ranks = rankdata(values)
    ranks -= ranks.mean()
    total = float(ranks @ ranks)
    return float(ranks[1:] @ ranks[:-1]) / total if total > 0.0 else 0.0


def _autocorrelation_p_value(n: int, *correlations: float) -> float:
    """Return the Bonferroni p-value of no dependence: sqrt(n) r is then standard Gaussian."""
    from scipy.stats import norm

    largest = max(abs(r) for r in correlations)
    return min(1.0, len(correlations) * 2.0 * float(norm.sf(math.sqrt(n) * largest)))


def dependence(values: NDArray[np.float64], center: float) -> Dependence:
    """Measure the serial dependence of one series in the order it came.

    Only the first 200,000 payoffs of a longer series are used.
    """
    head = values[:MAX_LENGTH]
    plain = rank_autocorrelation(head)
    size = rank_autocorrelation(np.abs(head - center))
    p, r, effect = _autocorrelation_p_value(head.size, plain, size), max(plain, size), 1.0
    if p < _SIGNIFICANT:
        effect = min(max((1.0 + r) / max(1.0 - r, 1e-12), 1.0), float(values.size))
    return Dependence(plain, size, p, 1.0, effect)


def across_arms(exceeds: NDArray[np.bool_]) -> float:
    """Return the variance of the row counts of large deviations over that of independent arms.

    `exceeds` (rows, arms) tells whether a payoff is a large deviation of its arm. The result is 1
    if the excess is not significant at 1 %.
    """
    from scipy.stats import chi2

    share = exceeds.mean(axis=0)
    independent = float((share * (1.0 - share)).sum())
    rows = exceeds.shape[0]
    if independent == 0.0 or exceeds.shape[1] < 2:
        return 1.0
    ratio = float(exceeds.sum(axis=1).var(ddof=1)) / independent
    return ratio if float(chi2.sf((rows - 1) * ratio, rows - 1)) < _SIGNIFICANT else 1.0


def pooled(parts: list[tuple[int, Dependence]], across: float) -> Dependence:
    """Combine the serial dependence of several arms, each given with its number of payoffs."""
    n = np.array([count for count, _ in parts], dtype=np.float64)
    total = int(n.sum())
    # Divided last: counts times effects of exactly 1 must average to exactly 1.
    plain = float(n @ [d.autocorrelation for _, d in parts]) / total
    size = float(n @ [d.autocorrelation_of_size for _, d in parts]) / total
    serial = float(n @ [d.design_effect for _, d in parts]) / total
    effect = min(serial * max(across, 1.0), float(total))
    return Dependence(plain, size, _autocorrelation_p_value(total, plain, size), across, effect)
