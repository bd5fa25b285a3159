"""The state of a practical optimizer as a header and arrays, and back: see `tailproof.storage`.

The space, the options, the seed and the trials determine everything. Places in the search cube and
the fitted model are computed again: a file cannot contradict itself there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tailproof.search.optimizer import Optimizer
from tailproof.search.options import Options
from tailproof.search.space.space import params_at, place_of, space_from_state
from tailproof.search.space.values import typed, untyped
from tailproof.search.trials import Trial
from tailproof.storage import Arrays, decode, encode, take

FORMAT = "tailproof-search"
_TYPES: dict[str, type] = {"Options": Options}


def to_state(optimizer: Optimizer) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays that describe a search optimizer."""
    completed = optimizer.trials
    # What was told of each completed trial, one after the other; sem is NaN unless a mean was told.
    told = [y for done in completed for y in done.payoffs]
    errors = [math.nan if done.sem is None else done.sem for done in completed]
    arrays: Arrays = {"payoffs": np.array(told, dtype=np.float64), "sem": np.array(errors)}
    header = {
        "options": encode("options", optimizer.options, arrays, _TYPES),
        "space": optimizer.space.state(),
        "seed": optimizer.seed,
        "minimize": optimizer.minimize,
        "params": [_typed_params(trial.params) for trial, _ in optimizer._log.started.values()],
        "completed": [done.trial.number for done in completed],  # in the order of telling
        "told": [len(done.payoffs) for done in completed],
        "n": [done.n for done in completed],
        "pending": list(optimizer._log.pending),
        "fail_value": optimizer.fail_value,
        "avoid_failures": optimizer.avoid_failures,
        "decision": _decision_to_state(optimizer),
    }
    return header, arrays


def from_state(header: Any, arrays: Arrays) -> Optimizer:
    """Return the optimizer that `to_state` described; the arrays it uses are removed."""
    options = decode(header["options"], arrays, _TYPES)
    if not isinstance(options, Options):
        raise ValueError("its options are none.")
    space = space_from_state(header["space"])
    result = Optimizer(
        space,
        seed=header["seed"],
        minimize=header["minimize"],
        options=options,
        fail_value=header["fail_value"],
        avoid_failures=header["avoid_failures"],
    )
    for number, listed in enumerate(header["params"]):
        params = _untyped_params(listed)
        u = place_of(space, params)
        trial = Trial(number, params_at(space, u, params))
        if _typed_params(trial.params) != listed:
            raise ValueError(f"the parameters of trial {number} are none of its space.")
        result._log.start(trial, u, pending=False)
    completed = header["completed"]
    payoffs = iter(take(arrays, "payoffs", (sum(header["told"]),)).tolist())
    errors = take(arrays, "sem", (len(completed),)).tolist()
    for number, told, n, sem in zip(completed, header["told"], header["n"], errors, strict=True):
        values = [next(payoffs) for _ in range(told)]
        if math.isnan(sem):
            result.tell(number, values)
        else:
            result.tell(number, mean=values[0], sem=sem, n=n)
        done = result._log.completed[number]
        if (done.n, len(done.payoffs)) != (n, told):
            raise ValueError(f"the number of payoffs of trial {number} is not that of its values.")
    pending = [result._log.number_of(number) for number in header["pending"]]
    if pending != sorted(set(pending) - set(completed)):
        raise ValueError("its pending trials are not in the order of asking, or were told.")
    result._log.pending = dict.fromkeys(pending)
    _restore_decision(result, header["decision"])
    return result


def _decision_to_state(optimizer: Optimizer) -> dict[str, Any]:
    """Return the baseline, the race and the failures of an optimizer."""
    plan, log = optimizer._plan, optimizer._log
    places = [] if plan.race is None else list(plan.race.places)
    return {
        "baseline": _typed_params(plan.baseline_params),
        "race": [_typed_params(optimizer.space.params(u)) for u in places],
        "race_trials": sorted(plan.race_trials),
        "failed": [[number, reason] for number, reason in log.failed.items()],
    }


def _restore_decision(optimizer: Optimizer, state: Any) -> None:
    """Take what `_decision_to_state` described; the trials are known already."""
    plan, log = optimizer._plan, optimizer._log
    if state["baseline"]:
        optimizer.baseline(_untyped_params(state["baseline"]))
    places = [place_of(optimizer.space, _untyped_params(listed)) for listed in state["race"]]
    race_trials = {log.number_of(number) for number in state["race_trials"]}
    if places:
        plan.resume_race(places, race_trials)
    log.failed = {log.number_of(number): str(reason) for number, reason in state["failed"]}


def _typed_params(params: Mapping[str, Any]) -> list[list[Any]]:
    """Return a configuration in the state as names, types and values, for JSON."""
    return [[name, *typed(value)] for name, value in params.items()]


def _untyped_params(listed: list[list[Any]]) -> dict[str, Any]:
    """Return the configuration in the state that `_typed_params` described."""
    return {name: untyped(kind, value) for name, kind, value in listed}
