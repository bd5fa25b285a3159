"""Panel g: measured regret on the lower bound's hard instance beside the rates of the theorems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._util.plotting import new_figure
from tailproof.bandits.schedules import MomentBound
from tailproof.experiments.figure import line_style_of
from tailproof.experiments.measures import Records, regrets, sample_std
from tailproof.experiments.panels import Panel
from tailproof.experiments.policies import POLICIES
from tailproof.experiments.problems import LowerBound
from tailproof.theory import regret_exponent, squared_exponential_lower_rate

Array = NDArray[np.float64]
# In the paper's figure these two share the colors of other policies, in a panel of their own.
OWN_STYLE: dict[str, dict[str, Any]] = {
    "gp": {"color": "#cc79a7", "marker": "o", "markersize": 3},
    "gp-truncated": {"color": "#56b4e9", "marker": "s", "markersize": 3},
}


@dataclass(frozen=True)
class Growth:
    """How the regret R_T of panel g grows with the horizon T."""

    horizons: list[int]
    functions: list[int]  # M of each horizon
    proven: list[float]  # T Delta, the proof's lower bound on E[R_T] with its open C taken as 1
    largest: list[float]  # 2 T Delta, what no policy can exceed
    slopes: dict[str, float]  # d ln R_T / d ln T of the mean regret of each policy, least squares
    lower_slope: float  # of Theorem 2's rate over these horizons, its logarithms included
    upper_slopes: dict[str, float]  # exponents of Theorems 1, 3 and 4, without logarithms


def growth(panel: Panel, source: LowerBound, records: Records) -> Growth:
    """Return measured and proven growth of the regret over the horizons of the lower bound."""
    horizons = panel.recorded_rounds
    instances = [source.instance(int(T)) for T in horizons]
    gaps = np.array([hard.gap for hard in instances])
    alpha = source.alpha
    return Growth(
        horizons=horizons.tolist(),
        functions=[hard.count for hard in instances],
        proven=(horizons * gaps).tolist(),
        largest=(2.0 * horizons * gaps).tolist(),
        slopes={
            key: _log_slope(horizons, (regrets(panel, records, key) * horizons).mean(axis=0))
            for key in panel.policies
        },
        lower_slope=_log_slope(horizons, lower_rate(source, horizons)),
        upper_slopes={
            f"Theorem {theorem}": float(regret_exponent(theorem, alpha, "se"))
            for theorem in (1, 3, 4)
        },
    )


def lower_rate(source: LowerBound, horizons: NDArray[np.int64]) -> Array:
    """Return Theorem 2's rate at the horizons of panel g, the lower bound; its constant is open."""
    moment = MomentBound(source.alpha, source.v)
    return squared_exponential_lower_rate(moment, source.norm_bound, horizons, dim=1)


def _log_slope(horizons: NDArray[np.int64], values: Array) -> float:
    """Return the slope of ln(regret) over ln(horizons): the exponent of the regret in panel g."""
    usable = np.isfinite(values) & (values > 0.0)
    if usable.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(horizons[usable]), np.log(values[usable]), 1)[0])


def draw(panel: Panel, source: LowerBound, records: Records) -> Any:
    """Draw R_T over T beside the lower bound's rate, and R_T as a multiple of T Delta (panel g)."""
    figure = new_figure(figsize=(11.0, 6.0), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2)
    found, T = growth(panel, source, records), panel.recorded_rounds.astype(np.float64)
    largest, proven = np.array(found.largest), np.array(found.proven)
    for place, key in enumerate(panel.policies):
        curves = regrets(panel, records, key) * T
        mean, sd = curves.mean(axis=0), sample_std(curves)
        style = line_style_of(POLICIES[key]) | OWN_STYLE.get(key, {})
        label = f"{POLICIES[key].title}, slope {found.slopes[key]:.2f}"
        left.plot(T, mean, label=label, **style)
        bars = None if np.isnan(sd).any() else sd / proven
        # Side by side: policies that never see a jump play alike.
        shifted = T * 1.02 ** (place - len(panel.policies) / 2.0)
        right.errorbar(shifted, mean / proven, bars, capsize=2, elinewidth=0.8, **style)
    for axis, unit in ((left, np.ones_like(T)), (right, proven)):
        axis.plot(T, largest / unit, "k-", lw=1, label="most there can be: 2 T Δ")
        axis.plot(T, proven / unit, "k--", lw=1, label="lower bound of the proof, C = 1: T Δ")
    rate = lower_rate(source, panel.recorded_rounds)
    if np.isfinite(rate).all():
        label = f"Theorem 2's rate (constant open), slope {found.lower_slope:.2f}"
        left.plot(T, rate * (proven[-1] / rate[-1]), ":", color="gray", label=label)
    for name, slope in found.upper_slopes.items():
        line = {"Theorem 1": (0, (5, 5)), "Theorem 3": "-.", "Theorem 4": (0, (1, 1))}[name]
        label = f"{name}: upper rate T^{slope:.3g} (constant, logarithms left out)"
        curve = largest[0] * (T / T[0]) ** slope
        left.plot(T, curve, linestyle=line, color="#999999", lw=0.8, label=label)
    left.set(xscale="log", yscale="log", xlabel="horizon T", ylabel="regret R_T")
    right.set(xscale="log", xlabel="horizon T", ylabel="R_T / (T Δ)", ylim=(0.9, 2.1))
    figure.suptitle(f"(g) {panel.title}", fontsize=10)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=7)
    return figure
