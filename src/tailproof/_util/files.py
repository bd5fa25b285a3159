"""Atomic writes: a file is the old one or the new one, never half of it, with the umask's mode."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

TEMPORARY_PREFIX = ".unfinished-"
_PLAIN_NAME = re.compile(r"(?!\.)[\w.-]{1,100}", re.ASCII)


def file_name(text: str) -> str:
    """Return the name of a file or folder for any text: one component, different for each text.

    ASCII letters, digits, "_", "-" and "." stay. Other characters, and a dot in front, become
    "_"; a digest of the text is then added. So is one to a text of more than 100 characters.

    Examples
    --------
    >>> file_name("bench-2.1"), file_name("../up")
    ('bench-2.1', '_._up-8c722b8ae2')
    """
    if _PLAIN_NAME.fullmatch(text):
        return text
    plain = re.sub(r"^\.|[^\w.-]", "_", text[:80], flags=re.ASCII)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{plain}-{digest[:10]}"


@contextlib.contextmanager
def atomic_write(path: Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path` and rename it to `path` when the block ends.

    `mode` is "wb" for bytes or "w" for UTF-8 text without newline translation. If the block
    raises, the temporary file is removed and `path` stays as it was.
    """
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{path.name[:100]}-{secrets.token_hex(8)}")
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "")
    try:
        with temporary.open(mode.replace("w", "x"), encoding=encoding, newline=newline) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = str(path), None  # a failed write names no file
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path` atomically; its folder is made if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        stream.write(content)


def write_text(path: Path, content: str) -> None:
    """Write `content` to `path` atomically, as UTF-8."""
    write_bytes(path, content.encode())


def write_json(path: Path, content: Any) -> None:
    """Write `content` to `path` atomically as strict JSON; equal content gives equal bytes.

    JSON has no infinities and no NaN: they are written as text.
    """
    text = json.dumps(json_safe(content), indent=1, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def json_safe(value: Any) -> Any:
    """Return `value` with infinities and NaN as text.

    Examples
    --------
    >>> json_safe({"a": [1.0, float("inf")]})
    {'a': [1.0, 'inf']}
    """
    if isinstance(value, Mapping):
        return {key: json_safe(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(entry) for entry in value]
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value
