"""Tune zlib several times, and check what was promised on texts that no tune has seen.

    python benchmarks/zlib_promises.py --repetitions 10 --evaluations 60

The payoff is the compressed share of a random text whose length is heavy-tailed; every evaluation
has another text. No clock is involved, so nothing drifts between a tune and its check, which
`real_program.py` cannot exclude. Each repetition is a whole `tp.minimize` with a baseline, a fifth
of its evaluations for the confirmation. Its recommended setting and the baseline are then run on
the same new texts. Printed is whether the setting is better, and whether the 90 % intervals of its
mean and of the improvement contain the means over the new texts.
"""

from __future__ import annotations

import argparse
import random
import zlib
from typing import Any

import numpy as np

import tailproof as tp
from reporting import markdown_table

STRATEGIES = {
    "default": zlib.Z_DEFAULT_STRATEGY,
    "filtered": zlib.Z_FILTERED,
    "huffman": zlib.Z_HUFFMAN_ONLY,
}
SPACE = tp.Space(
    level=tp.Int(1, 9),
    memory=tp.Int(1, 9),
    window=tp.Int(9, 15),
    strategy=tp.Choice(*STRATEGIES),
)
BASELINE = {"level": 1, "memory": 1, "window": 10, "strategy": "default"}
LONGEST = 20_000  # words of a text
HEADER = [
    "seed",
    "recommended",
    "runs",
    "improvement, %",
    "new texts",
    "better",
    "held",
    "mean held",
]


def text(seed: str) -> bytes:
    """Return a random text; the number of its words has a Pareto tail of index 1.3."""
    draw = random.Random(seed)
    words = ["".join(draw.choices("etaoinshrdlu", k=draw.randrange(2, 9))) for _ in range(200)]
    length = min(int(400 * draw.paretovariate(1.3)), LONGEST)
    return " ".join(draw.choices(words, k=length)).encode()


def share(content: bytes, level: int, memory: int, window: int, strategy: str) -> float:
    """Return the compressed size over the size, in percent."""
    packer = zlib.compressobj(level, zlib.DEFLATED, window, memory, STRATEGIES[strategy])
    return 100.0 * len(packer.compress(content) + packer.flush()) / len(content)


def repetition(seed: int, evaluations: int, texts: int) -> tuple[Any, ...]:
    """Tune once, check on new texts, and return a row of the table."""
    calls = iter(range(evaluations))

    def objective(**params: Any) -> float:
        return share(text(f"tune {seed} {next(calls)}"), **params)

    result = tp.minimize(
        objective, SPACE, evaluations, seed=seed, baseline=BASELINE, progress=False
    )
    best = result.recommendation
    assert best is not None
    assert best.baseline is not None
    new = [text(f"check {seed} {i}") for i in range(texts)]
    mean = float(np.mean([share(content, **best.params) for content in new]))
    gain = float(np.mean([share(content, **BASELINE) for content in new])) - mean
    now = best.baseline
    return (
        seed,
        " ".join(str(value) for value in best.params.values()),
        best.payoffs,
        f"{now.improvement:.2f} ({now.improvement_lower:.2f} to {now.improvement_upper:.2f})",
        f"{gain:.2f}",
        "yes" if gain > 0.0 else "no",
        "yes" if now.improvement_lower <= gain <= now.improvement_upper else "no",
        "yes" if best.lower <= mean <= best.upper else "no",
    )


def main() -> None:
    """Tune, check, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--first-seed", type=int, default=0)
    arguments = parser.parse_args()
    rows = []
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.repetitions):
        rows.append(repetition(seed, arguments.evaluations, arguments.texts))
        print(*rows[-1], sep=" | ", flush=True)
    print("\n".join(markdown_table(HEADER, rows)))
    counts = [sum(row[column] == "yes" for row in rows) for column in (5, 6, 7)]
    print(
        f"\nBetter in {counts[0]} of {len(rows)}; the interval of the improvement held in "
        f"{counts[1]}, that of the mean in {counts[2]}."
    )


if __name__ == "__main__":
    main()
