"""What an optimizer decides besides its search: when the baseline runs, and what to recommend.

A trial is the baseline when that is due, a run of the race while there is one, and else what the
model proposes, away from where trials fail if that is asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof.search.acquisition import UpperConfidenceBound, maximize_acquisition, sobol
from tailproof.search.decision import baseline, race, stopping
from tailproof.search.decision.failures import TOLERATED, FailureModel, fit_failures
from tailproof.search.decision.race import Race
from tailproof.search.decision.stopping import RemainingGain
from tailproof.search.payoff_model import PayoffModel
from tailproof.search.results import BaselineComparison, Recommendation
from tailproof.search.space.configurations import Configurations
from tailproof.search.space.context import ContextSpace
from tailproof.search.space.encodings import EncodedSpace
from tailproof.search.space.space import Space
from tailproof.search.trials import TrialLog

Array = NDArray[np.float64]

_POOL = 256  # places among which one is chosen instead of one that probably fails


class DecisionPlan:
    """The baseline and the race of one optimizer, and what follows from them and its trials.

    Attributes
    ----------
    baseline, baseline_params
        The place (d,) and the configuration in use now; None and empty if there is none.
    race, race_trials
        The confirmation that runs now, or None, and the numbers of its trials.
    """

    def __init__(self, log: TrialLog, model: PayoffModel, seed: int) -> None:
        self._log, self._model, self._seed = log, model, seed
        self.baseline: Array | None = None
        self.baseline_params: dict[str, Any] = {}
        self.race: Race | None = None
        self.race_trials: set[int] = set()
        self._failures: tuple[tuple[int, int], FailureModel] | None = None

    def planned_place(self, number: int, pending: list[Array], seed: int) -> Array | None:
        """Return where trial `number` is if the baseline is due or a race is on, else None."""
        if self.race is not None:
            runs = self._runs_of_race(self.race, pending)
            rng = np.random.default_rng([seed, number, 7])
            alive = np.ones(len(runs), dtype=bool)
            if self._log.completed:
                draws = self._model.draw_means(self.race.places, race.DRAWS, rng)
                alive = race.in_race(draws, runs, has_baseline=self.race.has_baseline)
            return self.race.places[race.next_in_race(runs, alive, rng)]
        if self.baseline is not None:
            started = [*self._log.places, *self._log.failed_places(), *pending]
            runs_so_far = sum(np.array_equal(place, self.baseline) for place in started)
            if baseline.baseline_due(runs_so_far, number):
                return self.baseline
        return None

    def _runs_of_race(self, on: Race, pending: list[Array]) -> NDArray[np.int64]:
        """Return how often each configuration of the race was run in it or runs now, (c,)."""
        ended = [number for number in self.race_trials if number not in self._log.pending]
        places = [self._log.started[number][1] for number in ended]
        counts = np.zeros(len(on.places), dtype=np.int64)
        for place in [*places, *pending]:
            index = on.index(place)
            if index is not None:
                counts[index] += 1
        return counts

    def start_race(self, best: Array, count: int) -> Race:
        """Start a race of the place `best` (d,), others that may be better, and the baseline."""
        pool = np.unique(np.vstack([best[None], np.array(self._log.places)]), axis=0)
        draws = self._model.draw_means(pool, race.DRAWS, self._rng(8))
        first = int(np.flatnonzero((pool == best).all(axis=1))[0])
        places = pool[race.select_candidates(draws, first, count)]
        if self.baseline is not None:
            others = places[(places != self.baseline).any(axis=1)]
            places = np.vstack([others, self.baseline])
        self.race, self.race_trials = Race(places, self.baseline is not None), set()
        return self.race

    def resume_race(self, places: list[Array], trials: set[int]) -> None:
        """Go on with a race of these places, of which the last may be the baseline's."""
        last = self.baseline is not None and np.array_equal(places[-1], self.baseline)
        self.race, self.race_trials = Race(np.array(places), bool(last)), trials

    def confirmed_place(self) -> Array | None:
        """Return the place (d,) that the race recommends, of those that were run, if any."""
        if self.race is None:
            return None
        places = self.race.among(self._trusted_places())
        if not len(places):
            places = self.race.among(np.array(self._log.places))
        if not len(places):
            return None
        draws = self._model.draw_means(places, baseline.COMPARISON_DRAWS, self._rng(13))
        return places[race.winner(draws)]

    def recommended_place(
        self, space: Space | Configurations | ContextSpace, level: float
    ) -> Array:
        """Return the place (d,) to recommend in the space, or in a context of it.

        That of the best robust mean among those measured; after a race, its winner.
        """
        seen, posterior = np.array(self._log.places), self._model.posterior()
        if isinstance(space, ContextSpace):
            # Few or none were measured in the context: the model says what is best there.
            mean = UpperConfidenceBound(posterior, 0.0)
            best = maximize_acquisition(space, mean, seen, self._rng(1))
            places = np.vstack([seen[space.contains(seen)], best])
        else:
            confirmed = self.confirmed_place()
            if confirmed is not None:
                return confirmed
            # Of what was measured: a mean between measured places is the model's alone.
            places = self._trusted_places()
        u = places[int(np.argmax(posterior.ucb(space.encode(places), 0.0)))]
        return self._best_away_from_failures(u, space, level)

    def _trusted_places(self) -> Array:
        """Return the places of completed trials, (k, d), that may be recommended.

        A place whose payoffs are all outliers on the bad side is left out, if there are others: its
        estimated mean is that of its neighbors, and without noise its payoffs are right.
        """
        seen = np.array(self._log.places)
        trusted = seen[~self._model.refuted()]
        return trusted if len(trusted) else seen

    def recommendation(
        self, u: Array, params: dict[str, Any], space: EncodedSpace, level: float
    ) -> Recommendation:
        """Return what is to be said of the recommended place u (d,), which is that of `params`.

        The best observed payoff is that of the context `space`, if any was told there.
        """
        completed, places = list(self._log.completed.values()), np.array(self._log.places)
        inside = completed
        if isinstance(space, ContextSpace):
            flags = space.contains(places)
            inside = [done for done, flag in zip(completed, flags, strict=True) if flag]
        best = min if self._model.minimize else max
        best_observed = best(inside or completed, key=lambda done: done.value)
        same = (places == u).all(axis=1)
        prediction = self._model.predict(u[None], level)
        return Recommendation(
            params=params,
            mean=float(prediction.mean[0]),
            lower=float(prediction.lower[0]),
            upper=float(prediction.upper[0]),
            level=level,
            payoffs=sum(done.n for done, equal in zip(completed, same, strict=True) if equal),
            total_payoffs=sum(done.n for done in completed),
            clipped=int(self._model.posterior().clipped.sum()),
            tails=self._model.tails_in_words(),
            best_observed_params=dict(best_observed.trial.params),
            best_observed_value=best_observed.value,
            baseline=self.comparison(u, level),
        )

    def comparison(self, u: Array, level: float) -> BaselineComparison | None:
        """Return how much better the place u (d,) is than the baseline, if there is one."""
        current = self.baseline
        if current is None:
            return None
        both = np.vstack([u, current])
        if np.array_equal(u, current):  # the draws of equal points differ by rounding
            draws = np.zeros((1, 2))
        else:
            draws = self._model.draw_means(both, baseline.COMPARISON_DRAWS, self._rng(9))
        return baseline.compare_with_baseline(
            draws,
            self._model.predict(both, level),
            minimize=self._model.minimize,
            params=self.baseline_params,
            payoffs=sum(np.array_equal(current, place) for place in self._log.places),
            level=level,
        )

    def remaining_gain(self, found: Recommendation, u: Array, level: float) -> RemainingGain:
        """Return what further trials may still gain over what is recommended now, at u (d,)."""
        rng, seen = self._rng(10), np.array(self._log.places)
        pool, spread = stopping.gain_pool(self._model.space, u, seen, rng)
        draws = self._model.draw_means(pool, stopping.DRAWS, rng)
        unit = found.mean if found.baseline is None else found.baseline.mean
        return stopping.gain_of_draws(draws, spread, level, len(seen), unit)

    def failure_model(self) -> FailureModel | None:
        """Return the estimate of the probability of failure; None if nothing has failed."""
        log, space = self._log, self._model.space
        if not log.failed:
            return None
        key = (len(log.completed), len(log.failed))
        if self._failures is None or self._failures[0] != key:
            ended = sorted(set(log.completed) | set(log.failed))
            U = space.stack([log.started[number][1] for number in ended])
            failed = np.array([number in log.failed for number in ended])
            model = fit_failures(space.encode(U), failed, space.parameter_of_column)
            self._failures = (key, model)
        return self._failures[1]

    def proposal_away_from_failures(
        self, u: Array, number: int, space: EncodedSpace, seed: int
    ) -> Array:
        """Return u (d,), or a promising place nearby or elsewhere if u would probably fail.

        The other place is the best of a joint draw of the mean payoff at places that are not known
        to fail, or one of these at random before there are payoffs.
        """
        model = self.failure_model()
        if model is None or model.probability(space.encode(u[None]))[0] <= TOLERATED:
            return u
        rng = np.random.default_rng([seed, number, 11])
        near = np.clip(u + 0.15 * rng.standard_normal((_POOL, len(u))), 0.0, 1.0)
        pool = space.snap(np.vstack([sobol(space.dimension, _POOL, rng), near]))
        probability = model.probability(space.encode(pool))
        pool = pool[probability <= max(TOLERATED, float(probability.min()) + 0.05)]
        if len(self._log.completed) < 2:
            return pool[rng.integers(len(pool))]
        return pool[int(np.argmax(self._model.draw_means(pool, 1, rng)[0]))]

    def _best_away_from_failures(self, u: Array, space: EncodedSpace, level: float) -> Array:
        """Return u (d,), or the place of the best robust mean among others if u probably fails.

        The model of the payoffs knows nothing of failures, and its best mean may lie where no trial
        ends. The others are places near those that gave a payoff.
        """
        model = self.failure_model()
        if model is None or model.probability(space.encode(u[None]))[0] <= TOLERATED:
            return u
        rng = self._rng(12)
        seen = np.unique(np.array(self._log.places), axis=0)
        near = seen[rng.integers(len(seen), size=_POOL)]
        near = np.clip(near + 0.05 * rng.standard_normal(near.shape), 0.0, 1.0)
        pool = space.snap(np.vstack([seen, near]))
        probability = model.probability(space.encode(pool))
        pool = pool[probability <= max(TOLERATED, float(probability.min()))]
        return self._model.best_of(pool, level)

    def _rng(self, stream: int) -> np.random.Generator:
        """Return random numbers for one decision, the same ones while no payoff is told."""
        return np.random.default_rng([self._seed, len(self._log.completed), stream])
