"""Runs of an arena made by hand, for the tests of what is made of them."""

import numpy as np

from rivals.analysis import POOLS
from rivals.laws import LAWS
from rivals.plan import SEEDS
from rivals.problems import PROBLEMS, cell_names
from rivals.records import Run

HEAVY = ("branin", "t1.5")
LIGHT = ("branin", "gaussian")
TRAP = ("trap", "trap")
CELLS = cell_names(PROBLEMS, tuple(LAWS))  # what a claim about a pool needs all of
ALL_HEAVY = tuple(cell for cell in CELLS if POOLS["heavy"](cell))
ALL_LIGHT = tuple(cell for cell in CELLS if POOLS["gaussian"](cell))


def run(contestant, seed, simple, cell=HEAVY, **more):
    return Run(*cell, contestant, seed, (simple + 0.5, simple), (1.0, 10.0 * simple), **more)


def runs_of(values, cell=HEAVY):
    return [
        run(who, seed, value, cell)
        for who, row in values.items()
        for seed, value in enumerate(row)
        if value is not None
    ]


def everywhere(values, cells):
    return [one for cell in cells for one in runs_of(values, cell)]


def complete(better=0.2, gaussian=1.1, ours="mean", robust="median", seeds=SEEDS):
    """The whole arena: under heavy tails ours is better by `better`.

    Its Gaussian regret is `gaussian` times the other's.
    """
    noise = np.linspace(0.0, 0.05, seeds)
    heavy = {"tailproof": 0.3 + noise, "student-t-gp": 0.3 + better + noise[::-1]}
    light = {"tailproof": [0.1 * gaussian] * seeds, "student-t-gp": [0.1] * seeds}
    runs = everywhere(heavy, [cell for cell in ALL_HEAVY if cell != TRAP])
    runs += everywhere(light, ALL_LIGHT)
    for seed in range(seeds):
        runs.append(run("tailproof", seed, 0.1, TRAP, place=ours))
        runs.append(run("student-t-gp", seed, 0.5, TRAP, place=robust))
    return runs


def peer(who, seeds, cells, simple, **more):
    return [run(who, seed, simple, cell, **more) for cell in cells for seed in range(seeds)]
