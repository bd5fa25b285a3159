"""The problems of the panels: arms, kernel, payoffs, and the constants given to the policies.

A source is a frozen description of a panel's problems; with the random generators of a repetition
it makes that repetition's `Problem`. The constants are those of the authors' code: 100 arms 0.01,
0.02, .., 1.00, support points in [0, 1] and f divided by max |f|.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof.bandits.arms import Finite
from tailproof.bandits.schedules import MomentBound
from tailproof.environments import (
    ArmEnvironment,
    DataArms,
    HardInstance,
    PayoffLaw,
    Spike,
    SyntheticArms,
    sample_rkhs_function,
)
from tailproof.kernels import Kernel, Precomputed, SquaredExponential

Array = NDArray[np.float64]
Generators = Callable[[str], np.random.Generator]

HORIZONS = 6  # of panel g
ARMS = (np.arange(1, 101) / 100.0)[:, None]
# Support points of a random function: p = 100 of them, drawn from [0, 1] and not from the arms.
_SAMPLING: dict[str, Any] = {"support": "cube", "terms": 100}
_ARMS_TEXT = f"{len(ARMS)} points {ARMS[0, 0]}, {ARMS[1, 0]}, .., {ARMS[-1, 0]}"


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem of one repetition.

    The policies know `moment` and `norm_bound`, except in panel f, whose schedule is fixed.
    """

    space: Finite
    kernel: Kernel  # of TGP-UCB, Nystrom and exact features
    environment: ArmEnvironment  # draws payoffs; not seen by the policies
    gap: Array  # regret of a round in which each arm is played, (n,)
    moment: MomentBound | None = None
    norm_bound: float | None = None
    # Arms and kernel of the quadrature Fourier features, where they exist.
    fourier: tuple[Finite, SquaredExponential] | None = None


@dataclass(frozen=True)
class Synthetic:
    """Panels a, b, c: a random function per repetition, scaled to max |f| = B = 1.

    v is the law's own bound at |f| = B: 3 + B^2 for Student-t(3), B^(1+alpha) / (2^alpha
    (1 - alpha)) for Pareto payoffs of shape 2.
    """

    kernel: Kernel
    law: PayoffLaw
    coefficients: tuple[float, float]
    alpha: float
    norm_bound: float = 1.0

    @property
    def moment(self) -> MomentBound:
        """The moment bound that the policies of a synthetic panel know."""
        return MomentBound(self.alpha, float(self.law.moment_bound(self.alpha, self.norm_bound)))

    def problem(self, generators: Generators) -> Problem:
        """Return a synthetic panel's problem in the repetition that these generators belong to."""
        rng = generators("function")
        options = {**_SAMPLING, "coefficients": self.coefficients}
        f = sample_rkhs_function(self.kernel, ARMS, rng, **options).scaled_to_unit_max(ARMS)(ARMS)
        space, kernel = Finite(ARMS), self.kernel
        environment, gap = SyntheticArms(f, self.law), f.max() - f
        fourier = (space, kernel) if isinstance(kernel, SquaredExponential) else None
        return Problem(space, kernel, environment, gap, self.moment, self.norm_bound, fourier)

    def describe(self) -> dict[str, Any]:
        """Return every constant of a synthetic panel's problem, for the manifest."""
        return {
            "arms": _ARMS_TEXT,
            "kernel": repr(self.kernel),
            "law": repr(self.law),
            "coefficients": list(self.coefficients),
            **_SAMPLING,
            "normalize": "f / max |f|",
            "alpha": self.alpha,
            "v": self.moment.v,
            "B": self.norm_bound,
            "regret": "max f - f(x_t)",
        }


@dataclass(frozen=True, eq=False)
class Recorded:
    """Panels d, e: payoffs, v and B as recorded, regret on f / max f.

    `lengthscale` is that of the Fourier features' kernel on the coordinates; None without them.
    """

    arms: DataArms
    alpha: float = 1.0
    lengthscale: float | None = None

    def problem(self, generators: Generators) -> Problem:
        """Return the problem of a panel on recorded data, the same in every repetition."""
        arms = self.arms
        if arms.gram is None:
            raise ValueError(f"`arms` must have a kernel matrix, but {arms.name!r} has none.")
        f = arms.means / arms.means.max()
        fourier = None
        if self.lengthscale is not None and arms.coordinates is not None:
            fourier = (Finite(arms.coordinates), SquaredExponential(self.lengthscale))
        space, kernel = Finite(list(arms.labels)), Precomputed(arms.gram)
        moment = MomentBound(self.alpha, arms.mean_square)
        return Problem(space, kernel, arms, f.max() - f, moment, arms.max_abs_mean, fourier)

    def describe(self) -> dict[str, Any]:
        """Return every constant of a problem on recorded data, for the manifest."""
        arms = self.arms
        digest = hashlib.sha256(arms.values.tobytes())
        for array in (arms.gram, arms.coordinates):
            digest.update(b"" if array is None else array.tobytes())
        return {
            "data": arms.name,
            "data_sha256": digest.hexdigest(),
            "arms": f"{len(arms.labels)} columns, {arms.values.size} payoffs",
            "kernel": "covariance of the standardized columns, ddof 1",
            "fourier_kernel": None
            if self.lengthscale is None
            else f"squared exponential on the unit square, l^2 = {self.lengthscale**2:.12g}",
            "alpha": self.alpha,
            "v": arms.mean_square,
            "B": arms.max_abs_mean,
            "regret": "1 - f(x_t) / max f",
        }


@dataclass(frozen=True, eq=False)
class FixedSpike:
    """Payoffs f(x) without noise, except at one arm, where `shift` is added every time."""

    means: Array
    arm: int
    shift: float

    def sample(self, arm_indices: ArrayLike, rng: np.random.Generator) -> Array:
        """Return payoffs of panel f's problem for arms `arm_indices` (k,); nothing is drawn."""
        arms = np.asarray(arm_indices)
        return self.means[arms] + np.where(arms == self.arm, self.shift, 0.0)

    def moment_bound(self, alpha: float) -> float:
        """Return max over the arms of panel f's problem of |y|^(1+alpha)."""
        payoffs = self.sample(np.arange(self.means.size), np.random.default_rng())
        return float((np.abs(payoffs) ** (1.0 + alpha)).max())


@dataclass(frozen=True)
class Spiked:
    """Panel f: one function scaled to [0, 1], and noise of +-size at one random arm.

    A repetition draws the arm and the sign of the noise; with `redrawn` the sign is drawn in
    every round instead of once. The paper's text allows both readings; the overshoot in its
    figure appears with the sign drawn once.
    """

    kernel: Kernel
    size: float = 10.0
    redrawn: bool = False

    def problem(self, generators: Generators) -> Problem:
        """Return the problem of panel f in the repetition that these generators belong to."""
        rng = generators("shared function")
        drawn = sample_rkhs_function(self.kernel, ARMS, rng, **_SAMPLING)
        f = drawn.scaled_to_unit_range(ARMS)(ARMS)
        rng = generators("spike")
        arm = int(rng.integers(len(ARMS)))
        sign = 1.0 if rng.random() < 0.5 else -1.0
        environment: ArmEnvironment = FixedSpike(f, arm, sign * self.size)
        if self.redrawn:
            environment = SyntheticArms(f, Spike(arm, self.size))
        return Problem(Finite(ARMS), self.kernel, environment, f.max() - f)

    def describe(self) -> dict[str, Any]:
        """Return every constant of panel f's problem, for the manifest."""
        return {
            "arms": _ARMS_TEXT,
            "kernel": repr(self.kernel),
            "coefficients": [-1.0, 1.0],
            **_SAMPLING,
            "normalize": "(f - min f) / (max f - min f), the same f in all repetitions",
            "noise": f"+-{self.size:g} at one arm; arm and sign drawn once per repetition",
            "regret": "max f - f(x_t)",
        }


@dataclass(frozen=True)
class LowerBound:
    """Panel g: the hard instance of Theorem 2, made anew for every horizon.

    A repetition draws which of the M functions is played. The policies know B, alpha and v, and the
    horizon. Arms are 100 points and the peaks of the M functions.
    """

    kernel: SquaredExponential
    alpha: float
    v: float = 1.0
    norm_bound: float = 1.0

    def horizons(self, rounds: int) -> NDArray[np.int64]:
        """Return the horizons of panel g's problem, from a hundredth of the rounds up to all."""
        spaced = np.geomspace(max(rounds / 100.0, 1.0), rounds, HORIZONS)
        return np.unique(np.rint(spaced).astype(np.int64))

    def instance(self, horizon: int) -> HardInstance:
        """Return the M functions of panel g's problem for a horizon; their norm is B exactly."""
        return _hard_instance(self, horizon)

    def problem_at(self, horizon: int, generators: Generators) -> Problem:
        """Return panel g's problem of a repetition at a horizon."""
        hard = self.instance(horizon)
        j = int(generators("function").integers(hard.count))
        arms = np.unique(np.concatenate([ARMS, hard.centers]), axis=0)
        f, space = hard.means(j, arms), Finite(arms)
        moment = MomentBound(self.alpha, self.v)
        environment = SyntheticArms(f, hard.law)
        fourier = (space, self.kernel)
        gap = 2.0 * hard.gap - f  # the peak is an arm
        return Problem(space, self.kernel, environment, gap, moment, self.norm_bound, fourier)

    def describe(self) -> dict[str, Any]:
        """Return every constant of panel g's problem, for the manifest."""
        return {
            "arms": f"{_ARMS_TEXT}, and the peaks of the functions",
            "kernel": repr(self.kernel),
            "instance": "Theorem 2, Delta for each horizon with C = 1, norm exactly B",
            "horizons": f"{HORIZONS}, from rounds / 100 to rounds, each a run of its own",
            "alpha": self.alpha,
            "v": self.v,
            "B": self.norm_bound,
            "regret": "2 Delta - f(x_t)",
        }


@functools.lru_cache(maxsize=64)  # a bisection of a bisection: a third of a second
def _hard_instance(source: LowerBound, horizon: int) -> HardInstance:
    """Return what panel g's problem is at a horizon: the lower bound's instance."""
    constants = (source.norm_bound, source.alpha, source.v)
    return HardInstance.for_horizon(source.kernel, 1, *constants, horizon=horizon, exact_norm=True)


Source = Synthetic | Recorded | Spiked | LowerBound
