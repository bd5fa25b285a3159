"""TailproofSampler: an Optuna sampler that seeks the best mean, not the best observed payoff.

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
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial

from tailproof._util import checks
from tailproof.integrations._optuna_branches import branches
from tailproof.integrations._optuna_decisions import (
    StoppingCallback,
    StudyRace,
    confirm,
    enqueue_baseline,
    resume_search,
)
from tailproof.integrations._optuna_history import (
    StudyHistory,
    is_failure,
    model_params,
    told_of,
)
from tailproof.integrations._optuna_internals import set_system_attr, whole_study
from tailproof.integrations._optuna_model import PROPOSAL, StudyCache, StudyModel
from tailproof.integrations._optuna_overdue import release_overdue
from tailproof.integrations._optuna_space import modeled
from tailproof.integrations._optuna_sqlite import SQLiteStorage, note_process, warn_if_shared
from tailproof.search.optimizer import Optimizer
from tailproof.search.options import Options
from tailproof.search.results import Recommendation

__all__ = [
    "SQLiteStorage",
    "StoppingCallback",
    "TailproofSampler",
    "confirm",
    "enqueue_baseline",
    "recommend",
    "release_overdue",
    "resume_search",
]

MAX_STUDIES = 8  # whose histories a sampler keeps


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

    Workers that share a SQLite file need `SQLiteStorage`: with Optuna's own storage two of them may
    run the same trial. The sampler warns if it sees other processes at work in such a file.

    Parameters
    ----------
    seed : int, optional
        A suggestion depends on the seed, the trial's number and the study's history alone, so a
        new sampler of the same seed goes on exactly as the old one would have. Without a seed,
        fresh randomness.
    options : tailproof.Options, optional
        How the optimizer models the payoffs.
    avoid_failures : bool
        Whether suggestions keep away from where trials probably fail.

    Notes
    -----
    `study.best_trial` is the best single payoff observed; `recommend` gives the best mean.

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

    def __init__(
        self,
        *,
        seed: int | None = None,
        options: Options | None = None,
        avoid_failures: bool = False,
    ) -> None:
        self._seed = _sampler_entropy() if seed is None else checks.integer("seed", seed, low=0)
        self._options = options
        self._avoid_failures = checks.flag("avoid_failures", avoid_failures)
        self._clear_study_caches()

    def _clear_study_caches(self) -> None:
        """Forget what was read of the studies."""
        self._studies: dict[str, StudyCache] = {}
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        # The caches can be read again from the studies; a lock belongs to its process.
        return {name: self.__dict__[name] for name in ("_seed", "_options", "_avoid_failures")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._clear_study_caches()

    def reseed_rng(self) -> None:
        """Take fresh randomness, so that copies of this sampler suggest other points."""
        with self._lock:
            self._seed = _sampler_entropy()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Store which process runs the trial, where a warning may follow from it."""
        note_process(study, trial)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters that all complete trials have in common and that are modeled."""
        with self._lock:
            cache = self._read_study(study)
            cache.fresh_for = trial.number
            cache.warn_if_conditional(study)
            return modeled(cache.history.common or {})

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the point that looks best for the trial, given all payoffs and running trials."""
        _refuse_many_objectives(study)
        if not search_space:
            return {}
        # Under the lock until the proposal is stored: the next thread must see it as pending.
        with self._lock:
            cache = self._studies.get(study.study_name)
            if cache is None or cache.fresh_for != trial.number:
                cache = self._read_study(study)
            cache.fresh_for = None  # the next thread must read the study again
            model = cache.model(search_space, _study_minimizes(study), self._options)
            model.optimizer.avoid_failures = self._avoid_failures
            model.follow(cache.history, StudyRace.of(study))
            proposed = model.adapter.unpack(trial.system_attrs.get(PROPOSAL, {}))
            if proposed.keys() == search_space.keys():
                return proposed  # the trial is run again, after its first worker died
            params = model.propose(trial, cache.history.running, self._seed)
            if len(params) > 1:  # a single one is stored by Optuna in the next step
                set_system_attr(study, trial, PROPOSAL, model.adapter.pack(params))
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

    def _common_model(self, study: Study) -> StudyModel:
        """Return the model of the parameters that all complete trials have in common."""
        with self._lock:
            cache = self._read_study(study)
            space = modeled(cache.history.common or {})
            if not cache.history.payoffs or not space:
                raise ValueError(
                    "`study` must have a complete trial of finite value and parameters in common, "
                    f"but got {len(cache.history.payoffs)} such trial(s)."
                )
            model = cache.model(space, _study_minimizes(study), self._options)
            model.follow(cache.history, StudyRace.of(study))
            return model

    def _read_study(self, study: Study) -> StudyCache:
        """Return the cache of an Optuna study, brought up to date."""
        _refuse_many_objectives(study)
        # A pruner that works in brackets shows each sampler its bracket only. Complete trials of
        # all brackets had the whole budget: they belong to one model.
        study = whole_study(study)
        cache = self._studies.pop(study.study_name, None) or StudyCache()
        self._studies[study.study_name] = cache  # now the latest used
        if len(self._studies) > MAX_STUDIES:
            del self._studies[next(iter(self._studies))]
        cache.history.update(study.get_trials(deepcopy=False))
        _refuse_constraints(cache.history)
        warn_if_shared(study, cache.history.running)
        return cache


def recommend(
    study: Study, *, level: float = 0.9, sampler: TailproofSampler | None = None
) -> Recommendation:
    """Return the configuration of an Optuna study with the best mean payoff, with an interval.

    Works for every study of one objective, whichever sampler made it. `study.best_trial` is the
    trial with the best single payoff; under heavy tails that says little about its mean.

    Parameters
    ----------
    study : optuna.Study
        At least one trial is complete, with a finite value.
    level : float
        Coverage of the interval, in (0, 1).
    sampler : TailproofSampler, optional
        Whose options and cached model to use. Without one, the study's own if it is a
        TailproofSampler, else one with the default options.

    Returns
    -------
    tailproof.Recommendation
        In the study's units and direction. `params` is a whole configuration. In a conditional
        space, trials with the same parameters are one branch: each branch has a model of its own,
        and the best mean of all branches is recommended, with the counts of that branch.
        Parameters that are not modeled (ranges that changed) are those of the nearest trial.

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
        cache = sampler._read_study(study)
        payoffs, minimize = cache.history.payoffs, _study_minimizes(study)
        divided = [(b, modeled(b.common)) for b in branches(payoffs)] if payoffs else []
        divided = [(branch, space) for branch, space in divided if space]
        if not divided:
            raise ValueError(
                "`study` must have a complete trial of finite value, and parameters that all "
                f"complete trials have in common, but got {len(payoffs)} such "
                "trial(s) and the common parameters []."
            )
        models = [cache.branch_model(b, s, minimize, sampler._options) for b, s in divided]
        race = StudyRace.of(study)
        for model in models:
            model.follow(cache.history, race)
        found = [model.optimizer.recommend(level=level) for model in models]
    sign = -1.0 if minimize else 1.0
    best = max(range(len(found)), key=lambda i: sign * found[i].mean)
    seen = max(range(len(found)), key=lambda i: sign * found[i].best_observed_value)

    def whole(index: int, params: Mapping[str, Any]) -> dict[str, Any]:
        adapter = models[index].adapter
        return divided[index][0].complete(adapter.to_optuna(params), adapter)

    compared = found[best].baseline
    if compared is not None:
        compared = replace(compared, params=whole(best, compared.params))
    return replace(
        found[best],
        baseline=compared,
        params=whole(best, found[best].params),
        best_observed_params=whole(seen, found[seen].best_observed_params),
        best_observed_value=found[seen].best_observed_value,
    )


def optimizer_of_study(study: Study) -> tuple[Optimizer, list[float]]:
    """Return an optimizer told the payoffs of an Optuna study, in its values, and their seconds.

    Over the parameters that all complete trials have in common. Options of categorical parameters
    are shown by their text if they are no plain values.
    """
    sampler = study.sampler if isinstance(study.sampler, TailproofSampler) else TailproofSampler()
    with sampler._lock:
        history, model = sampler._read_study(study).history, sampler._common_model(study)
        space, named = model.adapter.named_space()
        told = Optimizer(space, minimize=model.optimizer.minimize, options=sampler._options)
        if model.optimizer._plan.baseline is not None:
            told.baseline(named(model.optimizer._plan.baseline_params))
        payoffs = [(t, model_params(t, model.adapter)) for t in history.payoffs]
        known = [(trial, params) for trial, params in payoffs if params is not None]
        for trial, params in known:
            if is_failure(trial):
                told.add_failure(named(params), value=trial.value)
            else:
                told.add(named(params), **told_of(trial))
        valued = {done.trial.number for done in model.optimizer.trials}
        for failure in model.optimizer.failures:
            if failure.trial.number not in valued:
                told.add_failure(named(failure.trial.params))
        race = model.optimizer._plan.race
        if race is not None:
            told.resume_confirmation(
                [named(model.optimizer.space.params(place)) for place in race.places]
            )
    durations = [trial.duration for trial, _ in known]
    return told, [0.0 if d is None else d.total_seconds() for d in durations]


def _refuse_many_objectives(study: Study) -> None:
    """Raise an error for an Optuna study of several objectives."""
    if len(study.directions) > 1:
        directions = [direction.name.lower() for direction in study.directions]
        raise ValueError(
            f"`study` must have one objective, but got a study with {directions=}: the mean to "
            "seek would be a trade-off."
        )


def _refuse_constraints(history: StudyHistory) -> None:
    """Raise an error for an Optuna study whose trials have constraints."""
    trial = history.constrained
    if trial is not None:
        raise ValueError(
            "`study` must have no constraints, but trial "
            f"{trial.number} has constraints={trial.constraints!r}: TailproofSampler does not "
            "model them. Make an infeasible point a bad payoff, or prune its trial."
        )


def _study_minimizes(study: Study) -> bool:
    """Whether the one objective of an Optuna study is minimized."""
    return study.directions[0] == StudyDirection.MINIMIZE


def _sampler_entropy() -> int:
    """Return fresh randomness for TailproofSampler from the system."""
    drawn = np.random.SeedSequence().entropy
    assert isinstance(drawn, int)
    return drawn % 2**63
