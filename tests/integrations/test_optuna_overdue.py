import pytest

pytest.importorskip("optuna", minversion="5.0", reason="the sampler is for Optuna 5")

from optuna.trial import TrialState

from optuna_studies import a_study, bowl, bowl_study
from tailproof.integrations.optuna import release_overdue


def test_overdue_trials_are_failed_and_queued_again():
    study = bowl_study(3)
    lost = study.ask()
    x = lost.suggest_float("x", 0.0, 1.0)
    assert release_overdue(study, seconds=3600.0) == []
    assert release_overdue(study, seconds=1e-9) == [lost.number]
    assert release_overdue(study, seconds=1e-9) == []
    assert [trial.state for trial in study.trials[3:]] == [TrialState.FAIL, TrialState.WAITING]
    study.optimize(bowl, n_trials=1)
    assert study.trials[-1].params["x"] == x
    assert study.trials[-1].state == TrialState.COMPLETE
    with pytest.raises(ValueError, match="seconds > 0"):
        release_overdue(study, seconds=0.0)


def test_a_trial_that_two_workers_find_overdue_is_queued_once(monkeypatch):
    study = a_study()
    study.ask()
    stale = study.get_trials(states=(TrialState.RUNNING,))
    assert release_overdue(study, seconds=1e-9) == [0]
    with monkeypatch.context() as other:
        other.setattr(study, "get_trials", lambda **_: stale)  # what the other worker saw
        assert release_overdue(study, seconds=1e-9) == []
    assert len(study.trials) == 2
