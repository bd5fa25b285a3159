"""The problem of the benchmark of rounds: arms on a line, a sample function, Student-t payoffs.

Nothing here is timed; it makes the policies and runs them to a given number of payoffs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tailproof as tp
from tailproof.bandits.arm_optimizer import ArmOptimizer
from tailproof.bandits.low_rank import kernel_coordinates
from tailproof.kernels import Kernel

Array = NDArray[np.float64]

DEGREES_OF_FREEDOM = 3.0  # of the Student-t noise: variance 3, third moment infinite
KERNELS: dict[str, Kernel] = {
    "SE": tp.SquaredExponential(0.2),
    "Matern 5/2": tp.Matern(2.5, 0.2),
}
# Past SINGLE payoffs an asked arm is told BATCH payoffs at once instead of one: the run is still
# the policy's own, with a fraction of the asks.
SINGLE = 10_000
BATCH = 10


@dataclass(frozen=True)
class Case:
    """One policy with one feature map under one kernel."""

    policy: str
    features: str
    schedule: str
    kernel: str
    make: Callable[[tp.Finite, Kernel, int], ArmOptimizer]

    @property
    def name(self) -> str:
        """The case in tables."""
        parts = (self.policy, self.features, self.schedule, self.kernel)
        return ", ".join(part for part in parts if part)


def _common(horizon: int) -> dict[str, Any]:
    moment = tp.MomentBound(alpha=1.0, v=4.0)
    return {"moment": moment, "norm_bound": 1.0, "horizon": horizon, "seed": 1}


def _plain(space: tp.Finite, kernel: Kernel, horizon: int) -> ArmOptimizer:
    # GP-UCB has no authors' schedule: the sub-Gaussian beta with the noise's standard deviation.
    beta = tp.SubGaussian(math.sqrt(DEGREES_OF_FREEDOM), 1.0, 1.0, 0.1)
    return tp.gp_ucb(space, kernel, beta, seed=1)


def _truncated(space: tp.Finite, kernel: Kernel, horizon: int) -> ArmOptimizer:
    return tp.tgp_ucb(space, kernel, schedule="authors", **_common(horizon))


def _adaptive(features: Any, schedule: str) -> Callable[[tp.Finite, Kernel, int], ArmOptimizer]:
    def make(space: tp.Finite, kernel: Kernel, horizon: int) -> ArmOptimizer:
        options = _common(horizon)
        return tp.ata_gp_ucb(space, kernel, features=features, schedule=schedule, **options)

    return make


def _medians(space: tp.Finite, kernel: Kernel, horizon: int) -> ArmOptimizer:
    features = tp.QuadratureFourier(32)
    return tp.moma_gp_ucb(space, kernel, features=features, schedule="authors", **_common(horizon))


def all_cases() -> list[Case]:
    """Return every policy and feature map, with every kernel it allows."""
    kinds: list[tuple[str, str, str, Any, tuple[str, ...]]] = [
        ("gp_ucb", "", "sub-Gaussian", _plain, ("SE", "Matern 5/2")),
        ("tgp_ucb", "", "authors", _truncated, ("SE", "Matern 5/2")),
    ]
    # The quadrature is that of the squared exponential's spectrum: no other kernel has it.
    maps: list[tuple[Any, str, tuple[str, ...]]] = [
        (tp.QuadratureFourier(32, folded=False), "authors", ("SE",)),
        (tp.QuadratureFourier(32), "authors", ("SE",)),
        (tp.Exact(), "authors", ("SE", "Matern 5/2")),
        (tp.Nystrom(0.1), "authors", ("SE", "Matern 5/2")),
        (tp.Nystrom(0.1), "theory", ("SE", "Matern 5/2")),
        (tp.RandomFourier(32), "authors", ("SE", "Matern 5/2")),
    ]
    names = ("QFF(32) unfolded", "QFF(32)", "Exact", "Nystrom(0.1)", "Nystrom(0.1)", "RFF(32)")
    for (features, schedule, kernels), name in zip(maps, names, strict=True):
        kinds.append(("ata_gp_ucb", name, schedule, _adaptive(features, schedule), kernels))
    kinds.append(("moma_gp_ucb", "QFF(32)", "authors", _medians, ("SE",)))
    return [
        Case(policy, features, schedule, kernel, make)
        for policy, features, schedule, make, kernels in kinds
        for kernel in kernels
    ]


def line(arms: int) -> tp.Finite:
    """Return equidistant arms: 0.01, 0.02, .., 1.00 for a hundred."""
    return tp.Finite(np.arange(1, arms + 1)[:, None] / arms)


def sample_function(kernel: Kernel, space: tp.Finite, seed: int) -> Array:
    """Return a draw of the Gaussian process at the arms, (n,), scaled to max |f| = 1."""
    psi = kernel_coordinates(kernel, space.inputs)
    f = psi @ np.random.default_rng(seed).standard_normal(psi.shape[1])
    return f / np.abs(f).max()


class Payoffs:
    """Mean payoffs of the arms and a stream of noise."""

    def __init__(self, means: Array, seed: int) -> None:
        self.means: list[float] = means.tolist()
        self._rng = np.random.default_rng(seed)

    def noise(self, count: int) -> list[float]:
        """Return the next `count` draws."""
        return self._rng.standard_t(DEGREES_OF_FREEDOM, count).tolist()


def run_rounds(optimizer: ArmOptimizer, means: list[float], noise: list[float]) -> None:
    """Ask and tell once for each entry of `noise`: the rounds that are timed."""
    for error in noise:
        arm = optimizer.ask_index()
        optimizer.tell_index(arm, means[arm] + error)


def advance(optimizer: ArmOptimizer, payoffs: Payoffs, t: int) -> None:
    """Run the policy until it has t payoffs (see SINGLE)."""
    run_rounds(optimizer, payoffs.means, payoffs.noise(max(min(t, SINGLE) - len(optimizer), 0)))
    while len(optimizer) < t:
        arm = optimizer.ask_index()
        noise = np.array(payoffs.noise(min(BATCH, t - len(optimizer))))
        optimizer.tell_index(arm, payoffs.means[arm] + noise)


def snapshots(
    case: Case, arms: int, horizon: int, sizes: tuple[int, ...], folder: Path
) -> tuple[list[float], dict[int, Path]]:
    """Run a case and save it at the ascending numbers of payoffs; return means and files."""
    space, kernel = line(arms), KERNELS[case.kernel]
    payoffs = Payoffs(sample_function(kernel, space, seed=2), seed=3)
    optimizer = case.make(space, kernel, horizon)
    files = {}
    for size in sizes:
        advance(optimizer, payoffs, size)
        files[size] = folder / f"{size}.npz"
        optimizer.save(files[size])
    return payoffs.means, files
