"""SQLite shared by several workers: a trial is run by one of them; others are warned."""

import contextlib
import pickle
import subprocess
import sys
import warnings

import pytest

from optuna_studies import a_sampler, bowl, optuna
from tailproof.integrations.optuna import SQLiteStorage

sqlalchemy = pytest.importorskip("sqlalchemy")
RUNNING = optuna.trial.TrialState.RUNNING


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens the file once more, safe or not."""
    with contextlib.ExitStack() as stack:

        def open_storage(safe=True, timeout=300.0):
            engine = {"connect_args": {"timeout": timeout}}
            path = tmp_path / "study.db"
            if safe:
                storage = SQLiteStorage(path, engine)
            else:
                storage = optuna.storages.RDBStorage(f"sqlite:///{path}", engine)
            stack.callback(storage.engine.dispose)
            stack.callback(storage.remove_session)
            return storage

        yield open_storage


def study_of(storage):
    return optuna.create_study(
        storage=storage, study_name="s", sampler=a_sampler(), load_if_exists=True
    )


def workers_that_start_one_trial(first, second):
    """Return how many of two workers start a waiting trial; the second tries amid the first.

    The second must not wait for locks.
    """
    study_of(first).enqueue_trial({"x": 0.5, "y": 0.5})
    started = []

    def try_second(connection, cursor, statement, *_):
        if statement.startswith("UPDATE trials") and len(started) == 0:
            with contextlib.suppress(optuna.exceptions.StorageInternalError):  # it is locked
                started.append(second.set_trial_state_values(1, RUNNING))

    sqlalchemy.event.listen(first.engine, "before_cursor_execute", try_second)
    with contextlib.suppress(optuna.exceptions.StorageInternalError):
        started.append(first.set_trial_state_values(1, RUNNING))
    return sum(started)


def test_two_workers_never_start_the_same_trial(opened):
    assert workers_that_start_one_trial(opened(), opened(timeout=0)) == 1


def test_a_storage_that_was_sent_to_another_process_is_as_safe(opened):
    second = pickle.loads(pickle.dumps(opened(timeout=0)))
    assert workers_that_start_one_trial(opened(), second) == 1
    second.close()


def test_optunas_own_storage_lets_two_workers_start_the_same_trial(opened):
    # If a release of Optuna mends this, the warning can go.
    first, second = opened(safe=False), opened(safe=False, timeout=0)
    assert workers_that_start_one_trial(first, second) == 2


def test_a_url_does_as_well_as_a_path_and_nothing_else(tmp_path):
    for place in (tmp_path / "a {b}" / "s.db", f"sqlite:///{tmp_path / 'c.db'}"):
        storage = SQLiteStorage(place)
        study_of(storage).optimize(bowl, n_trials=1)
        storage.close()
    assert (tmp_path / "a {b}" / "s.db").stat().st_size > 0
    assert (tmp_path / "c.db").stat().st_size > 0
    with pytest.raises(ValueError, match="in a file"):
        SQLiteStorage("sqlite:///:memory:")


def test_options_reach_the_storage(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        storage = SQLiteStorage(tmp_path / "s.db", heartbeat_interval=7, grace_period=21)
    assert storage.get_heartbeat_interval() == 7
    storage.close()


OTHER = """
import sys
import optuna
from tailproof.integrations.optuna import TailproofSampler
optuna.logging.set_verbosity(optuna.logging.CRITICAL)
study = optuna.load_study(storage=sys.argv[1], study_name="s", sampler=TailproofSampler(seed=1))
study.ask()
print("begun", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def another_process(storage):
    """Begin a trial in a process that lives until the end."""
    with subprocess.Popen(
        [sys.executable, "-c", OTHER, str(storage.engine.url)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "begun\n"
        yield


def test_processes_that_share_an_unsafe_file_are_warned_once(opened):
    storage = opened(safe=False)
    study = study_of(storage)
    study.optimize(bowl, n_trials=2)
    with another_process(storage), pytest.warns(UserWarning, match="SQLiteStorage") as found:
        study.optimize(bowl, n_trials=2)
    assert len(found) == 1


def test_one_process_is_not_bothered(opened):
    """Nor are several threads or studies of it; nor by what a dead process has left."""
    storage = opened(safe=False)
    study = study_of(storage)
    with another_process(storage):
        pass
    study.optimize(bowl, n_trials=4, n_jobs=2)
    again = study_of(opened(safe=False))
    asked = again.ask()
    study.optimize(bowl, n_trials=2)
    again.tell(asked, 1.0)


def test_a_safe_file_may_be_shared(opened):
    storage = opened()
    study = study_of(storage)
    study.optimize(bowl, n_trials=2)
    with another_process(storage):
        study.optimize(bowl, n_trials=2)
