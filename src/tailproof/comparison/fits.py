"""Robust means of all alternatives, their contrasts with the baseline, and joint draws of means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailproof.comparison.contrasts import Contrast, blocked_contrast
from tailproof.comparison.samples import Samples, check_varied
from tailproof.means.intervals import Statistic, ends
from tailproof.means.robust import MeanEstimate, fit_mean

Array = NDArray[np.float64]

_DRAWS = 4_000  # from the confidence distributions of the means


@dataclass(frozen=True)
class Fitted:
    """Estimates of all alternatives (means over blocks if there are any), and their contrasts."""

    means: list[MeanEstimate]
    contrasts: list[Contrast]  # that of the baseline with itself is not used
    draws: Array  # (draws, alternatives)


def fit_independent(samples: Samples, base: int, rng: np.random.Generator) -> Fitted:
    """Fit robust means and contrasts of samples without common blocks, and draw means."""
    means = [fit_mean(series.values)[0] for series in samples.series]
    contrasts = [Contrast(estimate, means[base]) for estimate in means]
    draws = np.column_stack([_draw_means(estimate.statistic, rng) for estimate in means])
    return Fitted(means, contrasts, draws)


def _draw_means(statistic: Statistic, rng: np.random.Generator) -> Array:
    """Draw means for a fit: the quantiles of the distribution are the interval's ends."""
    t = rng.standard_t(statistic.degrees, _DRAWS)
    lower, upper = ends(
        np.full(_DRAWS, statistic.mean),
        np.full(_DRAWS, statistic.standard_error),
        np.full(_DRAWS, statistic.skewness),
        np.abs(t),
        np.full(_DRAWS, statistic.hidden_below),
        np.full(_DRAWS, statistic.hidden_above),
    )
    return np.where(t < 0.0, lower, upper)


def fit_blocked(names: list[str], table: Array, base: int, rng: np.random.Generator) -> Fitted:
    """Fit robust means of differences within blocks; `table` is (alternatives, blocks)."""
    fitted = [fit_mean(row) for row in table]
    base_estimate, base_psi = fitted[base]
    check_varied(f"the means of {names[base]!r} over {table.shape[1]} blocks", table[base])
    contrasts, centers, influences = [], [], []
    for i, row in enumerate(table):
        difference, psi = fit_mean(row - table[base])
        if i != base:
            check_varied(
                f"the differences between {names[i]!r} and {names[base]!r}", row - table[base]
            )
        contrasts.append(blocked_contrast(difference, base_estimate, psi, base_psi))
        centers.append(difference.mean)
        influences.append(psi)
    scale = float(np.abs(influences).max()) or 1.0
    psi = np.array(influences) / scale
    # Gaussian draws: the differences share the baseline, so their covariances matter.
    values, vectors = np.linalg.eigh(psi @ psi.T)
    root = vectors * np.sqrt(np.maximum(values, 0.0)) / table.shape[1]
    noise = rng.standard_normal((_DRAWS, len(table))) @ root.T
    draws = np.array(centers) + scale * noise
    return Fitted([estimate for estimate, _ in fitted], contrasts, draws)
