"""Real payoffs: insurance claims by age and by place, and network latencies by destination.

The files are not part of the repository: they are looked for in the folder TAILPROOF_DATA, or
beside the repository in shared/data. A payoff is a recorded one, drawn at random from those of the
configuration; the truth is their mean. All are costs.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import tailproof as tp
from practical.domains import Domain, Params, domain_of
from practical.problem import LOG, Problem
from rivals.domains import Arms
from tailproof.environments.data import DataArms, load_claims, load_latency

EVALUATIONS = 300
YOUNGEST, OLDEST = 20, 80
FILES = {"claims-age": "claims.csv", "claims-place": "claims.csv", "latencies": "latency.csv"}
_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"


def folder() -> Path:
    """Return the folder of the data files."""
    return Path(os.environ.get("TAILPROOF_DATA", _BESIDE))


def missing(name: str) -> str | None:
    """Return why a problem cannot be run here, if so."""
    path = folder() / FILES[name]
    return None if path.is_file() else f"{path} is missing (set TAILPROOF_DATA)"


@functools.cache
def real_payoffs(name: str) -> Problem:
    """Return one of the problems of `FILES`."""
    if name == "claims-age":
        arms = load_claims(folder(), "ageph", min_count=1)
        kept = [i for i, age in enumerate(arms.labels) if YOUNGEST <= int(age) <= OLDEST]
        domain: Domain = domain_of(tp.Space(age=tp.Int(YOUNGEST, OLDEST)))
        return _problem(arms, kept, domain, lambda params: str(params["age"]))
    if name == "claims-place":
        arms = load_claims(folder(), "postcode")
        place = Arms(arms.coordinates)
        return _problem(
            arms,
            range(len(arms.labels)),
            place,
            lambda params: arms.labels[place.index(place.point(params))],
        )
    arms = load_latency(folder())
    domain = domain_of(tp.Space(destination=tp.Choice(*arms.labels)))
    return _problem(arms, range(len(arms.labels)), domain, lambda params: params["destination"])


def _problem(
    arms: DataArms, kept: Sequence[int], domain: Domain, label: Callable[[Params], str]
) -> Problem:
    """Return the problem of the kept arms, given an arm's label for parameters."""
    index = {arms.labels[i]: i for i in kept}
    costs = -arms.means[list(kept)]

    def payoff(params: Params, rng: np.random.Generator) -> float:
        return -float(arms.sample([index[label(params)]], rng)[0])

    return Problem(
        domain=domain,
        mean=lambda params: -float(arms.means[index[label(params)]]),
        payoff=payoff,
        best=float(costs.min()),
        median=float(np.median(costs)),
        evaluations=EVALUATIONS,
        minimize=True,
        warp=LOG,
    )
