"""Problems of the comparison: an objective to be maximized under a noise law.

An objective is scaled by its own range: 1 at the maximum, 0 at a low value (the minimum of random
functions, the 5 % quantile of the standard test functions). The trap keeps the units of its
payoffs, with a best mean of about 1.2. There are two families with different functions throughout:
"measure" for the published tables, "tune" for choosing constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from rivals import functions, seeds
from rivals.domains import Arms, Array, Axis, Box, Domain, Params
from rivals.laws import LAWS, Law
from rivals.trap import NAME as TRAP
from rivals.trap import TRAPS, Trap
from tailproof._util import checks
from tailproof.environments import sample_rkhs_function
from tailproof.kernels import Kernel, Matern, SquaredExponential

FAMILIES = ("measure", "tune")
GRID = 2001  # points of a line on which a random function is searched before polishing
RKHS_KERNEL = SquaredExponential(0.2)
ARMS_KERNEL = Matern(2.5, 0.3)
NUMBER_OF_ARMS, ARMS_DIMENSION = 200, 3

ProblemName = tuple[str, str]  # objective and law


@dataclass(frozen=True, eq=False)
class Objective:
    """A function to be maximized.

    Attributes
    ----------
    name, domain
        Its name on the command line, and its domain.
    function
        f at points (n, d) in the domain's coordinates, (n,).
    best, lowest
        The maximum of f, and a lower bound of f.
    kernel
        The kernel that the policies of the theory are told, on the unit cube: the kernel of a
        random function, else a Matern kernel whose lengthscale grows with the cube's diagonal.
    """

    name: str
    domain: Domain
    function: Callable[[Array], Array]
    best: float
    lowest: float
    kernel: Kernel

    def values(self, points: Array) -> Array:
        """Return f at points (n, d), (n,)."""
        return self.function(points)

    def value(self, params: Mapping[str, float | int]) -> float:
        """Return f at parameters."""
        return float(self.function(self.domain.point(params)[None, :])[0])


def _matern(dimension: int) -> Kernel:
    return Matern(2.5, 0.25 * float(np.sqrt(dimension)))


def _rkhs(family: str, seed: int) -> Objective:
    """f = sum of 100 kernels on [0, 1], another function in every seed."""
    grid = np.linspace(0.0, 1.0, GRID)[:, None]
    rng = seeds.generator("function", family, "rkhs", seed)
    drawn = sample_rkhs_function(RKHS_KERNEL, grid, rng, support="cube")
    f = drawn.scaled_to_unit_range(grid)
    best = -_polished_minimum(lambda x: -f(x), grid)
    lowest = _polished_minimum(f, grid)
    return Objective("rkhs", Box((Axis("x", 0.0, 1.0),)), f, best, lowest, RKHS_KERNEL)


def _polished_minimum(f: Callable[[Array], Array], points: Array) -> float:
    """Return the minimum of f near the lowest of `points` (n, d), within [0, 1]^d."""
    values = f(points)
    start = points[int(np.argmin(values))]

    def value(x: Array) -> float:
        return float(f(x[None, :])[0])

    found = minimize(value, start, bounds=[(0.0, 1.0)] * len(start), tol=1e-12)
    return min(float(values.min()), float(found.fun))


def _arms(family: str, seed: int) -> Objective:
    """200 arms in [0, 1]^3 and a function on them, both different in every seed."""
    rng = seeds.generator("function", family, "arms", seed)
    points = rng.random((NUMBER_OF_ARMS, ARMS_DIMENSION))
    drawn = sample_rkhs_function(ARMS_KERNEL, points, rng, support="cube")
    f = drawn.scaled_to_unit_range(points)
    values = f(points)
    return Objective("arms", Arms(points), f, float(values.max()), float(values.min()), ARMS_KERNEL)


def _landscape(name: str, family: str) -> Objective:
    landscape = LANDSCAPES[name][FAMILIES.index(family)]
    lowest = float(landscape.scaled(np.array([landscape.lowest]))[0])
    kernel = _matern(landscape.box.dimension)
    return Objective(name, landscape.box, landscape.unit, 1.0, lowest, kernel)


def _trap(family: str) -> Objective:
    trap = TRAPS[family]
    best = -_polished_minimum(lambda x: -trap.mean(x), np.array([trap.risky_at]))
    box = Box((Axis("x0", 0.0, 1.0), Axis("x1", 0.0, 1.0)))
    return Objective(TRAP, box, trap.mean, best, 0.0, _matern(2))


LANDSCAPES = {
    "branin": (functions.BRANIN, functions.CAMEL),
    "hartmann6": (functions.HARTMANN6, functions.LEVY6),
    "ackley4": (functions.ACKLEY4, functions.ROSENBROCK4),
}
TITLES = {
    "rkhs": "RKHS 1-D",
    "branin": "Branin",
    "hartmann6": "Hartmann-6",
    "ackley4": "Ackley-4, two integers",
    "arms": "200 arms",
    TRAP: "trap",
}
OBJECTIVES = tuple(TITLES)


def objective(name: str, family: str = "measure", seed: int = 0) -> Objective:
    """Return an objective.

    Parameters
    ----------
    name
        One of `OBJECTIVES`.
    family
        "measure" or "tune".
    seed
        Not negative; matters where the function is random ("rkhs", "arms").

    Examples
    --------
    >>> branin = objective("branin")
    >>> round(branin.best - branin.value({"x0": 3.14159265, "x1": 2.275}), 6)
    0.0
    """
    checks.choice("name", name, OBJECTIVES)
    checks.choice("family", family, FAMILIES)
    checks.integer("seed", seed, low=0)
    if name == "rkhs":
        return _rkhs(family, seed)
    if name == "arms":
        return _arms(family, seed)
    return _trap(family) if name == TRAP else _landscape(name, family)


@dataclass(frozen=True, eq=False)
class Problem:
    """An objective under a noise law."""

    objective: Objective
    law: Law

    @property
    def domain(self) -> Domain:
        """The domain of the objective."""
        return self.objective.domain

    @cached_property
    def shift(self) -> float:
        """The constant added to f, so that means are positive where the law needs that."""
        return self.law.shift(self.objective.lowest)

    def means(self, points: Array) -> Array:
        """Return the mean payoff at points (n, d), (n,)."""
        return self.objective.values(points) + self.shift

    def regret(self, params: Mapping[str, float | int]) -> float:
        """Return the best mean minus the mean of `params`; rounding never makes it negative."""
        return max(self.objective.best - self.objective.value(params), 0.0)

    @property
    def largest_regret(self) -> float:
        """An upper bound of the regret: what a method that fails is charged."""
        return self.objective.best - self.objective.lowest

    def payoff(self, params: Params, rng: np.random.Generator) -> float:
        """Draw one payoff."""
        point = self.domain.point(params)
        return self.law.payoff(point, float(self.means(point[None, :])[0]), rng)

    def hill(self, params: Params) -> str | None:
        """Return the hill of the trap on which `params` lie; None for other problems.

        "mean": the mean payoff is nearer to the best mean than to the mean at the best median.
        "median": the median payoff is nearer to the best median than to the median at the best
        mean. "neither" else.
        """
        if not isinstance(self.law, Trap):
            return None
        trap, point = self.law, self.domain.point(params)[None, :]
        tops = np.array([trap.risky_at, trap.steady_at])
        if trap.mean(point)[0] >= trap.mean(tops).mean():
            return "mean"
        return "median" if trap.median(point)[0] >= trap.median(tops).mean() else "neither"


def problem(name: str, law: str, family: str = "measure", seed: int = 0) -> Problem:
    """Return an objective under a law; the trap has its own law, which no other objective has.

    Examples
    --------
    >>> round(problem("arms", "t1.5", seed=3).objective.best, 9)
    1.0
    """
    if (law == TRAP) != (name == TRAP):
        raise ValueError(f"`law` must be {TRAP!r} for the trap and only there, but got {law!r}.")
    function = objective(name, family, seed)
    if law == TRAP:
        return Problem(function, TRAPS[family])
    checks.choice("law", law, tuple(LAWS))
    return Problem(function, LAWS[law])


def problem_names(
    objectives: tuple[str, ...] = OBJECTIVES, laws: tuple[str, ...] = tuple(LAWS)
) -> tuple[ProblemName, ...]:
    """Return every objective under every law, and the trap under its own.

    Examples
    --------
    >>> problem_names(("branin", "trap"), ("t3", "pareto"))
    (('branin', 't3'), ('branin', 'pareto'), ('trap', 'trap'))
    >>> len(problem_names())
    36
    """
    grid = [(name, law) for name in objectives if name != TRAP for law in laws]
    return (*grid, *([(TRAP, TRAP)] if TRAP in objectives else []))
