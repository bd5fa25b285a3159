"""What an optimizer keeps besides payoffs: the baseline, the race, the failures; and what follows.

A trial is the baseline when that is due, a run of the race while there is one, and else what the
model proposes, away from where trials fail if that is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailproof.search.acquisition.optimize import sobol
from tailproof.search.decision import baseline, race, stopping
from tailproof.search.decision.failures import TOLERATED, FailureModel, fit_failures
from tailproof.search.decision.race import Race
from tailproof.search.decision.stopping import RemainingGain
from tailproof.search.space.encodings import EncodedSpace
from tailproof.search.space.parameters import Fixed
from tailproof.search.space.space import Space
from tailproof.search.space.values import typed, untyped
from tailproof.search.trials import Comparison, Prediction

if TYPE_CHECKING:
    from tailproof.search.optimizer import Optimizer

Array = NDArray[np.float64]

_POOL = 256  # places among which one is chosen instead of one that probably fails


@dataclass
class DecisionPlan:
    """The baseline's place and params, the race with the numbers of its trials, and failures."""

    baseline: Array | None = None  # (d,)
    baseline_params: dict[str, Any] = field(default_factory=dict)
    race: Race | None = None
    race_trials: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)  # reason by trial number
    failure_model: tuple[tuple[int, int], FailureModel] | None = None  # with the counts it is of

    def state(self, optimizer: Optimizer) -> dict[str, Any]:
        """Return a JSON-able description."""
        places = [] if self.race is None else list(self.race.places)
        return {
            "baseline": _typed(self.baseline_params),
            "race": [_typed(optimizer.space.params(u)) for u in places],
            "race_trials": sorted(self.race_trials),
            "failed": [[number, reason] for number, reason in self.failed.items()],
        }

    def restore(self, optimizer: Optimizer, state: Mapping[str, Any]) -> None:
        """Take what `state` described; the trials are known already."""
        if state["baseline"]:
            optimizer.baseline(_untyped(state["baseline"]))
        places = [optimizer._position_of_params(_untyped(listed)) for listed in state["race"]]
        if places:
            self.race = race_of(optimizer, places)
        self.race_trials = {optimizer._trial_number(number) for number in state["race_trials"]}
        self.failed = {optimizer._trial_number(n): str(reason) for n, reason in state["failed"]}


def _typed(params: Mapping[str, Any]) -> list[list[Any]]:
    return [[name, *typed(value)] for name, value in params.items()]


def _untyped(listed: list[list[Any]]) -> dict[str, Any]:
    return {name: untyped(kind, value) for name, kind, value in listed}


def with_fixed(space: EncodedSpace, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with the values of Fixed parameters that it leaves out."""
    fixed = {}
    if isinstance(space, Space):
        fixed = {n: p.constant for n, p in space.parameters.items() if isinstance(p, Fixed)}
    return fixed | dict(params)


def planned_place(
    optimizer: Optimizer, number: int, pending: list[Array], seed: int
) -> Array | None:
    """Return where trial `number` is to be if the baseline is due or a race is on, else None."""
    plan = optimizer._plan
    if plan.race is not None:
        runs = _runs_of_race(optimizer, plan.race, pending)
        rng = np.random.default_rng([seed, number, 7])
        alive = np.ones(len(runs), dtype=bool)
        if len(optimizer):
            draws = optimizer._mean_draws(plan.race.places, race.DRAWS, rng)
            alive = race.in_race(draws, runs, has_baseline=plan.race.has_baseline)
        return plan.race.places[race.next_in_race(runs, alive, rng)]
    if plan.baseline is not None:
        started = [*optimizer._started_places(), *pending]
        done = sum(np.array_equal(place, plan.baseline) for place in started)
        if baseline.baseline_due(done, number):
            return plan.baseline
    return None


def _runs_of_race(optimizer: Optimizer, on: Race, pending: list[Array]) -> NDArray[np.int64]:
    """Return how often each configuration of the race was run in it or runs now, (c,)."""
    ended = [n for n in optimizer._plan.race_trials if n not in optimizer._pending]
    places = [optimizer._trials[number][1] for number in ended]
    counts = np.zeros(len(on.places), dtype=np.int64)
    for place in [*places, *pending]:
        index = on.index(place)
        if index is not None:
            counts[index] += 1
    return counts


def start_race(optimizer: Optimizer, count: int) -> Race:
    """Return a race of the recommended configuration, others that may be better, the baseline."""
    best = optimizer._position_of_params(optimizer.recommend().params)
    pool = np.unique(np.vstack([best[None], np.array(optimizer._positions)]), axis=0)
    rng = np.random.default_rng([optimizer.seed, len(optimizer), 8])
    draws = optimizer._mean_draws(pool, race.DRAWS, rng)
    first = int(np.flatnonzero((pool == best).all(axis=1))[0])
    places = pool[race.select_candidates(draws, first, count)]
    current = optimizer._plan.baseline
    if current is not None:
        places = np.vstack([places[(places != current).any(axis=1)], current])
    return Race(places, current is not None)


def race_of(optimizer: Optimizer, places: list[Array]) -> Race:
    """Return the race of these places, of which the last may be the baseline's."""
    current = optimizer._plan.baseline
    last = current is not None and np.array_equal(places[-1], current)
    return Race(np.array(places), bool(last))


def confirmed_place(optimizer: Optimizer, level: float) -> Array | None:
    """Return the place of the race with the best robust mean of those that were run, if any."""
    on = optimizer._plan.race
    if on is None:
        return None
    ran = {on.index(place) for place in optimizer._positions}
    places = np.array([place for i, place in enumerate(on.places) if i in ran])
    if not len(places):
        return None
    prediction = optimizer._predict_places(places, level)
    best = np.argmin(prediction.mean) if optimizer.minimize else np.argmax(prediction.mean)
    return places[int(best)]


def reliable_place(optimizer: Optimizer, u: Array, space: EncodedSpace, level: float) -> Array:
    """Return u (d,), or the place of the best robust mean among others if u would probably fail.

    The model of the payoffs knows nothing of failures, and its best mean may lie where no trial
    ends. The others are places near those that gave a payoff.
    """
    model = failure_model(optimizer)
    if model is None or model.probability(space.encode(u[None]))[0] <= TOLERATED:
        return u
    rng = np.random.default_rng([optimizer.seed, len(optimizer), 12])
    seen = np.unique(np.array(optimizer._positions), axis=0)
    near = seen[rng.integers(len(seen), size=_POOL)]
    near = np.clip(near + 0.05 * rng.standard_normal(near.shape), 0.0, 1.0)
    pool = space.snap(np.vstack([seen, near]))
    probability = model.probability(space.encode(pool))
    pool = pool[probability <= max(TOLERATED, float(probability.min()))]
    mean = optimizer._predict_places(pool, level).mean
    return pool[int(np.argmin(mean) if optimizer.minimize else np.argmax(mean))]


def comparison(optimizer: Optimizer, u: Array, level: float) -> Comparison | None:
    """Return how much better the configuration at u (d,) is than the baseline, if there is one."""
    current = optimizer._plan.baseline
    if current is None:
        return None
    both = np.vstack([u, current])
    if np.array_equal(u, current):  # the draws of equal points differ by rounding
        draws = np.zeros((1, 2))
    else:
        rng = np.random.default_rng([optimizer.seed, len(optimizer), 9])
        draws = optimizer._mean_draws(both, baseline.COMPARISON_DRAWS, rng)
    return baseline.compare_with_baseline(
        draws,
        optimizer._predict_places(both, level),
        minimize=optimizer.minimize,
        params=optimizer._plan.baseline_params,
        payoffs=sum(np.array_equal(current, place) for place in optimizer._positions),
        level=level,
    )


def remaining_gain(optimizer: Optimizer, level: float) -> RemainingGain:
    """Return what further trials may still gain over what is recommended now."""
    found = optimizer.recommend(level=level)
    u = optimizer._position_of_params(found.params)
    rng = np.random.default_rng([optimizer.seed, len(optimizer), 10])
    pool, spread = stopping.gain_pool(optimizer.space, u, np.array(optimizer._positions), rng)
    draws = optimizer._mean_draws(pool, stopping.DRAWS, rng)
    unit = found.mean if found.baseline is None else found.baseline.mean
    return stopping.gain_of_draws(draws, spread, level, len(optimizer), unit)


def failure_model(optimizer: Optimizer) -> FailureModel | None:
    """Return the estimate of the probability of failure; None if nothing has failed."""
    plan = optimizer._plan
    if not plan.failed:
        return None
    key = (len(optimizer), len(plan.failed))
    if plan.failure_model is None or plan.failure_model[0] != key:
        ended = sorted(set(optimizer._completed) | set(plan.failed))
        U = optimizer._stack_positions([optimizer._trials[number][1] for number in ended])
        failed = np.array([number in plan.failed for number in ended])
        columns = optimizer.space.parameter_of_column
        plan.failure_model = (key, fit_failures(optimizer.space.encode(U), failed, columns))
    return plan.failure_model[1]


def away_from_failures(
    optimizer: Optimizer, u: Array, number: int, space: EncodedSpace, seed: int
) -> Array:
    """Return u (d,), or a promising place nearby or elsewhere if u would probably fail.

    The other place is the best of a joint draw of the mean payoff at places that are not known to
    fail, or one of these at random before there are payoffs.
    """
    model = failure_model(optimizer)
    if model is None or model.probability(space.encode(u[None]))[0] <= TOLERATED:
        return u
    rng = np.random.default_rng([seed, number, 11])
    near = np.clip(u + 0.15 * rng.standard_normal((_POOL, len(u))), 0.0, 1.0)
    pool = space.snap(np.vstack([sobol(space.dimension, _POOL, rng), near]))
    probability = model.probability(space.encode(pool))
    pool = pool[probability <= max(TOLERATED, float(probability.min()) + 0.05)]
    if len(optimizer) < 2:
        return pool[rng.integers(len(pool))]
    return pool[int(np.argmax(optimizer._mean_draws(pool, 1, rng)[0]))]


def scalar_prediction(prediction: Prediction) -> Prediction:
    """Return a prediction at one configuration, (1,), as arrays without dimensions."""
    return replace(
        prediction,
        mean=prediction.mean.reshape(()),
        lower=prediction.lower.reshape(()),
        upper=prediction.upper.reshape(()),
    )
