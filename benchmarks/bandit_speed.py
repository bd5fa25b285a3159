"""Time of asking and telling of `Bandit`, of building it, and memory of a million payoffs.

    python benchmarks/bandit_speed.py

All times are processor times of the process, so that other work on the machine counts little. The
reference is a loop of 1,000 multiplications and additions in plain Python in the same run, by which
results of different machines can be compared.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import tailproof as tp
from tailproof._util.console import text_table


def reference() -> float:
    """Return microseconds of the reference loop, the mean of 500."""
    start = time.process_time()
    for _ in range(500):
        x = 0.0
        for i in range(1_000):
            x = 0.999 * x + i
    return 1e6 * (time.process_time() - start) / 500


def loop(bandit: tp.Bandit, means: np.ndarray, rounds: int) -> tuple[float, float]:
    """Play rounds by index; return microseconds of processor time an ask and a tell."""
    noise = np.random.default_rng(0).standard_t(2.0, rounds).tolist()
    ask = tell = 0.0
    for z in noise:
        start = time.process_time()
        arm = bandit.ask_index()
        middle = time.process_time()
        payoff = float(means[arm]) + z
        late = time.process_time()
        bandit.tell_index(arm, payoff)
        tell += time.process_time() - late
        ask += middle - start
    return 1e6 * ask / rounds, 1e6 * tell / rounds


def cases(quick: bool) -> list[tuple[str, object, int]]:
    rng = np.random.default_rng(1)
    many = 1_000 if quick else 100_000
    plane = 200 if quick else 10_000
    return [
        ("100 labels", [f"arm {i}" for i in range(100)], 500 if quick else 50_000),
        ("100 on a line", np.linspace(0, 1, 100)[:, None], 200 if quick else 10_000),
        (f"{many:,} labels", [f"arm {i}" for i in range(many)], 200 if quick else 5_000),
        (f"{plane:,} in the plane", rng.random((plane, 2)), 100 if quick else 1_000),
    ]


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small cases, seconds")
    args = parser.parse_args(argv)
    rows = []
    print(f"reference loop: {reference():.0f} us")
    loop(tp.Bandit([[0.0], [1.0], [2.0]], seed=0), np.zeros(3), 60)  # compiles
    loop(tp.Bandit(["a", "b"], seed=0), np.zeros(2), 60)
    for name, arms, rounds in cases(args.quick):
        start = time.process_time()
        bandit = tp.Bandit(arms, seed=0)
        built = time.process_time() - start
        means = np.random.default_rng(2).random(len(bandit.counts))
        loop(bandit, means, rounds // 5)
        ask, tell = loop(bandit, means, rounds)
        rows.append((name, f"{built:.2f}", f"{ask:.0f}", f"{tell:.0f}"))
    print(text_table(("arms", "build, s", "ask, us", "tell, us"), rows, right=range(1, 4)))
    count, arms = (20_000, 2_000) if args.quick else (1_000_000, 100_000)
    rng = np.random.default_rng(3)
    bandit = tp.Bandit(list(range(arms)), seed=0)
    start = time.process_time()
    for _ in range(10):
        bandit.tell_index(rng.integers(arms, size=count // 10), rng.standard_t(2.0, count // 10))
    told = time.process_time() - start
    ask, tell = loop(bandit, np.zeros(arms), 1_000)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{count:,} payoffs on {arms:,} arms in 10 batches: {told:.1f} s, peak memory of the "
        f"process {peak:.0f} MB; then ask {ask:.0f} us, tell {tell:.0f} us"
    )
    print(f"reference loop: {reference():.0f} us")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
