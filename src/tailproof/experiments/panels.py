"""The six panels of the paper's Figure 1, at the paper's size, and what can be read off it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tailproof.environments import DataArms, ParetoPayoff, StudentT
from tailproof.experiments.columns import SMOOTH, TRUNCATION, WITHOUT_QFF
from tailproof.experiments.problems import Recorded, Source, Spiked, Synthetic
from tailproof.kernels import Matern, SquaredExponential

LETTERS = ("a", "b", "c", "d", "e", "f")
NEEDS_DATA = ("d", "e")
FURTHER_TRIALS = 5

_SE = SquaredExponential(0.2)
_MATERN = Matern(2.5, 0.2)


@dataclass(frozen=True)
class ReadOff:
    """What the paper's figure shows, read off the plot.

    Attributes
    ----------
    values
        Policy -> round -> R_T / T; good to 0.005 in d and e.
    crossing
        About the round from which ATA-GP-UCB-Nystrom lies below TGP-UCB.
    """

    values: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    crossing: int | None = None


@dataclass(frozen=True, eq=False)
class Panel:
    """One panel: its problem, its policies, its size."""

    letter: str
    title: str
    source: Source
    columns: tuple[str, ...]
    rounds: int
    trials: int
    nodes: int | None = None  # Fourier nodes a side
    paper: ReadOff = ReadOff()


def _read_off(crossing: int, **values: Mapping[int, float]) -> ReadOff:
    return ReadOff(values, crossing)


_PAPER = {
    "a": _read_off(10_000, tgp={20_000: 0.35}, qff={20_000: 0.31}, nystrom={20_000: 0.295}),
    "b": _read_off(10_000, tgp={20_000: 0.207}, qff={20_000: 0.200}, nystrom={20_000: 0.188}),
    "c": _read_off(16_000, tgp={20_000: 0.43}, nystrom={20_000: 0.40}),
    "d": _read_off(
        2_000,
        tgp={1_000: 0.467, 10_000: 0.386},
        nystrom={1_000: 0.494, 10_000: 0.263},
    ),
    "e": _read_off(
        3_500,
        tgp={1_000: 0.547, 10_000: 0.410},
        qff={1_000: 0.36, 10_000: 0.353},
        nystrom={1_000: 0.565, 10_000: 0.318},
    ),
}


def synthetic_panels() -> dict[str, Panel]:
    """Return panels a, b, c and f, which need no data."""
    student, pareto = StudentT(3.0), ParetoPayoff(2.0)
    a = Synthetic(_SE, student, (-1.0, 1.0), 1.0)
    b = Synthetic(_SE, pareto, (0.0, 1.0), 0.9)
    c = Synthetic(_MATERN, student, (-1.0, 1.0), 1.0)
    full, trials = 20_000, 20
    return {
        "a": Panel("a", "SE, Student-t(3)", a, SMOOTH, full, trials, 32, _PAPER["a"]),
        "b": Panel("b", "SE, Pareto(2)", b, SMOOTH, full, trials, 32, _PAPER["b"]),
        "c": Panel(
            "c", "Matérn 5/2, Student-t(3)", c, WITHOUT_QFF, full, trials, None, _PAPER["c"]
        ),
        "f": Panel("f", "Effect of truncation on GP-UCB", Spiked(_SE), TRUNCATION, 10_000, 50),
    }


def stocks_panel(arms: DataArms, *, stand_in: bool = False) -> Panel:
    """Return panel d on the paper's stocks, or on a stand-in that has no paper's value."""
    title = "Stocks (open stand-in)" if stand_in else "Stock market data"
    paper = ReadOff() if stand_in else _PAPER["d"]
    return Panel("d", title, Recorded(arms), WITHOUT_QFF, 10_000, 10, None, paper)


def light_panel(arms: DataArms) -> Panel:
    """Return panel e: Fourier features with l^2 = 0.1 on the sensors' places, 16 nodes a side."""
    source = Recorded(arms, lengthscale=math.sqrt(0.1))
    return Panel("e", "Light sensor data", source, SMOOTH, 10_000, 10, 16, _PAPER["e"])
