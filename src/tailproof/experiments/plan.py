"""The plan of a reproduction: its panels and their sizes, its runs, their seeds, its manifest.

A run is one repetition of one policy in one panel.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tailproof
from tailproof._util import checks
from tailproof.experiments.panels import LETTERS, Panel
from tailproof.experiments.policies import POLICIES, describe

# The source files that the numbers of a run depend on; tables, figures and reports only show them.
SOURCES = (
    "kernels.py",
    "_util/linalg.py",
    "_util/quadrature.py",
    "_compiled/*.py",
    "bandits/**/*.py",
    "environments/*.py",
    *(f"experiments/{name}.py" for name in ("plan", "policies", "problems", "repetition")),
)
PURPOSES = ("function", "noise", "spike", "policy", "first arm")


@dataclass(frozen=True)
class Size:
    """How much of a panel is run; None keeps the panel's own number, which is the paper's."""

    rounds: int | None = None
    repetitions: int | None = None
    variant_repetitions: int | None = None  # of policies not in the paper; at most `repetitions`

    def __post_init__(self) -> None:
        """Check rounds and repetitions that are planned for a panel."""
        for name, value in dataclasses.asdict(self).items():
            if value is not None:
                checks.integer(name, value, low=1)

    def applied_to(self, panel: Panel) -> Panel:
        """Return the panel as it is planned, at this size."""
        given = {name: n for name, n in dataclasses.asdict(self).items() if n is not None}
        panel = dataclasses.replace(panel, **given)
        variant_repetitions = min(panel.repetitions, panel.variant_repetitions)
        return dataclasses.replace(panel, variant_repetitions=variant_repetitions)


@dataclass(frozen=True, eq=False)
class Task:
    """One run to do: one repetition of one policy in a panel, with everything a worker needs."""

    panel: Panel
    policy: str
    repetition: int
    seed: int

    @property
    def name(self) -> tuple[str, str, int]:
        """Name of the task in the plan: panel, policy, repetition."""
        return self.panel.letter, self.policy, self.repetition

    def sequence(self, purpose: str) -> np.random.SeedSequence:
        """Return the seed sequence of a planned task for one purpose.

        Function and noise are the same for all policies of a repetition, and panel f's function
        is the same for all repetitions; nothing depends on which other tasks there are.
        """
        return np.random.SeedSequence(self.entropy(purpose))

    def entropy(self, purpose: str) -> list[int]:
        """Return the entropy of a planned task's seeds; panel g adds the horizon to it."""
        panel = LETTERS.index(self.panel.letter)
        if purpose == "shared function":
            return [self.seed, panel, len(PURPOSES)]
        entropy = [self.seed, panel, PURPOSES.index(purpose), self.repetition]
        if purpose in ("policy", "first arm"):
            entropy.append(int.from_bytes(self.policy.encode(), "big"))
        return entropy

    def generator(self, purpose: str) -> np.random.Generator:
        """Return a new generator of a planned task for one purpose."""
        return np.random.default_rng(self.sequence(purpose))


@dataclass(frozen=True, eq=False)
class Plan:
    """The panels of a reproduction, in the order of their letters, and its seed."""

    panels: tuple[Panel, ...]
    seed: int

    def tasks(self) -> Iterator[Task]:
        """Yield every task of the plan, panel after panel, policy after policy."""
        for panel in self.panels:
            for policy in panel.policies:
                for repetition in range(panel.repetitions_of(policy)):
                    yield Task(panel, policy, repetition, self.seed)

    def manifest(self) -> dict[str, Any]:
        """Return what defines the plan's results: versions, seeds, every parameter and constant."""
        return {
            "format": 1,
            "versions": {"tailproof": tailproof.__version__, "python": platform.python_version()}
            | {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "numba")},
            "source_sha256": source_digest(Path(tailproof.__file__).parent),
            "seed": self.seed,
            "seeds": "SeedSequence([seed, panel, purpose, repetition, policy]), the policy for "
            f"purposes of its own; panels {list(LETTERS)}, purposes {list(PURPOSES)}",
            "standard_deviation": "over repetitions, ddof 1",
            "panels": {panel.letter: _panel_in_manifest(panel) for panel in self.panels},
        }


def source_digest(package: Path) -> str:
    """Return for the plan's manifest the SHA-256 of the files in `package` that match `SOURCES`.

    The version number stays while code is being changed, and the same sums in another order can
    change which arm a policy plays: runs of different code must not end up in one table.
    """
    digest = hashlib.sha256()
    for path in sorted({path for pattern in SOURCES for path in package.glob(pattern)}):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0")
        digest.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()


def _panel_in_manifest(panel: Panel) -> dict[str, Any]:
    """Return what the plan's manifest says of a panel."""
    return {
        "title": panel.title,
        "rounds": panel.rounds,
        "horizon": panel.rounds,
        "repetitions": panel.repetitions,
        "variant_repetitions": panel.variant_repetitions,
        "recorded_rounds": len(panel.recorded_rounds),
        "problem": panel.source.describe(),
        "policies": {key: describe(POLICIES[key], panel.nodes) for key in panel.policies},
    }


def make_plan(
    panels: Mapping[str, Panel],
    sizes: Mapping[str, Size],
    *,
    seed: int,
    policies: Sequence[str] | None = None,
) -> Plan:
    """Return the plan for some panels, by letter, at these sizes, also by letter.

    A panel without a size keeps the paper's. `policies` are the keys of `policies.POLICIES` to
    keep, None for all; a panel left without any is dropped.

    Examples
    --------
    >>> from tailproof.experiments.panels import synthetic_panels
    >>> panels, small = synthetic_panels(), Size(rounds=50, repetitions=2)
    >>> plan = make_plan(panels, {key: small for key in panels}, seed=0, policies=("tgp",))
    >>> [task.name for task in plan.tasks()][:3]
    [('a', 'tgp', 0), ('a', 'tgp', 1), ('b', 'tgp', 0)]
    """
    checks.integer("seed", seed, low=0)
    for key in policies or ():
        checks.choice("policies", key, tuple(POLICIES))
    planned = []
    for letter in sorted(panels):
        panel = panels[letter]
        kept = tuple(key for key in panel.policies if policies is None or key in policies)
        if kept:
            panel = dataclasses.replace(panel, policies=kept)
            planned.append(sizes.get(letter, Size()).applied_to(panel))
    if not planned:
        raise ValueError(
            f"`policies` must name a policy of the panels {sorted(panels)}, "
            f"but got policies={list(policies or ())}."
        )
    return Plan(tuple(planned), seed)
