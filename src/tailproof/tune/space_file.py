r"""The space of a command: a small TOML file, flags on the command line, or both.

A parameter is one line of the file, or one flag::

    lr      = { float = [1e-5, 1e-1], log = true }       --float lr 1e-5 1e-1 --log
    threads = { int = [2, 64], step = 2 }                --int threads 2 64 --step 2
    cache   = { choice = ["none", "a b", 3] }            --choice cache none "a b" 3
    host    = { fixed = "localhost" }                    --fixed host localhost

Options and constants given by flags are always text, as they came.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tailproof.search.space.parameters import Choice, Fixed, Float, Int, Parameter
from tailproof.search.space.space import Space
from tailproof.tune.command import check_text, text

_KINDS = ("float", "int", "choice", "fixed")
_FLAGS = tuple(f"--{kind}" for kind in _KINDS)
_MODIFIERS = ("--log", "--step")
_LONGEST_NAME = 100  # storages keep names in columns of bounded width

Entry = Mapping[str, Any]


def read(path: Path) -> dict[str, Entry]:
    """Return the entries of a space file (TOML) by name."""
    try:
        with path.open("rb") as file:
            entries = tomllib.load(file)
    except OSError as error:
        raise ValueError(f"cannot read the space file {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"the space file {path} is not TOML: {error}.") from None
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            raise ValueError(
                f"the space file {path} must give {name} a table such as "
                f"{{ float = [0, 1] }}, but has {name} = {entry!r}."
            )
    return entries


def take_flags(
    arguments: Sequence[str], flags: Collection[str]
) -> tuple[list[tuple[str, Entry]], list[str]]:
    """Take the flags that define a space from the command line: (name, entry); others are left.

    `flags` are the other flags: options of a choice end at the next flag, not at a dash.

    Examples
    --------
    >>> take_flags(["--int", "n", "1", "9", "--log", "--seed", "5"], ["--seed"])
    ([('n', {'int': [1, 9], 'log': True})], ['--seed', '5'])
    """
    every = {*flags, *_FLAGS, *_MODIFIERS}
    entries: list[tuple[str, Entry]] = []
    options: list[str] = []
    left = list(arguments)
    while left:
        flag = left.pop(0)
        if flag in _FLAGS:
            entries.append(_flag_entry(flag, left, every))
        elif flag in _MODIFIERS:
            raise ValueError(f"{flag} must follow --float or --int and their three values.")
        else:
            options.append(flag)
    return entries, options


def _flag_entry(flag: str, left: list[str], every: Collection[str]) -> tuple[str, Entry]:
    """Return the definition of a parameter of the space that begins with a flag."""
    kind = flag.removeprefix("--")
    if kind == "choice":
        values: list[str] = []
        while left and left[0] not in every:
            values.append(left.pop(0))
        if len(values) < 3:
            raise ValueError(f"--choice needs a name and two or more options, but got {values}.")
        return values[0], {kind: values[1:]}
    wanted = "NAME VALUE" if kind == "fixed" else "NAME LOW HIGH"
    needed = len(wanted.split())
    values, left[:needed] = left[:needed], []
    if len(values) < needed:
        raise ValueError(f"{flag} needs {wanted}, but got {values}.")
    name = values[0]
    if kind == "fixed":
        return name, {kind: values[1]}
    entry: dict[str, Any] = {kind: [_flag_number(name, kind, value) for value in values[1:]]}
    while left and left[0] in _MODIFIERS:
        modifier = left.pop(0)
        if modifier == "--log":
            entry["log"] = True
        elif not left:
            raise ValueError(f"--step needs a value for the parameter {name!r}.")
        else:
            entry["step"] = _flag_number(name, kind, left.pop(0))
    return name, entry


def _flag_number(name: str, kind: str, written: str) -> float | int:
    """Return a number written after a flag of the space, of the flag's kind."""
    try:
        return float(written) if kind == "float" else int(written)
    except ValueError:
        wanted = "a number" if kind == "float" else "an integer"
        raise ValueError(f"parameter {name!r}: {written!r} is not {wanted}.") from None


def build(path: Path | None, flags: Sequence[tuple[str, Entry]]) -> Space:
    """Return the space that a space file and flags define."""
    entries = {} if path is None else read(path)
    for name, entry in flags:
        if name in entries:
            raise ValueError(f"the parameter {name!r} is defined twice.")
        entries[name] = entry
    if not entries:
        raise ValueError("no parameters: give --space FILE or flags such as --float lr 0.1 1.")
    parameters = {name: _parameter_of_entry(name, entry) for name, entry in entries.items()}
    if all(isinstance(parameter, Fixed) for parameter in parameters.values()):
        raise ValueError("every parameter is fixed: there is nothing to tune.")
    return Space(parameters)


def _parameter_of_entry(name: str, entry: Entry) -> Parameter:
    """Return the parameter that an entry of a space file defines."""
    printable = name.strip() and name.isprintable() and len(name) <= _LONGEST_NAME
    if not printable or set(name) & set("{}"):
        raise ValueError(
            "a parameter's name must be printable, without braces, of at most "
            f"{_LONGEST_NAME} characters, but got {name!r}."
        )
    kinds = [kind for kind in _KINDS if kind in entry]
    if len(kinds) != 1:
        raise ValueError(
            f"parameter {name!r} must have exactly one of {', '.join(_KINDS)}, but has "
            f"{', '.join(entry) or 'nothing'}."
        )
    kind = kinds[0]
    modifiers = {"log", "step"} if kind in ("float", "int") else set()
    unknown = [key for key in entry if key not in {kind, *modifiers}]
    if unknown:
        raise ValueError(f"parameter {name!r} has an unknown entry {unknown[0]!r}.")
    try:
        if kind == "choice":
            return _choice_of_entry(entry[kind])
        if kind == "fixed":
            _check_entry_value(entry[kind])
            return Fixed(entry[kind])
        return _range_of_entry(kind, entry)
    except ValueError as error:
        raise ValueError(f"parameter {name!r}: {error}") from None


def _range_of_entry(kind: str, entry: Entry) -> Float | Int:
    """Return the float or int parameter that an entry of a space file defines."""
    ends, log = entry[kind], entry.get("log", False)
    if not isinstance(ends, list) or len(ends) != 2:
        raise ValueError(f"`{kind}` must be [low, high], but got {ends!r}.")
    if not isinstance(log, bool):
        raise ValueError(f"`log` must be true or false, but got {log!r}.")
    if kind == "float":
        return Float(ends[0], ends[1], log, entry.get("step"))
    return Int(ends[0], ends[1], log, entry.get("step", 1))


def _choice_of_entry(options: Any) -> Choice:
    """Return the choice of an entry of a space file."""
    if not isinstance(options, list) or len(options) < 2:
        raise ValueError(f"`choice` must be a list of two or more options, but got {options!r}.")
    for i, option in enumerate(options):
        _check_entry_value(option)
        for earlier in options[:i]:
            # Storages compare options by ==, programs see text: both must tell them apart.
            if option == earlier or text(option) == text(earlier):
                raise ValueError(f"the options {earlier!r} and {option!r} are the same.")
    return Choice(*options)


def _check_entry_value(value: Any) -> None:
    """Refuse a value in a space file that cannot be an argument of a program."""
    if not isinstance(value, str | bool | int | float):
        raise ValueError(f"a value must be text, a number or a boolean, but got {value!r}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"a value must be finite, but got {value!r}.")
    if isinstance(value, str):
        check_text(value)
