"""Who plays: our optimizer, its variants, the theory's policies, random search, and the peers.

A contestant starts a player for a cell. A player is asked for parameters, told their payoff, and
recommends at any time, which must change nothing. Only the theory's policies are told anything
about the cell besides its domain: their theorems assume the moment, the kernel and the bound as
known, so they get the true ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

import tailproof as tp
from rivals.botorch_player import BotorchPlayer
from rivals.domains import Array, Domain, Params
from rivals.optuna_player import OptunaPlayer
from rivals.problems import Cell

OURS = "tailproof"
THEORY_POINTS = 400  # Sobol points that stand for a box, whose policies need finitely many
ROBUST_DEVIATIONS = 3.0  # where the clipping rival clips
DEGREES = 4.0  # of freedom of the Student-t likelihood


class Player(Protocol):
    """One contestant at play in one match."""

    def ask(self) -> Params:
        """Return the parameters to measure next."""
        ...

    def tell(self, params: Params, value: float) -> None:
        """Take the payoff of the parameters asked last."""
        ...

    def recommend(self) -> Params:
        """Return the parameters believed best; it may fit a model, and tells the player nothing."""
        ...


@dataclass(frozen=True)
class Start:
    """What a player starts from: seeds of its own, and how many evaluations there will be."""

    seed: int
    evaluations: int


@dataclass(frozen=True)
class Contestant:
    """A name in the tables and how its player starts.

    Attributes
    ----------
    key, title
        On the command line, and in tables.
    how
        What it is and how it recommends, in a sentence.
    start
        Makes a player; called with a cell and a `Start`.
    peer
        Modules it needs beyond tailproof's own.
    robust
        Whether it owes its robustness to a likelihood, which follows the median.
    """

    key: str
    title: str
    how: str
    start: Callable[[Cell, Start], Player]
    peer: tuple[str, ...] = ()
    robust: bool = False


class OptimizerPlayer:
    """`tp.Optimizer`, which recommends the best posterior mean."""

    def __init__(self, cell: Cell, start: Start, options: tp.Options) -> None:
        self._optimizer = tp.Optimizer(cell.problem.domain.space, seed=start.seed, options=options)
        self._trial: tp.Trial | None = None

    def ask(self) -> Params:
        """Return the parameters of the next trial."""
        self._trial = self._optimizer.ask()
        return dict(self._trial.params)

    def tell(self, params: Params, value: float) -> None:
        """Tell the trial's payoff."""
        assert self._trial is not None
        self._optimizer.tell(self._trial, value)

    def recommend(self) -> Params:
        """Return the optimizer's own recommendation."""
        return dict(self._optimizer.recommend().params)


@dataclass
class RandomPlayer:
    """Uniform draws; the recommendation is whatever paid best, and nothing cleverer."""

    domain: Domain
    rng: np.random.Generator
    best: tuple[float, Params] | None = field(default=None)

    def ask(self) -> Params:
        """Return a uniform draw."""
        return self.domain.params(self.domain.draw(1, self.rng)[0])

    def tell(self, params: Params, value: float) -> None:
        """Keep what paid best."""
        if self.best is None or value > self.best[0]:
            self.best = (value, params)

    def recommend(self) -> Params:
        """Return what paid best."""
        assert self.best is not None
        return self.best[1]


class TheoryPlayer:
    """A policy of the paper with its theorem's schedule, on the arms or on 400 Sobol points.

    It is told what its theorem assumes known: alpha and the true v = max E|y|^(1+alpha) of the
    cell's law, the kernel (`Problem.kernel`), B = max |f| as the authors took it, and the horizon.
    """

    def __init__(self, cell: Cell, start: Start, policy: str) -> None:
        self._domain = domain = cell.problem.domain
        self._points: Array = domain.cover(THEORY_POINTS, np.random.default_rng(start.seed))
        low, high = domain.bounds
        means = cell.means(self._points)
        known: dict[str, Any] = {
            "moment": tp.MomentBound(cell.law.alpha, cell.law.moment(self._points, means)),
            "norm_bound": float(np.abs(means).max()),
            "horizon": start.evaluations,
            "seed": start.seed,
        }
        space = tp.Finite((self._points - low) / (high - low))
        if policy == "tgp-ucb":
            self._optimizer = tp.tgp_ucb(space, cell.problem.kernel, **known)
        else:
            features = tp.Exact()
            self._optimizer = tp.ata_gp_ucb(space, cell.problem.kernel, features=features, **known)
        self._arm = 0

    def ask(self) -> Params:
        """Return the arm with the largest upper bound."""
        self._arm = self._optimizer.ask_index()
        return self._domain.params(self._points[self._arm])

    def tell(self, params: Params, value: float) -> None:
        """Tell the arm's payoff."""
        self._optimizer.tell_index(self._arm, value)

    def recommend(self) -> Params:
        """Return the arm with the best posterior mean."""
        return self._domain.params(self._points[self._optimizer.recommend().index])


def _ours(make: Callable[[], tp.Options]) -> Callable[[Cell, Start], Player]:
    return lambda cell, start: OptimizerPlayer(cell, start, make())


def _theory(policy: str) -> Callable[[Cell, Start], Player]:
    return lambda cell, start: TheoryPlayer(cell, start, policy)


def _random(cell: Cell, start: Start) -> Player:
    return RandomPlayer(cell.problem.domain, np.random.default_rng(start.seed))


def _optuna(sampler: str) -> Callable[[Cell, Start], Player]:
    return lambda cell, start: OptunaPlayer(cell.problem.domain, start.seed, sampler)


def _botorch(kind: str) -> Callable[[Cell, Start], Player]:
    return lambda cell, start: BotorchPlayer(cell.problem.domain, start.seed, kind)


def _loss(name: str, *arguments: float) -> Callable[[], tp.Options]:
    def make() -> tp.Options:
        from tailproof.search.model import noise

        return tp.Options(loss=getattr(noise, name)(*arguments), exploration_rate=0.0)

    return make


_OPTUNA = "recommends study.best_trial, the trial that paid best"
_BOTORCH = (
    "hyperparameters are fitted on a schedule, not in every round, and the next point is sought "
    "with 4 restarts from 256 samples, less than its tutorials do; likelihoods and acquisition "
    "functions are computed in closed form, equal to its own for the same draws; recommends the "
    "best posterior mean"
)
CONTESTANTS: dict[str, Contestant] = {
    one.key: one
    for one in (
        Contestant(
            OURS,
            "tailproof",
            "tp.Optimizer with its defaults, told nothing of the noise; recommends the best "
            "posterior mean",
            _ours(lambda: tp.Options()),
        ),
        Contestant(
            "gp-ucb",
            "GP-UCB",
            "tp.Optimizer with Gaussian(), payoffs as they come: our model, and our search without "
            "its survey",
            _ours(_loss("Gaussian")),
        ),
        Contestant(
            "clipped-gp-ucb",
            "clipped GP-UCB",
            "tp.Optimizer with Winsorize(3.0), payoffs clipped at 3 robust standard deviations: our "
            "model, and our search without its survey",
            _ours(_loss("Winsorize", ROBUST_DEVIATIONS)),
        ),
        Contestant(
            "student-t-gp",
            "Student-t GP",
            "tp.Optimizer with StudentT(4.0): the mode under a Student-t likelihood of 4 degrees "
            "of freedom, not learnt, in our model and our search without its survey",
            _ours(_loss("StudentT", DEGREES)),
            robust=True,
        ),
        Contestant(
            "tgp-ucb",
            "TGP-UCB (theory)",
            "tp.tgp_ucb with Theorem 1's schedule, told the true moment, kernel and max |f|",
            _theory("tgp-ucb"),
        ),
        Contestant(
            "ata-gp-ucb",
            "ATA-GP-UCB (theory)",
            "tp.ata_gp_ucb with exact features and Theorem 4's schedule, told the same",
            _theory("ata-gp-ucb"),
        ),
        Contestant("random", "random search", "uniform draws; recommends what paid best", _random),
        Contestant(
            "optuna-tpe", "Optuna TPE", f"TPESampler; {_OPTUNA}", _optuna("tpe"), ("optuna",)
        ),
        Contestant(
            "optuna-gp",
            "Optuna GPSampler",
            f"GPSampler; {_OPTUNA}",
            _optuna("gp"),
            ("optuna", "torch"),
        ),
        Contestant(
            "botorch-lognei",
            "BoTorch LogNEI",
            f"SingleTaskGP with qLogNoisyExpectedImprovement; {_BOTORCH}",
            _botorch("lognei"),
            ("botorch",),
        ),
        Contestant(
            "botorch-ucb",
            "BoTorch UCB",
            f"SingleTaskGP with UpperConfidenceBound, two standard deviations; {_BOTORCH}",
            _botorch("ucb"),
            ("botorch",),
        ),
        Contestant(
            "botorch-rrp",
            "BoTorch RRP",
            "RobustRelevancePursuitSingleTaskGP with qLogNoisyExpectedImprovement; for time's sake "
            "6 shares of outliers and 30 iterations a fit, fewer than its default; " + _BOTORCH,
            _botorch("rrp"),
            ("botorch",),
            robust=True,
        ),
    )
}
OWN = tuple(key for key, one in CONTESTANTS.items() if not one.peer)
PEERS = tuple(key for key, one in CONTESTANTS.items() if one.peer)
