"""A comparison of regret bounds as text and as a plot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tailproof._util import files, plotting
from tailproof._util.console import text_table
from tailproof.kernels import Matern
from tailproof.theory.comparison import MAX_POWER, Comparison, Problem, informative_horizons
from tailproof.theory.rates import (
    OPEN_CONSTANT,
    SOURCES,
    matern_is_sublinear,
    matern_least_smoothness,
    regret_exponent,
)


def table_rounds(horizon: int) -> NDArray[np.int64]:
    """Return the rounds of the report's table of bounds: 10, 20, 50, 100, .. and the horizon."""
    steps = [m * 10**k for k in range(1, 19) for m in (1, 2, 5) if m * 10**k < horizon]
    return np.array([*steps, horizon], dtype=np.int64)


def table(comparison: Comparison) -> str:
    """Return the report's table of bounds as text, a row a round."""
    header = ["T", "gamma_T <=", *(c.name for c in comparison.columns), "any policy", "lower rate"]
    bounds = [
        comparison.gain,
        *(column.values for column in comparison.columns),
        comparison.trivial,
        comparison.lower_rate,
    ]
    rows = [
        [str(T), *("-" if b is None or np.isnan(b[i]) else f"{b[i]:.4g}" for b in bounds)]
        for i, T in enumerate(comparison.rounds.tolist())
    ]
    return text_table(header, rows, right=range(len(header)))


def heading(problem: Problem) -> str:
    """Return the heading of the bounds' report: kernel, arms and constants."""
    s, (n, dim) = problem.setting, problem.arms.shape
    return (
        f"Regret R_T in units of payoff, {problem.kernel!r},\n"
        f"on {n} arms: a grid of {round(n ** (1 / dim))} a side on [0, 1]^{dim}. "
        "gamma_T and the upper bounds are those of the grid, not of the whole cube.\n"
        f"E|y|^{1.0 + s.moment.alpha:g} <= {s.moment.v:g}, |f| <= {s.norm_bound:g} in the RKHS "
        f"norm, ridge {s.ridge:g}; each upper bound holds with probability "
        f"{1.0 - s.failure_probability:g};\npolicies are told the horizon {s.horizon}.\n"
    )


def legend(kernel_name: str, problem: Problem, comparison: Comparison) -> str:
    """Return for each column of the report what it is, and when it is informative or missing."""
    horizons = informative_horizons(problem)
    lines = ["", '"any policy" is 2 min(B, v^(1/(1+alpha))) T: a bound above it promises nothing.']
    for column in comparison.columns:
        if column.values is None:
            lines.append(f"{column.name}: {column.policy}. No bound: {column.reason}")
        else:
            lines.append(f"{column.name}: {column.policy}. {_reach_text(horizons[column.name])}")
    if comparison.lower_rate is None:
        lines.append("lower rate: Theorem 2 covers the SE and Matern kernels only.")
    else:
        lines.append(
            f"lower rate: {OPEN_CONSTANT}. It is for the whole cube; compare slopes, not heights."
        )
    lines.append(_exponents_text(kernel_name, problem))
    return "\n".join(lines)


def _reach_text(horizon: int | None) -> str:
    """Say in the report from which horizon on a bound says more than nothing."""
    if horizon is None:
        return f"Promises nothing at any horizon up to 10^{MAX_POWER}."
    return f"Beats the trivial bound at a horizon of 10^{len(str(horizon)) - 1}."


def _exponents_text(kernel_name: str, problem: Problem) -> str:
    """Return for the report the exponents of the regret bounds in T as a sentence."""
    alpha, dim = problem.setting.moment.alpha, problem.arms.shape[1]
    nu = problem.kernel.nu if isinstance(problem.kernel, Matern) else None
    theorems = {"se": (1, 3, 4, 2), "matern": (1, 4, 2), "linear": (1, 4)}[kernel_name]
    parts = []
    for theorem in theorems:
        power = float(regret_exponent(theorem, alpha, kernel_name, dim, nu))
        parts.append(f"Theorem {theorem}{' (lower)' if theorem == 2 else ''} {power:.3f}")
    text = "Powers of T on the whole cube, logarithms left out: " + ", ".join(parts) + "."
    if nu is None:
        return text
    sublinear = bool(matern_is_sublinear(alpha, nu, dim))
    smoothness = float(matern_least_smoothness(alpha, dim))
    return (
        f"{text}\nTheorem 4 is {'' if sublinear else 'not '}sublinear there: "
        f"it asks for nu > d(d+1) / (2 alpha) = {smoothness:.4g}.\n"
        f"{_newer_gain_text(alpha, dim, nu)}"
    )


def _newer_gain_text(alpha: float, dim: int, nu: float) -> str:
    """Say in the report which exponents follow from a newer bound on the information gain."""
    newer = SOURCES[1]
    powers = [float(regret_exponent(i, alpha, "matern", dim, nu, newer)) for i in (1, 4)]
    least = float(matern_least_smoothness(alpha, dim, newer))
    return (
        "With the information gain of Vakili et al. (2021): "
        f"Theorem 1 {powers[0]:.3f}, Theorem 4 {powers[1]:.3f}, sublinear for nu > {least:.4g}."
    )


def draw(comparison: Comparison, title: str, path: Path) -> None:
    """Draw for the report the bounds over T, both axes logarithmic, into a PNG file."""
    figure = plotting.new_figure(figsize=(8, 6), dpi=120, layout="constrained")
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
    files.write_bytes(path, plotting.image(figure, "png"))
