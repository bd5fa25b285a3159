"""Release of trials that have been running for too long because their worker died."""

from __future__ import annotations

import warnings
from datetime import datetime, timedelta

from optuna.exceptions import ExperimentalWarning, UpdateFinishedTrialError
from optuna.storages import RetryHeartbeatStaleTrialCallback
from optuna.study import Study
from optuna.trial import TrialState

from tailproof._util import checks


def release_overdue(study: Study, seconds: float) -> list[int]:
    """Fail overdue trials, which have run for too long, and queue their parameters again.

    Optuna finds the trials of dead workers by their last heartbeat. It misses those whose worker
    died before the first one, and all trials in storages without a heartbeat. This function uses
    the time since the trial's start alone.

    Parameters
    ----------
    study : optuna.Study
    seconds : float
        Longer than any living trial takes: a worker that is merely slow finds its trial failed.
        Clocks and time zones of the workers must agree to less than what lies in between.

    Returns
    -------
    list of int
        Numbers of the trials failed. Each was queued again, in a new trial.

    Examples
    --------
    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study()
    >>> lost = study.ask()
    >>> x = lost.suggest_float("x", 0.0, 1.0)
    >>> release_overdue(study, seconds=3600.0)
    []
    """
    limit = datetime.now() - timedelta(seconds=checks.positive("seconds", seconds))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        retry = RetryHeartbeatStaleTrialCallback()
    released = []
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        started = trial.datetime_start
        if started is None or started.replace(tzinfo=None) > limit:
            continue
        try:
            failed = study.tell(trial.number, state=TrialState.FAIL)
        except (ValueError, UpdateFinishedTrialError):
            continue  # finished in the meantime, or failed by another worker, who queues it
        retry(study, failed)
        released.append(trial.number)
    return released
