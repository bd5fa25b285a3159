"""Linear algebra is limited to one thread, whichever thread enters and leaves first."""

import threading

import numpy as np
import pytest

from tailproof._util.threads import single_thread

threadpoolctl = pytest.importorskip("threadpoolctl")


def threads():
    np.linalg.inv(np.eye(2))  # loads the library
    return max(pool["num_threads"] for pool in threadpoolctl.threadpool_info())


def test_every_thread_that_enters_is_limited_and_the_limit_ends():
    before, seen = threads(), []

    def enter():
        with single_thread():
            seen.append(threads())

    for _ in range(2):
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
    enter()
    assert seen == [1, 1, 1]
    assert threads() == before


def test_the_limit_holds_until_the_last_thread_leaves():
    entered, leave, seen = threading.Event(), threading.Event(), []

    def stay():
        with single_thread():
            entered.set()
            leave.wait(300.0)
            seen.append(threads())

    other = threading.Thread(target=stay)
    with single_thread():
        other.start()
        assert entered.wait(300.0)
    leave.set()
    other.join()
    assert seen == [1]
