"""Programs whose cost spans decades: made-up running times over 3 to 8 mixed parameters.

Parameters interact, and all surfaces but the first have settings that cost a hundred times the
best. A payoff is cost(params) times noise with mean 1: log-normal with a coefficient of variation
of 0.1, 0.5 or 1.6, Pareto with index 1.6 (infinite variance), or none.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import tailproof as tp
from practical.domains import Params, domain_of
from practical.problem import LOG, Problem

EVALUATIONS = 150
NOISES = ("none", "lognormal-0.1", "lognormal-0.5", "lognormal-1.6", "pareto-1.6")


def _server(p: Params) -> float:
    """Request time of a server with a cache: 5 parameters, costs from 1.4 to 10."""
    threads, pool, share, level = p["threads"], p["pool"], p["fraction"], p["compression"]
    cpu = 8.0 / min(threads, 12) * (1.0 + 0.04 * max(threads - 12, 0) ** 1.3)
    cache = {"lru": 0.35, "lfu": 0.5, "fifo": 0.7, "none": 1.0}[p["cache"]]
    miss = cache * (1.0 - 0.8 * share) + 3.0 * max(share - 0.7, 0.0)
    wait = 6.0 * math.exp(-pool / 12.0) + 0.01 * pool
    work = cpu * (0.4 + 0.08 * level) + 9.0 * miss * (1.0 - 0.07 * level)
    return 0.4 + 0.55 * (work + wait)


def _training(p: Params) -> float:
    """Loss of a training run that diverges at large rates: 4 parameters, five decades."""
    rate, decay = math.log10(p["rate"]), math.log10(p["decay"])
    loss = 0.03 + 0.02 * (rate + 2.5) ** 2 + 0.004 * (decay + 4.0) ** 2
    loss += 0.03 * (p["width"] < 64) + 0.002 * p["depth"]
    return loss * (1.0 + math.exp(3.0 * max(rate + 1.3, 0.0))) ** 2


def _database(p: Params) -> float:
    """Time of a database's batch of writes: 7 parameters, one of them without effect."""
    journal = {"wal": 1.0, "delete": 3.5, "off": 0.9, "truncate": 3.0}[p["journal"]]
    sync = {"full": 4.0, "normal": 1.4, "off": 1.0}[p["sync"]]
    misses = 200.0 / (1.0 + (p["memory"] / 30.0) ** 1.5)
    pages = misses * (1.0 + 0.3 * math.log2(p["page"] / 4096) ** 2)
    batch = p["batch"]
    lock = 1.0 + (0.02 * batch if batch > 60 else 40.0 / batch)
    swap = 1.0 + 0.1 * (p["mmap"] == "on" and p["memory"] > 300)
    return 2.0 + (0.3 * pages + 6.0 * journal * sync) * lock * swap


def _queue(p: Params) -> float:
    """Response time of a work queue: 3 parameters; it explodes as the load nears the capacity."""
    workers, batch, pause = p["workers"], p["batch"], p["pause"]
    service = (0.02 + 0.004 * batch) * (1.0 + 0.002 * workers**1.7)
    load = 30.0 * (1.0 + 0.4 * math.exp(-pause / 0.05)) * service / (batch * workers)
    crowd = 1.0 / (1.0 - load) if load < 0.98 else 50.0 + 40.0 * (load - 0.98)
    return service * crowd + batch / 60.0 + 0.3 * pause


def _build(p: Params) -> float:
    """Time to build and test a program: 6 parameters, and memory that runs out."""
    jobs, unity = p["jobs"], p["unity"]
    compile_ = {"O0": 90.0, "O1": 140.0, "O2": 220.0, "O3": 300.0}[p["optimize"]]
    tests = {"O0": 260.0, "O1": 90.0, "O2": 45.0, "O3": 42.0}[p["optimize"]]
    link = {"off": 6.0, "thin": 14.0, "full": 80.0}[p["lto"]]
    tests *= {"off": 1.0, "thin": 0.8, "full": 0.75}[p["lto"]]
    headers = 0.7 if p["precompiled"] == "yes" else 1.0
    work = compile_ * headers * (0.35 + 0.65 / unity**0.5) * (1.0 - 0.6 * p["cache"])
    memory = jobs * (0.4 + 0.05 * unity) * (2.0 if p["lto"] == "full" else 1.0)
    swap = 1.0 + max(memory - 14.0, 0.0) ** 1.5
    lookup = 1.0 + 8.0 * max(p["cache"] - 0.6, 0.0) ** 2
    return work * lookup / min(jobs, 10) * swap + link + tests


def _solver(p: Params) -> float:
    """Time of a linear solver to a given accuracy: 8 parameters, four decades."""
    iterations = {"none": 4000.0, "jacobi": 1200.0, "ilu": 260.0, "amg": 60.0}[p["precondition"]]
    each = {"none": 1.0, "jacobi": 1.1, "ilu": 2.0, "amg": 4.0}[p["precondition"]]
    if p["precondition"] == "ilu":
        iterations *= math.exp(-0.35 * p["fill"])
        each *= 1.0 + 0.08 * p["fill"] ** 2
    if p["precondition"] == "amg":
        iterations *= 1.0 + 0.5 * (p["levels"] - 5) ** 2
        each *= {"jacobi": 1.0, "gauss-seidel": 1.3, "chebyshev": 1.15}[p["smoother"]]
        iterations *= {"jacobi": 1.8, "gauss-seidel": 1.0, "chebyshev": 1.05}[p["smoother"]]
    iterations *= 1.0 + 2.5 * (p["relaxation"] - 1.2) ** 2
    iterations *= 1.0 + 30.0 / p["restart"]
    each *= 1.0 + p["restart"] / 60.0
    inner = math.log10(p["tolerance"])
    iterations *= 1.0 + math.exp(2.0 * (inner + 2.5))
    each *= 1.0 + 0.12 * abs(inner)
    blocks = p["blocks"]
    speed = blocks / (1.0 + 0.004 * blocks**2)
    return 0.05 + 0.002 * iterations * each / speed


@dataclass(frozen=True, eq=False)
class Surface:
    """Costs over a space, where they are least, and their median over uniform draws."""

    cost: Callable[[Params], float]
    space: tp.Space
    best_at: Params
    median: float


SURFACES = {
    "server": Surface(
        _server,
        tp.Space(
            threads=tp.Int(1, 64, log=True),
            pool=tp.Int(1, 100),
            cache=tp.Choice("lru", "lfu", "fifo", "none"),
            fraction=tp.Float(0.01, 1.0),
            compression=tp.Int(0, 9),
        ),
        {"threads": 12, "pool": 47, "cache": "lru", "fraction": 0.7, "compression": 9},
        4.00307,
    ),
    "training": Surface(
        _training,
        tp.Space(
            rate=tp.Float(1e-5, 1.0, log=True),
            decay=tp.Float(1e-7, 1e-1, log=True),
            width=tp.Int(8, 512, log=True),
            depth=tp.Int(1, 6),
        ),
        {"rate": 10.0**-2.5, "decay": 1e-4, "width": 64, "depth": 1},
        0.413513,
    ),
    "database": Surface(
        _database,
        tp.Space(
            memory=tp.Int(1, 4096, log=True),
            page=tp.Choice(1024, 4096, 8192, 32768),
            journal=tp.Choice("wal", "delete", "off", "truncate"),
            sync=tp.Choice("full", "normal", "off"),
            batch=tp.Int(1, 500, log=True),
            mmap=tp.Choice("on", "off"),
            unused=tp.Float(0.0, 1.0),
        ),
        {
            "memory": 4096,
            "page": 4096,
            "journal": "off",
            "sync": "off",
            "batch": 60,
            "mmap": "off",
            "unused": 0.0,
        },
        397.910,
    ),
    "queue": Surface(
        _queue,
        tp.Space(
            workers=tp.Int(1, 64, log=True),
            batch=tp.Int(1, 512, log=True),
            pause=tp.Float(1e-3, 10.0, log=True),
        ),
        {"workers": 9, "batch": 1, "pause": 1e-3},
        0.839564,
    ),
    "build": Surface(
        _build,
        tp.Space(
            jobs=tp.Int(1, 32, log=True),
            optimize=tp.Choice("O0", "O1", "O2", "O3"),
            lto=tp.Choice("off", "thin", "full"),
            precompiled=tp.Choice("yes", "no"),
            unity=tp.Int(1, 64, log=True),
            cache=tp.Float(0.0, 1.0),
        ),
        {
            "jobs": 10,
            "optimize": "O3",
            "lto": "thin",
            "precompiled": "yes",
            "unity": 20,
            "cache": 0.66443172941826,
        },
        172.862,
    ),
    "solver": Surface(
        _solver,
        tp.Space(
            precondition=tp.Choice("none", "jacobi", "ilu", "amg"),
            smoother=tp.Choice("jacobi", "gauss-seidel", "chebyshev"),
            fill=tp.Int(0, 6),
            levels=tp.Int(1, 8),
            restart=tp.Int(5, 200, log=True),
            relaxation=tp.Float(0.1, 1.95),
            tolerance=tp.Float(1e-8, 1e-1, log=True),
            blocks=tp.Int(1, 64, log=True),
        ),
        {
            "precondition": "ilu",
            "smoother": "jacobi",
            "fill": 6,
            "levels": 1,
            "restart": 42,
            "relaxation": 1.2,
            "tolerance": 8.210331224132e-05,
            "blocks": 16,
        },
        9.95981,
    ),
}


def factor(noise: str, rng: np.random.Generator) -> float:
    """Draw a factor with mean 1."""
    if noise == "none":
        return 1.0
    kind, size = noise.split("-")
    if kind == "pareto":
        index = float(size)
        return float(rng.pareto(index) + 1.0) * (index - 1.0) / index
    sigma = math.sqrt(math.log1p(float(size) ** 2))
    return math.exp(sigma * rng.standard_normal() - 0.5 * sigma**2)


@functools.cache
def program(surface: str, noise: str) -> Problem:
    """Return a surface under a noise."""
    found = SURFACES[surface]
    cost = found.cost
    return Problem(
        domain=domain_of(found.space),
        mean=cost,
        payoff=lambda params, rng: cost(params) * factor(noise, rng),
        best=cost(found.best_at),
        median=found.median,
        evaluations=EVALUATIONS,
        minimize=True,
        warp=LOG,
        degrees_of_freedom=None if noise.startswith("pareto") else math.inf,
    )
