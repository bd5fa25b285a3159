"""Tune docs/examples/sqlite_bench.py and draw the pictures of docs/tune.md.

python docs/images/sqlite.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import optuna

import tailproof as tp

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parent / "examples" / "sqlite_bench.py"
ARGUMENTS = (
    *("--minimize", "--evaluations", "60", "--seed", "0"),
    *("--choice", "journal", "delete", "truncate", "persist", "wal"),
    *("--choice", "synchronous", "full", "normal"),
    *("--choice", "page_size", "1024", "4096", "16384"),
    *("--int", "cache_pages", "100", "10000", "--log", "--int", "rows_per_commit", "1", "50"),
    *("--log", "--baseline", "journal=delete", "synchronous=full", "page_size=4096"),
    *("cache_pages=2000", "rows_per_commit=5", "--quiet"),
)
SLOTS = ("{journal}", "{synchronous}", "{page_size}", "{cache_pages}", "{rows_per_commit}")


def main() -> None:
    """Tune, print the summary, and write the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "tailproof",
            "tune",
            *ARGUMENTS,
            "--out",
            folder,
            "--quiet",
        ]
        program = [sys.executable, "-I", "-S", str(PROGRAM)]
        subprocess.run([*command, "--", *program, *SLOTS], check=True)
        url = f"sqlite:///{folder}/study.db"
        study = optuna.load_study(study_name=None, storage=url)
        for name in ("course", "slices", "importance"):
            figure = getattr(tp.plot, name)(study)
            figure.savefig(HERE / f"sqlite-{name}.png", dpi=90)


if __name__ == "__main__":
    main()
