"""URLs of storages: built, parsed, and shown without their passwords."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from tailproof._util.optional import require

_SECRET = ("pass", "pwd", "secret", "token")
_PASSWORD = re.compile(r"(://[^\s:/@]*:)[^\s/]*@")  # of whatever looks like a URL


def file_url(path: Path) -> str:
    """Return the URL of a SQLite file."""
    sqlalchemy = require("sqlalchemy", "tune")
    database = str(path.absolute())
    built = sqlalchemy.engine.URL.create("sqlite", database=database)
    url = str(built.render_as_string(hide_password=False))
    if sqlalchemy.engine.make_url(url).database != database:  # older releases quote nothing
        raise ValueError(f"the path of the study must hold no `?` and `%`, but got {path}.")
    return url.replace("{", "{{").replace("}", "}}")


def parse(url: str) -> Any:
    """Return SQLAlchemy's URL object; None if the text is not a URL."""
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
    parsed = parse(url)
    if parsed is None or parsed.get_backend_name() != "sqlite" or not parsed.database:
        return None
    return None if parsed.database.startswith(("file:", ":memory:")) else Path(parsed.database)


def masked(url: str) -> str:
    """Return a storage URL without its secrets.

    Examples
    --------
    >>> masked("postgresql://me:hush@host/db?sslpassword=hush")
    'postgresql://me:***@host/db?sslpassword=***'
    """
    parsed = parse(url)
    if parsed is None:
        scheme, colon, _ = url.partition("://")
        return f"{scheme}://..." if colon else "given"
    secret = {key: "***" for key in parsed.query if _is_secret(key)}
    shown = parsed.update_query_dict(secret).render_as_string(hide_password=True)
    return shown.replace("%2A%2A%2A", "***")


def _is_secret(key: str) -> bool:
    return any(word in key.lower() for word in _SECRET)


def without_secrets(message: str, url: str | None = None) -> str:
    """Return a message without the secrets of a URL, and without passwords of any other.

    Examples
    --------
    >>> without_secrets("hush is wrong", "postgresql://me:hush@host/db")
    '*** is wrong'
    >>> without_secrets("unknown: postgresql://me:hush@host/db")
    'unknown: postgresql://me:***@host/db'
    """
    if url:
        message = message.replace(url, masked(url))
        for secret in _secrets(url):
            message = message.replace(secret, "***")
    return _PASSWORD.sub(r"\1***@", message)


def _secrets(url: str) -> list[str]:
    """Return passwords and the like, plain and percent-encoded, the longest first."""
    parsed = parse(url)
    if parsed is None:
        return []
    values = [value for key, value in parsed.query.items() if _is_secret(key)]
    plain = [text for text in (parsed.password, *values) if isinstance(text, str)]
    spelt = {form for text in plain for form in (text, quote(text, safe=""), quote_plus(text))}
    # One or two letters are in every message; what quotes the URL itself is masked all the same.
    return sorted((text for text in spelt if len(text) > 2), key=len, reverse=True)
