"""How often intervals of `Bandit` contain the mean, by law of the payoffs.

    python benchmarks/bandit_coverage.py --quick          # a few seconds
    python benchmarks/bandit_coverage.py                  # some minutes

Practical: the 90 % interval of `recommend()` for the arm it recommends. Confidence sequence: the
95 % interval of the arm that is played most, told a valid moment bound; a run counts as covered if
the mean was inside at every look, and looks are taken at 60 times that grow geometrically.
"""

from __future__ import annotations

import argparse

import numpy as np

from bandit.play import play
from bandit.problems import CHOOSING, REPORTING, moment_at, problem
from tailproof._util.console import text_table
from tailproof.means import catoni_sequence

FIRST_SEED = 50_000  # the interval was revised after looks at lower seeds
SPLITS = {"choosing": CHOOSING, "reporting": REPORTING}


def one_run(law: str, arms: int, rounds: int, seed: int) -> tuple[bool, float, bool]:
    """Return whether the practical interval covers, its width, and whether the sequence did."""
    p = problem(law, arms, rounds, FIRST_SEED + seed)
    bandit = play(p, seed)
    best = bandit.recommend(level=0.9)
    mean = p.means[best.index]
    most = int(bandit.counts.argmax())
    truth = float(p.means[most])
    payoffs, bound = bandit.payoffs(most), moment_at(law, truth, truth)
    always = True
    for n in np.unique(np.geomspace(1, len(payoffs), 60).astype(int)):
        found = catoni_sequence(payoffs[:n], bound, order=p.order, level=0.95)
        always &= found.lower <= truth <= found.upper
    return best.lower <= mean <= best.upper, best.upper - best.lower, always


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="6 runs")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--arms", type=int, default=6)
    parser.add_argument("--rounds", type=int, nargs="+", default=[300, 1_000, 3_000])
    parser.add_argument("--split", choices=SPLITS, default="reporting", help="which laws")
    args = parser.parse_args(argv)
    if args.quick:
        args.runs, args.rounds = 6, [200]
    rows = []
    for law in SPLITS[args.split]:
        for rounds in args.rounds:
            runs = [one_run(law, args.arms, rounds, seed) for seed in range(args.runs)]
            covered, width, always = (
                np.array(column, dtype=float) for column in zip(*runs, strict=True)
            )
            rows.append(
                (
                    law,
                    f"{rounds:,}",
                    f"{100 * covered.mean():.1f} %",
                    f"{np.median(width):.3g}",
                    f"{100 * always.mean():.1f} %",
                )
            )
    header = ("law", "rounds", "practical 90 %", "its median width", "sequence 95 %, all looks")
    print(text_table(header, rows, right=range(1, 5)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
