"""Overhead of `tailproof tune` per evaluation: a program of 10 ms, SQLite, all defaults.

    python benchmarks/tune_overhead.py --out out/bench [--evaluations 200]

One worker, three parameters. The overhead in wall time is the time from the start of the first
evaluation to the end of the last, without that of the programs, divided by their number; its median
is over the times from one start to the next. Processor time is that of the tuner itself, without
programs, start and report. The load average is shown because wall times mean little on a machine
with more work than cores. Prints the figures and writes tune_overhead.json.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from tailproof._util.files import write_json

PROGRAM = ("sh", "-c", 'sleep 0.01; echo "${#0}"')  # its payoff is the length of its argument
ARGUMENTS = (
    *("--int", "threads", "1", "64", "--log", "--choice", "cache", "none", "fifo", "lru"),
    *("--float", "batch", "0", "1", "--minimize", "--seed", "0", "--quiet"),
)


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(evaluations: int) -> dict[str, Any]:
    """Tune in this process; return milliseconds an evaluation."""
    from tailproof._util.threads import single_thread
    from tailproof.cli import parser
    from tailproof.tune import cli
    from tailproof.tune.request import prepare
    from tailproof.tune.study import load_optuna, opened_storage
    from tailproof.tune.worker_pool import run_workers

    optuna = load_optuna()
    with tempfile.TemporaryDirectory() as folder:
        command = tuple(word.replace("{", "{{").replace("}", "}}") for word in PROGRAM)
        given = ("--evaluations", str(evaluations), "--out", folder, *ARGUMENTS, "--", *command)
        request = cli.request(parser().parse_args(["tune", *given, "{threads}{cache}{batch}"]))
        before = os.getloadavg()
        with single_thread():
            job = prepare(request)
            begin = processor_seconds()
            run_workers(job, 1, lambda event: None)
            used = processor_seconds() - begin
        with opened_storage(job.url) as storage:
            found = optuna.load_study(storage=storage, study_name=job.study_name).trials
    programs = [trial.user_attrs["outcome"]["seconds"] for trial in found]
    starts = [trial.datetime_start for trial in found]
    whole = (found[-1].datetime_complete - starts[0]).total_seconds()
    steps = [(b - a).total_seconds() for a, b in itertools.pairwise(starts)]
    between = [step - ran for step, ran in zip(steps, programs, strict=False)]
    return {
        "evaluations": len(found),
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
    parser.add_argument("--evaluations", type=int, default=200)
    arguments = parser.parse_args()
    found = measure(arguments.evaluations)
    write_json(arguments.out / "tune_overhead.json", found)
    count, program = found["evaluations"], found["program_ms"]
    print(f"{count} evaluations, the program takes {program:.1f} ms (median)")
    print(
        f"overhead an evaluation in wall time: mean {found['wall_mean_ms']:.1f} ms, "
        f"median {found['wall_median_ms']:.1f} ms"
    )
    print(f"overhead an evaluation in processor time: mean {found['processor_mean_ms']:.1f} ms")
    print(
        f"load average {found['load_before'][0]:.2f} before, {found['load_after'][0]:.2f} after, "
        f"on {found['cores']} cores"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
