"""State files: one npz file of plain arrays and one JSON text, never code.

Each subpackage describes its objects in its own `state` module, as a header (JSON) and arrays, and
holds only what cannot be computed again; this module turns dataclasses into JSON and back, and
writes and reads the files.

A file is a zip archive whose members are not compressed, so reading one takes no more memory than
the file is long. `header.json` is the header, `NAME.npy` an array, and `checksum` is the SHA-256 of
all other members: damage is found before anything is interpreted.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import io
import json
import math
import os
import struct
import tokenize
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof._util.files import atomic_write

VERSION = 2
Arrays = dict[str, NDArray[Any]]
HEADER, CHECKSUM, ARRAY_SUFFIX = "header.json", "checksum", ".npy"
# The module that rebuilds an object of each format: it has `from_state(header, arrays)`.
_STATE_MODULES = {
    "tailproof-bandit": "tailproof.bandits.bandit_state",
    "tailproof-bandits": "tailproof.bandits.state",
    "tailproof-search": "tailproof.search.state",
}
_DTYPES = (np.dtype(np.float64), np.dtype(np.int64))
# What zipfile and numpy may raise on a damaged or foreign file, and what its contents may. A
# RuntimeError comes from zip flags that zipfile does not know, or from JSON nested too deeply.
_BAD_FILE = (EOFError, OSError, SyntaxError, struct.error, tokenize.TokenError, zipfile.BadZipFile)
_BAD_CONTENTS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def save(
    path: str | os.PathLike[str], format_name: str, header: Mapping[str, Any], arrays: Arrays
) -> None:
    """Write a state file atomically: an existing file is replaced at the end.

    `format_name` says which `state` module reads it back, `header` holds what JSON can, and
    `arrays` are of float64 or int64.
    """
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise ValueError(f"`path` must name a file, but got {path!r}.")
    text = json.dumps({"format": format_name, "version": VERSION, **header}, allow_nan=False)
    members = {HEADER: text.encode()}
    for name, array in arrays.items():
        stream = io.BytesIO()
        np.lib.format.write_array(stream, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
        members[name + ARRAY_SUFFIX] = stream.getvalue()
    write_members(Path(path), members)


def write_members(path: Path, members: Mapping[str, bytes]) -> None:
    """Write the members of a state file, with their checksum."""
    with atomic_write(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, content in (*members.items(), (CHECKSUM, _checksum(members))):
            # Without the time of day: the same state makes the same file.
            archive.writestr(zipfile.ZipInfo(name), content)


def _checksum(members: Mapping[str, bytes]) -> bytes:
    """Return a SHA-256 of all members of a state file."""
    digest = hashlib.sha256()
    for name, content in sorted(members.items()):
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest().encode()


def load(path: str | os.PathLike[str]) -> Any:
    """Read a `Bandit`, `ArmOptimizer` or `Optimizer` from its file; it continues bit for bit.

    A file that is damaged, or whose contents contradict each other, is refused with a ValueError.

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
        members = read_members(Path(path))
        header = json.loads(members.pop(HEADER), parse_constant=_refuse_constant)
        if header["format"] not in _STATE_MODULES or header["version"] != VERSION:
            raise ValueError(
                f"it is of format {header['format']} version {header['version']}, not one of "
                f"{', '.join(_STATE_MODULES)} version {VERSION}."
            )
        arrays = dict(_array(name, content) for name, content in members.items())
        state = importlib.import_module(_STATE_MODULES[header["format"]])
        result = state.from_state(header, arrays)
        if arrays:
            raise ValueError(f"its header does not mention the arrays {', '.join(arrays)}.")
        return result
    except FileNotFoundError:
        raise
    except (*_BAD_FILE, *_BAD_CONTENTS, MemoryError) as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__} {error}"
        if isinstance(error, MemoryError):
            reason = "it needs more memory than there is."
        wrong = f"`path` must be a sound file written by save, but {path} is not: {reason}"
        raise ValueError(wrong) from error


def read_members(path: Path) -> dict[str, bytes]:
    """Return the members of a state file but for the checksum, which must be theirs."""
    with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
        entries = archive.infolist()
        size = os.fstat(stream.fileno()).st_size
        plain = all(
            entry.compress_type == zipfile.ZIP_STORED and entry.compress_size == entry.file_size
            for entry in entries
        )
        # Before anything is read: no member may be longer than the file, nor all of them together.
        if not plain or sum(entry.file_size for entry in entries) > size:
            raise ValueError("its members are compressed or longer than the file.")
        members = {entry.filename: archive.read(entry) for entry in entries}
    if len(members) != len(entries) or HEADER not in members or CHECKSUM not in members:
        raise ValueError(f"its members are not {HEADER}, {CHECKSUM} and arrays, once each.")
    if members.pop(CHECKSUM) != _checksum(members):
        raise ValueError("it is damaged: its checksum is not that of its contents.")
    return members


def _refuse_constant(constant: str) -> float:
    """Raise an error for NaN or Infinity in the header of a state file."""
    raise ValueError(f"its header holds {constant}.")


def _array(member: str, content: bytes) -> tuple[str, NDArray[Any]]:
    """Return name and array of a state file's member; its size must be what its npy header says."""
    name, stream = member.removesuffix(ARRAY_SUFFIX), io.BytesIO(content)
    if name == member or np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"its member {member} is not an array.")
    shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(stream)
    size, offset = math.prod(shape) * dtype.itemsize, stream.tell()
    if fortran_order or dtype not in _DTYPES or size != len(content) - offset:
        raise ValueError(f"its array {name} is not {len(content)} bytes of float64 or int64.")
    return name, np.frombuffer(content, dtype, offset=offset).reshape(shape)


def take(
    arrays: Arrays, name: str, shape: tuple[int, ...], dtype: type[np.generic] = np.float64
) -> NDArray[Any]:
    """Remove and return the array `name` of a state file, which must be of this shape and dtype."""
    array = arrays.pop(name)
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(
            f"its array {name} must be {np.dtype(dtype)} of shape {shape}, as its header says, "
            f"but is {array.dtype} of shape {array.shape}."
        )
    return array


def encode(name: str, value: Any, arrays: Arrays, types: Mapping[str, type]) -> Any:
    """Return `value` as JSON for a state file; arrays inside it go to `arrays`, named after `name`.

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
    parts = "tailproof's own parts and numbers"
    raise ValueError(f"`{name}` must be made of {parts} to be saved, but got {value!r}.")


def decode(value: Any, arrays: Arrays, types: Mapping[str, type]) -> Any:
    """Return what `encode` put into a state file, lists as tuples; `arrays` loses its arrays."""
    if isinstance(value, list):
        return tuple(decode(entry, arrays, types) for entry in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays.pop(value["array"])
    if "float" in value:
        return float(value["float"])
    fields = {key: decode(entry, arrays, types) for key, entry in value["fields"].items()}
    return types[value["type"]](**fields)
