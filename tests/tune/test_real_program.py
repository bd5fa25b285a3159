"""A real program is tuned end to end, and its result holds when it is run again independently."""

import json
import random
import subprocess
import sys
from pathlib import Path

from tune_studies import OUT, stored_trials

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"

# zlib on a text that is another one in every run: the payoff is a size, so no clock is involved.
ZLIB = """
import os, random, sys, zlib
level, memory, window, strategy = sys.argv[1:5]
draw = random.Random(sys.argv[5] if len(sys.argv) > 5 else os.environ["TAILPROOF_TRIAL"])
words = ["".join(draw.choices("etaoinshrdlu", k=draw.randrange(2, 9))) for _ in range(200)]
length = int(400 * draw.paretovariate(1.3))  # heavy-tailed
text = " ".join(draw.choices(words, k=min(length, 20_000))).encode()
strategies = {"default": zlib.Z_DEFAULT_STRATEGY, "filtered": zlib.Z_FILTERED,
              "huffman": zlib.Z_HUFFMAN_ONLY}
packer = zlib.compressobj(int(level), zlib.DEFLATED, int(window), int(memory), strategies[strategy])
print(len(packer.compress(text) + packer.flush()) / len(text))
"""
NAMES = ("level", "memory", "window", "strategy")
BASELINE = {"level": 1, "memory": 1, "window": 10, "strategy": "default"}


def test_tuned_zlib_is_better_than_the_baseline_when_both_are_run_again(tune, program, tmp_path):
    command = program(ZLIB)
    code, out, _ = tune(
        *("--minimize", "--evaluations", 45, "--seed", 0, "--quiet"),
        *("--int", "level", 1, 9, "--int", "memory", 1, 9, "--int", "window", 9, 15),
        *("--choice", "strategy", "default", "filtered", "huffman"),
        *("--baseline", *(f"{name}={value}" for name, value in BASELINE.items())),
        *("--", *command, *(f"{{{name}}}" for name in NAMES)),
    )
    assert code == 0
    assert "better than the baseline's" in out
    found = json.loads((tmp_path / OUT / "result.json").read_text())
    best = found["recommendation"]
    assert best["payoffs"] == sum(t.params == best["params"] for t in stored_trials(tmp_path / OUT))
    assert best["payoffs"] >= 2
    assert found["baseline"]["probability"] > 0.9
    sizes = {True: [], False: []}
    order = random.Random(7)
    for i in range(25):
        for tuned in order.sample([True, False], 2):
            setting = best["params"] if tuned else BASELINE
            arguments = [str(setting[name]) for name in NAMES]
            done = subprocess.run(
                [*command, *arguments, f"again {i} {tuned}"], capture_output=True, text=True
            )
            sizes[tuned].append(float(done.stdout))
    # The difference is 0.2, the standard error of it about 0.014.
    assert sum(sizes[True]) < 0.9 * sum(sizes[False])


def test_the_sqlite_example_of_the_docs_can_be_tuned(tune, tmp_path):
    command = (sys.executable, "-I", "-S", EXAMPLES / "sqlite_bench.py")
    code, out, err = tune(
        *("--minimize", "--evaluations", 12, "--seed", 0, "--quiet"),
        *("--choice", "journal", "truncate", "memory", "--int", "rows", 20, 100, "--log"),
        *("--baseline", "journal=truncate", "rows=20"),
        *("--", *command, "{journal}", "off", "4096", "2000", "{rows}"),
    )
    assert (code, err) == (0, "")
    assert "baseline" in out
    assert len(stored_trials(tmp_path / OUT)) == 12
