"""The best mean of a noisy function whose noise has no variance; run it in this folder.

As part of the registry, load it with `optunahub.load_module("samplers/tailproof")` instead.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import optuna
import optunahub


package = optunahub.load_local_module(
    package="samplers/tailproof", registry_root=str(Path(__file__).resolve().parents[2])
)
noise = np.random.default_rng(0)


def mean_payoff(x: float, y: float) -> float:
    """Return the mean over the noise, which is sought: best at (0.3, 0.7)."""
    return 1.0 - (x - 0.3) ** 2 - (y - 0.7) ** 2


def objective(trial: optuna.Trial) -> float:
    """Return one payoff; Student's t with 1.8 degrees of freedom has a mean and no variance."""
    x = trial.suggest_float("x", 0.0, 1.0)
    y = trial.suggest_float("y", 0.0, 1.0)
    return mean_payoff(x, y) + 0.1 * float(noise.standard_t(1.8))


if __name__ == "__main__":
    study = optuna.create_study(direction="maximize", sampler=package.TailproofSampler(seed=0))
    study.optimize(objective, n_trials=60)
    best = package.recommend(study)
    print(f"recommended: {best}")
    print(f"its true mean: {mean_payoff(**best.params):.3f} of at most 1")
    print(f"true mean at the best observed payoff: {mean_payoff(**study.best_params):.3f}")
