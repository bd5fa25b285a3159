"""Coverage, false verdicts, width and power of `tailproof compare`, beside the usual tests.

    python benchmarks/compare_coverage.py --data DIR --page docs/compare.md
    python benchmarks/compare_coverage.py --data DIR --page docs/compare.md --cautions

Each law is drawn for two alternatives of n payoffs each. Printed for 90 % intervals: how often they
contain the true difference and ratio, for equal laws, for one scaled by 1.25, and against Gaussian
payoffs of the same mean and little noise (where skewness does not cancel); the share of false
verdicts "better" at 95 % confidence between equal laws, at one look and at any of 40 looks; power
and median width beside Welch's t, Mann-Whitney's U, the bootstrap and 99.9 % winsorizing. The
constants of `tailproof.means` were chosen on other laws and seeds (mean_estimators.py). With
`--cautions` it only counts how often the output says that intervals may cover less often. Claims
and latencies are resampled from claims.csv and latency.csv in DIR; without them they are left out.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, stdtrit
from scipy.stats import mannwhitneyu

from reporting import fill_blocks, markdown_table, note, save
from tailproof._util import files
from tailproof.comparison.cautions import cautions, finite_variance, tail_index
from tailproof.means.intervals import ends
from tailproof.means.robust import huber_center, influence, robust_mean, truncation_limit
from tailproof.means.sequences import sequence_quantile

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]

COVERAGE_LEVEL, VERDICT_LEVEL = 0.90, 0.95
SCALE = 1.25
EFFECT = 2.8  # true difference in the table of power, in standard errors of the plain difference
BOOTSTRAP = 300
CAUTION_SAMPLES = 200
FIRST_LOOK, LOOKS = 10, 40


@dataclass(frozen=True)
class Law:
    """A law of payoffs and its mean."""

    draw: Draw
    mean: float


def _zeros(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.where(rng.random(shape) < 0.95, 0.0, 1.0 + rng.pareto(1.8, shape))


LAWS: dict[str, Law] = {
    "Gaussian, mean 5": Law(lambda rng, shape: rng.normal(5.0, 1.0, shape), 5.0),
    "exponential": Law(lambda rng, shape: rng.exponential(1.0, shape), 1.0),
    "log-normal, sigma 1": Law(lambda rng, shape: rng.lognormal(0.0, 1.0, shape), math.exp(0.5)),
    "log-normal, sigma 2": Law(lambda rng, shape: rng.lognormal(0.0, 2.0, shape), math.exp(2.0)),
    "t(2.5) + 5": Law(lambda rng, shape: 5.0 + rng.standard_t(2.5, shape), 5.0),
    "Pareto(2.2)": Law(lambda rng, shape: 1.0 + rng.pareto(2.2, shape), 2.2 / 1.2),
    "Pareto(1.7)": Law(lambda rng, shape: 1.0 + rng.pareto(1.7, shape), 1.7 / 0.7),
    "95 % zeros, Pareto(1.8)": Law(_zeros, 0.05 * 1.8 / 0.8),
}


def resampled(values: Array) -> Law:
    """Return the law that draws from given payoffs with replacement."""
    return Law(lambda rng, shape: rng.choice(values, shape), float(values.mean()))


def data_laws(folder: Path | None) -> dict[str, Law]:
    """Return the laws of the data files that are there."""
    found: dict[str, Law] = {}
    if folder is None:
        return found
    if (folder / "claims.csv").is_file():
        with (folder / "claims.csv").open(encoding="utf-8", newline="") as stream:
            amounts = [float(row["average"]) for row in csv.DictReader(stream)]
        found["claims"] = resampled(np.array(amounts))
    if (folder / "latency.csv").is_file():
        with (folder / "latency.csv").open(encoding="utf-8", newline="") as stream:
            rows = list(csv.reader(stream))[1:]
        found["latencies"] = resampled(np.array([float(x) for row in rows for x in row]))
    return found


@dataclass(frozen=True)
class Batch:
    """Robust means of many samples at once, arrays (R,): what `MeanEstimate` has for one."""

    mean: Array
    variance: Array  # of the mean
    third: Array  # third cumulant of the mean
    below: Array
    above: Array
    count: int

    def scaled(self, a: float) -> Batch:
        return Batch(
            a * self.mean,
            a**2 * self.variance,
            a**3 * self.third,
            a * self.below,
            a * self.above,
            self.count,
        )


def batch_means(y: Array, limit: float | None = None) -> Batch:
    """Return the robust means of samples y (R, n), as `robust_mean` gives them one by one.

    `limit` replaces z = 0.4 ln n.
    """
    n = y.shape[1]
    center, radius = huber_center(y, truncation_limit(n) if limit is None else limit)
    psi = influence(y, center, radius)
    deviation = y - center[:, None]
    excess = deviation - np.clip(deviation, -radius[:, None], radius[:, None])
    return Batch(
        center,
        np.square(psi).sum(axis=1) / (n - 1) / n,
        (psi**3).mean(axis=1) / n**2,
        np.maximum(-excess, 0.0).mean(axis=1),
        np.maximum(excess, 0.0).mean(axis=1),
        n,
    )


def difference_interval(
    b: Batch, a: Batch, level: float, rho: float = 1.0, quantile: float | None = None
) -> tuple[Array, Array]:
    """Return the ends of the intervals of mean(b) - rho mean(a), as `Contrast.at` gives them."""
    base = a.scaled(rho)
    variance = b.variance + base.variance
    error = np.sqrt(variance)
    safe = np.where(variance > 0.0, error, 1.0)
    degrees = variance**2 / np.maximum(
        b.variance**2 / (b.count - 1) + base.variance**2 / (base.count - 1), 1e-300
    )
    degrees = np.maximum(degrees, 1.0)
    if quantile is None:
        multiple = stdtrit(degrees, 0.5 + 0.5 * level)
    else:
        multiple = -stdtrit(degrees, math.exp(float(log_ndtr(-quantile))))
    skewness = np.where(variance > 0.0, (b.third - base.third) / safe**3, 0.0)
    below, above = np.hypot(b.below, base.above), np.hypot(b.above, base.below)
    return ends(b.mean - base.mean, error, skewness, multiple, below, above)


def welch_interval(b: Array, a: Array, level: float) -> tuple[Array, Array]:
    vb, va = b.var(axis=1, ddof=1) / b.shape[1], a.var(axis=1, ddof=1) / a.shape[1]
    below = vb**2 / (b.shape[1] - 1) + va**2 / (a.shape[1] - 1)
    degrees = np.maximum((vb + va) ** 2 / np.maximum(below, 1e-300), 1.0)
    half = stdtrit(degrees, 0.5 + 0.5 * level) * np.sqrt(vb + va)
    difference = b.mean(axis=1) - a.mean(axis=1)
    return difference - half, difference + half


def winsorized(b: Array, a: Array) -> tuple[Array, Array]:
    """Clip both samples above at their common 99.9 % quantile."""
    top = np.quantile(np.concatenate([b, a], axis=1), 0.999, axis=1)[:, None]
    return np.minimum(b, top), np.minimum(a, top)


def bootstrap_interval(
    b: Array, a: Array, level: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return percentile intervals of the difference of plain means."""
    tails = [0.5 - 0.5 * level, 0.5 + 0.5 * level]
    n = b.shape[1]
    found = []
    for x, y in zip(b, a, strict=True):
        means = [z[rng.integers(0, n, (BOOTSTRAP, n), dtype=np.int32)].mean(axis=1) for z in (x, y)]
        found.append(np.quantile(means[0] - means[1], tails))
    result = np.array(found)
    return result[:, 0], result[:, 1]


def share(condition: Any) -> float:
    return float(np.mean(condition))


def contains(interval: tuple[Array, Array], value: float) -> float:
    return share((interval[0] <= value) & (value <= interval[1]))


def measure(name: str, law: Law, n: int, replications: int, seed: int) -> dict[str, Any]:
    """Return the figures of one law and one n."""
    rng = np.random.default_rng((seed, n, *name.encode()))
    y0, y1 = law.draw(rng, (replications, n)), law.draw(rng, (replications, n))
    a, b = batch_means(y0), batch_means(y1)
    quiet = batch_means(law.mean + 0.01 * abs(law.mean) * rng.standard_normal((replications, n)))
    level = COVERAGE_LEVEL
    scaled = b.scaled(SCALE)
    base_lower = ends(
        a.mean,
        np.sqrt(a.variance),
        np.where(
            a.variance > 0.0, a.third / np.where(a.variance > 0.0, a.variance, 1.0) ** 1.5, 0.0
        ),
        stdtrit(np.full_like(a.mean, n - 1.0), 0.5 + 0.5 * level),
        a.below,
        a.above,
    )[0]
    with_ratio = base_lower > 0.0
    ratio = difference_interval(scaled, a, level, SCALE)
    ratio_covers = (ratio[0] <= 0.0) & (ratio[1] >= 0.0)
    result: dict[str, Any] = {
        "law": name,
        "n": n,
        "equal": contains(difference_interval(b, a, level), 0.0),
        "scaled": contains(difference_interval(scaled, a, level), (SCALE - 1.0) * law.mean),
        "ratio": share(ratio_covers[with_ratio]) if with_ratio.any() else math.nan,
        "no_ratio": 1.0 - share(with_ratio),
        "constant": contains(difference_interval(b, quiet, level), 0.0),
        "constant_welch": contains(welch_interval(y1, np.full_like(y1, law.mean), level), 0.0),
        "constant_winsorized": contains(
            welch_interval(
                np.minimum(y1, np.quantile(y1, 0.999, axis=1)[:, None]),
                np.full_like(y1, law.mean),
                level,
            ),
            0.0,
        ),
        "welch_equal": contains(welch_interval(y1, y0, level), 0.0),
        "false_better": share(difference_interval(b, a, VERDICT_LEVEL)[0] > 0.0),
    }
    result["cautioned"] = share([is_cautioned(y) for y in y0[:100]])
    return result | power(law, y0, y1, rng)


def is_cautioned(y: Array) -> bool:
    """Tell whether the output has a caution about the tails of payoffs y (n,)."""
    return any("depend" not in c for c in cautions(y, robust_mean(y), tail_index(y)))


def caution_row(name: str, law: Law, n: int, seed: int) -> list[str]:
    """Return the shares of samples with a caution, and with it or an unknown variance."""
    rng = np.random.default_rng((seed, 2, n, *name.encode()))
    y = law.draw(rng, (CAUTION_SAMPLES, n))
    named = np.array([is_cautioned(row) for row in y])
    unknown = np.array([not finite_variance(row, tail_index(row)) for row in y])
    return [name, f"{n:,}", percent(share(named)), percent(share(named | unknown))]


def power(law: Law, y0: Array, y1: Array, rng: np.random.Generator) -> dict[str, Any]:
    """Return the shares of verdicts "better" for a true effect, and widths over Welch's."""
    n = y0.shape[1]
    effect = EFFECT * float(np.median(np.sqrt((y0.var(axis=1) + y1.var(axis=1)) / n)))
    scale = 1.0 + effect / law.mean
    true = (scale - 1.0) * law.mean
    y1 = scale * y1
    few = slice(0, max(100, 300_000 // n))
    intervals = {
        "tailproof": difference_interval(batch_means(y1), batch_means(y0), VERDICT_LEVEL),
        "welch": welch_interval(y1, y0, VERDICT_LEVEL),
        "winsorized": welch_interval(*winsorized(y1, y0), VERDICT_LEVEL),
        "bootstrap": bootstrap_interval(y1[few], y0[few], VERDICT_LEVEL, rng),
    }
    unit = float(np.median(intervals["welch"][1] - intervals["welch"][0]))
    result: dict[str, Any] = {"scale": scale}
    for method, found in intervals.items():
        result[f"power_{method}"] = share(found[0] > 0.0)
        result[f"width_{method}"] = float(np.median(found[1] - found[0])) / unit
        result[f"coverage_{method}"] = contains(found, true)
    y0_few, y1_few = y0[:1000], y1[:1000]
    p = mannwhitneyu(y1_few, y0_few, axis=1, alternative="greater", method="asymptotic").pvalue
    result["power_mann_whitney"] = share(p < 0.5 * (1.0 - VERDICT_LEVEL))
    return result


def sequential_error(name: str, law: Law, replications: int, largest: int, seed: int) -> float:
    """Return the share of pairs of equal laws with a verdict "better" at any of the looks."""
    rng = np.random.default_rng((seed, 1, *name.encode()))
    y0, y1 = (law.draw(rng, (replications, largest)) for _ in range(2))
    wrong = np.zeros(replications, dtype=bool)
    for n in np.unique(np.geomspace(FIRST_LOOK, largest, LOOKS).astype(int)):
        quantile = sequence_quantile(float(n), VERDICT_LEVEL)
        lower, _ = difference_interval(
            batch_means(y1[:, :n]), batch_means(y0[:, :n]), VERDICT_LEVEL, quantile=quantile
        )
        wrong |= lower > 0.0
    return share(wrong)


def percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.1f}"


def coverage_table(rows: list[dict[str, Any]]) -> str:
    header = [
        "law",
        "n",
        "equal laws",
        "scaled by 1.25",
        "ratio 1.25",
        "against near-constant",
        "the same, Student's t",
        "the same, winsorized",
        "cautioned",
        "no ratio",
    ]
    keys = (
        "equal",
        "scaled",
        "ratio",
        "constant",
        "constant_welch",
        "constant_winsorized",
        "cautioned",
        "no_ratio",
    )
    cells = [[r["law"], f"{r['n']:,}", *(percent(r[k]) for k in keys)] for r in rows]
    return "\n".join(markdown_table(header, cells))


def power_table(rows: list[dict[str, Any]]) -> str:
    methods = ("tailproof", "welch", "winsorized", "bootstrap")
    header = [
        "law",
        "n",
        "false better",
        *(f"power {m}" for m in ("tailproof", "Welch", "winsorized", "bootstrap", "Mann-Whitney")),
        *(f"width {m}" for m in ("tailproof", "winsorized", "bootstrap")),
        *(f"coverage {m}" for m in ("tailproof", "Welch", "winsorized", "bootstrap")),
    ]
    cells = []
    for r in rows:
        powers = [percent(r[f"power_{m}"]) for m in (*methods, "mann_whitney")]
        widths = [f"{r[f'width_{m}']:.2f}" for m in methods if m != "welch"]
        covers = [percent(r[f"coverage_{m}"]) for m in methods]
        line = [r["law"], f"{r['n']:,}", percent(r["false_better"]), *powers, *widths, *covers]
        cells.append(line)
    return "\n".join(markdown_table(header, cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of claims.csv and latency.csv")
    parser.add_argument("--n", type=int, nargs="+", default=[30, 300, 3000])
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=91)
    parser.add_argument("--law", action="append", help="only these (may be repeated)")
    parser.add_argument("--cautions", action="store_true", help="only the table of cautions")
    parser.add_argument("--out", type=Path, default=Path("out/compare_coverage"))
    parser.add_argument("--page", type=Path, help="a page whose measured blocks are filled")
    arguments = parser.parse_args()
    laws = LAWS | data_laws(arguments.data)
    names = arguments.law or list(laws)
    shares = "\n".join(
        markdown_table(
            ["law", "n", "cautioned", "cautioned or variance unknown"],
            [
                caution_row(name, laws[name], n, arguments.seed)
                for name in names
                for n in arguments.n
            ],
        )
    )
    if arguments.cautions:
        print(shares)
        fill_page(arguments.page, {"compare-cautions": lambda: shares})
        return
    rows, errors = [], {}
    for name in names:
        for n in arguments.n:
            replications = arguments.replications if n < 1000 else arguments.replications // 2
            rows.append(measure(name, laws[name], n, replications, arguments.seed))
            note(f"{name}, n = {n}")
        errors[name] = sequential_error(name, laws[name], 1000, max(arguments.n), arguments.seed)
    looks = "\n".join(
        markdown_table(
            ["law", "false better at any look"], [[k, percent(v)] for k, v in errors.items()]
        )
    )
    blocks = {
        "compare-coverage": lambda: coverage_table(rows),
        "compare-cautions": lambda: shares,
        "compare-power": lambda: power_table(rows),
        "compare-looks": lambda: looks,
    }
    text = "\n\n".join(make() for make in blocks.values()) + "\n"
    save(arguments.out, "compare_coverage", {"rows": rows, "looks": errors}, text)
    fill_page(arguments.page, blocks)


def fill_page(page: Path | None, blocks: dict[str, Callable[[], str]]) -> None:
    """Fill the measured blocks of a page, if one is given."""
    if page is not None:
        text = page.read_text(encoding="utf-8")
        files.write_text(page, fill_blocks(text, blocks))


if __name__ == "__main__":
    main()
