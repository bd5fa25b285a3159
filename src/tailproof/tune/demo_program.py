"""A small server to tune: it serves one made-up request and prints its latency.

The latency of a run, in milliseconds, is mean(settings) * E with E of mean 1:

    E = 0.4 + 0.6 L,    L Lomax noise of mean 1 and tail index 1.7: P(L > x) = (1 + x / 0.7)^(-1.7),

so most runs take less than the mean, one in a hundred more than 6 times the mean, and the variance
is infinite. With the cache "fifo" one request in five finds everything in place, E = 0.1, and the
other four make up for it, E = 1.225 (0.4 + 0.6 L): the fastest single runs are those of a setting
that is slow on average. The mean is

    mean = 20 * (1 + (log2(threads) - log2(best))^2 / 8) * layout * (1 + 8 (batch - 0.35)^2)

with best = 16 threads for the cache "lru", 8 for "fifo" and 4 for "none", and layout = 1.0, 1.7
and 1.8 for them. The lowest mean is 20 ms at threads=16, cache=lru, batch=0.35.

Every run draws new randomness. With the environment variable TAILPROOF_DEMO_SEED a run's
randomness is that of the seed and the trial's number, so that a whole tune can be repeated.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import time
from collections.abc import Mapping
from typing import Any

TAIL_INDEX = 1.7
FLOOR = 0.4  # of the mean: no run is faster, but for hits
HIT, HIT_SHARE = 0.2, 0.1  # chance of a hit, and its share of the mean
CACHES = {"none": (4.0, 1.8), "fifo": (8.0, 1.7), "lru": (16.0, 1.0)}  # best threads, factor
SEED = "TAILPROOF_DEMO_SEED"


def true_mean(params: Mapping[str, Any]) -> float:
    """Return the mean latency of a demo setting, in milliseconds."""
    best, layout = CACHES[params["cache"]]
    away = math.log2(int(params["threads"])) - math.log2(best)
    batch = 1.0 + 8.0 * (float(params["batch"]) - 0.35) ** 2
    return 20.0 * (1.0 + 0.125 * away**2) * layout * batch


def latency(params: Mapping[str, Any], draw: random.Random) -> float:
    """Return a random latency of a demo setting, in milliseconds."""
    found = params["cache"] == "fifo" and draw.random() < HIT
    # A Lomax variable of scale (index - 1) has mean 1.
    lomax = (TAIL_INDEX - 1.0) * math.expm1(-math.log(1.0 - draw.random()) / TAIL_INDEX)
    share = FLOOR + (1.0 - FLOOR) * lomax
    if params["cache"] == "fifo":
        share = HIT_SHARE if found else share * (1.0 - HIT * HIT_SHARE) / (1.0 - HIT)
    return true_mean(params) * share


def main(arguments: list[str] | None = None) -> int:
    """Serve one request as the demo program: print its latency."""
    parser = argparse.ArgumentParser(description="Serve one made-up request.")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--cache", choices=CACHES, required=True)
    parser.add_argument("--batch", type=float, required=True)
    params = vars(parser.parse_args(arguments))
    seed, trial = os.environ.get(SEED), os.environ.get("TAILPROOF_TRIAL", "")
    draw = random.SystemRandom() if seed is None else random.Random(f"{seed} {trial}")
    taken = latency(params, draw)
    time.sleep(min(taken, 5.0) / 1e3)
    print(f"served one request with {params['threads']} threads")
    print(f"{taken:.6f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
