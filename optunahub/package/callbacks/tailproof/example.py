"""Stop when nothing much can be gained in the mean; run it in this folder.

As part of the registry, load the packages with `optunahub.load_module("callbacks/tailproof")`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import optuna
import optunahub


REGISTRY = str(Path(__file__).resolve().parents[2])
sampler_package = optunahub.load_local_module("samplers/tailproof", registry_root=REGISTRY)
package = optunahub.load_local_module("callbacks/tailproof", registry_root=REGISTRY)
noise = np.random.default_rng(0)


def objective(trial: optuna.Trial) -> float:
    """Return one payoff around a mean that is least at 0.3, where it is 2."""
    x = trial.suggest_float("x", 0.0, 1.0)
    return 2.0 + (x - 0.3) ** 2 + 0.1 * float(noise.standard_t(3))


if __name__ == "__main__":
    study = optuna.create_study(sampler=sampler_package.TailproofSampler(seed=0))
    package.enqueue_baseline(study, {"x": 0.9})
    callback = package.StoppingCallback(until="5%")
    study.optimize(objective, n_trials=100, callbacks=[callback])
    best = package.recommend(study)
    print(f"stopped after {len(study.trials)} of 100 trials")
    print(f"recommended: {best}")
