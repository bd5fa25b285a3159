import json

import pytest

from tailproof.tune import payoff
from tailproof.tune.payoff import UnreadableError, parse_reader


def read(spec, output, seconds=0.5, code=0):
    return parse_reader(spec).read(output, seconds=seconds, code=code)


@pytest.mark.parametrize(
    ("spec", "output", "value"),
    [
        ("last-line", "a\n1.5", 1.5),
        ("last-line", "a\n -2e3 \r\n\n \n", -2000.0),
        ("regex:x=(.*)$", "x=1\ny=5\nx=2\nz", 2.0),
        ("regex:time: ([0-9.]+) s", "time: 3.5 s, time: 4.5 s", 4.5),
        ("json:a", '{"a": 3}', 3.0),
        ("json:a.b.1", '{"a": {"b": [1, 2.5]}}', 2.5),
        ("json:a", 'log\n{"a": 1}\nmore\n{\n "a": 2,\n "b": {"a": 9}\n}\nbye', 2.0),
        ("json:a", '{"a": 1}\n{"a": 4}\n{"a": ', 4.0),
        ("json:x\\.y", '{"x.y": 7}', 7.0),
        ("json:0.t", '[{"t": 1}]', 1.0),
        ("wall-time", "", 0.5),
        ("exit-code", "", 0.0),
    ],
)
def test_payoffs_are_found(spec, output, value):
    assert read(spec, output) == value


def test_the_exit_code_is_a_payoff_where_it_is_asked_for():
    assert read("exit-code", "", code=3) == 3.0
    assert parse_reader("exit-code").accepts_failure
    assert not parse_reader("wall-time").accepts_failure


@pytest.mark.parametrize(
    ("spec", "output"),
    [
        ("last-line", ""),
        ("last-line", " \n\n"),
        ("last-line", "1 2"),
        ("last-line", "1_000"),
        ("last-line", "nan"),
        ("last-line", "-inf"),
        ("last-line", "1e999"),
        ("last-line", "1e300"),
        ("regex:x=(.*)", "y=1"),
        ("regex:x=(.*)", "x=one"),
        ("regex:x=(a)?", "x="),
        ("json:a", "no json"),
        ("json:a", '{"b": 1}'),
        ("json:a", '{"a": true}'),
        ("json:a", '{"a": "1"}'),
        ("json:a", '{"a": NaN}'),
        ("json:a", '{"a": ' + "9" * 400 + "}"),
        ("json:a.0", '{"a": []}'),
        ("json:a", "[" * 100_000),
        ("json:a", "log\n" + "[" * 5000 + "]" * 5000),
        ("json:a", "log\n[" + "9" * 5000 + "]"),
        ("json:a", '{"a": {"b": "' + "x" * 10_000 + '"}}'),
        ("json:" + "a" * 500, "{}"),
        ("regex:" + "a" * 500 + "(b)", "x"),
        ("regex:(x{500})", "x" * 500),
    ],
)
def test_unreadable_output_is_said_to_be(spec, output):
    with pytest.raises(UnreadableError) as caught:
        read(spec, output)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "spec",
    [
        *("", "first-line", "last-line:x", "regex", "regex:", "regex:(", "regex:x"),
        *("regex:(x)(y)", "json", "json:", "json:a..b", "wall-time:1"),
    ],
)
def test_a_wrong_wish_is_refused(spec):
    with pytest.raises(ValueError, match="value"):
        parse_reader(spec)


def test_unfinished_json_is_not_tried_from_every_line(monkeypatch):
    starts = []
    decode = json.JSONDecoder.raw_decode

    def counted(self, text, idx=0):
        starts.append(idx)
        return decode(self, text, idx)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", counted)
    unfinished = '{"results": [\n' + ' {"latency": [1, 2],\n' * 2000
    assert read("json:a", '{"a": 4}\n' + unfinished) == 4.0
    assert len(starts) <= 2


def test_a_pattern_that_would_never_end_is_stopped_within_the_time_limit(monkeypatch):
    monkeypatch.setattr(payoff, "_MIN_SECONDS", 0.5)
    reader = parse_reader("regex:x=((?:a+)+)$")
    with pytest.raises(UnreadableError, match=r"took more than 0\.5 s"):
        reader.read("x=" + "a" * 100 + "b", seconds=3.0, code=0, timeout=3.0)


def test_looking_for_json_is_stopped_within_the_time_limit(monkeypatch):
    monkeypatch.setattr(payoff, "_MIN_SECONDS", 0.0)
    reader = parse_reader("json:a")
    with pytest.raises(UnreadableError, match="took more than 0 s"):
        reader.read("log\n" + "[\n" * 1000, seconds=3.0, code=0, timeout=3.0)


def test_the_end_of_a_long_output_is_read(monkeypatch):
    monkeypatch.setattr(payoff, "MAX_PARSED", 100)
    log = "x=1\n" * 1000
    assert read("last-line", log + "7\n") == 7.0
    assert read("regex:^x=(.*)$", log + "x=2\ny\n") == 2.0
    with pytest.raises(UnreadableError, match="nothing in the output matches"):
        read("regex:z=(.*)", "z=5\n" + log)
    assert read("regex:^(.+)$", "1" * 90 + "\n" + "2\n" * 49) == 2.0  # no part of a line
    with pytest.raises(UnreadableError, match="more than 100 characters"):
        read("json:a", '{"a": 1}\n' * 20)


@pytest.mark.parametrize(
    ("pattern", "output", "value"),
    [
        (r"é😀\s+(\S+)", "é😀\t5", 5.0),
        (r"(?s)begin.*?=(\d+)", "begin\n\n=3", 3.0),
        (r"=(\d+)", "=1\r\n=2\r\n", 2.0),
    ],
)
def test_patterns_see_the_text_as_it_is(pattern, output, value):
    assert read(f"regex:{pattern}", output) == value
