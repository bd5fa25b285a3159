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
from tailproof.search.decision.plan import DecisionPlan
from tailproof.search.decision.stopping import RemainingGain
from tailproof.search.options import Options, model_config
from tailproof.search.payoff_model import PayoffModel
from tailproof.search.proposals import Proposer
from tailproof.search.results import Prediction, Recommendation
from tailproof.search.space.configurations import Configurations
from tailproof.search.space.context import ContextSpace
from tailproof.search.space.space import Space, params_at, place_of, places_of, with_fixed
from tailproof.search.trials import CompletedTrial, FailedTrial, Trial, TrialLog, measured, payoff

Array = NDArray[np.float64]
AnySpace = Space | Configurations | ContextSpace


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
        Payoff of a trial that failed; None if failed trials are left out of every mean. One that
        is worse than all other payoffs by more than their range counts as one that is so by it.
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
        self._log = TrialLog()
        n_initial = self.options.n_initial or max(6, space.dimension + 1)
        config, first_fit = model_config(space, self.options), max(n_initial // 2, 2)
        self._model = PayoffModel(
            space, self._log, config, first_fit=first_fit, minimize=self.minimize
        )
        self._proposer = Proposer(self._log, self._model, self.options, n_initial)
        self._plan = DecisionPlan(self._log, self._model, self.seed)
        self.fail_value = None if fail_value is None else payoff("fail_value", fail_value)
        self.avoid_failures = checks.flag("avoid_failures", avoid_failures)
        if baseline is not None:
            self.baseline(baseline)

    def __len__(self) -> int:
        return len(self._log.completed)

    def __repr__(self) -> str:
        aim = "minimize" if self.minimize else "maximize"
        return f"<Optimizer: {aim} over {self.space!r}, {len(self)} payoffs>"

    @property
    def trials(self) -> list[CompletedTrial]:
        """The payoffs told, in the order they came."""
        return [replace(d, trial=d.trial._copy()) for d in self._log.completed.values()]

    @property
    def pending(self) -> list[Trial]:
        """Trials asked, neither told nor withdrawn."""
        return [self._log.started[number][0]._copy() for number in self._log.pending]

    @property
    def failures(self) -> list[FailedTrial]:
        """Trials that failed, in the order they were told."""
        return self._log.failures()

    @property
    def clipped(self) -> NDArray[np.bool_]:
        """Which payoffs of `trials` have a residual that the robust loss limits, (n,)."""
        return self._model.clipped()

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
        number, space = len(self._log.started), self._search_space(context)
        u = self._next_place(number, self._log.pending_places(), space, self.seed)
        trial = Trial(number, self._params_of_place(u, context))
        if self._plan.race is not None and context is None:
            self._plan.race_trials.add(number)
        self._log.start(trial, u, pending=True)
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
        places = places_of(self.space, "pending", pending)
        chosen = self.seed if seed is None else checks.integer("seed", seed, low=0)
        return self._params_of_place(self._next_place(number, places, space, chosen), context)

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
        number = self._log.number_of(trial)
        self._log.refuse_told(number, failed=False)
        asked, _ = self._log.started[number]
        self._log.complete(measured(asked, value, mean, sem, n))

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
        u = place_of(self.space, params)
        trial = Trial(len(self._log.started), params_at(self.space, u, params))
        completed = measured(trial, value, mean, sem, n)
        self._log.start(trial, u, pending=False)
        self._log.complete(completed)
        return trial._copy()

    def add_failure(
        self, params: Mapping[str, Any], reason: str = "", *, value: float | None = None
    ) -> Trial:
        """Take note of a failure elsewhere, and return the trial it makes: see `fail`.

        `value` is the payoff that it is given; by default the `fail_value`, if there is one.
        """
        u = place_of(self.space, params)
        trial = Trial(len(self._log.started), params_at(self.space, u, params))
        given = self.fail_value if value is None else payoff("value", value)
        self._log.start(trial, u, pending=False)
        self._fail(trial, reason, given)
        return trial._copy()

    def withdraw(self, trial: Trial | int) -> None:
        """Give up a pending trial: it no longer counts as running."""
        self._log.withdraw(self._log.number_of(trial))

    def fail(self, trial: Trial | int, reason: str = "") -> None:
        """Take note that a trial gave no payoff, and why.

        With a `fail_value` the trial gets that payoff. Without one it is left out of every mean;
        `avoid_failures` decides whether the search keeps away from such configurations.
        """
        self._fail(trial, reason, self.fail_value)

    def _fail(self, trial: Trial | int, reason: str, value: float | None) -> None:
        """Take note of a failure that is given this payoff, or none."""
        number = self._log.number_of(trial)
        self._log.refuse_told(number, failed=True)
        if value is not None:
            self.tell(number, value)
        self._log.fail(number, reason)

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
        whole = with_fixed(self.space, params) if isinstance(params, Mapping) else params
        u = place_of(self.space, whole)
        self._plan.baseline, self._plan.baseline_params = u, params_at(self.space, u, whole)
        self._plan.race = None

    def confirm(self, count: int = 4) -> list[dict[str, Any]]:
        """Start to confirm: `ask` runs the few best configurations and the baseline from now on.

        They run in blocks of random order, so that drift affects all alike, and those that are
        clearly worse drop out. `recommend` returns the one of those that were run whose mean has
        the best lower quartile, so that one of which little is known must be better by more. A call
        during a confirmation starts another one; `resume_search` ends it.

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
        self._log.require_payoffs()
        self._plan.race = None
        race = self._plan.start_race(place_of(self.space, self.recommend().params), count)
        return [self._params_of_place(u) for u in race.places]

    def resume_confirmation(
        self, candidates: Sequence[Mapping[str, Any]], trials: Iterable[Trial | int] = ()
    ) -> None:
        """Go on with a confirmation of `candidates`, as `confirm` returned them.

        For programs that keep trials elsewhere: `trials` are those of the race so far.
        """
        places = places_of(self.space, "candidates", candidates)
        if not places:
            raise ValueError("`candidates` must hold a configuration, but got none.")
        self._plan.resume_race(places, {self._log.number_of(trial) for trial in trials})

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
        self._log.require_payoffs()
        found = self.recommend(level=level)
        return self._plan.remaining_gain(found, place_of(self.space, found.params), level)

    def failure_probability(self, configurations: Sequence[Mapping[str, Any]]) -> Array:
        """Return the probability that configurations fail, (k,): see `search.decision.failures`."""
        places = places_of(self.space, "configurations", configurations)
        X = self.space.encode(self.space.stack(places))
        model = self._plan.failure_model()
        return np.zeros(len(X)) if model is None else model.probability(X)

    def predict(
        self,
        configurations: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        level: float = 0.9,
    ) -> Prediction:
        """Return the robust mean payoff at one configuration or many, with an interval."""
        level = checks.in_unit_interval("level", level, closed_above=False)
        self._log.require_payoffs()
        if isinstance(configurations, Mapping):
            return self.predict([configurations], level=level)._without_axis()
        places = places_of(self.space, "configurations", configurations)
        return self._model.predict(self.space.stack(places), level)

    def recommend(
        self, *, level: float = 0.9, context: Mapping[str, Any] | None = None
    ) -> Recommendation:
        """Return the configuration with the best robust mean, not the one of the best payoff.

        Of those measured; after a confirmation that of the best lower quartile among those it ran.

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
        self._log.require_payoffs()
        u = self._plan.recommended_place(space, level)
        return self._plan.recommendation(u, self._params_of_place(u, context), space, level)

    def to_frame(self) -> Any:
        """Return the trials as a pandas DataFrame: number, state, value, clipped, reason, params.

        One row for each trial that was asked or added. Needs pandas.
        """
        from tailproof.search import views

        return views.to_frame(self)

    def _repr_html_(self) -> str:
        """Return the recommendation and the latest trials, for notebooks."""
        from tailproof.search import views

        return views.optimizer_html(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one npz file; `tailproof.load` reads it and goes on bit for bit."""
        from tailproof.search import state

        storage.save(path, state.FORMAT, *state.to_state(self))

    def _next_place(self, number: int, pending: list[Array], space: AnySpace, seed: int) -> Array:
        """Return where trial `number` is to be: as planned, or as the model proposes."""
        plan = self._plan
        if (plan.race is not None or plan.baseline is not None) and space is self.space:
            planned = plan.planned_place(number, pending, seed)
            if planned is not None:
                return planned
        # Failed trials have no payoff to tell: without this the same place would be asked for ever.
        avoided = [*pending, *self._log.failed_places()]
        u = self._proposer.place(space, number, avoided, seed)
        if not (self.avoid_failures or self.fail_value is not None):
            return u
        return plan.proposal_away_from_failures(u, number, space, seed)

    def _search_space(self, context: Mapping[str, Any] | None) -> AnySpace:
        """Return what is searched: the space, or the part of it that agrees with a context."""
        return ContextSpace(self.space, context) if context else self.space

    def _params_of_place(
        self, u: Array, context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the configuration at u; baseline and context keep all digits of their values."""
        at_baseline = self._plan.baseline is not None and np.array_equal(u, self._plan.baseline)
        known = self._plan.baseline_params if at_baseline and context is None else context
        return params_at(self.space, u, known)
