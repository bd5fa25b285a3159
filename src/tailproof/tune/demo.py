"""The main job, end to end: `tailproof tune` on a small program whose true means are known."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tailproof.search.space.parameters import Choice, Float, Int
from tailproof.search.space.space import Space
from tailproof.tune import demo_program, session

SPACE = Space(
    threads=Int(1, 64, log=True), cache=Choice(*demo_program.CACHES), batch=Float(0.0, 1.0)
)
COMMAND = (
    # By its path, without site packages: a request takes milliseconds, importing tailproof seconds.
    *(sys.executable, "-I", "-S", str(Path(demo_program.__file__).resolve())),
    *("--threads", "{threads}", "--cache", "{cache}", "--batch", "{batch}"),
)


def main(out: Path, trials: int = 200, seed: int = 0) -> int:
    """Tune the demo program, and put the truth beside what was found; return the exit code."""
    print(
        f"Tuning a small server: {trials} requests, each with a latency of infinite variance. The "
        "lowest\nmean latency is 20 ms, at threads=16 cache=lru batch=0.35; the tuner sees single "
        "requests only.\n",
        flush=True,
    )
    os.environ.setdefault(demo_program.SEED, str(seed))
    return session.run(
        session.Request(
            command=COMMAND,
            space=SPACE,
            minimize=True,
            trials=trials,
            seed=seed,
            out=out,
            arguments=(
                *("--minimize", "--trials", str(trials), "--seed", str(seed), "--out", str(out)),
                *("--int", "threads", "1", "64", "--log", "--float", "batch", "0", "1"),
                *("--choice", "cache", *demo_program.CACHES, "--", *COMMAND),
            ),
            variables=((demo_program.SEED, os.environ[demo_program.SEED]),),
        ),
        truth=demo_program.truth,
    )
