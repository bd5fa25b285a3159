"""The phases of a study: search, which a rule may end early, and confirmation by a race.

Baseline, race and the end of the search are kept in the study, so that all workers and machines
follow the same phases, also after a restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailproof.search.decision.race import candidates_for, confirmation_runs, search_runs
from tailproof.search.decision.stopping import Look, StoppingRule
from tailproof.search.space.parameters import Choice, Fixed, Float
from tailproof.search.space.space import Space
from tailproof.tune.command import text
from tailproof.tune.study import distributions, planned_params
from tailproof.tune.trial_queue import TrialCounts

if TYPE_CHECKING:
    import optuna

    from tailproof.tune.request import Request

STOP = "tailproof:stop"  # the study attribute that says which rule ended the search


@dataclass(frozen=True)
class Budget:
    """Trials in all, those of the search, and the rule that ended it early, if one did."""

    trials: int
    search: int
    rule: str = ""


def parse_share(name: str, written: str | float) -> float:
    """Return the share of a phase, given as a number or in percent.

    Examples
    --------
    >>> parse_share("confirm", "20%"), parse_share("confirm", "0.1")
    (0.2, 0.1)
    """
    shown = str(written).strip()
    try:
        value = float(shown.removesuffix("%"))
    except ValueError:
        raise ValueError(
            f"`{name}` must be a share such as 0.2 or 20%, but got {written!r}."
        ) from None
    return value / 100.0 if shown.endswith("%") else value


def parse_baseline(entries: Sequence[str], space: Space) -> dict[str, Any]:
    """Return the configuration of the phase `baseline`, NAME=VALUE; constants may be left out.

    Examples
    --------
    >>> from tailproof.search.space.parameters import Int
    >>> parse_baseline(["n=4", "c=lru"], Space(n=Int(1, 9), c=Choice("none", "lru")))
    {'n': 4, 'c': 'lru'}
    """
    params = {name: p.constant for name, p in space.parameters.items() if isinstance(p, Fixed)}
    given: dict[str, Any] = {}
    for entry in entries:
        name, equals, written = entry.partition("=")
        if not equals or name not in space.parameters:
            names = ", ".join(space.names)
            raise ValueError(
                f"`baseline` must be NAME=VALUE of the parameters ({names}), but got {entry!r}."
            )
        if name in given:
            raise ValueError(f"`baseline` must name every parameter once, but got {name!r} twice.")
        given[name] = _value_of(space, name, written)
    missing = [name for name in space.names if name not in given and name not in params]
    if missing:
        raise ValueError(f"`baseline` must have a value for {', '.join(missing)}, but got none.")
    merged = params | given
    space.position(merged)  # it says what is out of its range
    return {name: merged[name] for name in space.names}


def _value_of(space: Space, name: str, written: str) -> Any:
    """Return a parameter's value in the baseline of the first phase, as written."""
    parameter = space.parameters[name]
    if isinstance(parameter, Choice):
        found = [option for option in parameter.options if text(option) == written]
        if not found:
            options = ", ".join(map(text, parameter.options))
            raise ValueError(f"`{name}` must be one of {options}, but got {written!r}.")
        return found[0]
    if isinstance(parameter, Fixed):
        same = text(parameter.constant) == written
        return parameter.constant if same else written  # the space refuses another one
    kind = float if isinstance(parameter, Float) else int
    try:
        return kind(written)
    except ValueError:
        wanted = "a number" if isinstance(parameter, Float) else "an integer"
        raise ValueError(f"`{name}` must be {wanted}, but got {written!r}.") from None


def begin(study: optuna.Study, request: Request, counts: TrialCounts) -> None:
    """Begin the phases: enqueue the baseline, and end a race if a larger budget goes on."""
    from tailproof.integrations._optuna_decisions import (
        StudyRace,
        enqueue_baseline,
        is_baseline,
        resume_search,
    )

    if request.baseline is not None:
        searched = distributions(request.space).keys()
        params = {name: value for name, value in request.baseline.items() if name in searched}
        marked = [t for t in study.get_trials(deepcopy=False) if is_baseline(t)]
        if not marked or planned_params(marked[-1]) != params:
            enqueue_baseline(study, params)
    if StudyRace.of(study) is not None and counts.taken < budget_of(study, request).search:
        resume_search(study)


def budget_of(study: optuna.Study, request: Request) -> Budget:
    """Return the budget of all phases: less than was asked for if a rule has ended the search."""
    evaluations, share = request.evaluations, request.confirm
    stopped: Mapping[str, Any] = study.user_attrs.get(STOP) or {}
    if stopped.get("evaluations") == evaluations and stopped.get("level") == request.level:
        searched = min(int(stopped["searched"]), evaluations)
        runs = confirmation_runs(searched, share, evaluations)
        return Budget(searched + runs, searched, str(stopped["rule"]))
    return Budget(evaluations, search_runs(share, evaluations))


class Phases:
    """Follow the phases of a study in one worker."""

    def __init__(self, study: optuna.Study, request: Request) -> None:
        """Set up the phases of a study that the request asks for."""
        self._study, self._request = study, request
        self.rule = StoppingRule.parse(
            request.until,
            request.until_better,
            request.level,
            has_baseline=request.baseline is not None,
        )
        self._race_is_on = False
        self.budget = budget_of(study, request)

    def refresh(self) -> Budget:
        """Read the budget again, if a rule may have changed it."""
        if self.rule.active and not self.budget.rule:
            self.budget = budget_of(self._study, self._request)
        return self.budget

    def before_trial(self, counts: TrialCounts) -> bool:
        """Start the race when all trials of the search are taken; return whether it starts here."""
        runs = self.budget.trials - self.budget.search
        if self._race_is_on or not runs or not counts.complete:
            return False
        if counts.taken < self.budget.search:
            return False
        from tailproof.integrations._optuna_decisions import StudyRace, confirm

        self._race_is_on = True
        if StudyRace.of(self._study) is None:
            try:
                confirm(self._study, candidates_for(runs))
            except ValueError:  # trials of others left no parameters in common: no model
                return False
        return True

    def after_trial(self, counts: TrialCounts) -> Look | None:
        """Look at the rules; if one holds, the search of all workers ends."""
        if not self.rule.active or self.budget.rule or counts.taken >= self.budget.search:
            return None
        from tailproof.integrations._optuna_decisions import look

        try:
            found = look(self._study, self.rule)
        except ValueError:  # no payoff yet, or no parameters in common
            return None
        if found is not None and found.stop:
            stopped = {
                "rule": found.stop,
                "searched": max(counts.taken, 1),
                "evaluations": self._request.evaluations,
                "level": self._request.level,
            }
            self._study.set_user_attr(STOP, stopped)
        return found
