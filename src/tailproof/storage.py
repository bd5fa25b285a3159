"""State files: one npz file of plain arrays and one JSON text, never code.

Each subpackage describes its objects in its own `state` module, as a header (JSON) and arrays;
this module turns dataclasses into JSON and back, and writes and reads the files.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._util.files import atomic_write

VERSION = 1
Arrays = dict[str, NDArray[Any]]
# The module that rebuilds an object of each format: it has `from_state(header, arrays)`.
_STATE_MODULES = {
    "tailproof-bandits": "tailproof.bandits.state",
    "tailproof-search": "tailproof.search.state",
}
# What reading a damaged or foreign file may raise, in numpy, zipfile, zlib, json or here.
_UNREADABLE = (
    AttributeError,
    EOFError,
    IndexError,
    KeyError,
    OSError,
    OverflowError,
    RuntimeError,  # zipfile on methods and flags it does not know
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


def save(
    path: str | os.PathLike[str], format_name: str, header: Mapping[str, Any], arrays: Arrays
) -> None:
    """Write a state file atomically: an existing file is replaced at the end.

    Parameters
    ----------
    path
        The file.
    format_name
        Which `state` module reads it back: "tailproof-bandits" or "tailproof-search".
    header
        JSON-able data.
    arrays
        Plain arrays by name.
    """
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise ValueError(f"`path` must name a file, but got {path!r}.")
    text = {"format": format_name, "version": VERSION, **header}
    content = {**arrays, "text": np.array(json.dumps(text, allow_nan=False))}
    with atomic_write(Path(path)) as stream:
        np.savez_compressed(stream, allow_pickle=False, **content)


def load(path: str | os.PathLike[str]) -> Any:
    """Read an `ArmOptimizer` or `Optimizer` that its `save` wrote; it continues bit for bit.

    Examples
    --------
    >>> import tempfile, pathlib, tailproof as tp
    >>> opt = tp.gp_ucb(tp.Finite([[0.0], [1.0]]), tp.Linear(), tp.CustomSchedule(2.0), seed=0)
    >>> opt.tell([1.0], 3.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     opt.save(pathlib.Path(folder, "run.npz"))
    ...     again = tp.load(pathlib.Path(folder, "run.npz"))
    >>> bool(again.ask() == opt.ask())
    True
    """
    try:
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays.pop("text")))
        if header["format"] not in _STATE_MODULES or header["version"] != VERSION:
            raise ValueError(
                f"it is of format {header['format']} version {header['version']}, not one of "
                f"{', '.join(_STATE_MODULES)} version {VERSION}."
            )
        return importlib.import_module(_STATE_MODULES[header["format"]]).from_state(header, arrays)
    except FileNotFoundError:
        raise
    except _UNREADABLE as error:
        raise ValueError(
            f"`path` must be a sound file written by save, but {path} is not: {error}"
        ) from error


def encode(name: str, value: Any, arrays: Arrays, types: Mapping[str, type]) -> Any:
    """Return `value` as JSON; arrays inside it go to `arrays` under names that start with `name`.

    Plain values, tuples, arrays and the dataclasses in `types` (by class name) can be encoded.
    """
    if isinstance(value, np.ndarray):
        arrays[f"part.{name}"] = value
        return {"array": f"part.{name}"}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isinf(value):  # JSON has no infinity
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [encode(f"{name}.{i}", entry, arrays, types) for i, entry in enumerate(value)]
    if dataclasses.is_dataclass(value) and types.get(type(value).__name__) is type(value):
        fields = {}
        for field in dataclasses.fields(value):
            argument = field.name.lstrip("_")  # of the constructor, for a private field, too
            content = getattr(value, field.name)
            fields[argument] = encode(f"{name}.{argument}", content, arrays, types)
        return {"type": type(value).__name__, "fields": fields}
    raise ValueError(
        f"`{name}` must be made of tailproof's own parts and numbers to be saved, but got "
        f"{value!r}."
    )


def decode(value: Any, arrays: Arrays, types: Mapping[str, type]) -> Any:
    """Return what `encode` was given; lists come back as tuples."""
    if isinstance(value, list):
        return tuple(decode(entry, arrays, types) for entry in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "float" in value:
        return float(value["float"])
    fields = {key: decode(entry, arrays, types) for key, entry in value["fields"].items()}
    return types[value["type"]](**fields)
