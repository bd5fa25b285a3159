"""Progress: the time left is work over workers; one line on a terminal, plain lines elsewhere."""

import io

import pytest

from tailproof.experiments.progress import PLAIN_INTERVAL, Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def guess(task):
    return 2.0 if task.column == "qff" else 1.0


@pytest.fixture
def tasks(small_plan):
    return [task for task in small_plan.tasks() if task.name[:2] in {("a", "tgp"), ("a", "qff")}]


def test_the_time_left_is_learnt_from_what_has_finished(tasks):
    progress = Progress(0, 4, workers=2, stream=io.StringIO())
    progress.expect(tasks, guess)
    assert progress.seconds_left() is None
    progress.finished(tasks[0], 10.0)  # ten times the guess, so the two others of 2 are 20 each
    assert progress.seconds_left() == pytest.approx((10.0 + 2 * 20.0) / 2)
    progress.finished(tasks[2], 4.0)
    assert progress.seconds_left() == pytest.approx((10.0 + 4.0) / 2)


def test_a_terminal_has_one_line_that_is_rewritten(tasks):
    stream, clock = Terminal(), Clock()
    with Progress(0, 4, workers=1, stream=stream, clock=clock) as progress:
        progress.expect(tasks, guess)
        for task in tasks:
            clock.now += 1.0
            progress.finished(task, 1.0)
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert text.count("\r") == 5
    assert text.endswith("\n")
    assert "2 of 4 trials (50%)" in text
    last = text.rstrip("\n").split("\r")[-1]
    assert last.rstrip() == "4 of 4 trials (100%)"
    assert len(last) >= len(text.split("\r")[-2].rstrip())  # nothing of the line before shows


def test_a_log_has_plain_lines_and_few_of_them(tasks):
    stream, clock = io.StringIO(), Clock()
    with Progress(0, 4, workers=1, stream=stream, clock=clock) as progress:
        progress.expect(tasks, guess)
        for task in tasks:
            clock.now += 0.6 * PLAIN_INTERVAL
            progress.finished(task, 1.0)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "0 of 4 trials (0%), time left: not known yet"
    assert lines[-1] == "4 of 4 trials (100%)"
    assert len(lines) == 3
    assert "\r" not in stream.getvalue()
