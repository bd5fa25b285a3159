"""What a run of the arena will do: its matches, what defines them, and the code they depend on."""

from __future__ import annotations

import functools
import importlib.metadata
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tailproof
from rivals.contestants import CONTESTANTS, OWN
from rivals.laws import LAWS
from rivals.match import Match, marks
from rivals.problems import FAMILIES, PROBLEMS, cell_names
from tailproof import __version__
from tailproof._util import checks
from tailproof.experiments.plan import source_digest

SEEDS, EVALUATIONS = 20, 200
_RULES = (
    "kernels.py",
    *(f"environments/{name}.py" for name in ("_laws", "functions", "noise", "payoffs")),
    *(
        f"experiments/arena/{name}.py"
        for name in ("domains", "functions", "laws", "match", "problems", "seeds", "trap")
    ),
)
# All of the library but its front doors, which decide nothing.
_LIBRARY = ("[!cd_]*.py", "c[!l]*.py", "d[!e]*.py", "checks.py", "_engine/*.py")
_OWN = (*_RULES, *_LIBRARY, "experiments/arena/contestants.py")
_VERSIONS = ("numpy", "scipy", "numba")
# Rough seconds a round, for the order of work and the first guess of the time left.
_GUESS = {"random": 1e-4, "tgp-ucb": 1e-3, "ata-gp-ucb": 5e-3, "optuna-tpe": 6e-3}
_GUESS |= {"optuna-gp": 0.05, "botorch-lognei": 0.02, "botorch-ucb": 8e-3, "botorch-rrp": 0.03}
_GUESS_OURS = 0.03


@dataclass(frozen=True)
class Plan:
    """Which problems, laws and contestants meet, with how many seeds and evaluations."""

    problems: tuple[str, ...] = PROBLEMS
    laws: tuple[str, ...] = tuple(LAWS)
    contestants: tuple[str, ...] = OWN
    seeds: int = SEEDS
    evaluations: int = EVALUATIONS
    family: str = "measure"

    def __post_init__(self) -> None:
        for name, chosen, known in (
            ("problems", self.problems, PROBLEMS),
            ("laws", self.laws, tuple(LAWS)),
            ("contestants", self.contestants, tuple(CONTESTANTS)),
        ):
            for one in chosen:
                checks.choice(name, one, known)
            if not chosen and name != "laws":
                raise ValueError(f"`{name}` must name at least one, but got none.")
            # Twice the same is once.
            object.__setattr__(self, name, tuple(dict.fromkeys(chosen)))
        if not self.cells:
            raise ValueError("`laws` must name at least one, but got none.")
        checks.integer("seeds", self.seeds, low=1)
        checks.integer("evaluations", self.evaluations, low=2)
        checks.choice("family", self.family, FAMILIES)

    @property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """Problem and law of every cell."""
        return cell_names(self.problems, self.laws)

    def matches(self) -> Iterator[Match]:
        """Yield every match, all cells of a seed before the next seed."""
        for seed in range(self.seeds):
            for problem, law in self.cells:
                for contestant in self.contestants:
                    yield Match(problem, law, contestant, seed, self.evaluations, self.family)

    def manifest(self) -> dict[str, Any]:
        """Return what all matches of a directory share; more of them can always be added."""
        return {
            "format": 1,
            "kind": "arena",
            "family": self.family,
            "evaluations": self.evaluations,
            "marks": list(marks(self.evaluations)),
        }


def guess_seconds(match: Match) -> float:
    """Return roughly how long a match takes on one core."""
    return _GUESS.get(match.contestant, _GUESS_OURS) * match.evaluations


@functools.cache
def code(contestant: str) -> str:
    """Return the SHA-256 of the code that decides how a contestant fares.

    A peer depends on the arena's rules and on how it is called, not on our own optimizer nor on the
    other peers: after a change of ours its matches stand, and ours are played again.
    """
    return source_digest(Path(tailproof.__file__).parent, deciding(contestant))


def deciding(contestant: str) -> tuple[str, ...]:
    """Return patterns of the files, below the package, that decide how a contestant fares."""
    peer = CONTESTANTS[contestant].peer
    return (*_RULES, f"experiments/arena/{peer[0]}_*.py") if peer else _OWN


@functools.cache
def made_with(contestant: str) -> dict[str, str]:
    """Return the versions a match is played with."""
    peers = CONTESTANTS[contestant].peer
    libraries = (*_VERSIONS, *peers, *(("torch", "gpytorch") if "botorch" in peers else ()))
    return {"tailproof": __version__, "python": platform.python_version()} | {
        name: importlib.metadata.version(name) for name in libraries
    }
