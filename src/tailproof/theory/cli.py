"""`tailproof bounds`: the arguments; `comparison` and `report` do the work when it runs."""

from __future__ import annotations

import argparse
from typing import Any

from tailproof._util.arguments import add_command, add_out, epilog

_EXAMPLES = (
    "tailproof bounds --kernel se --dim 1 --alpha 0.5 --horizon 10000",
    "tailproof bounds --kernel matern --nu 2.5 --dim 2 --alpha 1 --v 4 --horizon 100000",
)
_DESCRIPTION = """\
Compute upper bounds on the regret (Theorems 1, 3, 4, explicit constants; GP-UCB with --noise-bound)
on a grid of arms of [0, 1]^d, and the rate of the lower bound (Theorem 2, constant open).
"""


def add_parser(commands: Any) -> None:
    """Add `bounds` to the subparsers of the command line."""
    parser = add_command(
        commands,
        "bounds",
        summary="compute the regret bounds of the paper's theorems, with their constants",
        description=_DESCRIPTION,
        epilog=epilog(_EXAMPLES, "guarantees.md"),
    )
    add = parser.add_argument
    add("--kernel", required=True, choices=("se", "matern", "linear"), help="of the mean payoffs")
    what = "smoothness of the Matern kernel (default: 2.5)"
    add("--nu", type=float, metavar="NU", help=what)
    what = "lengthscale of the SE and Matern kernels (default: 0.2)"
    add("--lengthscale", type=float, metavar="L", help=what)
    add("--dim", required=True, type=int, metavar="D", help="d, the dimension of the arms")
    what = "points a side of the grid of arms (default: about 400 arms)"
    add("--arms-per-dim", type=int, metavar="N", help=what)
    what = "E|y|^(1+alpha) <= v, 0 < alpha <= 1"
    add("--alpha", required=True, type=float, metavar="ALPHA", help=what)
    what = "bound on E|y|^(1+alpha) (default: %(default)g)"
    add("--v", type=float, default=1.0, metavar="V", help=what)
    what = "B, a bound on the RKHS norm of f (default: %(default)g)"
    add("--norm-bound", type=float, default=1.0, metavar="B", help=what)
    what = "R of sub-Gaussian noise, for the bound of GP-UCB (default: none)"
    add("--noise-bound", type=float, metavar="R", help=what)
    add("--horizon", required=True, type=int, metavar="T", help="T, the number of rounds")
    what = "probability with which a bound may fail (default: %(default)g)"
    add("--delta", type=float, default=0.1, metavar="DELTA", help=what)
    what = "lambda, the ridge of the regression (default: %(default)g)"
    add("--ridge", type=float, default=1.0, metavar="LAMBDA", help=what)
    what = "epsilon of Theorem 4 (default: %(default)g)"
    add("--accuracy", type=float, default=0.1, metavar="EPSILON", help=what)
    what = "quadrature nodes a side of Theorem 3 (default: those of the best bound)"
    add("--nodes", type=int, metavar="N", help=what)
    add_out(parser, "out/bounds", "bounds.png")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the table of bounds and draw their curves; return the exit code."""
    from tailproof._util.optional import require
    from tailproof.bandits.schedules import MomentBound, Setting
    from tailproof.theory import report
    from tailproof.theory.comparison import Problem, compare, grid_of_arms, make_kernel

    require("matplotlib", "plot")  # report a missing package before the work, not after it
    kernel_name, nodes = arguments.kernel, arguments.nodes
    moment = MomentBound(arguments.alpha, arguments.v)
    setting = Setting(
        moment, arguments.norm_bound, arguments.ridge, arguments.delta, arguments.horizon
    )
    if nodes is not None and nodes < 1:
        raise ValueError(f"`nodes >= 1` must hold, but got nodes={nodes}.")
    if nodes is not None and kernel_name != "se":
        raise ValueError(f'`nodes` belongs to kernel="se", but got kernel={kernel_name!r}.')
    arms = grid_of_arms(arguments.dim, arguments.arms_per_dim)
    kernel = make_kernel(kernel_name, arguments.dim, arguments.lengthscale, arguments.nu)
    problem = Problem(
        kernel, arms, setting, arguments.accuracy, nodes, noise_bound=arguments.noise_bound
    )

    comparison = compare(problem, report.table_rounds(arguments.horizon))
    print(report.heading(problem))
    print(report.table(comparison))
    print(report.legend(kernel_name, problem, comparison))
    path = arguments.out / "bounds.png"
    title = f"{kernel_name} kernel, d = {arguments.dim}, alpha = {arguments.alpha:g}"
    report.draw(comparison, title, path)
    print(f"\nwrote {path}")
    return 0
