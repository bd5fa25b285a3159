"""The payoffs told to a `Bandit`, in order, with linked lists of each arm's payoffs.

Every payoff has a source, the running bandit that was told it first, and a place in the sequence of
that source. Logs that share sources can therefore be united without counting a payoff twice.
"""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import NDArray

from tailproof._compiled import arm_statistics as compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_FIRST_CAPACITY = 256


class PayoffLog:
    """Arms, payoffs, times and sources in arrays that grow by doubling: 40 bytes a payoff.

    Attributes
    ----------
    count
        Number of payoffs.
    clock
        Number of payoffs told to this log's own source or merged before them; the stamp of a
        payoff is the clock after it.
    restarted
        Number of payoffs when all estimates were last made from the log alone, 0 at first.
    events
        What happened since then besides payoffs told one by one, in order: (payoffs before it,
        "payoffs", how many were told together) or (payoffs before it, "arms", how many came).
    """

    def __init__(self) -> None:
        self.count = 0
        self.clock = 0.0
        self.restarted = 0
        self.events: list[tuple[int, str, int]] = []
        self.source_names = [new_source()]
        self._arms = np.empty(_FIRST_CAPACITY, dtype=np.int64)
        self._payoffs = np.empty(_FIRST_CAPACITY)
        self._stamps = np.empty(_FIRST_CAPACITY)
        self._sources = np.empty(_FIRST_CAPACITY, dtype=np.int64)
        self._previous = np.empty(_FIRST_CAPACITY, dtype=np.int64)
        self._own = 0  # the source of payoffs to come

    @property
    def arms(self) -> Indices:
        """Numbers of the arms in the log, one for each payoff, (count,)."""
        return self._arms[: self.count]

    @property
    def payoffs(self) -> Array:
        """Payoffs in the log, larger is better, (count,)."""
        return self._payoffs[: self.count]

    @property
    def stamps(self) -> Array:
        """The clock at each payoff, (count,)."""
        return self._stamps[: self.count]

    @property
    def sources(self) -> Indices:
        """Which of `source_names` each payoff came from, (count,)."""
        return self._sources[: self.count]

    @property
    def columns(self) -> tuple[Indices, Array, Array]:
        """The whole arrays of links, payoffs and stamps for the compiled loops."""
        return self._previous, self._payoffs, self._stamps

    def append(self, arm: int, payoff: float) -> int:
        """Add one payoff to the log and return its place."""
        t = self.count
        if t == len(self._payoffs):
            self._reserve(t + 1)
        self.clock += 1.0
        self._arms[t] = arm
        self._payoffs[t] = payoff
        self._stamps[t] = self.clock
        self._sources[t] = self._own
        self.count = t + 1
        return t

    def extend(self, arms: Indices, payoffs: Array) -> int:
        """Add payoffs, linked to nothing yet, and return the place of the first."""
        first, k = self.count, len(payoffs)
        self._reserve(first + k)
        place = slice(first, first + k)
        self._arms[place] = arms
        self._payoffs[place] = payoffs
        self._stamps[place] = self.clock + np.arange(1.0, k + 1.0)
        self._sources[place] = self._own
        self.clock += k
        self.count += k
        self.events.append((first, "payoffs", k))
        return first

    def link(self, last: Indices, stats: Array) -> None:
        """Rebuild the linked lists of all payoffs: `last` (n,) and the counts of `stats`."""
        last.fill(-1)
        stats[:, compiled.COUNT] = 0.0
        compiled.link_payoffs(0, self.count, self._arms, last, self._previous, stats)

    def unite(self, other: PayoffLog, arm_numbers: Indices) -> int:
        """Add the payoffs of another log that are not here; return how many.

        `arm_numbers` maps the other's arms to arms of this log. Payoffs keep their age. The lists
        of payoffs have to be linked again.
        """
        known = dict(
            zip(
                self.source_names,
                np.bincount(self.sources, minlength=len(self.source_names)),
                strict=True,
            )
        )
        numbers = np.empty(len(other.source_names), dtype=np.int64)
        place = np.zeros(other.count, dtype=np.int64)  # in the sequence of its source
        fresh = np.zeros(other.count, dtype=bool)
        for i, name in enumerate(other.source_names):
            mine = np.flatnonzero(other.sources == i)
            place[mine] = np.arange(len(mine))
            fresh[mine] = place[mine] >= known.get(name, 0)
            if name not in self.source_names:
                self.source_names.append(name)
            numbers[i] = self.source_names.index(name)
        k = int(fresh.sum())
        self._reserve(self.count + k)
        end = slice(self.count, self.count + k)
        self._arms[end] = arm_numbers[other.arms[fresh]]
        self._payoffs[end] = other.payoffs[fresh]
        self._stamps[end] = self.clock - (other.clock - other.stamps[fresh])
        self._sources[end] = numbers[other.sources[fresh]]
        self.count += k
        # By age, so that lists run from new to old; within a source the order stays.
        order = np.argsort(self.stamps, kind="stable")
        for column in (self._arms, self._payoffs, self._stamps, self._sources):
            column[: self.count] = column[: self.count][order]
        return k

    def fill(self, arms: Indices, payoffs: Array, stamps: Array, clock: float) -> None:
        """Set the payoffs of an empty log, at its `clock`."""
        k = len(payoffs)
        self._reserve(k)
        self._arms[:k], self._payoffs[:k], self._stamps[:k] = arms, payoffs, stamps
        self._sources[:k] = 0
        self.count = k
        self.clock = clock

    def set_sources(self, sources: Indices, names: list[str]) -> None:
        """Set where the payoffs came from; payoffs to come get a source of their own.

        A copy of the file that they were read from may go on elsewhere, with other payoffs.
        """
        self._sources[: self.count] = sources
        self.source_names = [*names, new_source()]
        self._own = len(names)

    def _reserve(self, count: int) -> None:
        """Let the arrays of the log hold at least `count` payoffs, twice as many if they grow."""
        if count <= len(self._payoffs):
            return
        size = max(count, 2 * len(self._payoffs))
        for name in ("_arms", "_payoffs", "_stamps", "_sources", "_previous"):
            old = getattr(self, name)
            new = np.empty(size, dtype=old.dtype)
            new[: self.count] = old[: self.count]
            setattr(self, name, new)


def new_source() -> str:
    """Return a name for the payoffs of one process in a log, unlike all others."""
    return secrets.token_hex(8)
