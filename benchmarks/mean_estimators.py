"""Errors of robust means, and the choice of the factor in `tailproof.means.robust`.

    python benchmarks/mean_estimators.py

First table: 0.5 and 0.95 quantile of |error| over the plain mean's, for Huber's estimator with
z = c ln n and for Catoni's, Lee and Valiant's and the median of means, none of which is told a
moment. Second table: coverage of 90 % intervals of differences, for equal laws and for one scaled
by 1.25, by the factor c. The laws are not those of compare_coverage.py.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from compare_coverage import Law, batch_means, contains, difference_interval
from reporting import markdown_table
from tailproof.means.robust import huber_center, truncation_radius
from tailproof.means.sequences import catoni_phi

Array = NDArray[np.float64]

FACTORS = (0.3, 0.4, 0.5, 1.0)
CONFIDENCE = 0.05  # delta of the estimators that need one


def _zeros(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.where(rng.random(shape) < 0.93, 0.0, rng.pareto(2.0, shape))


LAWS = {
    "Weibull(0.35)": Law(lambda rng, s: rng.weibull(0.35, s), math.gamma(1.0 + 1.0 / 0.35)),
    "log-normal, sigma 1.5": Law(lambda rng, s: rng.lognormal(0.0, 1.5, s), math.exp(1.125)),
    "log-normal, sigma 1.8": Law(lambda rng, s: rng.lognormal(0.0, 1.8, s), math.exp(1.62)),
    "log-gamma(1.5, 1.9)": Law(
        lambda rng, s: np.exp(rng.gamma(1.5, 1.0 / 1.9, s)), (1.0 - 1.0 / 1.9) ** -1.5
    ),
    "Lomax(2)": Law(lambda rng, s: rng.pareto(2.0, s), 1.0),
    "Lomax(1.5)": Law(lambda rng, s: rng.pareto(1.5, s), 2.0),
    "t(1.8)": Law(lambda rng, s: rng.standard_t(1.8, s), 0.0),
    "93 % zeros, Lomax(2)": Law(_zeros, 0.07),
}


def huber(y: Array, factor: float) -> Array:
    return huber_center(y, limit_of(factor, y))[0]


def limit_of(factor: float, y: Array) -> float:
    return max(factor * math.log(y.shape[1]), 1.0)


def catoni(y: Array) -> Array:
    """Catoni's estimator with the sample variance in place of a known one, by bisection."""
    n = y.shape[1]
    scale = y.std(axis=1)[:, None] * math.sqrt(n / (2.0 * math.log(1.0 / CONFIDENCE)))
    low, high = y.min(axis=1), y.max(axis=1)
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = catoni_phi((y - middle[:, None]) / scale, 2.0).sum(axis=1) > 0.0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return 0.5 * (low + high)


def lee_valiant(y: Array) -> Array:
    """Lee and Valiant (2021): deviations from a median of means, weighted by 1 - min(a d^2, 1)."""
    start = median_of_means(y)
    d = y - start[:, None]
    target = math.log(1.0 / CONFIDENCE) / 3.0
    radius = truncation_radius(np.abs(d), target)[:, None]
    weights = 1.0 - np.minimum(np.square(d / np.where(radius > 0.0, radius, 1.0)), 1.0)
    return start + (d * weights).mean(axis=1)


def median_of_means(y: Array) -> Array:
    blocks = math.ceil(8.0 * math.log(1.0 / CONFIDENCE) / 3.0)
    return np.median([part.mean(axis=1) for part in np.array_split(y, blocks, axis=1)], axis=0)


ESTIMATORS: dict[str, Callable[[Array], Array]] = {
    **{f"Huber, {c:g} ln n": lambda y, c=c: huber(y, c) for c in FACTORS},
    "Catoni": catoni,
    "Lee-Valiant": lee_valiant,
    "median of means": median_of_means,
}


def error_row(law: Law, y: Array) -> list[str]:
    plain = np.quantile(np.abs(y.mean(axis=1) - law.mean), [0.5, 0.95])
    cells = []
    for estimate in ESTIMATORS.values():
        middle, high = np.quantile(np.abs(estimate(y) - law.mean), [0.5, 0.95]) / plain
        cells.append(f"{middle:.2f}, {high:.2f}")
    return cells


def coverage_row(law: Law, y0: Array, y1: Array) -> list[str]:
    cells = []
    for factor in FACTORS:
        a, b = (batch_means(y, limit_of(factor, y)) for y in (y0, y1))
        equal = contains(difference_interval(b, a, 0.9), 0.0)
        scaled = contains(difference_interval(b.scaled(1.25), a, 0.9), 0.25 * law.mean)
        cells.append(f"{100 * equal:.1f}, {100 * scaled:.1f}")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[30, 300, 3000])
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=77)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    errors, coverages = [], []
    for name, law in LAWS.items():
        for n in arguments.n:
            shape = (max(arguments.replications * 300 // max(n, 300), 100), n)
            y0, y1 = law.draw(rng, shape), law.draw(rng, shape)
            varied = (y0.min(axis=1) < y0.max(axis=1)) & (y1.min(axis=1) < y1.max(axis=1))
            y0, y1 = y0[varied], y1[varied]
            errors.append([name, f"{n:,}", *error_row(law, y0)])
            coverages.append([name, f"{n:,}", *coverage_row(law, y0, y1)])
    print("\n".join(markdown_table(["law", "n", *ESTIMATORS], errors)), end="\n\n")
    header = ["law", "n", *(f"{c:g} ln n" for c in FACTORS)]
    print("\n".join(markdown_table(header, coverages)))


if __name__ == "__main__":
    main()
