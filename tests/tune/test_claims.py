import os
import subprocess
import sys

import pytest

from tailproof.search.space.parameters import Int
from tailproof.search.space.space import Space
from tailproof.tune import alive
from tailproof.tune.alive import Heart, Watch, signature, surely_dead
from tailproof.tune.claims import (
    BEAT,
    FAILED,
    LOST,
    MOST_LOSSES,
    OWNER,
    RETRIED,
    Before,
    Claims,
    counts,
    tally,
)
from tailproof.tune.study import Identity, distributions, open_storage, open_study
from tailproof.tune.urls import file_url

optuna = pytest.importorskip("optuna", reason="`tailproof tune` keeps its trials in Optuna")

SPACE = Space(n=Int(0, 1000))
IDENTITY = Identity(("p", "{n}"), SPACE.state(), "last-line", True)


@pytest.fixture
def study(tmp_path):
    storage = open_storage(file_url(tmp_path / "study.db"))
    yield open_study(storage, "s", IDENTITY, seed=0)
    storage.remove_session()
    storage.engine.dispose()


def claims(study, budget, grace=60.0):
    return Claims(study, distributions(SPACE), budget, grace)


def done(mine, claim, value=1.0):
    return mine.finish(claim.trial, {"kind": "done"}, value)


def test_the_last_place_is_taken_once(study):
    one, other = claims(study, 3), claims(study, 3)
    for _ in range(2):
        assert done(one, one.take())
    last = one.take()
    # The other had looked before the last place was taken.
    assert other.take() is None
    found = other.look()
    assert (found.finished, found.running, found.taken) == (2, 1, 3)
    assert done(one, last)
    assert one.look().finished == 3
    assert len(study.trials) == 4  # the late one is there, never ran, and does not count
    assert sum(counts(trial) for trial in study.trials) == 3


def test_what_is_given_back_runs_again_in_its_place(study):
    mine = claims(study, 2)
    first = mine.take()
    assert mine.give_back(first, {"kind": LOST, "reason": "interrupted"})
    found = mine.look()
    assert (found.taken, found.waiting) == (0, 1)
    again = mine.take()
    assert again.params == first.params
    assert again.before == Before()
    assert mine.give_back(again, {"kind": RETRIED, "reason": "exit code 1"})
    third = mine.take()
    assert third.params == first.params
    assert third.before == Before(failures=1)
    assert done(mine, third)
    assert done(mine, mine.take())
    assert mine.look().finished == 2
    assert mine.take() is None


def test_what_was_enqueued_out_of_range_runs_and_can_be_given_back(study):
    study.enqueue_trial({"n": 5000})
    mine = claims(study, 2)
    first = mine.take()
    assert first.params == {"n": 5000}
    assert mine.give_back(first, {"kind": LOST, "reason": "interrupted"})
    again = mine.take()
    assert again.params == {"n": 5000}
    assert done(mine, again)
    assert mine.look().complete == 1


def test_what_was_enqueued_without_sense_is_a_failed_trial(study):
    study.enqueue_trial({"n": "many"})
    mine = claims(study, 2)
    assert mine.take() is None
    assert (mine.look().failed, mine.look().running) == (1, 0)
    assert "many" in study.trials[0].user_attrs["outcome"]["reason"]
    assert mine.take() is not None


def test_what_was_enqueued_survives_a_worker_that_dies_before_it_begins(study):
    study.enqueue_trial({"n": 7})
    trial = study.ask()  # nothing is stored of its setting
    trial.set_user_attr(OWNER, dead())
    mine = claims(study, 2)
    assert mine.look().running == 0
    again = mine.take()
    assert (again.params, again.before) == ({"n": 7}, Before())


def test_a_failure_counts(study):
    mine = claims(study, 1)
    assert mine.finish(mine.take().trial, {"kind": FAILED, "reason": "exit code 1"})
    found = mine.look()
    assert (found.finished, found.failed, found.complete) == (1, 1, 0)


def dead():
    """Return the signature of a process of this machine that has ended."""
    code = "from tailproof.tune.alive import signature; print(signature())"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="processes are seen in /proc")
def test_a_dead_worker_of_this_machine_is_noticed_at_once(study):
    owner = dead()
    assert surely_dead(owner)
    assert not surely_dead(signature())
    mine = claims(study, 5)
    setting = mine.take()
    for loss in range(1, MOST_LOSSES + 2):
        assert mine.look().running == 1
        setting.trial.set_user_attr(OWNER, owner)
        found = mine.look()
        if loss <= MOST_LOSSES:
            assert (found.running, found.waiting, found.failed) == (0, 1, 0)
            again = mine.take()
            assert again.params == setting.params
            assert again.before.losses == loss
            setting = again
    assert (found.running, found.waiting, found.failed) == (0, 0, 1)  # it kills its workers


def test_a_trial_without_a_sign_of_life_is_lost_and_its_late_payoff_dropped(study, monkeypatch):
    now = [0.0]
    mine, other = claims(study, 5), claims(study, 5)
    other._watch = Watch(60.0, clock=lambda: now[0])
    claim = mine.take()
    assert other.look().running == 1
    now[0] = 50.0
    claim.trial.set_user_attr(BEAT, 1)
    assert other.look().running == 1
    now[0] = 100.0
    assert other.look().running == 1  # it has lived 50 s ago
    now[0] = 120.0
    found = other.look()
    assert (found.running, found.waiting) == (0, 1)
    assert not done(mine, claim)
    again = other.take()
    assert again.params == claim.params
    assert done(other, again)
    assert tally(study.trials).finished == 1


def test_telling_twice_is_telling_once(study):
    mine = claims(study, 2)
    claim = mine.take()
    assert done(mine, claim, 3.0)
    assert done(mine, claim, 3.0)  # as after an answer that was lost on its way
    assert not done(mine, claim, 4.0)


def test_a_trial_given_up_while_it_is_told_does_not_count(study):
    mine = claims(study, 2)
    claim = mine.take()
    claim.trial.set_user_attr("outcome", {"kind": "done"})
    study.tell(claim.trial.number, state=optuna.trial.TrialState.FAIL)
    assert mine.look().taken == 0


def test_the_heart_beats_for_the_trial_at_hand():
    import threading

    beats, enough = [], threading.Event()

    def beat(trial, count):
        beats.append((trial, count))
        if count == 1:
            raise OSError("the storage is away")
        enough.set()

    heart = Heart(beat, interval=0.02)
    heart.start(7)
    assert enough.wait(120.0)
    heart.rest()
    heart.close()
    assert beats[:2] == [(7, 1), (7, 2)]
    assert not heart._thread.is_alive()


def test_signatures_of_other_machines_are_never_surely_dead(monkeypatch):
    owner = dead()
    monkeypatch.setattr(alive, "_machine", lambda: "another boot")
    assert not surely_dead(owner)
    assert not surely_dead("")
    assert not surely_dead("x y z w")
