"""`tailproof bounds`: what can be promised, as a table and a picture."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof.bandits.schedules import MomentBound, Setting
from tailproof.kernels import Matern
from tailproof.theory.comparison import (
    FURTHEST_POWER,
    Comparison,
    Problem,
    compare,
    grid_of_arms,
    informative_horizons,
    make_kernel,
)
from tailproof.theory.exponents import (
    matern_is_sublinear,
    matern_least_smoothness,
    regret_exponent,
)
from tailproof.theory.lower_bounds import OPEN_CONSTANT


def add_parser(commands: Any) -> None:
    """Add `bounds` to the subparsers of the command line."""
    parser = commands.add_parser(
        "bounds",
        help="regret bounds of the paper's theorems, with their constants",
        description=(
            "Upper bounds on the regret (Theorems 1, 3, 4, explicit constants) on a grid of arms "
            "of [0, 1]^d, and the rate of the lower bound (Theorem 2, constant open)."
        ),
    )
    add = parser.add_argument
    add("--kernel", required=True, choices=("se", "matern", "linear"))
    add("--dim", required=True, type=int, help="d, the dimension of the arms")
    add("--alpha", required=True, type=float, help="E|y|^(1+alpha) <= v, 0 < alpha <= 1")
    add("--horizon", required=True, type=int, help="T, the number of rounds")
    add("--nu", type=float, help="smoothness of the Matern kernel (2.5)")
    add("--lengthscale", type=float, help="of the SE and Matern kernels (0.2)")
    add("--v", type=float, default=1.0, help="bound on E|y|^(1+alpha) (%(default)g)")
    add("--norm-bound", type=float, default=1.0, help="B, on the RKHS norm of f (%(default)g)")
    add("--ridge", type=float, default=1.0, help="lambda (%(default)g)")
    add("--delta", type=float, default=0.1, help="failure probability (%(default)g)")
    add("--accuracy", type=float, default=0.1, help="epsilon of Theorem 4 (%(default)g)")
    add("--nodes", type=int, help="quadrature nodes a side, Theorem 3 (those with the best bound)")
    add("--arms-per-dim", type=int, help="points a side of the grid (about 400 arms in all)")
    add("--out", type=Path, default=Path("out/bounds"), help="folder for bounds.png (%(default)s)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the table and draw the curves; return the exit code."""
    problem = _problem(args)
    comparison = compare(problem, table_rounds(args.horizon))
    print(_heading(args, problem))
    print(table(comparison))
    print(_legend(args, problem, comparison))
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "bounds.png"
    picture(comparison, f"{args.kernel} kernel, d = {args.dim}, alpha = {args.alpha:g}", path)
    print(f"\nPicture: {path}")
    return 0


def _problem(args: argparse.Namespace) -> Problem:
    setting = Setting(
        MomentBound(args.alpha, args.v), args.norm_bound, args.ridge, args.delta, args.horizon
    )
    if args.nodes is not None and args.nodes < 1:
        raise ValueError(f"`nodes >= 1` must hold, but got nodes={args.nodes}.")
    if args.nodes is not None and args.kernel != "se":
        raise ValueError(f'`nodes` belongs to kernel="se", but got kernel={args.kernel!r}.')
    arms = grid_of_arms(args.dim, args.arms_per_dim)
    kernel = make_kernel(args.kernel, args.dim, args.lengthscale, args.nu)
    return Problem(kernel, arms, setting, args.accuracy, args.nodes)


def table_rounds(horizon: int) -> NDArray[np.int64]:
    """Return 10, 20, 50, 100, .. and the horizon.

    Examples
    --------
    >>> table_rounds(120)
    array([ 10,  20,  50, 100, 120])
    """
    steps = [m * 10**k for k in range(1, 19) for m in (1, 2, 5) if m * 10**k < horizon]
    return np.array([*steps, horizon], dtype=np.int64)


def table(comparison: Comparison) -> str:
    """Return the comparison as text, a row a round."""
    heads = ["T", "gamma_T <=", *(c.name for c in comparison.columns), "any policy", "lower rate"]
    missing = np.full(len(comparison.rounds), np.nan)
    values = [
        comparison.gain,
        *(missing if c.values is None else c.values for c in comparison.columns),
        comparison.trivial,
        missing if comparison.lower_rate is None else comparison.lower_rate,
    ]
    lines = [" ".join(f"{head:>11}" for head in heads)]
    for i, T in enumerate(comparison.rounds.tolist()):
        cells = ["-" if np.isnan(one[i]) else f"{one[i]:.4g}" for one in values]
        lines.append(" ".join(f"{cell:>11}" for cell in [str(T), *cells]))
    return "\n".join(lines)


def _heading(args: argparse.Namespace, problem: Problem) -> str:
    n, s = len(problem.arms), problem.setting
    return (
        f"Regret R_T in units of payoff, {problem.kernel!r},\n"
        f"on {n} arms: a grid of {round(n ** (1 / args.dim))} a side on [0, 1]^{args.dim}. "
        "gamma_T and the upper bounds are those of the grid, not of the whole cube.\n"
        f"E|y|^{1.0 + args.alpha:g} <= {args.v:g}, |f| <= {args.norm_bound:g} in the RKHS norm, "
        f"ridge {args.ridge:g}; each upper bound holds with probability {1.0 - args.delta:g};\n"
        f"policies are told the horizon {s.horizon}.\n"
    )


def _legend(args: argparse.Namespace, problem: Problem, comparison: Comparison) -> str:
    reach = informative_horizons(problem)
    lines = [
        "",
        '"any policy" is 2 min(B, v^(1/(1+alpha))) T: a bound above it promises nothing.',
    ]
    for column in comparison.columns:
        if column.values is None:
            lines.append(f"{column.name}: {column.policy}. No bound: {column.reason}")
        else:
            lines.append(f"{column.name}: {column.policy}. {_reach(reach[column.name])}")
    if comparison.lower_rate is None:
        lines.append("lower rate: Theorem 2 knows the SE and Matern kernels only.")
    else:
        lines.append(
            f"lower rate: {OPEN_CONSTANT}. It is for the whole cube; compare slopes, not heights."
        )
    lines.append(_exponents(args, problem))
    return "\n".join(lines)


def _reach(horizon: int | None) -> str:
    if horizon is None:
        return f"Promises nothing at any horizon up to 10^{FURTHEST_POWER}."
    return f"Beats the trivial bound at a horizon of 10^{len(str(horizon)) - 1}."


def _exponents(args: argparse.Namespace, problem: Problem) -> str:
    nu = problem.kernel.nu if isinstance(problem.kernel, Matern) else None
    theorems = {"se": (1, 3, 4, 2), "matern": (1, 4, 2), "linear": (1, 4)}[args.kernel]
    parts = []
    for theorem in theorems:
        power = float(regret_exponent(theorem, args.alpha, args.kernel, args.dim, nu))
        parts.append(f"Theorem {theorem}{' (lower)' if theorem == 2 else ''} {power:.3f}")
    text = "Powers of T on the whole cube, logarithms left out: " + ", ".join(parts) + "."
    if nu is None:
        return text
    holds = bool(matern_is_sublinear(args.alpha, nu, args.dim))
    least = float(matern_least_smoothness(args.alpha, args.dim))
    return (
        f"{text}\nTheorem 4 is {'' if holds else 'not '}sublinear there: "
        f"it asks for nu > d(d+1) / (2 alpha) = {least:.4g}."
    )


def picture(comparison: Comparison, title: str, path: Path) -> None:
    """Draw the bounds over T, both axes logarithmic, into a PNG file."""
    from tailproof._util.plotting import new_figure

    figure = new_figure(figsize=(8, 6), layout="constrained")
    axis = figure.subplots()
    for column in comparison.columns:
        if column.values is not None:
            label = f"{column.name}: {column.policy}"
            axis.plot(comparison.rounds, column.values, marker=".", label=label)
    axis.plot(comparison.rounds, comparison.trivial, "k-", lw=1, label="any policy")
    if comparison.lower_rate is not None:
        label = "lower rate (Theorem 2, constant open)"
        axis.plot(comparison.rounds, comparison.lower_rate, "k--", lw=1, label=label)
    axis.set(xscale="log", yscale="log", xlabel="rounds T", ylabel="regret $R_T$", title=title)
    figure.legend(loc="outside lower center", ncols=2, fontsize="small")
    figure.savefig(path, dpi=120)
