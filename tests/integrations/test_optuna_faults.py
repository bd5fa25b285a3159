"""Workers die and databases restart at random moments; no finished trial is lost, none is stuck.

Several processes share two studies in one real database. They are killed with SIGKILL again and
again while they work; the PostgreSQL server is stopped and started on its data in the middle.
"""

import contextlib
import multiprocessing
import os
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

optuna = pytest.importorskip("optuna", minversion="5.0", reason="the sampler is for Optuna 5")
sqlalchemy = pytest.importorskip("sqlalchemy")

from optuna.study import MaxTrialsCallback  # noqa: E402
from optuna.trial import TrialState  # noqa: E402

from postgresql import a_server, start  # noqa: E402
from tailproof.integrations.optuna import (  # noqa: E402
    SQLiteStorage,
    TailproofSampler,
    recommend,
    release_overdue,
)

HEARTBEAT, GRACE = 1, 3  # seconds
OVERDUE = 5.0  # seconds: a trial takes a few hundredths
STUDIES = ("first", "second")
WORKERS = 3
GOAL = 20  # complete trials of each study at least
KILLS = 5
PATIENCE = 900.0  # seconds until a run counts as stuck, also on a slow machine


def open_storage(url, new):
    sqlite = url.startswith("sqlite")
    return (SQLiteStorage if sqlite else optuna.storages.RDBStorage)(
        url,
        engine_kwargs={} if sqlite else {"pool_pre_ping": True},
        heartbeat_interval=HEARTBEAT,
        grace_period=GRACE,
        heartbeat_stale_trial_callback=optuna.storages.RetryHeartbeatStaleTrialCallback(),
        skip_compatibility_check=not new,
        skip_table_creation=not new,
    )


@contextlib.contextmanager
def opened(url, name, new=False):
    """The study, created if it is not there; its connections are closed in the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        storage = open_storage(url, new)
    try:
        yield optuna.create_study(
            storage=storage,
            study_name=name,
            sampler=TailproofSampler(seed=0),  # the same in every process
            direction="maximize",
            load_if_exists=True,
        )
    finally:
        storage.remove_session()
        storage.engine.dispose()


def payoff(params):
    return 1.0 - (params["x"] - 0.3) ** 2 - 0.1 * params["n"] + (params["c"] == "b")


def objective(trial, write=lambda line: None):
    write(f"asked {trial.number}")
    trial.suggest_float("x", 0.0, 1.0)
    trial.suggest_int("n", 1, 5)
    trial.suggest_categorical("c", ["a", "b"])
    time.sleep(0.01)
    return payoff(trial.params)


def work(url, name, log):
    """Run trials until the trouble is over and the study has enough of them."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(line):
        os.write(file, (line + "\n").encode())

    def told(study, trial):
        if trial.state == TrialState.COMPLETE:
            write(f"told {trial.number} {trial.value!r}")

    def enough(study, trial):
        if (Path(log).parent / "calm").exists():
            MaxTrialsCallback(GOAL, states=(TrialState.COMPLETE,))(study, trial)

    while True:
        # A database that is away; what Optuna 5.0 makes of that while a trial is told; and a trial
        # given up by the others while this process starved.
        with (
            contextlib.suppress(
                optuna.exceptions.StorageInternalError,
                UnboundLocalError,
                optuna.exceptions.UpdateFinishedTrialError,
                sqlalchemy.exc.DBAPIError,
            ),
            opened(url, name) as study,
        ):
            study.optimize(lambda trial: objective(trial, write), callbacks=[told, enough])
            return
        time.sleep(0.1)


class WorkerPool:
    """Worker processes, each with a log of what it was asked and what it told."""

    def __init__(self, url, folder):
        self.url, self.folder = url, folder
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["tailproof.integrations.optuna", "sqlalchemy"])
        self.workers = {}
        self.started = 0

    def start(self, name):
        log = self.folder / f"{self.started:03d}-{name}.log"
        self.started += 1
        process = self.context.Process(target=work, args=(self.url, name, str(log)), daemon=True)
        process.start()
        self.workers[process] = (name, log)

    def at_work(self):
        """Workers that have begun their first trial and have not come to the end."""
        begun = [p for p, (_, log) in self.workers.items() if log.exists() and log.stat().st_size]
        return [process for process in begun if process.is_alive()]

    def kill(self, process):
        """Kill the worker and start another in its place."""
        process.kill()
        process.join()
        name, _ = self.workers.pop(process)
        self.start(name)

    def close(self):
        for process in self.workers:
            process.kill()
            process.join()

    def lines(self, name):
        logs = sorted(self.folder.glob(f"*-{name}.log"))
        return [line.split() for log in logs for line in log.read_text().splitlines()]


def trouble(pool, rng, restart):
    """Kill workers at random moments, and restart the database in between."""
    killed = 0
    end = time.monotonic() + PATIENCE
    while killed < KILLS:
        assert time.monotonic() < end, "no worker begins a trial"
        time.sleep(rng.uniform(0.05, 0.5))
        candidates = pool.at_work()
        if candidates:
            pool.kill(candidates[rng.integers(len(candidates))])
            killed += 1
            if killed == KILLS // 2:
                restart()
    (pool.folder / "calm").touch()


def finish_open_trials(study):
    """Work on until no trial is running or waiting."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        study.optimize(objective, n_trials=1)  # which fails and retries stale trials first
        release_overdue(study, OVERDUE)
        states = Counter(trial.state for trial in study.get_trials(deepcopy=False))
        if not states[TrialState.RUNNING] and not states[TrialState.WAITING]:
            break
        if not states[TrialState.WAITING]:
            time.sleep(0.3)


@dataclass(frozen=True)
class Counts:
    """What became of a study's trials."""

    asked: int
    finished: int
    failed: int  # with the worker that ran them
    again: int  # of those, queued again
    stuck: int  # neither finished nor failed
    lost: int  # asked of a worker or told by it, and not in the study as such

    def __str__(self):
        return (
            f"asked {self.asked}, finished {self.finished}, failed with their worker "
            f"{self.failed} (queued again {self.again}), stuck {self.stuck}, lost: {self.lost}"
        )


def count(study, lines):
    """Compare the study with what the workers wrote down; every finished trial is there once."""
    trials = study.get_trials()
    states = Counter(trial.state for trial in trials)
    asked = [int(line[1]) for line in lines if line[0] == "asked"]
    told = {int(line[1]): float(line[2]) for line in lines if line[0] == "told"}
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert len(asked) == len(set(asked)), "two workers ran one trial"
    assert len(told) == sum(line[0] == "told" for line in lines), "a trial was told twice"
    complete = {trial.number: trial for trial in trials if trial.state == TrialState.COMPLETE}
    assert all(trial.value == payoff(trial.params) for trial in complete.values())
    retries = [trial for trial in trials if "retry_history" in trial.system_attrs]
    lost = [number for number in asked if number >= len(trials)]
    lost += [n for n, value in told.items() if n not in complete or complete[n].value != value]
    return Counts(
        asked=len(trials),
        finished=len(complete),
        failed=states[TrialState.FAIL],
        again=len({trial.system_attrs["retry_history"][-1] for trial in retries}),
        stuck=states[TrialState.RUNNING] + states[TrialState.WAITING],
        lost=len(lost),
    )


@contextlib.contextmanager
def postgres(folder):
    with a_server(folder / "postgres") as server:

        def restart():
            server.stop()
            time.sleep(0.3)
            start(server)

        yield server.get_uri(driver="psycopg"), restart


@contextlib.contextmanager
def sqlite(folder):
    yield f"sqlite:///{folder / 'studies.db'}", lambda: None


@pytest.mark.parametrize("database", [sqlite, postgres], ids=lambda one: one.__name__)
def test_no_trial_is_lost_or_stuck_when_workers_are_killed(
    database, tmp_path, capsys, record_property
):
    rng = np.random.default_rng(5)
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    with database(tmp_path) as (url, restart):
        for name in STUDIES:
            with opened(url, name, new=True):
                pass
        pool = WorkerPool(url, tmp_path)
        try:
            for i in range(WORKERS):
                pool.start(STUDIES[i % len(STUDIES)])
            trouble(pool, rng, restart)
            for process in list(pool.workers):
                process.join(PATIENCE)
                assert process.exitcode == 0, "a worker is stuck"
        finally:
            pool.close()
        failed = 0
        for name in STUDIES:
            with opened(url, name) as study:
                finish_open_trials(study)
                counts = count(study, pool.lines(name))
                best = recommend(study)
            text = f"{database.__name__}, {KILLS} kills, {name} study: {counts}"
            record_property("faults", text)
            with capsys.disabled():
                print(f"\n{text}", end="")
            assert counts.finished >= GOAL
            assert counts.lost == counts.stuck == 0
            assert best.lower <= best.mean <= best.upper
            failed += counts.failed
        # A worker spends nine tenths of its time between a trial's creation and its end: that all
        # kills fell in between trials has a probability below 1e-4.
        assert failed > 0
