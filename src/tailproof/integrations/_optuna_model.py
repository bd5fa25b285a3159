"""The optimizer behind a study: told its payoffs, failures, baseline and race as they come."""

from __future__ import annotations

import warnings
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from tailproof.integrations._optuna_branches import Branch
from tailproof.integrations._optuna_decisions import StudyRace
from tailproof.integrations._optuna_history import (
    StudyHistory,
    is_failure,
    model_params,
    planned_params,
    told_of,
)
from tailproof.integrations._optuna_space import Distributions, SpaceAdapter
from tailproof.search.optimizer import Optimizer
from tailproof.search.options import Options

# Under this key a trial carries the point proposed for it, for the other workers, until Optuna has
# stored its parameters one by one; and for the worker that runs it again if this one dies.
PROPOSAL = "tailproof:proposal"
MAX_UNPLACED = 8  # running trials at most whose point is guessed, the latest


class StudyCache:
    """The history of one study, and the model of its latest search space."""

    def __init__(self) -> None:
        """Start without models of a study."""
        self.history = StudyHistory()
        self.fresh_for: int | None = None  # the trial for which the study was read a moment ago
        self._model: StudyModel | None = None
        self._model_key: tuple[Any, ...] = ()
        self.warned = False  # that not all parameters are chosen together

    def model(self, space: Distributions, minimize: bool, options: Options | None) -> StudyModel:
        """Return the model of a search space, told all payoffs of the history."""
        key = (dict(space), minimize, options, self.history.generation)
        if self._model is None or key != self._model_key:
            self._model, self._model_key = StudyModel(space, minimize, options), key
        self._model.update(self.history.payoffs)
        return self._model

    def branch_model(
        self, branch: Branch, space: Distributions, minimize: bool, options: Options | None
    ) -> StudyModel:
        """Return the model of one branch; that of all payoffs is kept."""
        if len(branch.trials) == len(self.history.payoffs):
            return self.model(space, minimize, options)
        model = StudyModel(space, minimize, options)
        model.update(branch.trials)
        return model

    def warn_if_conditional(self, study: Study) -> None:
        """Warn once of parameters outside the model: not all trials have them.

        They are drawn at random.
        """
        others = self.history.names - (self.history.common or {}).keys()
        if others and not self.warned:
            self.warned = True
            shown = ", ".join(sorted(others)[:10]) + (", ..." if len(others) > 10 else "")
            warnings.warn(
                f"the study {study.study_name!r} has parameters that not all complete trials share "
                f"with one distribution ({shown}): TailproofSampler draws them at random. "
                "`recommend` models each branch of such a conditional space by itself.",
                stacklevel=2,
            )


class StudyModel:
    """An optimizer over one search space, told the payoffs of a history one after the other.

    The optimizer's own seed is 0, so that recommendations do not depend on who asks for them.
    """

    def __init__(self, space: Distributions, minimize: bool, options: Options | None) -> None:
        """Make the optimizer that models the payoffs of a study."""
        self.adapter = SpaceAdapter(space)
        self.optimizer = Optimizer(self.adapter.space, seed=0, minimize=minimize, options=options)
        self._told = 0  # payoffs of the history
        self._failed = 0  # failures of the history
        self._numbers: dict[int, int] = {}  # Optuna's numbers by those of the optimizer

    def update(self, payoffs: list[FrozenTrial]) -> None:
        """Tell the optimizer that models a study the payoffs that are new, in their order."""
        for trial in payoffs[self._told :]:
            self._told += 1
            params = model_params(trial, self.adapter)
            if params is not None:
                if is_failure(trial):
                    added = self.optimizer.add_failure(params, value=trial.value)
                else:
                    added = self.optimizer.add(params, **told_of(trial))
                self._numbers[added.number] = trial.number

    def follow(self, history: StudyHistory, race: StudyRace | None) -> None:
        """Let the model follow the failures, the baseline and the race of the study."""
        for trial in history.failures[self._failed :]:
            self._failed += 1
            params = self.adapter.from_optuna(trial.params)
            if params is not None and trial.state != TrialState.COMPLETE:  # others are payoffs, too
                added = self.optimizer.add_failure(params)
                self._numbers[added.number] = trial.number
        current = history.baseline
        params = None if current is None else self.adapter.from_optuna(planned_params(current))
        if params is not None:
            self.optimizer.baseline(params)
        self.optimizer.resume_search()
        if race is not None:
            unpacked = [self.adapter.unpack(packed) for packed in race.candidates]
            known = [self.adapter.from_optuna(candidate) for candidate in unpacked]
            candidates = [candidate for candidate in known if candidate is not None]
            if candidates:
                runs = [own for own, number in self._numbers.items() if number >= race.start]
                self.optimizer.resume_confirmation(candidates, runs)

    def propose(self, trial: FrozenTrial, running: list[FrozenTrial], seed: int) -> dict[str, Any]:
        """Return the parameters that the model of a study proposes while other trials run."""
        others = [other for other in running if other.number != trial.number]
        points = {other.number: self._point_of_running(other) for other in others}
        pending = [point for point in points.values() if point is not None]
        # Workers that are choosing at this moment have not stored a proposal. Of the same data
        # all would choose alike; so each leaves to those before it what it would have chosen.
        first = trial.number - min(len(running), MAX_UNPLACED)
        for number in range(max(first, 0), trial.number):
            if number in points and points[number] is None:
                pending.append(self.optimizer.propose(number, pending=pending, seed=seed))
        proposed = self.optimizer.propose(trial.number, pending=pending, seed=seed)
        return self.adapter.to_optuna(proposed)

    def _point_of_running(self, running: FrozenTrial) -> dict[str, Any] | None:
        """Return the point of a running trial in the model; None if it is not stored yet."""
        proposed = self.adapter.unpack(running.system_attrs.get(PROPOSAL, {}))
        return self.adapter.from_optuna({**proposed, **planned_params(running)})
