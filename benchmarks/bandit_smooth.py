"""Regret with arms on a line and in the plane: `Bandit` with coordinates, without, and GP-UCB.

    python benchmarks/bandit_smooth.py --quick
    python benchmarks/bandit_smooth.py

The means are random Fourier series of a squared exponential kernel with lengthscale 0.2. GP-UCB
(`gp_ucb` with `CustomSchedule(2)`) is told this kernel and, as its ridge, the squared scale of the
noise relative to that of the means.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import stats

import tailproof as tp
from tailproof._util.console import text_table

LENGTHSCALE = 0.2
FIRST_SEED = 3_000  # the kernel prior and the exploration were chosen on lower seeds
NOISES = {
    "gaussian": lambda rng, n: rng.standard_normal(n),
    "t1.5": lambda rng, n: rng.standard_t(1.5, n),
    "pareto": lambda rng, n: rng.pareto(1.5, n) - 2.0,
}


def points(shape: str) -> np.ndarray:
    if shape == "line":
        return np.linspace(0.0, 1.0, 100)[:, None]
    axis = np.linspace(0.0, 1.0, 20)
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def smooth_means(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    frequencies = rng.standard_normal((200, X.shape[1])) / LENGTHSCALE
    phases = rng.uniform(0.0, 2.0 * np.pi, 200)
    weights = rng.standard_normal(200)
    return np.cos(X @ frequencies.T + phases) @ weights * np.sqrt(2.0 / 200)


def policies(X: np.ndarray, seed: int):
    yield "Bandit, coordinates", tp.Bandit(X, seed=seed)
    yield "Bandit, labels", tp.Bandit(list(range(len(X))), seed=seed)
    kernel = tp.SquaredExponential(LENGTHSCALE)
    schedule = tp.CustomSchedule(2.0)
    yield "gp_ucb, told kernel", tp.gp_ucb(tp.Finite(X), kernel, schedule, ridge=1.0, seed=seed)


def regret(policy, f: np.ndarray, noise: np.ndarray) -> float:
    total = 0.0
    for z in noise.tolist():
        arm = policy.ask_index()
        policy.tell_index(arm, float(f[arm]) + z)
        total += f.max() - f[arm]
    return total


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1 seed, 40 rounds")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2_000)
    args = parser.parse_args(argv)
    if args.quick:
        args.seeds, args.rounds = 1, 40
    rows, names = [], []
    for shape in ("line", "plane"):
        X = points(shape)
        for law, draw in NOISES.items():
            results: dict[str, list[float]] = {}
            for seed in range(args.seeds):
                rng = np.random.default_rng([FIRST_SEED + seed, len(X)])
                f, noise = smooth_means(X, rng), draw(rng, args.rounds)
                for name, policy in policies(X, seed):
                    results.setdefault(name, []).append(regret(policy, f, noise))
            names = list(results)
            ours = np.array(results[names[0]])
            cells = [f"{ours.mean():.0f}"]
            for name in names[1:]:
                gap = np.array(results[name]) - ours
                mark = ""
                if args.seeds >= 6 and stats.wilcoxon(gap).pvalue < 0.05:
                    mark = " +" if np.median(gap) > 0 else " -"
                cells.append(f"{np.mean(results[name]):.0f}{mark}")
            rows.append((f"{len(X)} arms, {shape}", law, *cells))
    print(text_table(("arms", "noise", *names), rows, right=range(2, 5)))
    print("+ worse than Bandit with coordinates, - better (paired Wilcoxon test, 5 %)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
