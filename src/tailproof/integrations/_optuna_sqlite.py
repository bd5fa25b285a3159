"""SQLite storage that several workers of one machine can share, and a warning about any other.

Optuna starts a waiting trial by reading its state and then writing another. It relies on
``SELECT ... FOR UPDATE``, which SQLite does not have: two workers can read the state before either
writes it, and both run the trial. Here every transaction takes SQLite's write lock first.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from optuna.storages import RDBStorage
from optuna.study import Study
from optuna.trial import FrozenTrial

from tailproof.integrations._optuna_internals import (
    relational_storage,
    set_system_attr,
    whole_study,
)

LOCK_TIMEOUT = 60.0  # seconds a transaction waits for the lock
_RETRY_PAUSES = (0.2, 0.5, 1.0)  # seconds before the tables of a new database are tried again


class SQLiteStorage(RDBStorage):
    """Optuna storage in a SQLite file that several processes and threads can share safely.

    For one machine; the write-ahead log does not work on network file systems. With Optuna's own
    `RDBStorage` on SQLite, two workers may run the same enqueued or retried trial.

    Parameters
    ----------
    path : str or path
        The file, created with its folder if there is none; or a URL that begins with `sqlite:`.
    engine_kwargs : dict, optional
        For `sqlalchemy.create_engine`.
    **options
        As for `optuna.storages.RDBStorage`: `heartbeat_interval`, for instance.

    Notes
    -----
    A write-ahead log needs one disk sync per checkpoint; a crash of the machine may cost the last
    trials, never the file. Each transaction begins with ``BEGIN IMMEDIATE``, and waits up to 60 s
    for the lock (``engine_kwargs={"connect_args": {"timeout": seconds}}`` changes that).

    Examples
    --------
    >>> import tempfile
    >>> import optuna
    >>> from tailproof.integrations.optuna import SQLiteStorage, TailproofSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> folder = tempfile.TemporaryDirectory()
    >>> storage = SQLiteStorage(f"{folder.name}/study.db")
    >>> study = optuna.create_study(storage=storage, sampler=TailproofSampler(seed=0))
    >>> study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2, n_jobs=2)
    >>> len(study.trials)
    2
    >>> storage.close()
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        engine_kwargs: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        url, database = _sqlite_url(path)
        given = engine_kwargs or {}
        connect_args = {"timeout": LOCK_TIMEOUT} | given.get("connect_args", {})
        _prepare_sqlite_file(database, connect_args["timeout"])
        kwargs = given | {"connect_args": connect_args}
        create_tables(lambda: super(SQLiteStorage, self).__init__(url, kwargs, **options))
        self._lock_transactions()

    def __setstate__(self, state: dict[Any, Any]) -> None:
        """Open the SQLite file again in another process."""
        super().__setstate__(state)  # makes a new engine
        self._lock_transactions()

    def _lock_transactions(self) -> None:
        """Let every transaction of SQLite take the write lock when it begins."""
        import sqlalchemy

        def connect(connection: Any, _: Any) -> None:
            connection.isolation_level = None  # `begin` below decides when a transaction begins
            connection.execute("PRAGMA synchronous=NORMAL")

        def begin(connection: Any) -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

        sqlalchemy.event.listen(self.engine, "connect", connect)
        sqlalchemy.event.listen(self.engine, "begin", begin)
        self.engine.dispose()  # connections made before the listeners

    def close(self) -> None:
        """Close all connections to the SQLite file."""
        self.remove_session()
        self.engine.dispose()


def _sqlite_url(path: str | os.PathLike[str]) -> tuple[str, str | None]:
    """Return Optuna's URL of a file, and SQLite's name of the database.

    Optuna reads a URL as a format string, where plain braces are doubled.
    """
    import sqlalchemy

    text = os.fspath(path)
    if text.startswith("sqlite:"):
        plain = text.replace("{{", "{").replace("}}", "}")
        return text, sqlalchemy.engine.make_url(plain).database
    database = str(Path(text).absolute())
    built = sqlalchemy.engine.URL.create("sqlite", database=database)
    url = built.render_as_string(hide_password=False)
    if sqlalchemy.engine.make_url(url).database != database:  # older releases quote nothing
        raise ValueError(f"the path of the study must hold no `?` and `%`, but got {path}.")
    return url.replace("{", "{{").replace("}", "}}"), database


def _prepare_sqlite_file(database: str | None, timeout: float) -> None:
    """Create the SQLite file with a write-ahead log; an error if it cannot be written."""
    if not database or database == ":memory:":
        raise ValueError("a study must be kept in a file")
    if database.startswith("file:"):
        return
    Path(database).parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(database, timeout=timeout)) as file:
        file.execute("PRAGMA journal_mode=WAL")
        file.execute("BEGIN IMMEDIATE")
        file.execute("ROLLBACK")


def create_tables(open_database: Callable[[], Any]) -> Any:
    """Create SQLite tables by `open_database`, called again if others create them meanwhile.

    Of two processes that open an empty database at once, one fails.
    """
    from sqlalchemy import exc as errors

    for pause in _RETRY_PAUSES:
        try:
            return open_database()
        except (errors.IntegrityError, errors.ProgrammingError):
            pass
        except errors.OperationalError as error:
            if "already exists" not in str(error):
                raise
        time.sleep(pause)
    return open_database()


# Under this key a trial in plain SQLite carries the id of the process that runs it.
PROCESS = "tailproof:process"
_warned: set[tuple[str, str]] = set()
_imported = datetime.now()


def note_process(study: Study, trial: FrozenTrial) -> None:
    """Store that this process runs a trial, if the SQLite storage is not safe to share."""
    if _unsafe_sqlite_key(study) is not None:
        set_system_attr(study, trial, PROCESS, os.getpid())


def warn_if_shared(study: Study, running: Iterable[FrozenTrial]) -> None:
    """Warn, once a study, if other processes run trials in a SQLite file that is unsafe to share.

    Other processes count if they live and began their trial after this one was at work: what a
    dead process has left does no harm.
    """
    key = _unsafe_sqlite_key(study)
    if key is None or key in _warned:
        return
    for trial in running:
        process, start = trial.system_attrs.get(PROCESS, os.getpid()), trial.datetime_start
        recent = start is not None and start.replace(tzinfo=None) > _imported
        if recent and process != os.getpid() and _is_process_alive(process):
            _warned.add(key)
            warnings.warn(
                f"several processes share the study {key[1]!r} in SQLite through Optuna's "
                "RDBStorage, where two of them can run the same trial; use "
                "tailproof.integrations.optuna.SQLiteStorage in all of them.",
                stacklevel=2,
            )
            return


def _is_process_alive(process: int) -> bool:
    """Whether a process that shares the SQLite file lives; True where that cannot be asked."""
    if os.name != "posix":
        return True  # not to be asked without ending it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        pass
    return True


def _unsafe_sqlite_key(study: Study) -> tuple[str, str] | None:
    """Return file and name of a study in plain SQLite; None for other storages."""
    study = whole_study(study)
    storage = relational_storage(study)
    if storage is None or isinstance(storage, SQLiteStorage) or storage.engine.name != "sqlite":
        return None
    database = storage.engine.url.database
    if not database or database == ":memory:":
        return None
    return database, study.study_name
