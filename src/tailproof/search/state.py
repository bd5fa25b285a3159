"""The state of a practical optimizer as a header and arrays, and back: see `tailproof.storage`.

The space, the options, the seed and the trials determine everything. Places in the search cube and
the fitted model are computed again: a file cannot contradict itself there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tailproof.search.optimizer import Optimizer
from tailproof.search.options import Options
from tailproof.search.space.space import space_from_state
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
        "params": [_typed_trial_params(trial) for trial, _ in optimizer._trials.values()],
        "completed": [done.trial.number for done in completed],  # in the order of telling
        "told": [len(done.payoffs) for done in completed],
        "n": [done.n for done in completed],
        "pending": list(optimizer._pending),
        "fail_value": optimizer.fail_value,
        "avoid_failures": optimizer.avoid_failures,
        "decision": optimizer._plan.state(optimizer),
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
        params = {name: untyped(kind, value) for name, kind, value in listed}
        u = result._position_of_params(params)
        trial = Trial(number, result._params_at(u, params))
        if _typed_trial_params(trial) != listed:
            raise ValueError(f"the parameters of trial {number} are none of its space.")
        result._trials[number] = (trial, u)
    completed = header["completed"]
    payoffs = iter(take(arrays, "payoffs", (sum(header["told"]),)).tolist())
    errors = take(arrays, "sem", (len(completed),)).tolist()
    for number, told, n, sem in zip(completed, header["told"], header["n"], errors, strict=True):
        values = [next(payoffs) for _ in range(told)]
        if math.isnan(sem):
            result.tell(number, values)
        else:
            result.tell(number, mean=values[0], sem=sem, n=n)
        if (result._completed[number].n, len(result._completed[number].payoffs)) != (n, told):
            raise ValueError(f"the number of payoffs of trial {number} is not that of its values.")
    pending = [result._trial_number(number) for number in header["pending"]]
    if pending != sorted(set(pending) - set(completed)):
        raise ValueError("its pending trials are not in the order of asking, or were told.")
    result._pending = dict.fromkeys(pending)
    result._plan.restore(result, header["decision"])
    return result


def _typed_trial_params(trial: Trial) -> list[list[Any]]:
    return [[name, *typed(value)] for name, value in trial.params.items()]
