"""One match: a contestant plays a cell with one seed, and what is kept of it."""

from __future__ import annotations

import time
import traceback
import warnings
from dataclasses import dataclass, field
from typing import Any

from rivals import seeds
from rivals.contestants import CONTESTANTS, Player, Start
from rivals.domains import Params
from rivals.problems import Cell, cell
from tailproof.experiments.trial import single_threaded

MARKS = (25, 50, 100, 150, 200)


@dataclass(frozen=True)
class Match:
    """Who plays what with which seed, for how many evaluations."""

    problem: str
    law: str
    contestant: str
    seed: int
    evaluations: int
    family: str = "measure"

    @property
    def name(self) -> tuple[str, str, int]:
        """Cell, contestant, seed."""
        return f"{self.problem}.{self.law}", self.contestant, self.seed

    @property
    def marks(self) -> tuple[int, ...]:
        """Rounds after which a recommendation is asked for, the last being the last round."""
        return marks(self.evaluations)

    def noise(self, index: int) -> Any:
        """Return the generator of one round's noise: the same for every contestant."""
        return seeds.generator(
            "noise", self.family, self.problem, self.law, self.seed, "round", index
        )

    def start(self) -> Start:
        """Return what the contestant starts from."""
        own = seeds.sequence("contestant", self.family, *self.name)
        return Start(int(own.generate_state(1)[0]), self.evaluations)


def marks(evaluations: int) -> tuple[int, ...]:
    """Return the rounds after which recommendations are asked for.

    Examples
    --------
    >>> marks(200), marks(60)
    ((25, 50, 100, 150, 200), (25, 50, 60))
    """
    return (*(mark for mark in MARKS if mark < evaluations), evaluations)


@dataclass
class _Score:
    """What a match has come to so far."""

    regrets: list[float] = field(default_factory=list)
    simple: list[float] = field(default_factory=list)
    alternatives: dict[str, list[float]] = field(default_factory=dict)
    recommended: Params | None = None
    seconds: float = 0.0
    recommend_seconds: float = 0.0


def play(match: Match) -> dict[str, Any]:
    """Play a match on one thread and return what is kept of it, ready for JSON.

    Keys
    ----
    simple, cumulative
        At the marks: best mean minus the recommended point's mean; the sum of best mean minus
        the played points' means. Of a contestant that failed, the rounds it did not play and the
        recommendations it did not give count as the worst there can be.
    recommended, place
        The last recommendation, and in the trap the hill it lies on.
    alternatives
        Simple regret at the marks of other recommendations the contestant could have given.
    error, rounds
        What went wrong, if anything, and how many rounds were played.
    seconds, recommend_seconds
        Of asking and telling together; of recommending.
    """
    one = cell(match.problem, match.law, match.family, match.seed)
    score, error, player = _Score(), None, None
    with single_threaded(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the peers' fits, and of what the theory promises
        try:
            player = CONTESTANTS[match.contestant].start(one, match.start())
            _rounds(match, one, player, score)
        except Exception as problem:  # whatever a contestant does, the table has to say it
            error = _described(problem)
    return _record(match, one, score, error) | {
        "failed_fits": int(getattr(player, "failed_fits", 0))
    }


def _rounds(match: Match, one: Cell, player: Player, score: _Score) -> None:
    stops = set(match.marks)
    for index in range(1, match.evaluations + 1):
        began = time.perf_counter()
        params = player.ask()
        score.seconds += time.perf_counter() - began
        regret, value = one.regret(params), one.payoff(params, match.noise(index))
        began = time.perf_counter()
        player.tell(params, value)
        score.seconds += time.perf_counter() - began
        score.regrets.append(regret)
        if index in stops:
            _recommend(one, player, score)


def _recommend(one: Cell, player: Player, score: _Score) -> None:
    began = time.perf_counter()
    score.recommended = player.recommend()
    score.recommend_seconds += time.perf_counter() - began
    score.simple.append(one.regret(score.recommended))
    others: dict[str, Params] = getattr(player, "alternatives", dict)()
    for name, params in others.items():
        score.alternatives.setdefault(name, []).append(one.regret(params))


def _record(match: Match, one: Cell, score: _Score, error: str | None) -> dict[str, Any]:
    rounds, stops = len(score.regrets), match.marks
    regrets = score.regrets + [one.worst] * (match.evaluations - rounds)
    simple = score.simple + [one.worst] * (len(stops) - len(score.simple))
    complete = error is None and score.recommended is not None
    return {
        "simple": simple,
        "cumulative": [sum(regrets[:mark]) for mark in stops],
        "recommended": score.recommended if complete else None,
        "place": one.place(score.recommended)
        if complete and score.recommended is not None
        else None,
        "alternatives": {
            name: values for name, values in score.alternatives.items() if len(values) == len(stops)
        },
        "error": error,
        "rounds": rounds,
        "seconds": score.seconds,
        "recommend_seconds": score.recommend_seconds,
    }


def _described(error: Exception) -> str:
    """Return an error and where it was raised, without the paths of a machine."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    where = "" if last is None else f" (in {last.name}, line {last.lineno} of {_file(last)})"
    return f"{type(error).__name__}: {error}{where}"


def _file(frame: traceback.FrameSummary) -> str:
    return frame.filename.replace("\\", "/").rsplit("/", 1)[-1]
