"""Cumulative regret of `Bandit` and of other policies: 6, 60 and 1,000 arms, seven laws, 20 seeds.

    python benchmarks/bandit_regret.py --quick                # a first look: a minute
    python benchmarks/bandit_regret.py --rounds 10000         # all methods, 20 seeds
    python benchmarks/bandit_regret.py --split choosing --out out/choosing
    python benchmarks/bandit_regret.py --write docs/bandit-benchmark.md

Constants of `Bandit` are chosen on the nine laws of `--split choosing`, which are not published.
A finished run is one line of out/bandit/runs.jsonl; the same command continues with the missing
runs. Run it with the same commit of src/tailproof throughout, or start a new folder.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from bandit import report
from bandit.methods import METHODS
from bandit.problems import CHOOSING, LAWS, REPORTING, problem

SPLITS = {"choosing": CHOOSING, "reporting": REPORTING}
CHECKPOINTS = (1_000, 10_000, 100_000)


def arguments(argv=None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2 seeds, 1,000 rounds, 6 arms")
    parser.add_argument("--out", type=Path, default=Path("out/bandit"))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--arms", type=int, nargs="+", default=[6, 60, 1000])
    parser.add_argument("--split", choices=SPLITS, default="reporting", help="which laws")
    parser.add_argument("--laws", nargs="+", choices=LAWS, help="these only")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write all tables to a page")
    result = parser.parse_args(argv)
    result.laws = result.laws or list(SPLITS[result.split])
    if result.quick:
        result.seeds, result.rounds, result.arms = 2, 1_000, [6]
    return result


def finished_runs(path: Path) -> list[dict]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(method: str, law: str, arms: int, rounds: int, seed: int) -> dict:
    """Return the record of one run: regret at the checkpoints, and seconds."""
    start = time.perf_counter()
    regret = METHODS[method][0](problem(law, arms, rounds, seed), seed)
    return {
        "method": method,
        "law": law,
        "arms": arms,
        "rounds": rounds,
        "seed": seed,
        "seconds": round(time.perf_counter() - start, 3),
        "regret": {str(t): round(float(regret[t - 1]), 3) for t in CHECKPOINTS if t <= rounds},
    }


def main(argv=None) -> int:
    args = arguments(argv)
    path = args.out / "runs.jsonl"
    args.out.mkdir(parents=True, exist_ok=True)
    keys = ("method", "law", "arms", "rounds", "seed")
    done = {tuple(r[k] for k in keys) for r in finished_runs(path)}
    end = time.monotonic() + 60.0 * args.minutes
    for arms in args.arms:
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            for law in args.laws:
                for method in args.methods:
                    _, most_arms, most_rounds = METHODS[method]
                    key = (method, law, arms, args.rounds, seed)
                    if arms > most_arms or args.rounds > most_rounds or key in done:
                        continue
                    if time.monotonic() > end:
                        break
                    record = run(*key)
                    with path.open("a") as stream:
                        stream.write(json.dumps(record) + "\n")
    text = report.tables(finished_runs(path))
    (args.out / "report.md").write_text(text)
    print(text)
    if args.write is not None:
        args.write.write_text(report.page(text))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
