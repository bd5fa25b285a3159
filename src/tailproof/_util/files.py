"""Atomic writes: a file is the old one or the new one, never half of it, with the umask's mode."""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

TEMPORARY_PREFIX = ".unfinished-"


@contextlib.contextmanager
def atomic_write(path: Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path` and rename it to `path` when the block ends.

    Parameters
    ----------
    path
        The file to write, in a folder that exists.
    mode
        "wb" for bytes or "w" for UTF-8 text without newline translation.

    If the block raises, the temporary file is removed and `path` stays as it was. The file is
    created by `open`, so its permissions follow the umask.
    """
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{path.name[:100]}-{secrets.token_hex(8)}")
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "")
    try:
        with temporary.open(mode.replace("w", "x"), encoding=encoding, newline=newline) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
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
