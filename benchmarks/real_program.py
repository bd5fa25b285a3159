"""Tune a real program several times, and run each result again beside the baseline.

    python benchmarks/real_program.py --repetitions 10 --evaluations 60

The program is docs/examples/sqlite_bench.py: SQLite with crash-safe settings, milliseconds for some
inserts and reads. Each repetition is a whole `tailproof tune` with another seed. Its recommended
setting is then run 50 times by this script, interleaved in random order with the baseline, and both
mean times are compared.
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


def main() -> None:
    """Tune, run again, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--runs", type=int, default=50)
    arguments = parser.parse_args()
    rows, better = [], 0
    for seed in range(arguments.repetitions):
        with tempfile.TemporaryDirectory() as folder:
            result = tune(Path(folder), arguments.evaluations, seed)
        best, now = result["recommendation"], result["baseline"]
        found, base = rerun(best["params"], arguments.runs, np.random.default_rng(seed))
        better += bool(found.mean() < base.mean())
        promise = f"{now['improvement']:.3g} ({now['improvement_lower']:.3g} to "
        rows.append(
            (
                seed,
                " ".join(str(best["params"][name]) for name in NAMES),
                best["payoffs"],
                promise + f"{now['improvement_upper']:.3g})",
                f"{base.mean() - found.mean():.3g}",
                f"{base.mean():.3g}",
                f"{found.mean():.3g}",
            )
        )
        print(*rows[-1], sep=" | ", flush=True)
    header = ["seed", "recommended", "runs", "improvement, ms", "run again", "baseline", "tuned"]
    print("\n".join(markdown_table(header, rows)))
    print(f"better than the baseline in {better} of {arguments.repetitions}")


if __name__ == "__main__":
    main()
