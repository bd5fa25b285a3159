"""Spaces, payoffs and small loops that tests of the practical optimizer share."""

import math

import numpy as np

import tailproof as tp
from tailproof.search.model.parameters import Observations
from tailproof.search.state import to_state

LINE = tp.Space(x=tp.Float(0, 1))
MIXED = tp.Space(
    lr=tp.Float(1e-4, 1e-1, log=True), n=tp.Int(1, 6), act=tp.Choice("a", "b"), k=tp.Fixed(3)
)


def payoff(params, i):
    """A payoff of a MIXED configuration, heavy-tailed, the same for the same number."""
    noise = np.random.default_rng([7, i]).standard_t(1.5)
    return (
        params["n"] - (math.log10(params["lr"]) + 2.5) ** 2 + (params["act"] == "b") + 0.3 * noise
    )


def run(opt, rounds, f=payoff):
    """Ask and tell; return the configurations asked."""
    asked = []
    for _ in range(rounds):
        trial = opt.ask()
        asked.append(trial.params)
        opt.tell(trial, f(trial.params, trial.number))
    return asked


def line(opt, values):
    """Tell payoffs at even points of LINE, and return the optimizer."""
    places = (0.618 * np.arange(1, len(values) + 1)) % 1.0
    for x, value in zip(places, values, strict=True):
        opt.add({"x": float(x)}, value)
    return opt


def observations(n=80, seed=0, noise=lambda rng, n: 0.3 * rng.standard_t(1.5, n)):
    """Payoffs sin(5 x) + noise at random points of the unit square."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    return Observations(points, np.sin(5.0 * points[:, 0]) + noise(rng, n))


def snapshot(opt):
    """The state of an optimizer as plain data: what determines it."""
    header, arrays = to_state(opt)
    return header, {name: repr(array.tolist()) for name, array in arrays.items()}  # NaN is NaN
