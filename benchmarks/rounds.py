"""What a round costs: as t grows, beside the bare LAPACK calls, against the literal algorithms.

    python benchmarks/rounds.py --out out/bench

Every claim is a ratio of two figures measured in alternation in this one run, the median of several
blocks; on a shared machine the figures move and the ratios stay. Times are processor time of this
one thread: waiting for a core that others use is not a cost of the round. Writes rounds.json and
rounds.md.
"""

from __future__ import annotations

import os

# Before numpy loads its BLAS.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import json
import platform
import sys
import tempfile
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy

import scale
import tailproof as tp
from against_literal import WARM, compare
from floors import Call, Floor, Observed, direction_floor, observe, ridge_floor
from problem import Case, Payoffs, all_cases, play, snapshots
from tables import markdown
from tailproof.bandits.optimizer import ArmOptimizer

SECTIONS = ("marks", "literal", "scale")
FLOORS = ("lapack", "update")


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    arms: int = 100
    horizon: int = 100_000
    marks: tuple[int, ...] = (1_000, 10_000, 100_000)
    literal_mark: int = 5_000
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
    horizon=400,
    marks=(50, 100, 200),
    literal_mark=100,
    rounds=16,
    slices=2,
    blocks=2,
    slow_repetitions=2,
    repetitions=2,
    scale_arms=1_100,  # above this size ridge regression and coordinates take the large form
    scale_payoffs=400,
    scale_budget=5.0,
    smoke_test=True,
)


def fresh(file: Path, means: list[float]) -> tuple[ArmOptimizer, Payoffs]:
    """The saved optimizer, warm, and the payoffs to come: the same in every block."""
    optimizer, stream = tp.load(file), Payoffs(np.array(means), seed=4)
    play(optimizer, means, stream.noise(WARM))
    return optimizer, stream


def time_rounds(optimizer: ArmOptimizer, means: list[float], noise: list[float]) -> float:
    """Seconds a round, ask_index + tell_index."""
    start = time.process_time()
    play(optimizer, means, noise)
    return (time.process_time() - start) / len(noise)


def time_floor(floor: Floor, calls: int) -> float:
    """Seconds a round of bare calls, in the proportion in which they occur."""
    usual = time_calls(floor.usual, calls)
    if floor.rare is None or floor.share == 0.0:
        return usual
    return (1.0 - floor.share) * usual + floor.share * time_calls(floor.rare, calls)


def time_calls(call: Call, calls: int) -> float:
    for _ in range(WARM):  # what ran before has filled the caches with its own
        call()
    start = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - start) / calls


def observe_rounds(file: Path, means: list[float], rounds: int) -> Observed:
    """Play the rounds that will be timed, untimed, and note what they work with."""
    optimizer, stream = fresh(file, means)
    return observe(optimizer, lambda: play(optimizer, means, stream.noise(1)), rounds)


def floors_of(case: Case, observed: Observed) -> dict[str, Floor]:
    if case.policy in ("gp_ucb", "tgp_ucb"):
        # No eigendecomposition, so one floor; timed twice, the two show how much is noise.
        return {kind: ridge_floor(observed.sizes) for kind in FLOORS}
    return {kind: direction_floor(observed, kind) for kind in FLOORS}


def measure_block(
    means: list[float],
    files: dict[int, Path],
    floors: dict[int, dict[str, Floor]],
    plan: Plan,
) -> dict[int, dict[str, float]]:
    """Microseconds a round at every mark, ours and the floors', in alternating slices."""
    players = {mark: fresh(file, means) for mark, file in files.items()}
    total = {mark: dict.fromkeys(("ours", *FLOORS), 0.0) for mark in files}
    for _ in range(plan.slices):
        for mark, (optimizer, stream) in players.items():
            noise = stream.noise(plan.rounds // plan.slices)
            total[mark]["ours"] += time_rounds(optimizer, means, noise)
            for kind, floor in floors[mark].items():
                total[mark][kind] += time_floor(floor, max(len(noise) // 2, 8))
    return {
        mark: {kind: 1e6 * seconds / plan.slices for kind, seconds in one.items()}
        for mark, one in total.items()
    }


def measure_marks(
    case: Case, means: list[float], files: dict[int, Path], plan: Plan
) -> dict[str, Any]:
    """Rounds at every mark and the floors beside them."""
    files = {mark: files[mark] for mark in plan.marks}
    seen = {mark: observe_rounds(file, means, plan.rounds) for mark, file in files.items()}
    floors = {mark: floors_of(case, one) for mark, one in seen.items()}
    blocks = [measure_block(means, files, floors, plan) for _ in range(plan.blocks)]
    rows: list[dict[str, Any]] = []
    for mark in plan.marks:
        ours, lapack, update = (
            [block[mark][kind] for block in blocks] for kind in ("ours", *FLOORS)
        )
        rows.append(
            {
                "t": mark,
                "ours_us": float(np.median(ours)),
                "floor_us": float(np.median(lapack)),
                "over_floor": median_ratio(ours, lapack),
                "update_floor_us": float(np.median(update)),
                "over_update_floor": median_ratio(ours, update),
                "blocks": {"ours_us": ours, "floor_us": lapack, "update_floor_us": update},
                "sizes": asdict(seen[mark].sizes),
            }
        )
    growth = median_ratio(rows[-1]["blocks"]["ours_us"], rows[0]["blocks"]["ours_us"])
    return {"case": case.name, **describe(case), "marks": rows, "growth": growth}


def median_ratio(above: list[float], below: list[float]) -> float:
    """Median over blocks of a ratio taken within the block, where the machine was the same."""
    return float(np.median(np.divide(above, below)))


def describe(case: Case) -> dict[str, str]:
    return {
        "policy": case.policy,
        "features": case.features,
        "schedule": case.schedule,
        "kernel": case.kernel,
    }


def run(plan: Plan, sections: list[str]) -> dict[str, Any]:
    began, began_cpu = time.perf_counter(), time.process_time()
    result: dict[str, Any] = {"plan": asdict(plan), "machine": machine()}
    if "scale" in sections:
        note("scale")
        result["scale"] = scale.run(plan.scale_arms, plan.scale_payoffs, plan.scale_budget)
    wanted = [name for name in ("marks", "literal") if name in sections]
    for name in wanted:
        result[name] = []
    for case in all_cases() if wanted else []:
        note(case.name)
        with tempfile.TemporaryDirectory() as folder:
            stops = set(plan.marks) if "marks" in sections else set()
            stops |= {plan.literal_mark} if "literal" in sections else set()
            means, files = snapshots(
                case, plan.arms, plan.horizon, tuple(sorted(stops)), Path(folder)
            )
            if "marks" in sections:
                result["marks"].append(measure_marks(case, means, files, plan))
            if "literal" in sections:
                slow = case.policy in ("gp_ucb", "tgp_ucb")
                count = plan.slow_repetitions if slow else plan.repetitions
                file = files[plan.literal_mark]
                result["literal"].append(compare(case, means, file, plan.rounds, count))
    result["seconds"] = time.perf_counter() - began
    result["cpu_seconds"] = time.process_time() - began_cpu
    return result


def machine() -> dict[str, Any]:
    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [one for one in info.read_text().splitlines() if one.startswith("model name")]
        processor = models[0].split(":", 1)[1].strip() if models else processor
    libraries = np.show_config(mode="dicts")["Build Dependencies"]
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "blas": f"{libraries['blas']['name']} {libraries['blas']['version']}",
        "tailproof": tp.__version__,
        "threads": 1,
    }


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a round costs.")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder to write to")
    parser.add_argument("--quick", action="store_true", help="a smoke test: small marks")
    parser.add_argument("--only", choices=SECTIONS, action="append", help="some sections only")
    options = parser.parse_args()
    with warnings.catch_warnings():
        # What the policies promise is not the subject here.
        warnings.simplefilter("ignore", tp.TheoryWarning)
        result = run(QUICK if options.quick else Plan(), options.only or list(SECTIONS))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "rounds.json").write_text(json.dumps(result, indent=1) + "\n")
    text = markdown(result)
    (options.out / "rounds.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
