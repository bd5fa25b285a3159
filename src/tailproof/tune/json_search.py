"""The last JSON object or list in a text that holds other text as well, found in linear time.

`json` parses from a given place on. Trying every line that could be the start of a value takes
quadratic time where values are long and have no end. Here one pass reads tokens and keeps a stack
of the open values: since no JSON string holds a line break, every bracket that starts a line
inside an open value is itself a token of that value, and need not be tried again.
"""

from __future__ import annotations

import re
import time

_START = re.compile(r"^[^\S\n]*([{\[])", re.MULTILINE)
_TOKEN = re.compile(
    r"""[ \t\r\n]*+(?:
    (?P<string>"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+")
    |(?P<scalar>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+
        |true|false|null|NaN|-?Infinity)
    |(?P<punctuation>[{}\[\],:]))""",
    re.VERBOSE,
)
# What the next token must be.
_KEY, _KEY_OR_END, _COLON, _VALUE, _VALUE_OR_END, _COMMA_OR_END = range(6)
_MAY_END = (_KEY_OR_END, _VALUE_OR_END, _COMMA_OR_END)


def last_value(text: str, seconds: float = float("inf")) -> tuple[int, int] | None:
    r"""Search text for the last JSON object or list that starts a line: start and end, or None.

    Values inside such a value are passed over, but for those inside one that has no end. After
    `seconds` the search ends with a TimeoutError.

    Examples
    --------
    >>> text = 'log\n{"a": 1}\n{"b": [\n{"c": 2}\n'
    >>> start, end = last_value(text)
    >>> text[start:end]
    '{"c": 2}'
    """
    last, deadline = None, time.monotonic() + seconds
    start = _START.search(text)
    while start is not None:
        found, stopped = _read_json_at(text, start.start(1), deadline)
        last = found or last
        start = _START.search(text, stopped)
    return last


def _read_json_at(text: str, at: int, deadline: float) -> tuple[tuple[int, int] | None, int]:
    """Read the JSON value that starts at `at` as far as it is JSON.

    Returns
    -------
    last : tuple of int, or None
        Start and end of the last complete value that starts a line: the whole, or a part of it.
    stopped : int
        The end of the last token that was read.
    """
    last = None
    expected = _VALUE
    stack: list[tuple[int, bool, bool]] = []  # start, whether an object, whether it starts a line
    while (token := _TOKEN.match(text, at)) is not None:
        if time.monotonic() > deadline:
            raise TimeoutError
        kind = token.lastgroup
        assert kind is not None
        mark, start = token[kind][0], token.start(kind)
        wants_value = expected in (_VALUE, _VALUE_OR_END)
        if mark in "{[" and wants_value:
            stack.append((start, mark == "{", not stack or "\n" in text[at:start]))
            expected = _KEY_OR_END if mark == "{" else _VALUE_OR_END
        elif kind == "string" and expected in (_KEY, _KEY_OR_END):
            expected = _COLON
        elif kind != "punctuation" and wants_value:
            expected = _COMMA_OR_END
        elif mark == ":" and expected == _COLON:
            expected = _VALUE
        elif mark == "," and expected == _COMMA_OR_END:
            expected = _KEY if stack[-1][1] else _VALUE
        elif mark == ("}" if stack[-1][1] else "]") and expected in _MAY_END:
            opened, _, starts_line = stack.pop()
            last = (opened, token.end()) if starts_line else last
            expected = _COMMA_OR_END
        else:
            break
        at = token.end()
        if not stack:
            break
    return last, at
