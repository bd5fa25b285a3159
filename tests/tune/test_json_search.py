"""The last JSON value that starts a line: what trying every line finds, in linear time."""

import json
import random
import re
import sys

import pytest

from tailproof.tune.json_search import last_value


def by_trying_every_line(text):
    """Return what `last_value` returns, in quadratic time."""
    last, end = None, 0
    for start in re.finditer(r"^[^\S\n]*(?=[{\[])", text, re.MULTILINE):
        if start.end() >= end:
            try:
                _, end = json.JSONDecoder().raw_decode(text, start.end())
            except ValueError:
                continue
            last = (start.end(), end)
    return last


PIECES = [
    *("{", "}", "[", "]", ",", ":", "\n", "\n", "\n", " ", "\t", '"a"', '"a":', '{"a": 1}', "[]"),
    *('"', "\\", '"\\u00e9\\n"', '"\\x"', "1", "-0.5e3", "01", "1.", "-", "NaN", "-Infinity"),
    *("true", "nul", "[INFO] x", "x", "\f", "\r\n", "é", '[{"b": [1, 2]},\n{"c":\n{}}]\n'),
]


def test_random_texts_give_what_trying_every_line_gives():
    rng = random.Random(0)
    found = 0
    for _ in range(20_000):
        text = "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 14)))
        assert last_value(text) == by_trying_every_line(text), text
        found += last_value(text) is not None
    assert found > 3000


def test_damaged_documents_give_what_trying_every_line_gives():
    rng = random.Random(1)
    document = {"a": [{"b": i, "c": ["x{", '"]', {"d": None}]} for i in range(3)], "e": {}}
    whole = json.dumps(document, indent=1)
    for _ in range(1000):
        damaged = list(whole)
        for _ in range(rng.randrange(4)):
            damaged[rng.randrange(len(damaged))] = rng.choice('{}[],:"\\\nx1 ')
        text = "log\n" + "".join(damaged)[: rng.randrange(len(whole) + 1)]
        assert last_value(text) == by_trying_every_line(text), text


def steps(text):
    """Return how often `last_value` calls a function."""
    calls = [0]

    def count(_, event, __):
        calls[0] += event == "c_call"

    sys.setprofile(count)
    try:
        found = last_value(text)
    finally:
        sys.setprofile(None)
    assert text[slice(*found)] == '{"a": 1}'
    return calls[0]


ENDLESS = [
    *("{\n", "[\n", '{"a":\n', '[{"a": [1, 2],\n', "[INFO] line\n", '{"unfinished\n', "\n"),
    *('{"a": "' + "\\" * 99 + "\n", " " * 99 + "\n", "[" + " " * 99 + "\n", '"{\n'),
]


@pytest.mark.parametrize("endless", ENDLESS)
def test_the_work_is_linear_in_the_text(endless):
    short, long = ('{"a": 1}\n' + endless * count for count in (1000, 4000))
    assert steps(long) <= 4.01 * steps(short)
    assert steps(long) <= 20 * len(long)


@pytest.mark.parametrize("endless", ENDLESS)
def test_a_value_after_an_unfinished_one_is_found(endless):
    text = '{"a": 1}\n' + endless * 1000 + '\n}"\n[7]\n'
    assert text[slice(*last_value(text))] == "[7]"
