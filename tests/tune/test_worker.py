import pytest

from tailproof.tune.payoff import parse_reader
from tailproof.tune.process import Result
from tailproof.tune.worker import read_payoff


@pytest.mark.parametrize(
    ("code", "stopped", "stdout", "spec", "expected"),
    [
        (0, "", b"x\n1.5\n", "last-line", (1.5, "")),
        (0, "", b"abc\n", "last-line", (None, "not a number: 'abc'")),
        (0, "", b"\xff\n2", "last-line", (2.0, "")),
        (7, "", b"1.5\n", "last-line", (None, "exit code 7")),
        (7, "", b"1.5\n", "regex:^(1.5)$", (None, "exit code 7")),
        (7, "", b"1.5\n", "exit-code", (7.0, "")),
        (-6, "", b"1.5\n", "exit-code", (None, "ended by signal 6")),
        (0, "timeout", b"1.5\n", "last-line", (None, "no end within 500 s")),
        (-15, "interrupted", b"1.5\n", "last-line", (None, "interrupted")),
        (None, "could not start: x", b"", "exit-code", (None, "could not start: x")),
    ],
)
def test_a_run_gives_its_payoff_or_the_reason_why_there_is_none(
    code, stopped, stdout, spec, expected
):
    result = Result(code, 0.5, stopped, stdout, b"9\n")
    assert read_payoff(result, parse_reader(spec), "stdout", 500.0) == expected


def test_the_payoff_is_read_from_the_stream_asked_for():
    result = Result(0, 0.5, "", b"1\n", b"2\n")
    assert read_payoff(result, parse_reader("last-line"), "stderr", None) == (2.0, "")
