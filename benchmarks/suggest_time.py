"""What a suggestion costs beside BoTorch's and Optuna GPSampler's, in the same run.

Every contestant gets the same history of n payoffs and is then asked for the next point and told
its payoff, a few times over; one process, one thread. Half of the history is spread over the
domain, half lies around the optimum, as it does after a while of optimizing. The first round is
measured apart. Time is told by the clock and as the processor's, which other work on the machine
lengthens far less. Where ours learns its calibration anew, a round costs more: those rounds are
counted, and the figures given without them as well.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import tailproof as tp
from botorch_loop import BotorchLoop
from rivals import optuna_player, peers
from rivals.contestants import CONTESTANTS, OURS
from rivals.domains import Params
from rivals.problems import Cell, cell
from rounds import machine, note
from tables import table
from tailproof.experiments.trial import single_threaded

LAW = "t3"
SPREAD = 0.1  # of the half around the optimum, as a share of each axis
FIGURES = ("median", "mean", "largest", "first", "steady_median", "steady_largest")


@dataclass(frozen=True)
class Player:
    """`turn` asks for the next point and tells its payoff.

    `fitted` is how many payoffs the last refit saw; None where that is not known.
    """

    turn: Callable[[int], None]
    fitted: Callable[[], int | None] = lambda: None


@dataclass(frozen=True)
class Timed:
    """One round: seconds by the clock and of the processor, and whether ours was refitted."""

    wall: float
    processor: float
    refit: bool


@dataclass(frozen=True)
class Plan:
    problem: str = "hartmann6"
    marks: tuple[int, ...] = (100, 300, 1000)
    own_marks: tuple[int, ...] = (10_000,)  # ours only: the peers take minutes a round there
    rounds: int = 20  # after the first
    least_rounds: int = 3
    budget: float = 90.0  # seconds a contestant and mark, after which its rounds stop
    contestants: tuple[str, ...] = (OURS, "botorch-lognei", "optuna-gp")


QUICK = {"marks": (15, 30), "own_marks": (45,), "rounds": 3, "least_rounds": 2, "budget": 20.0}


def history(one: Cell, number: int) -> list[tuple[Params, float]]:
    """The same payoffs for everybody."""
    rng = np.random.default_rng([number, 7])
    domain = one.problem.domain
    low, high = domain.bounds
    spread = domain.draw(number - number // 2, rng)
    cover = domain.cover(4096, rng)
    best = cover[int(np.argmax(one.means(cover)))]
    steps = SPREAD * (high - low) * rng.standard_normal((number // 2, domain.dimension))
    points = rng.permutation(np.vstack([spread, best + steps]))
    told = [domain.params(point) for point in points]
    return [(params, one.payoff(params, rng)) for params in told]


def ours(one: Cell, told: list[tuple[Params, float]]) -> Player:
    optimizer = tp.Optimizer(one.problem.domain.space, seed=0)
    for params, value in told:
        optimizer.add(params, value)

    def turn(index: int) -> None:
        trial = optimizer.ask()
        optimizer.tell(trial, one.payoff(dict(trial.params), np.random.default_rng(index)))

    def fitted() -> int | None:
        known = optimizer._calibration
        return None if known is None else known.count

    return Player(turn, fitted)


def botorch(one: Cell, told: list[tuple[Params, float]]) -> Player:
    player = BotorchLoop(one.problem.domain)
    for params, value in told:
        player.tell(params, value)
    return _turn(one, player)


def optuna(one: Cell, told: list[tuple[Params, float]]) -> Player:
    player = optuna_player.OptunaPlayer(one.problem.domain, 0, "gp")
    create = peers.load("optuna").trial.create_trial
    for params, value in told:
        player.study.add_trial(
            create(params=params, distributions=player.distributions, value=value)
        )
    return _turn(one, player)


def _turn(one: Cell, player: Any) -> Player:
    def turn(index: int) -> None:
        params = player.ask()
        player.tell(params, one.payoff(params, np.random.default_rng(index)))

    return Player(turn)


STARTS = {OURS: ours, "botorch-lognei": botorch, "optuna-gp": optuna}


def timed(player: Player, index: int) -> Timed:
    before = player.fitted()
    wall, processor = time.perf_counter(), time.process_time()
    player.turn(index)
    spent = time.perf_counter() - wall, time.process_time() - processor
    return Timed(*spent, player.fitted() != before)


def measure(one: Cell, contestant: str, number: int, plan: Plan) -> dict[str, Any]:
    """Time rounds, the first apart: it may have more to set up than the others."""
    player = STARTS[contestant](one, history(one, number))
    first = timed(player, 0)
    later: list[Timed] = []
    began = time.perf_counter()
    while len(later) < plan.rounds and (
        len(later) < plan.least_rounds or time.perf_counter() - began < plan.budget
    ):
        later.append(timed(player, 1 + len(later)))
    known = player.fitted() is not None
    return {
        "contestant": contestant,
        "payoffs": number,
        "rounds": len(later),
        "refits": sum(this.refit for this in later) if known else None,
        **{clock: figures(first, later, clock, known) for clock in ("wall", "processor")},
    }


def figures(first: Timed, later: list[Timed], clock: str, known: bool) -> dict[str, float | None]:
    """Seconds of the rounds by a clock; "steady" without those of a refit, None if not known."""
    every = [getattr(this, clock) for this in later]
    steady = [getattr(this, clock) for this in later if known and not this.refit]
    return {
        "median": float(np.median(every)),
        "mean": float(np.mean(every)),
        "largest": max(every),
        "first": getattr(first, clock),
        "steady_median": float(np.median(steady)) if steady else None,
        "steady_largest": max(steady, default=None),
    }


def run(plan: Plan) -> dict[str, Any]:
    one = cell(plan.problem, LAW)
    todo = [(number, contestant) for number in plan.marks for contestant in plan.contestants]
    todo += [(number, OURS) for number in plan.own_marks if OURS in plan.contestants]
    rows = []
    with single_threaded(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for contestant in plan.contestants:
            warm = replace(plan, rounds=1, least_rounds=1)  # compile, load
            measure(one, contestant, min(plan.marks), warm)
        for number, contestant in todo:
            note(f"{contestant}, {number} payoffs")
            rows.append(measure(one, contestant, number, plan))
    return {"plan": asdict(plan), "machine": machine(), "rows": rows}


def markdown(result: dict[str, Any]) -> str:
    """The table, every rival's time divided by ours beside it."""
    m, plan = result["machine"], result["plan"]
    own = {row["payoffs"]: row for row in result["rows"] if row["contestant"] == OURS}
    body = []
    for row in result["rows"]:
        median, mean, largest, first, steady_median, steady_largest = (
            both(*(row[clock][name] for clock in ("wall", "processor"))) for name in FIGURES
        )
        title = CONTESTANTS[row["contestant"]].title
        refits = "-" if row["refits"] is None else str(row["refits"])
        body.append(
            [
                *(title, f"{row['payoffs']:,}", median, mean, largest, first),
                *(over(row, own.get(row["payoffs"])), str(row["rounds"]), refits),
                *(steady_median, steady_largest),
            ]
        )
    head = ["contestant", "payoffs", "median", "mean", "largest", "first", "mean / ours", "rounds"]
    head += ["with a refit", "median without", "largest without"]
    return "\n".join(
        [
            "# What a suggestion costs",
            "",
            f"{m['processor']}, one thread; Python {m['python']}, numpy {m['numpy']}. Problem "
            f"{plan['problem']}, noise {LAW}. Milliseconds to ask for the next point and tell its "
            "payoff, with all that has to be fitted for it: by the clock, and in brackets of the "
            "processor's time. The first round after the history is apart and not among the "
            "rounds counted. With a refit: the rounds in which ours learnt its calibration anew; "
            "the last two columns leave those out. For the peers refits are not counted.",
            "",
            *table(head, body),
            "",
        ]
    )


def both(wall: float | None, processor: float | None) -> str:
    """Milliseconds by the clock and, in brackets, of the processor."""
    if wall is None or processor is None:
        return "-"
    return f"{1e3 * wall:,.1f} ({1e3 * processor:,.1f})"


def over(row: dict[str, Any], own: dict[str, Any] | None) -> str:
    """A row's mean divided by ours, by the clock and, in brackets, of the processor."""
    if own is None:
        return "-"
    pairs = [(row[clock]["mean"], own[clock]["mean"]) for clock in ("wall", "processor")]
    # A coarse clock of the processor may stand still through all rounds.
    wall, processor = (f"{mine / base:.1f}" if base else "-" for mine, base in pairs)
    return f"{wall} ({processor})"


def available(contestants: tuple[str, ...]) -> tuple[str, ...]:
    """Those whose modules are installed; the others are named, not passed over in silence."""
    kept = []
    for key in contestants:
        missing = [name for name in CONTESTANTS[key].peer if find_spec(name) is None]
        if missing:
            note(f"{key} is left out: it needs {', '.join(missing)} ({peers.INSTALL})")
        else:
            kept.append(key)
    return tuple(kept)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a suggestion costs.")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder to write to")
    parser.add_argument("--problem", default=Plan.problem, help="which (default: hartmann6)")
    parser.add_argument("--contestants", nargs="+", choices=tuple(STARTS), help="which")
    parser.add_argument("--quick", action="store_true", help="a smoke test: few payoffs")
    options = parser.parse_args()
    chosen = available(tuple(options.contestants or Plan.contestants))
    small: dict[str, Any] = QUICK if options.quick else {}
    result = run(Plan(problem=options.problem, contestants=chosen, **small))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "suggest_time.json").write_text(json.dumps(result, indent=1) + "\n")
    text = markdown(result)
    (options.out / "suggest_time.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
