import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailproof.integrations._optuna_internals import start_waiting_trial
from tailproof.search.space.parameters import Int
from tailproof.search.space.space import Space
from tailproof.tune.study import Identity, distributions, open_study, opened_storage
from tailproof.tune.trial_queue import (
    BEAT,
    FAILED,
    LOST,
    MAX_LOSSES,
    OWNER,
    RETRIED,
    Attempts,
    TrialQueue,
    count_trials,
    counts_toward_budget,
)
from tailproof.tune.urls import file_url
from tune_studies import dead_signature

optuna = pytest.importorskip("optuna", reason="`tailproof tune` keeps its trials in Optuna")

SPACE = Space(n=Int(0, 1000))
IDENTITY = Identity(("p", "{n}"), SPACE.state(), "last-line", True)


@pytest.fixture
def storage(tmp_path):
    with opened_storage(file_url(tmp_path / "study.db")) as storage:
        yield storage


@pytest.fixture
def study(storage):
    return open_study(storage, "s", IDENTITY, seed=0)


@pytest.fixture
def queue(storage, study):
    """Return a function that makes another worker's queue of the study."""

    def make(budget, **more):
        return TrialQueue(storage, study, distributions(SPACE), budget, **more)

    return make


def finish(queue, claim, value=1.0):
    return queue.finish(claim.trial, {"kind": "done"}, value)


def test_the_last_place_is_taken_once(queue, study):
    first, second = queue(3), queue(3)
    for _ in range(2):
        assert finish(first, first.claim())
    last = first.claim()
    # The second had read the study before the last place was taken.
    assert second.claim() is None
    found = second.refresh()
    assert (found.finished, found.running, found.taken) == (2, 1, 3)
    assert finish(first, last)
    assert first.refresh().finished == 3
    assert len(study.trials) == 4  # the late one is there, never ran, and does not count
    assert sum(counts_toward_budget(trial) for trial in study.trials) == 3


def test_what_is_requeued_runs_again_in_its_place(queue, study):
    mine = queue(2)
    first = mine.claim()
    assert mine.requeue(first, {"kind": LOST, "reason": "interrupted"})
    found = mine.refresh()
    assert (found.taken, found.waiting) == (0, 1)
    again = mine.claim()
    assert again.params == first.params
    assert again.attempts == Attempts()
    assert mine.requeue(again, {"kind": RETRIED, "reason": "exit code 1"})
    third = mine.claim()
    assert third.params == first.params
    assert third.attempts == Attempts(failures=1)
    assert finish(mine, third)
    assert finish(mine, mine.claim())
    assert mine.refresh().finished == 2
    assert mine.claim() is None


def test_what_was_enqueued_out_of_range_runs_and_can_be_requeued(queue, study):
    study.enqueue_trial({"n": 5000})
    mine = queue(2)
    first = mine.claim()
    assert first.params == {"n": 5000}
    assert mine.requeue(first, {"kind": LOST, "reason": "interrupted"})
    again = mine.claim()
    assert again.params == {"n": 5000}
    assert finish(mine, again)
    assert mine.refresh().complete == 1


def test_what_was_enqueued_without_sense_is_a_failed_trial(queue, study):
    study.enqueue_trial({"n": "many"})
    mine = queue(2)
    assert mine.claim() is None
    assert (mine.refresh().failed, mine.refresh().running) == (1, 0)
    assert "many" in study.trials[0].user_attrs["outcome"]["reason"]
    assert mine.claim() is not None


def test_what_was_enqueued_survives_a_worker_that_dies_before_it_begins(queue, study):
    study.enqueue_trial({"n": 7})
    trial = study.ask()  # nothing is stored of its setting
    trial.set_user_attr(OWNER, dead_signature())
    mine = queue(2)
    assert mine.refresh().running == 0
    again = mine.claim()
    assert (again.params, again.attempts) == ({"n": 7}, Attempts())


def test_a_failure_counts(queue, study):
    mine = queue(1)
    assert mine.finish(mine.claim().trial, {"kind": FAILED, "reason": "exit code 1"})
    found = mine.refresh()
    assert (found.finished, found.failed, found.complete) == (1, 1, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="needs the boot id of Linux")
def test_a_dead_worker_of_this_machine_is_noticed_at_once(queue, study):
    owner = dead_signature()
    mine = queue(5)
    setting = mine.claim()
    for loss in range(1, MAX_LOSSES + 2):
        assert mine.refresh().running == 1
        setting.trial.set_user_attr(OWNER, owner)
        found = mine.refresh()
        if loss <= MAX_LOSSES:
            assert (found.running, found.waiting, found.failed) == (0, 1, 0)
            again = mine.claim()
            assert again.params == setting.params
            assert again.attempts.losses == loss
            setting = again
    assert (found.running, found.waiting, found.failed) == (0, 0, 1)  # it kills its workers


DYING = """
import os, sys
from tailproof.tune.study import distributions, open_storage, open_study
from tailproof.tune.trial_queue import TrialQueue
from test_trial_queue import IDENTITY, SPACE

storage = open_storage(sys.argv[1])
study = open_study(storage, "s", IDENTITY, seed=0)
study.sampler.before_trial = lambda *_: os._exit(7)
TrialQueue(storage, study, distributions(SPACE), 2).claim()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs the boot id of Linux")
@pytest.mark.parametrize("enqueued", [{}, {"n": 7}])
def test_a_worker_that_dies_before_it_proposes_is_noticed_at_once(queue, study, tmp_path, enqueued):
    if enqueued:
        study.enqueue_trial(enqueued)
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    died = subprocess.run(
        [sys.executable, "-c", DYING, file_url(tmp_path / "study.db")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, *folders])},
        check=False,
    )
    assert died.returncode == 7
    assert [trial.state.name for trial in study.trials] == ["RUNNING"]
    mine = queue(2, clock=lambda: 0.0)  # no grace period ends
    assert mine.refresh().running == 0
    claim = mine.claim()
    assert claim.attempts == Attempts()
    assert enqueued in ({}, claim.params)


@pytest.mark.parametrize("enqueued", [{}, {"n": 7}])
def test_a_claim_that_the_storage_cut_short_is_given_up_at_once(
    queue, study, monkeypatch, enqueued
):
    if enqueued:
        study.enqueue_trial(enqueued)
    mine, other = queue(2, clock=lambda: 0.0), queue(2, clock=lambda: 0.0)
    away = optuna.exceptions.StorageInternalError

    def fail(*_):
        raise away("the server was stopped")

    with monkeypatch.context() as patched:
        patched.setattr(study.sampler, "before_trial", fail)
        with pytest.raises(away):
            mine.claim()
    assert other.refresh().running == 1  # its owner lives
    assert mine.refresh().running == 0
    claim = mine.claim()
    assert enqueued in ({}, claim.params)
    assert mine.refresh().running == 1


def test_a_waiting_trial_is_started_once_and_with_its_owner(storage, study):
    study.enqueue_trial({"n": 7}, user_attrs={OWNER: "of an earlier attempt"})
    trial_id = storage.get_trial_id_from_study_id_trial_number(1, 0)
    assert start_waiting_trial(storage, trial_id, {OWNER: "me"})
    assert not start_waiting_trial(storage, trial_id, {OWNER: "another"})
    (trial,) = study.trials
    assert (trial.state.name, trial.user_attrs) == ("RUNNING", {OWNER: "me"})
    assert trial.datetime_start is not None


def test_a_trial_without_a_sign_of_life_is_lost_and_its_late_payoff_dropped(queue, study):
    now = [0.0]
    mine, other = queue(5), queue(5, grace=60.0, clock=lambda: now[0])
    claim = mine.claim()
    assert other.refresh().running == 1
    now[0] = 50.0
    claim.trial.set_user_attr(BEAT, 1)
    assert other.refresh().running == 1
    now[0] = 100.0
    assert other.refresh().running == 1  # it has lived 50 s ago
    now[0] = 120.0
    found = other.refresh()
    assert (found.running, found.waiting) == (0, 1)
    assert not finish(mine, claim)
    again = other.claim()
    assert again.params == claim.params
    assert finish(other, again)
    assert count_trials(study.trials).finished == 1


def test_finishing_twice_is_finishing_once(queue, study):
    mine = queue(2)
    claim = mine.claim()
    assert finish(mine, claim, 3.0)
    assert finish(mine, claim, 3.0)  # as after an answer that was lost on its way
    assert not finish(mine, claim, 4.0)


def test_a_trial_given_up_while_it_is_told_does_not_count(queue, study):
    mine = queue(2)
    claim = mine.claim()
    claim.trial.set_user_attr("outcome", {"kind": "done"})
    study.tell(claim.trial.number, state=optuna.trial.TrialState.FAIL)
    assert mine.refresh().taken == 0
