"""TailproofSampler: Optuna studies that look for the best mean, not for the luckiest payoff.

Everything a suggestion depends on is in the study: its finished trials, those now running, the
trial's number, and the sampler's seed. So any worker can die and any new one go on.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial

from tailproof._util import checks
from tailproof.integrations._optuna_history import History, place, setting_of
from tailproof.integrations._optuna_overdue import release_overdue
from tailproof.integrations._optuna_space import Distributions, Translation, modeled
from tailproof.search.optimizer import Optimizer
from tailproof.search.options import Options
from tailproof.search.trials import Recommendation

__all__ = ["TailproofSampler", "recommend", "release_overdue"]

# Under this key a trial carries the place it was sent to, for the other workers, until Optuna has
# stored its parameters one by one; and for the worker that runs it again if this one dies.
PROPOSAL = "tailproof:proposal"
MOST_STUDIES = 8  # kept in mind at once
MOST_SILENT = 8  # trials at most whose place is guessed, the latest


class TailproofSampler(BaseSampler):
    """Sampler for studies whose single payoffs are heavy-tailed: it seeks the best mean.

    One objective, minimized or maximized; float, int, log, step and categorical parameters.
    Parameters that all complete trials have in common, with equal distributions, are chosen
    together by `tailproof.Optimizer`; all others (conditional ones, changing ranges, the first
    trial's) independently and uniformly at random.

    Running trials of all threads, processes and machines are pending points. Failed and pruned
    trials are left out of the model: a pruned trial's intermediate values are no payoffs. So are
    complete trials of an infinite value (which no mean survives) or with a parameter out of its
    range. Studies with several objectives or with constraints are refused.

    Parameters
    ----------
    seed : int, optional
        A suggestion depends on the seed, the trial's number and the study's history alone, so a
        new sampler of the same seed goes on exactly as the old one would have. Without a seed,
        fresh randomness.
    options : tailproof.Options, optional
        How the optimizer models the payoffs.

    Notes
    -----
    `study.best_trial` is the luckiest payoff; `recommend` gives the best mean.

    Examples
    --------
    >>> import optuna
    >>> from tailproof.integrations.optuna import TailproofSampler, recommend
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(direction="maximize", sampler=TailproofSampler(seed=1))
    >>> noise = np.random.default_rng(1)
    >>> def payoff(trial):
    ...     x = trial.suggest_float("x", 0.0, 1.0)
    ...     return 1.0 - (x - 0.3) ** 2 + 0.1 * noise.standard_t(2.1)
    >>> study.optimize(payoff, n_trials=25)
    >>> best = recommend(study)
    >>> best.lower <= best.mean <= best.upper
    True
    """

    def __init__(self, *, seed: int | None = None, options: Options | None = None) -> None:
        self._seed = _entropy() if seed is None else checks.integer("seed", seed, low=0)
        self._options = options
        self._open()

    def _open(self) -> None:
        self._known: dict[str, _Known] = {}
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        # What is known is in the study; a lock belongs to its process.
        return {name: self.__dict__[name] for name in ("_seed", "_options")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def reseed_rng(self) -> None:
        """Take fresh randomness, so that copies of this sampler suggest other points."""
        with self._lock:
            self._seed = _entropy()

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters that all complete trials have in common and that are modeled."""
        with self._lock:
            known = self._read(study)
            known.fresh_for = trial.number
            return modeled(known.history.common or {})

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the point that looks best for the trial, given all payoffs and running trials."""
        _refuse_many_objectives(study)
        if not search_space:
            return {}
        # Under the lock until the place is stored: the next thread must see it as pending.
        with self._lock:
            known = self._known.get(study.study_name)
            if known is None or known.fresh_for != trial.number:
                known = self._read(study)
            known.fresh_for = None  # the next thread must look again
            model = known.model(search_space, _minimizes(study), self._seed, self._options)
            again = model.translation.read(trial.system_attrs.get(PROPOSAL, {}))
            if again.keys() == search_space.keys():
                return again  # the trial is run again, after its first worker died
            params = model.propose(trial, known.history.running)
            if len(params) > 1:  # a single one is stored by Optuna in the next step
                study._storage.set_trial_system_attr(
                    trial._trial_id, PROPOSAL, model.translation.stored(params)
                )
            return params

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return a uniformly random value, of the seed, the trial's number and the name alone."""
        _refuse_many_objectives(study)
        name = int.from_bytes(hashlib.sha256(param_name.encode()).digest()[:8])
        mixed = np.random.SeedSequence([self._seed, trial.number, name]).generate_state(1)
        uniform = RandomSampler(seed=int(mixed[0]))
        return uniform.sample_independent(study, trial, param_name, param_distribution)

    def _read(self, study: Study) -> _Known:
        """Return what is known of the study, brought up to date."""
        _refuse_many_objectives(study)
        # A pruner that works in brackets shows each sampler its bracket only. Complete trials of
        # all brackets had the whole budget: they belong to one model.
        study = getattr(study, "_study", study)
        known = self._known.pop(study.study_name, None) or _Known()
        self._known[study.study_name] = known  # now the youngest
        if len(self._known) > MOST_STUDIES:
            del self._known[next(iter(self._known))]
        known.history.update(study.get_trials(deepcopy=False))
        _refuse_constraints(known.history)
        return known


class _Known:
    """What a sampler knows of one study: its history, and the model of its latest space."""

    def __init__(self) -> None:
        self.history = History()
        self.fresh_for: int | None = None  # the trial for which the study was read a moment ago
        self._model: _Model | None = None
        self._made_of: tuple[Any, ...] = ()

    def model(
        self, space: Distributions, minimize: bool, seed: int, options: Options | None
    ) -> _Model:
        made_of = (dict(space), minimize, options, self.history.generation)
        if self._model is None or made_of != self._made_of:
            self._model = _Model(space, minimize, options)
            self._made_of = made_of
        self._model.optimizer.seed = seed  # another one after `reseed_rng`
        self._model.take(self.history.payoffs)
        return self._model


class _Model:
    """An optimizer over one search space, and how many of the history's payoffs it was told."""

    def __init__(self, space: Distributions, minimize: bool, options: Options | None) -> None:
        self.translation = Translation(space)
        self.optimizer = Optimizer(self.translation.space, minimize=minimize, options=options)
        self._taken = 0

    def take(self, payoffs: list[FrozenTrial]) -> None:
        for trial in payoffs[self._taken :]:
            self._taken += 1
            params = place(trial, self.translation)
            if params is not None:
                self.optimizer.add(params, trial.values[0])

    def propose(self, trial: FrozenTrial, running: list[FrozenTrial]) -> dict[str, Any]:
        others = [one for one in running if one.number != trial.number]
        places = {one.number: self._place(one) for one in others}
        pending = [place for place in places.values() if place is not None]
        # Workers that are choosing at this moment have not said where they go. Of the same data
        # all would choose alike; so each leaves to those before it what it would have chosen.
        first = trial.number - min(len(running), MOST_SILENT)
        for number in range(max(first, 0), trial.number):
            if number in places and places[number] is None:
                pending.append(self.optimizer.propose(number, pending=pending))
        return self.translation.outward(self.optimizer.propose(trial.number, pending=pending))

    def _place(self, running: FrozenTrial) -> dict[str, Any] | None:
        """Return where a running trial is, as far as it has said so."""
        said = self.translation.read(running.system_attrs.get(PROPOSAL, {}))
        return self.translation.inward({**said, **setting_of(running)})


def recommend(
    study: Study, *, level: float = 0.9, sampler: TailproofSampler | None = None
) -> Recommendation:
    """Return the configuration with the best mean payoff, and an interval for that mean.

    Works for every study of one objective, whichever sampler made it. `study.best_trial` is the
    trial with the luckiest payoff; under heavy tails that says little about its mean.

    Parameters
    ----------
    study : optuna.Study
        At least one trial is complete, with a finite value.
    level : float
        Coverage of the interval, in (0, 1).
    sampler : TailproofSampler, optional
        Whose options to use, and what it knows of the study already. Without one, the study's own
        if it is a TailproofSampler, else one with the default options.

    Returns
    -------
    tailproof.Recommendation
        In the study's units and direction. `params` holds the parameters that all complete trials
        have in common; conditional ones are not among them.

    Examples
    --------
    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    >>> study.optimize(lambda trial: trial.suggest_int("n", 1, 5) ** 2, n_trials=30)
    >>> recommend(study).params
    {'n': 1}
    """
    if sampler is None:
        own = study.sampler
        sampler = own if isinstance(own, TailproofSampler) else TailproofSampler()
    with sampler._lock:
        known = sampler._read(study)
        common = known.history.common or {}
        space = modeled(common)
        if not known.history.payoffs or not space:
            raise ValueError(
                "`study` must have a complete trial of finite value, and parameters that all "
                f"complete trials have in common, but got {len(known.history.payoffs)} such "
                f"trial(s) and the common parameters {sorted(space)}."
            )
        # Always the same seed: whoever asks gets the same answer.
        model = known.model(space, _minimizes(study), 0, sampler._options)
        found = model.optimizer.recommend(level=level)
    fixed = {name: _only_value(one) for name, one in common.items() if one.single()}

    def whole(params: Mapping[str, Any]) -> dict[str, Any]:
        merged = model.translation.outward(params) | fixed
        return {name: merged[name] for name in common if name in merged}

    return replace(
        found,
        params=whole(found.params),
        best_observed_params=whole(found.best_observed_params),
    )


def _refuse_many_objectives(study: Study) -> None:
    if len(study.directions) > 1:
        raise ValueError(
            "`study` must have one objective, but got a study with "
            f"directions={[one.name.lower() for one in study.directions]}: the mean to seek would "
            "be a trade-off."
        )


def _refuse_constraints(history: History) -> None:
    trial = history.constrained
    if trial is not None:
        raise ValueError(
            "`study` must have no constraints, but trial "
            f"{trial.number} has constraints={trial.constraints!r}: TailproofSampler does not "
            "model them. Make an infeasible point a bad payoff, or prune its trial."
        )


def _minimizes(study: Study) -> bool:
    return study.directions[0] == StudyDirection.MINIMIZE


def _entropy() -> int:
    """Return fresh randomness from the system."""
    drawn = np.random.SeedSequence().entropy
    assert isinstance(drawn, int)
    return drawn % 2**63


def _only_value(one: BaseDistribution) -> Any:
    if isinstance(one, CategoricalDistribution):
        return one.choices[0]
    assert isinstance(one, FloatDistribution | IntDistribution)
    return one.low
