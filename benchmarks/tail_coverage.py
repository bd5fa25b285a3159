"""How often the intervals of the tail index contain the true one, and how long they are.

    python benchmarks/tail_coverage.py --replications 1000

Prints for each law, side and estimator: the share of samples whose interval contains the true
gamma = 1 / tail index, the shares whose interval lies below it (the tail is taken for lighter than
it is) and above, the median interval of the index, and the coverage of the classical Hill interval
at the same k.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import levy_stable, norm

from tailproof.tails.indices import IndexEstimate, hill, moment, pickands, reduced_hill
from tailproof.tails.order_statistics import OrderStatistics, deviations, largest

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
ESTIMATORS: dict[str, Callable[[OrderStatistics, float], IndexEstimate | None]] = {
    "hill": reduced_hill,
    "moment": moment,
    "pickands": pickands,
}


def _burr(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Burr with tail index 2 and rho = -1/2: P(x > t) = (1 + t)^(-2)."""
    return rng.random(n) ** -0.5 - 1.0


LAWS: dict[str, tuple[Draw, float, str]] = {
    "Pareto(1.5)": (lambda rng, n: 1.0 + rng.pareto(1.5, n), 1.5, "both"),
    "Pareto(1.5), right": (lambda rng, n: 1.0 + rng.pareto(1.5, n), 1.5, "right"),
    "Student-t(2.5)": (lambda rng, n: rng.standard_t(2.5, n), 2.5, "both"),
    "Student-t(2.5), right": (lambda rng, n: rng.standard_t(2.5, n), 2.5, "right"),
    "Student-t(1.5)": (lambda rng, n: rng.standard_t(1.5, n), 1.5, "both"),
    "Student-t(4)": (lambda rng, n: rng.standard_t(4.0, n), 4.0, "both"),
    "stable(1.5)": (
        lambda rng, n: np.asarray(levy_stable.rvs(1.5, 0.0, size=n, random_state=rng)),
        1.5,
        "both",
    ),
    "stable(1.8)": (
        lambda rng, n: np.asarray(levy_stable.rvs(1.8, 0.0, size=n, random_state=rng)),
        1.8,
        "both",
    ),
    "Frechet(2)": (lambda rng, n: rng.exponential(size=n) ** -0.5, 2.0, "both"),
    "Pareto(3)": (lambda rng, n: 1.0 + rng.pareto(3.0, n), 3.0, "both"),
    "Burr(2)": (_burr, 2.0, "both"),
}


@dataclass
class Tally:
    """Counts of one law and estimator: intervals below and above gamma, and without estimate."""

    below: int = 0
    above: int = 0
    classical: int = 0
    none: int = 0
    intervals: list[tuple[float, float]] | None = None

    def add(
        self, found: IndexEstimate | None, top: OrderStatistics, gamma: float, level: float
    ) -> None:
        """Count one sample."""
        if found is None:
            self.none += 1
            return
        self.below += found.gamma_upper < gamma
        self.above += found.gamma_lower > gamma
        self.intervals = [*(self.intervals or []), (found.index_lower, found.index_upper)]
        plain = hill(top, found.k)
        half = float(norm.ppf(0.5 + 0.5 * level)) * plain / math.sqrt(found.k)
        self.classical += abs(plain - gamma) <= half

    def line(self, replications: int) -> str:
        covered = 1.0 - (self.below + self.above + self.none) / replications
        low, high = np.median(np.array(self.intervals or [(math.nan, math.nan)]), axis=0)
        return (
            f"{covered:8.3f} {self.below / replications:8.3f} {self.above / replications:8.3f} "
            f"  {low:5.2f} .. {high:5.2f} {self.classical / replications:10.3f}"
        )


def measure(law: str, n: int, replications: int, level: float, seed: int) -> dict[str, Tally]:
    """Return the tallies of all estimators on samples of one law."""
    draw, index, side = LAWS[law]
    rng = np.random.default_rng((seed, sorted(LAWS).index(law)))
    tallies = {name: Tally() for name in ESTIMATORS}
    for _ in range(replications):
        x = draw(rng, n)
        top = largest(deviations(x, float(np.median(x)), side))
        for name, estimator in ESTIMATORS.items():
            tallies[name].add(estimator(top, level), top, 1.0 / index, level)
    return tallies


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replications", type=int, default=500)
    parser.add_argument("--n", type=int, default=5_000, help="payoffs a sample")
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--law", choices=LAWS, action="append", help="only these (may be repeated)")
    args = parser.parse_args()
    error = math.sqrt(args.level * (1.0 - args.level) / args.replications)
    print(f"n = {args.n:,}, {args.replications} replications, nominal {args.level:.0%}")
    print(f"one standard error of a coverage: {error:.3f}\n")
    print(
        f"{'law':22} {'estimator':9} {'coverage':>8} {'below':>8} {'above':>8} "
        f"  {'index':>14} {'plain Hill':>10}"
    )
    for law in args.law or LAWS:
        tallies = measure(law, args.n, args.replications, args.level, args.seed)
        for name, tally in tallies.items():
            print(f"{law:22} {name:9} {tally.line(args.replications)}", flush=True)


if __name__ == "__main__":
    main()
