"""URLs of storages: made, taken apart, and never shown with their secrets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from tailproof.experiments._optional import need

_SECRET = ("pass", "pwd", "secret", "token")
_PASSWORD = re.compile(r"(://[^\s:/@]*:)[^\s/]*@")  # of whatever looks like a URL


def file_url(path: Path) -> str:
    """Return the URL of a SQLite file."""
    sqlalchemy = need("sqlalchemy", "tune")
    database = str(path.absolute())
    made = sqlalchemy.engine.URL.create("sqlite", database=database)
    url = str(made.render_as_string(hide_password=False))
    if sqlalchemy.engine.make_url(url).database != database:  # older releases quote nothing
        raise ValueError(f"the path of the study must hold no `?` and `%`, but got {path}.")
    return url.replace("{", "{{").replace("}", "}}")


def parsed(url: str) -> Any:
    """Return SQLAlchemy's URL; None if it is none."""
    try:
        import sqlalchemy
    except ModuleNotFoundError:
        return None
    try:
        # Optuna reads a URL as a format string, where plain braces are doubled.
        return sqlalchemy.engine.make_url(url.replace("{{", "{").replace("}}", "}"))
    except (sqlalchemy.exc.ArgumentError, ValueError):
        return None


def sqlite_file(url: str) -> Path | None:
    """Return the file of a SQLite URL; None for other databases, and for SQLite's own URIs."""
    found = parsed(url)
    if found is None or found.get_backend_name() != "sqlite" or not found.database:
        return None
    return None if found.database.startswith(("file:", ":memory:")) else Path(found.database)


def masked(url: str) -> str:
    """Return a storage URL without its secrets.

    Examples
    --------
    >>> masked("postgresql://me:hush@host/db?sslpassword=hush")
    'postgresql://me:***@host/db?sslpassword=***'
    """
    found = parsed(url)
    if found is None:
        scheme, colon, _ = url.partition("://")
        return f"{scheme}://..." if colon else "given"
    secret = {key: "***" for key in found.query if _is_secret(key)}
    shown = found.update_query_dict(secret).render_as_string(hide_password=True)
    return shown.replace("%2A%2A%2A", "***")


def _is_secret(key: str) -> bool:
    return any(word in key.lower() for word in _SECRET)


def without_secrets(said: str, url: str | None = None) -> str:
    """Return a message without the secrets of a URL, and without passwords of any other.

    Examples
    --------
    >>> without_secrets("hush is wrong", "postgresql://me:hush@host/db")
    '*** is wrong'
    >>> without_secrets("unknown: postgresql://me:hush@host/db")
    'unknown: postgresql://me:***@host/db'
    """
    if url:
        said = said.replace(url, masked(url))
        for secret in _secrets(url):
            said = said.replace(secret, "***")
    return _PASSWORD.sub(r"\1***@", said)


def _secrets(url: str) -> list[str]:
    """Return what must not be shown, in every spelling, the longest first."""
    found = parsed(url)
    if found is None:
        return []
    values = [value for key, value in found.query.items() if _is_secret(key)]
    plain = [one for one in (found.password, *values) if isinstance(one, str)]
    spelt = {form for one in plain for form in (one, quote(one, safe=""), quote_plus(one))}
    # One or two letters are in every message; what quotes the URL itself is masked all the same.
    return sorted((one for one in spelt if len(one) > 2), key=len, reverse=True)
