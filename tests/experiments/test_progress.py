"""The time left is the work left over the workers; the display shows it."""

import io
import re

import pytest

from tailproof.experiments.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def guess(task):
    return 2.0 if task.policy == "qff" else 1.0


@pytest.fixture
def tasks(small_plan):
    return [task for task in small_plan.tasks() if task.name[:2] in {("a", "tgp"), ("a", "qff")}]


def test_the_time_left_is_learnt_from_what_has_finished(tasks):
    progress = Progress(0, tasks, guess, workers=2, stream=io.StringIO())
    assert progress.seconds_left() is None
    progress.finished(tasks[0], 10.0)  # ten times the guess, so the two others of 2 are 20 each
    assert progress.seconds_left() == pytest.approx((10.0 + 2 * 20.0) / 2)
    progress.finished(tasks[2], 4.0)
    assert progress.seconds_left() == pytest.approx((10.0 + 4.0) / 2)


def test_a_terminal_shows_every_state(tasks, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream, clock = Terminal(), Clock()
    with Progress(0, tasks, guess, workers=1, stream=stream, clock=clock) as progress:
        for task in tasks:
            clock.now += 1.0
            progress.finished(task, 1.0)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue())
    assert "2 of 4 runs (50%), 4 s left" in text
    assert text.rstrip().endswith("4 of 4 runs (100%)")


def test_a_log_has_plain_lines_and_few_of_them(tasks):
    stream, clock = io.StringIO(), Clock()
    with Progress(0, tasks, guess, workers=1, stream=stream, clock=clock) as progress:
        for task in tasks:
            clock.now += 9.0
            progress.finished(task, 1.0)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "0 of 4 runs (0%), time left: not known yet"
    assert lines[-1] == "4 of 4 runs (100%)"
    assert len(lines) == 3
    assert "\r" not in stream.getvalue()
