"""Tests against the Gaussian: excess kurtosis, Kolmogorov-Smirnov and Lilliefors.

A rejection says "not Gaussian" and no more: a trend, two modes or a bound are rejected as surely as
a heavy tail. `tailproof.tails.shape` decides whether the tail is heavy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

REJECTION = 0.05
MOST_TESTED = 100_000  # payoffs; beyond, a seeded subsample decides just as surely

_REPLICATIONS = 1_999
_NULL_SIZES = (10, 20, 40, 100, 250, 1_000)


@dataclass(frozen=True)
class Normality:
    """Tests against the Gaussian with the sample's own mean and standard deviation.

    `kurtosis` is the excess, 0 for the Gaussian; under heavy tails it estimates nothing, it only
    grows. `statistic` is the Kolmogorov-Smirnov distance of the `tested` payoffs to the fitted
    Gaussian, `ks_p` its p-value as if mean and deviation had been known (too large, so a rejection
    by it is a rejection indeed), `lilliefors_p` the one that allows for the fit, by Monte Carlo (at
    least 1 / 2000).
    """

    kurtosis: float
    statistic: float
    ks_p: float
    lilliefors_p: float
    tested: int

    @property
    def rejected(self) -> bool:
        """Whether Lilliefors' test rejects the Gaussian at 5 %."""
        return self.lilliefors_p < REJECTION


def excess_kurtosis(values: NDArray[np.float64]) -> float:
    """Return m4 / m2^2 - 3, zero under normality, of values that are not all equal."""
    from scipy.stats import kurtosis

    z = values - values.mean()
    return float(kurtosis(z / np.abs(z).max()))  # scaled: fourth powers neither over- nor underflow


def _lilliefors_distance(ordered: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Kolmogorov-Smirnov distance of each sorted row to its fitted Gaussian."""
    n = ordered.shape[-1]
    mean = ordered.mean(axis=-1, keepdims=True)
    cdf = ndtr((ordered - mean) / ordered.std(axis=-1, ddof=1, keepdims=True))
    steps = np.arange(n + 1) / n
    above = (steps[1:] - cdf).max(axis=-1)
    below = (cdf - steps[:-1]).max(axis=-1)
    return np.asarray(np.maximum(above, below), dtype=np.float64)


def _stephens_modified(distance: NDArray[np.float64] | float, n: int) -> NDArray[np.float64]:
    """Return Stephens' (1974) multiple of the distance, whose null law hardly depends on n."""
    return np.asarray(distance) * (np.sqrt(n) - 0.01 + 0.85 / np.sqrt(n))


@lru_cache(maxsize=32)
def _lilliefors_null(size: int, seed: int) -> NDArray[np.float64]:
    """Return the null distribution of Lilliefors' statistic for a sample size."""
    rng = np.random.default_rng((seed, size))
    draws = np.sort(rng.standard_normal((_REPLICATIONS, size)), axis=1)
    return _stephens_modified(_lilliefors_distance(draws), size)


def lilliefors_p(distance: float, n: int, seed: int) -> float:
    """Return the Monte Carlo p-value of a Kolmogorov-Smirnov distance to a fitted Gaussian.

    The null law of Stephens' modified statistic is simulated 1,999 times, at the largest of the
    sizes 10, 20, 40, 100, 250, 1000 that does not exceed `n`: the modified statistic does not
    depend on n to the precision the simulation has.
    """
    size = max((s for s in _NULL_SIZES if s <= n), default=_NULL_SIZES[0])
    beyond = int(np.count_nonzero(_lilliefors_null(size, seed) >= _stephens_modified(distance, n)))
    return (1 + beyond) / (1 + _REPLICATIONS)


def normality(values: NDArray[np.float64], seed: int) -> Normality:
    """Test `values`, not all equal, against the Gaussian.

    More than 100,000 values are tested on a seeded subsample of that size; the kurtosis is of all.
    """
    from scipy.stats import kstwo

    tested = values
    if values.size > MOST_TESTED:
        tested = np.random.default_rng(seed).choice(values, MOST_TESTED, replace=False)
    scale = float(np.abs(tested).max())
    ordered = np.sort(tested) / (scale if scale > 0.0 else 1.0)
    # A subsample may miss the few values that differ.
    distance = float(_lilliefors_distance(ordered)) if ordered[0] < ordered[-1] else 1.0
    return Normality(
        kurtosis=excess_kurtosis(values),
        statistic=distance,
        ks_p=float(kstwo.sf(distance, ordered.size)),
        lilliefors_p=lilliefors_p(distance, ordered.size, seed),
        tested=int(ordered.size),
    )
