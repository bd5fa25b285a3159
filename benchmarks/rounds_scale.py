"""10,000 arms and a million payoffs in one process: seconds, microseconds a round, memory.

`run` starts a new process of this file for each policy, so that the memory is that policy's alone.
Used by rounds.py.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from rounds_cases import (
    DEGREES_OF_FREEDOM,
    KERNELS,
    Case,
    Payoffs,
    all_cases,
    line,
    run_rounds,
    sample_function,
)
from tailproof._util.threads import single_thread

# Policies, and the seconds after which a run stops even if payoffs are missing.
POLICIES = {
    "tgp_ucb, authors, SE": 3600.0,
    "ata_gp_ucb, QFF(32), authors, SE": 3600.0,
    "ata_gp_ucb, Nystrom(0.1), authors, SE": 600.0,
    # A dictionary of hundreds of arms in every round: it stops at a few thousand payoffs.
    "ata_gp_ucb, Nystrom(0.1), authors, Matern 5/2": 300.0,
}


def run(arms: int, payoffs: int, budget: float | None = None) -> list[dict[str, Any]]:
    """Return one row for each policy; `budget` in seconds limits each policy's own further."""
    rows = []
    for name, seconds in POLICIES.items():
        limit = seconds if budget is None else min(budget, seconds)
        command = [sys.executable, str(Path(__file__).resolve()), name, str(arms), str(payoffs)]
        done = subprocess.run([*command, str(limit)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{name} failed:\n{done.stderr}")
        rows.append(json.loads(done.stdout))
    return rows


def measure(case: Case, arms: int, payoffs: int, budget: float) -> dict[str, Any]:
    """Tell payoffs in chunks with an ask before each, then time single rounds."""
    began = time.perf_counter()
    began_cpu = time.process_time()
    space, kernel = line(arms), KERNELS[case.kernel]
    means = sample_function(kernel, space, seed=2)
    rng = np.random.default_rng(3)
    weights = np.exp(means / 0.2)  # e^10 : 1 between the best mean and the worst
    optimizer = case.make(space, kernel, payoffs)
    made_cpu = time.process_time()
    chunk, asks = 100, 0
    now = time.perf_counter()
    # At least one chunk, also where everything before it took longer than the budget.
    while asks == 0 or (len(optimizer) < payoffs and now - began < budget):
        count = min(chunk, payoffs - len(optimizer))
        chosen = rng.choice(arms, count, p=weights / weights.sum())
        chosen[0] = optimizer.ask_index()
        optimizer.tell_index(chosen, means[chosen] + rng.standard_t(DEGREES_OF_FREEDOM, count))
        asks += 1
        before, now = now, time.perf_counter()
        # Chunks of about a second, so that a slow policy can stop in time.
        chunk = min(2 * chunk, 10_000) if now - before < 0.5 else max(chunk // 2, 1)
    in_bulk, told_cpu = len(optimizer), time.process_time()
    stream = Payoffs(means, seed=4)
    blocks = []
    for _ in range(5):
        noise = stream.noise(64)
        start = time.process_time()
        run_rounds(optimizer, stream.means, noise)
        blocks.append((time.process_time() - start) / len(noise))
    return {
        "case": case.name,
        "arms": arms,
        "payoffs_wanted": payoffs,
        "payoffs": len(optimizer),
        "asks_between_chunks": asks,
        "seconds": now - began,
        "cpu_seconds": told_cpu - began_cpu,
        "tell_us": 1e6 * (told_cpu - made_cpu) / in_bulk,
        "round_us": 1e6 * float(np.median(blocks)),
        "arms_played": int(np.unique(optimizer.history.indices).size),
        "peak_mb": peak_memory_mb(),
    }


def peak_memory_mb() -> float:
    """Return the largest resident memory of this process so far, in 10^6 bytes.

    On Linux getrusage inherits the parent's maximum, so the process's own high-water mark is read
    from /proc; psutil does not have it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for row in status.read_text().splitlines():
            if row.startswith("VmHWM:"):
                return int(row.split()[1]) * 1024 / 1e6
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=list(POLICIES))
    parser.add_argument("arms", type=int)
    parser.add_argument("payoffs", type=int)
    parser.add_argument("budget", type=float)
    options = parser.parse_args()
    case = next(case for case in all_cases() if case.name == options.case)
    with single_thread():
        print(json.dumps(measure(case, options.arms, options.payoffs, options.budget)))


if __name__ == "__main__":
    main()
