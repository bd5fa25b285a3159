import io

import pytest

from tailproof.tune.display import TuneDisplay, format_params
from tailproof.tune.trial_queue import TrialCounts
from tailproof.tune.worker import STOPPED, Event


class Terminal(io.StringIO):
    def isatty(self):
        return True


def feed(stream, monkeypatch, **more):
    """Show three trials, one a second; return what was written."""
    monkeypatch.setenv("TERM", "xterm")
    now = [0.0]
    display = TuneDisplay(4, True, stream=stream, clock=lambda: now[0], **more)
    with display:
        display.event(Event("read", TrialCounts()))
        for i, value in enumerate([2.5, None, 1.5]):
            now[0] += 10.0
            display.event(Event("start", TrialCounts(complete=i), i, {"n": i}))
            reason = "exit \x1b[31m1"
            display.event(Event("end", TrialCounts(complete=i), i, {"n": i}, value, 0.5, reason))
        display.event(Event("read", TrialCounts(complete=2, failed=1)))
    return stream.getvalue()


def test_plain_lines_without_escapes_where_there_is_no_terminal(monkeypatch):
    shown = feed(io.StringIO(), monkeypatch)
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert "trial 1 failed: exit \\x1b[31m1" in shown
    assert shown.endswith("3 of 4 evaluations, 1 failed, about 10 s left\n")


def test_a_terminal_gets_a_table_in_place(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "90")
    shown = feed(Terminal(), monkeypatch)
    assert "\x1b[31m" not in shown  # what programs print cannot paint
    assert "\x1b[2K" in shown  # lines are redrawn
    last = shown[shown.rindex("3 of 4 evaluations") :]
    lines = [line.split() for line in last.splitlines()[1:5]]
    assert lines == [
        ["trial", "payoff", "seconds", "setting"],
        ["0", "2.5", "0.5", "n=0"],
        ["1", "failed", "0.5", "exit", "\\x1b[31m1"],
        ["2", "1.5", "0.5", "n=2"],
    ]
    assert "best payoff of this session: 1.5 (trial 2)" in last


def test_long_settings_are_cut_to_the_width_of_the_terminal(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with TuneDisplay(4, True, stream=stream) as display:
        display.event(Event("end", TrialCounts(), 123, {"option": "x" * 200}, 1.25, 0.5))
    row = next(line for line in stream.getvalue().splitlines() if "123" in line)
    assert "1.25" in row
    assert "option=xxx" in row
    assert len(row) <= 60


def test_the_settings_of_running_trials_are_shown(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with TuneDisplay(4, True, stream=stream, clock=lambda: 0.0) as display:
        display.event(Event("start", TrialCounts(running=1), 7, {"threads": 3}))
    row = next(line for line in reversed(stream.getvalue().splitlines()) if "running  " in line)
    assert row.split()[-4:] == ["7", "running", "0.0", "threads=3"]


def test_a_run_that_the_end_of_the_session_stops_has_not_failed(monkeypatch):
    stream = io.StringIO()
    with TuneDisplay(4, True, stream=stream) as display:
        display.event(Event("end", TrialCounts(), 2, {"n": 1}, None, 0.5, STOPPED))
    assert "trial 2 stopped: the session ends; the setting goes back" in stream.getvalue()
    assert "failed" not in stream.getvalue()


def test_quiet_is_quiet(monkeypatch):
    assert feed(Terminal(), monkeypatch, quiet=True) == ""
    assert feed(io.StringIO(), monkeypatch, quiet=True) == ""


def test_settings_fit_on_a_line():
    assert format_params({"a": 1, "b": True, "c": 'x "y"\n', "d": 0.1 + 0.2, "e": ""}) == (
        'a=1 b=true c="x \\"y\\"\\n" d=0.3 e=""'
    )


def test_long_reasons_are_cut(monkeypatch):
    stream = io.StringIO()
    with TuneDisplay(4, True, stream=stream) as display:
        display.event(Event("end", TrialCounts(), 7, {}, None, 0.5, "\x1b[2J" + "why " * 10_000))
    line = next(line for line in stream.getvalue().splitlines() if "trial 7 failed" in line)
    assert line.startswith("trial 7 failed: \\x1b[2Jwhy why")
    assert len(line) <= 220


@pytest.mark.parametrize("quiet", [False, True])
def test_the_cause_of_a_wait_is_said_at_once_and_the_time_left_does_not_climb(quiet):
    now, stream = [0.0], io.StringIO()
    with TuneDisplay(12, True, stream=stream, quiet=quiet, clock=lambda: now[0]) as display:
        display.event(Event("read", TrialCounts()))
        now[0] = 20.0
        display.event(Event("read", TrialCounts(complete=2)))
        assert display.seconds_left() == 100.0
        for _ in range(1000):
            display.event(Event("waiting", TrialCounts(complete=2), reason="no space left"))
            assert display.seconds_left() == 100.0
            now[0] += 5.0
        assert "waiting: no space left;" in stream.getvalue()
        assert quiet or "2 of 12 evaluations, waiting, about 1 min 40 s left" in stream.getvalue()
        display.event(Event("resumed", TrialCounts(complete=2)))
        assert display.seconds_left() == 100.0
        now[0] += 10.0
        display.event(Event("read", TrialCounts(complete=3)))
        assert display.seconds_left() == 90.0
    assert "going on after a wait of 1 h 23 min" in stream.getvalue()
