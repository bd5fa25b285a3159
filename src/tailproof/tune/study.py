"""The storage and the Optuna study of a command: opened, created, and checked for identity."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailproof._util.optional import require
from tailproof.search.space.parameters import Choice, Fixed, Float, Int
from tailproof.search.space.space import Space
from tailproof.tune.urls import masked, parse, without_secrets

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.storages import RDBStorage
    from optuna.trial import FrozenTrial

_IDENTITY = "tailproof tune"  # the study attribute that says what is tuned
_CONNECT_TIMEOUT = 10  # seconds
# What the drivers say of a server that is away, as while it restarts, rather than not to be had.
_AWAY = (
    "connection refused",
    "can't connect",
    "is the server running",
    "starting up",
    "shutting down",
    "server closed the connection",
    "terminating connection",
    "lost connection",
    "server has gone away",
    "connection timeout",
)


class StorageAwayError(ValueError):
    """The server of a storage does not answer now, but may come back."""


@dataclass(frozen=True)
class Identity:
    """What makes two commands the same study."""

    command: tuple[str, ...]  # program and arguments with their slots
    space: Mapping[str, Any]  # its state
    value: str  # where the payoff is found
    minimize: bool
    stream: str = "stdout"  # or "stderr": where the payoff is read

    def record(self) -> dict[str, Any]:
        """Return the identity as the study keeps it, without the order of the parameters."""
        space = json.loads(json.dumps(self.space))
        space["parameters"].sort(key=lambda parameter: parameter["name"])
        return {
            "command": list(self.command),
            "space": space,
            "value": self.value,
            "read": self.stream,
            "direction": "minimize" if self.minimize else "maximize",
        }

    def name(self) -> str:
        """Return the name of a study: of the program and a digest of its identity."""
        digest = hashlib.sha256(json.dumps(self.record(), sort_keys=True).encode()).hexdigest()
        program = "".join(c for c in Path(self.command[0]).name if c.isalnum() or c in "._-")
        return f"{program[:40] or 'program'}-{digest[:10]}"


def load_optuna() -> Any:
    """Return optuna, which keeps the study, quiet; or say how to install it."""
    optuna = require("optuna", "tune")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    # What was enqueued out of range runs as it is, and is left out of the model.
    warnings.filterwarnings("ignore", message="Fixed parameter .* is out of range")
    # Trials that others added with other ranges: the report counts them as left out.
    warnings.filterwarnings("ignore", message="the study .* has parameters that not all")
    return optuna


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """Return the study's distributions of a space; constants are not part of it."""
    kinds = load_optuna().distributions
    made: dict[str, BaseDistribution] = {}
    for name, p in space.parameters.items():
        if isinstance(p, Float):
            # Steps need not end at high; Optuna wants the last one.
            high = p.high if p.step is None else p.value(1.0)
            made[name] = kinds.FloatDistribution(p.low, high, log=p.log, step=p.step)
        elif isinstance(p, Int):
            made[name] = kinds.IntDistribution(p.low, p.value(1.0), log=p.log, step=p.step)
        elif isinstance(p, Choice):
            made[name] = kinds.CategoricalDistribution(p.options)
    return made


def constants(space: Space) -> dict[str, Any]:
    """Return the values of the fixed parameters, which the study does not keep."""
    return {name: p.constant for name, p in space.parameters.items() if isinstance(p, Fixed)}


def planned_params(trial: FrozenTrial) -> dict[str, Any]:
    """Return the params a study's trial has, or was enqueued with; some may be missing."""
    from tailproof.integrations import _optuna_history

    return _optuna_history.planned_params(trial)


@contextlib.contextmanager
def opened_storage(url: str) -> Iterator[RDBStorage]:
    """Open the storage of a study at a URL, and close its connections in the end."""
    storage = open_storage(url)
    try:
        yield storage
    finally:
        close_storage(storage)


def close_storage(storage: RDBStorage) -> None:
    """Close all connections of a study's storage."""
    storage.remove_session()
    storage.engine.dispose()


def open_storage(url: str) -> RDBStorage:
    """Return the storage of studies at a URL, created if need be; one clear ValueError if not."""
    optuna = load_optuna()
    import sqlalchemy

    from tailproof.integrations._optuna_sqlite import SQLiteStorage, create_tables

    plain = (ValueError, OSError, ImportError, RuntimeError, sqlite3.Error)
    try:
        parsed = parse(url)
        if parsed is None:
            raise ValueError("it is not a database URL such as sqlite:///file.db")
        if parsed.get_backend_name() == "sqlite":
            return SQLiteStorage(url)
        options: dict[str, Any] = {"pool_pre_ping": True}
        if parsed.get_backend_name() == "postgresql":
            options["connect_args"] = {"connect_timeout": _CONNECT_TIMEOUT}
        return create_tables(lambda: optuna.storages.RDBStorage(url, engine_kwargs=options))
    except (*plain, sqlalchemy.exc.SQLAlchemyError, optuna.exceptions.OptunaError) as error:
        said = without_secrets(first_line(error), url)
        kind = StorageAwayError if is_storage_away(error) else ValueError
        raise kind(f"cannot open the storage {masked(url)}: {said}") from None


def is_storage_away(error: BaseException) -> bool:
    """Whether an error says that the server of a study's storage is away, but may come back.

    Examples
    --------
    >>> is_storage_away(RuntimeError("FATAL: the database system is starting up"))
    True
    >>> is_storage_away(RuntimeError("password authentication failed"))
    False
    """
    if isinstance(error, StorageAwayError):
        return True
    while isinstance(error, Exception) and error.__cause__ is not None:
        error = error.__cause__
    said = str(getattr(error, "orig", None) or error).lower()
    return any(words in said for words in _AWAY)


def has_studies(path: Path) -> bool:
    """Return whether a SQLite file has Optuna's tables; True if it cannot be read."""
    with contextlib.closing(sqlite3.connect(path, timeout=_CONNECT_TIMEOUT)) as file:
        try:
            return bool(file.execute("SELECT 1 FROM sqlite_master WHERE name='studies'").fetchall())
        except sqlite3.Error:
            return True  # opening it says what is wrong


def first_line(error: BaseException) -> str:
    """Return the first line of a storage error's message, of its driver's if there is one."""
    while isinstance(error, Exception) and error.__cause__ is not None:
        error = error.__cause__
    said = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
    return said.splitlines()[0]


def open_study(
    storage: RDBStorage,
    name: str,
    identity: Identity,
    seed: int | None,
    *,
    avoid_failures: bool = False,
) -> optuna.Study:
    """Return the study of this name, created if need be; refuse one of something else."""
    optuna = load_optuna()
    from tailproof.integrations.optuna import TailproofSampler

    mine = identity.record()
    study = optuna.create_study(
        storage=storage,
        study_name=name,
        sampler=TailproofSampler(seed=seed, avoid_failures=avoid_failures),
        direction=mine["direction"],
        load_if_exists=True,
    )
    began = study.user_attrs.get(_IDENTITY)
    if began is None:
        if study.get_trials(deepcopy=False):
            raise ValueError(f"the study {name!r} was not made by tailproof tune.")
        if study.direction.name.lower() != mine["direction"]:
            raise ValueError(f"the study {name!r} has the direction {study.direction.name}.")
        study.set_user_attr(_IDENTITY, mine)
        began = mine
    for key, value in mine.items():
        if began.get(key) != value:
            raise ValueError(
                f"the study {name!r} was begun with another {key} ({_short_field(began.get(key))}, "
                f"now {_short_field(value)}); give another --study-name or --out."
            )
    return study


def _short_field(value: Any) -> str:
    """Return a part of a study's identity, short enough for an error."""
    shown = json.dumps(value)
    return shown if len(shown) <= 120 else shown[:117] + "..."
