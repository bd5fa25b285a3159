"""What a running policy has whether its arms are finitely many or fill a box."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tailproof import storage
from tailproof.bandits.arms import Box, Finite
from tailproof.bandits.guarantees import Guarantee
from tailproof.bandits.schedules import CustomSchedule, Schedule
from tailproof.kernels import Kernel


@dataclass(frozen=True, eq=False)
class PolicyConfig:
    """The arguments an optimizer was made with; the same arguments and seed make the same one."""

    policy: str
    space: Finite | Box
    kernel: Kernel
    options: dict[str, Any]


class _Counted(Protocol):
    """What beta depends on."""

    @property
    def count(self) -> int:
        """Number of payoffs in the posterior that a policy runs with."""

    @property
    def directions(self) -> int:
        """Number of features in the posterior that a policy runs with."""

    @property
    def log_det(self) -> float:
        """ln |I + K_t / ridge| of the posterior that a policy runs with."""


class PolicyRun:
    """A policy with its schedule, its guarantee and its random generator."""

    def __init__(
        self,
        config: PolicyConfig,
        progress: _Counted,
        schedule: Schedule,
        guarantee: Guarantee,
        rng: np.random.Generator,
        start: Mapping[str, Any],
    ) -> None:
        self.config, self.schedule = config, schedule
        self._progress, self._guarantee, self._rng = progress, guarantee, rng
        self._start = start  # of the random generator, before anything was drawn
        self._multiplier: float = config.options["beta_multiplier"]
        self._random_first = config.options["schedule"] == "authors"

    def __len__(self) -> int:
        """Return the number of payoffs told in the run of a policy."""
        return self._progress.count

    def __repr__(self) -> str:
        return f"<{self.config.policy} on {self.config.space!r}, {len(self)} payoffs>"

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee after the payoffs told so far, or the reasons why there is none."""
        return self._guarantee.after(len(self))

    @property
    def beta(self) -> float:
        """beta_{t+1}, the factor of the standard deviation in the next ask, with the multiplier."""
        p = self._progress
        return self._multiplier * self.schedule.beta(p.count, p.directions, p.log_det)

    def random_states(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return the random generator's state from before the first draw, and its present one."""
        return self._start, self._rng.bit_generator.state

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of a policy's run to one npz file; `tailproof.load` continues from it."""
        from tailproof.bandits import state

        optimizer: Any = self  # an ArmOptimizer or a BoxOptimizer, which import this module
        storage.save(path, state.FORMAT, *state.to_state(optimizer))

    def _check_schedule(self, payoffs: int) -> None:
        """Evaluate a custom schedule for the next payoffs: if it fails, nothing has changed yet."""
        if isinstance(self.schedule, CustomSchedule):
            p = self._progress
            for t in range(p.count + 1, p.count + 1 + payoffs):
                self.schedule.truncation(t, p.directions)
