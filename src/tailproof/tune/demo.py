"""A demo of `tailproof tune` on a small program whose true means are known."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tailproof.search.space.parameters import Choice, Float, Int
from tailproof.search.space.space import Space
from tailproof.tune import demo_program, session
from tailproof.tune.request import Request

SPACE = Space(
    threads=Int(1, 64, log=True), cache=Choice(*demo_program.CACHES), batch=Float(0.0, 1.0)
)
COMMAND = (
    # By its path, without site packages: a request takes milliseconds, importing tailproof seconds.
    *(sys.executable, "-I", "-S", str(Path(demo_program.__file__).resolve())),
    *("--threads", "{threads}", "--cache", "{cache}", "--batch", "{batch}"),
)


def run(out: Path, evaluations: int = 200, seed: int = 0) -> session.SessionResult:
    """Tune the demo program for `tailproof demo`, and put the true means beside the estimates."""
    print(
        f"Tuning a small server: {evaluations} requests, each with a latency of infinite variance. "
        "The lowest\nmean latency is 20 ms, at threads=16 cache=lru batch=0.35; the tuner sees "
        "single requests only.\n",
        flush=True,
    )
    os.environ.setdefault(demo_program.SEED, str(seed))
    return session.run(
        Request(
            command=COMMAND,
            space=SPACE,
            minimize=True,
            evaluations=evaluations,
            seed=seed,
            out=out,
            arguments=(
                *("--minimize", "--evaluations", str(evaluations), "--seed", str(seed)),
                *("--out", str(out)),
                *("--int", "threads", "1", "64", "--log", "--float", "batch", "0", "1"),
                *("--choice", "cache", *demo_program.CACHES, "--", *COMMAND),
            ),
            variables=((demo_program.SEED, os.environ[demo_program.SEED]),),
        ),
        true_mean=demo_program.true_mean,
    )
