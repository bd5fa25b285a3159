"""The only places where Optuna's private names are used.

Optuna has no public API for what is here; its own samplers use the same names. The tests in
tests/integrations/test_optuna_internals.py fail if a release of Optuna changes one of them.
"""

from __future__ import annotations

from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial


def set_system_attr(study: Study, trial: FrozenTrial, key: str, value: Any) -> None:
    """Store an attribute of a running trial where `FrozenTrial.system_attrs` shows it.

    A sampler sees a `FrozenTrial`, and only `Trial` has a public setter.
    """
    study._storage.set_trial_system_attr(trial._trial_id, key, value)


def whole_study(study: Study) -> Study:
    """Return the study behind the part of it that Optuna shows to a sampler.

    A pruner that works in brackets (Hyperband) shows the trials of one bracket only, by a wrapper
    without a public way to the rest.
    """
    return getattr(study, "_study", study)


def enqueued_params(trial: FrozenTrial) -> dict[str, Any]:
    """Return what a trial was enqueued with (`Study.enqueue_trial`); empty if it was not.

    Before the trial runs, Optuna keeps it in a system attribute only.
    """
    return dict(trial.system_attrs.get("fixed_params", {}))
