"""Cost of a round of the arm policies: as t grows, against bare LAPACK calls, and the literal code.

    python benchmarks/rounds.py --out out/bench

Every claim is a ratio of two figures measured in alternation in the same run, the median of several
blocks: on a shared machine the figures vary, the ratios much less. Times are processor time of one
thread, since waiting for a core is not a cost of the round. Prints tables in microseconds; writes
rounds.json and rounds.md. No rivals are needed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import rounds_scale
import tailproof as tp
from reporting import machine, note, save
from rounds_cases import Case, Payoffs, all_cases, run_rounds, snapshots
from rounds_floors import Call, Floor, Observed, feature_floor, observe, ridge_floor
from rounds_literal import WARM_UP, compare
from rounds_report import markdown
from tailproof._util.threads import single_thread
from tailproof.bandits.arm_optimizer import ArmOptimizer

SECTIONS = ("growth", "literal", "scale")
FLOORS = ("lapack", "update")


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    arms: int = 100
    horizon: int = 100_000
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000)
    literal_size: int = 5_000
    # A block holds exactly one of the refreshes that come every 512 payoffs, wherever it starts.
    rounds: int = 512
    slices: int = 8
    blocks: int = 9
    slow_repetitions: int = 3  # of literal rounds that take seconds
    repetitions: int = 7
    scale_arms: int = 10_000
    scale_payoffs: int = 1_000_000
    scale_budget: float | None = None
    smoke_test: bool = False


QUICK = Plan(
    horizon=200,
    sizes=(30, 60, 90),
    literal_size=50,
    rounds=16,
    slices=2,
    blocks=2,
    slow_repetitions=2,
    repetitions=2,
    scale_arms=1_100,  # above this size ridge regression and coordinates take the large form
    scale_payoffs=200,
    scale_budget=5.0,
    smoke_test=True,
)


def fresh(file: Path, means: list[float]) -> tuple[ArmOptimizer, Payoffs]:
    """Return the saved optimizer after a warm-up, and the payoffs to come, equal in every block."""
    optimizer, stream = tp.load(file), Payoffs(np.array(means), seed=4)
    run_rounds(optimizer, means, stream.noise(WARM_UP))
    return optimizer, stream


def time_rounds(optimizer: ArmOptimizer, means: list[float], noise: list[float]) -> float:
    """Return seconds a round, ask_index and tell_index."""
    start = time.process_time()
    run_rounds(optimizer, means, noise)
    return (time.process_time() - start) / len(noise)


def time_floor(floor: Floor, calls: int) -> float:
    """Return seconds a round of bare calls, in the proportion in which they occur."""
    usual = time_calls(floor.usual, calls)
    if floor.rare is None or floor.share == 0.0:
        return usual
    return (1.0 - floor.share) * usual + floor.share * time_calls(floor.rare, calls)


def time_calls(call: Call, calls: int) -> float:
    """Return seconds a call."""
    for _ in range(WARM_UP):  # fill the caches
        call()
    start = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - start) / calls


def observe_rounds(file: Path, means: list[float], rounds: int) -> Observed:
    """Run the rounds that will be timed, untimed, and return the sizes of their arrays."""
    optimizer, stream = fresh(file, means)
    return observe(optimizer, lambda: run_rounds(optimizer, means, stream.noise(1)), rounds)


def floors_of(case: Case, observed: Observed) -> dict[str, Floor]:
    """Return the floors of a case."""
    if case.policy in ("gp_ucb", "tgp_ucb"):
        # No eigendecomposition, so one floor; timed twice, the two show how much is noise.
        return {kind: ridge_floor(observed.sizes) for kind in FLOORS}
    return {kind: feature_floor(observed, kind) for kind in FLOORS}


def measure_block(
    means: list[float],
    files: dict[int, Path],
    floors: dict[int, dict[str, Floor]],
    plan: Plan,
) -> dict[int, dict[str, float]]:
    """Return microseconds a round at every size, ours and the floors', in alternating slices."""
    optimizers = {size: fresh(file, means) for size, file in files.items()}
    total = {size: dict.fromkeys(("ours", *FLOORS), 0.0) for size in files}
    for _ in range(plan.slices):
        for size, (optimizer, stream) in optimizers.items():
            noise = stream.noise(plan.rounds // plan.slices)
            total[size]["ours"] += time_rounds(optimizer, means, noise)
            for kind, floor in floors[size].items():
                total[size][kind] += time_floor(floor, max(len(noise) // 2, 8))
    return {
        size: {kind: 1e6 * seconds / plan.slices for kind, seconds in by_kind.items()}
        for size, by_kind in total.items()
    }


def measure_growth(
    case: Case, means: list[float], files: dict[int, Path], plan: Plan
) -> dict[str, Any]:
    """Time rounds at every size, and the floors beside them."""
    files = {size: files[size] for size in plan.sizes}
    observed = {size: observe_rounds(file, means, plan.rounds) for size, file in files.items()}
    floors = {size: floors_of(case, found) for size, found in observed.items()}
    blocks = [measure_block(means, files, floors, plan) for _ in range(plan.blocks)]
    rows: list[dict[str, Any]] = []
    for size in plan.sizes:
        ours, lapack, update = (
            [block[size][kind] for block in blocks] for kind in ("ours", *FLOORS)
        )
        rows.append(
            {
                "t": size,
                "ours_us": float(np.median(ours)),
                "floor_us": float(np.median(lapack)),
                "over_floor": median_ratio(ours, lapack),
                "update_floor_us": float(np.median(update)),
                "over_update_floor": median_ratio(ours, update),
                "blocks": {"ours_us": ours, "floor_us": lapack, "update_floor_us": update},
                "sizes": asdict(observed[size].sizes),
            }
        )
    growth = median_ratio(rows[-1]["blocks"]["ours_us"], rows[0]["blocks"]["ours_us"])
    return {"case": case.name, **describe(case), "sizes": rows, "growth": growth}


def median_ratio(above: list[float], below: list[float]) -> float:
    """Return the median over blocks of the ratio within a block."""
    return float(np.median(np.divide(above, below)))


def describe(case: Case) -> dict[str, str]:
    """Return the parts of a case's name."""
    return {
        "policy": case.policy,
        "features": case.features,
        "schedule": case.schedule,
        "kernel": case.kernel,
    }


def run(plan: Plan, sections: list[str]) -> dict[str, Any]:
    """Measure the sections and return all figures."""
    began, began_cpu = time.perf_counter(), time.process_time()
    result: dict[str, Any] = {"plan": asdict(plan), "machine": machine("scipy", "numba")}
    if "scale" in sections:
        note("scale")
        result["scale"] = rounds_scale.run(plan.scale_arms, plan.scale_payoffs, plan.scale_budget)
    wanted = [name for name in ("growth", "literal") if name in sections]
    for name in wanted:
        result[name] = []
    for case in all_cases() if wanted else []:
        note(case.name)
        with tempfile.TemporaryDirectory() as folder:
            sizes = set(plan.sizes) if "growth" in sections else set()
            sizes |= {plan.literal_size} if "literal" in sections else set()
            means, files = snapshots(
                case, plan.arms, plan.horizon, tuple(sorted(sizes)), Path(folder)
            )
            if "growth" in sections:
                result["growth"].append(measure_growth(case, means, files, plan))
            if "literal" in sections:
                slow = case.policy in ("gp_ucb", "tgp_ucb")
                count = plan.slow_repetitions if slow else plan.repetitions
                file = files[plan.literal_size]
                result["literal"].append(compare(case, means, file, plan.rounds, count))
    result["seconds"] = time.perf_counter() - began
    result["cpu_seconds"] = time.process_time() - began_cpu
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder to write to")
    parser.add_argument("--quick", action="store_true", help="a smoke test: few payoffs")
    parser.add_argument("--only", choices=SECTIONS, action="append", help="some sections only")
    options = parser.parse_args()
    with single_thread(), warnings.catch_warnings():
        # Guarantees of the policies are not the subject here.
        warnings.simplefilter("ignore", tp.TheoryWarning)
        result = run(QUICK if options.quick else Plan(), options.only or list(SECTIONS))
    save(options.out, "rounds", result, markdown(result))


if __name__ == "__main__":
    main()
