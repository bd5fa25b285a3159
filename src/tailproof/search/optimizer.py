"""The practical optimizer: ask, tell, recommend over a mixed space, nothing to know in advance.

Everything it does follows from the space, the options, the seed and the payoffs told, in their
order: what is kept in between saves time only. So it can be saved at any moment, or rebuilt from a
record of its trials, and goes on bit for bit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tailproof import storage
from tailproof._util import checks
from tailproof.search import measurements
from tailproof.search.acquisition.designs import random_point, sobol_point
from tailproof.search.acquisition.optimize import maximize_ucb
from tailproof.search.decision import plan as decision
from tailproof.search.decision.stopping import RemainingGain
from tailproof.search.model.fit import next_refit
from tailproof.search.model.parameters import ModelConfig, ModelParameters, Observations
from tailproof.search.model.posterior import (
    Posterior,
    influence_of_most_extreme,
    interval,
    keep_sign,
)
from tailproof.search.model.two_part import (
    TwoPartParameters,
    TwoPartPosterior,
    condition,
    fit_model,
)
from tailproof.search.options import Options, kernel_layout
from tailproof.search.space.context import ContextSpace
from tailproof.search.space.parameters import Float
from tailproof.search.space.space import Configurations, Space
from tailproof.search.trials import (
    CompletedTrial,
    FailedTrial,
    Prediction,
    Recommendation,
    Trial,
)

Array = NDArray[np.float64]
AnySpace = Space | Configurations | ContextSpace

AnyParameters = ModelParameters | TwoPartParameters
AnyPosterior = Posterior | TwoPartPosterior

# Two models: the one that recommends, and one of truncated payoffs that proposes now and then.
ROBUST, DIRECT = "robust", "direct"
# Every fourth fit does not start from the one before: a bad start is overcome, and a rebuilt
# optimizer has at most four fits to repeat.
_FRESH = 4
# Of pending trials about one in so many may be this close to each other, as a share of the cube's
# side: pending trials do not move the mean, which would send all of them to one place.
_SHARE, _CLOSE = 4, 0.01
# Fewest payoffs whose tails are diagnosed, and the variance below which noise is none: a hundredth
# of the payoffs' deviation.
_FEWEST_FOR_TAILS, _LEAST_NOISE = 20, 1e-4


class Optimizer:
    """Find the configuration with the best mean payoff, knowing nothing in advance.

    Parameters
    ----------
    space
        A `Space` of parameters, or `Configurations`, a finite list.
    seed
        Of everything random: the same seed and the same payoffs give the same trials.
    minimize
        Whether payoffs are costs.
    options
        How it works; the defaults suit most problems.
    baseline
        The configuration in use now: see `baseline`.
    fail_value
        Payoff of a trial that failed; None if failed trials are left out of every mean.
    avoid_failures
        Whether trials keep away from where trials probably fail; so they do with a `fail_value`.

    Examples
    --------
    >>> import tailproof as tp
    >>> space = tp.Space(x=tp.Float(0, 1), n=tp.Int(1, 4))
    >>> opt = tp.Optimizer(space, seed=0)
    >>> for _ in range(20):
    ...     trial = opt.ask()
    ...     opt.tell(trial, trial.params["n"] - (trial.params["x"] - 0.5) ** 2)
    >>> opt.recommend().params["n"]
    4
    """

    def __init__(
        self,
        space: Space | Configurations,
        *,
        seed: int = 0,
        minimize: bool = False,
        options: Options | None = None,
        baseline: Mapping[str, Any] | None = None,
        fail_value: float | None = None,
        avoid_failures: bool = False,
    ) -> None:
        if not isinstance(space, Space | Configurations):
            raise ValueError(f"`space` must be a Space or Configurations, but got {space!r}.")
        if options is not None and not isinstance(options, Options):
            raise ValueError(f"`options` must be Options(...), but got {options!r}.")
        self.space, self.options = space, options or Options()
        self.seed = checks.integer("seed", seed, low=0)
        self.minimize = checks.flag("minimize", minimize)
        config = ModelConfig(
            kernel_layout(space, self.options),
            self.options.warp,
            self.options.noise,
            self.options.corrects_mean,
        )
        self._configs = {ROBUST: config, DIRECT: config.direct()}
        self._n_initial = self.options.n_initial or max(6, space.dimension + 1)
        self._trials: dict[int, tuple[Trial, Array]] = {}
        self._pending: dict[int, None] = {}
        self._completed: dict[int, CompletedTrial] = {}
        self._positions: list[Array] = []  # of the completed trials
        self._models: dict[str, AnyParameters] = {}
        self._posterior: tuple[Any, AnyPosterior] | None = None
        self.fail_value = (
            None if fail_value is None else measurements.payoff("fail_value", fail_value)
        )
        self.avoid_failures = checks.flag("avoid_failures", avoid_failures)
        self._plan = decision.DecisionPlan()
        if baseline is not None:
            self.baseline(baseline)

    def __len__(self) -> int:
        return len(self._completed)

    def __repr__(self) -> str:
        aim = "minimize" if self.minimize else "maximize"
        return f"<Optimizer: {aim} over {self.space!r}, {len(self)} payoffs>"

    @property
    def trials(self) -> list[CompletedTrial]:
        """The payoffs told, in the order they came."""
        return [replace(d, trial=d.trial._copy()) for d in self._completed.values()]

    @property
    def pending(self) -> list[Trial]:
        """Trials asked, neither told nor withdrawn."""
        return [self._trials[number][0]._copy() for number in self._pending]

    @property
    def failures(self) -> list[FailedTrial]:
        """Trials that failed, in the order they were told."""
        failed = self._plan.failed.items()
        return [FailedTrial(self._trials[number][0]._copy(), reason) for number, reason in failed]

    @property
    def clipped(self) -> NDArray[np.bool_]:
        """Which payoffs of `trials` have a residual that the robust loss limits, (n,)."""
        if not self._completed:
            return np.zeros(0, dtype=np.bool_)
        flags = self._condition_model([]).clipped
        return np.asarray(measurements.by_trial(list(self._completed.values()), flags))

    @overload
    def ask(self, count: None = None, *, context: Mapping[str, Any] | None = None) -> Trial: ...

    @overload
    def ask(self, count: int, *, context: Mapping[str, Any] | None = None) -> list[Trial]: ...

    def ask(
        self, count: int | None = None, *, context: Mapping[str, Any] | None = None
    ) -> Trial | list[Trial]:
        """Return the next trial, or `count` of them; each is pending until told or withdrawn.

        Pending trials are taken into account.

        Parameters
        ----------
        count
            Number of trials, returned as a list; None for one trial, returned by itself.
        context
            Values of parameters that are given, not chosen, such as the hour or the client: the
            trial has them, and the others are chosen for them.
        """
        if count is not None:
            return [self.ask(context=context) for _ in range(checks.integer("count", count, low=1))]
        number, space = len(self._trials), self._search_space(context)
        pending = [self._trials[waiting][1] for waiting in self._pending]
        u = self._next_place(number, pending, space, self.seed)
        trial = Trial(number, self._params_of_place(u, context))
        if self._plan.race is not None and context is None:
            self._plan.race_trials.add(number)
        self._trials[number] = (trial, u)
        self._pending[number] = None
        return trial._copy()

    def propose(
        self,
        number: int,
        pending: Iterable[Mapping[str, Any]] = (),
        *,
        context: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> dict[str, Any]:
        """Return what would be asked as trial `number` while `pending` are running; change nothing.

        For programs that keep trials elsewhere: it depends on the payoffs told, in their order, on
        `pending`, `number`, `context` and the seed alone. `seed` replaces the optimizer's own.
        """
        number, space = checks.integer("number", number, low=0), self._search_space(context)
        positions = self._positions_of("pending", pending)
        chosen = self.seed if seed is None else checks.integer("seed", seed, low=0)
        return self._params_of_place(self._next_place(number, positions, space, chosen), context)

    def tell(
        self,
        trial: Trial | int,
        value: float | Sequence[float] | None = None,
        *,
        mean: float | None = None,
        sem: float | None = None,
        n: int | None = None,
    ) -> None:
        """Take what was measured in a trial, given by itself or its number, in any order.

        The payoff of a trial that was withdrawn may still come.

        Parameters
        ----------
        trial
            The trial, or its number.
        value
            Its payoff, or several payoffs of the same configuration.
        mean, sem, n
            Instead of `value`: the mean of n payoffs and its standard error, both in units of the
            payoff. A mean counts as an observation of the mean payoff with that error.

        Examples
        --------
        >>> import tailproof as tp
        >>> opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1)))
        >>> opt.tell(opt.ask(), [1.0, 1.2, 0.9])
        >>> opt.tell(opt.ask(), mean=1.1, sem=0.05, n=20)
        >>> [done.n for done in opt.trials]
        [3, 20]
        """
        number = self._trial_number(trial)
        if number in self._completed:
            raise ValueError(f"`trial` must not be told before, but trial {number} was.")
        asked, u = self._trials[number]
        completed = measurements.measured(asked, value, mean, sem, n)
        self._pending.pop(number, None)
        self._completed[number] = completed
        self._positions.append(u)

    def add(
        self,
        params: Mapping[str, Any],
        value: float | Sequence[float] | None = None,
        *,
        mean: float | None = None,
        sem: float | None = None,
        n: int | None = None,
    ) -> Trial:
        """Take what was measured elsewhere, as `tell` does, and return the trial it makes."""
        u = self._position_of_params(params)
        number = len(self._trials)
        trial = Trial(number, self._params_at(u, params))
        self._trials[number] = (trial, u)
        try:
            self.tell(number, value, mean=mean, sem=sem, n=n)
        except ValueError:
            del self._trials[number]
            raise
        return trial._copy()

    def add_failure(self, params: Mapping[str, Any], reason: str = "") -> Trial:
        """Take note of a failure elsewhere, and return the trial it makes: see `fail`."""
        u = self._position_of_params(params)
        number = len(self._trials)
        self._trials[number] = (Trial(number, self._params_at(u, params)), u)
        self.fail(number, reason)
        return self._trials[number][0]._copy()

    def withdraw(self, trial: Trial | int) -> None:
        """Give up a pending trial: it no longer counts as running."""
        number = self._trial_number(trial)
        if number not in self._pending:
            raise ValueError(f"`trial` must be pending, but trial {number} is not.")
        del self._pending[number]

    def fail(self, trial: Trial | int, reason: str = "") -> None:
        """Take note that a trial gave no payoff, and why.

        With a `fail_value` the trial gets that payoff. Without one it is left out of every mean;
        `avoid_failures` decides whether the search keeps away from such configurations.
        """
        number = self._trial_number(trial)
        if number in self._completed or number in self._plan.failed:
            raise ValueError(f"`trial` must not be told before, but trial {number} was.")
        if self.fail_value is not None:
            self.tell(number, self.fail_value)
        self._pending.pop(number, None)
        self._plan.failed[number] = str(reason)

    def baseline(self, params: Mapping[str, Any]) -> None:
        """Take the configuration in use now, which every recommendation is compared with.

        It is the next trial, and is asked again now and then, about sqrt(n) / 2 times in n trials.
        Parameters that are Fixed may be left out.

        Examples
        --------
        >>> import tailproof as tp
        >>> opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1)))
        >>> opt.baseline({"x": 0.9})
        >>> for _ in range(20):
        ...     trial = opt.ask()
        ...     opt.tell(trial, -((trial.params["x"] - 0.3) ** 2))
        >>> opt.recommend().baseline.probability > 0.9
        True
        """
        whole = decision.with_fixed(self.space, params) if isinstance(params, Mapping) else params
        u = self._position_of_params(whole)
        self._plan.baseline, self._plan.baseline_params = u, self._params_at(u, whole)
        self._plan.race = None

    def confirm(self, count: int = 4) -> list[dict[str, Any]]:
        """Start to confirm: `ask` runs the few best configurations and the baseline from now on.

        They run in blocks of random order, so that drift affects all alike, and those that are
        clearly worse drop out. `recommend` returns the best of those that were run. A call during
        a confirmation starts another one; `resume_search` ends it.

        Parameters
        ----------
        count
            How many configurations besides the baseline, at most.

        Returns
        -------
        list of dict
            The configurations to be run, the baseline last.

        Examples
        --------
        >>> import tailproof as tp
        >>> opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1)), baseline={"x": 0.9})
        >>> for _ in range(20):
        ...     trial = opt.ask()
        ...     opt.tell(trial, -((trial.params["x"] - 0.3) ** 2))
        >>> runs = opt.confirm(2)
        >>> for _ in range(6):
        ...     trial = opt.ask()
        ...     opt.tell(trial, -((trial.params["x"] - 0.3) ** 2))
        >>> opt.recommend().params in runs
        True
        """
        count = checks.integer("count", count, low=1)
        self._need_payoffs()
        self._plan.race = None
        self._plan.race = decision.start_race(self, count)
        self._plan.race_trials = set()
        return [self._params_of_place(u) for u in self._plan.race.places]

    def resume_confirmation(
        self, candidates: Sequence[Mapping[str, Any]], trials: Iterable[Trial | int] = ()
    ) -> None:
        """Go on with a confirmation of `candidates`, as `confirm` returned them.

        For programs that keep trials elsewhere: `trials` are those of the race so far.
        """
        places = self._positions_of("candidates", candidates)
        if not places:
            raise ValueError("`candidates` must hold a configuration, but got none.")
        numbers = {self._trial_number(trial) for trial in trials}
        self._plan.race = decision.race_of(self, places)
        self._plan.race_trials = numbers

    def resume_search(self) -> None:
        """End a confirmation: `ask` searches again, and `recommend` considers everything."""
        self._plan.race, self._plan.race_trials = None, set()

    def remaining_gain(self, *, level: float = 0.9) -> RemainingGain:
        """Return what further trials may still gain over what is recommended now.

        Practical, not a bound: it rests on the model. `upper` holds with probability `level`.

        Examples
        --------
        >>> import tailproof as tp
        >>> opt = tp.Optimizer(tp.Space(x=tp.Float(0, 1)))
        >>> for _ in range(30):
        ...     trial = opt.ask()
        ...     opt.tell(trial, -((trial.params["x"] - 0.3) ** 2))
        >>> gain = opt.remaining_gain()
        >>> 0.0 <= gain.expected < 0.1 and 0.0 <= gain.upper < 0.1
        True
        """
        level = checks.in_unit_interval("level", level, closed_above=False)
        self._need_payoffs()
        return decision.remaining_gain(self, level)

    def failure_probability(self, configurations: Sequence[Mapping[str, Any]]) -> Array:
        """Return the probability that configurations fail, (k,): see `search.decision.failures`."""
        X = self.space.encode(
            self._stack_positions(self._positions_of("configurations", configurations))
        )
        model = decision.failure_model(self)
        return np.zeros(len(X)) if model is None else model.probability(X)

    def predict(
        self,
        configurations: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        level: float = 0.9,
    ) -> Prediction:
        """Return the robust mean payoff at one configuration or many, with an interval."""
        level = checks.in_unit_interval("level", level, closed_above=False)
        self._need_payoffs()
        if isinstance(configurations, Mapping):
            return decision.scalar_prediction(self.predict([configurations], level=level))
        positions = self._positions_of("configurations", configurations)
        return self._predict_at(self._condition_model([]), self._stack_positions(positions), level)

    def recommend(
        self, *, level: float = 0.9, context: Mapping[str, Any] | None = None
    ) -> Recommendation:
        """Return the configuration with the best robust mean, not the one of the best payoff.

        Parameters
        ----------
        level
            Confidence level of the interval.
        context
            Values of some parameters: then it is the best of the configurations that have them,
            and the best observed one is of those, too, if any was measured. Counts and tails are
            of all payoffs.
        """
        level = checks.in_unit_interval("level", level, closed_above=False)
        space = self._search_space(context)
        self._need_payoffs()
        posterior = self._condition_model([])
        rng = np.random.default_rng([self.seed, len(self), 1])
        seen, completed = np.array(self._positions), list(self._completed.values())
        if isinstance(space, ContextSpace):
            inside = space.contains(seen)
            completed = [d for d, agrees in zip(completed, inside, strict=True) if agrees]
            completed = completed or list(self._completed.values())
            # Few or none were measured in the context: the model says what is best there.
            u = maximize_ucb(space, posterior, 0.0, seen, rng)
            places = np.vstack([seen[inside], u])
        else:
            # Of what was measured: a mean between measured places is the model's alone.
            places = seen
        u = places[int(np.argmax(posterior.ucb(self.space.encode(places), 0.0)))]
        confirmed = None if context is not None else decision.confirmed_place(self, level)
        u = decision.reliable_place(self, u, space, level) if confirmed is None else confirmed
        prediction = self._predict_at(posterior, u[None], level)
        best_observed = (min if self.minimize else max)(completed, key=lambda d: d.value)
        return Recommendation(
            params=self._params_of_place(u, context),
            mean=float(prediction.mean[0]),
            lower=float(prediction.lower[0]),
            upper=float(prediction.upper[0]),
            level=level,
            payoffs=sum(
                done.n
                for done, place in zip(self._completed.values(), self._positions, strict=True)
                if np.array_equal(u, place)
            ),
            total_payoffs=sum(done.n for done in self._completed.values()),
            clipped=int(posterior.clipped.sum()),
            tails=_tails_in_words(posterior),
            best_observed_params=dict(best_observed.trial.params),
            best_observed_value=best_observed.value,
            baseline=decision.comparison(self, u, level),
        )

    def to_frame(self) -> Any:
        """Return the trials as a pandas DataFrame: number, state, value, clipped, reason, params.

        One row for each trial that was asked or added. Needs pandas.
        """
        from tailproof.search import views

        return views.to_frame(self)

    def _repr_html_(self) -> str:
        from tailproof.search import views

        return views.optimizer_html(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one npz file; `tailproof.load` reads it and goes on bit for bit."""
        from tailproof.search import state

        storage.save(path, state.FORMAT, *state.to_state(self))

    def _trial_number(self, trial: Trial | int) -> int:
        number = trial.number if isinstance(trial, Trial) else trial
        integer = isinstance(number, int | np.integer) and not isinstance(number, bool)
        asked = self._trials[int(number)][0] if integer and int(number) in self._trials else None
        if asked is None or (isinstance(trial, Trial) and trial != asked):
            raise ValueError(f"`trial` must be one that was asked here, but got {trial!r}.")
        return int(number)

    def _next_place(self, number: int, pending: list[Array], space: AnySpace, seed: int) -> Array:
        """Return where trial `number` is to be: as planned, or as the model proposes."""
        if not isinstance(space, ContextSpace):
            planned = decision.planned_place(self, number, pending, seed)
            if planned is not None:
                return planned
        # Failed trials have no payoff to tell: without this the same place would be asked for ever.
        failed = [self._trials[n][1] for n in self._plan.failed if n not in self._completed]
        u = self._new_point(number, [*pending, *failed], space, seed)
        if not (self.avoid_failures or self.fail_value is not None):
            return u
        return decision.away_from_failures(self, u, number, space, seed)

    def _started_places(self) -> list[Array]:
        """Return where trials ended, with a payoff or without."""
        failed = [self._trials[n][1] for n in self._plan.failed if n not in self._completed]
        return [*self._positions, *failed]

    def _mean_draws(self, U: Array, count: int, rng: np.random.Generator) -> Array:
        """Return joint draws (count, k) of the mean payoff at places U (k, d), larger is better."""
        return self._condition_model([]).sample_means(self.space.encode(U), count, rng)

    def _predict_places(self, U: Array, level: float) -> Prediction:
        return self._predict_at(self._condition_model([]), U, level)

    def _params_of_place(
        self, u: Array, context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the configuration at u; baseline and context keep all digits of their values."""
        at_baseline = self._plan.baseline is not None and np.array_equal(u, self._plan.baseline)
        known = self._plan.baseline_params if at_baseline and context is None else context
        return self._params_at(u, known)

    def _search_space(self, context: Mapping[str, Any] | None) -> AnySpace:
        """Return what is searched: the space, or the part of it that agrees with a context."""
        return ContextSpace(self.space, context) if context else self.space

    def _params_at(self, u: Array, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the configuration at u; continuous values that were given keep all their digits.

        The cube has fewer.
        """
        params = self.space.params(u)
        if given is None or not isinstance(self.space, Space):
            return params
        for name, p in self.space.parameters.items():
            if name in given and isinstance(p, Float) and p.count is None:
                params[name] = float(given[name])
        return params

    def _position_of_params(self, params: Mapping[str, Any]) -> Array:
        return self.space.snap(self.space.position(params)[None])[0]

    def _positions_of(self, name: str, configurations: Any) -> list[Array]:
        if isinstance(configurations, Mapping) or not isinstance(configurations, Iterable):
            raise ValueError(f"`{name}` must be a list of dicts, but got {configurations!r}.")
        return [self._position_of_params(params) for params in configurations]

    def _stack_positions(self, positions: list[Array]) -> Array:
        """Return positions as the rows of an array, (k, dimension)."""
        return np.array(positions).reshape(len(positions), self.space.dimension)

    def _need_payoffs(self) -> None:
        if not self._completed:
            raise ValueError("`tell` must have been called before, but no payoff is known.")

    def _observations(self) -> Observations:
        points = self.space.encode(self._stack_positions(self._positions))
        sign = -1.0 if self.minimize else 1.0
        return measurements.observations(list(self._completed.values()), points, sign)

    def _new_point(self, number: int, pending: list[Array], space: AnySpace, seed: int) -> Array:
        at_random = isinstance(space, ContextSpace)
        design = random_point if at_random else sobol_point
        if number < self._n_initial or len(self) < self._payoffs_at_first_fit():
            return design(space, number, [seed])
        posterior = self._condition_model(pending)
        every = self.options.second_opinion
        if every and number % every == 0 and posterior.rests_on_tails:
            posterior = self._condition_model(pending, DIRECT)
        U = self._stack_positions(pending)
        seen = np.vstack([np.array(self._positions), U])
        rng = np.random.default_rng([seed, number])
        u = maximize_ucb(space, posterior, self.options.kappa, seen, rng)
        crowded = len(U) and space.count is None and _count_trials_near(U, u) > 1 + len(U) // _SHARE
        return design(space, number, [seed, 0, 5]) if crowded else u

    def _payoffs_at_first_fit(self) -> int:
        """Return the number of payoffs at which the first fit is due."""
        return max(self._n_initial // 2, 2)

    def _fit_model(self, observations: Observations, kind: str) -> AnyParameters:
        """Return the parameters of the last fit that was due, with those before it if needed."""
        count, config = len(observations), self._configs[kind]
        if count < self._payoffs_at_first_fit():
            return fit_model(observations, None, config)
        due = [self._payoffs_at_first_fit()]
        while next_refit(due[-1]) <= count:
            due.append(next_refit(due[-1]))
        model = self._models.get(kind)
        if model is not None and model.count == due[-1]:
            return model
        begin = (len(due) - 1) // _FRESH * _FRESH
        if kind == DIRECT:  # its fit does not start from the one before
            begin = len(due) - 1
        if model is not None and model.count not in due[begin:]:
            model = None
        for index in range(begin, len(due)):
            if model is None or model.count < due[index]:
                start = None if index == begin else model
                model = fit_model(observations.take(slice(due[index])), start, config)
        assert model is not None
        self._models[kind] = model
        return model

    def _condition_model(self, pending: list[Array], kind: str = ROBUST) -> AnyPosterior:
        """Return the posterior given all payoffs and pending positions; the last one is kept."""
        key = (kind, len(self), len(pending), np.array(pending).tobytes())
        if self._posterior is None or self._posterior[0] != key:
            observations = self._observations()
            waiting = self.space.encode(self._stack_positions(pending))
            model = self._fit_model(observations, kind)
            posterior = condition(observations, waiting, model, self._configs[kind])
            self._posterior = (key, posterior)
        return self._posterior[1]

    def _predict_at(self, posterior: AnyPosterior, U: Array, level: float) -> Prediction:
        X = self.space.encode(U)
        if isinstance(posterior, TwoPartPosterior):
            mean, lower, upper = posterior.interval(X, level)
        else:
            config, observations = self._configs[ROBUST], self._observations()
            sway = influence_of_most_extreme(posterior, observations, config, X)
            mean, lower, upper = interval(posterior, X, level, sway)
        if self.minimize:
            mean, lower, upper = -mean, -upper, -lower
        payoffs = [done.value for done in self._completed.values()]
        mean, lower, upper = keep_sign(np.array([mean, lower, upper]), min(payoffs), max(payoffs))
        return Prediction(mean, lower, upper, level)


def _count_trials_near(U: Array, u: Array) -> int:
    """Return how many trials, at the rows of U (n, d), are close to u (d,)."""
    return int(np.sum(np.abs(U - u).max(axis=1) < _CLOSE))


def _tails_in_words(posterior: AnyPosterior) -> str:
    """Say in words how heavy the tails of the noise look, apart from effects of the parameters."""
    residuals = posterior.noise_residuals
    if posterior.n_residuals < _FEWEST_FOR_TAILS:
        return f"tails not judged from fewer than {_FEWEST_FOR_TAILS} single payoffs"
    if posterior.noise_var <= _LEAST_NOISE:
        return "no noise seen"
    if len(residuals) < _FEWEST_FOR_TAILS or float(np.ptp(residuals)) == 0.0:
        return "tails not judged: the noise is not known apart from effects of the parameters"
    from tailproof.tails import diagnose  # loads scipy.stats, which is slow

    return f"{diagnose(np.clip(residuals, -1e60, 1e60)).pooled.verdict}"
