"""The six panels of the paper's Figure 1 at its size, the values read off it, and a seventh.

Panel g is not in the paper: the hard instance of its lower bound, over the horizon.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tailproof.environments import DataArms, ParetoPayoff, StudentT
from tailproof.experiments.policies import (
    ON_HARD_INSTANCE,
    POLICIES,
    TRUNCATION,
    WITH_FOURIER,
    WITHOUT_FOURIER,
)
from tailproof.experiments.problems import LowerBound, Recorded, Source, Spiked, Synthetic
from tailproof.kernels import Matern, SquaredExponential

LETTERS = ("a", "b", "c", "d", "e", "f", "g")
FIGURE_LETTERS = LETTERS[:6]  # of the paper's figure
NEEDS_DATA = ("d", "e")
RECORDED_ROUNDS = 100  # how many rounds of a run have their regret recorded

_SE = SquaredExponential(0.2)
_MATERN = Matern(2.5, 0.2)


@dataclass(frozen=True)
class PaperPanel:
    """A panel's size in the paper, and what can be read off its plot."""

    rounds: int  # of each run
    repetitions: int  # runs of each policy
    # Policy -> round -> R_T / T; accurate to 0.005 in d and e.
    values: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    crossing: int | None = None  # about the round from which Nystrom lies below TGP-UCB


@dataclass(frozen=True, eq=False)
class Panel:
    """One panel: its problem, its policies and how much of it is run."""

    letter: str
    title: str
    source: Source
    policies: tuple[str, ...]  # keys of `policies.POLICIES`
    rounds: int
    repetitions: int
    variant_repetitions: int  # of the policies that are not in the paper
    paper: PaperPanel
    nodes: int | None = None  # per coordinate, of quadrature Fourier features

    def repetitions_of(self, policy: str) -> int:
        """Return how many repetitions a policy has."""
        return self.variant_repetitions if POLICIES[policy].is_variant else self.repetitions

    @property
    def recorded_rounds(self) -> NDArray[np.int64]:
        """Rounds whose regret is recorded, increasing; the last one is the last round.

        In panel g they are the horizons of runs of their own.
        """
        if isinstance(self.source, LowerBound):
            return self.source.horizons(self.rounds)
        return np.unique(-(-np.arange(1, RECORDED_ROUNDS + 1) * self.rounds // RECORDED_ROUNDS))

    @property
    def rounds_in_all(self) -> int:
        """Rounds that one repetition of a policy plays."""
        alone = isinstance(self.source, LowerBound)
        return int(self.recorded_rounds.sum()) if alone else self.rounds

    @property
    def at_paper_size(self) -> bool:
        """Whether rounds and repetitions are the paper's, so that its statements can be checked."""
        return (self.rounds, self.repetitions) == (self.paper.rounds, self.paper.repetitions)

    def paper_value(self, policy: str, round_number: int) -> float | None:
        """Return the paper's R_T / T in a round; None where the paper's horizon is another."""
        if self.rounds != self.paper.rounds:
            return None
        return self.paper.values.get(policy, {}).get(round_number)


_SYNTHETIC, _DATA = (20_000, 20), (10_000, 10)  # rounds and repetitions in the paper
_PAPER = {
    "a": PaperPanel(
        *_SYNTHETIC,
        {"tgp": {20_000: 0.35}, "qff": {20_000: 0.31}, "nystrom": {20_000: 0.295}},
        crossing=10_000,
    ),
    "b": PaperPanel(
        *_SYNTHETIC,
        {"tgp": {20_000: 0.207}, "qff": {20_000: 0.200}, "nystrom": {20_000: 0.188}},
        crossing=10_000,
    ),
    "c": PaperPanel(
        *_SYNTHETIC, {"tgp": {20_000: 0.43}, "nystrom": {20_000: 0.40}}, crossing=16_000
    ),
    "d": PaperPanel(
        *_DATA,
        {"tgp": {1_000: 0.467, 10_000: 0.386}, "nystrom": {1_000: 0.494, 10_000: 0.263}},
        crossing=2_000,
    ),
    "e": PaperPanel(
        *_DATA,
        {
            "tgp": {1_000: 0.547, 10_000: 0.410},
            "qff": {1_000: 0.36, 10_000: 0.353},
            "nystrom": {1_000: 0.565, 10_000: 0.318},
        },
        crossing=3_500,
    ),
    "f": PaperPanel(10_000, 50),
    "g": PaperPanel(10_000, 10),  # our choice
}


def _paper_panel(
    letter: str, title: str, source: Source, policies: tuple[str, ...], nodes: int | None = None
) -> Panel:
    """Return a panel at the paper's size, with five repetitions of the variants."""
    paper = _PAPER[letter]
    return Panel(letter, title, source, policies, paper.rounds, paper.repetitions, 5, paper, nodes)


def synthetic_panels() -> dict[str, Panel]:
    """Return panels a, b, c, f and g, which need no data, by letter."""
    student, pareto = StudentT(3.0), ParetoPayoff(2.0)
    a = Synthetic(_SE, student, (-1.0, 1.0), 1.0)
    b = Synthetic(_SE, pareto, (0.0, 1.0), 0.9)
    c = Synthetic(_MATERN, student, (-1.0, 1.0), 1.0)
    hard = LowerBound(SquaredExponential(0.1), alpha=0.5)
    return {
        "a": _paper_panel("a", "SE, Student-t(3)", a, WITH_FOURIER, 32),
        "b": _paper_panel("b", "SE, Pareto(2)", b, WITH_FOURIER, 32),
        "c": _paper_panel("c", "Matérn 5/2, Student-t(3)", c, WITHOUT_FOURIER),
        "f": _paper_panel("f", "Effect of truncation on GP-UCB", Spiked(_SE), TRUNCATION),
        "g": _paper_panel("g", "Hard instance of the lower bound", hard, ON_HARD_INSTANCE, 64),
    }


def stocks_panel(arms: DataArms, *, stand_in: bool = False) -> Panel:
    """Return panel d on the paper's stocks, or on a stand-in, for which the paper has no values."""
    panel = _paper_panel("d", "Stock market data", Recorded(arms), WITHOUT_FOURIER)
    if not stand_in:
        return panel
    return replace(panel, title="Stocks (open stand-in)", paper=PaperPanel(*_DATA))


def light_panel(arms: DataArms) -> Panel:
    """Return panel e: Fourier features with l^2 = 0.1 on the sensors' positions, 16 nodes each."""
    source = Recorded(arms, lengthscale=math.sqrt(0.1))
    return _paper_panel("e", "Light sensor data", source, WITH_FOURIER, 16)
