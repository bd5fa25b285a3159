"""Waits for a full disk and for a storage that is away, without a real clock."""

import errno
import sqlite3

import pytest

from tailproof.tune import patience
from tailproof.tune.patience import (
    START_TIMEOUT,
    Patience,
    WaitNotice,
    cause,
    is_disk_full,
    start_patiently,
)
from tailproof.tune.signals import Stop
from tailproof.tune.study import StorageAwayError
from tune_studies import optuna

sqlalchemy = pytest.importorskip("sqlalchemy", reason="the extra `tune` brings it")

URL = "sqlite:////tmp/study.db"
FULL = OSError(errno.ENOSPC, "No space left on device", "/out/report.html")


def storage_error(said, stored="value"):
    """Return an error as Optuna raises it when a driver says something."""
    inner = sqlalchemy.exc.OperationalError("INSERT", {"x": stored}, sqlite3.OperationalError(said))
    error = optuna.exceptions.StorageInternalError("An exception is raised during the commit.")
    error.__cause__ = inner
    return error


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that only sleeping moves."""

    class Clock:
        now = 0.0

        def monotonic(self):
            return self.now

        def sleep(self, seconds):
            self.now += seconds

    made = Clock()
    monkeypatch.setattr(patience, "time", made)
    return made


class Failing:
    """Fail until a time of the clock, then return 7."""

    def __init__(self, clock, error, until):
        self.clock, self.error, self.until, self.events = clock, error, until, []

    def __call__(self):
        if self.clock.now < self.until:
            raise self.error
        return 7

    def run(self, stop=lambda: Stop.NO):
        said = self.events.append
        return Patience(URL, stop, said, lambda: said("resumed"))(self)


@pytest.mark.parametrize("error", [FULL, storage_error("database or disk is full")])
def test_a_full_disk_is_said_at_once_and_waited_for_as_long_as_it_takes(clock, error):
    failing = Failing(clock, error, until=36_000.0)
    assert failing.run() == 7
    assert failing.events[0].startswith("no space left on device: ")
    assert failing.events[-1] == "resumed"
    assert failing.events.count("resumed") == 1
    assert clock.now < 36_000.0 + 6.0  # it goes on soon after


def test_a_storage_that_is_away_is_waited_for_five_minutes(clock):
    away = storage_error("attempt to write a readonly database")
    assert Failing(clock, away, until=290.0).run() == 7
    failing = Failing(clock, away, until=1e9)
    with pytest.raises(optuna.exceptions.StorageInternalError):
        failing.run()
    assert set(failing.events) == {
        f"the storage {URL} cannot be used: attempt to write a readonly database"
    }


def test_a_server_that_restarts_is_waited_for_before_the_start_but_nothing_else(clock):
    away = StorageAwayError("cannot open the storage: connection refused")
    assert Failing(clock, away, until=290.0).run() == 7
    clock.now = 0.0
    said = []
    assert start_patiently(Failing(clock, away, until=10.0), URL, said.append) == 7
    assert set(said) == {str(away)}
    clock.now = 0.0
    with pytest.raises(StorageAwayError):
        start_patiently(Failing(clock, away, until=1e9), URL, said.append)
    assert clock.now <= START_TIMEOUT
    clock.now = 0.0
    with pytest.raises(ValueError, match="odd"):
        start_patiently(Failing(clock, ValueError("odd"), until=1.0), URL, said.append)
    assert clock.now == 0.0


def test_a_request_to_stop_ends_the_wait(clock):
    failing = Failing(clock, FULL, until=1e9)
    with pytest.raises(OSError, match="No space left"):
        failing.run(lambda: Stop.YES if clock.now > 50.0 else Stop.NO)
    assert clock.now < 51.0


@pytest.mark.parametrize("error", [ValueError("odd"), OSError(errno.EACCES, "not allowed")])
def test_other_errors_are_raised_at_once(clock, error):
    with pytest.raises(type(error)):
        Failing(clock, error, until=1.0).run()
    assert clock.now == 0.0


def test_causes_name_the_file_or_the_storage_and_no_secret():
    assert cause(FULL, URL) == "no space left on device: /out/report.html"
    said = cause(storage_error("disk full for hush"), "postgresql://me:hush@host/db")
    assert said == (
        "no space left on device: the storage postgresql://me:***@host/db (disk full for ***)"
    )


def test_what_a_program_has_printed_does_not_make_a_disk_full():
    assert not is_disk_full(storage_error("database is locked", "no space left on device"), URL)
    assert is_disk_full(storage_error("database or disk is full"), URL)
    assert is_disk_full(OSError(errno.EDQUOT, "Disk quota exceeded"), URL)


def test_a_wait_is_said_once_a_minute_and_when_its_cause_changes():
    lines, now = [], [0.0]
    notice = WaitNotice(lines.append, lambda: now[0])
    for cause_, at in (("a", 0), ("a", 59), ("a", 60), ("b", 61), ("b", 100)):
        now[0] = at
        notice.waiting(cause_)
    assert [line.partition(";")[0] for line in lines] == ["waiting: a"] * 2 + ["waiting: b"]
    assert notice.resumed() == 100.0
    assert notice.resumed() == 0.0
    assert lines[3:] == ["going on after a wait of 1 min 40 s"]
    notice.waiting("b")
    assert len(lines) == 5
