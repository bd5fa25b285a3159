"""The arguments of a comparison, and the sentence on what its intervals rest on."""

from __future__ import annotations

from dataclasses import dataclass

from tailproof._util import checks


@dataclass(frozen=True)
class Settings:
    """Arguments of a comparison, checked; `compare` documents them."""

    baseline: str | None = None
    level: float = 0.95
    lower_is_better: bool | None = None
    sequential: bool = False
    moment_bound: float | None = None
    moment_order: float = 2.0
    minimum_effect: float = 0.05
    single: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the settings of a comparison."""
        checks.in_unit_interval("level", self.level, closed_above=False)
        checks.positive("minimum_effect", self.minimum_effect)
        if self.moment_bound is not None:
            checks.positive("moment_bound", self.moment_bound)
            if not self.sequential:
                raise ValueError("`moment_bound` needs `sequential`, but it is off.")
        elif self.moment_order != 2.0:
            raise ValueError("`moment_order` needs `moment_bound`, but there is none.")


def assumption(settings: Settings, blocks: int | None) -> str:
    """Return what the intervals of these settings rest on, in words."""
    units = "payoffs" if blocks is None else "blocks"
    if settings.moment_bound is not None:
        order = settings.moment_order
        return (
            "confidence sequences of Catoni type, valid at every look if each payoff has, given "
            f"the earlier ones, the same mean and E|payoff - mean|^{order:g} <= "
            f"{settings.moment_bound:g}"
        )
    if settings.sequential:
        return (
            f"asymptotic confidence sequences: independent {units} with more than two moments, and "
            "looks that start late enough; practical, not guaranteed"
        )
    return (
        f"independent {units}, and as many of them as were planned before looking; practical "
        "intervals, without a guarantee"
    )
