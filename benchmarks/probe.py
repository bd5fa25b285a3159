"""Try to break it: mutated state files, random calls, killed tuners, restarts, Ctrl-C.

    python benchmarks/probe.py --quick
    python benchmarks/probe.py --files 500 --sequences 2000 --kills 50 --restarts 5

Prints how often each was tried, held and broke, and what broke. The same seed tries the same files
and calls; the moments of kills depend on the machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

import probe_files
import probe_sequences
import probe_tuners
import tailproof as tp
from probe_cases import Tally
from reporting import note

FULL = {"files": 500, "sequences": 2000, "kills": 50, "restarts": 5, "interrupts": 250}
QUICK = {"files": 100, "sequences": 200, "kills": 4, "restarts": 1, "interrupts": 20}


def run(counts: dict[str, int], seed: int) -> list[Tally]:
    """Try everything `counts` times, and return what came of it."""
    tallies: list[Tally] = []
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", tp.TheoryWarning)
        folder = Path(name)
        note(f"{counts['files']} state files")
        tallies += probe_files.probe(counts["files"], folder, seed)
        note(f"{counts['sequences']} sequences of calls")
        tallies += probe_sequences.probe(counts["sequences"], folder, seed)
        if counts["kills"]:
            note(f"{counts['kills']} kills")
            tallies.append(probe_tuners.probe_kills(counts["kills"], folder, seed))
        if counts["restarts"]:
            note(f"{counts['restarts']} restarts of PostgreSQL")
            tallies.append(probe_tuners.probe_restarts(counts["restarts"], folder, seed))
        if counts["interrupts"]:
            note(f"{counts['interrupts']} times Ctrl-C")
            tallies.append(probe_tuners.probe_interrupts(counts["interrupts"], seed))
    return [tally for tally in tallies if tally.tried or "not tried" in tally.name]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, count in FULL.items():
        parser.add_argument(f"--{name}", type=int, help=f"how many (default: {count})")
    parser.add_argument("--quick", action="store_true", help="few of each: about a minute")
    parser.add_argument("--seed", type=int, default=0, help="of files and calls (default: 0)")
    options = parser.parse_args()
    counts = QUICK if options.quick else FULL
    given = {name: getattr(options, name) for name in FULL}
    counts = counts | {name: count for name, count in given.items() if count is not None}
    tallies = run(counts, options.seed)
    print("\n".join(map(str, tallies)))
    broken = sum(len(tally.broken) for tally in tallies)
    tried = sum(tally.tried for tally in tallies)
    print(f"all: tried {tried:,}, held {tried - broken:,}, broke {broken:,}")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
