import os
import sys
import threading

import pytest

from tailproof.tune import heartbeat
from tailproof.tune.heartbeat import Heartbeat, LossDetector, is_surely_dead, signature
from tune_studies import dead_signature, wait_for


def test_the_heartbeat_is_that_of_the_trial_that_runs():
    beats, enough = [], threading.Event()

    def beat(trial, count):
        beats.append((trial, count))
        if count == 1:
            raise OSError("the storage is away")
        enough.set()

    threads = threading.active_count()
    heart = Heartbeat(beat, interval=0.02)
    heart.start(7)
    assert enough.wait(300.0)
    heart.pause()
    heart.close()
    assert beats[:2] == [(7, 1), (7, 2)]
    wait_for(lambda: threading.active_count() == threads)


def test_signatures_of_other_machines_are_never_is_surely_dead(monkeypatch):
    owner = dead_signature()
    monkeypatch.setattr(heartbeat, "_machine_id", lambda: "another boot")
    assert not is_surely_dead(owner)
    assert not is_surely_dead("")
    assert not is_surely_dead("x y z w")


@pytest.mark.skipif(sys.platform != "linux", reason="needs the boot id of Linux")
def test_a_process_is_dead_if_it_ended_or_if_its_id_belongs_to_another_one():
    assert is_surely_dead(dead_signature())
    assert not is_surely_dead(signature())
    machine, pid, start, worker = signature().rsplit(" ", 3)
    assert int(pid) == os.getpid()
    assert is_surely_dead(f"{machine} {pid} {float(start) - 100.0} {worker}")
    assert signature() != signature()  # of two workers


def test_a_trial_is_lost_when_its_beat_stays_the_same():
    now = [0.0]
    detector = LossDetector(grace=60.0, clock=lambda: now[0])
    found = []
    for now[0], beat in ((0.0, 0), (50.0, 1), (100.0, 1), (120.0, 1)):
        found.append(detector.lost([(7, beat, "elsewhere 1 2.0")]))
    assert found == [[], [], [], [7]]
