"""What a far `fail_value` does to the intervals of configurations that do not fail.

    python benchmarks/fail_value.py --seeds 10

A loss over two parameters is minimized with 60 evaluations. Failures are those of a region (a third
of the space) or come at random, with probability 0.03 everywhere. Printed for each fail value: how
much wider the 90 % interval of the recommended configuration's mean is than without a fail value
(median over the seeds), how often it contains the mean, the failed trials among them counted with
the fail value, and the regret.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

import tailproof as tp
from reporting import markdown_table, note

SPACE = tp.Space(x=tp.Float(0.0, 1.0), y=tp.Float(0.0, 1.0))
FAIL_VALUES = (None, 10.0, 100.0, 1e4, 1e6)
AT_RANDOM = 0.03
NOISE: dict[str, Callable[[np.random.Generator], float]] = {
    "Gaussian": lambda rng: 0.2 * float(rng.standard_normal()),
    "Pareto(1.7)": lambda rng: 0.2 * float(rng.pareto(1.7) - 1.0 / 0.7),
}


def loss(x: float, y: float) -> float:
    """Return the mean loss, from 1.1 to 4."""
    return 1.0 + 4.0 * (x - 0.55) ** 2 + 3.0 * (y - 0.4) ** 2 + 0.3 * math.sin(9.0 * x) ** 2


def run(noise: str, region: bool, fail_value: float | None, seed: int, n: int) -> list[float]:
    """Return width, whether the interval holds, the regret and the number of failures."""
    rng = np.random.default_rng([seed, 5])

    def objective(x: float, y: float) -> float:
        if x > 2.0 / 3.0 if region else rng.random() < AT_RANDOM:
            raise RuntimeError("failed")
        return loss(x, y) + NOISE[noise](rng)

    result = tp.minimize(
        objective,
        SPACE,
        n,
        seed=seed,
        on_error="skip",
        fail_value=fail_value,
        avoid_failures=True,
        progress=False,
    )
    found = result.recommendation
    assert found is not None
    mean = loss(**found.params)
    if fail_value is not None and not region:
        mean = (1.0 - AT_RANDOM) * mean + AT_RANDOM * fail_value
    grid = np.linspace(0.0, 2.0 / 3.0 if region else 1.0, 201)
    best = min(loss(float(x), float(y)) for x in grid for y in np.linspace(0.0, 1.0, 101))
    return [
        found.upper - found.lower,
        float(found.lower <= mean <= found.upper),
        loss(**found.params) - best,
        len(result.failures),
    ]


def main() -> None:
    """Run the cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--evaluations", type=int, default=60)
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    rows = []
    for region in (True, False):
        for noise in NOISE:
            unit = math.nan
            for value in FAIL_VALUES:
                runs = np.array(
                    [run(noise, region, value, s, arguments.evaluations) for s in seeds]
                )
                width = float(np.median(runs[:, 0]))
                unit = width if value is None else unit
                where = "a third of the space" if region else "3 % anywhere"
                name = "none" if value is None else f"{value:g}"
                held = f"{int(runs[:, 1].sum())} of {len(runs)}"
                failed, regret = f"{runs[:, 3].mean():.1f}", f"{runs[:, 2].mean():.3f}"
                rows.append((where, noise, name, failed, f"{width / unit:.3g}", held, regret))
                note(" ".join(rows[-1]))
    header = ["failures", "noise", "fail value", "failed", "width", "held", "regret"]
    print("\n".join(markdown_table(header, rows)))


if __name__ == "__main__":
    main()
