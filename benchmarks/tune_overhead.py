"""What `tailproof tune` adds to a trial: a program of 10 ms, SQLite, everything at its defaults.

    python benchmarks/tune_overhead.py --out out/bench [--trials 200]

One worker, three parameters. Overhead on the clock is the time from the first trial's start to the
last one's end, less the time that the programs took, a trial; its median is over the times from
one trial's start to the next one's. Processor time is that of the tuner itself, without programs,
start and report. The load average stands beside the figures: with more than the machine's cores'
worth of other work, times on the clock say little about the tuner. Writes tune_overhead.json.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

PROGRAM = ("sh", "-c", 'sleep 0.01; echo "${#0}"')  # its payoff is the length of its setting
ARGUMENTS = (
    *("--int", "threads", "1", "64", "--log", "--choice", "cache", "none", "fifo", "lru"),
    *("--float", "batch", "0", "1", "--minimize", "--seed", "0", "--quiet"),
)


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(trials: int) -> dict[str, Any]:
    """Tune in this process; return milliseconds a trial."""
    from tailproof.cli import parser
    from tailproof.tune import cli, crew, session
    from tailproof.tune.study import load_optuna, open_storage

    optuna = load_optuna()
    with tempfile.TemporaryDirectory() as folder:
        command = tuple(one.replace("{", "{{").replace("}", "}}") for one in PROGRAM)
        given = ("--trials", str(trials), "--out", folder, *ARGUMENTS, "--", *command)
        request = cli.request(parser().parse_args(["tune", *given, "{threads}{cache}{batch}"]))
        before = os.getloadavg()
        with crew.one_thread():
            job = session.prepare(request)
            begin = processor_seconds()
            crew.work(job, 1, lambda event: None)
            used = processor_seconds() - begin
        storage = open_storage(job.url)
        found = optuna.load_study(storage=storage, study_name=job.study_name).trials
        storage.remove_session()
        storage.engine.dispose()
    programs = [one.user_attrs["outcome"]["seconds"] for one in found]
    starts = [one.datetime_start for one in found]
    whole = (found[-1].datetime_complete - starts[0]).total_seconds()
    steps = [(b - a).total_seconds() for a, b in itertools.pairwise(starts)]
    between = [step - ran for step, ran in zip(steps, programs, strict=False)]
    return {
        "trials": len(found),
        "cores": os.cpu_count(),
        "load_before": before,
        "load_after": os.getloadavg(),
        "program_ms": 1e3 * statistics.median(programs),
        "wall_mean_ms": 1e3 * (whole - sum(programs)) / len(found),
        "wall_median_ms": 1e3 * statistics.median(between),
        "processor_mean_ms": 1e3 * used / len(found),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    parser.add_argument("--trials", type=int, default=200)
    arguments = parser.parse_args()
    found = measure(arguments.trials)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "tune_overhead.json").write_text(json.dumps(found, indent=1) + "\n")
    print(f"{found['trials']} trials, the program takes {found['program_ms']:.1f} ms (median)")
    print(
        f"overhead a trial on the clock: mean {found['wall_mean_ms']:.1f} ms, "
        f"median {found['wall_median_ms']:.1f} ms"
    )
    print(f"overhead a trial in processor time: mean {found['processor_mean_ms']:.1f} ms")
    print(
        f"load average {found['load_before'][0]:.2f} before, {found['load_after'][0]:.2f} after, "
        f"on {found['cores']} cores"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
