"""All bounds side by side for one problem on a grid of arms of [0, 1]^d."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tailproof._util import checks
from tailproof.bandits.features import Exact, QuadratureFourier
from tailproof.bandits.low_rank import ROUNDING, kernel_coordinates
from tailproof.bandits.schedules import Setting, SubGaussian
from tailproof.kernels import Kernel, Linear, Matern, SquaredExponential, scaled_inputs
from tailproof.theory.maximum_gain import gain_upper_bound
from tailproof.theory.rates import matern_lower_rate, squared_exponential_lower_rate
from tailproof.theory.rounds import Array
from tailproof.theory.upper_bounds import (
    exact_features_regret_bound,
    gp_ucb_regret_bound,
    theorem1_regret_bound,
    theorem3_regret_bound,
    theorem4_regret_bound,
    trivial_regret_bound,
)

DEFAULT_ARMS = 400
MAX_ARMS = 1_500  # every bound factors a matrix of the arms' size some dozens of times
# Largest power of ten among the horizons at which bounds are compared with the trivial one. Above,
# rounding in the kernel's coordinates, times T, is no longer small.
MAX_POWER = 14


def grid_of_arms(dim: int, per_dim: int | None = None) -> Array:
    """Return the arms for a comparison of bounds: a grid (n, dim) on [0, 1]^dim.

    It has `per_dim` points a side, by default about 400 in all.
    """
    d = checks.integer("dim", dim, low=1)
    side = min(100, max(2, int(DEFAULT_ARMS ** (1.0 / d) + 1e-9)))
    if per_dim is not None:
        side = checks.integer("arms_per_dim", per_dim, low=2)
    if side**d > MAX_ARMS:
        raise ValueError(
            f"`arms_per_dim^dim <= {MAX_ARMS}` must hold, but got {side}^{d} = {side**d} arms."
        )
    ticks = np.linspace(0.0, 1.0, side)
    return np.stack([g.ravel() for g in np.meshgrid(*[ticks] * d, indexing="ij")], axis=1)


@dataclass(frozen=True, eq=False)
class Problem:
    """What the bounds are computed for: a kernel with k(x, x) <= 1 on the arms (n, d), constants.

    The setting's horizon is the T the policies are told, `accuracy` the epsilon of the Nystrom
    dictionaries, `nodes` the quadrature nodes a side for Theorem 3 (None for those with the
    smallest bound). `noise_bound` is R of sub-Gaussian noise, for which GP-UCB's bound is shown.
    """

    kernel: Kernel
    arms: Array
    setting: Setting
    accuracy: float = 0.1
    nodes: int | None = None
    noise_bound: float | None = None

    def __post_init__(self) -> None:
        """Check the problem whose regret bounds are compared."""
        largest = float(self.kernel.diagonal(self.arms).max())
        if largest > 1.0 + 1e-9:
            raise ValueError(
                f"`k(x, x) <= 1` must hold on the arms (section 2), but it reaches {largest:.6g}."
            )
        checks.in_unit_interval("accuracy", self.accuracy, closed_above=False)
        if self.noise_bound is not None:
            checks.positive("noise_bound", self.noise_bound)


@dataclass(frozen=True, eq=False)
class Column:
    """One bound over the rounds (k,) and the policy it holds for.

    `values` is None where the bound does not apply; `reason` says why.
    """

    name: str
    policy: str
    values: Array | None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Every bound at the `rounds` T (k,).

    `gain` bounds gamma_T and `trivial` the regret of any policy at all; `columns` are GP-UCB, where
    its noise bound is known, Theorems 1, 3 and 4, and Theorem 4 with exact features. `lower_rate`
    is Theorem 2's, whose constant is open; None for kernels it does not cover.
    """

    rounds: NDArray[np.int64]
    gain: Array
    trivial: Array
    columns: tuple[Column, ...]
    lower_rate: Array | None


def compare(problem: Problem, rounds: NDArray[np.int64]) -> Comparison:
    """Compare all regret bounds of a problem at `rounds` (k,), none above the horizon."""
    s, kernel, dim = problem.setting, problem.kernel, problem.arms.shape[1]
    gain = gain_upper_bound(kernel, problem.arms, s.ridge, rounds)
    rate = None
    if isinstance(kernel, SquaredExponential):
        rate = squared_exponential_lower_rate(s.moment, s.norm_bound, rounds, dim=dim)
    elif isinstance(kernel, Matern):
        rate = matern_lower_rate(s.moment, s.norm_bound, rounds, dim=dim, nu=kernel.nu)
    trivial = trivial_regret_bound(s, rounds)
    return Comparison(rounds, gain, trivial, _bound_columns(problem, rounds, gain), rate)


def _bound_columns(problem: Problem, rounds: NDArray[np.int64], gain: Array) -> tuple[Column, ...]:
    """Return the bounds to compare over the rounds, a column each."""
    s, n = problem.setting, len(problem.arms)

    def theorem1() -> tuple[str, Array]:
        return "TGP-UCB", theorem1_regret_bound(s, rounds, gain)

    def theorem3() -> tuple[str, Array]:
        nodes = problem.nodes or best_nodes(problem, float(gain[-1]))
        bound = _quadrature_bound(problem, nodes, rounds, gain)
        return f"ATA-GP-UCB, {nodes} quadrature nodes a side", bound

    def theorem4() -> tuple[str, Array]:
        eps = problem.accuracy
        bound = theorem4_regret_bound(s, rounds, gain, accuracy=eps, most_directions=n)
        return f"ATA-GP-UCB, Nystrom features of accuracy {eps:g}", bound

    def exact() -> tuple[str, Array]:
        m, residual = _exact_feature_rank(problem)
        bound = exact_features_regret_bound(s, rounds, gain, directions=m, residual=residual)
        return f"ATA-GP-UCB, the arms' {m} exact features", bound

    columns = []
    if problem.noise_bound is not None:
        R = problem.noise_bound
        schedule = SubGaussian(R, s.norm_bound, s.ridge, s.failure_probability)
        bound_of_gp_ucb = gp_ucb_regret_bound(schedule, rounds, gain)
        columns.append(Column("GP-UCB", f"GP-UCB, {R:g}-sub-Gaussian noise", bound_of_gp_ucb))
    for name, policy, bound in (
        ("Theorem 1", "TGP-UCB", theorem1),
        ("Theorem 3", "ATA-GP-UCB, quadrature features", theorem3),
        ("Theorem 4", "ATA-GP-UCB, Nystrom features", theorem4),
        ("exact", "ATA-GP-UCB, exact features", exact),
    ):
        try:
            columns.append(Column(name, *bound()))
        except ValueError as error:  # a hypothesis of the theorem fails
            columns.append(Column(name, policy, None, str(error)))
    return tuple(columns)


def _exact_feature_rank(problem: Problem) -> tuple[int, float]:
    """Return the number of exact features in a comparison, and what they leave out of k(x, x).

    With the tolerance of `Exact()`, or with that of rounding where the horizon needs it.
    """
    X = problem.arms
    for tolerance in (Exact().tolerance, ROUNDING):
        psi = kernel_coordinates(problem.kernel, X, tolerance)
        kept = np.einsum("ij,ij->i", psi, psi)
        residual = max(float(np.max(problem.kernel.diagonal(X) - kept)), 0.0)
        if residual * problem.setting.horizon <= problem.setting.ridge:
            break
    return psi.shape[1], residual


def _quadrature_bound(
    problem: Problem, nodes: int, rounds: NDArray[np.int64], gain: Array
) -> Array:
    """Return the bound to compare of quadrature features with these nodes."""
    least = _least_quadrature_nodes(problem)
    if nodes < least:
        raise ValueError(
            f"`nodes > 1 / l^2` must hold for Theorem 3, but got nodes={nodes}; take at least "
            f"{least}."
        )
    # Folded, as QuadratureFourier has it by default: one feature a node.
    error = QuadratureFourier(nodes).error_bound(problem.kernel, problem.arms)
    m = nodes ** problem.arms.shape[1]
    return theorem3_regret_bound(
        problem.setting, rounds, directions=m, kernel_error=error, gain=gain
    )


def _least_quadrature_nodes(problem: Problem) -> int:
    """Return the fewest quadrature nodes a side in a comparison: above 1/l^2 on the arms' range."""
    kernel = problem.kernel
    if not isinstance(kernel, SquaredExponential):
        raise ValueError("Theorem 3 is for the squared exponential kernel only.")
    longest = float(np.ptp(scaled_inputs(problem.arms, kernel.lengthscale), axis=0).max())
    # 1 / l^2 may come out a rounding error below a whole number.
    return math.floor(longest**2 * (1.0 + 1e-12)) + 1


def best_nodes(problem: Problem, gain: float) -> int:
    """Return the number of quadrature nodes a side whose bound compares best at the horizon.

    More nodes lower the kernel's error and raise the number of directions. Searched from 1/l^2,
    below which the quadrature does not converge, to the number Theorem 3 names.
    """
    horizon, least = problem.setting.horizon, _least_quadrature_nodes(problem)
    most = max(least, QuadratureFourier(1).nodes_for_theorem(horizon))
    at_horizon, gains = np.array([horizon]), np.array([gain])
    bounds = [
        float(_quadrature_bound(problem, nodes, at_horizon, gains)[0])
        for nodes in range(least, most + 1)
    ]
    return least + int(np.argmin(bounds))


def informative_horizons(problem: Problem) -> dict[str, int | None]:
    """Compare each bound with the trivial one: the smallest power of ten at which it is less.

    Each policy is told that horizon. None where no horizon up to 10^14 will do.
    """
    horizons = 10 ** np.arange(1, MAX_POWER + 1)
    gain = gain_upper_bound(problem.kernel, problem.arms, problem.setting.ridge, horizons)
    informative: dict[str, int | None] = {}
    for T, gain_at_horizon in zip(horizons.tolist(), gain, strict=True):
        extended = replace(problem, setting=replace(problem.setting, horizon=T))
        trivial = float(trivial_regret_bound(extended.setting, T))
        for column in _bound_columns(extended, np.array([T]), np.array([gain_at_horizon])):
            beats = column.values is not None and float(column.values[0]) < trivial
            if informative.get(column.name) is None:
                informative[column.name] = T if beats else None
    return informative


def make_kernel(
    name: str, dim: int, lengthscale: float | None = None, nu: float | None = None
) -> Kernel:
    """Return the kernel for a comparison of bounds by name, with k(x, x) <= 1 on [0, 1]^dim.

    "se" and "matern" (lengthscale 0.2, nu 2.5 unless given); "linear" is x . x' / dim.
    """
    checks.choice("kernel", name, ("se", "matern", "linear"))
    if nu is not None and name != "matern":
        raise ValueError(f'`nu` belongs to kernel="matern", but got kernel={name!r}, nu={nu!r}.')
    if name == "linear":
        if lengthscale is not None:
            raise ValueError(
                f'`lengthscale` must be left out for kernel="linear", but got {lengthscale!r}.'
            )
        return Linear(1.0 / dim)
    scale = 0.2 if lengthscale is None else lengthscale
    return SquaredExponential(scale) if name == "se" else Matern(2.5 if nu is None else nu, scale)
