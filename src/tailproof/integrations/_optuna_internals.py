"""The only places where Optuna's private names are used.

Optuna has no public API for what is here; its own samplers use the same names. The tests in
tests/integrations/test_optuna_internals.py fail if a release of Optuna changes one of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from optuna.storages import RDBStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState


def set_system_attr(study: Study, trial: FrozenTrial, key: str, value: Any) -> None:
    """Store by Optuna's internals an attribute of a running trial, for `FrozenTrial.system_attrs`.

    A sampler sees a `FrozenTrial`, and only `Trial` has a public setter.
    """
    study._storage.set_trial_system_attr(trial._trial_id, key, value)


def whole_study(study: Study) -> Study:
    """Return by Optuna's internals the study behind the part of it that a sampler is shown.

    A pruner that works in brackets (Hyperband) shows the trials of one bracket only, by a wrapper
    without a public way to the rest.
    """
    return getattr(study, "_study", study)


def enqueued_params(trial: FrozenTrial) -> dict[str, Any]:
    """Return from Optuna's internals what a trial was enqueued with; empty if it was not.

    Before the trial runs, Optuna keeps it in a system attribute only.
    """
    return dict(trial.system_attrs.get("fixed_params", {}))


def start_waiting_trial(storage: RDBStorage, trial_id: int, user_attrs: Mapping[str, Any]) -> bool:
    """Let a waiting trial run, by Optuna's internals; return False if it did not wait.

    Optuna stores the state and an attribute in two transactions. Here they are stored in one, so
    that no trial runs without its attributes, whatever dies in between.
    """
    import sqlalchemy
    from optuna.storages._rdb.models import TrialModel, TrialUserAttributeModel

    trials, attributes = TrialModel.__table__, TrialUserAttributeModel.__table__
    waits = (trials.c.trial_id == trial_id) & (trials.c.state == TrialState.WAITING)
    old = (attributes.c.trial_id == trial_id) & attributes.c.key.in_(list(user_attrs))
    rows = [
        {"trial_id": trial_id, "key": key, "value_json": json.dumps(value)}
        for key, value in user_attrs.items()
    ]
    now = datetime.now()
    with storage.engine.begin() as transaction:
        started = transaction.execute(
            sqlalchemy.update(trials)
            .where(waits)
            .values(state=TrialState.RUNNING, datetime_start=now)
        )
        if started.rowcount != 1:
            return False
        transaction.execute(sqlalchemy.delete(attributes).where(old))  # of an earlier attempt
        transaction.execute(sqlalchemy.insert(attributes), rows)
    return True


def relational_storage(study: Study) -> RDBStorage | None:
    """Return by Optuna's internals the relational database behind a study; None if it has none."""
    storage = study._storage
    storage = getattr(storage, "_backend", storage)  # behind a cache
    return storage if isinstance(storage, RDBStorage) else None
