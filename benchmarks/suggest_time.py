"""What a suggestion costs beside BoTorch's and Optuna GPSampler's, in the same run.

Every contestant gets the same history of n payoffs and is then asked for the next point and told
its payoff, a few times over; one process, one thread. Half of the history is spread over the
domain, half lies around the optimum, as it does after a while of optimizing.
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
from rounds import machine, note
from tables import table
from tailproof.experiments.arena import peers
from tailproof.experiments.arena.contestants import CONTESTANTS, OURS
from tailproof.experiments.arena.domains import Params
from tailproof.experiments.arena.problems import Cell, cell
from tailproof.experiments.trial import single_threaded

LAW = "t3"
SPREAD = 0.1  # of the half around the optimum, as a share of each axis
Round = Callable[[int], None]  # ask for the next point and tell its payoff


@dataclass(frozen=True)
class Plan:
    problem: str = "hartmann6"
    marks: tuple[int, ...] = (100, 300, 1000)
    rounds: int = 20
    least_rounds: int = 3
    budget: float = 90.0  # seconds a contestant and mark, after which its rounds stop
    contestants: tuple[str, ...] = (OURS, "botorch-lognei", "optuna-gp")


QUICK = {"marks": (15, 30), "rounds": 3, "least_rounds": 2, "budget": 20.0}


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


def ours(one: Cell, told: list[tuple[Params, float]]) -> Round:
    optimizer = tp.Optimizer(one.problem.domain.space, seed=0)
    for params, value in told:
        optimizer.add(params, value)

    def turn(index: int) -> None:
        trial = optimizer.ask()
        optimizer.tell(trial, one.payoff(dict(trial.params), np.random.default_rng(index)))

    return turn


def botorch(one: Cell, told: list[tuple[Params, float]]) -> Round:
    player = peers.BotorchPlayer(one.problem.domain, 0, "lognei")
    for params, value in told:
        player.tell(params, value)
    return _turn(one, player)


def optuna(one: Cell, told: list[tuple[Params, float]]) -> Round:
    player = peers.OptunaPlayer(one.problem.domain, 0, "gp")
    create = peers.load("optuna").trial.create_trial
    for params, value in told:
        player.study.add_trial(
            create(params=params, distributions=player.distributions, value=value)
        )
    return _turn(one, player)


def _turn(one: Cell, player: Any) -> Round:
    def turn(index: int) -> None:
        params = player.ask()
        player.tell(params, one.payoff(params, np.random.default_rng(index)))

    return turn


STARTS = {OURS: ours, "botorch-lognei": botorch, "optuna-gp": optuna}


def measure(one: Cell, contestant: str, number: int, plan: Plan) -> dict[str, Any]:
    """Seconds of each round, the first apart: it may have more to set up than the others."""
    turn = STARTS[contestant](one, history(one, number))
    seconds: list[float] = []
    began = time.perf_counter()
    while len(seconds) < plan.rounds and (
        len(seconds) < plan.least_rounds or time.perf_counter() - began < plan.budget
    ):
        start = time.perf_counter()
        turn(len(seconds))
        seconds.append(time.perf_counter() - start)
    later = seconds[1:]
    return {
        "contestant": contestant,
        "payoffs": number,
        "first": seconds[0],
        "median": float(np.median(later)),
        "mean": float(np.mean(later)),
        "largest": max(later),
        "rounds": len(later),
    }


def run(plan: Plan) -> dict[str, Any]:
    one = cell(plan.problem, LAW)
    rows = []
    with single_threaded(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for contestant in plan.contestants:
            warm = replace(plan, rounds=2, least_rounds=2)  # compile, load
            measure(one, contestant, min(plan.marks), warm)
        for number in plan.marks:
            for contestant in plan.contestants:
                note(f"{contestant}, {number} payoffs")
                rows.append(measure(one, contestant, number, plan))
    return {"plan": asdict(plan), "machine": machine(), "rows": rows}


def markdown(result: dict[str, Any]) -> str:
    """The table, every rival's time divided by ours beside it."""
    m, plan = result["machine"], result["plan"]
    own = {row["payoffs"]: row for row in result["rows"] if row["contestant"] == OURS}
    body = []
    for row in result["rows"]:
        ratio = f"{row['mean'] / own[row['payoffs']]['mean']:.1f}" if own else "-"
        figures = [f"{1e3 * row[name]:,.1f}" for name in ("median", "mean", "largest", "first")]
        title = CONTESTANTS[row["contestant"]].title
        body.append([title, f"{row['payoffs']:,}", *figures, ratio, str(row["rounds"])])
    head = ["contestant", "payoffs", "median", "mean", "largest", "first", "mean / ours", "rounds"]
    return "\n".join(
        [
            "# What a suggestion costs",
            "",
            f"{m['processor']}, one thread; Python {m['python']}, numpy {m['numpy']}. Problem "
            f"{plan['problem']}, noise {LAW}. Milliseconds to ask for the next point and tell its "
            "payoff, with all that has to be fitted for it; the first of a process apart.",
            "",
            *table(head, body),
            "",
        ]
    )


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
