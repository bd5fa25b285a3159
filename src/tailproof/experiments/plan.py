"""What a run will do: which panels at which size, its tasks, their seeds, its manifest."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tailproof
from tailproof import __version__
from tailproof._util import checks
from tailproof.experiments import columns as c
from tailproof.experiments.panels import FURTHER_TRIALS, LETTERS, Panel
from tailproof.experiments.problems import Source

MARKS = 100  # rounds at which regret is kept
# The code that decides what a trial comes to; tables, figures and reports only show it.
DECIDING = (
    "*.py",
    "_engine/*.py",
    "environments/*.py",
    *(f"experiments/{name}.py" for name in ("columns", "plan", "problems", "trial")),
)
PURPOSES = ("function", "noise", "spike", "policy", "first arm")


@dataclass(frozen=True)
class Size:
    """How large a run is; None keeps each panel's own, which is the paper's.

    `further_trials` are those of the columns that go beyond the paper.
    """

    rounds: int | None = None
    trials: int | None = None
    further_trials: int = FURTHER_TRIALS

    def __post_init__(self) -> None:
        for name in ("rounds", "trials"):
            value = getattr(self, name)
            if value is not None:
                checks.integer(name, value, low=1)
        checks.integer("further_trials", self.further_trials, low=1)


@dataclass(frozen=True, eq=False)
class PanelPlan:
    """One panel, the columns chosen of it, and its size in this run."""

    panel: Panel
    columns: tuple[str, ...]
    rounds: int
    trials: int
    further_trials: int

    def trials_of(self, column: str) -> int:
        """Return how many trials a column has."""
        return self.further_trials if c.COLUMNS[column].further else self.trials

    @property
    def marks(self) -> NDArray[np.int64]:
        """Rounds at which regret is kept, rising, the last being the last round."""
        return np.unique(-(-np.arange(1, MARKS + 1) * self.rounds // MARKS))

    @property
    def at_paper_size(self) -> bool:
        """Whether rounds and trials are the paper's, so that its statements can be checked."""
        return self.rounds == self.panel.rounds and self.trials == self.panel.trials

    def paper_value(self, column: str, mark: int) -> float | None:
        """Return the paper's R_T / T at a mark; None where the horizon is another."""
        if self.rounds != self.panel.rounds:
            return None
        return self.panel.paper.values.get(column, {}).get(mark)


@dataclass(frozen=True, eq=False)
class Task:
    """One trial of one column: all a worker needs, wherever it runs."""

    letter: str
    column: str
    trial: int
    rounds: int
    marks: NDArray[np.int64]
    nodes: int | None
    source: Source
    seed: int

    @property
    def name(self) -> tuple[str, str, int]:
        """Panel, column, trial."""
        return self.letter, self.column, self.trial

    def sequence(self, purpose: str) -> np.random.SeedSequence:
        """Return the seeds of one purpose.

        Function and noise are the same for all columns of a trial, and panel f's function is
        the same for all trials; nothing depends on which other tasks there are.
        """
        panel = LETTERS.index(self.letter)
        if purpose == "shared function":
            return np.random.SeedSequence([self.seed, panel, len(PURPOSES)])
        entropy = [self.seed, panel, PURPOSES.index(purpose), self.trial]
        if purpose in ("policy", "first arm"):
            entropy.append(int.from_bytes(self.column.encode(), "big"))
        return np.random.SeedSequence(entropy)

    def generator(self, purpose: str) -> np.random.Generator:
        """Return a new generator for one purpose."""
        return np.random.default_rng(self.sequence(purpose))


@dataclass(frozen=True, eq=False)
class Plan:
    """The panels of a run and the seed everything random comes from."""

    panels: tuple[PanelPlan, ...]
    seed: int

    def tasks(self) -> Iterator[Task]:
        """Yield every task, panel after panel."""
        for one in self.panels:
            panel, marks = one.panel, one.marks
            for column in one.columns:
                for trial in range(one.trials_of(column)):
                    yield Task(
                        panel.letter,
                        column,
                        trial,
                        one.rounds,
                        marks,
                        panel.nodes,
                        panel.source,
                        self.seed,
                    )

    def manifest(self) -> dict[str, Any]:
        """Return what defines the results: versions, seeds, every parameter and constant."""
        return {
            "format": 1,
            "versions": {"tailproof": __version__, "python": platform.python_version()}
            | {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "numba")},
            "source_sha256": source_digest(Path(tailproof.__file__).parent),
            "seed": self.seed,
            "seeds": "SeedSequence([seed, panel, purpose, trial, column]), the column for "
            f"purposes of its own; panels {list(LETTERS)}, purposes {list(PURPOSES)}",
            "standard_deviation": "over trials, ddof 1",
            "panels": {one.panel.letter: _describe(one) for one in self.panels},
        }


def source_digest(package: Path, patterns: Sequence[str] = DECIDING) -> str:
    """Return the SHA-256 of the code in `package` that decides what a trial comes to.

    A version number stays while code is being worked on, and another order of the same sums can
    send a policy another way: trials of different code must not end up in one table.
    """
    digest = hashlib.sha256()
    for path in sorted({path for pattern in patterns for path in package.glob(pattern)}):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0")
        digest.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()


def _describe(one: PanelPlan) -> dict[str, Any]:
    panel = one.panel
    return {
        "title": panel.title,
        "rounds": one.rounds,
        "horizon": one.rounds,
        "trials": one.trials,
        "further_trials": one.further_trials,
        "marks": len(one.marks),
        "problem": panel.source.describe(),
        "policies": {key: c.describe(c.COLUMNS[key], panel.nodes) for key in one.columns},
    }


def make_plan(
    panels: Mapping[str, Panel],
    sizes: Mapping[str, Size],
    *,
    seed: int,
    policies: tuple[str, ...] | None = None,
) -> Plan:
    """Return the plan for some panels.

    Parameters
    ----------
    panels
        By letter.
    sizes
        By letter: rounds and trials, where they are not the paper's.
    seed
        Not negative.
    policies
        Keys of `columns.COLUMNS` to keep; None keeps all. A panel left without any is dropped.

    Examples
    --------
    >>> from tailproof.experiments.panels import synthetic_panels
    >>> panels, small = synthetic_panels(), Size(rounds=50, trials=2)
    >>> plan = make_plan(panels, {key: small for key in panels}, seed=0, policies=("tgp",))
    >>> [task.name for task in plan.tasks()][:3]
    [('a', 'tgp', 0), ('a', 'tgp', 1), ('b', 'tgp', 0)]
    """
    checks.integer("seed", seed, low=0)
    for key in policies or ():
        checks.choice("policies", key, tuple(c.COLUMNS))
    plans = []
    for letter in sorted(panels):
        panel, size = panels[letter], sizes.get(letter, Size())
        kept = tuple(key for key in panel.columns if policies is None or key in policies)
        trials = panel.trials if size.trials is None else size.trials
        rounds = panel.rounds if size.rounds is None else size.rounds
        if kept:
            further = min(trials, size.further_trials)
            plans.append(PanelPlan(panel, kept, rounds, trials, further))
    if not plans:
        raise ValueError(
            f"`policies` must name a policy of the panels {sorted(panels)}, "
            f"but got policies={list(policies or ())}."
        )
    return Plan(tuple(plans), seed)
