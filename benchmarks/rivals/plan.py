"""The runs that a comparison consists of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rivals.laws import LAWS
from rivals.methods import METHODS, OWN
from rivals.problems import FAMILIES, OBJECTIVES, ProblemName, problem_names
from rivals.run import RunSpec
from tailproof._util import checks

SEEDS, EVALUATIONS = 20, 200
# Rough seconds an evaluation, for the order of work and the first guess of the time left.
_GUESS = {"random": 1e-4, "tgp-ucb": 1e-3, "ata-gp-ucb": 5e-3, "optuna-tpe": 6e-3}
_GUESS |= {"optuna-gp": 0.05, "botorch-lognei": 0.02, "botorch-ucb": 8e-3, "botorch-rrp": 0.03}
_GUESS_OURS = 0.03


@dataclass(frozen=True)
class Plan:
    """Objectives, laws and methods, and how many seeds and evaluations of each."""

    objectives: tuple[str, ...] = OBJECTIVES
    laws: tuple[str, ...] = tuple(LAWS)
    methods: tuple[str, ...] = OWN
    seeds: int = SEEDS
    evaluations: int = EVALUATIONS
    family: str = "measure"

    def __post_init__(self) -> None:
        for name, chosen, choices in (
            ("objectives", self.objectives, OBJECTIVES),
            ("laws", self.laws, tuple(LAWS)),
            ("methods", self.methods, tuple(METHODS)),
        ):
            for key in chosen:
                checks.choice(name, key, choices)
            if not chosen:
                raise ValueError(f"`{name}` must name at least one, but got none.")
            # A name given twice counts once.
            object.__setattr__(self, name, tuple(dict.fromkeys(chosen)))
        checks.integer("seeds", self.seeds, low=1)
        checks.integer("evaluations", self.evaluations, low=2)
        checks.choice("family", self.family, FAMILIES)

    @property
    def problems(self) -> tuple[ProblemName, ...]:
        """Objective and law of every problem."""
        return problem_names(self.objectives, self.laws)

    def runs(self) -> Iterator[RunSpec]:
        """Yield every run, all problems of a seed before the next seed."""
        for seed in range(self.seeds):
            for objective, law in self.problems:
                for method in self.methods:
                    yield RunSpec(objective, law, method, seed, self.evaluations, self.family)


def guess_seconds(spec: RunSpec) -> float:
    """Return roughly how long a run takes on one core."""
    return _GUESS.get(spec.method, _GUESS_OURS) * spec.evaluations
