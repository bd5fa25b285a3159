"""The payoff of a run: read from the program's output, or its wall time or exit code."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from tailproof._util.checks import LARGEST_PAYOFF
from tailproof.tune.json_search import last_value

FORMS = "last-line, regex:PATTERN, json:FIELD.PATH, wall-time or exit-code"
_PLAIN = ("last-line", "wall-time", "exit-code")
MAX_PARSED = 8 * 2**20  # characters of output in which a payoff is looked for
MAX_SECONDS = 10.0  # for reading a payoff
_MIN_SECONDS = 2.0  # also after a run that used up its time
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

    def read(
        self, output: str, *, seconds: float, code: int, timeout: float | None = None
    ) -> float:
        """Read the payoff in a program's output; raise UnreadableError if there is none.

        Reading takes time linear in the output, but for regular expressions. It is stopped when
        the run and it have taken `timeout` seconds.
        """
        left = MAX_SECONDS if timeout is None else min(timeout - seconds, MAX_SECONDS)
        left = max(left, _MIN_SECONDS)
        if self.kind == "wall-time":
            return seconds
        if self.kind == "exit-code":
            return float(code)
        if self.kind == "regex":
            return _payoff_of_last_match(self.argument, _output_tail(output), left)
        if self.kind == "json":
            return _payoff_of_json_field(self.argument, output, left)
        return _payoff_of_last_line(_output_tail(output))

    def __str__(self) -> str:
        """Return the `--value` by which the payoff is read."""
        return f"{self.kind}:{self.argument}" if self.argument else self.kind


def parse_reader(spec: str) -> PayoffReader:
    """Return the reader of payoffs that `--value` asks for; raise ValueError if it is none."""
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
        if not all(_json_path_keys(argument)):
            raise ValueError(f"`value` has an empty name in its path: {spec!r}.")
        return PayoffReader(kind, argument)
    raise ValueError(f"`value` must be {FORMS}, but got {spec!r}.")


def number(text: str) -> float:
    """Return text as a payoff, a finite number; raise UnreadableError otherwise.

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
        raise UnreadableError(f"not a number: {_short_payoff_text(text)}") from None
    return _bounded_payoff(result, _short_payoff_text(text))


def _bounded_payoff(value: float, shown: str) -> float:
    """Return a payoff that can be averaged; refuse infinite and absurdly large ones."""
    if not math.isfinite(value):
        raise UnreadableError(f"not finite: {shown}")
    if abs(value) > LARGEST_PAYOFF:
        raise UnreadableError(f"larger than {LARGEST_PAYOFF:g}: {shown}")
    return value


def _short_payoff_text(text: str) -> str:
    """Return printed text that is no payoff, short enough for an error."""
    shown = repr(text[:100])
    return shown if len(text) <= 100 and len(shown) <= 80 else shown[:77] + "..."


def _output_tail(output: str) -> str:
    """Return the last lines of the output, where the payoff is, at most `MAX_PARSED` characters."""
    if len(output) <= MAX_PARSED:
        return output
    tail = output[-MAX_PARSED:]
    return tail[tail.find("\n") + 1 :]


def _payoff_of_last_line(output: str) -> float:
    """Return the payoff on the last line of a program's output."""
    if not output.strip():
        raise UnreadableError("the program printed nothing")
    return number(output.rstrip().rpartition("\n")[2])


# Reads the length of the pattern, the pattern and the text; writes "=" and the group.
_MATCHER = """
import re, sys
length = int(sys.stdin.buffer.readline())
pattern, text = (sys.stdin.buffer.read(n).decode("utf-8", "surrogatepass") for n in (length, -1))
last = None
for last in re.finditer(pattern, text, re.MULTILINE):
    pass
if last is not None:
    found = "" if last.group(1) is None else "=" + last.group(1)[:1000]
    sys.stdout.buffer.write(b"matched" + found.encode("utf-8", "surrogatepass"))
"""


def _payoff_of_last_match(pattern: str, output: str, seconds: float) -> float:
    """Return the number in the last match, looked for by a process that can be killed.

    A pattern can take exponential time, and `re` cannot be stopped by its caller.
    """
    shown, encoded = _short_payoff_text(pattern), pattern.encode("utf-8", "surrogatepass")
    text = output.encode("utf-8", "surrogatepass")
    try:
        matcher = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _MATCHER],
            input=b"%d\n%b%b" % (len(encoded), encoded, text),
            capture_output=True,
            timeout=seconds,
            start_new_session=True,  # Ctrl-C is for the tuner
        )
    except subprocess.TimeoutExpired:
        raise UnreadableError(f"matching {shown} took more than {seconds:.3g} s") from None
    if matcher.returncode != 0:
        raise UnreadableError(f"matching {shown} failed (exit code {matcher.returncode})")
    matched, equals, group = matcher.stdout.decode("utf-8", "surrogatepass").partition("=")
    if not matched:
        raise UnreadableError(f"nothing in the output matches {shown}")
    if not equals:
        raise UnreadableError(f"the last match of {shown} has an empty group")
    return number(group)


def _json_path_keys(path: str) -> list[str]:
    """Return the keys of a payoff's path in a JSON document."""
    return [key.replace("\\.", ".") for key in _KEY_ENDS.split(path)]


def _payoff_of_json_field(path: str, output: str, seconds: float) -> float:
    """Return the payoff at a path of the last JSON document in the output."""
    value: Any = _last_json_of_output(output, seconds)
    for key in _json_path_keys(path):
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            where = f"{_short_payoff_text(path)} (at {_short_payoff_text(key)})"
            raise UnreadableError(f"the JSON has no field {where}")
    if isinstance(value, bool) or not isinstance(value, int | float):
        shown = _short_payoff_text(value) if isinstance(value, str) else type(value).__name__
        raise UnreadableError(f"the field {_short_payoff_text(path)} is no number: {shown}")
    try:
        return _bounded_payoff(float(value), f"the field {_short_payoff_text(path)}")
    except OverflowError:
        raise UnreadableError(f"not finite: the field {_short_payoff_text(path)}") from None


def _last_json_of_output(output: str, seconds: float) -> Any:
    """Return for the payoff the output as JSON, or the last object or list that starts a line."""
    if len(output) > MAX_PARSED:  # a part of it may be a part of an object
        raise UnreadableError(f"more than {MAX_PARSED:,} characters are too many to read as JSON")
    try:
        return json.loads(output)
    except (ValueError, RecursionError):
        pass
    try:
        found = last_value(output, seconds)
    except TimeoutError:
        raise UnreadableError(f"looking for JSON took more than {seconds:.3g} s") from None
    if found is None:
        raise UnreadableError("there is no JSON in the output")
    try:
        return json.loads(output[found[0] : found[1]])
    except RecursionError:
        raise UnreadableError("the JSON is nested too deeply") from None
    except ValueError:  # an integer of thousands of digits
        raise UnreadableError("the JSON holds a number that is too long") from None
