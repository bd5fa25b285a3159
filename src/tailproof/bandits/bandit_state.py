"""The state of a `Bandit` as a header and arrays, and back: see `tailproof.storage`.

The file holds the arguments, the payoffs with what happened between them (payoffs told together,
arms added), pending arms and the random generator. Estimates depend on when the shared quantities
were estimated last. So a file is read by telling its payoffs again as they were told, from the last
time on that everything was estimated from the log alone (`ArmStatistics.start_again`): whatever
payoffs it holds, the bandit is one that was told them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._util import checks
from tailproof.bandits import exploration
from tailproof.bandits.arm_set import ArmSet
from tailproof.bandits.bandit import Bandit
from tailproof.bandits.bandit_inputs import checked_payoffs
from tailproof.bandits.state import _encode_bit_generator, _generator_in_state
from tailproof.kernels import Precomputed
from tailproof.storage import Arrays, take

FORMAT = "tailproof-bandit"
MOST_COUNTED = 2**53  # clocks and stamps are whole numbers in float64


def to_state(bandit: Bandit) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays that describe a `Bandit`."""
    arms, log = bandit._arms, bandit._statistics.log
    active_at_refresh = np.ones(len(arms), dtype=np.int64)
    active_at_refresh[: len(bandit._active_at_refresh)] = bandit._active_at_refresh
    arrays: Arrays = {
        "log.arms": log.arms,
        "log.payoffs": log.payoffs,
        "log.stamps": log.stamps[: log.restarted],  # the others follow from the clock
        "log.sources": log.sources,
        "active": bandit._active.astype(np.int64),
        "active_at_refresh": active_at_refresh,
        "pending": bandit._pending,
        "design": bandit._design.astype(np.int64),
    }
    if arms.inputs is not None:
        arrays["inputs"] = arms.inputs
    if bandit._similarity is not None:
        arrays["similarity"] = bandit._similarity.gram
    header = {
        "arms": len(arms),
        "labels": None if arms.labels is None else list(arms.labels),
        "dimension": None if arms.inputs is None else arms.inputs.shape[1],
        "configurations": arms.configurations,
        "similarity": bandit._similarity is not None,
        "minimize": bandit.minimize,
        "half_life": bandit.half_life,
        "explore": bandit.explore,
        "payoffs": log.count,
        "restarted": log.restarted,
        "clock": log.clock,
        "events": [list(event) for event in log.events],
        "sources": log.source_names,
        "random": _encode_bit_generator(bandit._rng.bit_generator.state),
    }
    return header, arrays


def from_state(header: Any, arrays: Arrays) -> Bandit:
    """Return the `Bandit` that `to_state` described; the arrays it uses are removed."""
    n, count, labels = header["arms"], header["payoffs"], header["labels"]
    arms = labels if labels is not None else take(arrays, "inputs", (n, header["dimension"]))
    gram = take(arrays, "similarity", (n, n)) if header["similarity"] else None
    events = _checked_events(header, n)
    first = n - sum(k for _, kind, k in events if kind == "arms")
    bandit = Bandit(
        arms[:first],
        similarity=None if gram is None else Precomputed(gram),
        minimize=header["minimize"],
        half_life=header["half_life"],
        explore=header["explore"],
    )
    if len(arms) != n or (labels is None) != (bandit._arms.labels is None):
        raise ValueError("its arms do not agree with its header.")
    if header["configurations"] is not None:
        bandit._arms = _grid(arms, header["configurations"])
    told = take(arrays, "log.arms", (count,), np.int64)
    sources = take(arrays, "log.sources", (count,), np.int64)
    for name, indices, bound in (("arms", told, n), ("sources", sources, len(header["sources"]))):
        if count and (indices.min() < 0 or indices.max() >= bound):
            raise ValueError(f"its payoffs have {name} that do not exist.")
    if not all(isinstance(name, str) for name in header["sources"]) or (
        len(set(header["sources"])) < len(header["sources"])
    ):
        raise ValueError("its sources are not distinct names.")
    active = take(arrays, "active", (n,), np.int64) != 0
    active_at_refresh = take(arrays, "active_at_refresh", (n,), np.int64) != 0
    pending = take(arrays, "pending", (n,), np.int64)
    if pending.min() < 0:
        raise ValueError("its number of pending payoffs is below 0.")
    payoffs = take(arrays, "log.payoffs", (count,))
    bandit._active = active_at_refresh[:first].copy()
    _fill(bandit, header, told, payoffs, arrays)
    _tell_again(bandit, told, payoffs, arms, events, active_at_refresh)
    bandit._statistics.log.set_sources(sources, list(header["sources"]))
    bandit._active, bandit._pending = active, pending.copy()
    bandit._design = _checked_design(bandit, header, arrays, first)
    bandit._rng = _generator_in_state(header["random"])
    return bandit


def _checked_events(header: Any, arms: int) -> list[tuple[int, str, int]]:
    """Return what happened between the payoffs of a saved `Bandit`, at possible places."""
    events = []
    place, added = checks.integer("restarted", header["restarted"], low=0), 0
    for at, kind, k in header["events"]:
        checks.integer("events", k, low=1)
        if kind not in ("payoffs", "arms") or checks.integer("events", at, low=0) < place:
            raise ValueError("its events are not in order.")
        place = at + k if kind == "payoffs" else at
        added += k if kind == "arms" else 0
        events.append((at, kind, k))
    if place > header["payoffs"] or added >= arms:
        raise ValueError("its events do not agree with its payoffs and arms.")
    return events


def _grid(inputs: NDArray[np.float64], configurations: Any) -> ArmSet:
    """Return the arms of a saved `Bandit` on a grid: distinct configurations with equal names."""
    names = {tuple(configuration) for configuration in configurations}
    distinct = {repr(list(configuration.items())) for configuration in configurations}
    if len(names) != 1 or len(distinct) != len(inputs) or len(configurations) != len(inputs):
        raise ValueError("its configurations do not agree with its arms.")
    return ArmSet(inputs, configurations)


def _fill(
    bandit: Bandit,
    header: Any,
    told: NDArray[np.int64],
    payoffs: NDArray[np.float64],
    arrays: Arrays,
) -> None:
    """Set the payoffs from which everything in a saved `Bandit` was estimated last."""
    restarted, statistics = header["restarted"], bandit._statistics
    if restarted > len(payoffs):
        raise ValueError("it started again with more payoffs than there are.")
    stamps = take(arrays, "log.stamps", (restarted,))
    clock = checks.non_negative("clock", header["clock"]) - (len(payoffs) - restarted)
    if not (clock >= 0.0 if restarted else clock == 0.0) or clock % 1.0 or clock > MOST_COUNTED:
        raise ValueError("its clock does not agree with its payoffs.")
    if not restarted:
        return
    whole = (np.abs(stamps) <= MOST_COUNTED).all() and not (stamps % 1.0).any()
    if not whole or (np.diff(stamps) < 0.0).any() or stamps[-1] > clock:
        raise ValueError("its stamps are not whole numbers in order, up to the clock.")
    if told[:restarted].max() >= len(bandit._arms):
        raise ValueError("its payoffs have arms that came later.")
    statistics.log.fill(told[:restarted], checked_payoffs(payoffs[:restarted]), stamps, clock)
    statistics.start_again()
    bandit._refreshed()


def _tell_again(
    bandit: Bandit,
    told: NDArray[np.int64],
    payoffs: NDArray[np.float64],
    arms: Any,
    events: list[tuple[int, str, int]],
    active_at_refresh: NDArray[np.bool_],
) -> None:
    """Tell a saved `Bandit` the later payoffs again, as `events` say, and add its arms."""
    place, outside = len(bandit), bandit._sign * payoffs
    for at, kind, k in [*events, (len(payoffs), "end", 0)]:
        for number, payoff in zip(told[place:at].tolist(), outside[place:at].tolist(), strict=True):
            bandit.tell_index(number, payoff)
        place = at
        if kind == "payoffs":
            bandit.tell_index(told[at : at + k], outside[at : at + k])
            place = at + k
        elif kind == "arms":
            here = len(bandit._active)
            bandit.add_arms(arms[here : here + k])
            bandit._active = active_at_refresh[: here + k].copy()


def _checked_design(bandit: Bandit, header: Any, arrays: Arrays, first: int) -> NDArray[np.int64]:
    """Return the arms of a saved `Bandit`'s first rounds, chosen among those of the beginning."""
    design = take(arrays, "design", (len(arrays["design"]),), np.int64)
    kernel = bandit._prior is not None
    most = exploration.KERNEL_DESIGN_ARMS if kernel else exploration.DESIGN_ARMS
    size = min(first, most)
    sizes = (
        range(1, size + 1) if header["restarted"] else (size,)
    )  # arms may have come with a merge
    if len(design) not in sizes or len(set(design.tolist())) < len(design):
        raise ValueError("its first arms are not as many as there must be, or not distinct.")
    if not 0 <= design.min() <= design.max() < first:
        raise ValueError("its first arms do not exist.")
    return design.copy()
