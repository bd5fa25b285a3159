"""Tune a real program several times, and run each result again beside the baseline.

    python benchmarks/real_program.py --repetitions 10 --evaluations 60

The program is docs/examples/sqlite_bench.py: SQLite with crash-safe settings, milliseconds for some
inserts and reads. Each repetition is a whole `tailproof tune` with another seed. Its recommended
setting is then run 50 times by this script, interleaved in random order with the baseline, and both
mean times are compared. The stated interval of the improvement is checked twice: against the
difference of these means, and against the difference in units of the tune, that is, times the
baseline's mean in the tune over its mean in the new runs. Where the machine became faster or slower
in between, only the second comparison is one of the same quantity.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from reporting import markdown_table

PROGRAM = Path(__file__).resolve().parents[1] / "docs" / "examples" / "sqlite_bench.py"
NAMES = ("journal", "synchronous", "page_size", "cache_pages", "rows_per_commit")
BASELINE = {
    "journal": "delete",
    "synchronous": "full",
    "page_size": "4096",
    "cache_pages": 2000,
    "rows_per_commit": 5,
}
COMMAND = [sys.executable, "-I", "-S", str(PROGRAM)]
SPACE = (
    *("--choice", "journal", "delete", "truncate", "persist", "wal"),
    *("--choice", "synchronous", "full", "normal"),
    *("--choice", "page_size", "1024", "2048", "4096", "8192", "16384"),
    *("--int", "cache_pages", "100", "10000", "--log"),
    *("--int", "rows_per_commit", "1", "50", "--log"),
)


def tune(folder: Path, evaluations: int, seed: int) -> dict:
    """Tune the program and return result.json."""
    baseline = [f"{name}={value}" for name, value in BASELINE.items()]
    subprocess.run(
        [
            *(sys.executable, "-m", "tailproof", "tune", "--minimize", "--quiet"),
            *("--evaluations", str(evaluations), "--seed", str(seed), "--out", str(folder)),
            *("--baseline", *baseline, *SPACE),
            *("--", *COMMAND, *(f"{{{name}}}" for name in NAMES)),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return json.loads((folder / "result.json").read_text())


def milliseconds(setting: dict) -> float:
    """Run the program once."""
    arguments = [str(setting[name]) for name in NAMES]
    done = subprocess.run([*COMMAND, *arguments], check=True, capture_output=True, text=True)
    return float(done.stdout)


def rerun(setting: dict, runs: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return times of a setting and of the baseline, run in turns of random order, (runs,) each."""
    found, now = [], []
    for _ in range(runs):
        for first in rng.permutation(2):
            if first == 0:
                found.append(milliseconds(setting))
            else:
                now.append(milliseconds(BASELINE))
    return np.array(found), np.array(now)


def row_of(seed: int, result: dict, found: np.ndarray, base: np.ndarray) -> tuple:
    """Return a row of the table from result.json and the times of the new runs, (runs,) each."""
    best, now = result["recommendation"], result["baseline"]
    lower, upper = now["improvement_lower"], now["improvement_upper"]
    difference = float(base.mean() - found.mean())
    scaled = difference * now["mean"] / float(base.mean())
    return (
        seed,
        " ".join(str(best["params"][name]) for name in NAMES),
        best["payoffs"],
        f"{now['improvement']:.3g} ({lower:.3g} to {upper:.3g})",
        f"{difference:.3g}",
        "yes" if lower <= difference <= upper else "no",
        f"{scaled:.3g}",
        "yes" if lower <= scaled <= upper else "no",
        f"{now['mean']:.3g}",
        f"{base.mean():.3g}",
        f"{found.mean():.3g}",
    )


HEADER = [
    *("seed", "recommended", "runs", "improvement, ms", "run again", "held"),
    *("in units of the tune", "held so", "baseline in the tune", "baseline", "tuned"),
]


def summary(rows: list[tuple], better: int) -> str:
    """Return the table and the counts in words."""
    counts = [sum(row[column] == "yes" for row in rows) for column in (5, 7)]
    return (
        "\n".join(markdown_table(HEADER, rows))
        + f"\n\nBetter than the baseline in {better} of {len(rows)}; the interval held the "
        + f"difference in {counts[0]}, in units of the tune in {counts[1]}."
    )


def main() -> None:
    """Tune, run again, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--first-seed", type=int, default=0)
    arguments = parser.parse_args()
    rows, better = [], 0
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.repetitions):
        with tempfile.TemporaryDirectory() as folder:
            result = tune(Path(folder), arguments.evaluations, seed)
        setting = result["recommendation"]["params"]
        found, base = rerun(setting, arguments.runs, np.random.default_rng(seed))
        better += bool(found.mean() < base.mean())
        rows.append(row_of(seed, result, found, base))
        print(*rows[-1], sep=" | ", flush=True)
    print(summary(rows, better))


if __name__ == "__main__":
    main()
