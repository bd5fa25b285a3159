"""The arena's problems, and cells: a problem under a law of payoffs.

Every problem is a function f to be maximized whose unit is its own range: 1 at the maximum, 0 at a
low value (the lowest for random functions, the 5 % quantile for the standard ones); the trap keeps
the units of its payoffs, with a best mean of about 1.2. There are two
families: "measure" for the tables, "tune" for choosing constants, with other functions throughout.
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


@dataclass(frozen=True, eq=False)
class Problem:
    """One function to be maximized.

    Attributes
    ----------
    name, domain
        What it is called, and where it lives.
    function
        f at points (n, d) in the domain's coordinates, (n,).
    best, lowest
        The largest value of f, and one it never falls below.
    kernel
        What the theory's policies are told, on the unit cube: the kernel of a random function,
        else a Matern kernel whose lengthscale grows as the cube's diagonal does.
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

    def mean(self, params: Mapping[str, float | int]) -> float:
        """Return f at parameters."""
        return float(self.function(self.domain.point(params)[None, :])[0])


def _matern(dimension: int) -> Kernel:
    return Matern(2.5, 0.25 * float(np.sqrt(dimension)))


def _rkhs(family: str, seed: int) -> Problem:
    """f = sum of 100 kernels on [0, 1], other in every seed; the maximum to rounding."""
    grid = np.linspace(0.0, 1.0, GRID)[:, None]
    rng = seeds.generator("function", family, "rkhs", seed)
    f = sample_rkhs_function(RKHS_KERNEL, grid, rng, support="cube", normalize="unit_range")
    best = -_polished(lambda x: -f(x), grid)
    lowest = _polished(f, grid)
    return Problem("rkhs", Box((Axis("x", 0.0, 1.0),)), f, best, lowest, RKHS_KERNEL)


def _polished(f: Callable[[Array], Array], points: Array) -> float:
    """Return the minimum of f near the lowest of `points` (n, d), within [0, 1]^d."""
    values = f(points)
    start = points[int(np.argmin(values))]

    def at(x: Array) -> float:
        return float(f(x[None, :])[0])

    found = minimize(at, start, bounds=[(0.0, 1.0)] * len(start), tol=1e-12)
    return min(float(values.min()), float(found.fun))


def _arms(family: str, seed: int) -> Problem:
    """200 arms in [0, 1]^3 and a function on them, both other in every seed."""
    rng = seeds.generator("function", family, "arms", seed)
    points = rng.random((NUMBER_OF_ARMS, ARMS_DIMENSION))
    f = sample_rkhs_function(ARMS_KERNEL, points, rng, support="cube", normalize="unit_range")
    values = f(points)
    return Problem("arms", Arms(points), f, float(values.max()), float(values.min()), ARMS_KERNEL)


def _landscape(name: str, family: str) -> Problem:
    of = LANDSCAPES[name][FAMILIES.index(family)]
    lowest = float(of.scaled(np.array([of.lowest]))[0])
    return Problem(name, of.box, of.unit, 1.0, lowest, _matern(of.box.dimension))


def _trap(family: str) -> Problem:
    trap = TRAPS[family]
    best = -_polished(lambda x: -trap.mean(x), np.array([trap.risky_at]))
    box = Box((Axis("x0", 0.0, 1.0), Axis("x1", 0.0, 1.0)))
    return Problem(TRAP, box, trap.mean, best, 0.0, _matern(2))


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
PROBLEMS = tuple(TITLES)


def problem(name: str, family: str = "measure", seed: int = 0) -> Problem:
    """Return a problem.

    Parameters
    ----------
    name
        One of `PROBLEMS`.
    family
        "measure" or "tune".
    seed
        Not negative; matters where the function is random ("rkhs", "arms").

    Examples
    --------
    >>> one = problem("branin")
    >>> round(one.best - one.mean({"x0": 3.14159265, "x1": 2.275}), 6)
    0.0
    """
    checks.choice("name", name, PROBLEMS)
    checks.choice("family", family, FAMILIES)
    checks.integer("seed", seed, low=0)
    if name == "rkhs":
        return _rkhs(family, seed)
    if name == "arms":
        return _arms(family, seed)
    return _trap(family) if name == TRAP else _landscape(name, family)


@dataclass(frozen=True, eq=False)
class Cell:
    """A problem under a law: what a contestant plays against, but for the law's knowledge."""

    problem: Problem
    law: Law

    @cached_property
    def shift(self) -> float:
        """What the law adds to f, so that its means are positive where they must be."""
        return self.law.shift(self.problem.lowest)

    def means(self, points: Array) -> Array:
        """Return the mean payoff at points (n, d), (n,)."""
        return self.problem.values(points) + self.shift

    def regret(self, params: Mapping[str, float | int]) -> float:
        """Return best mean minus the mean of `params`; rounding never makes it negative."""
        return max(self.problem.best - self.problem.mean(params), 0.0)

    @property
    def worst(self) -> float:
        """The largest regret there can be: what a contestant that fails gets."""
        return self.problem.best - self.problem.lowest

    def payoff(self, params: Params, rng: np.random.Generator) -> float:
        """Draw one payoff."""
        point = self.problem.domain.point(params)
        return self.law.payoff(point, float(self.means(point[None, :])[0]), rng)

    def place(self, params: Params) -> str | None:
        """Tell which hill of the trap `params` lie on: "mean", "median" or "neither".

        "mean": the mean payoff is nearer to the best there is than to that of the best median.
        "median": the median payoff is nearer to the best there is than to that of the best mean.
        """
        if not isinstance(self.law, Trap):
            return None
        trap, point = self.law, self.problem.domain.point(params)[None, :]
        tops = np.array([trap.risky_at, trap.steady_at])
        if trap.mean(point)[0] >= trap.mean(tops).mean():
            return "mean"
        return "median" if trap.median(point)[0] >= trap.median(tops).mean() else "neither"


def cell(name: str, law: str, family: str = "measure", seed: int = 0) -> Cell:
    """Return a cell; the trap has a law of its own, and no other problem has it.

    Examples
    --------
    >>> round(cell("arms", "t1.5", seed=3).problem.best, 9)
    1.0
    """
    if (law == TRAP) != (name == TRAP):
        raise ValueError(f"`law` must be the trap's own for the trap alone, but got {law!r}.")
    one = problem(name, family, seed)
    if law == TRAP:
        return Cell(one, TRAPS[family])
    checks.choice("law", law, tuple(LAWS))
    return Cell(one, LAWS[law])


def cell_names(problems: tuple[str, ...], laws: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return the cells (problem, law) of some problems and laws: a grid, and the trap apart.

    Examples
    --------
    >>> cell_names(("branin", "trap"), ("t3", "pareto"))
    (('branin', 't3'), ('branin', 'pareto'), ('trap', 'trap'))
    """
    grid = [(name, law) for name in problems if name != TRAP for law in laws]
    return (*grid, *([(TRAP, TRAP)] if TRAP in problems else []))
