"""URLs of storages: built, parsed, and shown without their passwords."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from tailproof._util.optional import require

# Parts of the names of secrets in a query, and whole names, without "_", "-" and the like.
_SECRET_PARTS = (
    *("pass", "pwd", "secret", "token", "credential", "signature", "apikey"),
    *("accesskey", "accountkey", "authkey", "privatekey", "sharedkey"),
)
_SECRET_NAMES = ("key", "auth", "authorization", "sig", "pw")
_URL = re.compile(r"://[^\s'\"]+")  # in whatever looks like one, from its host on
_QUERY_ENTRY = re.compile(r"([?&;])([^?&;=#]+)=[^?&;#]*")
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
    """Return a storage URL without its secrets."""
    parsed = parse(url)
    if parsed is None:
        scheme, colon, _ = url.partition("://")
        return f"{scheme}://..." if colon else "given"
    secret = {key: "***" for key in parsed.query if _is_secret_key(key)}
    shown = parsed.update_query_dict(secret).render_as_string(hide_password=True)
    return shown.replace("%2A%2A%2A", "***")


def _is_secret_key(key: str) -> bool:
    """Whether the key of a URL's query names a secret."""
    plain = "".join(c for c in unquote(key).lower() if c.isalnum())
    return plain in _SECRET_NAMES or any(part in plain for part in _SECRET_PARTS)


def without_secrets(message: str, url: str | None = None) -> str:
    """Return a message without the secrets of a URL, and of any other URL in it.

    Examples
    --------
    >>> without_secrets("GET https://me:hush@host/v1?api_key=hush&page=2")
    'GET https://me:***@host/v1?api_key=***&page=2'
    """
    if url:
        message = message.replace(url, masked(url))
        for secret in _secrets_of_url(url):
            message = message.replace(secret, "***")
    message = _PASSWORD.sub(r"\1***@", message)
    return _URL.sub(lambda found: _QUERY_ENTRY.sub(_masked_query_entry, found[0]), message)


def _masked_query_entry(entry: re.Match[str]) -> str:
    """Return an entry of a URL's query with its secret masked."""
    return f"{entry[1]}{entry[2]}=***" if _is_secret_key(entry[2]) else entry[0]


def _secrets_of_url(url: str) -> list[str]:
    """Return passwords and the like, plain and percent-encoded, the longest first."""
    parsed = parse(url)
    if parsed is None:
        return []
    secret = [value for key, value in parsed.query.items() if _is_secret_key(key)]
    # A name that is given twice has a tuple of values.
    values = [text for value in secret for text in ([value] if isinstance(value, str) else value)]
    plain = [text for text in (parsed.password, *values) if isinstance(text, str)]
    spelt = {form for text in plain for form in (text, quote(text, safe=""), quote_plus(text))}
    # One or two letters are in every message; what quotes the URL itself is masked all the same.
    return sorted((text for text in spelt if len(text) > 2), key=len, reverse=True)
