"""Replay a table of payoffs as a bandit problem: `Bandit` beside two plain ways to choose.

Each round's payoff is drawn with replacement from the recorded payoffs of the arm that was chosen,
so that the best arm, by the mean of its recorded payoffs, is known. In every round all policies
draw at the same quantile. What a replay cannot show: payoffs larger than those recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tailproof._util import checks
from tailproof.bandits.bandit import Bandit

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

BANDIT, SAMPLE_MEANS, UNIFORM = "Bandit", "Thompson on sample means", "uniform allocation"


class Chooser(Protocol):
    """What a replay needs of a policy."""

    def ask_index(self) -> Any:
        """Return the number of the arm to play next in a replay."""

    def tell_index(self, index: int, payoff: float) -> None:
        """Take the payoff of an arm in a replay."""

    def best_index(self) -> int:
        """Return the number of the arm to recommend at the end of a replay."""


class _BanditChooser:
    """A `Bandit` as a chooser."""

    def __init__(self, bandit: Bandit) -> None:
        """Let a `Bandit` choose the arms of a replay."""
        self.bandit = bandit
        self.ask_index, self.tell_index = bandit.ask_index, bandit.tell_index

    def best_index(self) -> int:
        """Return the arm that `Bandit` recommends at the end of a replay."""
        return self.bandit.recommend().index


class SampleMeans:
    """Thompson sampling, or uniform allocation, on plain means; recommends the best plain mean.

    A draw is N(mean, s^2 / n), s^2 the arm's variance averaged with that of all payoffs at the
    weight of two payoffs; arms are played twice first.
    """

    def __init__(self, arms: int, rng: np.random.Generator, *, uniform: bool, sign: float) -> None:
        """Let plain sample means choose the arms of a replay."""
        self._rng, self._uniform, self._sign = rng, uniform, sign
        self._counts, self._sums, self._squares = np.zeros(arms), np.zeros(arms), np.zeros(arms)
        self._rounds = 0

    def ask_index(self) -> int:
        """Return the arm that a policy of plain sample means plays next in a replay."""
        if self._uniform or self._rounds < 2 * len(self._counts):
            return self._rounds % len(self._counts)
        n, mean = self._counts, self._sums / self._counts
        own = np.maximum(self._squares / n - mean**2, 0.0)
        pooled = max(self._squares.sum() / n.sum() - (self._sums.sum() / n.sum()) ** 2, 0.0)
        std = np.sqrt((n * own + 2.0 * pooled) / (n + 2.0) / n)
        return int((mean + std * self._rng.standard_normal(len(n))).argmax())

    def tell_index(self, index: int, payoff: float) -> None:
        """Take the payoff of an arm of a replay into its plain mean."""
        self._rounds += 1
        self._counts[index] += 1.0
        self._sums[index] += self._sign * payoff
        self._squares[index] += payoff * payoff

    def best_index(self) -> int:
        """Return the arm of a replay with the best plain mean among those played."""
        played = self._counts > 0
        return int(np.where(played, self._sums / np.maximum(self._counts, 1.0), -np.inf).argmax())


@dataclass(frozen=True, eq=False)
class Replay:
    """What one policy did in R repetitions of T rounds with n arms."""

    policy: str
    regret: Array  # (R, T), cumulative, in units of the payoff
    choices: Indices  # (R, T), numbers of the arms
    recommended: Indices  # (R,)


@dataclass(frozen=True, eq=False)
class Simulation:
    """The arms, the means of their recorded payoffs, and what each policy did."""

    names: tuple[str, ...]
    means: Array  # (n,)
    recorded: Indices  # (n,), number of recorded payoffs
    best: int
    minimize: bool
    replays: tuple[Replay, ...]


def simulate(
    payoffs: Sequence[Array],
    names: Sequence[str],
    *,
    rounds: int,
    seeds: int = 10,
    minimize: bool = False,
    half_life: float | None = None,
    explore: float = 1.0,
    seed: int = 0,
) -> Simulation:
    """Replay recorded payoffs, an array for each of n >= 2 arms, `seeds` times for `rounds` rounds.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> urns = [mean + rng.standard_t(2, 500) for mean in (0.0, 1.0)]
    >>> result = simulate(urns, ["old", "new"], rounds=300, seeds=2)
    >>> result.names[result.best], [replay.policy for replay in result.replays][0]
    ('new', 'Bandit')
    """
    rounds = checks.integer("rounds", rounds, low=1)
    seeds = checks.integer("seeds", seeds, low=1)
    urns = [checks.payoffs("payoffs", urn) for urn in payoffs]
    if len(urns) < 2 or len(urns) != len(names) or not all(urn.size for urn in urns):
        raise ValueError(f"`payoffs` must be of at least 2 named arms, but got {len(urns)}.")
    sign = -1.0 if minimize else 1.0
    means = np.array([urn.mean() for urn in urns])
    best = int((sign * means).argmax())
    gaps = np.abs(means[best] - means)
    made: dict[str, list[tuple[Array, Indices, int]]] = {
        name: [] for name in (BANDIT, SAMPLE_MEANS, UNIFORM)
    }
    labels = [str(name) for name in names]
    for repetition in np.random.SeedSequence(seed).spawn(seeds):
        draws, *own = repetition.spawn(3)
        quantiles = np.random.default_rng(draws).random(rounds)
        bandit = Bandit(
            labels, minimize=minimize, half_life=half_life, explore=explore, seed=own[0]
        )
        rng = np.random.default_rng(own[1])
        choosers: dict[str, Chooser] = {
            BANDIT: _BanditChooser(bandit),
            SAMPLE_MEANS: SampleMeans(len(urns), rng, uniform=False, sign=sign),
            UNIFORM: SampleMeans(len(urns), rng, uniform=True, sign=sign),
        }
        for name, chooser in choosers.items():
            chosen = np.empty(rounds, dtype=np.int64)
            for t, q in enumerate(quantiles.tolist()):
                arm = chooser.ask_index()
                urn = urns[arm]
                chooser.tell_index(arm, float(urn[int(q * urn.size)]))
                chosen[t] = arm
            made[name].append((np.cumsum(gaps[chosen]), chosen, chooser.best_index()))
    replays = tuple(
        Replay(
            name,
            np.stack([regret for regret, _, _ in runs]),
            np.stack([chosen for _, chosen, _ in runs]),
            np.array([last for _, _, last in runs]),
        )
        for name, runs in made.items()
    )
    recorded = np.array([urn.size for urn in urns])
    return Simulation(tuple(labels), means, recorded, best, minimize, replays)
