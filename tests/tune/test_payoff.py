import pytest

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
