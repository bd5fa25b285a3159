"""The payoff of a run: read from the program's output, or its wall time or exit code."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tailproof._util.checks import LARGEST_PAYOFF

FORMS = "last-line, regex:PATTERN, json:FIELD.PATH, wall-time or exit-code"
_PLAIN = ("last-line", "wall-time", "exit-code")
_KEY_ENDS = re.compile(r"(?<!\\)\.")


class UnreadableError(ValueError):
    """The output holds no payoff."""


@dataclass(frozen=True)
class PayoffReader:
    r"""Reads the payoff of a run, as `--value` asks for.

    Attributes
    ----------
    kind : {"last-line", "regex", "json", "wall-time", "exit-code"}
    argument : str
        The pattern, or the path of the field; empty otherwise.

    Examples
    --------
    >>> parse_reader("last-line").read("warming up\n12.5\n", seconds=0.1, code=0)
    12.5
    >>> parse_reader("regex:p99=(\\S+)").read("p99=3 p99=4", seconds=0.1, code=0)
    4.0
    >>> parse_reader("json:latency.mean").read('{"latency": {"mean": 7}}', seconds=0.1, code=0)
    7.0
    """

    kind: str
    argument: str = ""

    @property
    def accepts_failure(self) -> bool:
        """Whether a non-zero exit code is a payoff like any other."""
        return self.kind == "exit-code"

    def read(self, output: str, *, seconds: float, code: int) -> float:
        """Return the payoff; raise UnreadableError if there is none."""
        if self.kind == "wall-time":
            return seconds
        if self.kind == "exit-code":
            return float(code)
        if self.kind == "regex":
            return _last_match(self.argument, output)
        if self.kind == "json":
            return _field(self.argument, output)
        return _last_line(output)

    def __str__(self) -> str:
        return f"{self.kind}:{self.argument}" if self.argument else self.kind


def parse_reader(spec: str) -> PayoffReader:
    """Return the reader of a `--value`; raise ValueError if it is none."""
    kind, colon, argument = spec.partition(":")
    if kind in _PLAIN and not colon:
        return PayoffReader(kind)
    if kind == "regex" and argument:
        try:
            groups = re.compile(argument, re.MULTILINE).groups
        except re.error as error:
            raise ValueError(
                f"`value` is not a regular expression: {argument!r}: {error}."
            ) from None
        if groups != 1:
            raise ValueError(
                f"the pattern of `value` must have one group, but {argument!r} has {groups}."
            )
        return PayoffReader(kind, argument)
    if kind == "json" and argument:
        if not all(_keys(argument)):
            raise ValueError(f"`value` has an empty name in its path: {spec!r}.")
        return PayoffReader(kind, argument)
    raise ValueError(f"`value` must be {FORMS}, but got {spec!r}.")


def number(text: str) -> float:
    """Return text as a finite number; raise UnreadableError otherwise.

    Examples
    --------
    >>> number(" 1.5e3 ")
    1500.0
    """
    try:
        if "_" in text:  # float() reads 1_000
            raise ValueError
        result = float(text)
    except ValueError:
        raise UnreadableError(f"not a number: {_short(text)}") from None
    return _bounded(result, _short(text))


def _bounded(value: float, shown: str) -> float:
    """Return a payoff that can be averaged; refuse infinite and absurdly large ones."""
    if not math.isfinite(value):
        raise UnreadableError(f"not finite: {shown}")
    if abs(value) > LARGEST_PAYOFF:
        raise UnreadableError(f"larger than {LARGEST_PAYOFF:g}: {shown}")
    return value


def _short(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= 80 else shown[:77] + "..."


def _last_line(output: str) -> float:
    if not output.strip():
        raise UnreadableError("the program printed nothing")
    return number(output.rstrip().rpartition("\n")[2])


def _last_match(pattern: str, output: str) -> float:
    last = None
    for match in re.finditer(pattern, output, re.MULTILINE):
        last = match
    if last is None:
        raise UnreadableError(f"nothing in the output matches {pattern!r}")
    if last.group(1) is None:
        raise UnreadableError(f"the last match of {pattern!r} has an empty group")
    return number(last.group(1))


def _keys(path: str) -> list[str]:
    return [key.replace("\\.", ".") for key in _KEY_ENDS.split(path)]


def _field(path: str, output: str) -> float:
    value: Any = _last_json(output)
    for key in _keys(path):
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise UnreadableError(f"the JSON has no field {path!r} (at {key!r})")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnreadableError(f"the field {path!r} is no number: {_short(json.dumps(value))}")
    try:
        return _bounded(float(value), f"the field {path!r}")
    except OverflowError:
        raise UnreadableError(f"not finite: the field {path!r}") from None


def _last_json(output: str) -> Any:
    """Return the whole output as JSON, or the last object or list that starts a line."""
    try:
        return json.loads(output)
    except (ValueError, RecursionError):
        pass
    found = list(_objects(output))
    if not found:
        raise UnreadableError("there is no JSON in the output")
    return found[-1]


def _objects(output: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    at = 0
    for start in re.finditer(r"^\s*(?=[{\[])", output, re.MULTILINE):
        if start.end() < at:
            continue  # inside an object already read
        try:
            found, at = decoder.raw_decode(output, start.end())
        except (ValueError, RecursionError):
            continue
        yield found
