"""Time of a suggestion beside BoTorch's and Optuna GPSampler's, in the same run.

    python benchmarks/suggest_time.py --out out/bench

Every method gets the same history of n payoffs and is then asked for the next point and told its
payoff, a few times; one process, one thread. Half of the history is spread over the domain, half
lies around the optimum, as after a while of optimizing. The first round is measured apart. Times
are wall time and processor time, which other work on the machine lengthens far less. Rounds in
which our model is refitted cost more: they are counted, and the figures are also given without
them. Prints a table in milliseconds; writes suggest_time.json and suggest_time.md. BoTorch and
GPSampler need benchmarks/requirements.txt; methods that are not installed are left out.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import tailproof as tp
from reporting import machine, markdown_table, note, save
from rivals import peers
from rivals.botorch_reference import BotorchReference
from rivals.domains import Params
from rivals.methods import METHODS, OURS
from rivals.optuna_solver import OptunaSolver
from rivals.problems import Problem, problem
from tailproof._util.threads import single_thread

LAW = "t3"
SPREAD = 0.1  # of the half around the optimum, as a share of each axis
FIGURES = ("median", "mean", "largest", "first", "steady_median", "steady_largest")

History = list[tuple[Params, float]]


@dataclass(frozen=True)
class Loop:
    """`step` asks for the next point and tells its payoff.

    `fitted` returns how many payoffs the last refit used; None where that is unknown.
    """

    step: Callable[[int], None]
    fitted: Callable[[], int | None] = lambda: None


@dataclass(frozen=True)
class Timed:
    """Seconds of one round, and whether our model was refitted in it."""

    wall: float
    processor: float
    refit: bool


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    objective: str = "hartmann6"
    sizes: tuple[int, ...] = (100, 300, 1000)
    own_sizes: tuple[int, ...] = (10_000,)  # ours only: the rivals take minutes a round there
    rounds: int = 20  # after the first
    least_rounds: int = 3
    budget: float = 90.0  # seconds for a method and size, after which its rounds stop
    methods: tuple[str, ...] = (OURS, "botorch-lognei", "optuna-gp")


QUICK = {"sizes": (15, 30), "own_sizes": (45,), "rounds": 3, "least_rounds": 2, "budget": 20.0}


def history(target: Problem, size: int) -> History:
    """Return the payoffs that every method is told."""
    rng = np.random.default_rng([size, 7])
    domain = target.domain
    low, high = domain.bounds
    spread = domain.draw(size - size // 2, rng)
    cover = domain.cover(4096, rng)
    best = cover[int(np.argmax(target.means(cover)))]
    steps = SPREAD * (high - low) * rng.standard_normal((size // 2, domain.dimension))
    points = rng.permutation(np.vstack([spread, best + steps]))
    configurations = [domain.params(point) for point in points]
    return [(params, target.payoff(params, rng)) for params in configurations]


def ours(target: Problem, told: History) -> Loop:
    """Start our optimizer."""
    optimizer = tp.Optimizer(target.domain.space, seed=0)
    for params, value in told:
        optimizer.add(params, value)

    def step(index: int) -> None:
        trial = optimizer.ask()
        optimizer.tell(trial, target.payoff(dict(trial.params), np.random.default_rng(index)))

    def fitted() -> int | None:
        model = optimizer._model._fitted.get("robust")
        return None if model is None else model.count

    return Loop(step, fitted)


def botorch(target: Problem, told: History) -> Loop:
    """Start LogNEI with BoTorch's own code alone."""
    solver = BotorchReference(target.domain)
    for params, value in told:
        solver.tell(params, value)
    return _loop(target, solver)


def optuna(target: Problem, told: History) -> Loop:
    """Start Optuna's GPSampler."""
    solver = OptunaSolver(target.domain, 0, "gp")
    create = peers.load("optuna").trial.create_trial
    for params, value in told:
        solver.study.add_trial(
            create(params=params, distributions=solver.distributions, value=value)
        )
    return _loop(target, solver)


def _loop(target: Problem, solver: Any) -> Loop:
    def step(index: int) -> None:
        params = solver.ask()
        solver.tell(params, target.payoff(params, np.random.default_rng(index)))

    return Loop(step)


STARTS = {OURS: ours, "botorch-lognei": botorch, "optuna-gp": optuna}


def timed(loop: Loop, index: int) -> Timed:
    """Time one round."""
    before = loop.fitted()
    wall, processor = time.perf_counter(), time.process_time()
    loop.step(index)
    spent = time.perf_counter() - wall, time.process_time() - processor
    return Timed(*spent, loop.fitted() != before)


def measure(target: Problem, method: str, size: int, plan: Plan) -> dict[str, Any]:
    """Time rounds; the first, which may have more to set up, apart."""
    loop = STARTS[method](target, history(target, size))
    first = timed(loop, 0)
    later: list[Timed] = []
    began = time.perf_counter()
    while len(later) < plan.rounds and (
        len(later) < plan.least_rounds or time.perf_counter() - began < plan.budget
    ):
        later.append(timed(loop, 1 + len(later)))
    refits_known = loop.fitted() is not None
    return {
        "method": method,
        "payoffs": size,
        "rounds": len(later),
        "refits": sum(each.refit for each in later) if refits_known else None,
        **{clock: figures(first, later, clock, refits_known) for clock in ("wall", "processor")},
    }


def figures(
    first: Timed, later: list[Timed], clock: str, refits_known: bool
) -> dict[str, float | None]:
    """Return seconds of rounds; "steady" without rounds of a refit, None if these are unknown."""
    every = [getattr(each, clock) for each in later]
    steady = [getattr(each, clock) for each in later if refits_known and not each.refit]
    return {
        "median": float(np.median(every)),
        "mean": float(np.mean(every)),
        "largest": max(every),
        "first": getattr(first, clock),
        "steady_median": float(np.median(steady)) if steady else None,
        "steady_largest": max(steady, default=None),
    }


def run(plan: Plan) -> dict[str, Any]:
    """Measure every method at every size."""
    target = problem(plan.objective, LAW)
    cases = [(size, method) for size in plan.sizes for method in plan.methods]
    cases += [(size, OURS) for size in plan.own_sizes if OURS in plan.methods]
    rows = []
    with single_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in plan.methods:  # load and compile
            measure(target, method, min(plan.sizes), replace(plan, rounds=1, least_rounds=1))
        for size, method in cases:
            note(f"{method}, {size} payoffs")
            rows.append(measure(target, method, size, plan))
    return {"plan": asdict(plan), "machine": machine(), "rows": rows}


def markdown(result: dict[str, Any]) -> str:
    """Return the table, with each method's time divided by ours."""
    m, plan = result["machine"], result["plan"]
    own = {row["payoffs"]: row for row in result["rows"] if row["method"] == OURS}
    body = []
    for row in result["rows"]:
        median, mean, largest, first, steady_median, steady_largest = (
            milliseconds(*(row[clock][name] for clock in ("wall", "processor"))) for name in FIGURES
        )
        title = METHODS[row["method"]].title
        refits = "-" if row["refits"] is None else str(row["refits"])
        body.append(
            [
                *(title, f"{row['payoffs']:,}", median, mean, largest, first),
                *(ratio(row, own.get(row["payoffs"])), str(row["rounds"]), refits),
                *(steady_median, steady_largest),
            ]
        )
    header = ["method", "payoffs", "median", "mean", "largest", "first", "mean / ours", "rounds"]
    header += ["with a refit", "median without", "largest without"]
    return "\n".join(
        [
            "# Time of a suggestion",
            "",
            f"{m['processor']}, one thread; Python {m['python']}, numpy {m['numpy']}. Objective "
            f"{plan['objective']}, noise {LAW}. Milliseconds to ask for the next point and tell "
            "its payoff, with all fits that this needs: wall time, and processor time in brackets. "
            "The first round after the history is apart and not among the rounds counted. With a "
            "refit: the rounds in which our model was refitted; the last two columns leave those "
            "out. Refits of the rivals are not counted.",
            "",
            *markdown_table(header, body),
            "",
        ]
    )


def milliseconds(wall: float | None, processor: float | None) -> str:
    """Return wall time and, in brackets, processor time."""
    if wall is None or processor is None:
        return "-"
    return f"{1e3 * wall:,.1f} ({1e3 * processor:,.1f})"


def ratio(row: dict[str, Any], own: dict[str, Any] | None) -> str:
    """Return a row's mean divided by ours: in wall time and, in brackets, processor time."""
    if own is None:
        return "-"
    pairs = [(row[clock]["mean"], own[clock]["mean"]) for clock in ("wall", "processor")]
    # A coarse processor clock may show no time for all rounds.
    wall, processor = (f"{each / base:.1f}" if base else "-" for each, base in pairs)
    return f"{wall} ({processor})"


def installed(methods: tuple[str, ...]) -> tuple[str, ...]:
    """Return the methods whose modules are installed, and print the others."""
    found = []
    for key in methods:
        missing = [name for name in METHODS[key].needs if find_spec(name) is None]
        if missing:
            note(f"{key} is left out: it needs {', '.join(missing)} ({peers.INSTALL})")
        else:
            found.append(key)
    return tuple(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder to write to")
    parser.add_argument("--objective", default=Plan.objective, help="which (default: hartmann6)")
    parser.add_argument("--methods", nargs="+", choices=tuple(STARTS), help="which (default: all)")
    parser.add_argument("--quick", action="store_true", help="a smoke test: few payoffs")
    options = parser.parse_args()
    chosen = installed(tuple(options.methods or Plan.methods))
    small: dict[str, Any] = QUICK if options.quick else {}
    result = run(Plan(objective=options.objective, methods=chosen, **small))
    save(options.out, "suggest_time", result, markdown(result))


if __name__ == "__main__":
    main()
